"""Docker's daemon.json: whether dockerd takes it, with its flags; whether it is in force is judged beside it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.engine_applies import (
    OWN_NAME,
    config_evidence,
    configure_command,
    each_of,
    files_of,
    flag_runtimes,
    nvidia_runtimes,
    place_of,
    restart_command,
    version_of,
)
from ctk.doctor.model import (
    HIGH,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    warned,
)
from ctk.engines.docker_reading import MERGED_MEMBERS, member_of

if TYPE_CHECKING:
    from ctk.facts.engines import EngineFiles, EngineFlag, EngineInstallation
    from ctk.facts.snapshot import Snapshot

DOCKER = "docker"
STOCK = "runc"
MERGES_SINCE = (18, 9)


def check_config_parse(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A running dockerd goes on with what it read at its start; the next start fails."""
    return each_of(snapshot, DOCKER, _judge_parse)


def _judge_parse(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    fatal = [fault for fault in item.faults if fault.is_fatal]
    if fatal:
        fault = fatal[0]
        later = "; the running one keeps what it read before" if item.running is True else ""
        return failed(
            f"dockerd does not start with {item.config_path}: {fault.message}{later}",
            Evidence(fault.message, _fault_place(fault.path, fault.line, fault.column)),
            remedy=_parse_remedy(item),
        )
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if item.faults:
        evidence = [
            Evidence(fault.message, _fault_place(fault.path, fault.line, fault.column)) for fault in item.faults
        ]
        return warned(f"{item.config_path}: {item.faults[0].message}", *evidence)
    if item.config_exists is False:
        return passed(f"there is no {item.config_path}: the defaults hold")
    return passed(f"{item.config_path} can be read", config_evidence(item, f"{len(files.keys)} members"))


def _fault_place(path: str, line: int | None, column: int | None) -> str:
    return place_of(path, line) if column is None else f"{path} line {line}, column {column}"


def _parse_remedy(item: "EngineInstallation") -> Remedy:
    program = item.binary if isinstance(item.binary, str) else "dockerd"
    return Remedy(
        "Correct the file, let dockerd check it (from release 23 on), then restart it",
        (Command(f"{program} --validate --config-file={item.config_path}"), restart_command(item)),
    )


def check_flag_conflict(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """dockerd does not start with a setting that is given twice, even to the same value."""
    return each_of(snapshot, DOCKER, _judge_flags)


def _judge_flags(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    twice = [flag for flag in item.flags if member_of(flag.name) in files.keys]
    clashes = [flag for flag in twice if member_of(flag.name) not in MERGED_MEMBERS]
    if clashes:
        flag = clashes[0]
        return failed(
            f"{member_of(flag.name)!r} is set by a flag and in {item.config_path}: dockerd does not start with both",
            *_both_places(item, clashes),
            remedy=_flag_remedy(item, flag),
        )
    return _judge_merged(item, twice)


def _judge_merged(item: "EngineInstallation", twice: "list[EngineFlag]") -> Outcome:
    """Two lists of runtimes are merged by dockerd since 18.09, and the file's entry wins."""
    if not twice:
        return passed("no setting is given both by a flag and in the file")
    version = version_of(item)
    if version is not None and version < MERGES_SINCE:
        return failed(
            f"runtimes are set by a flag and in {item.config_path}: dockerd before 18.09 does not start with both",
            *_both_places(item, twice),
            remedy=_flag_remedy(item, twice[0]),
        )
    in_file = {entry.name: entry.path for entry in nvidia_runtimes(item)}
    other = [name for name, path in flag_runtimes(item) if name in in_file and in_file[name] != path]
    if other:
        return warned(
            f"the runtime {other[0]!r} is set by a flag and, with another path, in {item.config_path}, which wins",
            *_both_places(item, twice),
            remedy=_flag_remedy(item, twice[0]),
        )
    return passed("runtimes are set by flags and in the file, which dockerd merges", *_both_places(item, twice))


def _both_places(item: "EngineInstallation", flags: "list[EngineFlag]") -> tuple[Evidence, ...]:
    found = []
    for flag in flags:
        words = f"--{flag.name}={flag.value}" if flag.value else f"--{flag.name}"
        found += [
            Evidence(words, place_of(flag.origin, flag.line)),
            Evidence(member_of(flag.name), item.config_path),
        ]
    return tuple(found)


def _flag_remedy(item: "EngineInstallation", flag: "EngineFlag") -> Remedy:
    is_packaged = flag.origin.startswith(("/usr/lib/", "/lib/"))
    place = f"{flag.origin} (by a drop-in: systemctl edit {item.unit})" if is_packaged else flag.origin
    return Remedy(
        f"Keep one of the two: take --{flag.name} out of {place}, or {member_of(flag.name)!r} out of "
        f"{item.config_path}; then restart Docker",
        (Command("systemctl daemon-reload"), restart_command(item)),
    )


def check_default(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Whether nvidia should be the default is a matter of security; a default without an entry is a fault."""
    return each_of(snapshot, DOCKER, _judge_default)


def _judge_default(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if files.dangling_default is not None:
        return failed(
            f"the default runtime is {files.dangling_default!r}, but there is no such runtime: dockerd does not start",
            config_evidence(item, f"default-runtime = {files.dangling_default}"),
            remedy=Remedy(
                f"{_take_default_out(item, files.dangling_default)}; then restart Docker",
                (*_register_default(item, files.dangling_default), restart_command(item)),
            ),
            severity=HIGH,
        )
    name = wanted_default(item, files)
    return noted(f"the default runtime is {name}", config_evidence(item, f"default-runtime = {name}"))


def _take_default_out(item: "EngineInstallation", name: str) -> str:
    out = f"take the line default-runtime out of {item.config_path}, and runc is the default again"
    return f"Register {name!r}, or {out}" if name == OWN_NAME else f"{out[0].upper()}{out[1:]}, or register {name!r}"


def _register_default(item: "EngineInstallation", name: str) -> tuple[Command, ...]:
    """ctk registers NVIDIA's runtime alone."""
    return (configure_command(item),) if name == OWN_NAME else ()


def wanted_default(item: "EngineInstallation", files: "EngineFiles") -> str:
    by_flag = [flag.value for flag in item.flags if flag.name == "default-runtime" and flag.value]
    return files.default_runtime or (by_flag[-1] if by_flag else STOCK)
