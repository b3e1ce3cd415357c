"""Whole trainings measured against what else does the same work: `python -m benchmarks.macro --help`."""

import sys
from pathlib import Path

# The baselines are scripts beside this package, and the processes it starts find them the same way.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
