"""What programs of the fourth seed do, with only the import line changed: from files to vectors, networks and poems."""

import sys
from pathlib import Path
from typing import Any

import pytest

# The made-up poems and vectors of the unit tests.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "unit"))

from made_poems import DIMENSIONS, WORDS, poem, write_poems, write_vectors

LOADING = """
from poetry_rnn.embeddings.parallel_glove import benchmark_loading_methods
from pathlib import Path

found = benchmark_loading_methods(Path('embeddings/glove.6B.300d.txt'))
"""
CONFIGURATION = """
optimized_config = {
    'epochs': 100,
    'learning_rate': 2.5e-4,
    'scheduler': 'cosine_annealing',
    'gradient_clip': 1.0,
    'bottleneck_regularization': 0.001,
    'teacher_forcing_ratio': 0.5,
    'early_stopping_patience': 20,
    'num_workers': 4,
    'pin_memory': True,
    'async_checkpointing': True
}
"""
ONE_LINE = """
from poetry_rnn.api import poetry_autoencoder

model = poetry_autoencoder("poems.json")
text = model.generate("In the quiet morning", length=100)
report = model.evaluate()
"""
PIECES = """
from poetry_rnn.models.autoencoder import RNNAutoencoder
from poetry_rnn.dataset import AutoencoderDataset
from poetry_rnn.data.threaded_loader import BucketingSampler, DynamicBatchSampler, CollateFunction
from poetry_rnn.training.schedulers import CosineAnnealingWarmRestartsWithDecay, WarmupCosineAnnealingLR
from poetry_rnn.training.schedulers import PolynomialLR, CyclicalLR, AdaptiveLRScheduler
from poetry_rnn.training.optimized_trainer import OptimizedRNNTrainer, PerformanceMonitor
from poetry_rnn.utils.async_io import AsyncCheckpointer, AsyncArtifactManager, AsyncDataPrefetcher
"""
_OURS = "headway.tools"


def ours(program: str) -> str:
    """A program of the seed that imports from here."""
    lines = [line.split(" ") for line in program.splitlines()]
    return "\n".join(
        " ".join(["from", _OURS, *words[2:]] if words[:1] == ["from"] and words[1].startswith("poetry_rnn") else words)
        for words in lines
    )


def run(program: str) -> dict[str, Any]:
    """What the names of a program stand for when it has ended."""
    names: dict[str, Any] = {}
    exec(compile(ours(program), "seed", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with poems, and vectors where the seed has them."""
    import torch

    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "embeddings" / "glove.6B.300d.txt")
    write_poems(tmp_path / "poems.json")
    return tmp_path


def test_every_way_to_load_vectors_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(LOADING)["found"]

    read = {each.method: each.result for each in found if each.seconds is not None}
    assert read["naive loop"] == f"{len(WORDS)} words"
    assert read["headway, all words"] == read["headway, again"] == f"{len(WORDS)} words"
    assert all(each.seconds > 0 and each.cpu_seconds >= 0 for each in found if each.method in read)
    assert capsys.readouterr().out.startswith("method")


def test_one_line_goes_from_a_file_to_a_poem(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.tools import poetry_config

    # As the seed writes it, but for the size of the network and the length of the training.
    small = {"hidden_size": 16, "bottleneck_size": 8}
    monkeypatch.setattr(poetry_config.ArchitectureConfig, "__init__", _but(poetry_config.ArchitectureConfig, small))
    short = {"epochs": 4, "threads": 1}
    monkeypatch.setattr(poetry_config.TrainingConfig, "__init__", _but(poetry_config.TrainingConfig, short))
    found = run(ONE_LINE)

    assert (here / "results" / "poems-001" / "record.jsonl").is_file()
    assert 0 < len(found["text"].replace("\n", " ").split()) <= 100
    words = set(found["text"].split()) - set(found["model"].trained.lexicon.vocabulary.symbols)
    assert all(not word.isalpha() for word in words)
    report = found["report"]
    assert report.background.side == "test"
    assert report.linear.code == 8 and {each.name for each in report.baselines} >= {"constant direction"}
    assert report.statements


def test_the_configuration_of_the_seed_trains_a_model(here: Path) -> None:
    from headway.tools import poetry_autoencoder

    config = run(CONFIGURATION)["optimized_config"] | {"epochs": 3, "threads": 1}
    model = poetry_autoencoder("poems.json", {"hidden_size": 16, "bottleneck_size": 8}, config, verbose=False)
    assert model.results is not None
    section = model.trained.section

    assert section.optimizer.learning_rate == 2.5e-4 and section.optimizer.clip == 1.0
    assert (section.schedule.kind, section.loss.code_l2, section.teacher_forcing) == ("cosine_restarts", 0.001, 0.5)
    assert (section.patience, section.checkpoints.mode, section.curriculum) == (20, "async", ())
    assert model.results["documents"] == 3 * 19
    assert [note.partition(" ")[0] for note in model.results["notes"]] == ["num_workers", "pin_memory"]
    assert model.generate(poem(1)) == model.generate(poem(1))


def test_the_pieces_of_the_seed_work_together(here: Path) -> None:
    from headway.tools import create_optimized_dataloader, load_dataset

    pieces = run(PIECES)
    config = run(CONFIGURATION)["optimized_config"] | {"epochs": 2}
    train, valid = (load_dataset("poems.json", side, {"max_length": 12}) for side in ("train", "valid"))
    assert isinstance(train, pieces["AutoencoderDataset"])
    loader = create_optimized_dataloader(train, batch_size=8, collate_fn=train.collate)
    prefetched = pieces["AsyncDataPrefetcher"](loader)
    held = create_optimized_dataloader(valid, max_tokens=64, shuffle=False, collate_fn=valid.collate)
    model = pieces["RNNAutoencoder"]({"input_size": DIMENSIONS, "hidden_size": 8, "bottleneck_dim": 4})
    trainer = pieces["OptimizedRNNTrainer"](model, prefetched, held, config, checkpoint_dir=here / "checkpoints")
    found = trainer.train()

    assert found["performance"]["sequences"] == 2 * len(train)
    assert found["checkpoints"]["failed"] == 0 and trainer.load_best() == found["best_epoch"]
    with pieces["AsyncCheckpointer"](here / "own") as own:
        path = own.save_checkpoint_async({"model": model.state_dict(), "epoch": 2}, "last")
    assert path.is_file()


def _but(kind: type, settings: dict[str, Any]) -> Any:
    """The constructor of a configuration whose usual settings are others."""
    init: Any = kind.__init__
    return lambda self, **given: init(self, **{**settings, **given})
