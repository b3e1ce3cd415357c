"""The tokens of verse, rule by rule; the numbers of rules are those of the reference's list."""

import sys
import tracemalloc

import numpy as np
import pytest

from headway.data.tokenizers import load_own, load_tokenizer, remap, select_engine, unite
from headway.data.verse import DIGEST, SPECIALS, Piece, pieces, rebuild
from headway.data.vocabulary import Vocabulary
from headway.errors import DataError, TokenizerError


def tokens(text: str) -> list[str]:
    """The symbols between the start and the end of the poem."""
    return [piece.symbol for piece in pieces(text)][1:-1]


class TestRules:
    def test_1_the_same_text_always_has_the_same_tokens_and_the_digest_names_the_rules(self):
        assert pieces("a b") == pieces("a b")
        assert load_own("verse").digest == DIGEST
        assert DIGEST == "b6396b4974b7d804b55ad4507a9ee7f9e9a0e79bf9e349cd54a6c148bb16b757"

    def test_2_every_word_mark_and_digit_is_a_token_with_its_place(self):
        assert pieces("7 &x") == [
            Piece("<POEM_START>", 0, 0),
            Piece("7", 0, 1),
            Piece("&", 2, 3),
            Piece("x", 3, 4),
            Piece("<POEM_END>", 4, 4),
        ]
        assert tokens("I like, share & comment: 1 x") == ["I", "like", ",", "share", "&", "comment", ":", "1", "x"]

    def test_2_an_empty_text_is_a_start_and_an_end(self):
        assert pieces("") == [Piece("<POEM_START>", 0, 0), Piece("<POEM_END>", 0, 0)]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x85", "\f"])
    def test_3_an_end_of_line_is_a_line_break_and_a_blank_line_a_stanza_break(self, end: str):
        text = f"a  {end} b{end}{end}c{end} \t{end}\u3000{end}d{end}"

        assert tokens(text) == [
            *("a", "<LINE_BREAK>", "b", "<STANZA_BREAK>", "c", "<STANZA_BREAK>", "d", "<LINE_BREAK>"),
        ]

    def test_3_a_break_covers_its_ends_of_lines_and_not_the_spaces_around(self):
        assert pieces("a \r\n  \r\n b")[2] == Piece("<STANZA_BREAK>", 2, 8)

    @pytest.mark.parametrize("special", SPECIALS)
    def test_3_text_that_looks_like_a_special_symbol_stays_text(self, special: str):
        tokenizer = load_own("verse")

        ids = tokenizer.encode([f"a{special} {special}"]).ids[1:-1]

        assert "".join(tokenizer.symbols[number] for number in ids.tolist()) == f"a{special}{special}"
        assert ids.min() >= len(SPECIALS)

    def test_4_special_symbols_have_fixed_ids_whether_they_occur_or_not(self):
        vocabulary = unite([load_own("verse").symbols, ["b", "a"]], load_own("verse").base)

        assert vocabulary.symbols == [
            *("<PAD>", "<UNK>", "<MASK>", "<LINE_BREAK>", "<STANZA_BREAK>", "<POEM_START>", "<POEM_END>"),
            *("<HEART>", "<CLOUD>", "<STAR>", "<FLOWER>", "<TEAR>", "<FIRE>"),
            *("a", "b"),
        ]
        assert vocabulary.specials == 13
        assert vocabulary.spelling == "verse"

    @pytest.mark.parametrize(
        ("text", "symbols"),
        [
            ("\u2764\ufe0f", ["<HEART>"]),
            ("\u2665\ufe0e\u2764", ["<HEART>", "<HEART>"]),
            ("\U0001f494x", ["<HEART>", "x"]),
            ("\u2601\ufe0f \U0001f327\ufe0f", ["<CLOUD>", "<CLOUD>"]),
            ("\u2b50\u2728", ["<STAR>", "<STAR>"]),
            ("\U0001f339\U0001fab7", ["<FLOWER>", "<FLOWER>"]),
            ("\U0001f622\U0001f4a7", ["<TEAR>", "<TEAR>"]),
            ("\U0001f525", ["<FIRE>"]),
            ("\u2764\ufe0f\u200d\U0001f525", ["<HEART>"]),
            ("a\U0001f44d\U0001f3fdb", ["a", "\U0001f44d\U0001f3fd", "b"]),
            ("\U0001f468\u200d\u2764\ufe0f\u200d\U0001f468", ["\U0001f468\u200d\u2764\ufe0f\u200d\U0001f468"]),
            ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"]),
            ("1\ufe0f\u20e3 #\ufe0f\u20e3", ["1\ufe0f\u20e3", "#\ufe0f\u20e3"]),
        ],
    )
    def test_5_an_emoji_is_one_token_with_all_that_belongs_to_it(self, text: str, symbols: list[str]):
        assert tokens(text) == symbols

    def test_6_case_is_kept_and_apostrophes_stay_as_they_are_written(self):
        assert tokens("Don't don\u2019t DON'T") == ["Don't", "don\u2019t", "DON'T"]

    def test_6_two_spellings_of_one_character_are_one_symbol_and_places_count_the_text_as_it_is(self):
        assert pieces("e\u0301 \u00e9")[1:-1] == [Piece("\u00e9", 0, 2), Piece("\u00e9", 3, 4)]
        assert tokens("=\u0338") == ["\u2260"]

    def test_7_pieces_of_another_text_do_not_rebuild_this_one(self):
        with pytest.raises(DataError, match=r"'b' does not stand at 2:3"):
            rebuild("a c", pieces("a b"))
        with pytest.raises(DataError, match="no token from character 1"):
            rebuild("a c", pieces("a")[:-1])
        with pytest.raises(DataError, match=r"'b' does not stand at 2:3"):
            rebuild("a b", [Piece("b", 2, 3)])


class TestWords:
    @pytest.mark.parametrize(
        ("text", "symbols"),
        [
            ("o'er heav'n well-worn rock'n'roll", ["o'er", "heav'n", "well-worn", "rock'n'roll"]),
            ("beauty's Look'd I'll you\u2019re", ["beauty", "'s", "Look", "'d", "I", "'ll", "you", "\u2019re"]),
            ("BEAUTY'S", ["BEAUTY", "'S"]),
            ("death's-head over-look'd", ["death's-head", "over-look", "'d"]),
            ("'Tis 'gainst \u2019twas \u2019cause", ["'Tis", "'gainst", "\u2019twas", "\u2019cause"]),
            ("'hello' \u2018hi\u2019", ["'", "hello", "'", "\u2018", "hi", "\u2019"]),
            ("th' end o' it, lovers' eyes", ["th'", "end", "o'", "it", ",", "lovers", "'", "eyes"]),
            ("2,000 0.5 4:15 3. 1,", ["2,000", "0.5", "4:15", "3", ".", "1", ","]),
            ("go... go.... no--yes---", ["go", "...", "go", "...", ".", "no", "--", "yes", "--", "-"]),
            ("_so_ (n/a)", ["_", "so", "_", "(", "n", "/", "a", ")"]),
            (
                "\u0928\u092e\u0938\u094d\u0924\u0947 \u5e8a\u524d\u3002",
                ["\u0928\u092e\u0938\u094d\u0924\u0947", "\u5e8a", "\u524d", "\u3002"],
            ),
        ],
    )
    def test_words_are_cut_where_a_table_of_vectors_can_find_them(self, text: str, symbols: list[str]):
        assert tokens(text) == symbols

    @pytest.mark.parametrize("unit", ["a-", "'", "\n", "1,", "\u200d\U0001f525", "' ", "\n  x", "x" * 99 + " "])
    def test_a_long_text_of_any_habit_is_read_in_one_pass(self, unit: str):
        text = unit * (300_000 // len(unit))
        tracemalloc.start()
        count = len(load_own("verse").encode([text]).ids)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert count >= 3
        assert peak < 100 * len(text) + 5_000_000

    def test_white_space_is_that_of_python(self):
        spaces = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())

        assert [symbol for space in spaces for symbol in tokens(space) if symbol not in SPECIALS] == []
        assert len(spaces) > 20


class TestTokenizer:
    def test_each_text_is_a_poem(self):
        tokenizer = load_tokenizer("verse", folder=None)  # type: ignore[arg-type] # no file is looked for

        encoded = tokenizer.encode(["b a\nb", ""])

        assert encoded.ids.tolist() == [5, 13, 14, 3, 13, 6, 5, 6]
        assert encoded.offsets.tolist() == [0, 6, 8]
        assert encoded.ids.dtype == np.uint32
        assert tokenizer.symbols[13:] == ["b", "a"]
        assert select_engine("verse", folder=None).engine == tokenizer.engine == "python"  # type: ignore[arg-type]

    def test_starting_over_forgets_words_and_keeps_special_symbols(self):
        tokenizer = load_own("verse")
        tokenizer.encode(["gone"])

        tokenizer.start_over()

        assert tokenizer.symbols == list(SPECIALS)
        assert tokenizer.encode([]).ids.tolist() == []

    def test_united_ids_do_not_depend_on_the_parts(self):
        base = load_own("verse").base
        one, two = [*SPECIALS, "b", "a"], [*SPECIALS, "c", "b"]

        united = unite([one, two], base)

        assert united == unite([two, one, [*SPECIALS]], base)
        assert remap(one, united).tolist() == [*range(13), 14, 13]

    def test_half_a_surrogate_pair_is_an_error_that_says_where(self):
        with pytest.raises(TokenizerError, match=r"text 1 .* U\+D800 at character 2"):
            load_own("verse").encode(["fine", "ab\ud800"])


class TestWriting:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("The rose's, look'd;\n'tis (so) well-worn...\n\nth' end", None),
            ('"Come," he said, "go!"\n"Never"\n\n"Again"', None),
            ("a\u2014b", None),
            ("\u201cO\u2019er\u201d \u2018hills\u2019 $5 50% and/or you\u2019ll", None),
            ("'hi' she said 'lovers' eyes'", "'hi' she said' lovers' eyes'"),
            ("'hi', 'ho'", None),
            ("\u5e8a\u524d\uff0c\u660e\u6708 moon\u3002", "\u5e8a\u524d\uff0c\u660e\u6708 moon \u3002"),
            ("no -- yes", "no--yes"),
            ("  two  \r\n\r\n\r\n spaces  ", "two\n\nspaces"),
            (
                "\u2665 \u26c8\U0001f31f \U0001f339\U0001f622\U0001f525",
                "\u2764\ufe0f \u2601\ufe0f \u2b50 \U0001f338 \U0001f4a7 \U0001f525",
            ),
        ],
    )
    def test_symbols_are_written_as_people_write(self, text: str, shown: str | None):
        vocabulary = Vocabulary(list(SPECIALS), "verse", 13)

        assert vocabulary.join(piece.symbol for piece in pieces(text)) == (text if shown is None else shown)

    def test_what_stands_for_a_word_is_shown_and_what_frames_a_poem_is_not(self):
        symbols = ["<PAD>", "<POEM_START>", "a", "<UNK>", "<MASK>", ".", "<POEM_END>", "<PAD>"]

        assert Vocabulary(symbols, "verse", 0).join(symbols) == "a <UNK> <MASK>."

    def test_a_quote_left_open_ends_with_its_stanza(self):
        assert Vocabulary([], "verse").join(['"', "a", "<STANZA_BREAK>", '"', "b", '"']) == '"a\n\n"b"'
