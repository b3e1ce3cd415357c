"""Which engine a build uses, and the proof on its own texts that it gives the reference's ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.data.blueprints import find_blueprint
from headway.data.engine_check import Choice
from headway.data.engines import BUILDERS
from headway.data.read import read_part
from headway.data.shards import Recipe
from headway.data.sources import Document, Part
from headway.data.tokenizers import Tokenizer, is_own, load_own, load_tokenizer, select_engine
from headway.data.vocabulary import Vocabulary
from headway.errors import TokenizerError

# The reference reads some MB a second: enough to meet this corpus' habits, the trial texts hold the rest.
SAMPLE_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class Identity:
    """What a tokenizer is, whichever engine runs it."""

    name: str
    digest: str
    has_engines: bool
    base: Vocabulary | None = None
    """What its vocabulary begins with, when it grows."""


def identify(recipe: Recipe) -> Identity:
    """Name and digest of the recipe's tokenizer, without loading an engine."""
    spec = recipe.tokenizer
    if is_own(spec):
        tokenizer = load_own(spec)
        return Identity(tokenizer.name, tokenizer.digest, has_engines=False, base=tokenizer.base)
    blueprint = find_blueprint(spec, folder=recipe.folder)
    return Identity(blueprint.name, blueprint.digest, has_engines=True)


def likely(recipe: Recipe) -> Tokenizer:
    """The tokenizer with the engine that the proof will most likely choose: the first that loads."""
    spec, folder = recipe.tokenizer, recipe.folder
    if recipe.engine != "auto" or is_own(spec):
        return load_tokenizer(spec, engine=recipe.engine, folder=folder)
    problems: list[str] = []
    for engine in BUILDERS:
        try:
            return load_tokenizer(spec, engine=engine, folder=folder)
        except TokenizerError as problem:
            problems.append(str(problem))
    raise TokenizerError(f"no engine can run {spec}: {'; '.join(problems)}")


def prove(recipe: Recipe, parts: Sequence[Part], *, loaded: Tokenizer | None = None) -> Choice:
    """The engine that gives the reference's ids on trial texts and on the first texts of these parts."""
    sample = [text for part in parts for text in _first_texts(part, recipe, SAMPLE_CHARACTERS // len(parts))]
    return select_engine(recipe.tokenizer, engine=recipe.engine, folder=recipe.folder, sample=sample, loaded=loaded)


def _first_texts(part: Part, recipe: Recipe, room: int) -> list[str]:
    texts: list[str] = []
    for record in read_part(part, recipe.field, texts=recipe.texts):
        if isinstance(record, Document):
            texts.append(record.text[:room])
            room -= len(record.text)
        if room <= 0:
            break
    return texts
