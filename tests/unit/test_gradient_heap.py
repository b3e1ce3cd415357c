import subprocess
import sys
import textwrap

import pytest

from headway.learners.gradient import heap


def faults(first: str, *, environment: dict[str, str] | None = None) -> int:
    """Pages that a fresh process had to be given while it made and dropped the same large blocks again and again."""
    program = f"""
        import resource
        import numpy as np
        from headway.learners.gradient import heap
        {first}
        def work():
            for megabytes in (5, 9, 40, 7):
                np.ones(megabytes << 20, np.uint8)
        work()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(5):
            work()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


needs_glibc = pytest.mark.skipif(heap.keep() == "absent", reason="this C library has no settings for its heap")
heap.give_back()


@needs_glibc
def test_memory_that_is_kept_is_used_again_without_faults() -> None:
    assert faults("heap.keep()") * 10 < faults("")


@needs_glibc
def test_what_was_kept_is_given_back() -> None:
    assert faults("heap.keep(); heap.give_back()") > faults("heap.keep()") * 5


def test_settings_of_the_environment_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "100000")

    assert heap.keep() == "given"


def test_a_library_without_such_settings_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_library", lambda: None)

    assert heap.keep() == "absent"
    heap.give_back()
