"""Checks that the documentation speaks of what is there: python scripts/check_docs.py.

Every `headway ...` command parses, every `make ...` target exists, every relative link leads somewhere, every plan
in TOML is valid, every Python example names what the package has, and the guide describes every setting.
"""

import ast
import importlib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from headway.cli import main as cli
from headway.errors import HeadwayError
from headway.plan.load import plan_from
from headway.plan.plan import plan_settings
from headway.plan.section import settings
from headway.run.train import plan_kinds

PROJECT = Path(__file__).resolve().parent.parent
GUIDE = PROJECT / "docs" / "guides" / "train-a-memory.md"
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
    problems += [f"{GUIDE.relative_to(PROJECT)}: the setting {name} is not described" for name in undescribed()]
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


def undescribed() -> Iterator[str]:
    """The settings that no line of the guide mentions."""
    text = GUIDE.read_text(encoding="utf-8")
    for name, setting in plan_settings(plan_kinds(), "patterns").items():
        inner = settings(setting.section) if setting.section else {}
        keys = [f"{name}.{key}" for key in inner] or [name]
        yield from (key for key in keys if f"`{key}`" not in text)


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
