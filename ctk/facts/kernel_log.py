"""What the kernel said of GPUs since it started: faults counted, other lines once each; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown


class LinkEvents(NamedTuple):
    """How often an event named this link."""

    link: int
    times: int


class LogEvent(NamedTuple):
    """One kind of Xid (a GPU's fault) or SXid (an NVSwitch's) of one device. Seconds are since the boot.

    text: the last line's own words; weight: "fatal" or "non-fatal" where the line says so. processes: names, first
    come first, a few; links: NVLinks, with how often each.
    """

    is_switch: bool
    address: str  # 0000:3b:00.0, normalised
    code: int
    weight: str
    times: int
    first_seconds: float | None
    last_seconds: float | None
    text: str
    pid: int | None = None
    processes: tuple[str, ...] = ()
    links: tuple[LinkEvents, ...] = ()


class LogLine(NamedTuple):
    """Another line that speaks of the driver or of what takes it down; times: how often these very words came."""

    text: str
    times: int
    first_seconds: float | None
    last_seconds: float | None


class EventRate(NamedTuple):
    """The most events of one device within one minute."""

    address: str
    per_minute: int


class EarlierFault(NamedTuple):
    """A grave Xid of one GPU in logs of earlier boots: in how many of them."""

    address: str
    code: int
    boots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLog:
    """One boot's log, as far as it was found. source: /dev/kmsg, journal, or a file's path.

    reaches_boot: it begins where the kernel began; None: it cannot be told. dropped: relevant lines that were counted
    and not kept, because there were too many kinds. earlier: None = not looked for, because this boot has no grave Xid.
    """

    source: str
    reaches_boot: bool | None
    first_seconds: float | None = None
    last_seconds: float | None = None
    events: tuple[LogEvent, ...] = ()
    lines: tuple[LogLine, ...] = ()
    rates: tuple[EventRate, ...] = ()
    suppressed: int = 0  # lines that say that the kernel left others out
    dropped: int = 0
    persistent_journal: bool | Unknown = False
    earlier: tuple[EarlierFault, ...] | None | Unknown = None

    def matching(self, *words: str) -> tuple[LogLine, ...]:
        """The lines that hold all the words."""
        return tuple(line for line in self.lines if all(word in line.text for word in words))

    def earlier_boots(self, address: str, code: int) -> int:
        """In how many earlier boots the GPU had this Xid, as far as it is known."""
        found = self.earlier if isinstance(self.earlier, tuple) else ()
        return next((fault.boots for fault in found if (fault.address, fault.code) == (address, code)), 0)

    def events_of(self, *codes: int, switches: bool = False) -> tuple[LogEvent, ...]:
        """The events with one of the codes."""
        return tuple(event for event in self.events if event.is_switch is switches and event.code in codes)
