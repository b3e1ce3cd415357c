"""Vectors under the name of the module that the seeds had for them."""

from headway.tools.vectors import LoadingMethod, benchmark_loading_methods, find_glove_embeddings, load_glove

__all__ = ["LoadingMethod", "benchmark_loading_methods", "find_glove_embeddings", "load_glove"]
