"""Docker hosts for the tables of its checks: each word is a whole snapshot, and tells what is special about it."""

import dataclasses
from typing import Any

from ctk.facts import Unknown
from ctk.facts.engines import OTHER_FILE, EngineInstallation, UnreadRuntime
from ctk.facts.pci import Pci
from ctk.facts.platform import Platform, Wsl, WslStore
from ctk.facts.snapshot import Snapshot
from tests.builders import make_flag
from tests.cdi_builders import make_cdi
from tests.driver_builders import make_driver, make_modules
from tests.engine_builders import (
    DAEMON_JSON,
    FOLDERS,
    docker_host,
    make_daemon,
    make_docker,
    make_files,
    no_runtimes,
)
from tests.toolkit_builders import make_tools, no_tools

DENIED = Unknown("permission denied")
NOWHERE = Unknown("no processes in /proc")
ELSEWHERE = UnreadRuntime("nvidia", DAEMON_JSON, OTHER_FILE, "/srv/docker/daemon.json")
ON = {"version": "28.5.1", "cdi_directories": FOLDERS}
FOUND = ("nvidia.com/gpu=0", "nvidia.com/gpu=all")
BARE: dict[str, Any] = {"files": no_runtimes(), "daemon": make_daemon("runc")}
CLOSED_FILES: Any = {"files": DENIED}
BASE_ONLY = tuple(tool for tool in make_tools() if not tool.name.endswith("runtime-hook"))
ONLY_TOOL = tuple(tool for tool in make_tools() if tool.name == "nvidia-ctk")
NO_GPU: dict[str, Any] = {"pci": Pci(), "driver": make_driver(version=None, libraries=(), firmware=(), traces=())}
NOTHING: dict[str, Any] = {**NO_GPU, "modules": make_modules(loaded=(), files=()), "toolkit": no_tools()}
WINDOWS = Platform(wsl=Wsl(True, ("libcuda.so.1",), (WslStore("/usr/lib/wsl/drivers/nv", ()),), None, ()))


def docker(**changes: Any) -> Snapshot:
    return docker_host(make_docker(**changes))


def files(**changes: Any) -> Snapshot:
    return docker(files=make_files(**changes))


def flags(*names: str, keys: tuple[str, ...] = ("runtimes",), **changes: Any) -> Snapshot:
    given = tuple(make_flag(name=name, value=value) for name, _, value in (text.partition("=") for text in names))
    return docker(flags=given, files=make_files(keys=keys), **changes)


def bare(**changes: Any) -> Snapshot:
    """Docker was never told of the runtime; the rest of the host is like this."""
    return docker_host(make_docker(**BARE), **changes)


def cdi(devices: tuple[str, ...] | None = FOUND, *, spec: bool = False, **changes: Any) -> Snapshot:
    """CDI is on in dockerd, and no runtime is registered."""
    daemon = make_daemon("runc", **ON, cdi_devices=devices)
    host = docker_host(make_docker(files=no_runtimes(), daemon=daemon), **changes)
    return dataclasses.replace(host, cdi=make_cdi()) if spec else host


def snap(**changes: Any) -> EngineInstallation:
    path = "/var/snap/docker/current/config/daemon.json"
    return make_docker(installation="snap", config_path=path, **{**BARE, **changes})


def rootless(**changes: Any) -> EngineInstallation:
    path = "/home/alice/.config/docker/daemon.json"
    return make_docker(installation="rootless", user="alice", config_path=path, **changes)
