"""Which code a run was made with: versions alone do not tell one state of a checkout from another."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_digest(folder: Path = Path(__file__).parents[1]) -> str:
    """A digest of every module in a folder: of Headway's own, as they lie there now."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        # Where one file ends and the next begins is part of what is digested.
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
