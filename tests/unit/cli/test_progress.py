"""What takes long is told on a terminal, and nowhere else; nothing of it stays on the screen."""

import io
import threading
from pathlib import Path

import pytest

from ctk.cli.progress import ERASE, OTHERWISE, WORDS, Progress, progress_stream
from ctk.facts.snapshot import Snapshot
from tests.fake_host import build_host


class Terminal(io.StringIO):
    """Says that it is one, and when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


class GoneTerminal(Terminal):
    def write(self, text: str) -> int:
        self.written.set()
        raise BrokenPipeError


def test_what_takes_long_is_told_and_erased() -> None:
    terminal = Terminal()
    with Progress(terminal, delay_seconds=0) as progress:
        progress.tell("nvml")
        assert terminal.written.wait(10)
    text = terminal.getvalue()
    assert text.startswith(ERASE)
    assert text.endswith(ERASE)
    assert " (0 s)" in text


def test_what_is_done_in_time_leaves_no_trace() -> None:
    terminal = Terminal()
    with Progress(terminal, delay_seconds=600) as progress:
        progress.tell("kernel_log")
    assert terminal.getvalue() == ""


def test_it_ends_when_the_work_raises() -> None:
    terminal = Terminal()
    with pytest.raises(RuntimeError, match="as it does"), Progress(terminal, delay_seconds=600):
        raise RuntimeError("as it does")
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_a_terminal_that_is_gone_is_no_error() -> None:
    terminal = GoneTerminal()
    with Progress(terminal, delay_seconds=0):
        assert terminal.written.wait(10)
    assert terminal.getvalue() == ""


def test_words_are_those_of_the_part() -> None:
    progress = Progress(None)
    progress.tell("nvml")
    assert progress._words == WORDS["nvml"]
    progress.tell("pci")
    assert progress._words == OTHERWISE


def test_words_belong_to_parts_that_exist() -> None:
    assert set(WORDS) <= set(Snapshot.__dataclass_fields__)


@pytest.mark.parametrize(
    ("term", "quiet", "is_shown"),
    [("xterm", False, True), ("xterm", True, False), ("dumb", False, False), ("", False, False)],
)
def test_only_a_terminal_that_can_erase_a_line(
    monkeypatch: pytest.MonkeyPatch, term: str, quiet: bool, is_shown: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    terminal = Terminal()
    assert progress_stream(terminal, quiet=quiet) is (terminal if is_shown else None)
    assert progress_stream(io.StringIO(), quiet=quiet) is None
    assert progress_stream(None, quiet=quiet) is None


def test_parts_are_told_before_they_are_collected(tmp_path: Path) -> None:
    from ctk.host.collect import collect

    host, _ = build_host("bare", tmp_path / "host")
    told: list[str] = []
    collect(host, None, parts=frozenset({"pci", "kernel_log"}), tell=told.append)
    assert told == ["kernel_log", "pci"]
