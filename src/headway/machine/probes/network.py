"""The network: a round trip within this machine, and one to a service."""

import os
import socket
import threading
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress

from headway.errors import RunError
from headway.machine.probe import Group, Lack, Probe, Site

_TRIPS = 200
_CALLS = 10
_TIMEOUT = 5.0
# Of a thread, on Linux.
_PINS = hasattr(os, "sched_setaffinity")
LOOPBACK, SERVICE = "network.loopback", "network.service"


def loopback(site: Site) -> Iterator[Probe | Lack]:
    """The probe of a round trip over a socket of this machine."""
    try:
        connection = _echoing(site)
    except OSError as cause:
        yield Lack(LOOPBACK, "ms", f"no socket can be opened on 127.0.0.1 ({cause})")
        return

    def measure() -> float:
        with _on_one_core():
            return 1000 * site.paced(lambda: _trips(connection)) / _TRIPS

    how = "one byte over TCP and back" + (", both ends on one core" if _PINS else "")
    yield Probe(LOOPBACK, "ms", "less", 0.3, measure, how, takes_turns=True)


def service(url: str | None) -> Group:
    """The probe of a service's answers, at the address that tells whether it is well."""

    def group(site: Site) -> Iterator[Probe | Lack]:
        if url is None:
            yield Lack(SERVICE, "ms", "no service was named")
            return
        yield Probe(SERVICE, "ms", "less", 0.3, _calling(site, url), f"GET {url}, mean of {_CALLS}")

    return group


def _echoing(site: Site) -> socket.socket:
    """A connection to a thread that sends back what it gets."""
    server = socket.create_server(("127.0.0.1", 0))
    site.stack.callback(server.close)
    connection = socket.create_connection(server.getsockname(), timeout=_TIMEOUT)
    other, _ = server.accept()
    for each in (connection, other):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    echo = threading.Thread(target=_echo, args=(other,), name="headway-bench-echo", daemon=True)
    echo.start()
    site.stack.callback(echo.join, _TIMEOUT)
    # Closed first: that ends the thread.
    site.stack.callback(connection.close)
    return connection


@contextmanager
def _on_one_core() -> Generator[None]:
    """This thread on the core of the echo: waking another one that sleeps takes several times the trip, or nothing."""
    if not _PINS:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _echo(other: socket.socket) -> None:
    if _PINS:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with other, suppress(OSError):
        while byte := other.recv(1):
            other.sendall(byte)


def _trips(connection: socket.socket) -> None:
    for _ in range(_TRIPS):
        connection.sendall(b"x")
        if not connection.recv(1):
            raise RunError("the echo on 127.0.0.1 ended early; run the bench again")


def _calling(site: Site, url: str) -> Callable[[], float]:
    return lambda: 1000 * site.timed(lambda: _calls(url)) / _CALLS


def _calls(url: str) -> None:
    for _ in range(_CALLS):
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
            answer.read()
