"""How long a message takes through this machine's own network, there and back: the least any local service adds."""

import socket
from collections.abc import Callable
from statistics import median
from threading import Thread
from time import perf_counter

_TRIPS = 20
_PATIENCE_SECONDS = 1.0


def loopback_seconds(*, timer: Callable[[], float] = perf_counter) -> float | None:
    """The median of some round trips; None where there is no such network, or it does not answer."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(_PATIENCE_SECONDS)
            echo = Thread(target=_echo, args=(server,), daemon=True)
            echo.start()
            with socket.create_connection(server.getsockname(), timeout=_PATIENCE_SECONDS) as wire:
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found = [_trip(wire, timer) for _ in range(_TRIPS)]
            echo.join(_PATIENCE_SECONDS)
    except OSError:
        return None
    return median(found)


def _trip(wire: socket.socket, timer: Callable[[], float]) -> float:
    began = timer()
    wire.sendall(b".")
    if not wire.recv(1):
        raise OSError("the other end is gone")
    return timer() - began


def _echo(server: socket.socket) -> None:
    try:
        wire, _ = server.accept()
        with wire:
            wire.settimeout(_PATIENCE_SECONDS)
            while message := wire.recv(1):
                wire.sendall(message)
    except OSError:
        # Whoever asked has given up.
        return
