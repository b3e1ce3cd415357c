"""What a plan may say about a pattern learner."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le, Len

from headway.data.config import DataSection
from headway.plan.plan import Parallel, RunSection
from headway.plan.section import FREE

# Far beyond any use; what a run file can hold of long patterns is checked where it is written.
WIDEST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The `[learner]` of a plan with `kind = "patterns"`."""

    parallel: ClassVar[Parallel] = "merge"

    kind: Literal["patterns"] = "patterns"
    widths: Annotated[tuple[Annotated[int, Ge(1), Le(WIDEST)], ...], Len(1)] = (5, 7, 9)
    """How many symbols a pattern of each level holds, from the tokens upward."""
    mode: Literal["chunking", "sentences"] = "chunking"
    """How level 0 cuts a segment: every `widths[0]` tokens, or at the ends of sentences."""
    min_sentence_tokens: Annotated[int, Ge(2)] = 3
    """The shortest sentence that is learned."""
    names: Literal["kato", "internal"] = "kato"
    """What identifies a pattern: KATO's SHA-1 name, or a faster key with no meaning outside this memory."""
    metadata: Literal["none", "documents"] = "none"
    """Whether each pattern remembers the documents that began with it at its level, as KATO's trainer notes them."""
    source: str = "dataset"
    """What noted documents are called: `<source>_sample_<number>`."""
    compact_after: Annotated[int, Ge(2), FREE] = 64
    """How many runs of one size may pile up before they are merged in the background."""

    def problems(self) -> list[str]:
        """Rules that concern several settings at once."""
        return [
            f"widths[{level}]: a width of 1 above level 0 would learn nothing and hand an empty name upward; "
            "use 2 or more"
            for level, width in enumerate(self.widths)
            if level > 0 and width == 1
        ]

    def misfits(self, data: DataSection, run: RunSection) -> list[str]:
        """Rules that concern settings of the data as well."""
        del run
        if self.mode == "sentences" or self.widths[0] > 1 or data.split != "whole":
            return []
        return [
            'learner.widths[0]: with data.split = "whole", a width of 1 would learn only the last three tokens of a '
            "document; use 2 or more, or simple, article or book, where KATO defines what it learns of each paragraph"
        ]
