"""Runs into the stores of other trackers, through their own packages, where those are installed."""

import hashlib
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from headway.durable import make_folder, write_errors
from headway.errors import RunError
from headway.run.history.portable import Point, Portable

Load = Callable[[str], Any]

# MLflow takes no other characters in names, no longer values, and no more of them at once.
_ODD = re.compile(r"[^\w\-. /]")
_LONGEST_VALUE, _MOST_METRICS, _MOST_SETTINGS = 6000, 1000, 100
_FILE_STORE = "MLFLOW_ALLOW_FILE_STORE"
_RUN, _CONTENT = "headway.run", "headway.record"
_STATUS = {"finished": "FINISHED", "running": "RUNNING", "stopped": "KILLED", "interrupted": "FAILED"}


@dataclass(frozen=True, slots=True)
class Exported:
    """The names of runs that were written, and of those that were there already as they are now."""

    written: tuple[str, ...]
    known: tuple[str, ...]


def to_mlflow(runs: Sequence[Portable], folder: Path, *, load: Load = import_module) -> Exported:
    """Write runs into MLflow's file store in a folder, those of one plan name as one experiment.

    A run that was exported before and has gone on since takes the place of what was there.
    """
    # MLflow keeps its file store as it is and asks for this word before it writes one.
    os.environ.setdefault(_FILE_STORE, "true")
    mlflow = _package("mlflow", load)
    make_folder(folder)
    written: list[str] = []
    with _failures(mlflow.exceptions.MlflowException, folder), write_errors(folder, kept="the runs are untouched"):
        client = mlflow.MlflowClient(tracking_uri=folder.absolute().as_uri())
        for run in runs:
            if _into_mlflow(run, client, load("mlflow.entities")):
                written.append(run.name)
    return Exported(tuple(written), tuple(run.name for run in runs if run.name not in written))


def to_trackio(runs: Sequence[Portable], project: str, *, load: Load = import_module) -> Exported:
    """Write runs into a project of trackio; one whose name is there already is left as it is."""
    trackio = _package("trackio", load)
    written: list[str] = []
    # It says on standard output what it does, which is ours.
    with redirect_stdout(StringIO()):
        there = _known_to_trackio(trackio, project)
        for run in runs:
            if run.name not in there:
                _into_trackio(run, project, trackio)
                written.append(run.name)
    return Exported(tuple(written), tuple(run.name for run in runs if run.name in there))


def _into_mlflow(run: Portable, client: Any, entities: Any) -> bool:
    """Whether it was written: not when the same is there."""
    experiment = client.get_experiment_by_name(run.series)
    number = client.create_experiment(run.series) if experiment is None else experiment.experiment_id
    content = _content(run)
    for before in client.search_runs([number], filter_string=f"tags.`{_RUN}` = '{_quoted(run.name)}'"):
        if before.data.tags.get(_CONTENT) == content:
            return False
        client.delete_run(before.info.run_id)
    began = round(1000 * (run.facts.started or 0))
    tags = {_RUN: run.name, "headway.status": run.facts.status, "headway.plan": str(run.facts.plan)}
    made = client.create_run(number, start_time=began, run_name=run.name, tags=tags).info.run_id
    last = began
    for metrics in _batches(_metrics(run, entities), _MOST_METRICS):
        client.log_batch(made, metrics=metrics)
        last = max(last, *(metric.timestamp for metric in metrics))
    for settings in _batches(_settings(run, entities), _MOST_SETTINGS):
        client.log_batch(made, params=settings)
    for path in run.files:
        client.log_artifact(made, str(path))
    client.set_terminated(made, _STATUS.get(run.facts.status, "FAILED"), end_time=last)
    # Last: what was not written to its end is written anew the next time.
    client.set_tag(made, _CONTENT, content)
    return True


def _metrics(run: Portable, entities: Any) -> Iterator[Any]:
    time, step = run.facts.started or 0.0, 0
    for point in run.points():
        time, step = point.time, point.step
        for name, value in point.figures.items():
            yield entities.Metric(_plain(name), value, round(1000 * time), step)
    for name, value in run.results.items():
        yield entities.Metric(_plain(f"results.{name}"), value, round(1000 * time), step)


def _settings(run: Portable, entities: Any) -> Iterator[Any]:
    for name, value in run.settings.items():
        if value is not None:
            yield entities.Param(_plain(name), str(value)[:_LONGEST_VALUE])


def _known_to_trackio(trackio: Any, project: str) -> set[str]:
    try:
        return {run.name for run in trackio.Api().runs(project)}
    except ValueError:
        # What it says of a project that it does not have yet.
        return set()


def _into_trackio(run: Portable, project: str, trackio: Any) -> None:
    settings = {name: value for name, value in run.settings.items() if value is not None}
    config = settings | {"headway.status": run.facts.status, "headway.folder": str(run.facts.folder)}
    trackio.init(project=project, name=run.name, group=run.series, config=config, embed=False, auto_log_gpu=False)
    try:
        last = Point(run.facts.started or 0.0, 0, {})
        for last in run.points():
            # It dates everything today; when it really was is kept beside it.
            trackio.log({**last.figures, "headway.time": last.time}, step=last.step)
        trackio.log({f"results.{name}": value for name, value in run.results.items()}, step=last.step)
    finally:
        trackio.finish()


def _package(name: str, load: Load) -> Any:
    try:
        return load(name)
    except ModuleNotFoundError as cause:
        if cause.name != name:
            raise
        raise RunError(
            f"an export to {name} needs the package {name}, which is not installed; install it with: "
            f"pip install 'headway[{name}]', or export with --csv or --json"
        ) from cause


@contextmanager
def _failures(kind: type[Exception], where: Path) -> Generator[None]:
    try:
        yield
    except kind as cause:
        raise RunError(f"MLflow cannot write to {where}: {cause}; choose another folder for --mlflow") from cause


def _content(run: Portable) -> str:
    """Changes whenever the run has."""
    digest = hashlib.blake2b(digest_size=16)
    for path in run.files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _plain(name: str) -> str:
    return _ODD.sub("_", name)


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _batches(items: Iterable[Any], most: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, most)):
        yield batch
