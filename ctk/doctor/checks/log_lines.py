"""How a check reads the kernel's log: which device a line speaks of, and how it is quoted; no check is here."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ctk.doctor.model import Evidence
from ctk.facts import Unknown
from ctk.facts.pci import normalize_address

if TYPE_CHECKING:
    from ctk.facts.kernel_log import KernelLog, LogEvent, LogLine
    from ctk.facts.snapshot import Snapshot

ADDRESS = re.compile(r"(?i)\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?)")
NO_LOG = Unknown("no kernel log was found")


def find_log(snapshot: "Snapshot") -> "KernelLog | Unknown":
    """The log, or why there is none to be read."""
    return NO_LOG if snapshot.kernel_log is None else snapshot.kernel_log


def address_in(text: str) -> str:
    """The PCI address a line names, normalised; "" when it names none."""
    found = ADDRESS.search(text)
    return normalize_address(found.group(1)) if found else ""


def with_addresses(lines: Iterable["LogLine"]) -> Iterator[tuple[str, "LogLine"]]:
    """Each line with its device: the driver splits long messages, and only the first part names the GPU."""
    last = ""
    for line in lines:
        address = address_in(line.text)
        if address:
            last = address
        elif not line.text.startswith("NVRM:"):
            last = ""
        yield address or last, line


def quote(line: "LogLine", log: "KernelLog") -> Evidence:
    """A line as evidence, with how often and when it came."""
    when = "" if line.first_seconds is None else f" at {line.first_seconds:.0f} s"
    often = f" ({line.times} times)" if line.times > 1 else ""
    return Evidence(f"{line.text[:160]}{often}", f"kernel log, {log.source}{when}")


def quote_event(event: "LogEvent", log: "KernelLog") -> Evidence:
    """An Xid as evidence."""
    when = "" if event.last_seconds is None else f" at {event.last_seconds:.0f} s"
    often = f" ({event.times} times)" if event.times > 1 else ""
    return Evidence(f"Xid {event.code}: {event.text[:140]}{often}", f"kernel log, {log.source}{when}")


def none_seen(log: "KernelLog", what: str) -> str:
    """The sentence of a check that found nothing, with the window it saw."""
    return f"{what} since boot" if log.reaches_boot else f"{what} in the part of the kernel's log that is left"
