"""Records the demo for the documentation: python scripts/record_demo.py, after `make setup`.

Trains examples/demo.toml in a pseudo terminal, in a folder of its own, and draws what appeared there: the summary that
stays, and the progress screen in the middle of a training of eight epochs, since one is over too soon. Nothing is
retouched.
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
LONGER = f"{COMMAND} --set run.epochs=8"
_ENTER, _LEAVE = "\x1b[?1049h", "\x1b[?1049l"
_CONTROLS = re.compile(r"\x1b\[\?\d+[hl]|\x1b\[\d*[A-HJK]|\x1b\[\d+;\d+H|\x1b\][^\x07]*\x07|\r")

# The viewer's own monospaced font will do; a picture should not call a server.
_FONT_FROM_AFAR = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Write both pictures."""
    # First the longer one, so that the summary does not show a first compilation.
    _, screen, _ = _seen(LONGER)
    before, _, after = _seen(COMMAND)
    frames = [frame for frame in screen.split("\x1b[H") if "level0" in frame and "left" in frame]
    if not frames:
        sys.exit("no frame of the training was seen: it was over too soon")
    _draw(PICTURES / "progress.svg", frames[len(frames) // 2], title=LONGER)
    _draw(PICTURES / "demo.svg", f"$ {COMMAND}\n{before}{after}".rstrip(), title="make demo")


def _seen(command: str) -> tuple[str, str, str]:
    """What a terminal showed before its full screen, on it, and after it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(PROJECT / "examples")
        received = _terminal(command, Path(folder))
    before, _, rest = received.partition(_ENTER)
    screen, _, after = rest.partition(_LEAVE)
    return before, screen, after


def _terminal(command: str, folder: Path) -> str:
    """Everything a terminal received from one training."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    headway = Path(sys.executable).with_name("headway")
    words = [str(headway), *command.split()[1:], "--new"]
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
    lines = Text.from_ansi(_CONTROLS.sub("", seen)).split("\n")
    while not lines[-1].plain.strip():
        lines.pop()
    for line in lines:
        # A style of their own makes blanks a part of their own: some viewers drop those that a part begins with.
        line.stylize("bold", 0, len(line.plain) - len(line.plain.lstrip()))
    console = Console(record=True, width=COLUMNS, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    console.print(Text("\n").join(lines))
    picture = console.export_svg(title=title, unique_id=path.stem)
    path.write_text(_FONT_FROM_AFAR.sub("", picture), encoding="utf-8")
    print(f"{path.relative_to(PROJECT)}: {len(lines)} lines")


if __name__ == "__main__":
    main()
