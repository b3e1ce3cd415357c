"""The names that programs of the seeds import."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import headway.tools

# What users of the original look for, by the table of names in the reference.
WANTED = [
    "RNNAutoencoder",
    "RNNEncoder",
    "RNNDecoder",
    "DenoisingConfig",
    "NoiseType",
    "MaskedMSELoss",
    "EnhancedCosineLoss",
    "CompositeLoss",
    "TokenReconstructionLoss",
    "HybridTokenEmbeddingLoss",
    "AutoencoderDataset",
    "PoetryTokenizer",
    "SequenceGenerator",
    "parallel_glove",
    "benchmark_loading_methods",
    "BucketingSampler",
    "DynamicBatchSampler",
    "CollateFunction",
    "create_optimized_dataloader",
    "PoemAwareSampler",
    "ChunkSequenceSampler",
    "AsyncDataPrefetcher",
    "create_scheduler",
    "CosineAnnealingWarmRestartsWithDecay",
    "WarmupCosineAnnealingLR",
    "PolynomialLR",
    "CyclicalLR",
    "AdaptiveLRScheduler",
    "AsyncCheckpointer",
    "AsyncArtifactManager",
    "OptimizedRNNTrainer",
    "PerformanceMonitor",
    "GradientMonitor",
    "TrainingMonitor",
    "poetry_autoencoder",
    "RNN",
    "PoetryAutoencoder",
    "design_autoencoder",
    "preset_architecture",
    "curriculum_learning",
    "fetch_data",
    "quick_preprocess",
    "load_dataset",
    "quick_training",
    "production_training",
    "find_glove_embeddings",
    "detect_data_format",
    "estimate_memory_requirements",
    "get_optimal_batch_size",
    "suggest_architecture_for_data",
    "print_system_info",
    "PoetryGenerationConfig",
    "HardwareAnalyzerV2",
    "HardwareProfile",
    "BenchmarkResults",
]
SOURCES = Path(headway.tools.__file__).parents[2]


def python(code: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCES)}
    )


@pytest.mark.parametrize("name", headway.tools.__all__)
def test_every_public_name_imports_and_says_what_it_is(name: str) -> None:
    found = getattr(importlib.import_module("headway.tools"), name)

    assert (found.__doc__ or "").strip()


def test_the_names_of_the_seeds_are_all_there() -> None:
    assert set(WANTED) - set(headway.tools.__all__) == set()
    assert dir(headway.tools) == sorted(headway.tools.__all__)


def test_the_package_itself_loads_nothing_heavy() -> None:
    heavy = ("torch", "numba", "numpy", "pyarrow", "pydantic", "safetensors")
    done = python(f"import sys, headway.tools; print([name for name in {heavy} if name in sys.modules])")

    assert done.stdout.strip() == "[]", done.stderr


def test_without_pytorch_a_name_that_needs_it_says_how_to_install_it_and_the_others_work() -> None:
    done = python(
        """
import sys
sys.modules["torch"] = None
from headway.tools import HierarchicalNode, PoetryTokenizer, design_autoencoder, poetry_autoencoder
from headway.errors import HeadwayError
print(design_autoencoder(hidden_size=8).hidden_size)
try:
    from headway.tools import RNNAutoencoder
except HeadwayError as error:
    print(error)
"""
    )

    assert done.stdout.splitlines() == [
        "8",
        "RNNAutoencoder needs PyTorch; install it with: pip install 'headway[torch]'",
    ]


def test_another_package_that_is_missing_is_not_taken_for_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(headway.tools._MODULES, "nowhere", "Nothing")
    monkeypatch.setitem(headway.tools._WHERE, "Nothing", ("headway.tools.nowhere", "Nothing"))
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        headway.tools.__getattr__("Nothing")


def test_modules_are_reached_by_their_names_and_anything_else_is_an_error() -> None:
    assert headway.tools.parallel_glove.load_glove is headway.tools.load_glove
    with pytest.raises(AttributeError, match="no attribute 'Poetry'"):
        headway.tools.Poetry  # noqa: B018
