import numpy as np
import pytest

from headway.feed.layout import boundaries, whole
from headway.feed.order import order


def literal(lengths, budget):
    """The rule, word for word."""
    edges, held = [0], 0
    for place, length in enumerate(lengths):
        if place > edges[-1] and held + length > budget:
            edges.append(place)
            held = 0
        held += length
    return [*edges, len(lengths)] if lengths else edges


@pytest.mark.parametrize("budget", [1, 2, 7, 50, 400, 100_000])
@pytest.mark.parametrize("longest", [1, 3, 20])
def test_batches_hold_what_fits_and_at_least_one_document(budget, longest):
    lengths = np.random.default_rng(budget).integers(0, longest + 1, 500)

    assert whole(lengths, budget).tolist() == literal(lengths.tolist(), budget)


def test_a_document_over_the_budget_is_a_batch_of_its_own():
    assert whole(np.array([3, 100, 3]), 10).tolist() == [0, 1, 2, 3]


def test_empty_documents_ride_along():
    assert whole(np.array([0, 5, 0, 0, 5, 0]), 5).tolist() == [0, 4, 6]


def test_no_documents_make_no_batches():
    assert whole(np.array([], dtype=np.int64), 5).tolist() == [0]


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        boundaries(np.array([0, 1]), 0)


@pytest.mark.parametrize("documents", [0, 1, 2, 3, 1000])
def test_an_order_visits_every_document_once(documents):
    visit = order(documents, seed=1, epoch=0, shuffle=True)

    assert visit is not None
    assert sorted(visit.tolist()) == list(range(documents))


def test_an_order_depends_on_seed_and_epoch_alone():
    first = order(100, seed=1, epoch=0, shuffle=True)

    assert np.array_equal(first, order(100, seed=1, epoch=0, shuffle=True))
    assert not np.array_equal(first, order(100, seed=2, epoch=0, shuffle=True))
    assert not np.array_equal(first, order(100, seed=1, epoch=1, shuffle=True))


def test_an_order_never_changes_from_release_to_release():
    visit = order(10, seed=7, epoch=2, shuffle=True)

    assert visit is not None
    assert visit.tolist() == GOLDEN


def test_no_shuffle_is_the_natural_order():
    assert order(10, seed=7, epoch=2, shuffle=False) is None


GOLDEN = [6, 7, 8, 4, 0, 1, 5, 3, 9, 2]
