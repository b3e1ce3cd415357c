"""What Python cannot do quickly enough: many reads at once, by fio where it is installed."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from headway.errors import RunError
from headway.machine.probe import Lack, Probe, Site

NAME, _UNIT = "disk.random_read_32", "reads/s"
_SIZE = "64m"
_TIMEOUT = 60.0


def fio(site: Site) -> Iterator[Probe | Lack]:
    """The probe of 32 reads at once."""
    program = shutil.which("fio")
    if program is None:
        yield Lack(NAME, _UNIT, "fio is not installed")
        return
    how = "4 KiB, 32 at once, O_DIRECT, by fio"
    yield Probe(NAME, _UNIT, "more", 0.3, lambda: _reads(program, site.folder), how)


def _reads(program: str, folder: Path) -> float:
    command = [
        *(program, "--name=headway", f"--directory={folder}", f"--size={_SIZE}", "--rw=randread", "--bs=4k"),
        *("--direct=1", "--ioengine=psync", "--thread", "--numjobs=32", "--filename=fio", "--group_reporting"),
        *("--time_based", "--runtime=300ms", "--output-format=json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT)
    try:
        return float(json.loads(done.stdout)["jobs"][0]["read"]["iops"])
    except (ValueError, LookupError) as cause:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RunError(f"fio did not measure ({said[-1] if said else 'it said nothing'}); run it by hand") from cause
