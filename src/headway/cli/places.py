"""What the command line names: plans, runs and memories, with a hint where there is no such thing."""

from difflib import get_close_matches
from pathlib import Path

from headway.errors import PlanError, RunError

RUNS = Path("runs")


def check_plan(path: Path) -> None:
    """A PlanError when a path cannot be that of a plan file."""
    if path.is_dir():
        plans = sorted(file.name for kind in ("*.toml", "*.json") for file in path.glob(kind))
        known = f"; it holds {', '.join(plans[:5])}" if plans else ""
        raise PlanError(str(path), [f"is a folder; name a plan file, which ends in .toml or .json{known}"])
    if not path.suffix:
        twin = next((twin for kind in (".toml", ".json") if (twin := path.with_suffix(kind)).is_file()), None)
        hint = "" if twin is None else f"; did you mean {twin}?"
        raise PlanError(str(path), [f"does not end in .toml or .json, as plan files do{hint}"])


def check_runs(folder: Path) -> None:
    """A RunError when there is no folder of runs."""
    if folder.is_dir():
        return
    what = "is a file, not a folder of runs" if folder.exists() else "does not exist"
    raise RunError(
        f"{folder} {what}; give the folder of your runs with --runs-dir, or start one with: headway train PLAN"
    )


def run_folder(name: str, runs: Path) -> Path:
    """The folder of a run, by its path or its name; a RunError suggests similar names."""
    from headway.run.folders import find

    try:
        return find(name, runs)
    except RunError as cause:
        raise RunError(f"{cause}{_near(name, runs)}") from cause


def memory_folder(given: Path) -> Path:
    """A memory or run folder, by its path or, as a run under ./runs, by its name."""
    if given.exists() or len(given.parts) != 1:
        return given
    if (RUNS / given).is_dir():
        return RUNS / given
    near = _near(str(given), RUNS) or "; list runs with: headway runs list"
    raise RunError(f"{given} does not exist, neither here nor in {RUNS}{near}")


def _near(name: str, runs: Path) -> str:
    """A hint at runs of a similar name; empty when there is none."""
    from headway.run.folders import numbered

    names = [entry.folder.name for entry in numbered(runs)]
    near = [known for known in names if known.startswith(name)][-3:] or get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
