"""Control groups from /sys/fs/cgroup and systemd's own files; it enters no group and changes none."""

import re

from ctk.facts import Unknown
from ctk.facts.cgroups import HYBRID, V1, V2, Cgroups, ContainerScope, ManagerReload, missing_links
from ctk.facts.device_nodes import DeviceNodes
from ctk.facts.toolkit import ToolBinary
from ctk.host import Host
from ctk.host.processes import format_time
from ctk.host.programs import collect_version, find_program
from ctk.host.reading import try_exists, try_read_text, unknown_from

FOLDER = "/sys/fs/cgroup"
RUNTIMES = ("runc", "crun")
SYSTEMD_LIBRARIES = (
    "/usr/lib/systemd",
    "/usr/lib64/systemd",
    "/lib/systemd",
    "/usr/lib/x86_64-linux-gnu/systemd",
    "/usr/lib/aarch64-linux-gnu/systemd",
)
SHARED_LIBRARY = re.compile(r"libsystemd-shared-(\d+)[^/]*\.so$")
"""systemd's own library carries its version: libsystemd-shared-252.so, -255.4-1ubuntu8.so, -257.9-1.el10.so."""
SCOPE = re.compile(r"([a-z-]+)-([0-9a-f]{64})\.scope$")
SCOPE_PLACES = ("system.slice/*", "kubepods.slice/*", "kubepods.slice/*/*", "kubepods.slice/*/*/*", "machine.slice/*")
SCOPE_LIMIT = 500
RELOADS = (
    "journalctl",
    "--boot",
    "--quiet",
    "--no-pager",
    "--output=short-unix",
    "--lines=50",
    "--grep=^Reload(ing|ing\\.+| requested .*)$",
    "_PID=1",
)
# 1714550400.123456 node systemd[1]: Reload requested from client PID 4532 ('systemctl') (unit session-3.scope)...
RELOAD_LINE = re.compile(r"^(\d+)\.\d+ \S+ systemd\[1\]: (Reloading\.*$|Reload requested .*)")
CLIENT = re.compile(r"client (PID \d+ \('[^']*'\)(?: \(unit [^)]*\))?)")
REQUEST_SECONDS = 2
"""A request and the reload that follows it are one."""


def collect_cgroups(host: Host, nodes: DeviceNodes | Unknown) -> Cgroups:
    """nodes: what lies below /dev; only missing links there make it worth asking the journal."""
    mode = collect_mode(host)
    systemd = collect_systemd_version(host)
    at_risk = isinstance(systemd, int) and isinstance(nodes, DeviceNodes) and bool(missing_links(nodes))
    return Cgroups(
        mode=mode,
        controllers=_collect_controllers(host, mode),
        systemd_version=systemd,
        device_programs=_collect_device_programs(host, mode),
        runtimes=tuple(_collect_runtime(host, name) for name in RUNTIMES),
        reloads=collect_reloads(host) if at_risk else None,
        scopes=collect_scopes(host, mode) if at_risk else None,
    )


def _collect_runtime(host: Host, name: str) -> ToolBinary:
    path = find_program(host, (name,))
    version = collect_version(host, path) if isinstance(path, str) else path
    return ToolBinary(
        name=name, path=path, version=version, executable=path if isinstance(path, Unknown) else path is not None
    )


def collect_mode(host: Host) -> str | None | Unknown:
    """By the files of the hierarchies: version 2 alone has its controllers at the top (cgroups(7))."""
    places = (f"{FOLDER}/cgroup.controllers", f"{FOLDER}/unified/cgroup.controllers", f"{FOLDER}/devices")
    answers = [try_exists(host, place) for place in (*places, FOLDER)]
    hidden = [answer for answer in answers if isinstance(answer, Unknown)]
    if hidden:
        return hidden[0]
    top, beside, devices, folder = answers
    if top:
        return V2
    if devices:
        return HYBRID if beside else V1
    return None if folder else Unknown(f"no {FOLDER}")


def _collect_controllers(host: Host, mode: str | None | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(mode, Unknown):
        return mode
    if mode == V2:
        text = try_read_text(host, f"{FOLDER}/cgroup.controllers")
        return text if isinstance(text, Unknown) else tuple((text or "").split())
    try:
        return tuple(name for name in host.list_directory(FOLDER) if name not in ("systemd", "unified"))
    except OSError as error:
        return unknown_from(error)


def collect_systemd_version(host: Host) -> int | None | Unknown:
    """From the name of its library: asking the program would start one."""
    if try_exists(host, "/run/systemd/system") is False:
        return None
    for folder in SYSTEMD_LIBRARIES:
        try:
            names = host.list_directory(folder)
        except OSError:
            continue
        versions = [int(found[1]) for name in names if (found := SHARED_LIBRARY.search(name))]
        if versions:
            return max(versions)
    return Unknown("systemd's library was not found")


def _collect_device_programs(host: Host, mode: str | None | Unknown) -> bool | None | Unknown:
    if mode != V2 or not host.is_live:
        return None
    from ctk.host.cgroup_programs import query_device_programs

    return query_device_programs(FOLDER)


def collect_reloads(host: Host) -> tuple[ManagerReload, ...] | Unknown:
    """What the journal has of systemd's reloads in this boot, the newest last."""
    output = host.run(RELOADS)
    if output.returncode is None:
        return Unknown(output.reason)
    if output.returncode != 0 and output.stderr.strip():  # with 1 and nothing to say it found no such line
        return Unknown(output.stderr.strip().splitlines()[-1])
    return parse_reloads(output.stdout)


def parse_reloads(text: str) -> tuple[ManagerReload, ...]:
    """systemd says who asked since release 245; the reload itself follows at once."""
    found: list[tuple[int, str]] = []
    for line in sorted(text.splitlines()):
        match = RELOAD_LINE.match(line)
        if match is None:
            continue
        at, client = int(match[1]), CLIENT.search(match[2])
        if found and at - found[-1][0] <= REQUEST_SECONDS:
            continue
        found.append((at, client[1] if client else ""))
    return tuple(ManagerReload(format_time(at), requester) for at, requester in found)


def collect_scopes(host: Host, mode: str | None | Unknown) -> tuple[ContainerScope, ...] | Unknown:
    """The containers that systemd keeps in scopes of their own."""
    if not isinstance(mode, str):
        return mode or Unknown("no control groups")
    base = FOLDER if mode == V2 else f"{FOLDER}/devices"
    try:
        paths = [path for place in SCOPE_PLACES for path in host.glob(f"{base}/{place}.scope")]
    except OSError as error:
        return unknown_from(error)
    return tuple(scope for path in paths[:SCOPE_LIMIT] if (scope := _scope(host, path)) is not None)


def _scope(host: Host, path: str) -> ContainerScope | None:
    name = path.rpartition("/")[2]
    found = SCOPE.match(name)
    if found is None:
        return None
    text = try_read_text(host, f"{path}/cgroup.procs")
    pids = tuple(int(word) for word in text.split() if word.isdigit()) if isinstance(text, str) else ()
    try:
        started = format_time(host.stat(path).st_mtime)
    except OSError:
        return None  # it has ended meanwhile
    return ContainerScope(name, found[2], started, pids)
