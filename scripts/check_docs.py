"""Checks that the documentation speaks of what is there: python scripts/check_docs.py.

Every `headway ...` command parses, every `make ...` target exists, every relative link leads somewhere, every plan
in TOML is valid, in pages and in `examples`, every Python example names what the package has, and the guide of each
kind of learner describes every setting of its plans, with the default it has.
"""

import ast
import importlib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, is_dataclass
from io import StringIO
from pathlib import Path
from typing import Any, get_args

from headway.cli import main as cli
from headway.errors import HeadwayError
from headway.plan.load import plan_from
from headway.plan.plan import plan_settings
from headway.plan.section import Parsed, Setting, settings
from headway.run.train import plan_kinds

PROJECT = Path(__file__).resolve().parent.parent
GUIDES = {
    "patterns": PROJECT / "docs" / "guides" / "train-a-memory.md",
    "autoencoder": PROJECT / "docs" / "guides" / "autoencoder.md",
}
ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]*) \|", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
PAGES = ("*.md", "changelog.d/*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/**/*.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:headway|make) [^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SHELL = ("", "sh", "bash", "console", "text")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of documentation."""

    path: Path
    text: str

    def blocks(self, *languages: str) -> Iterator[str]:
        """The fenced blocks in one of these languages."""
        return (body for language, body in BLOCK.findall(self.text) if language in languages)

    @property
    def prose(self) -> str:
        """What is outside of fenced blocks."""
        return BLOCK.sub("", self.text)

    def commands(self) -> Iterator[list[str]]:
        """Every command a reader might copy, as words."""
        lines = [line for body in self.blocks(*SHELL) for line in body.replace("\\\n", " ").splitlines()]
        for line in (*lines, *INLINE.findall(self.prose)):
            command = line.strip().removeprefix("$ ").removeprefix(".venv/bin/")
            if command.startswith(("headway ", "make ")):
                # What a shell would take away before the command sees its words.
                yield shlex.split(re.split(r"\s[|>&]", command)[0], comments=True)


def main() -> int:
    """Print what the documentation gets wrong; 1 if there is anything."""
    paths = sorted({path for pattern in PAGES for path in PROJECT.glob(pattern)})
    pages = [Page(path, path.read_text(encoding="utf-8")) for path in paths]
    problems = [f"{page.path.relative_to(PROJECT)}: {problem}" for page in pages for problem in mistakes(page)]
    for path in sorted((PROJECT / "examples").glob("*.toml")):
        if problem := _plan_problem(path.read_text(encoding="utf-8")):
            problems.append(f"{path.relative_to(PROJECT)}: the plan is not valid: {problem}")
    for kind, guide in GUIDES.items():
        problems += [f"{guide.relative_to(PROJECT)}: {problem}" for problem in undescribed(kind, guide)]
    print("\n".join(problems) or f"documentation: {len(pages)} pages speak of what is there")
    return 1 if problems else 0


def mistakes(page: Page) -> Iterator[str]:
    """What one page gets wrong."""
    for words in page.commands():
        problem = _target_problem(words[1:]) if words[0] == "make" else _command_problem(words[1:])
        if problem:
            yield f"`{shlex.join(words)}`: {problem}"
    for target in LINK.findall(page.prose):
        if ":" not in target and not (page.path.parent / target.split("#")[0]).exists():
            yield f"the link to {target} leads nowhere"
    for body in page.blocks("toml"):
        if problem := _plan_problem(body):
            yield f"a plan is not valid: {problem}"
    for body in page.blocks("python"):
        yield from _python_problems(body)


def undescribed(kind: str, guide: Path) -> Iterator[str]:
    """The settings of a kind's plans that no line of its guide mentions, and defaults that are others."""
    text = guide.read_text(encoding="utf-8")
    # A name may head another table further down.
    rows = dict(reversed(ROW.findall(text)))
    usual: Mapping[str, Mapping[str, Any]] = getattr(plan_kinds().learners[kind], "usual", {})
    for key, setting in _leaves(plan_settings(plan_kinds(), kind)):
        section, _, name = key.partition(".")
        default = usual.get(section, {}).get(name, setting.default)
        if f"`{key}`" not in text:
            yield f"the setting {key} is not described"
        elif key in rows and key != "learner.kind" and default is not None and not setting.required:
            shown = CODE.search(rows[key])
            if shown is None or not _means(shown[1], default, setting):
                yield f"the default of {key} is {default!r}, not {rows[key]}"


def _leaves(known: Mapping[str, Setting], above: str = "") -> Iterator[tuple[str, Setting]]:
    """Every setting by its dotted key, those of inner tables and of tables in a list included."""
    for name, setting in known.items():
        key = f"{above}{name}"
        inner = setting.section or _listed(setting.hint)
        if setting.section is None:
            yield key, setting
        if inner is not None:
            yield from _leaves(settings(inner), f"{key}.")


def _listed(hint: Any) -> type | None:
    """The table that a list holds, however deep in the hint it stands."""
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    return next((found for part in get_args(hint) if (found := _listed(part))), None)


def _means(shown: str, default: object, setting: Setting) -> bool:
    """Whether a value in TOML is a setting's default."""
    try:
        value = tomllib.loads(f"value = {shown}")["value"]
    except tomllib.TOMLDecodeError:
        return False
    parsed = next((each for each in getattr(setting.hint, "__metadata__", ()) if isinstance(each, Parsed)), None)
    if parsed is not None and isinstance(value, str):
        value = parsed.parse(value)
    plain = [*default] if isinstance(default, tuple) else default
    return value == plain and isinstance(value, bool) == isinstance(plain, bool)


def _target_problem(words: list[str]) -> str | None:
    known = set(re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    missing = [word for word in words if "=" not in word and word not in known]
    return f"there is no target {', '.join(missing)}" if missing else None


def _command_problem(words: list[str]) -> str | None:
    said = StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(StringIO()):
            _parse(words)
    except SystemExit as end:
        return said.getvalue().strip().splitlines()[-1] if end.code else None
    return None


def _parse(words: list[str]) -> None:
    """Read words as the command line does, without doing what they say."""
    verb = next((word for word in words if not word.startswith("-")), None)
    module = importlib.import_module(f"headway.cli.{verb}") if verb in cli._VERBS else None
    cli._parser(verb, module).parse_args(words)


def _plan_problem(text: str) -> str | None:
    try:
        plan_from({"name": "docs", **tomllib.loads(text)}, folder=PROJECT, kinds=plan_kinds())
    except (HeadwayError, tomllib.TOMLDecodeError) as problem:
        return str(problem)
    return None


def _python_problems(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except SyntaxError as problem:
        yield f"a Python example does not parse: {problem}"
        return
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="headway"), attr=name):
                module = "headway"
            case ast.ImportFrom(module=str(module), names=[ast.alias(name=name)]) if module.startswith("headway"):
                pass
            case _:
                continue
        if not hasattr(importlib.import_module(module), name):
            yield f"a Python example uses {module}.{name}, which does not exist"


if __name__ == "__main__":
    sys.exit(main())
