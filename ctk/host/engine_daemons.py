"""Whether an engine's daemon is enabled, answers at its socket, and what it says of itself; it changes nothing."""

import os

from ctk.engines.reading import version_numbers
from ctk.facts import Unknown
from ctk.facts.engines import EngineDaemon, EngineInstallation, EngineRuntime
from ctk.host import Host
from ctk.host.docker_api import DockerInfo, collect_docker_info
from ctk.host.reading import try_read_text, unknown_from
from ctk.host.units import collect_unit

WANTED = ("wants", "requires")
WANTING_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system")
"""Where `systemctl enable` and packages put the links; generators make none for engines."""
NVIDIA_KIND = "nvidia.com/"
TELLS_DEVICES_SINCE = (28, 2)
"""Docker Engine API 1.50: SystemInfo.DiscoveredDevices."""


def add_daemon(host: Host, item: EngineInstallation, enabled: frozenset[str] | Unknown) -> EngineInstallation:
    """The installation with the state of its daemon."""
    daemon = collect_engine_daemon(host, item)
    return item._replace(
        daemon=daemon,
        enabled=_is_enabled(host, item, enabled),
        listens=collect_listens(host, item),
        search_path=_search_path(host, item),
    )


def collect_enabled_units(host: Host) -> frozenset[str] | Unknown:
    """Names of all units that another one wants or requires: the links that `systemctl enable` makes."""
    found: set[str] = set()
    hidden: Unknown | None = None
    for folder in WANTING_FOLDERS:
        for kind in WANTED:
            try:
                found |= {path.rpartition("/")[2] for path in host.glob(f"{folder}/*.{kind}/*")}
            except OSError as error:
                hidden = Unknown(f"{folder}: {unknown_from(error).reason}")
    return frozenset(found) if found or hidden is None else hidden


def _is_enabled(host: Host, item: EngineInstallation, enabled: frozenset[str] | Unknown) -> bool | None | Unknown:
    """A user's own units are wanted by the user's own targets."""
    if item.unit is None:
        return None
    if item.user is None:
        return enabled if isinstance(enabled, Unknown) else item.unit in enabled
    folders = {os.path.dirname(path) for path in item.unit_files if path.endswith(f"/{item.unit}")}
    try:
        return any(host.glob(f"{folder}/*.wants/{item.unit}") for folder in folders)
    except OSError as error:
        return unknown_from(error)


def _search_path(host: Host, item: EngineInstallation) -> tuple[str, ...]:
    """The PATH of dockerd's unit, if it sets one: only then is the unit read again."""
    if item.engine != "docker" or item.unit is None or item.user is not None:
        return ()
    texts = (try_read_text(host, path) for path in item.unit_files)
    if not any(isinstance(text, str) and "PATH=" in text for text in texts):
        return ()
    unit = collect_unit(host, item.unit)
    variable = unit.environment.get("PATH") if unit else None
    return tuple(folder for folder in variable.value.split(":") if folder.startswith("/")) if variable else ()


def collect_listens(host: Host, item: EngineInstallation) -> bool | None | Unknown:
    """Whether somebody accepts connections at the socket of a daemon that runs; nothing is sent."""
    if not host.is_live or item.running is not True or item.socket is None:
        return None
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(host.timeout_seconds)
        try:
            connection.connect(item.socket)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError as error:
            return unknown_from(error)
    return True


def collect_engine_daemon(host: Host, item: EngineInstallation) -> EngineDaemon | None | Unknown:
    """What dockerd says of itself; None for engines that cannot be asked so, and for one that does not run."""
    if item.engine != "docker" or item.running is False or item.socket is None:
        return None
    if isinstance(item.running, Unknown):
        return item.running
    info = collect_docker_info(host, item.socket)
    return info if isinstance(info, Unknown) else make_daemon(info)


def make_daemon(info: DockerInfo) -> EngineDaemon:
    """The answer as a fact; of the CDI devices only NVIDIA's. An empty list is left out of it (measured on 28.5)."""
    tells = (version_numbers(info.version) or (0, 0)) >= TELLS_DEVICES_SINCE
    devices = () if info.cdi_devices is None and tells else info.cdi_devices
    return EngineDaemon(
        runtimes=tuple(EngineRuntime(name, path or None, None) for name, path in info.runtimes.items()),
        default_runtime=info.default_runtime,
        version=info.version or None,
        cgroup_driver=info.cgroup_driver or None,
        cdi_directories=info.cdi_directories,
        cdi_devices=None if devices is None else tuple(name for name in devices if NVIDIA_KIND in name),
        live_restore=info.live_restore,
        is_rootless=info.is_rootless,
        operating_system=info.operating_system or None,
        containers_running=info.containers_running,
    )
