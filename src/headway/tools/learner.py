"""The learner of the seeds: nodes that share one tokenizer, and the memory that several calls fill."""

import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from headway.errors import PlanError, RunError
from headway.tools.nodes import HierarchicalNode, at_least

if TYPE_CHECKING:
    from headway.learners.patterns.config import Section
    from headway.learners.patterns.manifest import Origin
    from headway.learners.patterns.memory import Memory

_ALIASES = {"openai-community/gpt2": "gpt2"}


def tokenizer_called(name: str) -> str:
    """What a tokenizer is called here that has several names."""
    return _ALIASES.get(name, name)


class HierarchicalConceptLearner:
    """Nodes from the tokens upward, and a memory that adds up what every training call learns.

    Everything lies below `folder`: the memory, the runs and their data sets. Without one it is a temporary folder that
    lives as long as this object. `node0_batch_size` changes neither what is learned nor how fast, `base_url` is where
    a service would be: patterns are kept in a local memory.
    """

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        nodes: Sequence[HierarchicalNode] | None = None,
        base_url: str | None = None,
        tokenizer_name: str = "gpt2",
        num_nodes: int = 4,
        segmentation_mode: Literal["chunking", "sentences"] = "chunking",
        chunk_size: int = 15,
        min_sentence_tokens: int = 3,
        node0_batch_size: int = 1,
        verbose_init: bool = True,
        folder: Path | str | None = None,
    ) -> None:
        if nodes is None:
            nodes = [
                HierarchicalNode(
                    f"node{i}",
                    mode=segmentation_mode,
                    chunk_size=chunk_size,
                    min_sentence_tokens=min_sentence_tokens,
                )
                for i in range(num_nodes)
            ]
        self.nodes: Mapping[str, HierarchicalNode] = MappingProxyType({node.name: node for node in nodes})
        self.tokenizer_name = tokenizer_called(tokenizer_name)
        self.node0_batch_size = node0_batch_size
        self.base_url = base_url
        self._check([node.name for node in nodes], folder)
        self.folder = _temporary(self) if folder is None else Path(folder).absolute()
        self._memory: Memory | None = None
        if base_url is not None or any(node.base_url is not None for node in nodes):
            warnings.warn(
                f"base_url is not used: patterns are kept in a local memory at {self.folder}", UserWarning, stacklevel=2
            )
        if verbose_init:
            say(f"{self!r}: its memory lies in {self.folder}")

    @property
    def memory(self) -> "Memory":
        """What all training calls taught so far, as it stands now; a RunError before the first one."""
        from headway.learners.patterns.memory import open_memory

        if self._memory is None:
            if not self.has_memory:
                raise RunError(f"{self!r} has learned nothing yet; train it first, e.g. train_from_streaming_dataset")
            self._memory = open_memory(self.folder)
        return self._memory

    @property
    def has_memory(self) -> bool:
        """Whether anything was learned."""
        from headway.learners.patterns.learner import FOLDER
        from headway.learners.patterns.manifest import NAME

        return (self.folder / FOLDER / NAME).is_file()

    def section(self, levels: int | None) -> "Section":
        """What the first so many nodes say, as the `[learner]` of a plan; a PlanError for too few or too many."""
        from headway.learners.patterns.config import Section

        nodes = list(self.nodes.values())
        levels = len(nodes) if levels is None else levels
        if not at_least(2, levels) or levels > len(nodes):
            raise PlanError("num_levels", [f"should be 2 to {len(nodes)}, the number of nodes, not {levels!r}"])
        self._check_memory(nodes)
        return Section(
            widths=tuple(node.chunk_size for node in nodes[:levels]),
            mode=nodes[0].mode,
            min_sentence_tokens=_least_tokens(nodes[0]),
            metadata="documents",
        )

    def add(self, trained: Path, *, once: str, origin: "Origin | None" = None) -> None:
        """Add what a finished call learned, once and for all; `origin` is how the documents it noted are called."""
        from headway.learners.patterns.learner import FOLDER
        from headway.learners.patterns.manifest import MIXED
        from headway.learners.patterns.memory import open_memory
        from headway.learners.patterns.union import found, merge_into

        home = self.folder / FOLDER
        other = open_memory(trained)
        if not self.has_memory:
            widths = tuple(node.chunk_size for node in self.nodes.values())
            identity = replace(other.manifest.identity, widths=widths, split=MIXED)
            found(home, identity, other.vocabulary)
        merge_into(home, other.folder, once=once, origin=origin)
        self.close()

    def close(self) -> None:
        """Let go of the memory's files; asking for it opens them again."""
        if self._memory is not None:
            self._memory.close()
        self._memory = None

    def __repr__(self) -> str:
        chunks = ", ".join(str(node.chunk_size) for node in self.nodes.values())
        return f"HierarchicalConceptLearner({self.tokenizer_name}, chunk sizes {chunks})"

    def _check(self, names: list[str], folder: Path | str | None) -> None:
        wanted = [f"node{i}" for i in range(len(names))]
        problems: list[str] = []
        if len(names) < 2:
            problems.append(f"nodes: a hierarchy has 2 nodes or more, not {len(names)}")
        elif names != wanted:
            problems.append(f"nodes: should be called {', '.join(wanted)} in this order, not {', '.join(names)}")
        if not at_least(1, self.node0_batch_size):
            problems.append(f"node0_batch_size: should be 1 or more, not {self.node0_batch_size!r}")
        problems += _absences(self.tokenizer_name, folder)
        if problems:
            raise PlanError("HierarchicalConceptLearner", problems)

    def _check_memory(self, nodes: Sequence[HierarchicalNode]) -> None:
        """Refuse other nodes than those that filled the folder, before they are trained in vain."""
        if not self.has_memory:
            return
        known = self.memory.manifest.identity
        sentences = nodes[0].mode == "sentences"
        mine = {
            "chunk sizes": (known.widths, tuple(node.chunk_size for node in nodes)),
            "mode": (known.mode, nodes[0].mode),
            "min_sentence_tokens": (known.min_sentence_tokens, _least_tokens(nodes[0]) if sentences else None),
            "tokenizer": (known.tokenizer, Path(self.tokenizer_name).name),
        }
        if differing := [f"{name} {had!r}, not {has!r}" for name, (had, has) in mine.items() if had != has]:
            raise RunError(f"{self.folder} holds the memory of nodes with {'; '.join(differing)}; name another folder")


def _least_tokens(node: HierarchicalNode) -> int:
    """A pattern has two symbols at least, however short a sentence may be."""
    return max(2, node.min_sentence_tokens)


def _absences(tokenizer: str, folder: Path | str | None) -> list[str]:
    """What a training would stumble over: a tokenizer that is not there, a folder that cannot be one."""
    from headway.data.build import absences
    from headway.data.config import DataSection

    section = DataSection(sources=(), tokenizer=tokenizer)
    found = [problem.replace("tokenizer:", "tokenizer_name:", 1) for problem in absences(section, folder=Path.cwd())]
    if folder is not None and Path(folder).exists() and not Path(folder).is_dir():
        found.append(f"folder: {folder} is a file; name a folder")
    return found


def _temporary(owner: object) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="headway-learner-"))
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


def say(text: str) -> None:
    """Show a line where progress is shown."""
    from headway.run.listeners import Lines, tell

    tell((Lines(sys.stdout),), "note", {"text": text})
