"""containerd: what a new nvidia runtime takes over from the runtime that is the default today; text-free, no I/O.

A `config dump` only supplies the default runtime's name and, where the files lack its table, those keys of it that
differ from containerd's defaults: nothing else of a dump may come into a file.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ctk.engines.base import RuntimeSpec
from ctk.engines.containerd_layout import Layout
from ctk.engines.layers import Table, look_up

RUNC_TYPE = "io.containerd.runc.v2"
RUNC_TYPES = ("io.containerd.runc.", "io.containerd.runtime.v1.linux")
BUILT_IN_DEFAULT = "runc"  # containerd's own default_runtime_name
FALLBACKS = (BUILT_IN_DEFAULT, "crun")  # NVIDIA's toolkit looks for these, in this order
ENGINE_DEFAULTS: tuple[object, ...] = (None, "", False, 0, [], {}, "podsandbox")
"""What a dump shows for the keys of a runtime that nobody set (measured on 1.6.20, 1.7.24 and 2.1.9)."""


class Inherited(NamedTuple):
    """The runtime that was copied from (None if none is named in the files), and the new entry's keys."""

    base: str | None
    values: dict[str, object]
    notes: tuple[str, ...] = ()


def is_ours(name: str, spec: RuntimeSpec) -> bool:
    """Whether a runtime is one of NVIDIA's, from which nothing is inherited."""
    return name == spec.name or name.startswith("nvidia")


def is_placeholder(value: object) -> bool:
    """Whether a template's owner fills the value in (microk8s: "${RUNTIME}")."""
    return isinstance(value, str) and value.startswith("${")


def binary_keys(layout: Layout, options: Table) -> tuple[str, ...]:
    """BinaryName for the runc shim; version 1 files may still use the old linux shim, which reads Runtime."""
    return ("BinaryName", "Runtime") if layout.version == 1 or "Runtime" in options else ("BinaryName",)


def inherit(layout: Layout, spec: RuntimeSpec, dump: Table | None) -> Inherited:
    """The new entry: all of the default runtime's options, with our binary. Never from an nvidia entry."""
    section = layout.effective()
    found = _base_runtime(section.get("containerd"), spec, layout.version, _default_of(dump))
    if found.base is None and not found.values and dump is not None:
        found = found._replace(values=_values_from_dump(dump, spec))
    values = dict(found.values)
    values.setdefault("runtime_type", RUNC_TYPE)
    present = values.get("options")
    options: dict[str, object] = dict(present) if isinstance(present, Mapping) else {}
    if spec.systemd_cgroup and not layout.main.content and not found.values:
        options["SystemdCgroup"] = True
    for key in binary_keys(layout, options):
        options[key] = spec.path
    values["options"] = options
    return found._replace(values=values)


def old_default_table(containerd: Table) -> Table | None:
    """The table default_runtime of containerd 1.x: it is the default, whatever the name says, if it has a type."""
    table = containerd.get("default_runtime")
    return table if isinstance(table, Mapping) and table.get("runtime_type") else None


def cri_section(content: Table) -> Table:
    """The CRI runtime section of a dump, by whichever id this containerd uses."""
    for plugin in ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "cri"):
        section = look_up(content, ("plugins", plugin))
        if isinstance(section, Mapping) and "containerd" in section:
            return section
    return {}


def _default_of(dump: Table | None) -> object:
    return None if dump is None else look_up(cri_section(dump), ("containerd", "default_runtime_name"))


def _base_runtime(containerd: object, spec: RuntimeSpec, version: int, dumped_default: object) -> Inherited:
    table: Table = containerd if isinstance(containerd, Mapping) else {}
    runtimes = table.get("runtimes")
    entries: Table = runtimes if isinstance(runtimes, Mapping) else {}
    old_default = old_default_table(table) if version <= 2 else None
    if old_default is not None and _is_runc_shim(old_default):
        return Inherited(None, dict(old_default))
    notes: list[str] = []
    for name in (table.get("default_runtime_name") or dumped_default, *FALLBACKS):
        entry = entries.get(name) if isinstance(name, str) and not is_ours(name, spec) else None
        if not isinstance(entry, Mapping):
            continue
        if _is_runc_shim(entry):
            return Inherited(str(name), dict(entry), tuple(notes))
        notes.append(f"the default runtime {name!r} is of type {entry.get('runtime_type')}: nothing is copied from it")
    return Inherited(None, {}, tuple(notes))


def _is_runc_shim(entry: Table) -> bool:
    """Options of another shim mean nothing to runc's, which runs NVIDIA's runtime."""
    kind = entry.get("runtime_type") or RUNC_TYPE
    return isinstance(kind, str) and (is_placeholder(kind) or kind.startswith(RUNC_TYPES))


def _values_from_dump(dump: Table, spec: RuntimeSpec) -> dict[str, object]:
    """The default runtime's keys, without the values that are the engine's own defaults."""
    entry = _base_runtime(cri_section(dump).get("containerd"), spec, 2, None).values
    values = {key: value for key, value in entry.items() if key != "options" and value not in ENGINE_DEFAULTS}
    options = entry.get("options")
    if isinstance(options, Mapping):
        kept = {key: value for key, value in options.items() if key != "BinaryName" and value not in ENGINE_DEFAULTS}
        values["options"] = kept
    return values
