"""What an engine's files say, read as the engine reads them, and when they were changed; it asks no daemon."""

from collections.abc import Sequence

from ctk.edit.text import decode_config
from ctk.engines.base import Layer
from ctk.engines.installations import DROP_IN, get_installation
from ctk.engines.reading import FilesReading, fault_of, is_nvidia_runtime, version_numbers
from ctk.errors import CtkError, ParseFault
from ctk.facts import Unknown
from ctk.facts.engines import EngineFiles, EngineInstallation, EngineRuntime
from ctk.host import Host
from ctk.host.engine_daemons import add_daemon
from ctk.host.engine_unread import collect_default_imports, collect_unread
from ctk.host.processes import format_time
from ctk.host.programs import find_program, look_at_program
from ctk.host.reading import unknown_from

PODMAN_DEFAULTS = "/usr/share/containers/containers.conf"
MONITORS = ("conmon", "/usr/libexec/crio/conmon", "/usr/lib/crio/conmon", "/usr/libexec/podman/conmon")
"""Where packages of CRI-O and Podman put the monitor: the first that is there is named in its place."""


def add_files(host: Host, item: EngineInstallation, enabled: frozenset[str] | Unknown) -> EngineInstallation:
    """The installation with what its files and its daemon say. enabled: the units that some target wants."""
    item = _with_files(host, item)
    item = item._replace(unread=collect_unread(host, item))
    return add_daemon(host, item, enabled)


def _with_files(host: Host, item: EngineInstallation) -> EngineInstallation:
    """files is Unknown with the reason for a broken file, which is a fault too, or for a missing right."""
    by_default = collect_default_imports(host, item)
    item = item._replace(drop_ins=(*item.drop_ins, *by_default))
    try:
        layers = tuple(_layer(host, path) for path in _paths(item))
        reading = read_layers(item, layers, by_default)
        files = _with_programs(host, _with_times(host, layers, reading.files))
    except ParseFault as error:
        return item._replace(files=Unknown(error.message), faults=(fault_of(error, item.config_path),))
    except CtkError as error:
        return item._replace(files=Unknown(error.message))
    except OSError as error:
        return item._replace(files=unknown_from(error))
    return item._replace(files=files, faults=reading.faults, unread=reading.unread)


def _paths(item: EngineInstallation) -> tuple[str, ...]:
    first = (PODMAN_DEFAULTS,) if item.engine == "podman" else ()
    return (*first, item.config_path, *item.drop_ins)


def read_layers(item: EngineInstallation, layers: tuple[Layer, ...], by_default: tuple[str, ...] = ()) -> FilesReading:
    """The files' texts as this engine takes them. by_default: what containerd imports unasked. Raises ParseFault."""
    from ctk.engines import containerd_reading, crio_reading, docker_reading

    if item.engine == "containerd":
        is_merged = get_installation(item.engine, item.installation).treatment == DROP_IN and len(layers) > 1
        version = version_numbers(item.version)
        return containerd_reading.read(layers, version, merged_elsewhere=is_merged, by_default=by_default)
    if item.engine == "docker":
        return docker_reading.read(layers, item.flags)
    return crio_reading.read(layers) if item.engine == "crio" else crio_reading.read_podman(layers)


def _layer(host: Host, path: str) -> Layer:
    try:
        data = host.read_bytes(path)
    except FileNotFoundError:
        return Layer(path, None)
    return Layer(path, decode_config(data, path).text)


def _with_times(host: Host, layers: Sequence[Layer], files: EngineFiles) -> EngineFiles:
    changes = [(host.stat(layer.path).st_mtime, layer.path) for layer in layers if layer.text is not None]
    homes = {runtime.file for runtime in files.runtimes if is_nvidia_runtime(runtime.name, runtime.path)}
    newest = max(changes, default=None)
    ours = max((time for time, path in changes if path in homes), default=None)
    return files._replace(
        changed_at=format_time(newest[0]) if newest else None,
        changed_path=newest[1] if newest else None,
        runtime_changed_at=None if ours is None else format_time(ours),
    )


def _with_programs(host: Host, files: EngineFiles) -> EngineFiles:
    return files._replace(runtimes=tuple(_with_program(host, runtime) for runtime in files.runtimes))


def _with_program(host: Host, runtime: EngineRuntime) -> EngineRuntime:
    fault = look_at_program(host, runtime.path) if runtime.path else ""
    monitor = look_at_program(host, runtime.monitor) if runtime.monitor else ""
    for found, path in ((fault, runtime.path), (monitor, runtime.monitor)):
        if isinstance(found, Unknown):
            return runtime._replace(unseen=f"{path}: {found.reason}")
    if monitor:
        other = find_program(host, MONITORS)
        monitor = f"{monitor}; {other} does" if isinstance(other, str) and "does not exist" in str(monitor) else monitor
    return runtime._replace(fault=fault, monitor_fault=monitor)
