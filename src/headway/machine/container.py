"""Whether this process runs in a container, and which kind."""

import os
from collections.abc import Mapping
from pathlib import Path

NO_CONTAINER = "nothing that containers leave behind is here"


def container(root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> str | None:
    """The kind of container; None when none is to be seen."""
    known = os.environ if environment is None else environment
    if "KUBERNETES_SERVICE_HOST" in known:
        return "kubernetes"
    for mark, kind in ((root / "run" / ".containerenv", "podman"), (root / ".dockerenv", "docker")):
        if mark.exists():
            return kind
    try:
        return (root / "run" / "systemd" / "container").read_text().strip() or None
    except OSError:
        return known.get("container") or None
