"""Reads the kernel's log of this boot: the ring, else the journal, else the files of syslog; it judges no line.

Whatever its size, a log goes through in pieces: only lines with one of a few words are looked at.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ctk.facts import Unknown
from ctk.facts.kernel_log import KernelLog
from ctk.formats.xid import GRAVE_CODES
from ctk.host import Host
from ctk.host.kernel_log_lines import KernelLines
from ctk.host.reading import ABSENT, unknown_from

RING = "/dev/kmsg"
JOURNAL = "journal"
JOURNAL_FOLDER = "/var/log/journal"
FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog", "/var/log/dmesg")
"""Debian and Ubuntu, the Red Hat family, and what some systems keep of dmesg."""
JOURNAL_LINES = 50_000
"""What the journal is asked for at most; older lines are left out, and the log then does not reach the boot."""
CHUNK_BYTES = 2 * 1024 * 1024
BOOT_MARK = b"Linux version "
"""The kernel's first line of a boot."""
NEEDLES = (
    b"NVRM: ",
    b"nvidia: ",
    b"nvidia-nvswitch",
    b"nvidia-uvm: ",
    b"nvidia_",
    b"nouveau 0000:",
    b" with error -",
    b" is rejected",
    b"Lockdown: ",
    b"PCIe Bus Error",
    b"callbacks suppressed",
    b"blocked for more than",
    b"Out of memory: ",
    b" soft lockup - ",
    b"Hardware Error]",
    b"Remounting filesystem read-only",
    b"Oops: ",
)
"""Long words are found fastest; those of a check must be here."""
SEARCHED = (BOOT_MARK, b"nvidia", *(needle for needle in NEEDLES if b"nvidia" not in needle))
"""What a large file is searched for: each word costs a pass over it, so those with a common part share one."""
# 2024-05-01T08:00:00.123456+00:00 node kernel: [   12.345678] text, or May  1 08:00:00 node kernel: text
SYSLOG = re.compile(rb"^(?P<time>\S+(?: +\d+ \S+)?) \S+ kernel: (?:\[ *(?P<seconds>\d+\.\d+)\] ?)?(?P<text>.*)")
DMESG = re.compile(rb"^(?:<\d+>)?\[ *(?P<seconds>\d+\.\d+)\] ?(?P<text>.*)")
# 1714550400.123456 node kernel: text
JOURNAL_LINE = re.compile(rb"^(?P<epoch>\d+\.\d+) \S+ kernel: (?P<text>.*)")


def collect_kernel_log(host: Host) -> KernelLog | None | Unknown:
    """The first of the sources that reaches back to the boot, else the one that goes back farthest; None: no log."""
    log = _collect_this_boot(host)
    if not isinstance(log, KernelLog) or not log.events_of(*GRAVE_CODES):
        return log
    from ctk.host.earlier_boots import collect_earlier

    return replace(log, earlier=collect_earlier(host))


def _collect_this_boot(host: Host) -> KernelLog | None | Unknown:
    reasons: list[Unknown] = []
    logs: list[KernelLog] = []
    for collector in (_collect_ring, _collect_journal, _collect_files):
        found = collector(host)
        if isinstance(found, KernelLog):
            if found.reaches_boot:
                return found
            logs.append(found)
        elif isinstance(found, Unknown):
            reasons.append(found)
    if logs:
        return min(logs, key=_beginning)
    return reasons[0] if reasons else None


def _beginning(log: KernelLog) -> float:
    return log.first_seconds if log.first_seconds is not None else float("inf")


def _collect_ring(host: Host) -> KernelLog | None | Unknown:
    if not host.is_live:
        return None
    try:
        return parse_ring(host.read_kernel_ring(), _has_journal(host))
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def parse_ring(records: Iterable[bytes], persistent_journal: bool | Unknown = False) -> KernelLog:
    """Records of /dev/kmsg: "priority,sequence,microseconds,flags;text" (Documentation/ABI/testing/dev-kmsg)."""
    lines = KernelLines()
    reaches: bool | None = None
    for record in records:
        head, _, rest = record.partition(b";")
        fields = head.split(b",")
        if len(fields) < 3 or not (fields[1].isdigit() and fields[2].isdigit()):
            continue
        if reaches is None:
            reaches = int(fields[1]) == 0
        text = rest.partition(b"\n")[0]
        seconds = int(fields[2]) / 1_000_000
        lines.pass_time(seconds)
        if _is_relevant(text):
            lines.add(text, seconds)
    return lines.finish(RING, reaches, persistent_journal)


def _is_relevant(text: bytes) -> bool:
    return any(needle in text for needle in NEEDLES)


def _has_journal(host: Host) -> bool | Unknown:
    try:
        return host.is_directory(JOURNAL_FOLDER)
    except OSError as error:
        return unknown_from(error)


def _collect_journal(host: Host) -> KernelLog | None | Unknown:
    """What journalctl prints, where it is this machine's; its files are binary and below another root not read."""
    if not host.is_live:
        return Unknown("the journal of another root is not read") if _has_journal(host) is True else None
    argv = ("journalctl", "-k", "-b", "-o", "short-unix", "--no-pager", "-n", str(JOURNAL_LINES))
    answer = host.run(argv)
    if answer.returncode != 0:
        return None if answer.reason == "no such program" else Unknown(answer.reason or "journalctl failed")
    log = parse_journal(answer.stdout, _boot_epoch(host), _has_journal(host))
    return log or Unknown("the journal shows this user no kernel messages")


def parse_journal(text: str, boot_epoch: float | None, persistent_journal: bool | Unknown) -> KernelLog | None:
    """journalctl's lines with the time as seconds since 1970; None when there is not one."""
    lines = KernelLines()
    count = 0
    reaches = False
    for line in text.encode("utf-8", "surrogateescape").splitlines():
        found = JOURNAL_LINE.match(line)
        if found is None:
            continue
        count += 1
        seconds = float(found["epoch"]) - boot_epoch if boot_epoch is not None else None
        reaches = reaches or BOOT_MARK in line
        lines.pass_time(seconds)
        if _is_relevant(found["text"]):
            lines.add(found["text"], seconds)
    return lines.finish(JOURNAL, reaches, persistent_journal) if count else None


def _boot_epoch(host: Host) -> float | None:
    """btime of /proc/stat, seconds since 1970."""
    try:
        found = re.search(r"^btime (\d+)$", host.read_text("/proc/stat"), re.MULTILINE)
    except OSError:
        return None
    return float(found[1]) if found else None


def _collect_files(host: Host) -> KernelLog | None | Unknown:
    first: KernelLog | None = None
    reasons: list[Unknown] = []
    for path in FILES:
        try:
            found = _collect_file(host, path)
        except ABSENT:
            continue
        except OSError as error:
            reasons.append(unknown_from(error))
            continue
        if found.reaches_boot:
            return found
        first = first or found
    return first or (reasons[0] if reasons else None)


def _collect_file(host: Host, path: str) -> KernelLog:
    """The part of the file since the last boot that it tells of; the earlier ones are another matter."""
    boot_epoch = _boot_epoch(host)
    lines = KernelLines()
    reaches = False
    for line in lines_with_needles(host, path):
        found = SYSLOG.match(line) or DMESG.match(line)
        if found is None:
            continue
        seconds = _seconds(found.groupdict(), boot_epoch)
        if found["text"].startswith(BOOT_MARK):
            lines, reaches = KernelLines(), True
            lines.pass_time(0.0)
            continue
        lines.pass_time(seconds)
        lines.add(found["text"], seconds)
    return lines.finish(path, reaches, _has_journal(host))


def _seconds(groups: dict[str, bytes | None], boot_epoch: float | None) -> float | None:
    """Since the boot: the kernel's own stamp, else from the time in front; a time without a year says nothing."""
    if (stamp := groups.get("seconds")) is not None:
        return float(stamp)
    time = (groups.get("time") or b"").decode("ascii", "replace")
    if boot_epoch is None or not time[:4].isdigit():
        return None
    from datetime import datetime

    try:
        return datetime.fromisoformat(time).timestamp() - boot_epoch
    except ValueError:
        return None


def lines_with_needles(host: Host, path: str) -> Iterator[bytes]:
    """The lines of a file that hold one of the words, in order; at most one piece of it is held in memory."""
    offset, rest = 0, b""
    while piece := host.read_part(path, offset, CHUNK_BYTES):
        offset += len(piece)
        piece = rest + piece
        end = piece.rfind(b"\n") + 1
        yield from _hits(piece[:end])
        rest = piece[end:] if len(piece) - end < CHUNK_BYTES else b""  # no line is that long
    yield from _hits(rest)


def _hits(piece: bytes) -> Iterator[bytes]:
    starts = set()
    for needle in SEARCHED:
        place = piece.find(needle)
        while place >= 0:
            starts.add(piece.rfind(b"\n", 0, place) + 1)
            end = piece.find(b"\n", place)
            place = piece.find(needle, end) if end >= 0 else -1
    for start in sorted(starts):
        end = piece.find(b"\n", start)
        line = piece[start : end if end >= 0 else None]
        if BOOT_MARK in line or _is_relevant(line):
            yield line
