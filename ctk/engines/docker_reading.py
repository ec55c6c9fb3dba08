"""daemon.json as the doctor reads it: what is in force, and what dockerd will not take; opens no file."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ctk.edit import json
from ctk.engines.base import Layer
from ctk.engines.docker import SHIM_KEYS
from ctk.engines.docker_file import CDI, DEFAULT, RUNTIMES, STOCK_RUNTIME, DaemonFile, entry_path, parse
from ctk.engines.reading import FilesReading
from ctk.facts.engines import EngineFiles, EngineRuntime, FileFault

if TYPE_CHECKING:
    from ctk.facts.engines import EngineFlag

CGROUP_OPTION = "native.cgroupdriver="
ADD_RUNTIME = "add-runtime"

# Flags whose member of daemon.json has another name: dockerd's named options.
# https://docs.docker.com/reference/cli/dockerd/#daemon-configuration-file
MEMBERS = {
    "add-runtime": "runtimes",
    "authorization-plugin": "authorization-plugins",
    "cdi-spec-dir": "cdi-spec-dirs",
    "default-ulimit": "default-ulimits",
    "dns-opt": "dns-opts",
    "exec-opt": "exec-opts",
    "feature": "features",
    "host": "hosts",
    "insecure-registry": "insecure-registries",
    "label": "labels",
    "log-opt": "log-opts",
    "registry-mirror": "registry-mirrors",
    "storage-opt": "storage-opts",
}
MERGED_MEMBERS = frozenset({"runtimes"})
"""dockerd merges what flags and file say of these (moby pull request 37871, 18.09); others keep it from starting."""


def read(layers: tuple[Layer, ...], flags: "tuple[EngineFlag, ...]" = ()) -> FilesReading:
    """What daemon.json says. flags: dockerd's own, which may name runtimes too. Raises ParseFault."""
    file = parse(layers)
    file.typed(DEFAULT, str, "a string")
    file.typed(CDI, bool, "true or false")
    return FilesReading(
        files=EngineFiles(
            runtimes=tuple(_runtimes(file)),
            default_runtime=file.default,
            cdi_enabled=file.cdi,
            dangling_default=_dangling(file, flags),
            cgroup_driver=_cgroup_driver(file),
            cdi_directories=_strings(file, "cdi-spec-dirs"),
            keys=tuple(file.content),
            live_restore=file.content.get("live-restore") is True if "live-restore" in file.content else None,
        ),
        faults=tuple(_faults(file)),
    )


def member_of(flag: str) -> str:
    """The member of daemon.json that says what the flag says."""
    return MEMBERS.get(flag, flag)


def _runtimes(file: DaemonFile) -> Iterator[EngineRuntime]:
    entries = file.typed(RUNTIMES, dict, "an object")
    for name in entries if isinstance(entries, Mapping) else ():
        entry = file.typed(entry_path(name), dict, "an object")
        known: Mapping[str, object] = entry if isinstance(entry, Mapping) else {}
        path, kind = known.get("path"), known.get("runtimeType")
        yield EngineRuntime(
            name,
            path if isinstance(path, str) and path else None,
            file.path,
            kind=kind if isinstance(kind, str) else None,
        )


def _dangling(file: DaemonFile, flags: "tuple[EngineFlag, ...]") -> str | None:
    """A default that no entry stands behind; names with a dot are containerd's shims and need none."""
    default = file.default
    if default is None or default == STOCK_RUNTIME or "." in default:
        return None
    by_flag = any(flag.name == ADD_RUNTIME and flag.value.startswith(f"{default}=") for flag in flags)
    return None if by_flag or file.member(entry_path(default)) is not None else default


def _cgroup_driver(file: DaemonFile) -> str | None:
    options = _strings(file, "exec-opts") or ()
    drivers = [option.removeprefix(CGROUP_OPTION) for option in options if option.startswith(CGROUP_OPTION)]
    return drivers[-1] if drivers else None


def _strings(file: DaemonFile, key: str) -> tuple[str, ...] | None:
    value = file.content.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else None


def _faults(file: DaemonFile) -> Iterator[FileFault]:
    for key, line, column in json.duplicates(file.text):
        name = ".".join(key)
        yield FileFault(file.path, f"{name} is there twice, Docker reads only the last", line, column, is_fatal=False)
    entries = file.content.get(RUNTIMES[0])
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        shim = [key for key in SHIM_KEYS if isinstance(entry, Mapping) and key in entry and entry.get("path")]
        if shim:
            line, column = json.position_of(file.text, (*entry_path(name), shim[0])) or (1, 1)
            yield FileFault(file.path, f"runtimes.{name} has both path and {shim[0]}", line, column)
