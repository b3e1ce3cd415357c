"""A plan file becomes a Plan, or every problem is listed at once."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from headway.errors import PlanError
from headway.plan.load import Kinds, load_plan, plan_from
from headway.plan.plan import Plan
from headway.plan.schema import schema
from headway.plan.section import FREE, Strings


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Where something is kept."""

    rows: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    sources: Strings
    """What to read."""
    split: Literal["whole", "simple"] = "whole"
    engine: Annotated[str, FREE] = "auto"
    cache: Cache = Cache()
    caches: tuple[Cache, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    kind: Literal["counter"] = "counter"
    widths: tuple[int, ...] = (5, 7)

    def problems(self) -> list[str]:
        return [f"widths[{place}]: {width} is too small" for place, width in enumerate(self.widths) if width < 2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    kind: Literal["echo"]
    loud: bool = False

    def misfits(self, data: Data, run: Any) -> list[str]:
        return ["learner.loud: goes with whole documents only"] if self.loud and data.split != "whole" else []


KINDS = Kinds(data=Data, learners={"counter": Counter, "echo": Echo})
SMALLEST: dict[str, Any] = {"data": {"sources": "a.txt"}, "learner": {"kind": "counter"}}


def made(mapping: dict[str, Any]) -> Plan:
    return plan_from(mapping, folder=Path("/plans"), kinds=KINDS)


def problems_of(mapping: dict[str, Any]) -> list[str]:
    with pytest.raises(PlanError) as caught:
        made(mapping)
    return caught.value.problems


def written(folder: Path, text: str, name: str = "poems.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


SMALLEST_TOML = 'data.sources = "a.txt"\nlearner.kind = "counter"\n'


def test_a_small_plan_file_is_enough(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, SMALLEST_TOML), kinds=KINDS)

    assert plan.name == "poems"
    assert plan.folder == tmp_path
    assert plan.data == Data(sources=("a.txt",))
    assert plan.learner == Counter()
    assert (plan.workers, plan.memory, plan.run.save_every) == (None, None, 5.0)


def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    toml = load_plan(written(tmp_path, SMALLEST_TOML + 'memory = "1GiB"\n'), kinds=KINDS)

    assert load_plan(written(tmp_path, json.dumps(SMALLEST | {"memory": 1 << 30}), "poems.json"), kinds=KINDS) == toml


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    assert load_plan(written(tmp_path, "\ufeff" + SMALLEST_TOML), kinds=KINDS).learner == Counter()


def test_sizes_durations_and_single_strings_are_understood() -> None:
    plan = made(SMALLEST | {"memory": "512 MB", "run": {"save_every": "2m"}})

    assert (plan.memory, plan.run.save_every, plan.data) == (512_000_000, 120.0, Data(sources=("a.txt",)))


def test_a_plan_made_in_python_may_hold_paths_tuples_and_dates() -> None:
    plan = made(SMALLEST | {"data": {"sources": (Path("a"), "b")}, "name": date(2024, 5, 1)})

    assert (plan.data, plan.name) == (Data(sources=("a", "b")), "2024-05-01")


def test_every_problem_is_reported_at_once_with_its_path_and_value() -> None:
    assert problems_of(
        {
            "name": "",
            "data": {"sources": ["a", 1], "splt": "whole", "split": "simpl", "cache": {"row": 1}},
            "learner": {"kind": "counter", "widths": ["5", True]},
            "run": {"save_every": "5x", "batch_tokens": 12, "seed": -1},
            "workers": 2.0,
            "memory": "1XB",
        }
    ) == [
        'name: should have at least 1 character, not ""',
        "data.sources[1]: should be a valid string, not 1",
        "data.split: should be 'whole' or 'simple', not \"simpl\"; did you mean 'simple'?",
        "data.cache.row: unknown key; did you mean 'rows'?",
        "data.splt: unknown key; did you mean 'split'?",
        'learner.widths[0]: should be a valid integer, not "5"',
        "learner.widths[1]: should be a valid integer, not true",
        "run.save_every: '5x' is not a duration; write it like '500ms', '5s', '2m' or '1h'",
        "run.seed: should be greater than or equal to 0, not -1",
        "run.batch_tokens: should be greater than or equal to 64, not 12",
        "workers: should be a valid integer, not 2.0",
        "memory: '1XB' is not a size; write it like '512MB' (10^6) or '1GiB' (2^30)",
    ]


def test_a_rule_across_fields_is_reported_beside_other_problems() -> None:
    assert problems_of(SMALLEST | {"learner": {"kind": "counter", "widths": [5, 1]}, "workers": 0}) == [
        "learner.widths[1]: 1 is too small",
        "workers: should be greater than or equal to 1, not 0",
    ]


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({"runn": {}}, "runn: unknown key; did you mean 'run'?"),
        ({"widths": [5]}, "widths: unknown key; did you mean 'learner.widths'?"),
        ({"run": {"memory": 1}}, "run.memory: unknown key; 'memory' belongs at the top, before any [table]"),
        (
            {"run": {"zzz": 1}},
            "run.zzz: unknown key; known here: save_every, epochs, documents, shuffle, seed, batch_tokens, profile, "
            "sample_every",
        ),
        ({"data": {"sources": "a", "caches": [{"zzz": 1}]}}, "data.caches[0].zzz: unknown key"),
    ],
)
def test_an_unknown_key_is_an_error_that_shows_the_way(extra: dict[str, Any], problem: str) -> None:
    assert problems_of(SMALLEST | extra) == [problem]


@pytest.mark.parametrize(
    ("learner", "problem"),
    [
        (5, "learner: should be a table with a kind, not 5; known: counter, echo"),
        ({}, "learner.kind: missing; known: counter, echo"),
        (
            {"kind": "cuonter"},
            "learner.kind: there is no learner \"cuonter\"; known: counter, echo; did you mean 'counter'?",
        ),
        ({"kind": ["echo"]}, 'learner.kind: there is no learner ["echo"]; known: counter, echo'),
    ],
)
def test_a_learner_is_chosen_by_a_known_kind(learner: object, problem: str) -> None:
    assert problems_of(SMALLEST | {"learner": learner}) == [problem]


def test_an_empty_plan_names_what_is_missing() -> None:
    assert problems_of({}) == ["data: missing; it has no default", "learner: missing; it has no default"]


def test_a_missing_setting_is_named_with_its_table() -> None:
    assert problems_of(SMALLEST | {"data": {}}) == ["data.sources: missing; it has no default"]


def test_a_list_of_nothing_is_refused_where_something_is_needed() -> None:
    assert problems_of(SMALLEST | {"data": {"sources": []}}) == ["data.sources: should have at least 1 item, not []"]


def test_a_value_where_a_table_belongs_is_named() -> None:
    assert problems_of(SMALLEST | {"run": 5}) == ["run: should be a table, not 5"]


def test_a_python_object_that_no_file_can_hold_is_refused() -> None:
    assert problems_of(SMALLEST | {"data": {"sources": {1}}}) == ['data: "{1}" is a set, which no plan file can hold']


def test_a_long_value_is_cut_in_the_message() -> None:
    [problem] = problems_of(SMALLEST | {"workers": "x" * 1000})

    assert len(problem) < 120


def test_a_misspelt_kind_hides_no_problem_of_its_learner() -> None:
    assert problems_of(SMALLEST | {"learner": {"kind": "countr", "widths": ["5"], "width": 1}}) == [
        "learner.kind: there is no learner \"countr\"; known: counter, echo; did you mean 'counter'?",
        'learner.widths[0]: should be a valid integer, not "5"',
        "learner.width: unknown key; did you mean 'widths'?",
    ]


def test_of_a_learner_whose_kind_is_anybodys_guess_keys_that_none_has_are_named() -> None:
    assert problems_of(SMALLEST | {"learner": {"kind": "xyz", "widths": ["5"], "loud": 1, "lud": 2}}) == [
        'learner.kind: there is no learner "xyz"; known: counter, echo',
        "learner.lud: unknown key; did you mean 'loud'?",
    ]


def test_overrides_are_toml_values_or_bare_strings(tmp_path: Path) -> None:
    overrides = [
        "learner.widths=[5, 7, 9]",
        "data.split=simple",
        "run.save_every = 5s",
        "workers=2",
        "data.sources=a=b\nc=1",
    ]

    plan = load_plan(written(tmp_path, SMALLEST_TOML), kinds=KINDS, overrides=overrides)

    assert plan.learner == Counter(widths=(5, 7, 9))
    assert plan.data == Data(sources=("a=b\nc=1",), split="simple")
    assert (plan.run.save_every, plan.workers) == (5.0, 2)


def test_an_override_that_injects_a_second_toml_key_stays_one_string(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, SMALLEST_TOML), kinds=KINDS, overrides=["data.engine=1\nworkers = 3"])

    assert plan.data == Data(sources=("a.txt",), engine="1\nworkers = 3")
    assert plan.workers is None


def test_overrides_that_cannot_be_applied_are_all_listed(tmp_path: Path) -> None:
    path = written(tmp_path, SMALLEST_TOML + "workers = 1\n")

    with pytest.raises(PlanError) as caught:
        load_plan(path, kinds=KINDS, overrides=["workers", "=3", "run..seed=1", "workers.most=3"])

    assert caught.value.problems == [
        "--set 'workers' is not KEY=VALUE; write for example run.epochs=2",
        "--set '=3' is not KEY=VALUE; write for example run.epochs=2",
        "--set 'run..seed=1' is not KEY=VALUE; write for example run.epochs=2",
        "--set 'workers.most=3': workers is a value, not a table",
    ]


def test_overrides_that_cannot_be_applied_hide_nothing_of_the_rest(tmp_path: Path) -> None:
    overrides = ["foo", "learner.widths=[1]", "workers=0"]

    with pytest.raises(PlanError) as caught:
        load_plan(written(tmp_path, SMALLEST_TOML), kinds=KINDS, overrides=overrides)

    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "--set 'foo' is not KEY=VALUE; write for example run.epochs=2",
        "learner.widths[0]",
        "workers",
    ]


def test_a_look_at_the_valid_parts_joins_the_problems_of_the_others(tmp_path: Path) -> None:
    def look(key: str, value: Any) -> list[str]:
        return [f"data.sources: {value.sources} are not there"] if key == "data" else []

    path = written(tmp_path, SMALLEST_TOML)

    with pytest.raises(PlanError) as caught:
        load_plan(path, kinds=KINDS, overrides=["learner.widths=[1]", "data.split=3"], look=look)

    assert caught.value.problems == [
        "data.split: should be 'whole' or 'simple', not 3",
        "learner.widths[0]: 1 is too small",
        "data.sources: ('a.txt',) are not there",
    ]
    assert load_plan(path, kinds=KINDS, look=look).name == "poems", "a valid plan is looked at by who wants it"


def test_what_a_run_decided_is_no_part_of_its_plan(tmp_path: Path) -> None:
    decided = '[decided.workers]\nvalue = 2\nwhy = "one per usable core"\n'
    text = json.dumps(SMALLEST | {"name": "poems", "decided": {"workers": {"value": 2, "why": "cores"}}})

    assert load_plan(written(tmp_path, text, "plan.resolved.json"), kinds=KINDS).workers is None
    with pytest.raises(PlanError, match="decided: unknown key"):
        load_plan(written(tmp_path, SMALLEST_TOML + decided), kinds=KINDS)


def test_an_override_of_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"learner\.width: unknown key; did you mean 'widths'\?"):
        load_plan(written(tmp_path, SMALLEST_TOML), kinds=KINDS, overrides=["learner.width=[5]"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("plan.toml", "name = 'a'\ndata = ]", r"is not valid TOML: .*line 2, column 8"),
        ("plan.json", '{"data": }', r"is not valid JSON: .*line 1 column 10"),
        ("plan.json", '{"name": 1, "name": 2}', "the key 'name' is given twice"),
        ("plan.json", "[]", "holds list; a plan is an object with data and learner"),
        ("plan.yaml", "data: a", r"\.yaml is not a plan; write a \.toml or a \.json file"),
        ("plan", "", r"no suffix is not a plan"),
    ],
)
def test_a_file_that_is_no_plan_is_one_clear_error(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        load_plan(written(tmp_path, text, name), kinds=KINDS)

    assert caught.value.where == str(tmp_path / name)
    assert len(caught.value.problems) == 1


def test_bytes_that_are_no_text_are_no_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_bytes(b"name = '\xff'")

    with pytest.raises(PlanError, match=r"is not valid TOML: .*position 8"):
        load_plan(tmp_path / "plan.toml", kinds=KINDS)


def test_a_missing_plan_file_is_told_from_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, SMALLEST_TOML)

    with pytest.raises(PlanError, match=r"there is no such file; did you mean 'poems\.toml'\?"):
        load_plan(tmp_path / "poem.toml", kinds=KINDS)
    with pytest.raises(PlanError, match=r"there is no such file; the folder has poems\.toml"):
        load_plan(tmp_path / "zzz.toml", kinds=KINDS)
    with pytest.raises(PlanError, match=r"there is no such file$"):
        load_plan(tmp_path / "nowhere" / "zzz.toml", kinds=KINDS)


def test_a_folder_is_no_plan_file(tmp_path: Path) -> None:
    folder = tmp_path / "plans.toml"
    folder.mkdir()

    with pytest.raises(PlanError, match="is a folder; name the plan file in it"):
        load_plan(folder, kinds=KINDS)


def test_a_plan_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "loop.toml"
    path.symlink_to(path)

    with pytest.raises(PlanError, match="cannot be read: Too many levels of symbolic links"):
        load_plan(path, kinds=KINDS)


def test_the_schema_describes_every_key_of_a_plan_file() -> None:
    made = schema(KINDS)

    assert made["required"] == ["data", "learner"]
    assert set(made["properties"]) == {"name", "data", "learner", "run", "workers", "memory"}
    assert made["properties"]["workers"]["description"].startswith("Processes that learn")
    assert made["$defs"]["Data"]["properties"]["sources"]["description"] == "What to read."


def test_the_schema_forbids_unknown_keys_and_demands_the_kind() -> None:
    definitions = schema(KINDS)["$defs"]

    assert all(definition["additionalProperties"] is False for definition in definitions.values())
    assert definitions["Counter"]["required"] == definitions["Echo"]["required"] == ["kind"]


def test_the_schema_lets_sizes_be_written_as_text() -> None:
    kinds = [choice["type"] for choice in schema(KINDS)["properties"]["memory"]["anyOf"]]

    assert kinds == ["integer", "string", "null"]


def test_a_learner_can_refuse_a_setting_of_the_data() -> None:
    data = {"sources": "a.txt", "split": "simple"}

    assert problems_of({"data": data, "learner": {"kind": "echo", "loud": True}}) == [
        "learner.loud: goes with whole documents only"
    ]
    assert made({"data": data, "learner": {"kind": "echo"}})


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_a_plan_nested_beyond_all_measure_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"deep.{suffix}"
    path.write_text(("a = " if suffix == "toml" else "") + "[" * 100_000)

    with pytest.raises(PlanError, match=f"is not valid {suffix.upper()}"):
        load_plan(path, kinds=KINDS)
