"""Signals wait while files are neither old nor new, and take their usual effect afterwards."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from ctk.change.entry import Entry
from ctk.change.journal import Draft, Journal
from ctk.change.signals import deferred_signals
from tests.unit.change.scene import OLD, Scene, answer_none, look


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class SignallingJournal(Journal):
    """Sends this process a signal as soon as the entry is written."""

    def prepare(self, draft: Draft) -> Entry:
        entry = super().prepare(draft)
        os.kill(os.getpid(), signal.SIGINT)
        return entry


class SignallingScene(Scene):
    @property
    def journal(self) -> Journal:
        return SignallingJournal(str(self.state))


def test_a_signal_before_the_first_change_stops_with_nothing_changed(scene: Scene) -> None:
    scene = SignallingScene(scene.folder)
    before = look(scene.file)
    with pytest.raises(KeyboardInterrupt):
        scene.apply()
    assert look(scene.file) == before
    assert scene.states() == []
    assert scene.leftovers() == []


def test_a_failure_during_a_deferred_signal_still_restores_and_then_interrupts(scene: Scene) -> None:
    def interrupt(argv: tuple[str, ...], timeout: float) -> object:
        if scene.file.read_bytes() != OLD:
            os.kill(os.getpid(), signal.SIGINT)
        return answer_none(argv, timeout)

    scene.runner = interrupt  # type: ignore[assignment] # the same arguments and result
    with pytest.raises(KeyboardInterrupt):
        scene.apply(scene.plan(query=scene.wrong()))
    assert scene.file.read_bytes() == OLD
    assert scene.states() == ["undone"]


def test_the_handlers_are_those_from_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with deferred_signals() as signals:
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signals.received == []


def test_a_handler_of_the_caller_is_called_once_afterwards() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))

    def critical() -> None:
        with deferred_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            assert seen == []

    with pytest.raises(KeyboardInterrupt):
        critical()
    assert seen == [signal.SIGTERM]


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with deferred_signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
    assert signals.received == []


def test_outside_the_main_thread_nothing_is_held_back_and_nothing_fails(scene: Scene) -> None:
    worker = threading.Thread(target=scene.apply)
    worker.start()
    worker.join()
    assert scene.states() == ["finished"]
