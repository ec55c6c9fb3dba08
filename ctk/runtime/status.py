"""`ctk runtime status`: what the files say of a runtime, and whether the running daemon agrees; changes nothing."""

from typing import TYPE_CHECKING, NamedTuple

from ctk.engines.base import RuntimeView
from ctk.errors import CtkError, ReadFault
from ctk.facts import Unknown
from ctk.facts.engines import EngineDaemon, EngineInstallation
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
    config_exists: bool | Unknown = True


def collect_status(host: "Host", target: Target, name: str) -> RuntimeStatus:
    """Look at one installation; a file that cannot be read is in the answer, not an exception."""
    try:
        sources = _sources(host, target)
        view = _view(host, target, sources, name)
    except CtkError as error:
        return RuntimeStatus(target, None, "", FILES_ONLY, "the files cannot be read", error)
    from ctk.host.programs import program_fault

    fault = program_fault(host, view.path) if view.path else ""
    state, detail = _live_daemon(host, target, sources, view, name)
    return RuntimeStatus(target, view, fault, state, detail, config_exists=sources[0].data is not None)


def recorded_status(record: EngineInstallation, name: str) -> RuntimeStatus:
    """The same from a snapshot, which holds what the files and the daemon said of runtimes."""
    target = Target(record.engine, record.installation, record.config_path, record)
    files = record.files
    if isinstance(files, Unknown):
        error = ReadFault(f"cannot tell the runtimes of {record.config_path}: {files.reason}", path=record.config_path)
        return RuntimeStatus(target, None, "", FILES_ONLY, "the files were not read", error)
    entry = next((item for item in files.runtimes if item.name == name), None)
    view = RuntimeView(
        registered=entry is not None,
        path=entry.path if entry else None,
        file=entry.file if entry else None,
        is_default=files.default_runtime == name,
        default_runtime=files.default_runtime,
        cdi_enabled=files.cdi_enabled,
    )
    state, detail = _judge(record, record.daemon, view, name, files.changed_at, files.changed_path)
    return RuntimeStatus(target, view, entry.fault if entry else "", state, detail, config_exists=record.config_exists)


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
    from ctk.engines import containerd_view, crio, docker

    layers = tuple(source.layer() for source in sources)
    if target.engine == "containerd":  # its version decides only how several files are merged
        version = containerd_version(host, target) if len(layers) > 1 else None
        return containerd_view.view(layers, name, version, merged_elsewhere=_merged(host, target))
    views = {"docker": docker.view, "crio": crio.view}
    return views[target.engine](layers, name)


def _live_daemon(
    host: "Host", target: Target, sources: tuple[Source, ...], view: RuntimeView, name: str
) -> tuple[str, str]:
    from ctk.host.engine_daemons import collect_engine_daemon
    from ctk.host.processes import format_time

    if target.record is None:
        return NOT_RUNNING, "daemon not running: file view only"
    times = [(host.stat(source.path).st_mtime, source.path) for source in sources if source.data is not None]
    changed, path = max(times, default=(None, None))
    daemon = collect_engine_daemon(host, target.record)
    return _judge(target.record, daemon, view, name, None if changed is None else format_time(changed), path)


def _judge(
    record: EngineInstallation,
    daemon: EngineDaemon | None | Unknown,
    view: RuntimeView,
    name: str,
    changed_at: str | None,
    changed_path: str | None,
) -> tuple[str, str]:
    """Whether the running daemon agrees with the files: by its own word where it can be asked, else by time."""
    if isinstance(record.running, Unknown):
        return FILES_ONLY, f"not known, file view only: {record.running.reason}"
    if not record.running:
        return NOT_RUNNING, "daemon not running: file view only"
    if isinstance(daemon, Unknown):
        return FILES_ONLY, f"daemon not reachable: file view only ({daemon.reason})"
    if daemon is not None:
        return _by_word(record, daemon, view, name)
    return _by_time(record.running_since, changed_at, changed_path)


def _by_word(record: EngineInstallation, daemon: EngineDaemon, view: RuntimeView, name: str) -> tuple[str, str]:
    known = {item.name: item.path for item in daemon.runtimes}
    if view.registered and name not in known:
        return PENDING, f"restart pending: the running daemon does not know {name!r} yet"
    if not view.registered and name in known:
        return LOST, f"will be lost at next restart: the daemon knows {name!r}, {record.config_path} does not"
    if view.registered and view.path and known[name] not in (None, view.path):
        return PENDING, f"restart pending: the running daemon uses {known[name]}, the file says {view.path}"
    default = view.default_runtime or "runc"
    if daemon.default_runtime != default:
        return PENDING, f"restart pending: the running daemon's default is {daemon.default_runtime!r}, not {default!r}"
    return AGREES, "the running daemon agrees"


def _by_time(since: str | None | Unknown, changed_at: str | None, path: str | None) -> tuple[str, str]:
    """containerd and CRI-O read their files once, when they start: a file that is newer is not in force yet."""
    from datetime import datetime

    if not isinstance(since, str):
        return FILES_ONLY, "when the daemon started is not known: file view only"
    started = datetime.fromisoformat(since).timestamp()
    if changed_at is not None and datetime.fromisoformat(changed_at).timestamp() > started + 1:
        # the start time is known to about a second
        return PENDING, f"restart pending: {path} was changed after the daemon started ({since})"
    return AGREES, f"the daemon started ({since}) after the last change of its files"
