"""The words of texts, before any tokenizer: to ask a vector file for them."""

from __future__ import annotations

import re
from pathlib import Path

from headway.data.read import read_part
from headway.data.sources import Document, find_sources, split_sources

# Words with apostrophes and hyphens inside, numbers, and each mark alone, as tokenizers of words give them.
_WORD = re.compile(r"\w+(?:['\u2019\u02bc-]\w+)*|[^\w\s]")


def words_of_texts(source: str, *, field: str = "text") -> set[str]:
    """Every different word in the documents of a source."""
    found: set[str] = set()
    for part in split_sources(find_sources(source, folder=Path.cwd())):
        for record in read_part(part, field):
            if isinstance(record, Document):
                found.update(record.text.split())
                found.update(_WORD.findall(record.text))
    return found
