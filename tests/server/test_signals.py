"""The first signal ends the server in order, a second SIGINT at once, and a hangup not at all."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from disque.server.logs import Log
from disque.server.signals import StopSignals, exit_on_signals
from tests.server.inside import Lines
from tests.server.program import run_python

ENDING = (signal.SIGTERM, signal.SIGINT)
IGNORED = (signal.SIGHUP, signal.SIGPIPE)


class Stops:
    """Counts how often the server was told to stop."""

    def __init__(self) -> None:
        self.count = 0
        self.lines = Lines()

    def stop(self) -> None:
        """Be told."""
        self.count += 1


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """Give the signals back to the test runner."""
    handlers = {number: signal.getsignal(number) for number in ENDING + IGNORED}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def stops() -> Stops:
    told = Stops()
    exit_on_signals()
    StopSignals(Log([told.lines]), told.stop).install()
    return told


@pytest.mark.parametrize("number", ENDING)
def test_while_there_is_nothing_to_shut_down_the_process_just_ends(number: signal.Signals) -> None:
    exit_on_signals()

    with pytest.raises(SystemExit) as caught:
        signal.raise_signal(number)

    assert caught.value.code == 0


@pytest.mark.parametrize("number", IGNORED)
def test_hangups_and_broken_pipes_are_ignored_at_all_times(
    stops: Stops, number: signal.Signals
) -> None:
    signal.raise_signal(number)

    assert stops.count == 0
    assert stops.lines.messages == []


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_stops_the_server(stops: Stops, number: signal.Signals) -> None:
    signal.raise_signal(number)

    assert stops.count == 1
    assert stops.lines.messages == [f"Received {number.name} scheduling shutdown..."]


@pytest.mark.parametrize(
    ("numbers", "count"),
    [
        # Those that follow the first SIGTERM are ignored: they could come faster than we are.
        ((signal.SIGTERM,) * 3, 1),
        ((signal.SIGTERM, signal.SIGINT), 2),
        ((signal.SIGINT, signal.SIGTERM), 2),
    ],
)
def test_only_a_second_interrupt_is_impatient(
    stops: Stops, numbers: tuple[signal.Signals, ...], count: int
) -> None:
    for number in numbers:
        signal.raise_signal(number)

    assert stops.count == count


INTERRUPTED_TWICE = """
import atexit, signal
from disque.server.logs import Log, StreamSink
from disque.server.signals import StopSignals

atexit.register(print, "cleaned up")
StopSignals(Log([StreamSink()]), lambda: None).install()
signal.raise_signal(signal.SIGTERM)
signal.raise_signal(signal.SIGINT)
signal.raise_signal(signal.SIGINT)
print("still there")
"""


@pytest.mark.process
def test_a_second_interrupt_ends_the_process_at_once() -> None:
    done = run_python(INTERRUPTED_TWICE)

    said = done.stdout.splitlines()
    assert done.returncode == 1
    assert len(said) == 3
    assert said[-1].endswith("# Received a second SIGINT: exiting at once, nothing is cleaned up")


BETWEEN_TWO_LIVES = """
import signal, sys
from disque.server.signals import exit_at_once_on_signals

exit_at_once_on_signals()
try:
    signal.raise_signal(int(sys.argv[1]))
finally:
    print("still there")
"""


@pytest.mark.process
@pytest.mark.parametrize("number", ENDING)
def test_between_two_lives_of_the_server_nobody_can_catch_the_end(number: signal.Signals) -> None:
    done = run_python(BETWEEN_TWO_LIVES, str(int(number)))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
