"""CRI-O: whether it runs, takes its files, can start NVIDIA's runtime, and has all of it in force."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.containerd_files import judge_parse
from ctk.doctor.checks.containerd_runtime import binary_remedy, judge_restart
from ctk.doctor.checks.docker_kinds import judge_running
from ctk.doctor.checks.engine_applies import (
    GROUP,
    OWN_NAME,
    config_evidence,
    configure_command,
    each_of,
    files_of,
    has_device,
    nvidia_runtimes,
    restart_command,
    serves_pods,
    visible_specs,
)
from ctk.doctor.checks.toolkit_applies import without_toolkit
from ctk.doctor.model import (
    FAIL,
    HIGH,
    INSTALL,
    PASS,
    TRIAGE,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.engines import OTHER_FOLDER

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot

CRIO = "crio"


def check_running(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """The kubelet depends on it."""
    return each_of(snapshot, CRIO, judge_running)


def check_config(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """What keeps it from starting first, then what keeps NVIDIA's runtime from being used."""
    return each_of(snapshot, CRIO, _judge_config)


def _judge_config(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    parsed = judge_parse(snapshot, item)
    files = files_of(item)
    if parsed.status != PASS or isinstance(files, Outcome):
        return parsed
    if files.dangling_default is not None:
        return failed(
            f"the default runtime is {files.dangling_default!r}, but no file defines it: CRI-O does not start",
            config_evidence(item, f"default_runtime = {files.dangling_default}"),
            remedy=Remedy(
                f"Define {files.dangling_default!r}, or name another default_runtime; then restart CRI-O",
                (*((configure_command(item),) if files.dangling_default == OWN_NAME else ()), restart_command(item)),
            ),
        )
    broken = _judge_programs(item)
    if broken.status == FAIL:
        return broken
    unread = [entry for entry in item.unread if entry.reason == OTHER_FOLDER]
    if unread:
        return warned(
            f"{unread[0].file} registers {unread[0].name!r}, but CRI-O reads {item.drop_in_directory} only",
            *(Evidence(f"{entry.name}, not read", entry.file) for entry in unread),
            remedy=Remedy(
                "Register it where CRI-O reads it, and take the other file away",
                (
                    configure_command(item),
                    Command(f"mv {unread[0].file} {unread[0].file}.disabled"),
                    restart_command(item),
                ),
            ),
        )
    return broken if nvidia_runtimes(item) else _judge_missing(snapshot, item)


def _judge_programs(item: "EngineInstallation") -> Outcome:
    """The runtime's program, and the monitor that CRI-O starts for every container."""
    files = files_of(item)
    default = None if isinstance(files, Outcome) else files.default_runtime
    for entry in nvidia_runtimes(item):
        source = entry.file or item.config_path
        if entry.unseen:
            return unseen(Unknown(entry.unseen))
        if entry.fault:
            return failed(
                f"the runtime {entry.name!r} cannot be started: {entry.fault}",
                Evidence(f"runtime_path = {entry.path}", source),
                remedy=binary_remedy(item, default == entry.name),
            )
        if entry.monitor_fault:
            return failed(
                f"the runtime {entry.name!r} cannot be started: its monitor_path is gone: {entry.monitor_fault}",
                Evidence(f"monitor_path = {entry.monitor}", source),
                remedy=_monitor_remedy(item, source),
            )
    return passed(
        "its files can be read, and NVIDIA's runtime can be started",
        *(Evidence(f"{entry.name} = {entry.path}", entry.file or item.config_path) for entry in nvidia_runtimes(item)),
    )


def _monitor_remedy(item: "EngineInstallation", source: str) -> Remedy:
    return Remedy(
        f"Let ctk write the monitor's path anew, or correct monitor_path in {source}; restart CRI-O, whose containers "
        "keep running",
        (configure_command(item), restart_command(item)),
    )


def _judge_missing(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    """CRI-O has CDI always on, so the runtime is needed only where no spec serves the GPUs."""
    outside = without_toolkit(snapshot)
    gpu = has_device(snapshot)
    if outside is not None or gpu is False or not serves_pods(item):
        return passed("its files can be read; no runtime of NVIDIA's is registered, and none is needed here")
    specs = visible_specs(snapshot, item)
    unknown = gpu if isinstance(gpu, Unknown) else specs
    if isinstance(unknown, Unknown):
        return unseen(unknown)
    if not isinstance(specs, Unknown) and specs:
        return noted("no runtime of NVIDIA's is registered; CDI serves the GPUs", Evidence("CDI spec", specs[0].path))
    hooks = snapshot.toolkit_setup if isinstance(snapshot.toolkit_setup, Unknown) else snapshot.toolkit_setup.hooks
    if isinstance(hooks, Unknown):
        return unseen(hooks)
    if hooks:
        return noted(
            "no runtime of NVIDIA's is registered; a hook file serves the GPUs", Evidence("hook", hooks[0].file)
        )
    return failed(
        "no runtime of NVIDIA's is registered: pods that ask for the handler nvidia do not start",
        config_evidence(item, "no crio.runtime.runtimes.nvidia"),
        Evidence("read too", item.drop_in_directory or ""),
        remedy=Remedy(
            "Register it, then restart CRI-O; its containers keep running",
            (configure_command(item), restart_command(item)),
        ),
    )


def check_restart_needed(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """By times alone, so never more than a warning: a reload leaves no trace in them."""
    return each_of(snapshot, CRIO, judge_restart)


CRIO_CHECKS: tuple[Check, ...] = (
    Check(
        id="runtime.crio.running",
        title="CRI-O answers",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_running,
        reads="the process, whether some target wants its unit, a connection to its socket",
        rule="fail when it is enabled and does not run, or runs and does not answer",
        source="crio(8)",
        needs=("runtime.any", "runtime.crio.config"),
        explains=("container runtime is not running (kubelet)", "connection refused on crio.sock"),
        remedy=Remedy("Look why it stopped, then start it"),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="runtime.crio.config",
        title="drop-ins parse and register nvidia",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_config,
        reads="crio.conf, the drop-ins, the programs named there, folders beside them",
        rule="fail on a broken file, a default without an entry, a program that is gone, or no runtime where one is "
        "needed; warn about a file in a folder that is not read",
        source="crio.conf(5); cri-o/cri-o 8385; NVIDIA/nvidia-container-toolkit 1829",
        needs=("toolkit.installed", "toolkit.binaries", "toolkit.multiple-installs"),
        explains=("failed to find runtime handler nvidia", "fork/exec …/conmon: no such file or directory"),
        remedy=Remedy(
            "Correct the file, or let ctk write the entry anew; then start CRI-O anew",
            (Command("ctk runtime configure --runtime=crio"),),
        ),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="runtime.crio.restart-needed",
        title="daemon loaded present files",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_restart_needed,
        reads="when the process started, when the files with NVIDIA's runtime were changed",
        rule="warn when those files are newer: whether it was reloaded since does not show",
        source="crio(8), live configuration reload",
        needs=("runtime.crio.config",),
        explains=("failed to find runtime handler nvidia, although the drop-in exists",),
        remedy=Remedy("Start CRI-O anew; its containers keep running"),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
)
