"""Every probe measures here, once and without a timed assertion, or says why it cannot."""

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from made_machine import Clock

from headway.errors import RunError
from headway.machine import storage
from headway.machine.probe import Group, Lack, Probe, Site
from headway.machine.probes import disk as disk_probes
from headway.machine.probes import fio as fio_probes
from headway.machine.probes.compute import compute
from headway.machine.probes.disk import disk, reading
from headway.machine.probes.fio import fio
from headway.machine.probes.memory import memory
from headway.machine.probes.network import loopback, service
from headway.machine.probes.process import process
from headway.run.bench import of_learners, probes


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(tmp_path, 2, 8 << 30, Clock(), stack)


def measured(group: Group, site: Site) -> dict[str, float | str]:
    """What each probe of a group measures, or why it cannot."""
    return {offer.name: offer.why if isinstance(offer, Lack) else offer.measure() for offer in group(site)}


@pytest.mark.parametrize("group", [disk, memory, compute, process, loopback])
def test_a_probe_measures_something(group: Group, site: Site) -> None:
    found = measured(group, site)

    assert found
    assert all(isinstance(value, str) or value > 0 for value in found.values())


def test_a_disk_is_written_for_a_bounded_time(site: Site) -> None:
    measured(disk, site)

    # The clock moves a second a look, so the least is written.
    assert (site.folder / "material").stat().st_size == 4 << 20


def test_reads_of_a_file_system_in_memory_are_absent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = [storage.Mount("tmpfs", "/", "tmpfs")]
    monkeypatch.setattr(storage, "_mounts", lambda: mounts)
    found = measured(disk, site)

    assert found["disk.read"] == found["disk.random_read"] == "this file system is memory; nothing is read from a disk"
    assert isinstance(found["disk.write"], float)


def test_where_direct_reads_are_refused_the_file_is_evicted_first(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_probes, "_works", lambda path, way: False)
    found = {offer.name: offer for offer in disk(site)}
    read = found["disk.read"]

    assert isinstance(read, Probe) and "evicted from the page cache" in read.how
    assert read.measure() > 0


def test_where_there_is_no_way_past_the_page_cache_reads_are_absent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_probes, "reading", lambda path: None)

    assert "page cache" in str(measured(disk, site)["disk.read"])


def test_a_file_that_is_gone_has_no_direct_way(tmp_path: Path) -> None:
    way = reading(tmp_path / "absent")

    assert way is None or way.how != "O_DIRECT"


def test_little_memory_is_not_copied(site: Site) -> None:
    small = Site(site.folder, 2, 1 << 20, site.clock, site.stack)

    assert set(measured(memory, small).values()) == {"less than 1 GiB of memory is free"}


def test_without_fio_its_figure_is_absent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio_probes.shutil, "which", lambda name: None)

    assert measured(fio, site) == {"disk.random_read_32": "fio is not installed"}


def test_fio_says_how_many_reads_it_made(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.dumps({"jobs": [{"read": {"iops": 1234.5}}]})
    monkeypatch.setattr(fio_probes.shutil, "which", lambda name: "/usr/bin/fio")
    monkeypatch.setattr(
        fio_probes.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, told, "")
    )

    assert measured(fio, site) == {"disk.random_read_32": 1234.5}


@pytest.mark.parametrize(("said", "why"), [("engine psync not loadable", "not loadable"), ("", "it said nothing")])
def test_a_fio_that_fails_says_so(site: Site, monkeypatch: pytest.MonkeyPatch, said: str, why: str) -> None:
    monkeypatch.setattr(fio_probes.shutil, "which", lambda name: "/usr/bin/fio")
    monkeypatch.setattr(
        fio_probes.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", said)
    )

    with pytest.raises(RunError, match=why):
        measured(fio, site)


def test_a_service_is_asked_and_one_that_refuses_has_no_latency(site: Site) -> None:
    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Health)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/health"
    answered = measured(service(url), site)["network.service"]
    server.shutdown()
    thread.join()
    server.server_close()

    assert isinstance(answered, float) and answered > 0
    assert measured(service(None), site) == {"network.service": "no service was named"}
    with pytest.raises(OSError, match="refused"):
        measured(service(url), site)


def test_no_socket_no_latency(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no such address")

    monkeypatch.setattr("headway.machine.probes.network.socket.create_server", refuse)

    assert "no such address" in str(measured(loopback, site)["network.loopback"])


def test_what_learners_measure_becomes_probes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.learners.patterns.ceilings._TOKENS", 5000)
    found = measured(of_learners, site)

    assert {"patterns.learn", "store.write", "store.commit", "store.read", "store.bytes"} <= set(found)
    assert all(found[name] for name in found)
    assert of_learners in probes()
