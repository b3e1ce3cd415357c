"""Every document exactly once an epoch, and resuming anywhere equals never stopping."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.dataset import Rows
from headway.feed.feed import Feed
from headway.feed.layouts import Whole


@dataclass(frozen=True)
class InMemory:
    """What a Feed asks of a Dataset; token i of the corpus has the id i."""

    offsets: np.ndarray

    @property
    def documents(self):
        return len(self.offsets) - 1

    @property
    def tokens(self):
        return int(self.offsets[-1])

    def read(self, rows):
        places = range(*rows.indices(self.documents)) if isinstance(rows, slice) else rows
        pieces = [np.arange(self.offsets[place], self.offsets[place + 1]) for place in places]
        starts = np.cumsum([0, *map(len, pieces)])
        return Rows(np.concatenate([np.empty(0, np.int64), *pieces]), starts, None)


@st.composite
def feeds(draw):
    lengths = draw(st.lists(st.integers(0, 30), min_size=1, max_size=40))
    layout = Whole(
        InMemory(np.cumsum([0, *lengths])),
        draw(st.integers(1, 200)),
        seed=draw(st.integers(-(2**63), 2**64)),
        shuffle=draw(st.booleans()),
    )
    return Feed(
        layout,
        epochs=draw(st.integers(1, 3)),
        documents=draw(st.none() | st.integers(0, 100)),
    )


def rows_of(batch):
    return list(range(batch.rows.start, batch.rows.stop)) if isinstance(batch.rows, slice) else batch.rows.tolist()


@settings(max_examples=150, deadline=None)
@given(feeds())
def test_every_document_comes_once_an_epoch_up_to_the_limit(feed):
    seen = {epoch: [] for epoch in range(feed.epochs)}
    for batch, _ in feed.batches():
        seen[batch.position.epoch] += rows_of(batch)
        assert batch.documents == len(rows_of(batch)) == len(batch.starts) - 1
        assert batch.tokens == len(batch.ids)
        assert (
            batch.tokens <= feed.layout.budget_tokens
            or batch.documents == 1
            or batch.tokens == max(np.diff(batch.starts))
        )

    everything = list(range(feed.dataset.documents))
    left = feed.total_documents
    for rows in seen.values():
        expected = min(left, feed.dataset.documents)
        assert len(rows) == len(set(rows)) == expected
        assert expected < len(everything) or sorted(rows) == everything
        left -= expected
    assert left == 0


@settings(max_examples=100, deadline=None)
@given(feeds(), st.data())
def test_resuming_anywhere_equals_never_stopping(feed, data):
    complete = [(batch.position, rows_of(batch), batch.ids.tolist(), after) for batch, after in feed.batches()]
    place = data.draw(st.integers(0, len(complete)))
    start = complete[place][0] if place < len(complete) else feed.end

    fresh = Feed(feed.layout, feed.epochs, feed.documents)
    resumed = [(batch.position, rows_of(batch), batch.ids.tolist(), after) for batch, after in fresh.batches(start)]

    assert resumed == complete[place:]
    assert fresh.done(start).documents == sum(len(rows) for _, rows, _, _ in complete[:place])
    assert fresh.done(start).tokens == sum(len(ids) for _, _, ids, _ in complete[:place])
    assert fresh.total_batches == len(complete)
    assert fresh.total_tokens == sum(len(ids) for _, _, ids, _ in complete)


@settings(max_examples=100, deadline=None)
@given(feeds())
def test_a_limit_cuts_the_unlimited_sequence(feed):
    unlimited = Feed(feed.layout, feed.epochs)
    rows = [row for batch, _ in unlimited.batches() for row in rows_of(batch)]

    assert [row for batch, _ in feed.batches() for row in rows_of(batch)] == rows[: feed.total_documents]
