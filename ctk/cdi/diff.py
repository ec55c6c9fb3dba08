"""What differs between two specs in what they do to a container; the order and the spelling of a file do not count."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ctk.facts.cdi_spec import CdiSpec, SpecDeviceNode, SpecEdits, SpecHook, SpecMount

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
COMMON = "every device"
HEAD = "the spec"


class SpecDifference(NamedTuple):
    """One thing. where: HEAD, COMMON or a device's name; what: env, device node …; before "" = was not there."""

    where: str
    what: str
    before: str
    after: str

    @property
    def change(self) -> str:
        """ADDED, REMOVED or CHANGED."""
        if not self.before:
            return ADDED
        return CHANGED if self.after else REMOVED


def diff_specs(before: CdiSpec, after: CdiSpec) -> tuple[SpecDifference, ...]:
    """Everything that the second does otherwise than the first, the head first, then the common edits, then devices."""
    return (*_heads(before, after), *diff_edits(COMMON, before.edits, after.edits), *_devices(before, after))


def _heads(before: CdiSpec, after: CdiSpec) -> Iterator[SpecDifference]:
    if before.version != after.version:
        yield SpecDifference(HEAD, "cdiVersion", before.version, after.version)
    if before.kind != after.kind:
        yield SpecDifference(HEAD, "kind", before.kind, after.kind)
    if set(before.annotations) != set(after.annotations):
        yield SpecDifference(HEAD, "annotations", _annotations(before.annotations), _annotations(after.annotations))


def _devices(before: CdiSpec, after: CdiSpec) -> Iterator[SpecDifference]:
    old = {device.name: device for device in before.devices}
    new = {device.name: device for device in after.devices}
    for name in (*old, *(name for name in new if name not in old)):
        if name not in new:
            yield SpecDifference(name, "device", name, "")
        elif name not in old:
            yield SpecDifference(name, "device", "", name)
        else:
            yield from diff_edits(name, old[name].edits, new[name].edits)
            notes = _annotations(old[name].annotations), _annotations(new[name].annotations)
            if notes[0] != notes[1]:
                yield SpecDifference(name, "annotations", *notes)


def diff_edits(where: str, before: SpecEdits, after: SpecEdits) -> Iterator[SpecDifference]:
    """One containerEdits against another. Hooks keep their order, all else is a set."""
    yield from _keyed(where, "device node", before.device_nodes, after.device_nodes)
    yield from _keyed(where, "mount", before.mounts, after.mounts)
    yield from _set(where, "env", before.env, after.env)
    yield from _hooks(where, before.hooks, after.hooks)
    yield from _set(where, "additional group", map(str, before.additional_gids), map(str, after.additional_gids))
    networks = ([f"{d.host_interface_name} as {d.name}" for d in edits.net_devices] for edits in (before, after))
    yield from _set(where, "network device", *networks)
    if before.intel_rdt != after.intel_rdt:
        yield SpecDifference(where, "intelRdt", _words(before.intel_rdt), _words(after.intel_rdt))


def _keyed(
    where: str,
    what: str,
    before: Iterable[SpecDeviceNode] | Iterable[SpecMount],
    after: Iterable[SpecDeviceNode] | Iterable[SpecMount],
) -> Iterator[SpecDifference]:
    """Things that have one path in the container: there is one for each, with these settings or those."""
    old, new = ({_place(row): row for row in rows} for rows in (before, after))
    for place in (*old, *(place for place in new if place not in old)):
        one, other = old.get(place), new.get(place)
        if one is None or other is None or _settings(one) != _settings(other):
            yield SpecDifference(where, what, _describe(one), _describe(other))


def _place(row: SpecDeviceNode | SpecMount) -> str:
    return row.path if isinstance(row, SpecDeviceNode) else row.container_path


def _settings(row: SpecDeviceNode | SpecMount) -> Hashable:
    """What counts: a host path that is spelled out although it is the same does not, nor the order of options."""
    if isinstance(row, SpecDeviceNode):
        return row._replace(host_path=row.source)
    return row._replace(options=tuple(sorted(row.options)))


def _describe(row: SpecDeviceNode | SpecMount | None) -> str:
    if row is None:
        return ""
    if isinstance(row, SpecMount):
        come = row.container_path if row.host_path == row.container_path else f"{row.host_path} at {row.container_path}"
        return f"{come} ({', '.join(row.options)})" if row.options else come
    number = f"{row.major}:{row.minor}" if row.major is not None and row.minor is not None else ""
    mode = f"mode {row.file_mode:04o}" if row.file_mode is not None else ""
    group = f"group {row.gid}" if row.gid is not None else ""
    owner = f"owner {row.uid}" if row.uid is not None else ""
    words = ", ".join(word for word in (number, row.type or "", mode, owner, group, row.permissions or "") if word)
    come = row.path if row.source == row.path else f"{row.source} at {row.path}"
    return f"{come} ({words})" if words else come


def _set(where: str, what: str, before: Iterable[str], after: Iterable[str]) -> Iterator[SpecDifference]:
    old, new = Counter(before), Counter(after)
    yield from (SpecDifference(where, what, word, "") for word in old - new)
    yield from (SpecDifference(where, what, "", word) for word in new - old)


def _hooks(where: str, before: tuple[SpecHook, ...], after: tuple[SpecHook, ...]) -> Iterator[SpecDifference]:
    """Hooks that the other has not; if both have the same ones, their order."""
    old, new = Counter(before), Counter(after)
    if old == new and before != after:
        yield SpecDifference(where, "order of hooks", _order(before), _order(after))
    yield from (SpecDifference(where, "hook", describe_hook(hook), "") for hook in old - new)
    yield from (SpecDifference(where, "hook", "", describe_hook(hook)) for hook in new - old)


def _order(hooks: tuple[SpecHook, ...]) -> str:
    return " | ".join(describe_hook(hook) for hook in hooks)


def describe_hook(hook: SpecHook) -> str:
    """Stage, program, and its arguments as the program sees them behind its own name."""
    words = [f"{hook.name}: {hook.path}", *hook.args[1:]]
    words += [f"env {' '.join(hook.env)}"] if hook.env else []
    words += [f"timeout {hook.timeout_seconds} s"] if hook.timeout_seconds is not None else []
    return " ".join(words)


def _annotations(rows: Iterable[object]) -> str:
    return ", ".join(sorted(f"{getattr(row, 'key', '')}={getattr(row, 'value', '')}" for row in rows))


def _words(value: object) -> str:
    return "" if value is None else str(value)
