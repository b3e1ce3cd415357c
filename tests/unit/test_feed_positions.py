import json
import pickle

import numpy as np
import pytest
from made_dataset import made, of_lengths

from headway.errors import RunError
from headway.feed.batch import held
from headway.feed.feed import Feed
from headway.feed.layouts import Whole
from headway.plan.values import Position

LENGTHS = [3, 4, 5, 1, 1, 1, 9, 2]


@pytest.fixture
def dataset(tmp_path):
    return of_lengths(tmp_path / "d", LENGTHS)


def sizes(feed):
    return [(batch.position, batch.documents, batch.tokens, after) for batch, after in feed.batches()]


def test_a_batch_knows_its_size_before_it_is_read(dataset):
    assert sizes(Feed(Whole(dataset, 8))) == [
        (Position(0, 0), 2, 7, Position(0, 1)),
        (Position(0, 1), 4, 8, Position(0, 2)),
        (Position(0, 2), 1, 9, Position(0, 3)),
        (Position(0, 3), 1, 2, Position(1, 0)),
    ]


def test_the_last_batch_of_an_epoch_leads_to_the_next(dataset):
    feed = Feed(Whole(dataset, 1000), epochs=3)

    assert [after for _, after in feed.batches()] == [Position(1, 0), Position(2, 0), Position(3, 0)]
    assert (feed.total_batches, feed.total_documents, feed.total_tokens) == (3, 24, 78)


def test_a_limit_ends_on_exactly_that_document(dataset):
    feed = Feed(Whole(dataset, 8), epochs=2, documents=11)

    assert sizes(feed)[4:] == [(Position(1, 0), 2, 7, Position(1, 1)), (Position(1, 1), 1, 5, Position(1, 2))]
    assert (feed.total_documents, feed.total_tokens, feed.total_batches) == (11, 38, 6)
    assert feed.end == Position(1, 2)


@pytest.mark.parametrize(("limit", "cut"), [(None, False), (8, False), (2, False), (3, True), (6, False), (10, False)])
def test_a_limit_inside_a_batch_is_known(dataset, limit, cut):
    assert Feed(Whole(dataset, 8), epochs=2, documents=limit).cut is cut


def test_a_limit_above_everything_changes_nothing(dataset):
    assert sizes(Feed(Whole(dataset, 8), documents=999)) == sizes(Feed(Whole(dataset, 8)))


def test_done_counts_what_lies_before(dataset):
    feed = Feed(Whole(dataset, 8), epochs=2, documents=11)
    documents = tokens = 0
    for batch, after in feed.batches():
        assert feed.done(batch.position) == (documents, tokens)
        documents, tokens = documents + batch.documents, tokens + batch.tokens
        assert feed.done(after) == (documents, tokens)

    assert feed.done(Position(9, 9)) == (feed.total_documents, feed.total_tokens)


def test_a_shuffled_epoch_has_another_order_each_time(dataset):
    feed = Feed(Whole(dataset, 8, seed=3, shuffle=True), epochs=2)
    rows = [
        [int(row) for batch, _ in feed.batches() if batch.position.epoch == epoch for row in batch.rows]
        for epoch in (0, 1)
    ]

    assert rows[0] != rows[1]
    assert sorted(rows[0]) == sorted(rows[1]) == list(range(8))
    assert feed.total_batches == len(list(feed.batches()))
    assert all(np.diff(batch.starts).tolist() == [LENGTHS[row] for row in batch.rows] for batch, _ in feed.batches())


def test_a_batch_reads_its_documents(tmp_path):
    batch = Feed(Whole(made(tmp_path / "d", [[[[1, 2], [3]]], [[[4]]]]), 100)).at(Position.START)

    assert batch.ids.tolist() == [1, 2, 3, 4]
    assert batch.starts.tolist() == [0, 3, 4]
    assert batch.breaks is not None
    assert batch.breaks.tolist() == [0, 2, 3, 4]
    assert batch.mask is None


def test_documents_in_memory_are_a_batch():
    batch = held([[1, 2], [], [3]]).batch()

    assert (batch.documents, batch.tokens, batch.position) == (3, 3, Position.START)
    assert batch.ids.tolist() == [1, 2, 3]
    assert batch.starts.tolist() == [0, 2, 2, 3]
    assert batch.breaks is None


def test_a_position_that_is_none_is_refused(dataset):
    feed = Feed(Whole(dataset, 8))

    with pytest.raises(RunError, match="there is no batch at epoch 1, batch 0: the feed ends at epoch 1, batch 0"):
        feed.at(Position(1, 0))
    with pytest.raises(RunError, match="that epoch has 4 batches"):
        list(feed.batches(Position(0, 4)))
    with pytest.raises(RunError, match="is not a position"):
        feed.done(Position(0, -1))


def test_nothing_is_left_after_the_end(dataset):
    assert list(Feed(Whole(dataset, 8)).batches(Position(1, 0))) == []
    assert list(Feed(Whole(dataset, 8), documents=0).batches()) == []


def test_a_feed_travels_as_its_spec(dataset):
    feed = Feed(Whole(dataset, 8, seed=3, shuffle=True), epochs=2, documents=9)
    spec = json.loads(json.dumps(feed.spec()))

    other = Feed.from_spec(spec)

    assert sizes(other) == sizes(feed)
    assert [batch.ids.tolist() for batch, _ in other.batches()] == [batch.ids.tolist() for batch, _ in feed.batches()]


def test_an_unused_feed_can_be_pickled(dataset):
    feed = Feed(Whole(dataset, 8))

    assert sizes(pickle.loads(pickle.dumps(feed))) == sizes(feed)


def test_an_empty_dataset_has_no_batches(tmp_path):
    feed = Feed(Whole(made(tmp_path / "d", []), 8), epochs=2)

    assert list(feed.batches()) == []
    assert (feed.total_documents, feed.total_tokens, feed.total_batches) == (0, 0, 0)
