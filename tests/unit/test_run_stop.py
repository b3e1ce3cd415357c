import os
import signal
import threading

import pytest

from headway.run.stop import Stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_only_asks(number: int) -> None:
    with Stop() as stop:
        before = stop.requested()
        os.kill(os.getpid(), number)
        asked, which = stop.requested(), stop.signal

    assert (before, asked, which) == (False, True, number)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_interrupt_insists(first: int) -> None:
    with pytest.raises(KeyboardInterrupt), Stop():
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), signal.SIGINT)


def test_a_second_sigterm_leaves_with_its_exit_code() -> None:
    with pytest.raises(SystemExit) as caught, Stop():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143


def test_the_handlers_of_before_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Stop():
        inside = signal.getsignal(signal.SIGINT)

    assert inside not in before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    found: list[object] = []

    def work() -> None:
        with Stop() as stop:
            stop.request()
            found.extend([signal.getsignal(signal.SIGINT), stop.requested()])

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert found == [before, True]
