from headway.plan.values import Mean
from headway.run.figures import on_line, on_screen

STEPS = {
    "sequences": 984,
    "left_out": 0,
    "padding": Mean(50, 1000),
    "rate": Mean(0.0005, 2),
    "teacher_forcing": Mean(1.0, 2),
    "loss": Mean(52.3, 100),
    "cosine": Mean(10.0, 100),
    "squared": Mean(10.0, 100),
    "code_l2": Mean(10.0, 100),
    "clipped": 12,
    "skipped": 0,
    "gradient": Mean(3.3, 10),
}
EVALUATION = {
    "cosine": 0.64,
    "skill": 0.012,
    "constant": 0.634,
    "linear": 0.69,
    "linear_skill": 0.163,
    "valid_loss": 0.5,
    "valid_forced_loss": 0.4,
    "since_best": 0.0,
}


def test_a_screen_shows_what_people_watch_in_words() -> None:
    assert on_screen(STEPS, EVALUATION, 8) == {
        "loss": "0.523",
        "gradient norm": "0.33",
        "learning rate": "0.00025",
        "teacher forcing": "50.0 %",
        "padding": "5.0 %",
        "windows": "984",
        "steps clipped": "12",
        "skill": "0.0120 after epoch 8",
        "skill of PCA": "0.1630",
        "valid loss": "0.5",
        "… teacher-forced": "0.4",
    }


def test_a_line_shows_the_gist() -> None:
    assert on_line(STEPS, EVALUATION, 8) == {
        "loss": "0.523",
        "skill": "0.0120 after epoch 8",
        "skill of PCA": "0.1630",
    }


def test_what_goes_wrong_is_on_the_line_as_soon_as_it_does() -> None:
    assert on_line({"skipped": 2, "exploding": 1, "vanishing": 0}, {}, None) == {
        "steps skipped": "2",
        "exploding gradients": "1",
    }


def test_how_long_ago_the_best_was_is_said() -> None:
    assert on_line({}, EVALUATION | {"since_best": 1.0}, 8)["skill"] == "0.0120 after epoch 8 (best 1 evaluation ago)"
    assert on_line({}, EVALUATION | {"since_best": 3.0}, 8)["skill"] == "0.0120 after epoch 8 (best 3 evaluations ago)"


def test_a_skill_without_a_line_or_an_epoch_stands_alone() -> None:
    assert on_line({}, {"skill": -0.5}, None) == {"skill": "-0.5000"}


def test_figures_that_nobody_named_are_shown_as_they_come() -> None:
    metrics = {"level0": 40_000.0, "loss": Mean(1, 2), "surprise": Mean(1, 4)}

    assert on_line(metrics, {"score": 0.25}, None) == {
        "loss": "0.5",
        "level0": "40,000",
        "surprise": "0.25",
        "score": "0.25",
    }
    assert on_screen({"level0": 1, "level1": 0}, {}, None) == {"level0": "1", "level1": "0"}
