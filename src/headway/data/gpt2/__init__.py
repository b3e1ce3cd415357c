"""GPT-2's byte-pair vocabulary, carried with the package: everything is derived from OpenAI's vocab.bpe."""

import gzip
import hashlib
import json
from functools import cache
from importlib.resources import files

from headway.data.vocabulary import byte_alphabet, unspell_bytes
from headway.errors import TokenizerError

SHA256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
END_OF_TEXT = "<|endoftext|>"
SIZE = 50_257
# The split rule as tiktoken writes it; possessive groups change its speed, not its result.
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def merges() -> tuple[str, ...]:
    """The 50,000 merges in order, each as `left right`; a TokenizerError when the file is not OpenAI's."""
    try:
        raw = gzip.decompress(files(__package__ or __name__).joinpath("vocab.bpe.gz").read_bytes())
    except (OSError, EOFError) as cause:
        raise TokenizerError(f"GPT-2's vocab.bpe.gz cannot be read ({cause}); install headway again") from cause
    if hashlib.sha256(raw).hexdigest() != SHA256:
        raise TokenizerError(f"GPT-2's vocab.bpe.gz does not have SHA-256 {SHA256}; install headway again")
    return tuple(raw.decode().split("\n")[1:-1])


@cache
def symbols() -> tuple[str, ...]:
    """The token string of every id."""
    alphabet = byte_alphabet()
    bytes_first_printable = sorted(range(256), key=lambda byte: (ord(alphabet[byte]) >= 0x100, byte))
    joined = (merge.replace(" ", "") for merge in merges())
    return (*(alphabet[byte] for byte in bytes_first_printable), *joined, END_OF_TEXT)


@cache
def document() -> str:
    """The same tokenizer as the text of a Hugging Face tokenizer.json."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": SIZE - 1, "content": END_OF_TEXT, "single_word": False, "lstrip": False, "rstrip": False}
    vocabulary = {symbol: number for number, symbol in enumerate(symbols())}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [end | {"normalized": False, "special": True}],
            "normalizer": None,
            "pre_tokenizer": level,
            "post_processor": None,
            "decoder": level,
            "model": {"type": "BPE", "vocab": vocabulary, "merges": merges(), **_NO_OPTIONS},
        },
        ensure_ascii=False,
    )


_NO_OPTIONS = {
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def ranks() -> dict[bytes, int]:
    """The bytes of every token but the special one, and its id, as tiktoken wants them."""
    return {unspell_bytes(symbol): number for number, symbol in enumerate(symbols()[:-1])}
