"""How a document is cut into segments, as kato-lm cuts its samples (white space is Python's, Unicode included)."""

import re

from headway.data.config import Split

# A sample must be longer than this, a paragraph at least as long; both counted after stripping.
SHORT_SAMPLE = 10
LEAST_PARAGRAPH = 10

_PARAGRAPH = re.compile(r"\n\s*\n")

# A run of white space that starts at a line break is taken whole (`*+`) whether or not a heading follows, because
# no later line break of the same run can start a match that the first cannot. Looking for headings alone would try
# each line break of a long blank run anew, which is quadratic.
_HEADINGS = {
    "article": re.compile(r"\n\s*+((?:#+\s+|\d+\.\s+|Section\s+\d+[:\n])|)"),
    "book": re.compile(
        r"\n\s*+((?:Chapter|CHAPTER)\s+(?:\d+|[IVX]+|One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten)\s*[:\n]|)"
    ),
}


def counts(text: str, split: Split) -> bool:
    """Whether a document is used at all: any visible character, or for kato-lm more than ten."""
    if split == "whole":
        return bool(text) and not text.isspace()
    return len(text.strip()) > SHORT_SAMPLE


def segments(text: str, split: Split) -> list[str]:
    """The texts that are tokenised apart: the document itself, or its paragraphs of ten characters and more."""
    if split == "whole":
        return [text]
    if split == "simple":
        return _paragraphs(text)
    return [paragraph for section in _sections(text, _HEADINGS[split]) for paragraph in _paragraphs(section)]


def _paragraphs(text: str) -> list[str]:
    return [piece for raw in _PARAGRAPH.split(text) if len(piece := raw.strip()) >= LEAST_PARAGRAPH]


def _sections(text: str, headings: re.Pattern[str]) -> list[str]:
    """The text between headings; the headings themselves are dropped."""
    found: list[str] = []
    start = 0
    for match in headings.finditer(text):
        if match[1]:
            found.append(text[start : match.start()])
            start = match.end()
    found.append(text[start:])
    return found
