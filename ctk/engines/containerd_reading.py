"""containerd's files as the doctor reads them: what is in force, what is written where nothing reads it; no I/O."""

from collections.abc import Iterable, Iterator, Mapping

from ctk.edit import toml
from ctk.engines.base import Layer
from ctk.engines.containerd_layout import (
    CRI_NAMES,
    DEEP_MERGE_SINCE,
    PLUGIN_IDS,
    READ_ONLY,
    Layout,
    layout_warnings,
    read_layout,
)
from ctk.engines.containerd_view import ALWAYS_READ
from ctk.engines.layers import Document, Table, look_up
from ctk.engines.reading import FilesReading, is_nvidia_runtime
from ctk.facts.engines import OTHER_PLUGIN, EngineFiles, EngineRuntime, FileFault, UnreadRuntime

BUILT_IN_DEFAULT = "runc"
REFUSES_SINCE = (1, 7)
"""containerd 1.7 does not start with a file of version 3, 1.6 passes over its tables (measured)."""


def read(
    layers: tuple[Layer, ...],
    engine: tuple[int, int] | None = None,
    *,
    merged_elsewhere: bool = False,
    by_default: tuple[str, ...] = (),
) -> FilesReading:
    """The files as this containerd reads them. merged_elsewhere: another program merges them all (k0s).

    by_default: those that it imports although no file says so. Raises ParseFault for a file that containerd refuses.
    """
    layout = read_layout(layers, engine, ALWAYS_READ | {READ_ONLY})
    if merged_elsewhere:
        layout = layout._replace(active=layout.documents, deep=True)
    elif by_default:
        added = tuple(one for one in layout.documents if one.path in by_default and not layout.is_active(one.path))
        layout = layout._replace(active=(*layout.active, *added), version=_version_with(layout, added))
    section = layout.effective()
    default = _text(section, ("containerd", "default_runtime_name"))
    return FilesReading(
        files=EngineFiles(
            runtimes=tuple(_runtimes(layout, section)),
            default_runtime=default,
            cdi_enabled=_switch(section, "enable_cdi"),
            dangling_default=_dangling(layout, section, default),
            cdi_directories=_strings(section, "cdi_spec_dirs"),
            config_version=layout.version if layout.main.content else None,
            disabled_plugins=tuple(_disabled(layout)),
        ),
        unread=tuple(_in_other_plugins(layout)),
        faults=tuple(_version_faults(layout)),
    )


def _version_with(layout: Layout, added: tuple[Document, ...]) -> int:
    """Without a main file each drop-in is read as the version that it says; one of them speaks for all."""
    said = [one.content.get("version") for one in added]
    known = [version for version in said if isinstance(version, int) and version in PLUGIN_IDS]
    return layout.version if layout.main.content or not known else known[0]


def names_imports(text: str, path: str) -> bool:
    """Whether a file says itself what is imported, be it nothing. Raises ParseFault."""
    return "imports" in toml.load(text, path)


def nvidia_runtimes_of(text: str, path: str) -> tuple[str, ...]:
    """The names of NVIDIA's runtimes in one file, under whichever plugin id. Raises ParseFault."""
    content = toml.load(text, path)
    names = (name for plugin in CRI_NAMES for name, _ in _entries(content, plugin))
    return tuple(dict.fromkeys(names))


def plugin_table(version: int | None) -> str:
    """The table in which a file of this version has its runtimes, as it is written in TOML."""
    plugin = PLUGIN_IDS.get(version or 2, PLUGIN_IDS[2])
    return f"plugins.{plugin if '.' not in plugin else repr(plugin)}.containerd.runtimes"


def _runtimes(layout: Layout, section: Table) -> Iterator[EngineRuntime]:
    entries = look_up(section, ("containerd", "runtimes"))
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        if not isinstance(entry, Mapping):
            continue
        homes = (item for item in reversed(layout.active) if look_up(item.content, layout.runtime(name)) is not None)
        home = next(homes, None)
        yield EngineRuntime(
            name,
            _binary(entry),
            home.path if home else None,
            kind=_text(entry, ("runtime_type",)),
            systemd_cgroup=_systemd_cgroup(entry),
        )


def _binary(entry: Table) -> str | None:
    return _text(entry, ("options", "BinaryName")) or _text(entry, ("options", "Runtime"))


def _systemd_cgroup(entry: Table) -> bool | None:
    value = look_up(entry, ("options", "SystemdCgroup"))
    return value if isinstance(value, bool) else None


def _dangling(layout: Layout, section: Table, default: str | None) -> str | None:
    """The default that no entry stands behind. A file that names any runtime replaces the built-in list before 2.0."""
    entries = look_up(section, ("containerd", "runtimes"))
    known = tuple(entries) if isinstance(entries, Mapping) else ()
    if not known or layout.merges is not False:
        known = (*known, BUILT_IN_DEFAULT)
    name = default or BUILT_IN_DEFAULT
    has_old_table = look_up(section, ("containerd", "default_runtime", "runtime_type")) is not None
    return None if name in known or name.startswith("${") or has_old_table else name


def _disabled(layout: Layout) -> Iterator[str]:
    for document in layout.active:
        names = document.content.get("disabled_plugins")
        yield from (name for name in names if name in CRI_NAMES) if isinstance(names, list) else ()


def _in_other_plugins(layout: Layout) -> Iterator[UnreadRuntime]:
    """NVIDIA's runtimes under a plugin id that this containerd, or this version of the file, does not have."""
    own = PLUGIN_IDS[layout.version]
    for document in layout.active:
        for plugin in sorted(CRI_NAMES - {own}):
            for name, _ in _entries(document.content, plugin):
                yield UnreadRuntime(name, document.path, OTHER_PLUGIN, plugin)
        if _is_ignored(layout):
            for name, _ in _entries(document.content, own):
                yield UnreadRuntime(name, document.path, OTHER_PLUGIN, own)


def _is_ignored(layout: Layout) -> bool:
    """Measured: containerd 2.1 ignores the tables of a version 1 file, 1.6 those of a version 3 file."""
    if layout.engine is None or layout.version == 2:
        return False
    if layout.engine >= DEEP_MERGE_SINCE:
        return layout.version == 1
    return layout.version > 2 and layout.engine < REFUSES_SINCE


def _entries(content: Table, plugin: str) -> Iterator[tuple[str, Table]]:
    entries = look_up(content, ("plugins", plugin, "containerd", "runtimes"))
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        if isinstance(entry, Mapping) and is_nvidia_runtime(name, _binary(entry)):
            yield name, entry


def _version_faults(layout: Layout) -> Iterable[FileFault]:
    """A pair of files of two versions: 1.7 does not start, 2.1 loses the main file's CRI settings (measured)."""
    if layout.engine is not None and REFUSES_SINCE <= layout.engine < DEEP_MERGE_SINCE and layout.version > 2:
        number = ".".join(map(str, layout.engine))
        line, column = _place(layout.main)
        yield FileFault(layout.main.path, f"containerd {number} does not take version {layout.version}", line, column)
    if not layout_warnings(layout):
        return
    for document in layout.active[1:]:
        other = document.content.get("version", layout.version)
        if document.content.get("plugins") and other != layout.version:
            line, column = _place(document)
            message = f"it is version {other}, but {layout.main.path} is version {layout.version}"
            yield FileFault(document.path, message, line, column)


def _place(document: Document) -> tuple[int, int]:
    return toml.position_of(document.text, ("version",)) or (1, 1)


def _text(table: Table, path: tuple[str, ...]) -> str | None:
    value = look_up(table, path)
    return value if isinstance(value, str) and value else None


def _switch(table: Table, key: str) -> bool | None:
    value = look_up(table, (key,))
    return value if isinstance(value, bool) else None


def _strings(table: Table, key: str) -> tuple[str, ...] | None:
    value = look_up(table, (key,))
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else None
