"""What a plan says about its data."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, MinLen

from headway.plan.section import FIXED, FREE, Strings

Split = Literal["whole", "simple", "article", "book"]
DocumentEnd = Literal["file", "blank lines", "headings"]
Engine = Literal["auto", "gigatoken", "fastokens", "tokenizers", "tiktoken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSection:
    """Which documents are read, and how they become tokens."""

    sources: Annotated[Strings, MinLen(1), FIXED]
    """Files, folders, globs (** for any depth) or hf://NAME[/CONFIG]?split=train&field=text, in reading order."""
    field: Annotated[str, MinLen(1), FIXED] = "text"
    """The key (JSON) or column (csv, tsv, parquet) that holds a document's text."""
    texts: Annotated[DocumentEnd, FIXED] = "file"
    """Where a document of a .txt or .md file ends: with the file, at two or more blank lines (where there are none, at
    headings), or before headings: lines after a blank line that are in capitals, a roman numeral or a number."""
    tokenizer: Annotated[str, MinLen(1), FIXED] = "gpt2"
    """gpt2, the path of a tokenizer.json, tiktoken:NAME, words, words:REGEX, verse or bytes."""
    split: Annotated[Split, FIXED] = "whole"
    """How a document is cut into segments: not at all, or as kato-lm cuts simple texts, articles and books."""
    max_tokens: Annotated[Annotated[int, Ge(1)] | None, FIXED] = None
    """Tokens kept of each segment; absent: all of them (KATO keeps 2048)."""
    engine: Annotated[Engine, FREE] = "auto"
    """The program that tokenises; all give the same tokens, auto takes the fastest that proves it."""
    documents: Annotated[Annotated[int, Ge(1)] | None, FIXED] = None
    """Only the first so many documents that are kept; absent: all of them."""

    def problems(self) -> list[str]:
        """What no single field can say about itself, one line each."""
        blank = [number for number, pattern in enumerate(self.sources) if not pattern.strip()]
        return [f"sources[{number}]: is blank; name a file, a folder, a glob or an hf:// data set" for number in blank]
