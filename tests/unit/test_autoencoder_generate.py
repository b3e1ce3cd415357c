"""New text from codes."""

from typing import Any

import pytest
import torch
from made_autoencoder import DIMENSIONS, LENGTHS, WORDS, alive, model, section, table, windows

from headway.errors import PlanError, RunError
from headway.learners.autoencoder.generate import BANNED, POEM_END, Codes, GenerationSettings, generate
from headway.learners.autoencoder.model import Autoencoder

MODELS: list[dict[str, Any]] = [
    {},
    {"decoder": "parallel"},
    {"encoder": "gru", "attention": "code", "layers": 2},
    {"token_head": "free"},
    {"token_head": "tied", "decoder": "parallel"},
]
GREEDY = GenerationSettings(temperature=0, repetition_penalty=1, length=12, length_penalty=50)


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _code(made: Autoencoder) -> torch.Tensor:
    return made.encode(windows(), LENGTHS).detach()[:1]


@pytest.mark.parametrize("settings", MODELS)
def test_the_same_generator_writes_the_same_text(settings: dict[str, Any]) -> None:
    made, asked = alive(model(**settings)), GenerationSettings(length=30, length_penalty=50)
    texts = [generate(made, _code(made), asked, _generator(seed)) for seed in (1, 1, 2, 3)]

    assert texts[0] == texts[1]
    assert len({tuple(text) for text in texts}) > 1
    assert made.training


@pytest.mark.parametrize("settings", MODELS)
def test_text_has_no_marks_that_are_no_text(settings: dict[str, Any]) -> None:
    made, asked = alive(model(**settings)), GenerationSettings(length=60, temperature=50, top_k=None, top_p=1)
    ids = [word for seed in range(5) for word in generate(made, _code(made), asked, _generator(seed))]

    assert not set(ids) & {*BANNED, POEM_END}
    assert len(set(ids)) > 10


@pytest.mark.parametrize("settings", MODELS)
def test_what_was_never_learned_is_never_written(settings: dict[str, Any]) -> None:
    made, asked = alive(model(**settings)), GenerationSettings(length=60, temperature=50, top_k=None, top_p=1)
    learned = torch.zeros(WORDS, dtype=torch.bool)
    learned[[*BANNED, 8, 11, 20]] = True

    ids = [word for seed in range(5) for word in generate(made, _code(made), asked, _generator(seed), learned=learned)]

    assert set(ids) == {8, 11, 20}


def test_text_ends_with_the_poem_or_at_its_length() -> None:
    # All words but the end of a poem are far from everything that is written.
    words = -torch.ones(WORDS, DIMENSIONS)
    words[POEM_END] = 1
    made = Autoencoder(section(), words, generator=_generator())
    with torch.no_grad():
        made.network.decoder.output.weight.zero_()
        made.network.decoder.output.bias.fill_(1.0)

    assert generate(made, torch.zeros(1, 4), GREEDY, _generator()) == []
    with torch.no_grad():
        made.network.decoder.output.bias.fill_(-1.0)
    assert len(generate(made, torch.zeros(1, 4), GREEDY, _generator())) == 12


def test_without_chance_the_nearest_word_is_taken_and_read_next() -> None:
    made = alive(model()).eval()
    ids = generate(made, _code(made), GREEDY, _generator())
    given = made.previous(torch.tensor([[*ids, 0]]))[:, : len(ids)]
    outputs = made.decode(_code(made), given, torch.tensor([len(ids)]))[0]
    scores = outputs @ made.unit.T
    scores[:, [*BANNED, POEM_END]] = -torch.inf

    assert scores.argmax(dim=1).tolist() == ids


def test_a_parallel_decoder_writes_what_it_reconstructs() -> None:
    made = alive(model(decoder="parallel")).eval()
    ids = generate(made, _code(made), GREEDY, _generator())
    scores = made.free(_code(made), 12)[0] @ made.unit.T
    scores[:, [*BANNED, POEM_END]] = -torch.inf

    assert scores.argmax(dim=1)[: len(ids)].tolist() == ids


@pytest.mark.parametrize("change", [{"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-6}, {"sharpness": 1e6}])
def test_each_way_of_leaving_nothing_to_chance_gives_the_likeliest(change: dict[str, Any]) -> None:
    made = alive(model())
    free = GenerationSettings(temperature=1, top_k=None, top_p=1, repetition_penalty=1, length=12, length_penalty=50)
    asked = GenerationSettings(**{**{name: getattr(free, name) for name in free.__dataclass_fields__}, **change})
    greedy = generate(made, _code(made), GREEDY, _generator())

    assert all(generate(made, _code(made), asked, _generator(seed)) == greedy for seed in range(3))
    assert any(generate(made, _code(made), free, _generator(seed)) != greedy for seed in range(3))


def test_a_penalty_on_repetition_makes_words_come_once() -> None:
    made = alive(model())
    shy = GenerationSettings(temperature=0, repetition_penalty=1e6, length=12, length_penalty=50)
    words = [word for word in generate(made, _code(made), shy, _generator()) if word not in (3, 4)]
    plain = generate(made, _code(made), GREEDY, _generator())

    assert len(set(words)) == len(words)
    assert len(set(plain)) < len(plain)


def test_a_penalty_on_the_end_makes_poems_longer() -> None:
    made = alive(model())
    short, long = (
        sum(
            len(generate(made, _code(made), GenerationSettings(length=40, length_penalty=penalty), _generator(seed)))
            for seed in range(10)
        )
        for penalty in (0.02, 50)
    )

    assert short < long


@pytest.mark.parametrize("full", [True, False])
def test_codes_are_drawn_as_training_codes_lie(full: bool) -> None:
    factor = torch.tensor([[2.0, 0.0, 0.0], [1.0, 0.5, 0.0], [3.0, 0.5, 0.0]])
    covariance = factor @ factor.T
    mean = torch.tensor([1.0, -2.0, 5.0])
    codes = Codes(mean, covariance if full else covariance.diagonal().sqrt())
    draw = _generator()
    drawn = torch.cat([codes.draw(draw) for _ in range(4000)])

    assert torch.allclose(drawn.mean(dim=0), mean, atol=0.2)
    expected = covariance if full else torch.diag(covariance.diagonal())
    assert torch.allclose(torch.cov(drawn.T), expected, atol=0.6)
    assert torch.equal(codes.draw(_generator(3)), codes.draw(_generator(3)))


def test_a_bypass_has_nothing_to_write_from() -> None:
    made = model(attention="bypass")

    with pytest.raises(RunError, match="bypass"):
        generate(made, torch.zeros(1, 4), GREEDY, _generator())


def test_a_table_without_words_is_refused() -> None:
    made = Autoencoder(section(), torch.zeros_like(table()), generator=_generator())

    with pytest.raises(RunError, match="no word"):
        generate(made, torch.zeros(1, 4), GREEDY, _generator())


def test_settings_without_sense_are_refused_all_at_once() -> None:
    with pytest.raises(PlanError) as error:
        GenerationSettings(
            length=0, temperature=-1, top_k=0, top_p=0, repetition_penalty=0.5, length_penalty=0, sharpness=0
        )

    assert len(error.value.problems) == 7
    assert "top_p: should be above 0 and 1 at the most, not 0" in error.value.problems
