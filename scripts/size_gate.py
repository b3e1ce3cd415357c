"""Refuses code that has grown too large or takes a forbidden way: python scripts/size_gate.py.

Sizes hold for every Python file; the rest holds for src, where other people's code depends on ours.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "scripts", "benchmarks")
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 6
# Tests take fixtures; the facades have the parameters that the programs calling them give.
FREE_PARAMETERS = ("tests/", "src/headway/tools/")
# The one function all callers of the data package see; two of its parameters are the caller's ears.
MORE_PARAMETERS = {("build", 7)}
VAGUE = re.compile(r"(^|_)(utils?|common|helpers?|managers?)$|_(v\d+|new|old|optimized)$")
UNSAFE = {"pickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}
BROAD = {"Exception", "BaseException"}
# The outermost frames: what arrives there is shown in full, or travels to whoever waits for the answer.
OUTERMOST = {
    ("cli/main.py", "main"),
    ("data/worker.py", "main"),
    ("feed/prefetch.py", "_read_ahead"),
    ("run/launch/server.py", "main"),
    ("run/launch/worker.py", "work"),
    # Engines in Rust panic with exceptions below BaseException; all become one error that names the engine.
    ("data/engines.py", "engine_errors"),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print every violation; 1 if there is one."""
    files = sorted(path for folder in FOLDERS for path in (PROJECT / folder).rglob("*.py"))
    problems = [problem for path in files for problem in violations(path)]
    print("\n".join(problems) or f"sizes and forbidden ways: {len(files)} files are fine")
    return 1 if problems else 0


def violations(path: Path) -> Iterator[str]:
    """What is wrong with one file, one line each."""
    name = path.relative_to(PROJECT).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > MOST_FILE_LINES:
        yield f"{name}: {lines} lines; at most {MOST_FILE_LINES}"
    if VAGUE.search(path.stem):
        yield f"{name}: the name says nothing; name it after what it holds"
    tree = ast.parse(text)
    found = list(_sizes(tree))
    if name.startswith("src/"):
        found += _forbidden(tree, name.removeprefix("src/headway/"))
    if not name.startswith(FREE_PARAMETERS):
        found += _parameters(tree)
    yield from (f"{name}:{line}: {problem}" for line, problem in sorted(found))


def _functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _sizes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for function in _functions(tree):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > MOST_FUNCTION_LINES:
            yield function.lineno, f"{function.name} has {lines} lines; at most {MOST_FUNCTION_LINES}"


def _parameters(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for function in _functions(tree):
        given = function.args
        names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > MOST_PARAMETERS and (function.name, count) not in MORE_PARAMETERS:
            yield function.lineno, f"{function.name} has {count} parameters; at most {MOST_PARAMETERS}"


def _forbidden(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    outermost = {
        inner for function in _functions(tree) if (name, function.name) in OUTERMOST for inner in ast.walk(function)
    }
    for node in ast.walk(tree):
        match node:
            case ast.ExceptHandler() if _is_broad(node) and node not in outermost:
                yield node.lineno, "a broad except outside an outermost frame; catch what you can act on"
            case ast.Call(func=ast.Name(id="print")) if not name.startswith("cli/"):
                yield node.lineno, "print outside cli/; give it to a listener"
            case (
                ast.FunctionDef(args=ast.arguments(kwarg=ast.arg()))
                | ast.AsyncFunctionDef(args=ast.arguments(kwarg=ast.arg()))
            ):
                yield node.lineno, f"{node.name} takes **kwargs; name its parameters"
            case ast.Import(names=names) if UNSAFE & {each.name.split(".")[0] for each in names}:
                yield node.lineno, "an unsafe format; no pickle is ever loaded from a file"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in UNSAFE:
                yield node.lineno, "an unsafe format; no pickle is ever loaded from a file"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield node.lineno, "allow_pickle; no pickle is ever loaded from a file"
            case _:
                pass


def _is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it takes everything and keeps it; one that cleans up and ends in a bare raise hides nothing."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    caught = handler.type
    if caught is None:
        return True
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(name, ast.Name) and name.id in BROAD for name in names)


if __name__ == "__main__":
    sys.exit(main())
