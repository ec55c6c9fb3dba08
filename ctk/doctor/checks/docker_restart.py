"""Whether the running dockerd has in force what its file says, and what would bring it into force."""

from typing import TYPE_CHECKING, NamedTuple

from ctk.doctor.checks.docker_files import wanted_default
from ctk.doctor.checks.engine_applies import (
    config_evidence,
    each_of,
    files_of,
    is_later,
    restart_command,
)
from ctk.doctor.model import (
    Evidence,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.engines import EngineDaemon

if TYPE_CHECKING:
    from ctk.facts.engines import EngineFiles, EngineInstallation
    from ctk.facts.snapshot import Snapshot

DOCKER = "docker"
RELOADABLE = frozenset({"runtimes", "default-runtime", "live-restore"})
"""What dockerd takes up on SIGHUP (docs.docker.com, dockerd, "Configuration reload behavior"); CDI is not among it."""


class Difference(NamedTuple):
    """One setting on which file and running daemon do not agree."""

    key: str
    in_file: str
    in_force: str


def check_restart_needed(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """By dockerd's own word; where it may not be asked, the times only say that something may be pending."""
    return each_of(snapshot, DOCKER, _judge_restart)


def _judge_restart(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    if isinstance(item.running, Unknown):
        return unseen(item.running)
    if not item.running:
        return skipped("it does not run: it reads its file when it starts")
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if not isinstance(item.daemon, EngineDaemon):
        return _judge_by_time(item, files)
    found = find_differences(item, files, item.daemon)
    if not found:
        return passed("the running dockerd agrees with its file", config_evidence(item, "the same in GET /info"))
    keys = ", ".join(dict.fromkeys(difference.key for difference in found))
    needs_start = [difference.key for difference in found if difference.key not in RELOADABLE]
    verb = "a restart" if needs_start else "a reload"
    return failed(
        f"{item.config_path} is not in force, {verb} is pending: {keys}",
        *(Evidence(f"{one.key}: {one.in_file} in the file, {one.in_force} in force", "GET /info") for one in found),
        *_times(item, files),
        remedy=_restart_remedy(item, needs_start),
    )


def find_differences(item: "EngineInstallation", files: "EngineFiles", daemon: EngineDaemon) -> list[Difference]:
    """What the file says otherwise than the daemon; what it does not say is the daemon's own business."""
    found = []
    known = {entry.name: entry.path for entry in daemon.runtimes}
    for entry in files.runtimes:
        if entry.name not in known:
            found.append(Difference("runtimes", f"{entry.name} = {entry.path or entry.kind}", "nothing"))
        elif entry.path and known[entry.name] not in (None, entry.path):
            found.append(Difference("runtimes", f"{entry.name} = {entry.path}", str(known[entry.name])))
    default = wanted_default(item, files)
    if daemon.default_runtime and daemon.default_runtime != default:
        found.append(Difference("default-runtime", default, daemon.default_runtime))
    return found + _other_differences(files, daemon)


def _other_differences(files: "EngineFiles", daemon: EngineDaemon) -> list[Difference]:
    pairs: list[tuple[str, object, object]] = [
        ("live-restore", files.live_restore, daemon.live_restore),
        ("exec-opts", files.cgroup_driver, daemon.cgroup_driver),
    ]
    folders = daemon.cdi_directories
    if folders is not None:
        pairs.append(("features.cdi", files.cdi_enabled, bool(folders)))
        pairs.append(("cdi-spec-dirs", files.cdi_directories, folders if folders else None))
    return [
        Difference(key, _words(wanted), _words(told))
        for key, wanted, told in pairs
        if wanted is not None and told is not None and wanted != told
    ]


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _times(item: "EngineInstallation", files: "EngineFiles") -> tuple[Evidence, ...]:
    times = (
        [Evidence(f"changed {files.changed_at}", files.changed_path or item.config_path)] if files.changed_at else []
    )
    if isinstance(item.running_since, str):
        times.append(Evidence(f"dockerd runs since {item.running_since}", f"/proc/{item.pid}/stat"))
    return tuple(times)


def _restart_remedy(item: "EngineInstallation", needs_start: list[str]) -> Remedy:
    if not needs_start:
        return Remedy(
            "Let dockerd read its file again: a reload covers runtimes, default-runtime and live-restore, and stops "
            "no container",
            (restart_command(item, reload=True),),
        )
    command = restart_command(item)
    stops = (
        "which stops all containers (live-restore is off)" if command.stops_containers else "containers keep running"
    )
    return Remedy(
        f"Restart Docker, {stops}: a reload does not cover {', '.join(dict.fromkeys(needs_start))}", (command,)
    )


def _judge_by_time(item: "EngineInstallation", files: "EngineFiles") -> Outcome:
    """A reload leaves no trace in the start time, so this is never a failure."""
    why = item.daemon if isinstance(item.daemon, Unknown) else Unknown("dockerd was not asked")
    if not isinstance(item.running_since, str):
        return unseen(item.running_since if isinstance(item.running_since, Unknown) else why)
    if not is_later(files.changed_at, item.running_since):
        return passed("its file is older than the running dockerd", *_times(item, files))
    return warned(
        f"{files.changed_path} was changed after dockerd started; whether it was reloaded since could not be asked "
        f"({why.reason})",
        *_times(item, files),
        remedy=_restart_remedy(item, []),
    )
