"""The configurations of the seeds: what each setting changes, and what is wrong with one."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from made_poems import write_poems, write_vectors

from headway.errors import PlanError
from headway.plan.fingerprint import resolved
from headway.tools import (
    ArchitectureConfig,
    DataConfig,
    DenoisingConfig,
    NoiseType,
    TrainingConfig,
    curriculum_learning,
    design_autoencoder,
    fetch_data,
    preset_architecture,
    production_training,
    quick_training,
)
from headway.tools.poetry import RNN
from headway.tools.poetry_config import settled
from headway.tools.poetry_presets import PRESETS
from headway.tools.poetry_tables import ARCHITECTURE, DATA, TRAINING

# For each setting, a value that is not the usual one.
DESIGN: dict[str, Any] = {
    "hidden_size": 64,
    "bottleneck_size": 16,
    "input_size": 100,
    "rnn_type": "gru",
    "num_layers": 2,
    "dropout": 0.3,
    "use_batch_norm": True,
    "bidirectional": True,
    "attention": True,
    "attention_heads": 8,
    "residual": True,
    "decoder": "parallel",
    "token_head": "tied",
}
LEARNING: dict[str, Any] = {
    "epochs": 7,
    "batch_size": 32,
    "learning_rate": 1e-3,
    "optimizer": "sgd",
    "weight_decay": 0.0,
    "gradient_clip": 0.5,
    "gradient_accumulation": 2,
    "mixed_precision": True,
    "loss_type": "cosine",
    "mse_weight": 0.2,
    "label_smoothing": 0.2,
    "token_weight": 0.5,
    "bottleneck_regularization": 0.01,
    "teacher_forcing_ratio": 0.3,
    "phases": 2,
    "decay_type": "cosine",
    "initial_teacher_forcing": 0.7,
    "final_teacher_forcing": 0.2,
    "scheduler": "polynomial",
    "scheduler_params": {"power": 2.0},
    "early_stopping_patience": 3,
    "min_delta": 0.01,
    "stop_at": 0.5,
    "evaluate_every": 2,
    "denoising": {"kind": "words"},
    "async_checkpointing": False,
    "save_every": 5.0,
    "seed": 1,
    "device": "cpu",
    "threads": 1,
}
TEXTS: dict[str, Any] = {
    "embeddings": "random",
    "embedding_type": "random",
    "max_length": 20,
    "overlap": 4,
    "min_length": 3,
    "chunking_method": "line",
    "split_ratios": (0.6, 0.4),
    "split_seed": 1,
    "leakage": "warn",
    "text_field": "title",
    "texts": "headings",
    "documents": 5,
    "min_count": 2,
    "unknown_words": "mean",
    "coverage": 0.1,
}


@pytest.fixture
def poems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "glove.8d.txt")
    return write_poems(tmp_path / "poems.json", 3)


def plan_of(poems: Path, design: Any = None, training: Any = None, data: Any = None) -> dict[str, Any]:
    return resolved(RNN(design, training, {"path": poems, **(data or {})}).plan())


@pytest.mark.parametrize("name", DESIGN)
def test_every_setting_of_a_design_changes_the_plan(poems: Path, name: str) -> None:
    loss = {"loss_type": "hybrid"} if name == "token_head" else None

    head = "free" if name == "token_head" else "none"
    assert plan_of(poems, {name: DESIGN[name]}, loss) != plan_of(poems, {"token_head": head}, loss)


@pytest.mark.parametrize("name", LEARNING)
def test_every_setting_of_a_training_changes_the_plan(poems: Path, name: str) -> None:
    assert plan_of(poems, training={name: LEARNING[name]}) != plan_of(poems)


@pytest.mark.parametrize("name", TEXTS)
def test_every_setting_of_the_data_changes_the_plan(poems: Path, name: str) -> None:
    assert plan_of(poems, data={name: TEXTS[name]}) != plan_of(poems)


def test_no_setting_is_left_out_above() -> None:
    for config, tried in ((ArchitectureConfig, DESIGN), (TrainingConfig, LEARNING), (DataConfig, TEXTS)):
        assert {each.name for each in fields(config)} - {"notes", "path", "cache"} == set(tried)


@pytest.mark.parametrize("names", [ARCHITECTURE, TRAINING, DATA], ids=lambda names: names.where)
def test_every_alias_stands_for_a_setting_and_hides_none(names: Any) -> None:
    kind = {"design": ArchitectureConfig, "training": TrainingConfig, "data": DataConfig}[names.where]
    known = {each.name for each in fields(kind)}

    assert set(names.aliases.values()) <= known
    assert set(names.paths) <= known
    assert not known & (set(names.aliases) | set(names.idle))


def test_an_alias_is_understood_and_said() -> None:
    found = settled(ArchitectureConfig, ARCHITECTURE, {"bottleneck_dim": 20, "cell_type": "vanilla"})

    assert found == ArchitectureConfig(bottleneck_size=20, rnn_type="vanilla")
    assert found.part() == ArchitectureConfig(bottleneck_size=20, rnn_type="rnn").part()
    assert found.notes == ("bottleneck_dim is bottleneck_size", "cell_type is rnn_type")


def test_a_setting_that_changes_nothing_is_accepted_and_said() -> None:
    found = settled(TrainingConfig, TRAINING, {"num_workers": 4})

    assert found == TrainingConfig()
    assert found.notes[0].startswith("num_workers changes nothing: batches are made by indexing")


@pytest.mark.parametrize(
    ("kind", "names", "given", "said"),
    [
        (ArchitectureConfig, ARCHITECTURE, {"hiden_size": 3}, "hiden_size: is no setting; did you mean hidden_size?"),
        (TrainingConfig, TRAINING, {"xyz": 3}, "xyz: is no setting; there is async_checkpointing, batch_size"),
        (DataConfig, DATA, {"max_length": 9, "window_size": 8}, "window_size: max_length is given twice"),
        (DataConfig, DATA, 7, "should be a DataConfig or a dict of its settings, not a int"),
        (TrainingConfig, TRAINING, {"scheduler_params": {"T0": 1}}, "T0: is no setting; did you mean T_0?"),
    ],
)
def test_an_unknown_setting_is_an_error_that_names_the_nearest(kind: Any, names: Any, given: Any, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        settled(kind, names, given)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ArchitectureConfig(hidden_size=0), "hidden_size: learner.model.hidden: should be greater than"),
        (lambda: ArchitectureConfig(rnn_type="lst"), "did you mean 'lstm'?"),
        (lambda: ArchitectureConfig(attention=True, hidden_size=10), "attention_heads: learner.model.heads: 4 do not"),
        (lambda: TrainingConfig(scheduler_params={"T_0": -1}), "scheduler_params: learner.schedule.first: should be"),
        (lambda: TrainingConfig(mixed_precision="fp16", device="cpu"), "mixed_precision: learner.optimizer.precision"),
        (lambda: TrainingConfig(phases=[{"epochs": 2}]), "phases: learner.curriculum[0].teacher_forcing: missing"),
        (lambda: TrainingConfig(denoising={"kind": "hail"}), "denoising: learner.noise.kind: should be"),
        (lambda: DataConfig(max_length=4, overlap=4), "overlap: learner.window.overlap: 4 is not less than"),
        (lambda: DataConfig(max_length="long"), "max_length: learner.window.size: should be a valid integer"),  # type: ignore[arg-type]
        (lambda: DataConfig(split_ratios=(0.5, 0.2)), "split_ratios: learner.split: train, valid and test add up to"),
        (lambda: DataConfig(split_ratios=(1.0,)), "split_ratios: should be 2 or 3 shares"),
        (lambda: DataConfig(embedding_type="bert"), "embedding_type: should be glove, word2vec, fasttext or random"),
        (lambda: DataConfig(embedding_type="random", embeddings="x.txt"), "embedding_type: random vectors are of no"),
    ],
)
def test_a_value_that_no_plan_could_have_is_an_error_by_the_name_it_was_given(make: Any, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()

    assert said in str(caught.value)


def test_what_is_wrong_with_several_configurations_together_is_said_by_their_names(poems: Path) -> None:
    with pytest.raises(PlanError, match=r"token_head: learner\.model\.token_head: a loss of words needs one"):
        plan_of(poems, training={"loss_type": "hybrid"})


def test_the_usual_settings_are_valid_and_their_phases_last_as_long_as_the_run(poems: Path) -> None:
    for training in (None, curriculum_learning(), quick_training(), production_training(), {"epochs": 2}):
        found = plan_of(poems, training=training)
        lengths = [phase["epochs"] for phase in found["learner"]["curriculum"]]

        assert sum(lengths) == found["run"]["epochs"]
    assert plan_of(poems)["learner"]["curriculum"] == [
        {"epochs": epochs, "teacher_forcing": pytest.approx(share), "until": None, "rate": 1.0, "longest": None}
        for epochs, share in ((8, 0.9), (8, 0.9 - 0.8 / 3), (7, 0.9 - 1.6 / 3), (7, 0.1))
    ]


@pytest.mark.parametrize(
    ("kind", "shares"),
    [("linear", [0.8, 0.5, 0.2]), ("exponential", [0.8, 0.4, 0.2]), ("cosine", [0.8, 0.5, 0.2])],
)
def test_the_share_of_true_words_goes_from_the_first_to_the_last(kind: str, shares: list[float]) -> None:
    found = curriculum_learning(
        3, [1, 2, 3], decay_type=kind, initial_teacher_forcing=0.8, final_teacher_forcing=0.2
    ).curriculum.sections()

    assert [phase["epochs"] for phase in found] == [1, 2, 3]
    assert [phase["teacher_forcing"] for phase in found] == pytest.approx(shares)


def test_phases_of_ones_own_say_how_long_the_run_is() -> None:
    phases = [{"epochs": 2, "teacher_forcing": 0.9, "until": 0.5, "longest": 20}, {"epochs": 3, "teacher_forcing": 0.1}]
    found = curriculum_learning(phases)

    assert found.curriculum.total == 5
    assert found.part()["learner"]["curriculum"] == phases
    assert curriculum_learning(1, 4).curriculum.sections() == [{"epochs": 4, "teacher_forcing": 0.9}]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"phases": 3, "epochs": 2}, "phases: 3 need as many epochs or more, not 2"),
        ({"phases": 3, "epochs": [2, 2]}, "epochs: are given for 2 phases, not 3"),
        ({"phases": 0}, "phases: should be a number of 1 or more"),
        ({"phases": "four"}, "phases: should be a number of 1 or more"),
        ({"epochs": []}, "epochs: should be a number of 1 or more"),
        ({"epochs": True}, "epochs: should be a number of 1 or more"),
        ({"decay_type": "sudden"}, "decay_type: should be one of linear, exponential, cosine"),
        ({"initial_teacher_forcing": 2}, "initial_teacher_forcing: should be 0 to 1, not 2"),
        ({"decay_type": "exponential", "final_teacher_forcing": 0}, "should be above 0 where they decay exponentially"),
        ({"teacher_forcing_ratio": 0.5, "phases": 2}, "phases: there are none where teacher_forcing_ratio stays"),
        ({"teacher_forcing_ratio": 0.5, "epochs": [1, 2]}, "epochs: a list says how long phases last"),
        ({"teacher_forcing_ratio": 0.5, "decay_type": "cosine"}, "decay_type: changes nothing where"),
        (
            {"phases": [{"epochs": 2, "teacher_forcing": 0.5}], "epochs": 3},
            "epochs: 3, but the phases last 2; leave epochs out",
        ),
    ],
)
def test_a_curriculum_that_cannot_be_is_an_error(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        TrainingConfig(**given)

    assert said in str(caught.value)


def test_presets_have_the_sizes_of_the_reference() -> None:
    found = {name: preset_architecture(name) for name in PRESETS}

    sizes = {name: (each.hidden_size, each.bottleneck_size, each.num_layers) for name, each in found.items()}
    assert sizes == {
        "tiny": (128, 16, 1),
        "small": (256, 32, 1),
        "medium": (512, 64, 1),
        "large": (768, 96, 2),
        "xlarge": (1024, 128, 2),
        "research": (512, 20, 1),
    }
    assert found["xlarge"].residual and found["research"].bidirectional and found["research"].attention
    assert preset_architecture("tiny", {"bottleneck_dim": 8}) == ArchitectureConfig(hidden_size=128, bottleneck_size=8)
    with pytest.raises(PlanError, match="there is no preset 'smal'; did you mean small"):
        preset_architecture("smal")
    with pytest.raises(PlanError, match="there is tiny, small"):
        preset_architecture("?")


def test_trainings_with_a_name_are_those_of_the_reference_but_for_what_is_given() -> None:
    quick, production = quick_training().part(), production_training().part()

    assert (quick["run"]["epochs"], quick["learner"]["most_rows"]) == (15, 32)
    assert [phase["teacher_forcing"] for phase in quick["learner"]["curriculum"]] == [0.8, 0.2]
    assert quick["learner"]["optimizer"]["learning_rate"] == 1e-3
    assert (production["run"]["epochs"], production["learner"]["most_rows"]) == (100, 8)
    assert len(production["learner"]["curriculum"]) == 6
    assert (production["learner"]["optimizer"]["clip"], production["learner"]["patience"]) == (0.5, 20)
    stays = quick_training(epochs=3, settings={"teacher_forcing": 0.4, "lr": 0.1})
    assert stays == TrainingConfig(epochs=3, batch_size=32, learning_rate=0.1, teacher_forcing_ratio=0.4)


def test_a_design_by_keywords_is_the_same_as_by_a_dict() -> None:
    assert design_autoencoder(64, 16, 100, "gru", 2, 0.3, residual=True) == ArchitectureConfig(
        hidden_size=64,
        bottleneck_size=16,
        input_size=100,
        rnn_type="gru",
        num_layers=2,
        dropout=0.3,
        residual=True,
    )


def test_noise_may_be_a_configuration_of_the_seeds() -> None:
    noise = DenoisingConfig(noise_type=NoiseType.MASK, noise_strength=0.2, adaptive_noise=False)
    found = TrainingConfig(denoising=noise).part()["learner"]["noise"]

    assert (found["kind"], found["amount"]) == ("mask", 0.2)


def test_the_schedules_of_the_seeds_keep_their_names_and_settings() -> None:
    found = TrainingConfig(scheduler="cosine_annealing", scheduler_params={"T_0": 5, "eta_min": 0.0}).part()

    assert found["learner"]["schedule"] == {"kind": "cosine_restarts", "first": 5, "lowest": 0.0}


def test_short_windows_share_less_and_a_batch_has_room_for_its_rows(poems: Path) -> None:
    found = plan_of(poems, training={"batch_size": 200}, data={"max_length": 4})

    window = found["learner"]["window"]
    assert (window["size"], window["overlap"], window["shortest"]) == (4, 0, 4)
    assert (found["learner"]["most_rows"], found["run"]["batch_tokens"]) == (200, 800)


def test_data_that_is_fetched_is_there(poems: Path, tmp_path: Path) -> None:
    found = fetch_data(poems, max_length=20, embeddings="random", settings={"chunk_overlap": 2})

    assert found == DataConfig(path=poems, max_length=20, embeddings="random", overlap=2)
    with pytest.raises(Exception, match="there is no file or folder"):
        fetch_data(tmp_path / "nothing.json")
