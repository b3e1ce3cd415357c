"""The proof that a fast engine gives the reference's ids, and the choice that follows from it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from headway.data.blueprints import Blueprint
from headway.data.engines import BUILDERS, Encoded, Engine, Ids, build_engine, engine_errors
from headway.errors import TokenizerError

SAMPLE_CHARACTERS = 300_000
_NONE: Mapping[str, Engine] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine to use, and why each faster one was not taken."""

    engine: str
    rejected: dict[str, str] = field(default_factory=dict[str, str])


def choose_engine(
    blueprint: Blueprint, *, wanted: str = "auto", sample: Sequence[str] = (), loaded: Mapping[str, Engine] = _NONE
) -> Choice:
    """The fastest engine equal to the reference on trial texts and sample; a TokenizerError if a wanted one is not.

    Engines that are `loaded` already are not built again.
    """
    if wanted == blueprint.reference:
        build_engine(wanted, blueprint)
        return Choice(wanted)
    if wanted != "auto":
        if problem := check_engine(wanted, blueprint, sample=sample, loaded=loaded):
            raise TokenizerError(f"data.engine = {wanted!r} cannot be used: {problem}")
        return Choice(wanted)
    rejected: dict[str, str] = {}
    for name in BUILDERS:
        if name == blueprint.reference:
            continue
        problem = check_engine(name, blueprint, sample=sample, loaded=loaded)
        if problem is None:
            return Choice(name, rejected)
        rejected[name] = problem
    return Choice(blueprint.reference, rejected)


def check_engine(
    name: str, blueprint: Blueprint, *, sample: Sequence[str] = (), loaded: Mapping[str, Engine] = _NONE
) -> str | None:
    """Why this engine is not equal to the reference on the trial texts and the start of the sample; None if it is."""
    try:
        candidate = loaded.get(name) or build_engine(name, blueprint, advice="")
    except TokenizerError as problem:
        return str(problem)
    reference = build_engine(blueprint.reference, blueprint)
    for texts in _trials(sample):
        with engine_errors(blueprint.reference, blueprint):
            expected = reference.encode(texts)
        try:
            with engine_errors(name, blueprint):
                given = candidate.encode(texts)
        except TokenizerError as problem:
            return str(problem)
        if problem := difference(texts, expected, given):
            return f"{name} differs from {blueprint.reference} {problem}"
    return None


def difference(texts: Sequence[str], expected: Encoded, given: Encoded) -> str | None:
    """Where two encodings of the same texts differ first; None if they are equal."""
    if np.array_equal(expected.offsets, given.offsets) and np.array_equal(expected.ids, given.ids):
        return None
    for text, left, right in zip(texts, _rows(expected), _rows(given), strict=True):
        if not np.array_equal(left, right):
            return f"on {text[:60]!r}: expected ids {left[:12].tolist()}, got {right[:12].tolist()}"
    return "in the number of ids"


def _rows(encoded: Encoded) -> list[Ids]:
    return [encoded.ids[start:stop] for start, stop in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]


def _trials(sample: Sequence[str]) -> Iterator[Sequence[str]]:
    yield trial_texts()
    room = SAMPLE_CHARACTERS
    taken: list[str] = []
    for text in sample:
        if room <= 0:
            break
        taken.append(text[:room])
        room -= len(text)
    yield taken
    # Short pieces of the same texts take the other way through an engine that joins.
    yield [piece for text in taken for piece in text[: SAMPLE_CHARACTERS // 4].split("\n\n")][:2_000]


_ATOMS = (
    *("a", "the", "The", "Ab", "é", "ß", "日本", "한", "ا", "क्ष", "ǅ", "ꟾ", "\U0001f642", "\U0001f469\u200d\U0001f680"),
    *(
        "1",
        "42",
        "٣",
        "Ⅷ",
        "²",
        "\U0001d7d8",
        "'s",
        "'t",
        "'ll",
        "'LL",
        "’s",
        "'",
        '"',
        "“",
        "…",
        "-",
        "--",
        "_",
        "#",
        ".",
    ),
    *(
        " ",
        "  ",
        "   ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x1f",
        "\x85",
        "\xa0",
        "\u1680",
        "\u2003",
    ),
    *(
        "\u200b",
        "\u2028",
        "\u2029",
        "\u202f",
        "\u3000",
        "\ufeff",
        "\u00ad",
        "\x00",
        "\x7f",
        "\ue000",
        "\ufffd",
        "\u0378",
    ),
    *("\U0010ffff", "e\u0301", "\u0301", "<|endoftext|>", "<|endoftext|", "|>", "<|", "</s>", "[UNK]", "Ġ", "▁", "##a"),
)


def trial_texts() -> list[str]:
    """Texts chosen to tell tokenizers apart; always the same."""
    draw = random.Random(13)
    mixed = ["".join(draw.choices(_ATOMS, k=draw.randint(2, 9))) for _ in range(1_500)]
    runs = [character * count for character in (" ", "\n", "a", "é", "0", "!", "\U0001f642") for count in (2, 17, 300)]
    return ["", *_ATOMS, *runs, *mixed]
