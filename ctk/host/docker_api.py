"""What a running dockerd says of itself over its socket (Docker Engine API, GET /info); changes nothing."""

from collections.abc import Mapping
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.host import Host

ANSWER_LIMIT_BYTES = 4_000_000


class DockerInfo(NamedTuple):
    """The part of /info that the files can be compared with. runtimes: name to path, "" for one without a path.

    cdi_directories None: a release without CDI (before 25); cdi_devices None: one that does not tell (before 28.2).
    """

    version: str
    default_runtime: str
    runtimes: Mapping[str, str]
    cdi_directories: tuple[str, ...] | None = None
    cdi_devices: tuple[str, ...] | None = None
    cgroup_driver: str = ""
    live_restore: bool | None = None
    is_rootless: bool | None = None
    operating_system: str = ""
    containers_running: int | None = None


def collect_docker_info(host: Host, socket_path: str) -> DockerInfo | Unknown:
    """Ask the daemon. Unknown where there is no live host, no socket, no permission or no answer in time."""
    if not host.is_live:
        return Unknown("not asked: --root")
    try:
        body = _get(socket_path, "/info", host.timeout_seconds)
    except PermissionError:
        return Unknown(f"permission denied on {socket_path}")
    except (FileNotFoundError, ConnectionRefusedError):
        return Unknown(f"nothing answers on {socket_path}")
    except TimeoutError:
        return Unknown(f"no answer on {socket_path} within {host.timeout_seconds:g} s")
    except OSError as error:
        return Unknown(f"cannot talk to {socket_path} ({error.strerror or error})")
    return parse_docker_info(body)


def _get(socket_path: str, path: str, timeout_seconds: float) -> bytes:
    import socket

    request = f"GET {path} HTTP/1.0\r\nHost: docker\r\nConnection: close\r\n\r\n".encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_seconds)
        connection.connect(socket_path)
        connection.sendall(request)
        answer = b""
        while len(answer) < ANSWER_LIMIT_BYTES:
            part = connection.recv(65536)
            if not part:
                break
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n", 1)[0] + b" ":
        status = head.split(b"\r", 1)[0].decode("latin-1")
        raise OSError(f"it answered {status!r}")
    return body


def parse_docker_info(body: bytes) -> DockerInfo | Unknown:
    """The answer's JSON as facts."""
    import json

    try:
        info = json.loads(body)
    except ValueError:
        return Unknown("the daemon's answer is not JSON")
    if not isinstance(info, dict):
        return Unknown("the daemon's answer is not an object")
    runtimes = info.get("Runtimes")
    paths = {
        str(name): str(entry.get("path") or "") if isinstance(entry, dict) else ""
        for name, entry in (runtimes if isinstance(runtimes, dict) else {}).items()
    }
    running = info.get("ContainersRunning")
    options = _strings(info.get("SecurityOptions"))
    live_restore = info.get("LiveRestoreEnabled")
    return DockerInfo(
        version=str(info.get("ServerVersion") or ""),
        default_runtime=str(info.get("DefaultRuntime") or ""),
        runtimes=paths,
        cdi_directories=_strings(info.get("CDISpecDirs")) if "CDISpecDirs" in info else None,
        cdi_devices=_device_names(info.get("DiscoveredDevices")) if "DiscoveredDevices" in info else None,
        cgroup_driver=str(info.get("CgroupDriver") or ""),
        live_restore=live_restore if isinstance(live_restore, bool) else None,
        is_rootless="name=rootless" in options if "SecurityOptions" in info else None,
        operating_system=str(info.get("OperatingSystem") or ""),
        containers_running=running if type(running) is int else None,
    )


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _device_names(value: object) -> tuple[str, ...]:
    """The ids of the devices that come from CDI specs (Engine API 1.50, SystemInfo.DiscoveredDevices)."""
    entries = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return tuple(str(item.get("ID") or "") for item in entries if item.get("Source") == "cdi")
