"""What every model is compared with: computed another way, and from the training side alone."""

import numpy as np
import pytest
from made_codecs import ABSENT, DIMENSIONS, MARKS, NOTHING, corpus, documents, table

from headway.errors import DataError
from headway.learners.autoencoder import baselines as module
from headway.learners.autoencoder.baselines import CONSTANT, FREQUENT, ORACLE, POSITIONS, Baselines, Flat
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.evaluate import Yardstick
from headway.learners.autoencoder.words import Kind, Table

TRAIN = documents(40, seed=1)
HELD = documents(12, seed=2)


def is_scored(ids: np.ndarray) -> np.ndarray:
    return (ids >= MARKS) & ~np.isin(ids, ABSENT)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def mean_cosine(outputs: np.ndarray, targets: np.ndarray) -> float:
    return float((unit(outputs.astype(float)) * unit(targets.astype(float))).sum(axis=1).mean())


def fitted(words: Table, *, code: int = 4, also: tuple[int, ...] = ()) -> Baselines:
    return Baselines.fit(corpus(TRAIN), words, code=code, seed=0, also=also)


def test_the_constant_is_the_mean_direction_of_the_training_words_each_counted_once() -> None:
    words = table()
    learned, held = np.concatenate(TRAIN), np.concatenate(HELD)
    direction = unit(words.units[learned[is_scored(learned)]].astype(float).mean(axis=0))

    measured = Yardstick.of(corpus(HELD), words, fitted(words))

    targets = words.units[held[is_scored(held)]]
    assert measured.constant == pytest.approx(mean_cosine(np.tile(direction, (len(targets), 1)), targets), abs=1e-12)


def test_no_constant_is_better_than_the_constant_on_what_it_is_fitted_on() -> None:
    words = table()
    learned = np.concatenate(TRAIN)
    targets = words.units[learned[is_scored(learned)]]
    best = Yardstick.of(corpus(TRAIN), words, fitted(words)).constant

    others = np.random.default_rng(0).normal(size=(200, DIMENSIONS))

    assert all(mean_cosine(np.tile(other, (len(targets), 1)), targets) < best for other in others)


def test_the_most_frequent_word_is_counted_over_words_that_share_a_vector() -> None:
    matrix = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    words = Table(matrix, np.ones(4, bool), 0)
    # Alone, 3 is most frequent; 1 and 2 are the same word to whoever looks at vectors.
    windows = corpus([np.array([3, 3, 3, 1]), np.array([1, 2, 2, 0])])

    found = Baselines.fit(windows, words, code=1, seed=0)

    assert found.frequent == 1


def test_constants_of_positions_are_means_over_what_stands_there() -> None:
    words = table()
    windows = corpus(TRAIN)
    chosen = windows.owned & is_scored(windows.ids) & (windows.positions == 3)

    found = fitted(words)

    assert np.allclose(found.positions[3], unit(words.units[windows.ids[chosen]].astype(float).mean(axis=0)))


def test_a_position_that_holds_no_word_gets_the_constant() -> None:
    words = table()
    mark = np.array([0, 5, 6, 7])

    found = Baselines.fit(corpus([mark, mark]), words, code=1, seed=0)

    assert np.array_equal(found.positions[0], found.constants[Kind.SCORED])


def test_the_oracle_knows_each_window_s_own_mean() -> None:
    words = table()
    windows = corpus(HELD)
    total, tokens = 0.0, 0
    for i in range(len(windows)):
        part = windows.part(slice(i, i + 1))
        targets = words.units[part.counted[is_scored(part.counted)]].astype(float)
        if len(targets):
            total += float((unit(targets) @ unit(targets.sum(axis=0))).sum())
            tokens += len(targets)

    measured = Yardstick.of(windows, words, fitted(words))

    assert measured.mean(measured.sums[ORACLE]) == pytest.approx(total / tokens, abs=1e-12)


def test_the_linear_code_is_the_principal_components_of_flattened_windows() -> None:
    words = table()
    learned, held = corpus(TRAIN), corpus(HELD)
    flat = np.concatenate(list(Flat(learned, words, 8))).astype(float)
    middle = flat.mean(axis=0)
    axes = np.linalg.svd(flat - middle, full_matrices=False)[2][:4]
    seen = np.concatenate(list(Flat(held, words, 8))).astype(float)
    rows = ((seen - middle) @ axes.T @ axes + middle).reshape(len(held), 8, DIMENSIONS)
    outputs = np.concatenate([rows[i, :length] for i, length in enumerate(held.lengths)])
    chosen = held.owned & is_scored(held.ids)
    cosine = mean_cosine(outputs[chosen], words.units[held.ids[chosen]])

    measured = Yardstick.of(held, words, fitted(words))

    found = measured.score(measured.beaten)
    assert found.cosine == pytest.approx(cosine, abs=1e-5)
    assert found.skill == pytest.approx((cosine - measured.constant) / (1 - measured.constant), abs=1e-4)


def test_more_numbers_make_a_better_linear_code_on_what_it_is_fitted_on() -> None:
    words = table()
    found = fitted(words, code=4, also=(1, 4, 16, 30, 10_000))

    measured = Yardstick.of(corpus(TRAIN), words, found)

    assert found.codes == (4, 1, 16, 30)
    scores = [measured.mean(measured.linear[code]) for code in (1, 4, 16, 30)]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


def test_a_flattened_window_has_zeros_where_it_is_short_and_can_be_read_again() -> None:
    words = table()
    windows = Corpus(np.array([4, 5, 6]), np.array([0, 1, 3]), np.ones(3, bool), np.array([0, 1]))
    flat = Flat(windows, words, 2)

    first, again = np.concatenate(list(flat)), np.concatenate(list(flat))

    assert np.array_equal(first, again)
    assert np.array_equal(first[0], [*words.units[4], *np.zeros(DIMENSIONS)])
    assert np.array_equal(first[1], [*words.units[5], *words.units[6]])


def test_few_windows_give_a_linear_code_of_fewer_numbers() -> None:
    found = Baselines.fit(corpus(TRAIN[:2]), table(), code=64, seed=0)

    assert found.code == 64
    assert found.codes == (found.windows - 1,)


def test_a_line_spends_nothing_on_what_is_not_scored() -> None:
    words, held = table(), corpus(HELD)

    rows = np.concatenate(list(Flat(held, words, 8))).reshape(len(held), 8, DIMENSIONS)

    places = np.repeat(np.arange(len(held)), held.lengths), held.positions
    assert np.array_equal(rows[places].any(axis=1), is_scored(held.ids))
    assert np.array_equal(rows[places][is_scored(held.ids)], words.units[held.ids[is_scored(held.ids)]])


def test_of_more_windows_than_fit_a_sample_is_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NUMBERS", 20 * 8 * DIMENSIONS)

    one, same, other = (Baselines.fit(corpus(TRAIN), table(), code=2, seed=seed) for seed in (1, 1, 2))

    flat = next(iter(Flat(corpus(HELD), table(), 8)))
    assert one.windows == 20 < one.side.windows
    assert np.array_equal(one.linear.encode(flat), same.linear.encode(flat))
    assert not np.array_equal(one.linear.encode(flat), other.linear.encode(flat))


def test_windows_longer_than_any_that_was_learned_end_in_the_constant() -> None:
    words = table()
    found = fitted(words)
    longer = corpus([np.full(12, 7)], size=12, overlap=0)
    flat = Flat(longer, words, found.size)

    outputs = found.linear_predictions(flat)[4](slice(0, 1), longer)
    simple = {name: each(slice(0, 1), longer) for name, each in found.predictions(words).items()}

    assert np.allclose(outputs[8:], found.constants[Kind.SCORED])
    assert not np.allclose(outputs[:8], found.constants[Kind.SCORED])
    assert np.allclose(simple[CONSTANT], found.constants[Kind.SCORED])
    assert np.allclose(simple[FREQUENT], words.units[found.frequent])
    assert np.allclose(simple[POSITIONS][7:], found.positions[7])


def test_the_training_side_is_counted_by_what_its_tokens_are() -> None:
    learned = np.concatenate(TRAIN)
    side = fitted(table()).side

    assert side.tokens == len(learned) == side.scored + side.absent + side.special + side.nothing
    assert side.scored == is_scored(learned).sum()
    assert side.special == (learned < MARKS).sum()
    assert side.nothing == (learned == NOTHING).sum()
    assert side.context == corpus(TRAIN).tokens - len(learned)
    assert side.words == (learned >= MARKS).sum()
    assert side.words_found == side.scored
    assert side.types == len(np.unique(learned[learned >= MARKS]))
    assert side.types_found == len(np.unique(learned[is_scored(learned)]))


def test_a_training_side_without_a_known_word_is_an_error_with_the_numbers() -> None:
    with pytest.raises(DataError, match="among its 4 tokens"):
        Baselines.fit(corpus([np.array([0, 1, *ABSENT])]), table(), code=1, seed=0)


def test_a_single_window_to_learn_from_is_an_error() -> None:
    with pytest.raises(DataError, match="single window"):
        Baselines.fit(corpus([np.arange(4, 8)]), table(), code=1, seed=0)
