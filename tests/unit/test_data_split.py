import json

import numpy as np
import pytest
from made_texts import Texts, poem

from headway.data import likeness
from headway.data.build import build
from headway.data.config import DataSection
from headway.data.split import Grouping, Split, divide, group, overlap
from headway.errors import DataError, PlanError
from headway.feed.windows import cut


def groups_of(*texts, **settings):
    return group(Texts(texts), **settings).group.tolist()


def singles(count):
    return Grouping(np.arange(count), exact=0, near=0)


def divided(grouping, tokens, *, shares=(0.8, 0.15, 0.05), seed=0):
    train, valid, test = shares
    return divide(grouping, tokens=np.asarray(tokens), train=train, valid=valid, test=test, seed=seed)


def sides(split):
    return [split.train.tolist(), split.valid.tolist(), split.test.tolist()]


def test_texts_of_the_same_words_are_one_group_whatever_their_case_and_punctuation():
    found = group(
        Texts((poem(1), "Shall I — compare thee, to a Summer’s day?", "shall i compare thee to a summer's day"))
    )

    assert found.group.tolist() == [0, 1, 1]
    assert (found.exact, found.near, found.groups) == (1, 0, 2)


def test_the_same_words_in_another_order_are_another_text():
    assert groups_of("a rose is", "is a rose") == [0, 1]
    assert groups_of("a b a b", "a b") == [0, 1]


def test_short_texts_are_compared_whole():
    assert groups_of("o rose thou art", "o rose thou art sick", "o rose thou art") == [0, 1, 0]


def test_texts_that_share_more_than_a_fifth_of_their_runs_are_one_group():
    words = poem(1).split()
    # Twelve words in common are eight runs of five; the shorter text has 36, a fifth of which are 7.2.
    joined = " ".join([*words[:12], *poem(2, 28).split()])
    apart = " ".join([*words[:11], *poem(3, 29).split()])

    found = group(Texts((poem(1), joined, apart)))
    assert found.group.tolist() == [0, 0, 1]
    assert (found.exact, found.near) == (0, 1)
    assert groups_of(poem(1), joined, alike=0.25) == [0, 1]


def test_the_share_is_that_of_the_shorter_text():
    excerpt = " ".join(poem(1, 400).split()[100:120])

    assert groups_of(poem(1, 400), excerpt) == [0, 0]


def test_a_run_that_a_text_repeats_counts_once():
    refrain = "and so the day is done "
    first, second = refrain * 20 + poem(1, 60), refrain * 20 + poem(2, 60)

    # Six runs of the refrain, however often it is sung, four where it meets itself, and 56 to 60 others.
    assert groups_of(first, second) == [0, 1]


def test_likeness_goes_through_others():
    first, second, third = (poem(number).split() for number in (1, 2, 3))
    bridge = " ".join(first[:20] + third[:20])

    assert groups_of(" ".join(first), " ".join(second), " ".join(third), bridge) == [0, 1, 0, 0]


def test_runs_have_the_length_that_is_asked_for():
    texts = ("one two three " + poem(1, 4), "one two three " + poem(2, 4))

    assert groups_of(*texts) == [0, 1]
    assert groups_of(*texts, shingle=2) == [0, 0]


def test_punctuation_and_special_tokens_are_no_words():
    texts = ("<POEM_START> one <LINE_BREAK> two , three <POEM_END>", "one two three", "pad <PAD>", "pad")

    assert groups_of(*texts) == [0, 0, 1, 1]


def test_what_looks_like_a_special_token_but_stands_in_the_text_is_a_word():
    assert groups_of("<HEART> of mine", "heart of mine", "of mine") == [0, 0, 1]


def test_texts_without_words_are_alike_to_none():
    assert groups_of("...", "...", "", "— !") == [0, 1, 2, 3]


def test_no_documents_make_no_groups():
    found = group(Texts(()))

    assert (found.groups, found.exact, found.near) == (0, 0, 0)


def test_a_phrase_that_stands_everywhere_joins_what_is_mostly_that_phrase(monkeypatch):
    monkeypatch.setattr(likeness, "_NEIGHBOURS", 3)
    licence = poem(0, 30) + " "
    mostly = [licence + poem(number, 20) for number in range(1, 100)]
    hardly = [licence + poem(number, 400) for number in range(100, 120)]

    assert groups_of(*mostly) == [0] * 99
    assert groups_of(*hardly) == list(range(20))


def test_a_phrase_that_stands_everywhere_is_not_compared_with_everything(monkeypatch):
    texts = Texts(tuple(poem(0, 10) + " " + poem(number, 10) for number in range(1, 400)))
    found = likeness.likeness(texts)
    pairs = found.pairs(0.1)

    assert len(pairs) < len(texts.texts) * 33


def test_parts_of_one_work_stay_together():
    cantos = [poem(number) for number in range(6)]

    found = group(Texts(tuple(cantos)), works=np.array([7, 3, 7, 5, 3, 7]))
    assert found.group.tolist() == [0, 1, 0, 2, 1, 0]
    assert (found.exact, found.near) == (0, 3)


@pytest.mark.parametrize("wrong", [{"alike": 0}, {"alike": 1.5}, {"shingle": 0}])
def test_a_measure_that_measures_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match=r"alike from a share|at least one word"):
        group(Texts(("a", "b")), **wrong)


def test_sides_have_their_shares_of_the_tokens():
    tokens = np.arange(1000) * 7919 % 400 + 20
    split = divided(singles(1000), tokens)

    assert [round(tokens[side].sum() / tokens.sum(), 3) for side in sides(split)] == [0.8, 0.15, 0.05]
    assert sorted(np.concatenate(sides(split))) == list(range(1000))
    assert all(side == sorted(side) for side in sides(split))


def test_groups_are_not_divided():
    groups = np.arange(300) // 3
    split = divided(Grouping(groups, 0, 0), np.full(300, 50))

    on = [set(groups[side]) for side in sides(split)]
    assert not on[0] & on[1] and not on[0] & on[2] and not on[1] & on[2]


def test_a_work_larger_than_a_side_is_learned_whatever_the_seed():
    tokens = np.array([100_000, *[500] * 200])

    for seed in range(20):
        split = divided(singles(201), tokens, shares=(0.8, 0.1, 0.1), seed=seed)

        assert 0 in split.train
        assert [tokens[side].sum() for side in sides(split)] == [160_000, 20_000, 20_000]


def test_a_split_depends_on_its_seed_alone_and_never_changes():
    split = divided(singles(12), np.arange(12) * 7 % 12 + 5, seed=3)

    assert sides(split) == GOLDEN
    assert sides(divided(singles(12), np.arange(12) * 7 % 12 + 5, seed=4)) != GOLDEN


def test_each_side_has_a_group_if_there_are_enough():
    assert sorted(map(len, sides(divided(singles(3), [100, 100, 100])))) == [1, 1, 1]
    assert list(map(len, sides(divided(singles(4), [10, 10, 10, 1000])))) == [1, 1, 2]


def test_a_side_without_a_share_has_nothing():
    assert sides(divided(singles(5), [9] * 5, shares=(1, 0, 0))) == [[0, 1, 2, 3, 4], [], []]
    assert sides(divided(singles(5), [9] * 5, shares=(0.8, 0, 0.2)))[1] == []


def test_the_largest_side_takes_the_rest_whichever_it_is():
    split = divided(singles(10), [10] * 10, shares=(0.2, 0.3, 0.5))

    assert list(map(len, sides(split))) == [2, 3, 5]


def test_documents_without_tokens_fill_no_side():
    split = divided(singles(4), [0, 50, 0, 50], shares=(0.5, 0.5, 0))

    assert (1 in split.train) != (3 in split.train)
    assert (1 in split.valid) != (3 in split.valid)
    assert sorted([*split.train, *split.valid]) == [0, 1, 2, 3]


def test_one_poem_cannot_be_held_out_from_itself():
    with pytest.raises(
        DataError, match=r"1 group that may not be divided.*3 sides \(train, valid, test\).*learner\.split"
    ):
        divided(singles(1), [500])


def test_too_few_groups_are_counted_in_the_error():
    with pytest.raises(DataError, match=r"2 groups that"):
        divided(Grouping(np.array([0, 1, 1]), 0, 1), [5, 5, 5])
    with pytest.raises(DataError, match=r"0 groups that"):
        divided(singles(2), [0, 0])


@pytest.mark.parametrize("shares", [(0.8, 0.1, 0), (0.8, 0.3, 0.1), (1.2, -0.2, 0)])
def test_shares_that_do_not_add_up_are_refused(shares):
    with pytest.raises(PlanError, match="must add up to 1"):
        divided(singles(9), [5] * 9, shares=shares)


def test_windows_of_a_long_poem_are_all_on_one_side():
    texts = Texts((poem(0, 900), *[poem(number) for number in range(1, 30)]))
    split = divided(group(texts), texts.document_lengths(), shares=(0.5, 0.3, 0.2))
    lengths = texts.document_lengths()
    windows = cut(lengths, size=50, overlap=10, shortest=5)

    on = [set(windows.documents[np.isin(windows.documents, side)]) for side in sides(split)]
    assert on == [set(side) for side in sides(split)]
    assert not overlap(texts, split).leaks


def test_a_split_by_groups_leaves_nothing_in_common():
    texts = Texts(tuple(poem(number // 3 * 3) + " " + poem(1000 + number, 30) for number in range(60)))
    split = divided(group(texts), texts.document_lengths())

    found = overlap(texts, split)
    assert (found.documents, found.exact, found.near, found.shared, found.leaks) == (0, 0, 0, 0.0, False)


def test_what_sides_have_in_common_is_found_whoever_divided_them():
    near = " ".join([*poem(1).split()[:20], *poem(9, 20).split()])
    texts = Texts((poem(1), poem(2), poem(2).upper(), near, poem(4), poem(5)))
    split = Split(train=np.array([0, 1, 4]), valid=np.array([2, 3, 4]), test=np.array([5]))

    found = overlap(texts, split)
    assert (found.documents, found.exact, found.near, found.leaks) == (1, 1, 1, True)
    # Of four texts with 36 runs each two are learned, and of one 16.
    assert found.shared == (36 + 16 + 36) / (4 * 36)
    assert "1 are on another side, too, 1 have the same words as one there, 1 share too many" in str(found)


def test_near_duplicates_of_a_copy_are_found_through_the_copy():
    near = " ".join([*poem(1).split()[:20], *poem(9, 20).split()])
    texts = Texts((poem(1), poem(1), near))

    found = overlap(texts, Split(np.array([1]), np.array([0, 2]), np.array([], dtype=np.int64)))
    assert (found.exact, found.near) == (1, 1)


def test_what_valid_and_test_share_counts_too():
    texts = Texts((poem(1), poem(2), poem(2)))
    found = overlap(texts, Split(np.array([0]), np.array([1]), np.array([2])))

    assert (found.exact, found.shared) == (2, 0.0)


def test_where_nothing_is_held_out_nothing_is_shared():
    found = overlap(Texts((poem(1), poem(2))), Split(np.array([0, 1]), *[np.array([], dtype=np.int64)] * 2))

    assert (found.leaks, found.shared) == (False, None)


def test_a_dataset_on_disk_is_divided_like_texts_in_memory(tmp_path):
    texts = [poem(1), poem(2), poem(1).title() + " !", poem(3), poem(2) + " " + poem(4, 12)]
    (tmp_path / "poems.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    section = DataSection(sources=("poems.jsonl",), tokenizer="words")
    dataset = build(section, folder=tmp_path, cache=tmp_path / "cache", workers=1)

    found = group(dataset)
    assert found.group.tolist() == groups_of(*texts) == [0, 1, 0, 2, 1]
    assert not overlap(dataset, divided(found, dataset.document_lengths(), shares=(0.5, 0.5, 0))).leaks


GOLDEN = [[0, 1, 3, 4, 5, 8, 9, 10, 11], [2, 6], [7]]
