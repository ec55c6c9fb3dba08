"""Finds NVIDIA's daemons from /proc, unit files and their own files; it starts and asks no daemon."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.services import (
    CDI_REFRESH,
    DCGM,
    FABRIC_MANAGER,
    IMEX,
    LICENCE,
    MIG_MANAGER,
    MPS,
    PERSISTENCE,
    SUBNET_MANAGER,
    VGPU_MANAGER,
    CudaToolkit,
    FabricLogLine,
    Service,
    Services,
)
from ctk.host import Host
from ctk.host.processes import Process, collect_processes, format_time, outside_containers
from ctk.host.programs import collect_version, find_program, parse_version, why_not_trusted
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from
from ctk.host.units import SYSTEM_FOLDERS, find_unit_file, is_masked

DRIVER_FOLDERS = ("/run/nvidia/driver/usr/bin", "/opt/nvidia/nvlsm/sbin", "/home/kubernetes/bin/nvidia/bin")
FABRIC_CONFIG = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
FABRIC_LOG = "/var/log/fabricmanager.log"
IMEX_NODES = "/etc/nvidia-imex/nodes_config.cfg"
IMEX_TOOL = "nvidia-imex-ctl"
IMEX_FOLDERS = ("/opt/nvidia/imex/bin", "/usr/local/nvidia/imex/bin")
COMPUTE_DOMAINS = "/var/lib/kubelet/plugins/compute-domain.nvidia.com"
PERSISTENCE_SOCKETS = ("/run/nvidia-persistenced/socket", "/var/run/nvidia-persistenced/socket")
"""Of NVIDIA Container Toolkit and of libnvidia-container; one and the same where /var/run is a link to /run."""
LOG_TAIL_BYTES = 1 << 20
LOG_LINES = 20
TROUBLE = re.compile(
    r"detected NVSwitch (?:non-)?fatal error|don't match with any supported system topology|fatal error occurred"
    r"|failed to allocate multicast team|NV_WARN_NOTHING_TO_DO"
)
LOG_TIME = re.compile(r"\[([A-Z][a-z]{2} [ \d]\d \d{4} \d\d:\d\d:\d\d)\]")


class Daemon(NamedTuple):
    """Where a service shows: its unit, its program, and whether the program tells its version."""

    name: str
    unit: str
    program: str
    is_asked: bool = False


DAEMONS = (
    Daemon(PERSISTENCE, "nvidia-persistenced.service", "nvidia-persistenced"),
    Daemon(FABRIC_MANAGER, "nvidia-fabricmanager.service", "nv-fabricmanager", is_asked=True),
    Daemon(SUBNET_MANAGER, "nvlsm.service", "nvlsm"),
    Daemon(IMEX, "nvidia-imex.service", "nvidia-imex"),
    Daemon(MPS, "nvidia-mps.service", "nvidia-cuda-mps-control"),
    Daemon(DCGM, "nvidia-dcgm.service", "nv-hostengine"),
    Daemon(MIG_MANAGER, "nvidia-mig-manager.service", "nvidia-mig-manager"),
    Daemon(CDI_REFRESH, "nvidia-cdi-refresh.service", "nvidia-ctk"),
    Daemon(VGPU_MANAGER, "nvidia-vgpu-mgr.service", "nvidia-vgpu-mgr"),
    Daemon(LICENCE, "nvidia-gridd.service", "nvidia-gridd"),
)


def collect_services(host: Host) -> Services:
    """Every daemon of the table, and the files of those that have some."""
    names = [daemon.program for daemon in DAEMONS if daemon.name != CDI_REFRESH]  # that one ends when it is done
    processes = collect_processes(host, names, in_containers=True)
    own: tuple[Process, ...] = () if isinstance(processes, Unknown) else outside_containers(host, processes)
    wanted = collect_wanted_units(host)
    services = tuple(_collect_service(host, daemon, processes, own, wanted) for daemon in DAEMONS)
    log_path = _fabric_log_path(host)
    domain, daemon = _ask_imex(host, any(one.name == IMEX and one.running is True for one in services))
    nodes = _imex_nodes(host)
    return Services(
        services=services,
        fabric_log_path=log_path,
        fabric_log=collect_fabric_log(host, log_path),
        imex_nodes=len(nodes) if isinstance(nodes, tuple) else nodes,
        imex_duplicates=len(nodes) - len(set(nodes)) if isinstance(nodes, tuple) else 0,
        imex_domain=domain,
        imex_daemon=daemon,
        imex_by_kubernetes=try_exists(host, COMPUTE_DOMAINS),
        persistence_socket=_first_there(host, PERSISTENCE_SOCKETS),
        cuda_toolkits=collect_cuda_toolkits(host),
    )


def _collect_service(
    host: Host,
    daemon: Daemon,
    processes: Sequence[Process] | Unknown,
    own: Sequence[Process],
    wanted: frozenset[str] | Unknown,
) -> Service:
    path = find_unit_file(host, daemon.unit, SYSTEM_FOLDERS)
    running = [] if isinstance(processes, Unknown) else [one for one in processes if one.name == daemon.program]
    process = next((one for one in running if one in own), running[0] if running else None)
    binary = find_program(host, (daemon.program,), DRIVER_FOLDERS)
    restarts, result = _ask_systemd(host, daemon) if daemon.is_asked and path else (None, None)
    return Service(
        name=daemon.name,
        unit=daemon.unit if path else None,
        enabled=wanted if isinstance(wanted, Unknown) else daemon.unit in wanted,
        masked=bool(path) and is_masked(host, path or ""),
        binary=binary,
        version=_collect_version(host, binary) if daemon.is_asked else None,
        running=processes if isinstance(processes, Unknown) else process is not None,
        in_container=process is not None and process not in own,
        pid=process.pid if process else None,
        user=process.user if process else None,
        running_since=process.started if process else None,
        restarts=restarts,
        result=result,
    )


def _collect_version(host: Host, binary: str | None | Unknown) -> str | None | Unknown:
    if not isinstance(binary, str):
        return binary
    if host.is_live:
        return collect_version(host, binary)
    output = host.run((binary, "--version"))  # a saved answer, where the host has one
    return Unknown(output.reason) if output.returncode is None else parse_version(output.stdout)


def _ask_systemd(host: Host, daemon: Daemon) -> tuple[int | None | Unknown, str | None | Unknown]:
    """How often systemd has restarted the unit, and how it ended last."""
    output = host.run(("systemctl", "show", "--property=NRestarts,Result", daemon.unit))
    if output.returncode != 0:
        why = Unknown(output.reason or f"systemctl ended with {output.returncode}")
        return why, why
    values = dict(line.split("=", 1) for line in output.stdout.splitlines() if "=" in line)
    count = values.get("NRestarts", "")
    return int(count) if count.isdigit() else None, values.get("Result") or None


def collect_wanted_units(host: Host, pattern: str = "nv*") -> frozenset[str] | Unknown:
    """Names of the units that another one wants or requires: the links that `systemctl enable` makes."""
    found: set[str] = set()
    hidden: Unknown | None = None
    for folder in SYSTEM_FOLDERS:
        for kind in ("wants", "requires", "upholds"):
            try:
                found |= {path.rpartition("/")[2] for path in host.glob(f"{folder}/*.{kind}/{pattern}")}
            except OSError as error:
                hidden = Unknown(f"{folder}: {unknown_from(error).reason}")
    return frozenset(found) if found or hidden is None else hidden


def _fabric_log_path(host: Host) -> str | None:
    """What the configuration names, else the default; an empty name means the journal."""
    text = try_read_text(host, FABRIC_CONFIG)
    for line in text.splitlines() if isinstance(text, str) else ():
        name, _, value = line.partition("=")
        if name.strip() == "LOG_FILE_NAME":
            return value.strip() or None
    return FABRIC_LOG


def collect_fabric_log(host: Host, path: str | None) -> tuple[FabricLogLine, ...] | None | Unknown:
    """The last lines of the log's last part that tell of trouble."""
    if path is None:
        return None
    try:
        size = host.stat(path).st_size
        start = max(0, size - LOG_TAIL_BYTES)
        text = host.read_part(path, start, LOG_TAIL_BYTES)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    return parse_fabric_log(text.decode("utf-8", "replace"), host.is_live)[-LOG_LINES:]


def parse_fabric_log(text: str, is_local_time: bool = False) -> tuple[FabricLogLine, ...]:
    """Lines such as "[Jul 09 2024 18:14:07] [ERROR] [tid 12727] detected NVSwitch fatal error 20034 …".

    The log has local time without a zone: this machine's own is known, another's is taken for UTC.
    """
    lines = [line.strip()[:300] for line in text.splitlines() if TROUBLE.search(line)]
    return tuple(FabricLogLine(line, _log_time(line, is_local_time)) for line in lines)


def _log_time(line: str, is_local_time: bool) -> str | None:
    import calendar
    import time

    found = LOG_TIME.search(line)
    if found is None:
        return None
    try:
        moment = time.strptime(found[1], "%b %d %Y %H:%M:%S")
        return format_time(time.mktime(moment) if is_local_time else calendar.timegm(moment))
    except (ValueError, OverflowError):
        return None


def _first_there(host: Host, paths: Iterable[str]) -> str | None | Unknown:
    for path in paths:
        there = try_exists(host, path)
        if there:
            return there if isinstance(there, Unknown) else path
    return None


def _imex_nodes(host: Host) -> tuple[str, ...] | None | Unknown:
    """The addresses, which are not kept: only their number is."""
    text = try_read_text(host, IMEX_NODES)
    if not isinstance(text, str):
        return text
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def _ask_imex(host: Host, is_running: bool) -> tuple[str | None | Unknown, str | None | Unknown]:
    """What IMEX's own tool says of the domain and of the daemon here; its command service answers at once or never."""
    if not is_running:
        return None, None
    tool = find_program(host, (IMEX_TOOL,), IMEX_FOLDERS)
    if not isinstance(tool, str):
        reason = tool or Unknown(f"no {IMEX_TOOL}")
        return reason, reason
    distrust = why_not_trusted(host, tool) if host.is_live else ""
    if distrust:
        return Unknown(f"not run: {distrust}"), Unknown(f"not run: {distrust}")
    domain, daemon = host.run((tool, "-N", "-j")), host.run((tool, "-q"))
    return (
        Unknown(domain.reason) if domain.returncode is None else parse_imex_domain(domain.stdout),
        Unknown(daemon.reason) if daemon.returncode is None else parse_imex_daemon(daemon.stdout),
    )


def parse_imex_domain(text: str) -> str | Unknown:
    """The status of the whole domain in the JSON of `nvidia-imex-ctl -N -j`; the nodes' own stand below it."""
    import json

    try:
        status = json.loads(text)["status"]
    except (ValueError, KeyError, TypeError, RecursionError):
        status = None
    return status.upper() if isinstance(status, str) and status else Unknown("nvidia-imex-ctl told no status")


def parse_imex_daemon(text: str) -> str | Unknown:
    """The one word of `nvidia-imex-ctl -q`."""
    word = text.strip().upper()
    return word if re.fullmatch(r"[A-Z_]+", word) else Unknown("nvidia-imex-ctl told no state")


def collect_cuda_toolkits(host: Host) -> tuple[CudaToolkit, ...] | Unknown:
    """Folders /usr/local/cuda-12.4 and the like; a link is another name of one of them."""
    try:
        paths = [path for path in host.glob("/usr/local/cuda*") if not host.is_link(path) and host.is_directory(path)]
    except OSError as error:
        return unknown_from(error)
    return tuple(_toolkit(host, path) for path in _with_contents(host, paths))


def _with_contents(host: Host, paths: Iterable[str]) -> list[str]:
    """A folder that only holds compatibility libraries is no toolkit."""
    return [path for path in paths if try_exists(host, f"{path}/version.json") or try_exists(host, f"{path}/bin/nvcc")]


def _toolkit(host: Host, path: str) -> CudaToolkit:
    text = try_read_text(host, f"{path}/version.json")
    return CudaToolkit(path, parse_cuda_version(text) if isinstance(text, str) else text)


def parse_cuda_version(text: str) -> str | None:
    """The version of the component "cuda" in a toolkit's version.json."""
    import json

    try:
        document = json.loads(text)
        version = document["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version if isinstance(version, str) else None
