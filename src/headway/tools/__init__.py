"""The names the seeds import: `from headway.tools import ...` is the only line to change.

Each is loaded when it is first asked for. Those that work with tensors need PyTorch: pip install 'headway[torch]'.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headway.errors import RunError

if TYPE_CHECKING:
    from headway.learners.autoencoder.generation import GenerationSettings as PoetryGenerationConfig
    from headway.tools import parallel_glove
    from headway.tools.async_io import AsyncArtifactManager, AsyncCheckpointer, load_checkpoint
    from headway.tools.corpus import CorpusSegmenter, TokenProcessor
    from headway.tools.datasets import StreamingDatasetLoader
    from headway.tools.hardware import BenchmarkResults, HardwareAnalyzerV2, HardwareProfile
    from headway.tools.history import EstimationAccuracy, TrainingHistory, TrainingRun
    from headway.tools.learner import HierarchicalConceptLearner
    from headway.tools.loaders import AsyncDataPrefetcher, CollateFunction, create_optimized_dataloader
    from headway.tools.losses import (
        CompositeLoss,
        CosineReconstructionLoss,
        EnhancedCosineLoss,
        HybridTokenEmbeddingLoss,
        MaskedMSELoss,
        TokenReconstructionLoss,
    )
    from headway.tools.models import DenoisingConfig, NoiseType, RNNAutoencoder, RNNDecoder, RNNEncoder
    from headway.tools.monitors import GradientMonitor, PerformanceMonitor, TrainingMonitor
    from headway.tools.nodes import HierarchicalNode
    from headway.tools.poetry import RNN, PoetryAutoencoder, poetry_autoencoder
    from headway.tools.poetry_config import ArchitectureConfig, DataConfig, TrainingConfig
    from headway.tools.poetry_data import detect_data_format
    from headway.tools.poetry_measured import (
        count_parameters,
        estimate_memory_requirements,
        get_optimal_batch_size,
        measure_batch_sizes,
        print_system_info,
        suggest_architecture_for_data,
    )
    from headway.tools.poetry_presets import (
        curriculum_learning,
        design_autoencoder,
        fetch_data,
        preset_architecture,
        production_training,
        quick_training,
    )
    from headway.tools.prepared import quick_preprocess
    from headway.tools.profiling import ProfilingEngine, ProfilingReport, ProfilingSummary, ResourceSnapshot
    from headway.tools.samplers import BucketingSampler, ChunkSequenceSampler, DynamicBatchSampler, PoemAwareSampler
    from headway.tools.schedulers import (
        AdaptiveLRScheduler,
        CosineAnnealingWarmRestartsWithDecay,
        CyclicalLR,
        PolynomialLR,
        WarmupCosineAnnealingLR,
        create_scheduler,
    )
    from headway.tools.single_pass import train_hierarchical_single_pass
    from headway.tools.streaming import train_from_streaming_dataset, train_from_streaming_dataset_parallel
    from headway.tools.tokens import PoetryTokenizer, SequenceGenerator
    from headway.tools.trainer import OptimizedRNNTrainer
    from headway.tools.unavailable import Unavailable
    from headway.tools.vectors import benchmark_loading_methods, find_glove_embeddings, load_glove
    from headway.tools.windows import AutoencoderDataset, load_dataset

__all__ = [
    "RNN",
    "AdaptiveLRScheduler",
    "ArchitectureConfig",
    "AsyncArtifactManager",
    "AsyncCheckpointer",
    "AsyncDataPrefetcher",
    "AutoencoderDataset",
    "BenchmarkResults",
    "BucketingSampler",
    "ChunkSequenceSampler",
    "CollateFunction",
    "CompositeLoss",
    "CorpusSegmenter",
    "CosineAnnealingWarmRestartsWithDecay",
    "CosineReconstructionLoss",
    "CyclicalLR",
    "DataConfig",
    "DenoisingConfig",
    "DynamicBatchSampler",
    "EnhancedCosineLoss",
    "EstimationAccuracy",
    "GradientMonitor",
    "HardwareAnalyzerV2",
    "HardwareProfile",
    "HierarchicalConceptLearner",
    "HierarchicalNode",
    "HybridTokenEmbeddingLoss",
    "MaskedMSELoss",
    "NoiseType",
    "OptimizedRNNTrainer",
    "PerformanceMonitor",
    "PoemAwareSampler",
    "PoetryAutoencoder",
    "PoetryGenerationConfig",
    "PoetryTokenizer",
    "PolynomialLR",
    "ProfilingEngine",
    "ProfilingReport",
    "ProfilingSummary",
    "RNNAutoencoder",
    "RNNDecoder",
    "RNNEncoder",
    "ResourceSnapshot",
    "SequenceGenerator",
    "StreamingDatasetLoader",
    "TokenProcessor",
    "TokenReconstructionLoss",
    "TrainingConfig",
    "TrainingHistory",
    "TrainingMonitor",
    "TrainingRun",
    "Unavailable",
    "WarmupCosineAnnealingLR",
    "benchmark_loading_methods",
    "count_parameters",
    "create_optimized_dataloader",
    "create_scheduler",
    "curriculum_learning",
    "design_autoencoder",
    "detect_data_format",
    "estimate_memory_requirements",
    "fetch_data",
    "find_glove_embeddings",
    "get_optimal_batch_size",
    "load_checkpoint",
    "load_dataset",
    "load_glove",
    "measure_batch_sizes",
    "parallel_glove",
    "poetry_autoencoder",
    "preset_architecture",
    "print_system_info",
    "production_training",
    "quick_preprocess",
    "quick_training",
    "suggest_architecture_for_data",
    "train_from_streaming_dataset",
    "train_from_streaming_dataset_parallel",
    "train_hierarchical_single_pass",
]

_MODULES = {
    "async_io": "AsyncArtifactManager AsyncCheckpointer load_checkpoint",
    "corpus": "CorpusSegmenter TokenProcessor",
    "datasets": "StreamingDatasetLoader",
    "hardware": "BenchmarkResults HardwareAnalyzerV2 HardwareProfile",
    "history": "EstimationAccuracy TrainingHistory TrainingRun",
    "learner": "HierarchicalConceptLearner",
    "loaders": "AsyncDataPrefetcher CollateFunction create_optimized_dataloader",
    "losses": """
        CompositeLoss
        CosineReconstructionLoss
        EnhancedCosineLoss
        HybridTokenEmbeddingLoss
        MaskedMSELoss
        TokenReconstructionLoss
    """,
    "models": "DenoisingConfig NoiseType RNNAutoencoder RNNDecoder RNNEncoder",
    "monitors": "GradientMonitor PerformanceMonitor TrainingMonitor",
    "nodes": "HierarchicalNode",
    "parallel_glove": "",
    "poetry": "PoetryAutoencoder RNN poetry_autoencoder",
    "poetry_config": "ArchitectureConfig DataConfig TrainingConfig",
    "poetry_data": "detect_data_format",
    "poetry_measured": """
        count_parameters
        estimate_memory_requirements
        get_optimal_batch_size
        measure_batch_sizes
        print_system_info
        suggest_architecture_for_data
    """,
    "poetry_presets": """
        curriculum_learning
        design_autoencoder
        fetch_data
        preset_architecture
        production_training
        quick_training
    """,
    "prepared": "quick_preprocess",
    "profiling": "ProfilingEngine ProfilingReport ProfilingSummary ResourceSnapshot",
    "samplers": "BucketingSampler ChunkSequenceSampler DynamicBatchSampler PoemAwareSampler",
    "schedulers": """
        AdaptiveLRScheduler
        CosineAnnealingWarmRestartsWithDecay
        CyclicalLR
        PolynomialLR
        WarmupCosineAnnealingLR
        create_scheduler
    """,
    "single_pass": "train_hierarchical_single_pass",
    "streaming": "train_from_streaming_dataset train_from_streaming_dataset_parallel",
    "tokens": "PoetryTokenizer SequenceGenerator",
    "trainer": "OptimizedRNNTrainer",
    "unavailable": "Unavailable",
    "vectors": "benchmark_loading_methods find_glove_embeddings load_glove",
    "windows": "AutoencoderDataset load_dataset",
}
_WHERE = {name: (f"headway.tools.{module}", name) for module, names in _MODULES.items() for name in names.split()} | {
    "PoetryGenerationConfig": ("headway.learners.autoencoder.generation", "GenerationSettings"),
}
# What is missing where PyTorch was not installed with us.
_TORCH = ("torch", "safetensors")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"headway.tools.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'headway.tools' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    try:
        value = getattr(import_module(module), attribute)
    except ModuleNotFoundError as cause:
        if cause.name is None or cause.name.partition(".")[0] not in _TORCH:
            raise
        raise RunError(f"{name} needs PyTorch; install it with: pip install 'headway[torch]'") from cause
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
