"""Plain English paragraphs out of documentation files, by regular expressions only: fast and deterministic."""

from __future__ import annotations

import gzip
import html
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

# fmt: off
FUNCTION_WORDS = frozenset((
    "the", "of", "and", "to", "in", "is", "that", "for", "with", "are", "be", "this", "by", "it", "as", "not",
    "or", "from", "you", "can", "an", "was", "on", "which", "have", "if", "its", "has", "at",
))
# fmt: on
# A paragraph shorter than this is a heading, a label or a table cell; a longer one than that is an index.
SHORTEST, LONGEST = 60, 12_000

_HIDDEN = re.compile(
    r"<(script|style|head|pre|nav|svg|math|screen|programlisting)\b.*?</\1\s*>|<!--.*?-->", re.S | re.I
)
_INLINE = re.compile(
    r"</?(?:a|abbr|acronym|app|b|big|br|cite|cmd|code|dfn|em|emphasis|file|font|gui|guiseq|i|input|ins|kbd|key|keyseq|link|literal|"
    r"mark|q|s|samp|small|span|strong|sub|sup|sys|tt|u|ulink|var)\b[^>]*>",
    re.I,
)
_TAG = re.compile(r"<[^>]*>")
_BLANK = re.compile(r"\n[^\S\n]*\n")
_ROFF_BREAK = re.compile(r"^[.'](?:PP|P|LP|TP|TQ|HP|SH|SS|IP|Pp|Sh|Ss|It|Bl|El|Bd|Ed|RS|RE|sp|br)\b.*$", re.M)
_ROFF_BLOCK = re.compile(r"^[.'](nf|EX|TS|Bd -literal).*?^[.'](?:fi|EE|TE|Ed)\b.*?$", re.M | re.S)
_ROFF_FONT = re.compile(
    r"^[.'](?:BR|RB|BI|IB|IR|RI|SM|SB|B|I|Xr|Em|Nm|Fn|Fa|Fl|Ar|Va|Vt|Dv|Er|Pa|Sy|Li|Cm|Ql|Dq|Sq|Pq|Ic|Ev|Tn)\b ?", re.M
)
_ROFF_REQUEST = re.compile(r"^[.'].*$", re.M)
_ROFF_ESCAPES = (
    (re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[+-]?\d|\\[&|^:/,%cd]|\\[mMF]\[[^\]]*\]"), ""),
    (re.compile(r"\\\((?:aq|cq)|\\\[(?:aq|cq)\]|\\'"), "'"),
    (re.compile(r"\\\((?:lq|rq|dq)|\\\[(?:lq|rq|dq)\]"), '"'),
    (re.compile(r"\\\(em|\\\[em\]"), "--"),
    (re.compile(r"\\\(bu|\\\(..|\\\[[^\]]*\]|\\\*(?:\[[^\]]*\]|\(..|.)"), ""),
    (re.compile(r"\\-|\\\(hy"), "-"),
    (re.compile(r"\\[ ~0]"), " "),
    (re.compile(r"\\e"), r"\\"),
)
_POD_BLOCK = re.compile(r"^=(?:begin|for)\b.*?^=(?:end|cut)\b.*?$", re.M | re.S)
_POD_INLINE = re.compile(r"[BCEFILSXZ]<+\s*(?:([^<>|]*)\|[^<>]*|([^<>]*?))\s*>+")
_RST_ROLE = re.compile(r":[\w:+.-]+:`~?!?([^`<]*?)\s*(?:<[^`]*>)?`")
_RST_LINK = re.compile(r"`([^`<]*?)\s*(?:<[^`>]*>)?`_{1,2}")
_RST_QUOTE = re.compile(r"``([^`]*)``|\*\*([^*\n]+)\*\*|`([^`\n]+)`")
_RST_DIRECTIVE = re.compile(r"^ *\.\. .*$|^ *:\w[\w ]*:( .*)?$|^[=\-~^\"'`#*+_.]{4,}$", re.M)


def paragraphs(path: Path) -> Iterator[str]:
    """Yields the English prose paragraphs of one documentation file, each on one line."""
    convert = converter(path.name)
    if convert is None:
        return
    text = _decoded(path)
    if text is None:
        return
    for block in convert(text):
        paragraph = " ".join(block.split())
        if is_prose(paragraph):
            yield paragraph


def is_prose(paragraph: str) -> bool:
    """Tells English sentences from code, tables, indexes and other languages."""
    if not SHORTEST <= len(paragraph) <= LONGEST:
        return False
    letters = sum(map(str.isalpha, paragraph)) + paragraph.count(" ")
    if letters < 0.85 * len(paragraph):
        return False
    words = paragraph.lower().split()
    common = sum(word in FUNCTION_WORDS for word in words)
    return common >= 3 and common >= 0.18 * len(words)


def converter(name: str) -> Callable[[str], Iterator[str]] | None:
    """Chooses how a file of this name becomes blocks of text; None for files that are not documentation."""
    name = name.lower().removesuffix(".gz").removesuffix(".dz")
    stem, _, suffix = name.rpartition(".")
    if name.startswith(("changelog", "changes", "copying", "license", "authors", "genindex")) or not suffix:
        return None
    if suffix in {"html", "htm", "xhtml", "page", "xml", "docbook"}:
        return _markup
    if suffix in {"pod"}:
        return _pod
    if suffix in {"rst", "txt", "md", "text", "dict", "en"} or re.fullmatch(r"info(-\d+)?", suffix):
        return _plain
    if re.fullmatch(r"[1-9][a-z]*", suffix) and stem:
        return _roff
    return None


def _decoded(path: Path) -> str | None:
    data = path.read_bytes()
    if path.suffix in {".gz", ".dz"}:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return None
    if b"\0" in data[:4096]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _markup(text: str) -> Iterator[str]:
    text = _INLINE.sub("", _HIDDEN.sub("\n\n", text))
    # Single line breaks inside an element are white space; only tags separate paragraphs.
    for block in _TAG.split(text):
        if len(block) >= SHORTEST:
            yield html.unescape(block).replace("\u00b6", "")


def _roff(text: str) -> Iterator[str]:
    text = re.sub(r"^[.']\\\".*$", "", text, flags=re.M)
    text = _ROFF_BREAK.sub("\n\n", _ROFF_BLOCK.sub("\n\n", text))
    text = _ROFF_REQUEST.sub("", _ROFF_FONT.sub("", text))
    for pattern, replacement in _ROFF_ESCAPES:
        text = pattern.sub(replacement, text)
    return iter(_BLANK.split(text))


def _pod(text: str) -> Iterator[str]:
    for block in _BLANK.split(_POD_BLOCK.sub("", text)):
        if block.startswith((" ", "\t", "=")) or block.count(";") > 2:
            continue
        # Codes nest, so the innermost are removed first.
        for _ in range(3):
            block = _POD_INLINE.sub(lambda match: match[1] or match[2] or "", block)
        yield block


def _plain(text: str) -> Iterator[str]:
    text = _RST_DIRECTIVE.sub("\n", text)
    text = _RST_LINK.sub(r"\1", _RST_ROLE.sub(r"\1", text))
    text = _RST_QUOTE.sub(lambda match: match[1] or match[2] or match[3], text)
    return iter(_BLANK.split(text))
