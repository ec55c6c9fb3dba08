"""The log of this boot from every source there is, in pieces, and nothing of what other programs wrote."""

import errno
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.command import CommandOutput
from ctk.facts.kernel_log import KernelLog
from ctk.host import kernel_log
from ctk.host.kernel_log import collect_kernel_log, parse_journal, parse_ring
from ctk.host.kernel_log_lines import MOST_EVENTS, MOST_LINES, KernelLines
from ctk.host.local import LocalHost, _ring_records
from tests.unit.host.trees import plant

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, name=python, GPU has fallen off the bus."
BOOT = "Linux version 6.1.0-21-amd64 (gcc-12)"


def read(tmp_path: Path, files: dict[str, str]) -> KernelLog:
    found = collect_kernel_log(plant(tmp_path, files))
    assert isinstance(found, KernelLog)
    return found


def syslog(seconds: float, text: str, program: str = "kernel") -> str:
    stamp = f"[{seconds:12.6f}] " if program == "kernel" else ""
    return f"May  1 08:00:00 node {program}: {stamp}{text}\n"


def test_no_log_at_all_is_none(tmp_path: Path) -> None:
    assert collect_kernel_log(plant(tmp_path, {})) is None


def test_a_file_of_syslog(tmp_path: Path) -> None:
    text = syslog(0, BOOT) + syslog(3, "usb 1-1: new device") + syslog(60, XID) + syslog(70, XID) + syslog(99, "end")
    log = read(tmp_path, {"/var/log/kern.log": text})
    assert (log.source, log.reaches_boot) == ("/var/log/kern.log", True)
    (event,) = log.events
    assert (event.address, event.code, event.times, event.pid, event.processes) == (
        "0000:3b:00.0",
        79,
        2,
        1896,
        ("python",),
    )
    assert (event.first_seconds, event.last_seconds) == (60.0, 70.0)
    assert log.lines == ()


def test_only_the_last_boot_counts(tmp_path: Path) -> None:
    text = syslog(0, BOOT) + syslog(60, XID) + syslog(0, BOOT) + syslog(5, "nvidia: loading out-of-tree module")
    log = read(tmp_path, {"/var/log/kern.log": text})
    assert log.events == ()
    assert [line.text for line in log.lines] == ["nvidia: loading out-of-tree module"]


def test_a_file_that_does_not_reach_the_boot_says_so_and_a_better_one_is_taken(tmp_path: Path) -> None:
    tail = syslog(900, XID)
    assert read(tmp_path / "a", {"/var/log/kern.log": tail}).reaches_boot is False
    dmesg = f"[    0.000000] {BOOT}\n[   10.500000] {XID}\n"
    log = read(tmp_path / "b", {"/var/log/kern.log": tail, "/var/log/dmesg": dmesg})
    assert (log.source, log.reaches_boot, log.events[0].first_seconds) == ("/var/log/dmesg", True, 10.5)


def test_what_other_programs_wrote_is_no_kernel_message(tmp_path: Path) -> None:
    text = syslog(0, BOOT) + syslog(5, f"saw {XID}", "gpu-watcher[77]")
    assert read(tmp_path, {"/var/log/messages": text}).events == ()


def test_times_with_a_year_become_seconds_since_the_boot(tmp_path: Path) -> None:
    line = f"2024-05-01T08:01:40.500000+00:00 node kernel: {XID}\n"
    log = read(tmp_path, {"/var/log/kern.log": line, "/proc/stat": "cpu 1\nbtime 1714550400\n"})
    assert log.events[0].first_seconds == 100.5
    log = read(tmp_path / "x", {"/var/log/kern.log": line})
    assert log.events[0].first_seconds is None


def test_lines_across_the_borders_of_pieces_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = syslog(0, BOOT) + "".join(syslog(number, f"{XID} {number}") for number in range(50))
    whole = read(tmp_path / "a", {"/var/log/kern.log": text})
    for size in (150, 151, 152, 997):
        monkeypatch.setattr(kernel_log, "CHUNK_BYTES", size)
        assert read(tmp_path / str(size), {"/var/log/kern.log": text.rstrip("\n")}) == whole


def test_other_lines_come_once_with_their_number(tmp_path: Path) -> None:
    line = "nvidia: module verification failed: signature and/or required key missing - tainting kernel"
    log = read(tmp_path, {"/var/log/dmesg": f"[    1.000000] {line}\n[    9.000000] {line}\n"})
    (found,) = log.lines
    assert (found.text, found.times, found.first_seconds, found.last_seconds) == (line, 2, 1.0, 9.0)
    assert log.matching("nvidia: ", "verification failed") == (found,)
    assert log.matching("nvidia: ", "something else") == ()


def test_unreadable_file_is_unknown(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/var/log/kern.log": "x"})
    host.read_part = _denied  # type: ignore[method-assign] # root passes every mode
    assert collect_kernel_log(host) == Unknown("permission denied")


def _denied(path: str, offset: int, count: int) -> bytes:
    del offset, count
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def test_a_journal_of_another_root_is_unknown_not_absent(tmp_path: Path) -> None:
    (tmp_path / "var/log/journal").mkdir(parents=True)
    assert collect_kernel_log(plant(tmp_path, {})) == Unknown("the journal of another root is not read")


def test_ring_records() -> None:
    records = [
        b"5,0,0,-;Linux version 6.1\n",
        f"4,7,60000000,-;{XID}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n".encode(),
        b"4,8,61000000,c;no record",
        b"garbage\n",
        b"6,9,62000000,-;nvidia-nvswitch0: 1 callbacks suppressed\n",
    ]
    log = parse_ring(records)
    assert (log.source, log.reaches_boot, log.first_seconds, log.last_seconds) == ("/dev/kmsg", True, 0.0, 62.0)
    assert [(event.code, event.first_seconds, event.text[:8]) for event in log.events] == [(79, 60.0, "pid=1896")]
    assert log.suppressed == 1
    assert parse_ring([b"5,41,1000000,-;later\n"]).reaches_boot is False
    assert parse_ring([]).reaches_boot is None


def test_journal_lines() -> None:
    text = f"1714550400.000000 node kernel: {BOOT}\n1714550460.250000 node kernel: {XID}\n-- No entries --\n"
    log = parse_journal(text, 1714550400.0, True)
    assert log is not None
    assert (log.source, log.reaches_boot, log.persistent_journal) == ("journal", True, True)
    assert log.events[0].first_seconds == 60.25
    assert parse_journal("-- No entries --\n", None, False) is None
    without_boot = parse_journal(text, None, False)
    assert without_boot is not None
    assert without_boot.events[0].first_seconds is None


class LiveHost(LocalHost):
    """This machine, with a ring and a journalctl of the test's own."""

    def __init__(self, ring: list[bytes] | OSError, journal: CommandOutput) -> None:
        super().__init__("/")
        self.ring, self.journal = ring, journal

    def read_kernel_ring(self) -> Iterator[bytes]:
        if isinstance(self.ring, OSError):
            raise self.ring
        return iter(self.ring)

    def run(self, argv: object, timeout_seconds: float | None = None) -> CommandOutput:
        del argv, timeout_seconds
        return self.journal

    def read_part(self, path: str, offset: int, count: int) -> bytes:
        del offset, count
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


NO_JOURNAL = CommandOutput(("journalctl",), None, "", "", "no such program")
JOURNAL = CommandOutput(("journalctl",), 0, f"1714550400.0 node kernel: {BOOT}\n", "")
WRAPPED = [b"5,41,1000000,-;later\n"]
DENIED = PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize(
    ("ring", "journal", "source"),
    [
        ([b"5,0,0,-;first\n"], JOURNAL, "/dev/kmsg"),
        (WRAPPED, JOURNAL, "journal"),
        (WRAPPED, NO_JOURNAL, "/dev/kmsg"),
        (DENIED, JOURNAL, "journal"),
        (FileNotFoundError(errno.ENOENT, ""), JOURNAL, "journal"),
        (DENIED, NO_JOURNAL, Unknown("permission denied")),
        (FileNotFoundError(errno.ENOENT, ""), NO_JOURNAL, None),
        (DENIED, CommandOutput(("journalctl",), 0, "", "No journal files were opened"), Unknown("permission denied")),
    ],
)
def test_the_source_that_goes_back_to_the_boot_is_taken(
    ring: list[bytes] | OSError, journal: CommandOutput, source: str | None | Unknown
) -> None:
    log = collect_kernel_log(LiveHost(ring, journal))
    assert (log.source if isinstance(log, KernelLog) else log) == source


def test_what_is_kept_is_bounded() -> None:
    lines = KernelLines()
    for number in range(MOST_LINES + 10):
        lines.add(f"NVRM: line {number}".encode(), None)
    for bus, device in itertools.product(range(256), range(8)):
        lines.add(f"NVRM: Xid (PCI:0000:{bus:02x}:{device:02x}): 13, x".encode(), 1.0)
    log = lines.finish("x", True, False)
    assert (len(log.lines), len(log.events)) == (MOST_LINES, MOST_EVENTS)
    assert log.dropped == 10 + 2048 - MOST_EVENTS


def test_the_highest_rate_of_a_minute_is_kept_for_each_device() -> None:
    lines = KernelLines()
    for second in (1, 2, 3, 61, 62, 125):
        lines.add(XID.encode(), float(second))
    assert lines.finish("x", True, False).rates[0].per_minute == 3


def test_records_are_read_until_there_are_no_more_and_across_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that was overwritten while we read is EPIPE, the end is EAGAIN (Documentation/ABI/testing/dev-kmsg)."""
    answers: Iterator[bytes | OSError] = iter(
        [b"5,0,0,-;a\n", BrokenPipeError(errno.EPIPE, ""), b"5,9,0,-;b\n", BlockingIOError(errno.EAGAIN, "")]
    )

    def read(descriptor: int, count: int) -> bytes:
        del descriptor, count
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, "read", read)
    assert list(_ring_records(7)) == [b"5,0,0,-;a\n", b"5,9,0,-;b\n"]


def test_another_root_has_no_ring(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(LocalHost(str(tmp_path)).read_kernel_ring())
