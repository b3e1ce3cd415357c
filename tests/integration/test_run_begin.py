"""What happens before the first step: all problems at once, no run without a reason, decisions with theirs."""

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from made_runs import Trained

from headway.data.engines import BUILDERS
from headway.errors import PlanError, RunError
from headway.run.facts import facts

pytestmark = pytest.mark.usefixtures("counting")


def test_too_little_memory_is_said_before_the_first_step(trained: Trained) -> None:
    with pytest.raises(RunError, match="memory = 1 MiB is too little for 1 worker"):
        trained(memory='"1MiB"')


def test_a_run_that_is_refused_before_its_first_step_leaves_nothing(trained: Trained) -> None:
    with pytest.raises(RunError, match="too little for 1 worker") as alone:
        trained(memory='"1MiB"')
    with pytest.raises(RunError, match="memory = 1 MiB is too little for 2 workers") as many:
        trained(memory='"1MiB"', workers=2, run__batch_tokens=1024)

    assert "fewer workers" not in str(alone.value)
    assert "fewer workers" in str(many.value)
    assert "saved" not in str(many.value)
    assert list(trained.runs.iterdir()) == []
    assert trained().folder.name == "demo-001"


def test_a_refused_session_leaves_a_run_that_began_before(trained: Trained) -> None:
    trained.stopping_after(1)
    folder = trained(run__save_every='"0s"').folder

    with pytest.raises(RunError, match="too little"):
        trained(memory='"1MiB"', run__save_every='"0s"')

    assert facts(folder).status == "stopped"


def test_a_disk_that_is_full_when_a_run_is_made_leaves_no_run(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(learner__step_seconds=0)
    real = os.pwrite

    def full(descriptor: int, content: bytes, offset: int) -> int:
        if b'"training"' in content:
            raise OSError(errno.ENOSPC, "full")
        return real(descriptor, content, offset)

    monkeypatch.setattr(os, "pwrite", full)

    with pytest.raises(RunError, match="the disk is full"):
        trained(mode="new")

    assert [folder.name for folder in trained.runs.iterdir()] == ["demo-001"]


def test_a_missing_source_and_tokenizer_are_told_with_all_other_problems(trained: Trained, shared: Path) -> None:
    sources = f'["{shared}/corpus.jsonl", "absent.jsonl"]'

    with pytest.raises(PlanError) as caught:
        trained(data__tokenizer="gtp2", data__sources=sources, run__epochs=0, name="a/b")

    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "run.epochs",
        "name",
        "data.sources[1]",
        "data.tokenizer",
    ]
    assert not trained.runs.exists()


def test_what_a_run_decided_is_written_beside_its_plan_with_the_reason(trained: Trained) -> None:
    trained.plan.write_text(re.sub(r"(?m)^\s*memory.*$", "", trained.plan.read_text()))
    settings: dict[str, Any] = {"run__save_every": '"0s"', "data__tokenizer": "gpt2", "data__max_tokens": 50}
    trained.stopping_after(1)
    folder = trained(**settings).folder
    first, memory = json.loads((folder / "plan.resolved.json").read_text()), facts(folder).memory
    result = trained(**settings)
    then = json.loads((folder / "plan.resolved.json").read_text())

    assert result.folder == folder, "what was decided keeps no run from going on"
    assert (first["memory"], first["decided"]["memory"]["value"]) == (None, memory)
    assert first["decided"]["memory"]["why"].startswith("a quarter of the ")
    assert first["decided"]["data.engine"]["value"] in BUILDERS
    assert "workers" not in first["decided"], "the plan says it"
    assert then["decided"]["data.engine"] == first["decided"]["data.engine"], "what is built is not decided again"
