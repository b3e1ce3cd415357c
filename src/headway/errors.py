"""Every error a user can cause or meet.

HeadwayError        exit code 2 and a message: what, where, what to do
 ├─ PlanError       the plan cannot be used (every problem listed)
 ├─ DataError       a source or a Dataset cannot be read
 │   └─ TokenizerError
 ├─ RunError        a run cannot start, continue or save
 │   └─ Diverged    learning went wrong, and would again in the same way
 └─ MemoryDamage    a file of a pattern memory is not what its manifest says

Anything else that escapes is a bug of ours: traceback, exit code 1.
"""


class HeadwayError(Exception):
    """What went wrong, where, and what to do about it."""


class PlanError(HeadwayError):
    """The plan cannot be used; `problems` holds one line per problem."""

    def __init__(self, where: str, problems: list[str]) -> None:
        self.where = where
        self.problems = problems
        lines = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"{where}: {len(problems)} problem{'s' if len(problems) != 1 else ''}\n{lines}")


class DataError(HeadwayError):
    """A source or a Dataset cannot be read."""


class TokenizerError(DataError):
    """A tokenizer cannot be loaded or does not fit."""


class RunError(HeadwayError):
    """A run cannot start, continue or save."""


class Diverged(RunError):
    """Learning went wrong, and the same command would go wrong at the same step again."""


class MemoryDamage(HeadwayError):
    """A file of a pattern memory is not what its manifest says."""
