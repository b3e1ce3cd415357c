import os
import signal
import threading
from collections.abc import Iterator

import pytest

from headway.run.stop import Stop, orderly


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """SIGHUP as it is without nohup, under which these tests may run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_only_asks(number: int) -> None:
    with Stop() as stop:
        before = stop.requested()
        os.kill(os.getpid(), number)
        asked, which = stop.requested(), stop.signal

    assert (before, asked, which) == (False, True, number)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_interrupt_insists(first: int) -> None:
    with pytest.raises(KeyboardInterrupt), Stop():
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_second_request_to_end_leaves_with_its_exit_code(number: int) -> None:
    with pytest.raises(SystemExit) as caught, Stop():
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert caught.value.code == 128 + number


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with orderly(), Stop() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        asked = stop.requested()

    assert (asked, signal.getsignal(signal.SIGHUP)) == (False, signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_outside_a_training_ends_as_an_exception_does(number: int) -> None:
    cleaned: list[bool] = []
    before = signal.getsignal(number)

    def work() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            cleaned.append(True)

    with pytest.raises(SystemExit) as caught, orderly():
        work()

    assert (caught.value.code, cleaned, signal.getsignal(number)) == (128 + number, [True], before)


def test_who_handled_a_signal_before_has_it_back_afterwards() -> None:
    before = signal.signal(signal.SIGTERM, theirs := lambda number, frame: None)
    try:
        with pytest.raises(SystemExit), orderly():
            os.kill(os.getpid(), signal.SIGTERM)
        after = signal.getsignal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert after is theirs


def test_the_handlers_of_before_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Stop():
        inside = signal.getsignal(signal.SIGINT)

    assert inside not in before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    found: list[object] = []

    def work() -> None:
        with Stop() as stop:
            stop.request()
            found.extend([signal.getsignal(signal.SIGINT), stop.requested()])

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert found == [before, True]
