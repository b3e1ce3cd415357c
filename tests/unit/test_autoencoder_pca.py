"""The linear code: the best there is, from whatever batches."""

import numpy as np
import pytest
from numpy.typing import NDArray

from headway.learners.autoencoder import eigen
from headway.learners.autoencoder.pca import LinearCodec, LinearSums

Singles = NDArray[np.float32]


def _windows(rows: int, columns: int, *, seed: int = 0) -> Singles:
    draw = np.random.default_rng(seed)
    falling = np.geomspace(1, 0.05, min(columns, 40))
    mixed = draw.standard_normal((rows, len(falling))) * falling @ draw.standard_normal((len(falling), columns))
    return (mixed + 3 + 0.05 * draw.standard_normal((rows, columns))).astype(np.float32)


def _best(windows: Singles, code: int) -> float:
    """What is left at least by any linear code, by all singular values."""
    centred = windows.astype(np.float64) - windows.mean(axis=0, dtype=np.float64)
    return float((np.linalg.svd(centred, compute_uv=False)[code:] ** 2).sum())


def _left(codec: LinearCodec, windows: Singles) -> float:
    rebuilt = codec.decode(codec.encode(windows))
    return float(((windows.astype(np.float64) - rebuilt) ** 2).sum())


@pytest.mark.parametrize(("rows", "columns"), [(60, 90), (200, 90), (90, 90)])
@pytest.mark.parametrize("code", [1, 7, 30])
def test_no_other_linear_code_loses_less(rows: int, columns: int, code: int) -> None:
    windows = _windows(rows, columns)
    codec = LinearCodec.fit([windows], code)

    assert _left(codec, windows) == pytest.approx(_best(windows, code), rel=1e-4)
    assert np.allclose(codec.directions @ codec.directions.T, np.eye(code), atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(150, 400), (700, 200)])
def test_a_large_one_is_as_good_though_only_its_largest_parts_are_looked_for(
    rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eigen, "_WHOLE", 10)
    windows = _windows(rows, columns)
    codec = LinearCodec.fit([windows], 12)

    assert _left(codec, windows) == pytest.approx(_best(windows, 12), rel=1e-4)


@pytest.mark.parametrize("rows", [60, 200])
def test_batches_of_any_size_give_the_same_code(rows: int) -> None:
    windows = _windows(rows, 90)
    whole = LinearCodec.fit([windows], 5)
    parts = LinearCodec.fit(np.split(windows, [1, 20, 55]), 5)

    assert np.allclose(parts.directions, whole.directions, atol=1e-3)
    assert np.allclose(parts.mean, whole.mean, atol=1e-5)


def test_directions_come_by_falling_variance() -> None:
    windows = _windows(200, 90)
    codes = LinearCodec.fit([windows], 10).encode(windows)

    assert np.all(np.diff(codes.var(axis=0)) < 0)
    assert np.allclose(codes.mean(axis=0), 0, atol=1e-3)


def test_a_smaller_code_is_the_beginning_of_a_larger_one() -> None:
    windows = _windows(200, 90)
    small, large = (LinearCodec.fit([windows], code) for code in (4, 9))

    assert np.allclose(large.directions[:4], small.directions, atol=1e-4)


def test_what_windows_do_not_vary_in_has_no_direction() -> None:
    windows = np.repeat(_windows(3, 20), 4, axis=0)
    codec = LinearCodec.fit([windows], 6)

    assert codec.code == 6
    assert codec.directions.any(axis=1).tolist() == [True, True, False, False, False, False]
    assert np.allclose(codec.decode(codec.encode(windows)), windows, atol=1e-4)
    assert not LinearCodec.fit([np.ones((4, 20), np.float32)], 2).directions.any()


def test_a_codec_comes_back_from_its_arrays() -> None:
    windows = _windows(60, 30)
    codec = LinearCodec.fit([windows], 5)
    again = LinearCodec.from_arrays(codec.arrays())

    assert np.array_equal(again.encode(windows), codec.encode(windows))
    assert codec.encode(windows).dtype == codec.decode(codec.encode(windows)).dtype == np.float32


@pytest.mark.parametrize("first", [0, 10, 55])
def test_sums_go_on_where_their_arrays_were_taken(first: int) -> None:
    windows = _windows(80, 40)
    unbroken, broken = LinearSums(), LinearSums()
    for part in np.split(windows, [first, 60]):
        unbroken.add(part)
        broken.add(part)
        broken = LinearSums.from_arrays({name: each.copy() for name, each in broken.arrays().items()})

    assert broken.windows == 80
    assert np.array_equal(broken.finish(5).directions, unbroken.finish(5).directions)


def test_windows_are_not_kept_beyond_their_own_size() -> None:
    sums = LinearSums()
    for part in np.split(_windows(400, 20), 20):
        sums.add(part)

    assert sum(each.size for each in sums.arrays().values()) < 2 * 20 * 20


def test_an_offset_a_thousand_times_the_spread_loses_nothing() -> None:
    windows = _windows(300, 40)
    far = windows + np.float32(100)
    codec = LinearCodec.fit(np.split(far, 3), 6)

    assert _left(codec, far) == pytest.approx(_best(windows, 6), rel=1e-2)


def test_too_little_or_unfit_is_refused() -> None:
    sums = LinearSums()
    sums.add(_windows(1, 8))
    with pytest.raises(ValueError, match="2 windows or more, not 1"):
        sums.finish(2)
    with pytest.raises(ValueError, match="8 numbers"):
        sums.add(_windows(1, 9))
    sums.add(_windows(3, 8))
    with pytest.raises(ValueError, match="1 to 8, not 9"):
        sums.finish(9)


def test_nothing_global_is_drawn() -> None:
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    LinearCodec.fit([_windows(60, 30)], 5)

    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]
