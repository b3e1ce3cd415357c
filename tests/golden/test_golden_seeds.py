"""The usage examples of the seeds run with only the import line changed."""

import json
import random
import re
import textwrap
import warnings
from pathlib import Path

import pytest

from headway import tools

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the seeds are not beside this checkout")
DUE = re.compile(rf"\b(?:{'|'.join(tools.__all__)})\b|\bstats\[")
# Pieces of the original's inside, with names that nobody defines.
INSIDE = re.compile(r"self\.|\breturn\b|^# *from \.|^try:", re.MULTILINE)


def examples() -> list[str]:
    """The Python blocks about hierarchical training, in order; those about autoencoders are another test's."""
    blocks: list[str] = []
    for path in sorted(SEEDS.glob("*.txt")):
        blocks += re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    return [
        textwrap.dedent(block.rstrip())
        for block in blocks
        if DUE.search(block) and not INSIDE.search(block) and "poetry_rnn" not in block
    ]


@pytest.fixture
def wikitext(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of this name where the examples run, and no way to Hugging Face."""
    rng = random.Random(4)
    words = ["the", "harbour", "was", "quiet", "and", "ships", "lay", "still", "under", "rain"]
    texts = [" ".join(rng.choices(words, k=400)) for _ in range(30)]
    (tmp_path / "wikitext").mkdir()
    (tmp_path / "wikitext" / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headway.tools.datasets.find_spec", lambda _: None)


@pytest.mark.usefixtures("wikitext")
def test_every_example_of_hierarchical_training_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = examples()
    nodes = [tools.HierarchicalNode(f"node{i}", chunk_size=size) for i, size in enumerate((5, 7, 9))]
    names: dict[str, object] = {name: getattr(tools, name) for name in tools.__all__} | {"nodes": nodes}
    for name in ("learner", "learner_seq", "learner_par"):
        names[name] = tools.HierarchicalConceptLearner(nodes=nodes, verbose_init=False)

    for example in found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            # One example imports a progress bar of another package and does not use it.
            text = example.replace("from tqdm import tqdm\n", "")
            exec(text.replace("from tools import", "from headway.tools import"), names)

    assert len(found) >= 9
    assert "PERFORMANCE BENCHMARK" in capsys.readouterr().out


def test_every_example_of_the_poetry_autoencoder_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    blocks = re.findall(r"```python\n(.*?)```", autoencoder_seed().read_text(encoding="utf-8"), re.DOTALL)
    # Indented ones are lists of what was done, not programs.
    found = [block for block in blocks if not block.startswith(" ")]
    (tmp_path / "embeddings").mkdir()
    (tmp_path / "embeddings" / "glove.6B.300d.txt").write_text("".join(f"w{n} 0.5 {n}\n" for n in range(9)))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    for example in found:
        exec(re.sub(r"^from poetry_rnn\S* import", "from headway.tools import", example, flags=re.MULTILINE), names)

    assert len(found) == 2
    assert "naive loop" in capsys.readouterr().out
    config = names["optimized_config"]
    model = tools.poetry_autoencoder("poems.json", training=config, train_immediately=False)
    assert isinstance(config, dict)
    assert (model.training.epochs, model.training.early_stopping_patience) == (100, 20)
    assert {note.split()[0] for note in model.training.notes} == {"num_workers", "pin_memory"}


def autoencoder_seed() -> Path:
    (path,) = SEEDS.glob("004_*.txt")
    return path
