"""A file that is not what it was is found and named, with what to do; it is never used as if it were whole."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import headway
from conftest import write_corpus
from headway.cli.main import main
from headway.learners.patterns.manifest import Manifest, read_manifest

Damage = Callable[[Path], None]


@dataclass(frozen=True)
class Scene:
    """A folder with a plan, its dataset and a run that was interrupted after some saves."""

    folder: Path

    @property
    def run(self) -> Path:
        return self.folder / "runs" / "plan-001"

    @property
    def memory(self) -> Path:
        return self.run / "memory"

    @property
    def dataset(self) -> Path:
        (found,) = (self.folder / "datasets").glob("*/manifest.json")
        return found.parent

    @property
    def a_run_file(self) -> Path:
        return min((self.memory / "runs").glob("*.L0.arrow"))

    @property
    def folders(self) -> list[str]:
        return ["--runs-dir", str(self.folder / "runs"), "--datasets-dir", str(self.folder / "datasets")]

    def resume(self, *more: str) -> int:
        return main(["train", str(self.folder / "plan.toml"), *self.folders, "--quiet", "--resume", *more])


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A run that a signal stopped after its third save."""
    scene = Scene(tmp_path_factory.mktemp("damage"))
    write_corpus(scene.folder / "corpus.jsonl")
    (scene.folder / "plan.toml").write_text(
        'workers = 1\nmemory = "3GiB"\n[data]\nsources = ["corpus.jsonl"]\ntokenizer = "words"\n'
        '[learner]\nkind = "patterns"\nwidths = [3, 2]\n[run]\nbatch_tokens = 1024\nsave_every = 0\n'
    )
    saves = 0

    def stop(event: dict[str, Any]) -> None:
        nonlocal saves
        saves += event["event"] == "saved"
        if saves == 3:
            saves += 1
            os.kill(os.getpid(), signal.SIGINT)

    result = headway.train(
        scene.folder / "plan.toml",
        runs_dir=scene.folder / "runs",
        datasets_dir=scene.folder / "datasets",
        listeners=[stop],
    )
    assert result.status == "stopped"
    assert len(list((scene.memory / "runs").iterdir())) > 4
    return scene


@pytest.fixture
def scene(interrupted: Scene, tmp_path: Path) -> Scene:
    """A copy to damage."""
    return Scene(Path(shutil.copytree(interrupted.folder, tmp_path / "copy")))


def commands(scene: Scene) -> dict[str, Callable[[], int]]:
    """Everything that reads a memory."""
    memory = str(scene.memory)
    top = next(iter(headway.open_memory(memory))).name
    output = str(scene.folder / "out.csv")
    return {
        "stats": lambda: main(["memory", "stats", memory]),
        "top": lambda: main(["memory", "top", memory]),
        "show": lambda: main(["memory", "show", top, memory]),
        "verify": lambda: main(["memory", "verify", memory]),
        "compact": lambda: main(["memory", "compact", memory]),
        "export": lambda: main(["memory", "export", "--format", "csv", "--output", output, memory]),
        "resume": scene.resume,
    }


ALL = ("stats", "top", "show", "verify", "compact", "export", "resume")


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def change_a_digit(path: Path) -> None:
    text = path.read_text()
    at = re.search(r'"observed": \d*?(\d),', text)
    assert at is not None
    digit = str((int(at[1]) + 1) % 10)
    path.write_text(text[: at.start(1)] + digit + text[at.end(1) :])


def other_json(path: Path) -> None:
    path.write_text("[]")


def a_symbol_changed(path: Path) -> None:
    value = json.loads(path.read_text())
    value["symbols"][3] += "x"
    path.write_text(json.dumps(value))


def rehearsed(scene: Scene, name: str, capsys: pytest.CaptureFixture[str], damage: Callable[[], None]) -> str:
    """What a command says after the damage; it must refuse."""
    command = commands(scene)[name]
    damage()
    before = content(scene.memory)
    capsys.readouterr()

    code = command()

    message = capsys.readouterr().err
    assert code == 2, message
    assert "Traceback" not in message
    assert content(scene.memory) == before, "a refused command changes nothing"
    return message


def content(memory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in memory.rglob("*") if path.is_file() and path.name != "lock"}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("damage", [truncate, change_a_digit, zeros, other_json], ids=lambda damage: damage.__name__)
def test_a_damaged_manifest_is_named_by_every_command(
    scene: Scene, name: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.memory / "manifest.json"

    message = rehearsed(scene, name, capsys, lambda: damage(path))

    assert str(path) in message
    assert re.search("torn or damaged|damaged", message)
    assert "restore it from a copy" in message


@pytest.mark.parametrize("name", ALL)
def test_a_lost_manifest_is_missed_and_nothing_is_learned_anew_in_its_place(
    scene: Scene, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.memory / "manifest.json"

    message = rehearsed(scene, name, capsys, path.unlink)

    assert re.search(r"manifest\.json is missing", message)


def test_a_memory_whose_making_was_interrupted_is_begun_again(scene: Scene) -> None:
    """The manifest of nothing is there, the vocabulary is not yet."""
    shutil.rmtree(scene.run)
    assert scene.resume("--set", "run.documents=1") == 2
    assert main(["train", str(scene.folder / "plan.toml"), *scene.folders, "--quiet", "--set", "run.documents=1"]) == 0
    manifest = json.loads((scene.memory / "manifest.json").read_text())
    begun = read_manifest(scene.memory)
    assert begun is not None
    Manifest(begun.identity).write(scene.memory)
    (scene.memory / "vocabulary.json").unlink()
    (scene.run / "record.jsonl").unlink()

    assert scene.resume("--set", "run.documents=1") == 0
    assert json.loads((scene.memory / "manifest.json").read_text())["documents"] == manifest["documents"] == 1


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("damage", [truncate, Path.unlink], ids=["torn", "missing"])
def test_a_torn_or_missing_run_file_is_named_by_every_command(
    scene: Scene, name: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.a_run_file

    message = rehearsed(scene, name, capsys, lambda: damage(path))

    assert path.name in message
    assert re.search("torn|missing", message)
    assert "restore it from a copy" in message


@pytest.mark.parametrize("name", [name for name in ALL if name != "resume"])
@pytest.mark.parametrize("damage", [flip, zeros], ids=lambda damage: damage.__name__)
def test_a_changed_byte_in_a_run_file_is_named_by_every_command_that_reads_it(
    scene: Scene, name: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.a_run_file

    message = rehearsed(scene, name, capsys, lambda: damage(path))

    assert path.name in message
    assert "checksum" in message
    assert "restore it from a copy" in message


def test_every_byte_of_a_run_file_counts(scene: Scene) -> None:
    path = scene.a_run_file
    whole = path.read_bytes()

    for at in range(0, len(whole), max(1, len(whole) // 50)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with headway.open_memory(scene.memory) as memory:
            assert any(path.name in problem for problem in memory.verify().problems)


def test_a_run_that_is_resumed_never_merges_a_changed_run_file(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.a_run_file
    flip(path)

    # Compaction reads the file; without one, training only adds others beside it.
    code = scene.resume("--set", "learner.compact_after=2")

    assert code == 2
    assert path.name in capsys.readouterr().err
    assert path.exists()


def test_a_run_is_not_continued_to_its_end_beside_a_changed_run_file(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.a_run_file
    whole = path.read_bytes()
    flip(path)

    assert scene.resume() == 2
    assert path.name in capsys.readouterr().err
    path.write_bytes(whole)
    assert scene.resume() == 0
    assert main(["memory", "verify", str(scene.memory)]) == 0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "damage", [truncate, zeros, other_json, a_symbol_changed, Path.unlink], ids=lambda damage: damage.__name__
)
def test_a_damaged_vocabulary_is_named_by_every_command_that_needs_it(
    scene: Scene, name: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.memory / "vocabulary.json"

    message = rehearsed(scene, name, capsys, lambda: damage(path))

    assert str(path) in message
    assert "restore it from a copy" in message


@pytest.mark.parametrize("damage", [truncate, flip, Path.unlink], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("file", ["shards/00000.tokens.npy", "shards/00000.documents.npy", "vocabulary.json"])
def test_a_damaged_dataset_is_not_trained_on(
    scene: Scene, file: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.dataset / file

    message = rehearsed(scene, "resume", capsys, lambda: damage(path))

    assert str(path) in message
    assert "build it again with: headway data build" in message


@pytest.mark.parametrize("damage", [truncate, zeros, other_json], ids=lambda damage: damage.__name__)
def test_a_damaged_manifest_of_a_dataset_is_named(
    scene: Scene, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.dataset / "manifest.json"

    message = rehearsed(scene, "resume", capsys, lambda: damage(path))

    assert str(path) in message
    assert "build" in message


@pytest.mark.parametrize("file", ["plan.resolved.json", "dataset.json"])
@pytest.mark.parametrize("damage", [truncate, zeros, other_json], ids=lambda damage: damage.__name__)
def test_a_damaged_plan_or_dataset_note_of_a_run_is_named(
    scene: Scene, file: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.run / file

    message = rehearsed(scene, "resume", capsys, lambda: damage(path))

    assert str(path) in message
    assert re.search("restore it from a copy|--new", message)


def test_a_torn_last_line_of_the_record_is_cut_off_and_the_run_goes_on(
    scene: Scene, interrupted: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    record = scene.run / "record.jsonl"
    with record.open("ab") as file:
        file.write(b'{"time": 1.0, "event": "st')

    assert main(["runs", "show", str(scene.run)]) == 0
    assert scene.resume() == 0
    lines = record.read_text().splitlines()
    assert all(json.loads(line) for line in lines)
    assert json.loads(lines[-1])["reason"] == "complete"
    assert main(["memory", "verify", str(scene.memory)]) == 0


def test_a_damaged_line_within_the_record_is_named(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    record = scene.run / "record.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    for line in (b"\0" * 40 + b"\n", b'{"time": 1, "event": "step"}\n'):
        record.write_bytes(b"".join([lines[0], line, *lines[2:]]))

        assert main(["runs", "show", str(scene.run)]) == 2
        assert str(record) in (message := capsys.readouterr().err) and "line 2" in message
        assert scene.resume() == 2
        # One damaged run hides no other.
        capsys.readouterr()
        assert main(["runs", "list", "--json", "--runs-dir", str(scene.run.parent)]) == 0
        (known,) = json.loads(capsys.readouterr().out)
        assert known["status"] == "damaged" and "line 2" in known["warnings"][0]


@pytest.mark.parametrize(
    "leftover", ["runs/000-00000099-9.L0.arrow", "runs/000-00000099-9.L0.arrow.draft", "manifest.json.tmp"]
)
def test_a_leftover_is_reported_by_verify_removed_by_repair_and_counts_nowhere(
    scene: Scene, leftover: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene.memory / leftover
    whole = content(scene.memory)
    shutil.copyfile(scene.a_run_file, path)
    capsys.readouterr()

    assert main(["memory", "stats", str(scene.memory), "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert main(["memory", "verify", str(scene.memory)]) == 2
    assert f"{path.name} is named by no manifest" in capsys.readouterr().err
    assert main(["memory", "repair", str(scene.memory)]) == 0
    assert f"removed {path.name}" in capsys.readouterr().out

    assert not path.exists()
    assert content(scene.memory) == whole
    assert main(["memory", "verify", str(scene.memory)]) == 0
    capsys.readouterr()
    assert main(["memory", "stats", str(scene.memory), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == counted


@pytest.mark.parametrize("command", ["compact", "resume"])
def test_leftovers_are_removed_by_whoever_writes_next(scene: Scene, command: str) -> None:
    leftovers = [scene.memory / "runs" / "000-00000099-9.L0.arrow", scene.memory / "runs" / "compact.L1.arrow.draft"]
    run = commands(scene)[command]
    for path in leftovers:
        shutil.copyfile(scene.a_run_file, path)

    assert run() == 0
    assert not any(path.exists() for path in leftovers)
    assert main(["memory", "verify", str(scene.memory)]) == 0
