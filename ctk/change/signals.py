"""Holds back Ctrl-C and termination while files are neither old nor new, and honours them afterwards; no more."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal came while nothing has been changed yet; deferred_signals turns it into the usual effect."""


class Deferred:
    """The signals that have come so far."""

    def __init__(self) -> None:
        self.received: list[int] = []

    def stop_if_received(self) -> None:
        """Leave here, where that is safe. Raises Interrupted."""
        if self.received:
            raise Interrupted


@contextlib.contextmanager
def deferred_signals() -> Iterator[Deferred]:
    """Until the block ends, SIGINT, SIGTERM and SIGHUP are only noted; then the first one takes its usual effect.

    That effect is KeyboardInterrupt for SIGINT, the end of the process for the others, or what a handler of the caller
    does. Ignored signals stay ignored. Outside the main thread Python delivers no signals, and nothing is held back.
    """
    deferred = Deferred()
    previous = _install(deferred)
    try:
        with contextlib.suppress(Interrupted):
            yield deferred
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if deferred.received:
            _honour(deferred.received[0])


def _install(deferred: Deferred) -> dict[int, Any]:  # Any: the type of a handler in typeshed
    def note(number: int, _frame: FrameType | None) -> None:
        deferred.received.append(number)

    previous: dict[int, Any] = {}
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if before in (signal.SIG_IGN, None):
            continue
        try:
            signal.signal(number, note)
        except ValueError:
            break
        previous[number] = before
    return previous


def _honour(number: int) -> None:
    os.kill(os.getpid(), number)  # the usual handler is back: Python's own raises KeyboardInterrupt right here
    raise KeyboardInterrupt  # a caller's handler came back without ending anything; the run ends all the same
