"""Killed anywhere, again and again, the training of an autoencoder ends in the weights of one that was left alone."""

from pathlib import Path

import torture_autoencoder


def test_a_training_that_is_killed_twice_ends_in_the_weights_of_an_undisturbed_one(tmp_path: Path) -> None:
    torture_autoencoder.write_texts(tmp_path, poems=100)

    tally = torture_autoencoder.Torture(tmp_path, seed=2, epochs=3, hidden=64).run(2)

    # The comparison is in there; what follows says that the kills were worth it, whatever their luck.
    assert tally.kills == 2
    assert tally.saves > 0
    assert tally.left == 0
