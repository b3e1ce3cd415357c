"""The gate in scripts/size_gate.py finds what it forbids."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "size_gate.py"


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("size_gate", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PROJECT", tmp_path)
    return module


def found(gate: ModuleType, name: str, text: str) -> list[str]:
    path: Path = gate.PROJECT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return list(gate.violations(path))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("src/headway/run/a.py", "x = 1\n" * 401, "401 lines; at most 400"),
        ("src/headway/run/a.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines; at most 60"),
        ("src/headway/run/a.py", "def f(a, b, c, d, e, g, h): ...\n", "f has 7 parameters; at most 6"),
        ("src/headway/run/a.py", "def f(**kwargs): ...\n", "takes **kwargs"),
        ("src/headway/run/a.py", "print(1)\n", "print outside cli/"),
        ("src/headway/run/a.py", "try:\n    f()\nexcept Exception:\n    pass\n", "broad except"),
        ("src/headway/run/a.py", "try:\n    f()\nexcept:\n    pass\n", "broad except"),
        ("src/headway/run/a.py", "try:\n    f()\nexcept (OSError, BaseException):\n    pass\n", "broad except"),
        ("src/headway/run/a.py", "import pickle\n", "no pickle"),
        ("src/headway/run/a.py", "from joblib import load\n", "no pickle"),
        ("src/headway/run/a.py", "np.load(path, allow_pickle=True)\n", "no pickle"),
        ("src/headway/run/file_utils.py", "", "the name says nothing"),
        ("benchmarks/loop_v2.py", "", "the name says nothing"),
    ],
)
def test_what_is_forbidden_is_found(gate: ModuleType, name: str, text: str, message: str) -> None:
    [problem] = found(gate, name, text)

    assert problem.startswith(name)
    assert message in problem


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/headway/cli/a.py", "print(1)\n"),
        ("src/headway/cli/main.py", "def main():\n    try:\n        f()\n    except Exception:\n        show()\n"),
        ("src/headway/run/a.py", "try:\n    f()\nexcept BaseException:\n    close()\n    raise\n"),
        ("src/headway/run/a.py", "class A:\n    def f(self, a, b, c, d, e, g): ...\n"),
        ("src/headway/run/renewal.py", ""),
    ],
)
def test_what_is_allowed_passes(gate: ModuleType, name: str, text: str) -> None:
    assert found(gate, name, text) == []


def test_this_project_names_real_outermost_frames(gate: ModuleType) -> None:
    source = SCRIPT.parent.parent / "src" / "headway"

    for file, function in gate.OUTERMOST:
        assert f"def {function}(" in (source / file).read_text(), f"{file} has no {function}"
