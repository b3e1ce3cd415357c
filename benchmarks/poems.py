"""English verse out of the files that `verse.py` fetches: one poem a document, prose and numbering left out."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

_STANZA = re.compile(r"\n[ \t]*\n\s*")
_NUMERAL = re.compile(r"[IVXLC]+\.?")
_LINE_NUMBER = re.compile(r"\s{2,}\d+\s*$")
# Where a poem begins in Milton's collected poems: after so many empty lines, under a heading.
_POEM = re.compile(r"\n(?:[ \t]*\n){3,}")
_SONNET = re.compile(r"^(?=[IVX]+(?:\.[^\n]*)?\n\n)", re.M)
_PL_BOOK = re.compile(r"^BOOK [IVX]+\.?[ \t]*\n", re.M)
_PR_BOOK = re.compile(r"^THE (?:FIRST|SECOND|THIRD|FOURTH) BOOK\n", re.M)
# Of the blocks of the collected poems: first and last one; what is a play, is there in modern spelling, or is prose.
_FIRST, _LAST = "MISCELLANEOUS POEMS.", "PSAL. VIII. Aug. 14. 1653."
_OTHERS = re.compile(
    r"L'ALLEGRO|IL PENSEROSO|ARCADES|Transcriber|LYCIDAS|To the Right Honourable|The Copy of|A MASK|POEMS ADDED"
)
_REMARKS = re.compile(r"Notes?:|The four following|Compos'd|The Hymn|To Mr\.|ON THE LATE|Transcriber")
_NO_VERSE = re.compile(r"[* _]+|\[.*\]|PARADISE LOST\.?|The rest was Prose\.|THRENOS\.")
_KING_JAMES = "King James Version"
_ITALIAN = re.compile(r"\b(?:che|il|di|quando|giovane)\b", re.I)


@dataclass(frozen=True, slots=True)
class Poem:
    """One document of the corpus."""

    title: str
    author: str
    text: str
    source: str


def shakespeare(name: str, text: str) -> Iterator[Poem]:
    """The poems in one file of Shakespeare's: sonnets one by one, a narrative poem whole."""
    source = f"shakespeare 0.6, {name}"
    if name.startswith("sonnets") or name.startswith("passionate"):
        parts = re.split(r"^([IVXLC]+)\.?\n\n", text, flags=re.M)
        title = "Sonnet" if name.startswith("sonnets") else "The Passionate Pilgrim"
        for number, part in enumerate(parts[2::2], start=1):
            yield Poem(f"{title} {number}", "William Shakespeare", _tidy(part), source)
        return
    head, _, rest = text.partition("\n")
    # Lucrece has a letter and an argument in prose before a ruled line.
    body = rest.partition("____\n")[2] or rest.partition("William Shakespeare")[2]
    yield Poem(head.strip().title().replace("'S", "'s"), "William Shakespeare", _tidy(body), source)


def paradise(name: str, text: str) -> Iterator[Poem]:
    """The books of Milton's epics; an indented line begins a paragraph of verse, which becomes a stanza."""
    title, cut = ("Paradise Lost", _PL_BOOK) if "lost" in name else ("Paradise Regained", _PR_BOOK)
    for number, book in enumerate(cut.split(text)[1:], start=1):
        lines = [line for line in book.split("\n") if not re.match(r"\s*THE END", line)]
        verse = "\n".join("\n" + line if line.startswith("  ") else line for line in lines)
        yield Poem(f"{title}, book {number}", "John Milton", _tidy(verse), f"shakespeare 0.6, {name}")


def companions(name: str, text: str) -> Iterator[Poem]:
    """L'Allegro, Il Penseroso and Lycidas in modern spelling; the masque between them is a play."""
    for title, last in (("L'ALLEGRO", "IL PENSEROSO"), ("IL PENSEROSO", "COMUS"), ("LYCIDAS", "")):
        # The first heading stands once more in the title of the whole.
        part = re.split(rf"^{title}\s*\n", text, flags=re.M)[1]
        body = re.split(rf"^{last}\s*\n", part, flags=re.M)[0] if last else part[part.index("YET once more") :]
        yield Poem(title.title(), "John Milton", _tidy(body), f"shakespeare 0.6, {name}")


def collected(name: str, text: str) -> Iterator[Poem]:
    """Milton's shorter poems in the spelling of 1645 and 1673, without notes and without those in Italian."""
    inside = False
    for block in filter(None, (each.strip("\n") for each in _POEM.split(text))):
        inside = inside or block.startswith(_FIRST)
        if inside and not _OTHERS.match(block):
            for title, body in _poems_of(block):
                yield Poem(title, "John Milton", body, f"shakespeare 0.6, {name}")
        if block.startswith(_LAST):
            return


def chapters(printed: str, *, title: str) -> Iterator[Poem]:
    """A book of the King James Version as `bible -f` prints it, by chapter; a verse is a line."""
    verses: dict[int, list[str]] = {}
    for line in printed.splitlines():
        place, _, verse = line.partition(" ")
        chapter = place.partition(":")[0].lstrip(string.ascii_letters)
        verses.setdefault(int(chapter), []).append(verse.strip())
    for number, lines in verses.items():
        yield Poem(f"{title} {number}", _KING_JAMES, "\n".join(lines), "Debian bible-kjv-text")


def stanzas(poems: list[Poem], *, most_words: int) -> Iterator[Poem]:
    """The shorter stanzas, quatrains of sonnets and verses of the Bible, each a document of its own."""
    for poem in poems:
        has_verses, is_sonnet = poem.author == _KING_JAMES, poem.title.startswith("Sonnet ")
        parts = poem.text.split("\n") if has_verses else poem.text.split("\n\n")
        parts = list(_quatrains(poem.text)) if is_sonnet else parts
        for number, part in enumerate(parts, start=1):
            if len(part.split()) <= most_words:
                yield Poem(f"{poem.title}, {number}", poem.author, part, poem.source)


def _poems_of(block: str) -> Iterator[tuple[str, str]]:
    """Title and text of the poem in a block, or of each of its sonnets."""
    block = block.removeprefix(_FIRST).lstrip("\n")
    heading, _, rest = block.partition("\n\n")
    title = " ".join(heading.split()).strip(". ")
    if _NUMERAL.fullmatch(title):
        yield f"Sonnet {title} of Milton", _tidy(rest)
        return
    if title != "SONNETS":
        yield title.title() if title.isupper() else title, _tidy(rest)
        return
    for sonnet in filter(None, (each.strip() for each in _SONNET.split(rest))):
        number, _, body = sonnet.partition("\n\n")
        text = _tidy(re.split(r"^Canzone\.", body, flags=re.M)[0])
        if len(_ITALIAN.findall(text)) < 3:
            yield f"Sonnet {number.partition('.')[0]} of Milton", text


def _tidy(text: str) -> str:
    """Stanzas of verse alone: no remarks, numerals, line numbers, indentation or marks of the transcription."""
    kept: list[str] = []
    for stanza in _STANZA.split(text):
        lines = [_LINE_NUMBER.sub("", line).strip().lstrip(">.").strip() for line in stanza.split("\n")]
        lines = [line for line in lines if line and not _NO_VERSE.fullmatch(line)]
        if lines and not _NUMERAL.fullmatch(lines[0]) and not _REMARKS.match(lines[0]):
            kept.append("\n".join(lines))
        elif len(lines) > 1 and _NUMERAL.fullmatch(lines[0]):
            kept.append("\n".join(lines[1:]))
    return "\n\n".join(kept)


def _quatrains(text: str) -> Iterator[str]:
    lines = text.replace("\n\n", "\n").split("\n")
    for start in range(0, len(lines), 4):
        yield "\n".join(lines[start : start + 4])
