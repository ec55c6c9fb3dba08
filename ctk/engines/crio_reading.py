"""CRI-O's files as the doctor reads them; Podman's containers.conf, which has the same switches; opens no file."""

from collections.abc import Iterator, Mapping

from ctk.edit import toml
from ctk.engines.base import Layer
from ctk.engines.crio import DEFAULT, INHERITED_FROM, RUNTIME, check_types, entry_path, merge
from ctk.engines.layers import Document, Path, Table, last_with, look_up, parse_layers
from ctk.engines.reading import FilesReading, is_nvidia_runtime
from ctk.facts.engines import EngineFiles, EngineRuntime

ENGINE: Path = ("engine",)


def read(layers: tuple[Layer, ...]) -> FilesReading:
    """The files as CRI-O merges them. Raises ParseFault."""
    documents = parse_layers(layers)
    check_types(documents)
    merged = merge(documents)
    default = _text(merged, DEFAULT)
    return FilesReading(
        files=EngineFiles(
            runtimes=tuple(_runtimes(documents, merged)),
            default_runtime=default,
            cdi_enabled=True,
            dangling_default=_dangling(merged, default),
            cgroup_driver=_text(merged, (*RUNTIME, "cgroup_manager")),
            cdi_directories=_strings(merged, (*RUNTIME, "cdi_spec_dirs")),
        )
    )


def read_podman(layers: tuple[Layer, ...]) -> FilesReading:
    """What containers.conf says: the table [engine] of containers.conf(5). Raises ParseFault."""
    merged = merge(parse_layers(layers))
    return FilesReading(
        files=EngineFiles(
            runtimes=(),
            default_runtime=_text(merged, (*ENGINE, "runtime")),
            cdi_enabled=True,
            cgroup_driver=_text(merged, (*ENGINE, "cgroup_manager")),
            cdi_directories=_strings(merged, (*ENGINE, "cdi_spec_dirs")),
        )
    )


def nvidia_runtimes_of(text: str, path: str) -> tuple[str, ...]:
    """The names of NVIDIA's runtimes in one file. Raises ParseFault."""
    entries = look_up(toml.load(text, path), (*RUNTIME, "runtimes"))
    found = entries.items() if isinstance(entries, Mapping) else ()
    return tuple(name for name, entry in found if is_nvidia_runtime(name, _path(entry)))


def _runtimes(documents: tuple[Document, ...], merged: Table) -> Iterator[EngineRuntime]:
    entries = look_up(merged, (*RUNTIME, "runtimes"))
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        if isinstance(entry, Mapping):
            home = last_with(documents, entry_path(name))
            yield EngineRuntime(
                name,
                _path(entry),
                home.path if home else None,
                kind=_text(entry, ("runtime_type",)),
                monitor=_text(entry, ("monitor_path",)),
            )


def _path(entry: object) -> str | None:
    return _text(entry, ("runtime_path",)) if isinstance(entry, Mapping) else None


def _dangling(merged: Table, default: str | None) -> str | None:
    """CRI-O brings runc and crun along."""
    if default is None or default in INHERITED_FROM or look_up(merged, entry_path(default)) is not None:
        return None
    return default


def _text(table: Table, path: Path) -> str | None:
    value = look_up(table, path)
    return value if isinstance(value, str) and value else None


def _strings(table: Table, path: Path) -> tuple[str, ...] | None:
    value = look_up(table, path)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else None
