"""What an engine's files and its running daemon say of runtimes, for the snapshot; holds no other setting of theirs."""

from ctk.edit.text import decode_config
from ctk.engines.base import Layer, RuntimeView
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.engines import EngineDaemon, EngineFiles, EngineInstallation, EngineRuntime
from ctk.host import Host
from ctk.host.processes import format_time
from ctk.host.programs import program_fault
from ctk.host.reading import unknown_from


def add_files(host: Host, item: EngineInstallation) -> EngineInstallation:
    """The installation with what its files and its daemon say; Podman keeps its runtimes elsewhere."""
    if item.engine == "podman":
        return item
    return item._replace(files=collect_engine_files(host, item), daemon=collect_engine_daemon(host, item))


def collect_engine_files(host: Host, item: EngineInstallation) -> EngineFiles | Unknown:
    """The files read as the engine reads them; Unknown with the reason for a broken file or a missing right."""
    paths = (item.config_path, *item.drop_ins)
    try:
        layers = tuple(_layer(host, path) for path in paths)
        names = _names(item, layers)
        views = tuple((name, _view(item, layers, name)) for name in names)
        view = _view(item, layers, "")
        newest = max(
            ((host.stat(layer.path).st_mtime, layer.path) for layer in layers if layer.text is not None), default=None
        )
    except CtkError as error:
        return Unknown(error.message)
    except OSError as error:
        return unknown_from(error)
    return EngineFiles(
        runtimes=tuple(_runtime(host, name, seen) for name, seen in views),
        default_runtime=view.default_runtime,
        cdi_enabled=view.cdi_enabled,
        changed_at=format_time(newest[0]) if newest else None,
        changed_path=newest[1] if newest else None,
    )


def _layer(host: Host, path: str) -> Layer:
    try:
        data = host.read_bytes(path)
    except FileNotFoundError:
        return Layer(path, None)
    return Layer(path, decode_config(data, path).text)


def _names(item: EngineInstallation, layers: tuple[Layer, ...]) -> tuple[str, ...]:
    from ctk.engines import containerd_view, crio, docker

    if item.engine == "containerd":
        return containerd_view.runtime_names(layers, _version(item))
    return docker.runtime_names(layers) if item.engine == "docker" else crio.runtime_names(layers)


def _view(item: EngineInstallation, layers: tuple[Layer, ...], name: str) -> RuntimeView:
    from ctk.engines import containerd_view, crio, docker

    if item.engine == "containerd":
        return containerd_view.view(layers, name, _version(item))
    return docker.view(layers, name) if item.engine == "docker" else crio.view(layers, name)


def _version(item: EngineInstallation) -> tuple[int, int] | None:
    numbers = item.version.split(".") if isinstance(item.version, str) else []
    is_number = len(numbers) > 1 and all(part.isdigit() for part in numbers[:2])
    return (int(numbers[0]), int(numbers[1])) if is_number else None


def _runtime(host: Host, name: str, view: RuntimeView) -> EngineRuntime:
    return EngineRuntime(name, view.path, view.file, program_fault(host, view.path) if view.path else "")


def collect_engine_daemon(host: Host, item: EngineInstallation) -> EngineDaemon | None | Unknown:
    """What dockerd says of itself; None for engines that cannot be asked so, and for one that does not run."""
    if item.engine != "docker" or item.running is False or item.socket is None:
        return None
    if isinstance(item.running, Unknown):
        return item.running
    from ctk.host.docker_api import collect_docker_info

    info = collect_docker_info(host, item.socket)
    if isinstance(info, Unknown):
        return info
    runtimes = tuple(EngineRuntime(name, path or None, None) for name, path in info.runtimes.items())
    return EngineDaemon(runtimes, info.default_runtime)
