"""What an optional package is needed for, said before it is missed."""

from __future__ import annotations

from importlib.util import find_spec

from headway.errors import RunError


def needs_torch(what: str) -> None:
    """A RunError that says how to install PyTorch, where it is not."""
    if find_spec("torch") is None:
        raise RunError(f"{what} needs PyTorch; install it with: pip install 'headway[torch]'")
