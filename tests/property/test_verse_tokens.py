"""What holds for the tokens of any text."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from headway.data import verse
from headway.data.tokenizers import load_own
from headway.data.verse import pieces, rebuild, spellings
from headway.data.vocabulary import Vocabulary

HABITS = [
    *"\n\r\t '\u2019\u02bc-.,1\"<>_&I\u2028\x85\x1c",
    "\r\n",
    "\n \n",
    "tis",
    "s",
    "d",
    "word",
    "--",
    "...",
    "th'",
]
SIGNS = [
    *"\u2764\ufe0f\u200d\U0001f525\U0001f3fd\U0001f1e9\u0301\u0338\u00e9\u212b\u5e8a\u0928\u094d",
    "<PAD>",
    "\ufeff",
]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
MADE_TEXT = st.lists(st.sampled_from(HABITS + SIGNS), max_size=30).map("".join)
TEXTS = st.one_of(ANY_TEXT, MADE_TEXT)


@given(text=TEXTS)
@example(text="\u2764\ufe0f\r\n\r\n'Tis\u2028<PAD>")
def test_tokens_and_gaps_rebuild_any_text_and_gaps_are_white_space(text: str) -> None:
    found = pieces(text)

    edges = [0, *(edge for piece in found for edge in (piece.start, piece.end)), len(text)]
    assert rebuild(text, found) == text
    assert edges == sorted(edges)
    assert not "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)).strip()
    assert all(piece.start < piece.end for piece in found[1:-1])


@given(text=TEXTS)
def test_a_word_is_its_own_characters_in_nfc_and_never_a_special_symbol(text: str) -> None:
    for piece in pieces(text)[1:-1]:
        own = text[piece.start : piece.end]
        if piece.symbol in verse.SPECIALS:
            assert own.isspace() or own[0] > "\u2600"
        else:
            assert piece.symbol == unicodedata.normalize("NFC", own)
            assert not any(character.isspace() for character in own)


@given(text=TEXTS, block=st.integers(0, 9))
def test_a_text_read_in_blocks_has_the_tokens_of_the_whole(text: str, block: int) -> None:
    usual = verse.BLOCK_CHARACTERS
    try:
        verse.BLOCK_CHARACTERS = block
        cut = [spelling for found in spellings(text) for spelling in found]
    finally:
        verse.BLOCK_CHARACTERS = usual

    assert cut == [text[piece.start : piece.end] for piece in pieces(text)[1:-1]]


@given(texts=st.lists(TEXTS, max_size=4))
def test_ids_stand_for_the_symbols_of_the_pieces(texts: list[str]) -> None:
    tokenizer = load_own("verse")

    encoded = tokenizer.encode(texts)

    symbols = [tokenizer.symbols[number] for number in encoded.ids.tolist()]
    assert symbols == [piece.symbol for text in texts for piece in pieces(text)]
    assert encoded.offsets.tolist()[-1] == len(symbols)


@given(symbols=st.lists(st.one_of(st.sampled_from(verse.SPECIALS), TEXTS.filter(bool)), max_size=20))
def test_any_symbols_can_be_written(symbols: list[str]) -> None:
    text = Vocabulary(symbols, "verse").join(symbols)

    assert all(symbol in text for symbol in symbols if symbol not in verse.SPECIALS)
