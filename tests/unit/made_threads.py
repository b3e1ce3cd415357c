"""How tests know that a thread has come to where it waits for another."""

import sys
import threading
import time

# Longer than anything takes here, however busy the machine is: whoever waits so long waits in vain.
PATIENCE_SECONDS = 60.0


def until_waiting(thread: threading.Thread) -> bool:
    """Return once a thread waits for a condition or an event; False where it does not."""
    until = time.monotonic() + PATIENCE_SECONDS
    while thread.is_alive() and time.monotonic() < until:
        frame = sys._current_frames().get(thread.ident or 0)
        if frame is not None and (frame.f_code.co_filename, frame.f_code.co_name) == (threading.__file__, "wait"):
            return True
        time.sleep(0.001)
    return False
