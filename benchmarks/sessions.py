"""Commands of headway at work, watched from outside while something happens to them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread

import psutil

COMMAND = [sys.executable, "-m", "headway.cli.main"]
LONGEST_SESSION = 300.0


class Session:
    """One command at work; its events, and everything it started."""

    def __init__(self, arguments: list[str]) -> None:
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        )
        self.events: list[str] = []
        self.stages: set[str] = set()
        self.error = ""
        self._threads = [Thread(target=self._listen, daemon=True), Thread(target=self._keep, daemon=True)]
        for thread in self._threads:
            thread.start()

    @property
    def ended(self) -> bool:
        """Whether the command is over."""
        return self.process.poll() is not None

    def wait(self) -> int:
        """Its exit code, once it and its output have ended."""
        code = self.process.wait(LONGEST_SESSION)
        for thread in self._threads:
            thread.join(10)
        return code

    def processes(self) -> dict[str, list[psutil.Process]]:
        """What runs now, by role."""
        found: dict[str, list[psutil.Process]] = {"command": [], "fork server": [], "worker": [], "build worker": []}
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.process.pid)
            found["command"].append(root)
            for child in root.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    found[_role(child, root)].append(child)
        return {role: processes for role, processes in found.items() if processes}

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("}\n"):
                event = json.loads(line)
                self.events.append(event.get("event", "result"))
                self.stages.add(event.get("stage", ""))

    def _keep(self) -> None:
        assert self.process.stderr is not None
        self.error = self.process.stderr.read()


def _role(child: psutil.Process, command: psutil.Process) -> str:
    if "headway.data.worker" in " ".join(child.cmdline()):
        return "build worker"
    return "fork server" if child.ppid() == command.pid else "worker"
