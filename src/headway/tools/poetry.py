"""From a file of poems to a trained autoencoder in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from headway.errors import PlanError, RunError
from headway.tools.learner import say
from headway.tools.poetry_config import ArchitectureConfig, DataConfig, TrainingConfig, settled
from headway.tools.poetry_data import read_texts
from headway.tools.poetry_presets import preset_architecture
from headway.tools.poetry_tables import ARCHITECTURE, DATA, TRAINING
from headway.tools.poetry_training import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.learners.autoencoder.generation import GenerationSettings
    from headway.learners.autoencoder.report import Report
    from headway.learners.autoencoder.trained import Rebuilt, Trained
    from headway.plan.plan import Plan

Given = str | os.PathLike[str]
Results = dict[str, Any]
_USUAL = {"length": 50, "temperature": 1.0, "top_k": None, "top_p": 0.9, "repetition_penalty": 1.1}


def poetry_autoencoder(  # noqa: PLR0913 - the signature of the seeds
    data_path: Given,
    design: ArchitectureConfig | Mapping[str, Any] | str | None = None,
    training: TrainingConfig | Mapping[str, Any] | None = None,
    data: DataConfig | Mapping[str, Any] | None = None,
    output_dir: Given = "./results",
    verbose: bool = True,
    train_immediately: bool = True,
) -> RNN:
    """An autoencoder of the texts in a file or folder, trained and evaluated unless told.

    Configurations are those of `design_autoencoder`, `curriculum_learning` and `fetch_data`, or dicts of settings; a
    `design` may be the name of a preset. A file of word vectors lies beside the texts, or where `find_vectors` looks.
    """
    config = settled(DataConfig, DATA, data)
    if config.path is not None and Path(config.path).absolute() != Path(data_path).absolute():
        raise PlanError(DATA.where, [f"path: {config.path} is not {data_path}, the texts to learn; leave one out"])
    model = RNN(design, training, replace(config, path=data_path), output_dir, verbose)
    if train_immediately:
        model.train()
    return model


class RNN:
    """An autoencoder of texts: trained, saved, loaded and used.

    `architecture`, `training` and `data` are what `train` uses: configurations, dicts of their settings, or None for
    the usual ones. Runs, data sets and converted vectors lie in `output_dir`. What a loaded model is, `summary` says.
    """

    def __init__(
        self,
        architecture: ArchitectureConfig | Mapping[str, Any] | str | None = None,
        training: TrainingConfig | Mapping[str, Any] | None = None,
        data: DataConfig | Mapping[str, Any] | Given | None = None,
        output_dir: Given = "./results",
        verbose: bool = True,
    ) -> None:
        design = preset_architecture(architecture) if isinstance(architecture, str) else architecture
        texts = {"path": data} if isinstance(data, str | os.PathLike) else data
        self.architecture = settled(ArchitectureConfig, ARCHITECTURE, design)
        self.training = settled(TrainingConfig, TRAINING, training)
        self.data = settled(DataConfig, DATA, texts)
        self.output_dir = Path(output_dir)
        self.verbose = verbose
        self.results: Results | None = None
        """Of the last training here."""
        self._trained: Trained | None = None

    @property
    def trained(self) -> Trained:
        """The model, with all that can be done with it; a RunError before it was trained or loaded."""
        if self._trained is None:
            raise RunError("there is no model yet: call train(), or load(path) with a run that was trained before")
        return self._trained

    @property
    def folder(self) -> Path:
        """The run that the model is of."""
        return self.trained.folder

    def plan(self) -> Plan:
        """The plan that `train` trains; a DataError where there are no texts or no vectors."""
        task = self._task()
        return task.plan(task.texts())

    def train(self, output_dir: Given | None = None) -> Results:
        """Train until it is finished, and say how it went; a run that was interrupted is continued.

        What was not measured is None. `evaluation` is the last one while training, `report` that of the best model.
        """
        task = self._task()
        texts = task.texts()
        for line in (*task.notes, *((f"learning {texts.said}",) if texts.said else ())):
            self._say(line)
        home = self.output_dir if output_dir is None else Path(output_dir)
        result, figures = task.run(home, texts=texts, verbose=self.verbose)
        self.load(result.folder)
        report = self.evaluate(side="valid") if self.trained.holds("valid") else None
        self.results = {**figures, "report": report}
        return self.results

    def load(self, path: Given) -> Self:
        """Take up the model of a run, or of the latest run in a folder."""
        from headway.learners.autoencoder.trained import open_trained
        from headway.tools.poetry_copy import run_in

        self._trained = open_trained(run_in(Path(path)))
        return self

    def save(self, path: Given | None = None) -> Path:
        """Where the model lies; with a path, a copy there that needs neither the run nor the texts nor the vectors."""
        from headway.tools.poetry_copy import copy_run

        return self.folder if path is None else copy_run(self.folder, Path(path))

    def generate(  # noqa: PLR0913 - the signature of the seeds
        self,
        seed_text: str | None = None,
        length: int = 50,
        temperature: float = 1.0,
        top_k: int | None = None,
        *,
        top_p: float = 0.9,
        repetition_penalty: float = 1.1,
        seed: int = 0,
        config: GenerationSettings | None = None,
    ) -> str:
        """New text from the code of a text, or from a code such as learned windows have; same seed, same text.

        `config`, a PoetryGenerationConfig, says all of it but the seed.
        """
        from headway.learners.autoencoder.generation import GenerationSettings

        given: dict[str, Any] = {"length": length, "temperature": temperature, "top_k": top_k, "top_p": top_p}
        given["repetition_penalty"] = repetition_penalty
        if config is not None and (twice := [name for name, usual in _USUAL.items() if given[name] != usual]):
            raise PlanError("generate", [f"{name}: config says it already; leave one of the two out" for name in twice])
        settings = GenerationSettings(**given) if config is None else config
        return self.trained.generate(seed_text=seed_text, settings=settings, seed=seed)[0]

    def evaluate(
        self,
        test_data_path: Given | None = None,
        *,
        side: Literal["valid", "test"] | None = None,
        overlap: Literal["stop", "warn"] = "stop",
    ) -> Report:
        """Everything that has to stand beside a cosine: of texts that were held out, or of a file.

        Without a side it is `test`, or `valid` where nothing is held out for tests. A RunError where texts of the file
        were learned, or are too much alike, unless `overlap` is "warn": the report then says so.
        """
        if test_data_path is None:
            report = self.trained.evaluate(side or ("test" if self.trained.holds("test") else "valid"))
        else:
            report = self._evaluate(Path(test_data_path), stop=overlap == "stop")
        for line in report.lines():
            self._say(line)
        return report

    def encode(self, texts: Any) -> NDArray[np.float32]:
        """The codes [windows, numbers] of a text or several, of ids of the model's words, or of word vectors."""
        from headway.tools.poetry_codes import encode

        return encode(self.trained, texts)

    def decode(self, codes: Any, length: int | Sequence[int] | None = None) -> list[str]:
        """The text that each code stands for, of so many tokens; as many as a window has unless told."""
        from headway.tools.poetry_codes import decode

        return decode(self.trained, codes, length)

    def interpolate(self, first: Any, last: Any, steps: int = 10, length: int | None = None) -> list[str]:
        """The texts of codes on the line between two windows, given as `encode` takes them, or between two codes."""
        from headway.tools.poetry_codes import between

        return self.decode(between(self.trained, first, last, steps), length)

    def reconstruct(self, texts: str | Sequence[str], most: int | None = None) -> list[Rebuilt]:
        """Windows of texts next to what comes out of their codes."""
        return self.trained.rebuild([texts] if isinstance(texts, str) else texts, most=most)

    def summary(self) -> str:
        """What the model is."""
        model: Any = getattr(self.trained.codec, "model", None)
        return self.trained.codec.name if model is None else model.summary(self.trained.section.window.size)

    def __repr__(self) -> str:
        return f"RNN({'not trained' if self._trained is None else self._trained.folder})"

    def _task(self) -> Task:
        return Task(architecture=self.architecture, training=self.training, data=self.data)

    def _evaluate(self, path: Path, *, stop: bool) -> Report:
        field = self.trained.data.field
        report = self.trained.evaluate(texts=read_texts(path, text_field=None if field == "text" else field))
        found = {said: number for said, number in report.background.checks.items() if number}
        if found and stop:
            told = ", ".join(f"{number} {said}" for said, number in found.items())
            raise RunError(f'{path} is not held out: {told}; give texts that were not learned, or overlap="warn"')
        return report

    def _say(self, text: str) -> None:
        if self.verbose:
            say(text)


PoetryAutoencoder = RNN
