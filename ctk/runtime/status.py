"""`ctk runtime status`: what the files say of a runtime, and whether the running daemon agrees; changes nothing."""

from typing import TYPE_CHECKING, NamedTuple

from ctk.engines.base import RuntimeView
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.runtime.binaries import binary_fault
from ctk.runtime.request import Request
from ctk.runtime.sources import Source, read_containerd, read_crio, read_source
from ctk.runtime.targets import Target, containerd_version

if TYPE_CHECKING:
    from ctk.host import Host

AGREES, PENDING, LOST, NOT_RUNNING, FILES_ONLY = (
    "agrees",
    "restart-pending",
    "lost-at-restart",
    "not-running",
    "files-only",
)


class RuntimeStatus(NamedTuple):
    """One engine's state. error: why the files could not be read, then view is None.

    daemon is agrees, restart-pending, lost-at-restart, not-running or files-only; daemon_detail says why.
    """

    target: Target
    view: RuntimeView | None
    binary_fault: str
    daemon: str
    daemon_detail: str
    error: CtkError | None = None


def collect_status(host: "Host", target: Target, name: str) -> RuntimeStatus:
    """Look at one installation; a file that cannot be read is in the answer, not an exception."""
    try:
        sources = _sources(host, target)
        view = _view(host, target, sources, name)
    except CtkError as error:
        return RuntimeStatus(target, None, "", FILES_ONLY, "the files cannot be read", error)
    fault = binary_fault(host, view.path) if view.path else ""
    daemon, detail = _daemon(host, target, sources, view, name)
    return RuntimeStatus(target, view, fault, daemon, detail)


def _sources(host: "Host", target: Target) -> tuple[Source, ...]:
    if target.engine == "docker":
        return (read_source(host, target.config),)
    if target.engine == "containerd":
        return read_containerd(host, target.config, _merged(host, target))
    from ctk.runtime.configure import crio_places

    folder, _ = crio_places(Request(engine="crio"), target)
    return read_crio(host, target.config, folder, target.config)


def _merged(host: "Host", target: Target) -> str | None:
    from ctk.runtime.treatments import merged_drop_in

    return merged_drop_in(host, target)


def _view(host: "Host", target: Target, sources: tuple[Source, ...], name: str) -> RuntimeView:
    from ctk.engines import containerd, crio, docker

    layers = tuple(source.layer() for source in sources)
    if target.engine == "containerd":  # its version decides only how several files are merged
        version = containerd_version(host, target) if len(layers) > 1 else None
        return containerd.view(layers, name, version, merged_elsewhere=_merged(host, target))
    views = {"docker": docker.view, "crio": crio.view}
    return views[target.engine](layers, name)


def _daemon(host: "Host", target: Target, sources: tuple[Source, ...], view: RuntimeView, name: str) -> tuple[str, str]:
    record = target.record
    running = record.running if record else False
    if isinstance(running, Unknown):
        return FILES_ONLY, f"not known, file view only: {running.reason}"
    if not running:
        return NOT_RUNNING, "daemon not running: file view only"
    if target.engine == "docker":
        return _docker(host, target, view, name)
    return _by_time(host, target, sources)


def _docker(host: "Host", target: Target, view: RuntimeView, name: str) -> tuple[str, str]:
    """dockerd tells its runtimes itself."""
    from ctk.host.docker_api import collect_docker_info

    info = collect_docker_info(host, target.socket)
    if isinstance(info, Unknown):
        return FILES_ONLY, f"daemon not reachable: file view only ({info.reason})"
    if view.registered and name not in info.runtimes:
        return PENDING, f"restart pending: the running daemon does not know {name!r} yet"
    if not view.registered and name in info.runtimes:
        return LOST, f"will be lost at next restart: the daemon knows {name!r}, {target.config} does not"
    if view.registered and view.path and info.runtimes.get(name) not in ("", view.path):
        return PENDING, f"restart pending: the running daemon uses {info.runtimes[name]}, the file says {view.path}"
    default = view.default_runtime or "runc"
    if info.default_runtime != default:
        return PENDING, f"restart pending: the running daemon's default is {info.default_runtime!r}, not {default!r}"
    return AGREES, "the running daemon agrees"


def _by_time(host: "Host", target: Target, sources: tuple[Source, ...]) -> tuple[str, str]:
    """containerd and CRI-O read their files once, when they start: a file that is newer is not in force yet."""
    from datetime import datetime

    since = target.record.running_since if target.record else None
    if not isinstance(since, str):
        return FILES_ONLY, "when the daemon started is not known: file view only"
    started = datetime.fromisoformat(since).timestamp()
    for source in sources:
        if source.data is None:
            continue
        changed = host.stat(source.path).st_mtime
        if changed > started + 1:  # the start time is known to about a second
            return PENDING, f"restart pending: {source.path} was changed after the daemon started ({since})"
    return AGREES, f"the daemon started ({since}) after the last change of its files"
