"""Grave Xids in the kernel's logs of earlier boots: the journal's, else syslog's files; it judges none of them."""

import json
from collections.abc import Iterable, Iterator

from ctk.facts import Unknown
from ctk.facts.kernel_log import EarlierFault
from ctk.facts.pci import normalize_address
from ctk.formats.xid import GRAVE_CODES, parse_xid
from ctk.host import Host
from ctk.host.kernel_log import BOOT_MARK, DMESG, JOURNAL_FOLDER, SYSLOG, lines_with_needles
from ctk.host.reading import ABSENT, unknown_from

FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
DAYS, MOST_LINES = 30, 5000
"""How far back; ctk's own numbers."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"
Fault = tuple[str, int]


def collect_earlier(host: Host) -> tuple[EarlierFault, ...] | Unknown:
    """For each GPU and code the number of earlier boots that had it; Unknown when no such log is kept."""
    found = _from_journal(host) if host.is_live else None
    return found if found is not None else _from_files(host)


def _from_journal(host: Host) -> tuple[EarlierFault, ...] | None | Unknown:
    """None: there is no journal of earlier boots."""
    try:
        if not host.is_directory(JOURNAL_FOLDER):
            return None
        current = host.read_text(BOOT_ID).strip().replace("-", "")
    except OSError as error:
        return unknown_from(error)
    answer = host.run(
        (
            *("journalctl", "-q", "--no-pager", "-o", "json", "--output-fields=_BOOT_ID,MESSAGE"),
            *("-g", "NVRM: Xid", f"--since=-{DAYS}d", "-n", str(MOST_LINES), "_TRANSPORT=kernel"),
        )
    )
    if answer.returncode not in (0, 1):  # 1: no line matches
        return None if answer.reason == "no such program" else Unknown(answer.reason or "journalctl failed")
    return count_boots(parse_journal_json(answer.stdout, current))


def parse_journal_json(text: str, current: str) -> Iterator[tuple[str, str]]:
    """Boot and message of each line; current: the boot that is left out, without dashes."""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            boot, message = entry["_BOOT_ID"], entry["MESSAGE"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(boot, str) and isinstance(message, str) and boot != current:
            yield boot, message


def _from_files(host: Host) -> tuple[EarlierFault, ...] | Unknown:
    """The last boot that a file tells of is this one; the rotated file goes before it."""
    reason: Unknown | None = None
    for path in FILES:
        try:
            lines = [*_read(host, f"{path}.1"), *lines_with_needles(host, path)]
        except ABSENT:
            continue
        except OSError as error:
            reason = unknown_from(error)
            continue
        boots = split_boots(lines)[:-1]
        if boots:
            return count_boots((str(number), text) for number, texts in enumerate(boots) for text in texts)
    return reason or Unknown("no log of earlier boots is kept")


def _read(host: Host, path: str) -> list[bytes]:
    try:
        return list(lines_with_needles(host, path))
    except ABSENT:
        return []


def split_boots(lines: Iterable[bytes]) -> list[list[str]]:
    """The kernel's own texts, one list for each boot; the first list holds what stands before the first beginning."""
    boots: list[list[str]] = [[]]
    for line in lines:
        found = SYSLOG.match(line) or DMESG.match(line)
        if found is None:
            continue
        if found["text"].startswith(BOOT_MARK):
            boots.append([])
        boots[-1].append(found["text"].decode("utf-8", "replace"))
    return boots if boots[0] else boots[1:]


def count_boots(lines: Iterable[tuple[str, str]]) -> tuple[EarlierFault, ...]:
    """Boot and text of each line."""
    seen: dict[Fault, set[str]] = {}
    for boot, text in lines:
        event = parse_xid(text)
        if event is not None and not event.is_switch and event.code in GRAVE_CODES:
            seen.setdefault((normalize_address(event.address), event.code), set()).add(boot)
    return tuple(EarlierFault(address, code, len(boots)) for (address, code), boots in sorted(seen.items()))
