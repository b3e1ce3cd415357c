"""Every token is owned by exactly one window, whatever the sizes, the documents and the preferred ends."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.feed.windows import coverage, cut


@st.composite
def cuts(draw):
    lengths = np.array(draw(st.lists(st.integers(0, 120), max_size=6)), dtype=np.int64)
    size = draw(st.integers(1, 30))
    wanted = {"size": size, "overlap": draw(st.integers(0, size - 1)), "shortest": draw(st.integers(1, size))}
    offsets = np.cumsum([0, *lengths])
    if draw(st.booleans()):
        places = st.integers(0, int(offsets[-1]) + 3)
        wanted["ends"] = np.array(sorted(draw(st.lists(places, max_size=60))), dtype=np.int64)
        wanted["offsets"] = offsets
    return lengths, wanted


def literal(tokens, ends, size, overlap, shortest):
    """The rule, word for word."""
    done = 0
    while done < tokens:
        start = max(0, done - overlap)
        end = min(tokens, start + size)
        if end < tokens:
            end = max((at for at in ends if max(done + 1, start + shortest) <= at <= end), default=end)
        if end - start < shortest:
            start = max(0, end - size)
        yield start, end, done
        done = end


@settings(max_examples=200)
@given(cuts())
def test_owned_ranges_give_every_token_exactly_once(case):
    lengths, wanted = case
    windows = cut(lengths, **wanted)
    owners = [np.zeros(length, dtype=int) for length in lengths]
    for document, start, end in zip(windows.documents, windows.owned, windows.ends, strict=True):
        owners[document][start:end] += 1

    assert all((owner == 1).all() for owner in owners)
    assert coverage(windows, lengths) == 1


@settings(max_examples=200)
@given(cuts())
def test_windows_have_the_size_they_may_have_and_start_with_context(case):
    lengths, wanted = case
    windows = cut(lengths, **wanted)
    whole = lengths[windows.documents]

    assert (windows.lengths <= wanted["size"]).all()
    assert (windows.lengths >= np.minimum(wanted["shortest"], whole)).all()
    assert (windows.starts == 0)[windows.owned == 0].all()
    assert (windows.owned - windows.starts >= np.minimum(wanted["overlap"], windows.owned)).all()
    assert ((windows.owned < windows.ends) & (windows.ends <= whole)).all()


@settings(max_examples=200)
@given(cuts())
def test_windows_are_those_of_the_rule(case):
    lengths, wanted = case
    windows = cut(lengths, **wanted)
    ends, offsets = wanted.pop("ends", []), wanted.pop("offsets", np.cumsum([0, *lengths]))
    expected = [
        (document, *window)
        for document, tokens in enumerate(lengths.tolist())
        for window in literal(tokens, [end - offsets[document] for end in ends], **wanted)
    ]

    found = zip(windows.documents, windows.starts, windows.ends, windows.owned, strict=True)
    assert [tuple(map(int, window)) for window in found] == [tuple(map(int, window)) for window in expected]
