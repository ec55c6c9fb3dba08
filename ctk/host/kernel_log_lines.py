"""Gathers the relevant lines of a kernel log into counts of bounded size; it reads no log."""

from ctk.facts import Unknown
from ctk.facts.kernel_log import EventRate, KernelLog, LinkEvents, LogEvent, LogLine
from ctk.facts.pci import normalize_address
from ctk.formats.xid import XidLine, parse_xid

MOST_LINES = 400
MOST_EVENTS = 1000
MOST_PROCESSES = 8
MOST_TEXT = 500
MINUTE = 60.0

Key = tuple[bool, str, int, str]


class KernelLines:
    """Lines go in, in the order of the log; `finish` gives what is kept of them. Ten million lines stay small."""

    def __init__(self) -> None:
        self._events: dict[Key, LogEvent] = {}
        self._lines: dict[str, LogLine] = {}
        self._minutes: dict[str, tuple[int, int]] = {}
        self._rates: dict[str, int] = {}
        self._first: float | None = None
        self._last: float | None = None
        self._suppressed = 0
        self._dropped = 0

    def pass_time(self, seconds: float | None) -> None:
        """A line of this time was seen, whether it is kept or not."""
        if seconds is not None:
            self._first = seconds if self._first is None else self._first
            self._last = seconds

    def add(self, text: bytes, seconds: float | None) -> None:
        """One relevant line."""
        words = text[:MOST_TEXT].decode("utf-8", "replace").strip()
        if "callbacks suppressed" in words:
            self._suppressed += 1
            return
        event = parse_xid(words)
        if event is not None:
            self._add_event(event, seconds)
        else:
            self._add_line(words, seconds)

    def _add_line(self, text: str, seconds: float | None) -> None:
        known = self._lines.get(text)
        if known is not None:
            self._lines[text] = known._replace(times=known.times + 1, last_seconds=seconds)
        elif len(self._lines) < MOST_LINES:
            self._lines[text] = LogLine(text, 1, seconds, seconds)
        else:
            self._dropped += 1

    def _add_event(self, event: XidLine, seconds: float | None) -> None:
        address = normalize_address(event.address)
        key = (event.is_switch, address, event.code, event.weight)
        known = self._events.get(key)
        if known is None and len(self._events) >= MOST_EVENTS:
            self._dropped += 1
            return
        if known is None:
            known = LogEvent(event.is_switch, address, event.code, event.weight, 0, seconds, seconds, "")
        self._events[key] = known._replace(
            times=known.times + 1,
            last_seconds=seconds,
            text=event.text,
            pid=event.pid if event.pid is not None else known.pid,
            processes=_with_name(known.processes, event.process),
            links=_with_link(known.links, event.link),
        )
        self._count_minute(address, seconds)

    def _count_minute(self, address: str, seconds: float | None) -> None:
        if seconds is None:
            return
        minute = int(seconds // MINUTE)
        known, count = self._minutes.get(address, (minute, 0))
        count = count + 1 if known == minute else 1
        self._minutes[address] = (minute, count)
        self._rates[address] = max(count, self._rates.get(address, 0))

    def finish(self, source: str, reaches_boot: bool | None, persistent_journal: bool | Unknown) -> KernelLog:
        """The facts."""
        return KernelLog(
            source=source,
            reaches_boot=reaches_boot,
            first_seconds=self._first,
            last_seconds=self._last,
            events=tuple(self._events.values()),
            lines=tuple(self._lines.values()),
            rates=tuple(EventRate(address, count) for address, count in self._rates.items()),
            suppressed=self._suppressed,
            dropped=self._dropped,
            persistent_journal=persistent_journal,
        )


def _with_name(names: tuple[str, ...], name: str | None) -> tuple[str, ...]:
    if name is None or name in names or len(names) >= MOST_PROCESSES:
        return names
    return (*names, name)


def _with_link(links: tuple[LinkEvents, ...], link: int | None) -> tuple[LinkEvents, ...]:
    if link is None:
        return links
    times = {known.link: known.times for known in links}
    times[link] = times.get(link, 0) + 1
    return tuple(LinkEvents(*pair) for pair in sorted(times.items()))
