"""The names the seeds import from `tools`: `from headway.tools import ...` is the only line to change."""

from headway.tools.corpus import CorpusSegmenter, TokenProcessor
from headway.tools.datasets import StreamingDatasetLoader
from headway.tools.learner import HierarchicalConceptLearner
from headway.tools.nodes import HierarchicalNode
from headway.tools.single_pass import train_hierarchical_single_pass
from headway.tools.streaming import train_from_streaming_dataset, train_from_streaming_dataset_parallel

__all__ = [
    "CorpusSegmenter",
    "HierarchicalConceptLearner",
    "HierarchicalNode",
    "StreamingDatasetLoader",
    "TokenProcessor",
    "train_from_streaming_dataset",
    "train_from_streaming_dataset_parallel",
    "train_hierarchical_single_pass",
]
