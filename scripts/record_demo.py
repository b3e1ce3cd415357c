"""Records the demo for the documentation: python scripts/record_demo.py, after `make setup`.

Trains examples/demo.toml in a pseudo terminal, in a folder of its own, and draws what appeared there: the progress
screen in the middle of the training, and the summary that stays. Nothing is retouched.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

PROJECT = Path(__file__).resolve().parent.parent
PICTURES = PROJECT / "docs" / "start"
COLUMNS, ROWS = 96, 24
COMMAND = "headway train examples/demo.toml"
_ENTER, _LEAVE = "\x1b[?1049h", "\x1b[?1049l"
_CONTROLS = re.compile(r"\x1b\[\?\d+[hl]|\x1b\[\d*[A-HJK]|\x1b\[\d+;\d+H|\x1b\][^\x07]*\x07|\r")


def main() -> None:
    """Write both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(PROJECT / "examples")
        # Once before, so that the recording does not show a first compilation.
        seen = [_terminal(Path(folder)) for _ in range(2)][-1]
    before, _, rest = seen.partition(_ENTER)
    screen, _, after = rest.partition(_LEAVE)
    frames = [frame for frame in re.split(r"\x1b\[H", screen) if "tokens/s" in frame and "level0" in frame]
    if not frames:
        sys.exit("no frame of the training was seen; the machine is too fast for the demo")
    _draw(PICTURES / "progress.svg", frames[len(frames) // 2], title=COMMAND)
    _draw(PICTURES / "demo.svg", f"$ {COMMAND}\n{before}{after}".rstrip(), title="make demo")


def _terminal(folder: Path) -> str:
    """Everything a terminal received from one training."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    headway = Path(sys.executable).with_name("headway")
    words = [str(headway), *COMMAND.split()[1:], "--new"]
    colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(words, cwd=folder, stdin=theirs, stdout=theirs, env=os.environ | colours) as process:
        os.close(theirs)
        received = bytearray()
        while True:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:
                # Linux says so when the last process has left the terminal.
                break
            if not block:
                break
            received += block
    os.close(ours)
    if process.returncode:
        sys.exit(f"the demo ended with exit code {process.returncode}")
    return received.decode()


def _draw(path: Path, seen: str, *, title: str) -> None:
    text = Text.from_ansi(_CONTROLS.sub("", seen).strip("\n"))
    console = Console(record=True, width=COLUMNS, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    console.print(text)
    path.write_text(console.export_svg(title=title, unique_id=path.stem), encoding="utf-8")
    print(f"{path.relative_to(PROJECT)}: {len(text.plain.splitlines())} lines")


if __name__ == "__main__":
    main()
