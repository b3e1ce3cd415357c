"""A node of the seeds: one level of a pattern memory."""

from dataclasses import dataclass
from typing import Literal

from headway.errors import PlanError


@dataclass(frozen=True, slots=True)
class HierarchicalNode:
    """What one level learns; level 0 is cut by the mode of the first node, and every node has its own chunk size."""

    name: str
    base_url: str | None = None
    """Where a KATO service would be; patterns are kept in a local memory."""
    mode: Literal["chunking", "sentences"] = "chunking"
    chunk_size: int = 15
    min_sentence_tokens: int = 3
    process_predictions: bool = False
    """Whether a service would predict while it learns; the memory is the same."""
    max_pattern_length: int = 0
    stm_mode: Literal["CLEAR"] = "CLEAR"

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise PlanError(f"HierarchicalNode({self.name!r})", problems)

    def _problems(self) -> list[str]:
        checks = {
            f"mode: there is 'chunking' and 'sentences', not {self.mode!r}": self.mode in ("chunking", "sentences"),
            f"chunk_size: should be 1 or more, not {self.chunk_size!r}": at_least(1, self.chunk_size),
            f"min_sentence_tokens: should be 1 or more, not {self.min_sentence_tokens!r}": at_least(
                1, self.min_sentence_tokens
            ),
            "max_pattern_length: chunks decide where a pattern ends; only 0 can be trained here": (
                self.max_pattern_length == 0
            ),
            f"stm_mode: nothing stays in short-term memory; only 'CLEAR' can be trained here, not {self.stm_mode!r}": (
                self.stm_mode == "CLEAR"
            ),
        }
        return [problem for problem, is_fine in checks.items() if not is_fine]


def at_least(least: int, value: object) -> bool:
    """Whether this is a whole number that is large enough."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
