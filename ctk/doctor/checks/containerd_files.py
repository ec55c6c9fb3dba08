"""containerd's files: whether it takes them, which of them it reads, and under which plugin's name."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.engine_applies import (
    OWN_NAME,
    config_evidence,
    configure_command,
    each_of,
    files_of,
    nvidia_runtimes,
    place_of,
    restart_command,
    serves_pods,
    version_of,
)
from ctk.doctor.model import CRITICAL, HIGH, Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, warned
from ctk.engines.containerd_reading import plugin_table
from ctk.facts.engines import GENERATED_ONLY, NOT_IMPORTED, OTHER_PLUGIN

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation, UnreadRuntime
    from ctk.facts.snapshot import Snapshot

CONTAINERD = "containerd"
TWO = (2, 0)


def check_config_parse(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A running containerd goes on with what it read at its start; the next start fails."""
    return each_of(snapshot, CONTAINERD, judge_parse)


def judge_parse(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    """Whether an engine takes its files; an edit that will not last is a warning."""
    del snapshot
    fatal = [fault for fault in item.faults if fault.is_fatal]
    if fatal:
        fault = fatal[0]
        place = place_of(fault.path, fault.line)
        later = "; the running one keeps what it read before" if item.running is True else ""
        return failed(
            f"{item.engine} does not take {fault.path}: {fault.message}{later}",
            *(Evidence(one.message, place_of(one.path, one.line)) for one in fatal),
            remedy=Remedy(f"Correct {place}, then restart {item.engine}", _parse_commands(item)),
        )
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    lost = [entry for entry in item.unread if entry.reason == GENERATED_ONLY]
    if lost:
        return warned(
            f"the runtime {lost[0].name!r} is only in {lost[0].file}, which is written anew from {lost[0].detail}",
            Evidence(lost[0].name, lost[0].file),
            Evidence("no runtime of NVIDIA's", lost[0].detail),
            remedy=Remedy("Write it into the template", (configure_command(item), restart_command(item))),
        )
    return passed("its files can be read", config_evidence(item, f"{1 + len(item.drop_ins)} files"))


def _parse_commands(item: "EngineInstallation") -> tuple[Command, ...]:
    program = item.binary if isinstance(item.binary, str) else item.engine
    asks = {
        "containerd": f"{program} --config {item.config_path} config dump",
        "crio": f"{program} --config {item.config_path} config",
    }
    check = (Command(asks[item.engine]),) if item.engine in asks else ()
    return (*check, restart_command(item))


def check_config_version(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """The table has another name in each version of the file; containerd passes over those it does not know."""
    return each_of(snapshot, CONTAINERD, _judge_version)


def _judge_version(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    version = files.config_version
    wrong = [entry for entry in item.unread if entry.reason == OTHER_PLUGIN]
    if wrong:
        return failed(
            f"the runtime {wrong[0].name!r} stands under the plugin {wrong[0].detail!r}, which containerd does not "
            f"read in a file of version {version or 2}: the right table is [{plugin_table(version)}]",
            *(Evidence(f"{entry.name} under {entry.detail}", entry.file) for entry in wrong),
            config_evidence(item, f"version {version or 2}"),
            _engine_evidence(item),
            remedy=_version_remedy(item),
        )
    if version == 1 and serves_pods(item) and nvidia_runtimes(item):
        return warned(
            f"{item.config_path} is of version 1, which containerd 2 no longer reads",
            config_evidence(item, "version 1"),
            remedy=_version_remedy(item),
        )
    if version is None:
        return passed("the file is empty or absent: the defaults hold", config_evidence(item, "nothing"))
    return passed(f"it is of version {version}", config_evidence(item, f"version {version}"))


def _engine_evidence(item: "EngineInstallation") -> Evidence:
    return Evidence(item.version if isinstance(item.version, str) else "version not known", str(item.binary))


def _version_remedy(item: "EngineInstallation") -> Remedy:
    engine = version_of(item)
    can_migrate = engine is None or engine >= (1, 7)
    migrate = (Command(f"containerd --config {item.config_path} config migrate # shows the file as it should be"),)
    return Remedy(
        "Register the runtime anew in the right table, and take the other one out; then restart containerd",
        (*(migrate if can_migrate else ()), configure_command(item), restart_command(item)),
    )


def check_imports(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """containerd reads a drop-in only if an import of the main file names it."""
    return each_of(snapshot, CONTAINERD, _judge_imports)


def _judge_imports(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    unread = [entry for entry in item.unread if entry.reason == NOT_IMPORTED]
    registered = {entry.name for entry in nvidia_runtimes(item)}
    lost = [entry for entry in unread if entry.name not in registered]
    if lost:
        return _not_imported(item, lost)
    untyped = [entry for entry in nvidia_runtimes(item) if not entry.kind and entry.file != item.config_path]
    if untyped:
        return failed(
            f"the runtime {untyped[0].name!r} has no runtime_type: containerd cannot start it",
            Evidence("no runtime_type", str(untyped[0].file)),
            remedy=_import_remedy(item),
        )
    if unread:
        return noted(
            f"{unread[0].file} is not imported; the runtime is registered elsewhere", _unread_evidence(unread[0])
        )
    if not item.drop_ins:
        return skipped("there is no drop-in with a runtime of NVIDIA's")
    return passed("all its drop-ins are imported", *(Evidence("imported", path) for path in item.drop_ins))


def _not_imported(item: "EngineInstallation", lost: "list[UnreadRuntime]") -> Outcome:
    imports = ", ".join(item.imports) or "none"
    return failed(
        f"{lost[0].file} registers {lost[0].name!r}, but no import of {item.config_path} names it: it has no effect",
        *(_unread_evidence(entry) for entry in lost),
        config_evidence(item, f"imports: {imports}"),
        remedy=_import_remedy(item),
    )


def _unread_evidence(entry: "UnreadRuntime") -> Evidence:
    return Evidence(f"{entry.name}, not imported", entry.file)


def _import_remedy(item: "EngineInstallation") -> Remedy:
    return Remedy(
        "Register it where containerd reads it, then restart containerd; its containers keep running",
        (configure_command(item), restart_command(item)),
    )


def check_default(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A default without an entry keeps the CRI plugin from loading: no pod starts."""
    return each_of(snapshot, CONTAINERD, _judge_default)


def _judge_default(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if files.disabled_plugins:
        return skipped("its CRI plugin is switched off")
    name = files.dangling_default
    if name is not None:
        return failed(
            f"the default runtime is {name!r}, but there is no such runtime: the CRI plugin does not load",
            config_evidence(item, f"default_runtime_name = {files.default_runtime or name}"),
            Evidence(f"runtimes: {', '.join(entry.name for entry in files.runtimes) or 'none'}", item.config_path),
            remedy=Remedy(
                f"Write the entry {name!r} into {item.config_path}, or name another default; then restart containerd",
                (*((configure_command(item),) if name in (OWN_NAME, "runc") else ()), restart_command(item)),
            ),
            severity=CRITICAL if serves_pods(item) else HIGH,
        )
    default = files.default_runtime or "runc"
    return noted(f"the default runtime is {default}", config_evidence(item, f"default_runtime_name = {default}"))


def check_cri_disabled(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Docker's package of containerd switches it off, because Docker needs none."""
    return each_of(snapshot, CONTAINERD, _judge_cri)


def _judge_cri(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if not files.disabled_plugins:
        return passed("its CRI plugin is on") if serves_pods(item) else skipped("no kubelet uses it")
    evidence = config_evidence(item, f"disabled_plugins = {', '.join(files.disabled_plugins)}")
    if serves_pods(item):
        return failed(
            "the kubelet uses this containerd, but its CRI plugin is switched off", evidence, remedy=_cri(item)
        )
    if nvidia_runtimes(item):
        return noted(
            "it registers NVIDIA's runtime, but its CRI plugin is switched off: the entry has no effect", evidence
        )
    return skipped("no kubelet uses it")


def _cri(item: "EngineInstallation") -> Remedy:
    return Remedy(
        f"Take cri out of disabled_plugins in {item.config_path}, then restart containerd; containers keep running",
        (restart_command(item),),
    )
