"""What all tests share: the benchmark code as an import path, and the recorded answers of KATO."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PROJECT = Path(__file__).resolve().parent.parent
GOLDEN = PROJECT.parent / "shared" / "golden" / "kato"

# No test measures time: a busy machine is no reason to fail.
settings.register_profile("headway", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headway")

# The plain learner of the benchmarks is the readable oracle of the tests.
sys.path.insert(0, str(PROJECT / "benchmarks"))


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden data, which is not part of the repository."""
    if not GOLDEN.is_dir():
        pytest.skip("the golden data of KATO (../shared/golden/kato) is not here")
    return GOLDEN
