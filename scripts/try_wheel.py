"""Tries an installed Headway where there is no source: scripts/try_wheel.py, run by the Python that has the wheel."""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

import headway

PROJECT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "numba", "pydantic", "pyarrow")
PLAN = """
workers = {workers}
[data]
sources = "corpus.jsonl"
[learner]
kind = "patterns"
widths = [3, 2]
[run]
batch_tokens = 1024
"""
HELP = f"""
import sys
from headway.cli.main import main
main(["--help"])
print("loaded:", *[name for name in {HEAVY} if name in sys.modules])
"""


def main() -> None:
    """Fail with a traceback where the wheel does not keep what it promises."""
    home = Path(headway.__file__).resolve()
    assert not home.is_relative_to(PROJECT / "src"), f"this is the source, not the wheel: {home}"
    carries_its_data()
    help_is_light()
    with tempfile.TemporaryDirectory() as folder:
        counts = [trains(Path(folder) / str(workers), workers) for workers in (1, 2)]
    assert counts[0] == counts[1], f"one worker learned {counts[0]}, two learned {counts[1]}"
    print(f"wheel: headway {headway.__version__} works without its source; learned {counts[0]}")


def carries_its_data() -> None:
    """The vocabulary, the type marker and every licence are in the wheel."""
    package = files("headway")
    for name in ("py.typed", "data/gpt2/vocab.bpe.gz", "data/gpt2/LICENSE", "data/gpt2/NOTICE"):
        assert package.joinpath(*name.split("/")).is_file(), f"{name} is missing in the wheel"
    licences = distribution("headway").metadata.get_all("License-File") or []
    assert {"LICENSE", "src/headway/data/gpt2/LICENSE"} <= set(licences), f"licences declared: {licences}"


def help_is_light() -> None:
    """--help loads no library that takes its time."""
    shown = _run(sys.executable, "-c", HELP)
    assert "usage: headway" in shown, shown
    assert shown.splitlines()[-1] == "loaded:", shown.splitlines()[-1]


def trains(folder: Path, workers: int) -> list[int]:
    """Train a small plan from the command line; the patterns of each level."""
    folder.mkdir()
    texts = [f"The {n % 7}th rider of the {n % 5}th horse came home late, and nobody asked why." for n in range(500)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "plan.toml").write_text(PLAN.format(workers=workers))
    command = Path(sys.executable).with_name("headway")
    _run(str(command), "train", "plan.toml", "--quiet", folder=folder)
    _run(str(command), "memory", "verify", "runs/plan-001", folder=folder)
    stats = json.loads(_run(str(command), "memory", "stats", "--json", "runs/plan-001", folder=folder))
    return [level["observed"] for level in stats["levels"]]


def _run(*command: str, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main()
