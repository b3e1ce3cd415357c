"""Evaluations of codecs whose quality is known: nothing looks better than it is."""

from dataclasses import replace

import numpy as np
import pytest
from made_codecs import ABSENT, DIMENSIONS, MARKS, NOTHING, Leaking, Perfect, Same, corpus, documents, table

from headway.errors import DataError, RunError
from headway.learners.autoencoder import evaluate as module
from headway.learners.autoencoder import nearest, scores
from headway.learners.autoencoder.baselines import Baselines, Flat
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.evaluate import Codec, Yardstick, evaluate, glance
from headway.learners.autoencoder.figures import Absent, Background, Shuffle
from headway.learners.autoencoder.report import Report
from headway.learners.autoencoder.shuffling import donors
from headway.learners.autoencoder.words import Kind, Table

WORDS = table()
TRAIN = corpus(documents(40, seed=1))
HELD_TEXTS = documents(15, seed=2)
HELD = corpus(HELD_TEXTS, first=100)
HELD_TOKENS = np.concatenate(HELD_TEXTS)
SCORED = (HELD_TOKENS >= MARKS) & ~np.isin(HELD_TOKENS, ABSENT)


def baselines(code: int = 3) -> Baselines:
    return Baselines.fit(TRAIN, WORDS, code=code, seed=0)


def judged(codec: Codec, *, held: Corpus = HELD, words: Table = WORDS, seed: int = 0) -> Report:
    return evaluate(codec, train=TRAIN, held=held, table=words, seed=seed)


def constant() -> np.ndarray:
    return baselines().constants[Kind.SCORED]


def shuffle_of(report: Report) -> Shuffle:
    assert isinstance(report.shuffle, Shuffle)
    return report.shuffle


def test_a_codec_that_returns_the_target_has_cosine_and_skill_one() -> None:
    report = judged(Perfect(HELD, WORDS))

    assert report.free.cosine == pytest.approx(1, abs=1e-12)
    assert report.free.skill == pytest.approx(1, abs=1e-12)
    assert report.accuracy.share == 1
    assert shuffle_of(report).gain > 0.3
    assert shuffle_of(report).used is True


def test_a_codec_that_returns_the_constant_has_no_skill_and_does_not_use_its_code() -> None:
    report = judged(Same(constant()))

    assert report.free.skill == pytest.approx(0, abs=1e-7)
    assert shuffle_of(report).gain == 0
    assert shuffle_of(report).used is False
    assert any("the code is not used" in sentence for sentence in report.statements)
    assert any("does not reach PCA-3" in sentence for sentence in report.statements)
    assert report.code.variance_ratio == pytest.approx(0, abs=1e-12)


def test_what_leaks_through_the_true_words_does_not_touch_the_headline() -> None:
    honest, leaking = judged(Same(constant())), judged(Leaking(constant(), words=WORDS))

    assert not isinstance(leaking.forced, Absent)
    assert leaking.forced.cosine == pytest.approx(1, abs=1e-12)
    assert leaking.free == honest.free
    assert leaking.statements == honest.statements
    assert honest.forced == Absent("this decoder reads no previous words")


def test_a_skill_below_a_constant_s_is_shown_as_it_is() -> None:
    report = judged(Same(-constant()))

    assert isinstance(report.free.skill, float)
    assert report.free.skill < -1
    assert report.spread.below_constant == report.spread.documents
    assert any("not better than a constant" in sentence for sentence in report.statements)


def test_each_token_counts_once_and_only_in_the_window_that_owns_it() -> None:
    report = judged(Perfect(HELD, WORDS, noise=0.5))
    again = judged(Perfect(HELD, WORDS, noise=0.5), held=replace(HELD, owned=HELD.owned.copy()))

    codec = Perfect(HELD, WORDS, noise=0.5)
    kept = HELD.owned & (WORDS.kinds[HELD.ids] == Kind.SCORED)
    outputs, targets = codec.outputs[kept].astype(float), WORDS.units[HELD.ids[kept]].astype(float)
    cosine = float((outputs * targets).sum(axis=1) @ (1 / np.linalg.norm(outputs, axis=1))) / len(outputs)
    assert report.held.tokens == len(HELD_TOKENS)
    assert report.held.scored == SCORED.sum() == len(outputs)
    assert report.free.cosine == pytest.approx(cosine, abs=1e-7)
    assert again == report


def test_what_context_says_changes_nothing() -> None:
    report = judged(Perfect(HELD, WORDS))
    spoiled = Perfect(HELD, WORDS)
    spoiled.outputs[~HELD.owned] = -1

    assert judged(spoiled).free == report.free


def test_tokens_without_a_direction_carry_no_weight_and_are_counted() -> None:
    spoiled = Perfect(HELD, WORDS)
    spoiled.outputs[HELD.ids == NOTHING] = -1

    report = judged(spoiled)

    assert report.free.cosine == pytest.approx(1, abs=1e-12)
    assert report.held.nothing == (HELD_TOKENS == NOTHING).sum() > 0


def test_marks_and_words_without_a_vector_are_scored_apart() -> None:
    spoiled = Perfect(HELD, WORDS)
    spoiled.outputs[HELD.ids < MARKS] *= -1

    report = judged(spoiled)

    found = {each.name: each for each in report.apart}
    assert report.free.cosine == pytest.approx(1, abs=1e-12)
    assert found["words without a vector"].cosine == pytest.approx(1)
    assert found["words without a vector"].tokens == (ABSENT[0] == HELD_TOKENS).sum()
    assert found["special tokens"].cosine == pytest.approx(-1)
    assert found["special tokens"].tokens == (HELD_TOKENS < MARKS).sum()


def test_marks_that_were_never_learned_have_no_constant() -> None:
    plain = corpus([text[text >= MARKS] for text in documents(40, seed=1)])

    report = evaluate(Perfect(HELD, WORDS), train=plain, held=HELD, table=WORDS, seed=0)

    marks = next(each for each in report.apart if each.name == "special tokens")
    assert marks.constant == marks.skill == Absent("the training side has none")


def test_outputs_without_a_direction_count_as_nothing_reached() -> None:
    report = judged(Same(np.zeros(DIMENSIONS)))

    assert report.free.cosine == 0
    assert report.accuracy.share == 0


def test_outputs_that_are_not_finite_stop_the_evaluation_with_their_number() -> None:
    with pytest.raises(RunError, match=r"\d+ of \d+ outputs are not finite.*learning rate"):
        judged(Same(np.full(DIMENSIONS, np.nan)))


def test_a_held_out_side_with_nothing_to_score_is_an_error() -> None:
    with pytest.raises(DataError, match="none of the 4 tokens of 1 documents"):
        judged(Same(constant()), held=corpus([np.array([0, 1, *ABSENT])]))


def test_the_floor_of_token_accuracy_is_the_share_of_the_most_frequent_word() -> None:
    report = judged(Same(WORDS.units[baselines().frequent]))

    share = float((HELD_TOKENS[SCORED] == baselines().frequent).mean())
    assert report.accuracy.floor == report.accuracy.share == pytest.approx(share)
    assert report.accuracy.tokens == report.accuracy.tokens_of == SCORED.sum()


def test_words_are_looked_for_in_a_sample_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "MOST_TOKENS", 30)

    report = judged(Perfect(HELD, WORDS))

    assert report.accuracy.tokens == 30
    assert report.accuracy.tokens_of == SCORED.sum()
    assert report.accuracy.share == 1


def test_everything_is_the_same_for_a_seed_and_whatever_is_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = Perfect(HELD, WORDS, noise=0.7)
    report = judged(codec)
    monkeypatch.setattr(scores, "AT_ONCE", 10)
    monkeypatch.setattr(module, "AT_ONCE", 7)
    monkeypatch.setattr(nearest, "_SIMILARITIES", 100)

    again = judged(codec)

    assert numbers(again) == pytest.approx(numbers(report), abs=1e-9)
    assert judged(codec).to_json() == again.to_json()
    assert judged(codec, seed=1).interval != again.interval


def numbers(report: Report) -> list[float]:
    def inside(value: object) -> list[float]:
        if isinstance(value, dict):
            return [number for each in value.values() for number in inside(each)]
        if isinstance(value, list):
            return [number for each in value for number in inside(each)]
        return [float(value)] if isinstance(value, int | float) else []

    return inside(report.to_json())


def test_intervals_cover_what_more_documents_of_the_kind_give() -> None:
    def skill(seed: int, count: int) -> tuple[float, tuple[float, float]]:
        held = corpus(documents(count, seed=seed))
        report = judged(Perfect(held, WORDS, noise=0.7), held=held)
        assert not isinstance(report.interval, Absent)
        assert isinstance(report.free.skill, float)
        return report.free.skill, (report.interval.low, report.interval.high)

    truth, _ = skill(99, 1500)

    found = [interval for _, interval in (skill(seed, 25) for seed in range(20))]

    assert sum(low <= truth <= high for low, high in found) >= 16
    assert np.mean([high - low for low, high in found]) < 0.3


def test_one_document_has_figures_but_no_interval() -> None:
    report = judged(Perfect(HELD, WORDS), held=HELD.part(slice(0, 1)))

    assert report.free.skill == pytest.approx(1)
    assert isinstance(report.interval, Absent)
    assert isinstance(report.shuffle, Absent)
    assert any("not tested" in sentence for sentence in report.statements)


def test_documents_without_a_scored_word_take_no_part_in_intervals() -> None:
    held = corpus([*HELD_TEXTS[:1], np.array([0, 1])])

    report = judged(Perfect(held, WORDS), held=held)

    assert report.held.documents == 2
    assert report.spread.documents == 1
    assert isinstance(report.interval, Absent)
    assert any("cannot be told" in sentence for sentence in report.statements)


def test_no_window_keeps_its_own_code_and_lengths_stay_as_near_as_possible() -> None:
    lengths = np.array([5, 8, 5, 8, 5, 3, 20, 21, 8])

    found = donors(lengths, seed=4)

    assert (found != np.arange(len(lengths))).all()
    assert sorted(found[lengths == 5]) == [0, 2, 4]
    assert sorted(found[lengths == 8]) == [1, 3, 8]
    assert lengths[found[[5, 6, 7]]].tolist() == [5, 21, 20]
    assert donors(lengths, seed=4).tolist() == found.tolist()
    assert any(donors(lengths, seed=seed).tolist() != found.tolist() for seed in range(5, 15))


def test_windows_alone_in_their_length_are_counted() -> None:
    report = judged(Perfect(HELD, WORDS))

    alone = int((np.bincount(HELD.lengths)[HELD.lengths] == 1).sum())
    assert shuffle_of(report).nearest == alone
    assert shuffle_of(report).equal == len(HELD) - alone


def test_what_goes_round_the_code_stays_when_codes_are_shuffled() -> None:
    class Bypassing(Perfect):
        def encode(self, corpus: Corpus) -> np.ndarray:
            codes = super().encode(corpus)
            return np.concatenate([np.zeros_like(codes), codes], axis=1)

        def decode(self, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            return super().decode(codes[:, self.code :], lengths)

    report = judged(Bypassing(HELD, WORDS, bypass=True))

    assert report.free.cosine == pytest.approx(1)
    assert shuffle_of(report).gain == 0
    assert report.code.effective == Absent("all codes are the same")
    assert report.code.dead == 3
    assert any("no compression" in sentence for sentence in report.statements)


def test_a_glance_shows_what_the_report_does() -> None:
    codec, found = Perfect(HELD, WORDS, noise=0.7), baselines()
    report = judged(codec)

    seen = glance(codec, Yardstick.of(HELD, WORDS, found))

    assert (seen.free, seen.constant, seen.linear) == (report.free, report.constant, report.linear.score)
    assert seen.tokens == report.held.scored
    assert seen.metrics() == {
        "cosine": report.free.cosine,
        "skill": report.free.skill,
        "constant": report.constant,
        "linear": report.linear.score.cosine,
        "linear_skill": report.linear.score.skill,
    }


def test_where_a_constant_is_perfect_skill_is_absent() -> None:
    held = corpus([np.full(10, 9), np.full(7, 9)])

    report = evaluate(Perfect(held, WORDS), train=corpus([np.full(10, 9)]), held=held, table=WORDS, seed=0)

    assert report.free.skill == report.interval == Absent("a constant is perfect here")
    assert report.spread.skill == Absent("a constant is perfect on a document")
    assert report.code.variance_ratio == Absent("all targets point the same way")
    assert any("no skill can be told" in sentence for sentence in report.statements)
    assert report.linear.difference == pytest.approx(0, abs=1e-6)
    assert "skill" not in glance(Perfect(held, WORDS), Yardstick.of(held, WORDS, fitted_on(held))).metrics()


def fitted_on(held: Corpus) -> Baselines:
    return Baselines.fit(held, WORDS, code=3, seed=0)


def test_the_linear_code_reaches_itself() -> None:
    found = baselines(code=4)

    class Linear(Same):
        def encode(self, corpus: Corpus) -> np.ndarray:
            return np.concatenate([found.linear.encode(rows) for rows in Flat(corpus, WORDS, found.size)])

        def decode(self, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            rows = found.linear.decode(codes).reshape(len(codes), found.size, DIMENSIONS)
            return np.concatenate([rows[i, :length] for i, length in enumerate(lengths)])

    report = evaluate(Linear(constant(), code=4), train=found, held=HELD, table=WORDS, seed=0)

    assert report.linear.difference == pytest.approx(0, abs=1e-6)
    assert any("the model reaches PCA-4" in sentence for sentence in report.statements)


def test_codes_are_described_by_their_statistics() -> None:
    codec = Same(constant(), code=5)
    codes = codec.encode(HELD).astype(float)

    found = judged(codec).code

    # All five numbers are multiples of one: one dimension works.
    assert found.effective == pytest.approx(1)
    assert found.utilisation == pytest.approx(1 / 5)
    assert (found.dead, found.sparsity) == (0, 0)
    assert found.mean == pytest.approx(codes.mean())
    assert found.std == pytest.approx(codes.std())
    assert found.length == pytest.approx(np.linalg.norm(codes, axis=1).mean())


def test_coverage_is_what_windows_own_of_the_documents() -> None:
    def covered(tokens: int | None) -> object:
        background = Background(document_tokens=tokens)
        return evaluate(Same(constant()), train=TRAIN, held=HELD, table=WORDS, seed=0, background=background).coverage

    assert covered(len(HELD_TOKENS)) == 1
    assert covered(2 * len(HELD_TOKENS)) == 0.5
    assert isinstance(covered(None), Absent)


def test_baselines_of_another_code_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit a code of 3"):
        evaluate(Same(constant()), train=baselines(code=4), held=HELD, table=WORDS, seed=0)


@pytest.mark.parametrize("fault", ["codes", "outputs", "forced"])
def test_a_codec_that_breaks_its_promise_is_a_fault_and_not_a_figure(fault: str) -> None:
    class Broken(Perfect):
        calls = 0

        def encode(self, corpus: Corpus) -> np.ndarray:
            return super().encode(corpus)[:, : 2 if fault == "codes" else 3]

        def decode(self, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            return super().decode(codes, lengths)[fault == "outputs" :]

        def forced(self, corpus: Corpus) -> np.ndarray | None:
            self.calls += 1
            return None if fault == "forced" and self.calls > 1 else super().forced(corpus)

    with pytest.raises(ValueError, match=r"due, not|either has"):
        judged(Broken(HELD, WORDS))
