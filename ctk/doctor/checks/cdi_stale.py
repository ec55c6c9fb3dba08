"""What CDI specs name against what the host has: paths, driver, GPUs, MIG devices, numbers, groups, and hooks."""

from typing import TYPE_CHECKING

from ctk.cdi.host_faults import differs, fault_of_path
from ctk.cdi.host_paths import HOOK, MOUNT, NODE, SCRIPT, host_paths_of
from ctk.cdi.kinds import GPU_KIND
from ctk.cdi.present import control_minors, present_gpus, present_instances, present_mig_uuids
from ctk.cdi.stale import Difference, compare_gpus, compare_mig, driver_version_of
from ctk.doctor.checks.applies import driver_not_loaded, elsewhere, loaded_version, no_gpu_here
from ctk.doctor.checks.cdi_applies import (
    MOST_EVIDENCE,
    SpecFile,
    cdi_of,
    regenerate,
    specs_in_force,
    states_of,
    without_specs,
)
from ctk.doctor.model import Evidence, Outcome, failed, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiHostPath
from ctk.facts.cdi_spec import CdiSpec, SpecDeviceNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctk.facts.snapshot import Snapshot

States = dict[str, CdiHostPath]
FOR_ALL = 0o006
"""A node that everybody may read and write needs no group."""


def specs_or_outcome(snapshot: "Snapshot", *, only_nvidia: bool = True) -> tuple[Cdi, tuple[SpecFile, ...]] | Outcome:
    """The specs in force and the state of what they name; an outcome where there is nothing to say."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return cdi
    why = "" if elsewhere(snapshot) else no_gpu_here(snapshot)
    if why:
        return skipped(why)
    specs = specs_in_force(cdi, only_nvidia=only_nvidia)
    if not specs:
        return without_specs(cdi)
    if isinstance(cdi.host_paths, Unknown):
        return unseen(cdi.host_paths)
    if cdi.host_paths is None:
        return unseen(Unknown("what the specs name was not looked at"))
    return cdi, specs


def check_stale_paths(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A container's start fails at the first node or mount that is not there."""
    found = specs_or_outcome(snapshot)
    if isinstance(found, Outcome):
        return (found,)
    cdi, specs = found
    return tuple(judge_paths(snapshot, item, states_of(cdi)) for item in specs)


def judge_paths(snapshot: "Snapshot", item: SpecFile, states: States) -> Outcome:
    """The nodes and mounts of one spec."""
    missing: dict[str, Evidence] = {}
    hidden: Unknown | None = None
    for named in host_paths_of(item.spec):
        state = states.get(named.path)
        if state is None or named.role not in (NODE, MOUNT):
            continue
        if isinstance(state.kind, Unknown):
            hidden = hidden or Unknown(f"{named.path}: {state.kind.reason}")
        elif text := fault_of_path(named, state):
            missing.setdefault(named.path, Evidence(text, item.file.path))
    subject = item.file.path
    if missing:
        first = next(iter(missing.values())).value
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        evidence = tuple(missing.values())[:MOST_EVIDENCE]
        message = f"{subject} names what this host does not have: {first}{more}"
        return failed(message, *evidence, subject=subject, remedy=regenerate(snapshot, subject))
    if hidden is not None:
        return unseen(hidden, subject)
    return passed(f"every node and mount of {subject} is there", subject=subject)


def check_stale_driver(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Libraries of another version than the loaded module, even where both lie on the disk."""
    why = elsewhere(snapshot)
    if why:
        return (skipped(why),)
    found = specs_or_outcome(snapshot)
    if isinstance(found, Outcome):
        return (found,)
    cdi, specs = found
    loaded = loaded_version(snapshot)
    if isinstance(loaded, Unknown):
        return (unseen(loaded),)
    if loaded is None:
        return (skipped("no driver is loaded"),)
    return tuple(judge_driver(snapshot, item, loaded, states_of(cdi)) for item in specs)


def judge_driver(snapshot: "Snapshot", item: SpecFile, loaded: str, states: States) -> Outcome:
    """The driver that one spec was made for."""
    subject = item.file.path
    made_for = driver_version_of(item.spec)
    if made_for is None:
        return _without_libraries(snapshot, item)
    version, source = made_for
    evidence = [Evidence(version, f"{subject}: {source}"), Evidence(loaded, "the loaded driver")]
    if item.file.modified_at is not None:
        evidence.append(Evidence(f"written {item.file.modified_at}", subject))
    if version == loaded:
        return passed(f"{subject} was made for the loaded driver, {loaded}", *evidence, subject=subject)
    missing = _first_missing(item.spec, states)
    if missing:
        evidence.append(Evidence(missing, subject))
    return failed(
        f"{subject} was made for driver {version}, and {loaded} is loaded",
        *evidence,
        subject=subject,
        remedy=regenerate(
            snapshot, subject, "Make the spec anew for the loaded driver, then create the containers again"
        ),
    )


def _first_missing(spec: CdiSpec, states: States) -> str:
    for named in host_paths_of(spec):
        state = states.get(named.path)
        if state is not None and state.kind is None:
            return f"{named.path} is not there"
    return ""


def _without_libraries(snapshot: "Snapshot", item: SpecFile) -> Outcome:
    """Nodes alone are right for gds, mofed and IMEX; a GPU needs the driver's libraries."""
    subject = item.file.path
    if item.spec.kind != GPU_KIND:
        return skipped(f"{subject} mounts no driver library", subject)
    return warned(
        f"{subject} mounts no driver library: it was made where libcuda and its like were not found",
        Evidence("no mount of a driver library", subject),
        subject=subject,
        remedy=regenerate(snapshot, subject, "Make the spec anew; it says where it has looked"),
    )


def gpu_specs(specs: tuple[SpecFile, ...]) -> tuple[CdiSpec, str] | None:
    """All specs of the usual GPU kind as one, and the first one's file: they may share the GPUs among them."""
    mine = [item for item in specs if item.spec.kind == GPU_KIND]
    if not mine:
        return None
    devices = tuple(device for item in mine for device in item.spec.devices)
    return mine[0].spec._replace(devices=devices), mine[0].file.path


def check_stale_devices(snapshot: "Snapshot") -> Outcome:
    """GPUs that came, went or were exchanged since the spec was made."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    found = specs_or_outcome(snapshot)
    if isinstance(found, Outcome):
        return found
    together = gpu_specs(found[1])
    if together is None:
        return skipped(f"there is no spec of kind {GPU_KIND}")
    spec, path = together
    present = present_gpus(snapshot.driver, snapshot.nvml)
    if isinstance(present, Unknown):
        return unseen(present)
    difference = compare_gpus(spec, present)
    if difference.is_empty:
        return passed(f"{path} has the {len(present)} GPUs of this host", Evidence("the same GPUs", path))
    return _differ(snapshot, "GPUs", difference, path)


def _differ(snapshot: "Snapshot", what: str, difference: Difference, path: str) -> Outcome:
    parts = []
    evidence = []
    if difference.missing:
        parts.append(f"it lacks {', '.join(difference.missing[:4])}")
        evidence.append(Evidence(f"missing: {', '.join(difference.missing)}", path))
    if difference.stale:
        parts.append(f"it has {', '.join(difference.stale[:4])}, which this host does not have")
        evidence.append(Evidence(f"stale: {', '.join(difference.stale)}", path))
    message = f"the {what} of this host are not those of {path}: {'; '.join(parts)}"
    return failed(message, *evidence, remedy=regenerate(snapshot, path))


def check_stale_mig(snapshot: "Snapshot") -> Outcome:
    """The MIG layout changed after the spec was made; no refresh unit of NVIDIA's takes note of that."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    found = specs_or_outcome(snapshot)
    if isinstance(found, Outcome):
        return found
    together = gpu_specs(found[1])
    if together is None:
        return skipped(f"there is no spec of kind {GPU_KIND}")
    spec, path = together
    instances = present_instances(snapshot.driver)
    if isinstance(instances, Unknown):
        return unseen(instances)
    difference = compare_mig(spec, instances, control_minors(snapshot.driver), present_mig_uuids(snapshot.nvml))
    if not difference.is_empty:
        return _differ(snapshot, "MIG devices", difference, path)
    if not instances:
        return skipped("no GPU is divided by MIG")
    return passed(f"{path} has the MIG devices of this host", Evidence(f"{len(instances)} instances", path))


def check_stale_majors(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A container's node has the numbers of the spec: after a reload of the module they are another's, or nobody's."""
    found = specs_or_outcome(snapshot)
    if isinstance(found, Outcome):
        return (found,)
    cdi, specs = found
    return tuple(_judge_numbers(snapshot, item, states_of(cdi)) for item in specs)


def _judge_numbers(snapshot: "Snapshot", item: SpecFile, states: States) -> Outcome:
    subject = item.file.path
    numbered = [node for node in _nodes(item.spec) if node.major]
    if not numbered:
        return skipped(f"{subject} holds no device numbers", subject)
    wrong: dict[str, Evidence] = {}
    for node in numbered:
        state = states.get(node.source)
        if state is not None and state.major is not None and differs(node, state):
            text = f"{node.source} is {state.major}:{state.minor} now, the spec says {node.major}:{node.minor or 0}"
            wrong.setdefault(node.source, Evidence(text, subject))
    if wrong:
        evidence = tuple(wrong.values())[:MOST_EVIDENCE]
        message = f"{subject} has old device numbers: {evidence[0].value}"
        return failed(message, *evidence, subject=subject, remedy=regenerate(snapshot, subject))
    return passed(f"the device numbers in {subject} are those of this host", subject=subject)


def _nodes(spec: CdiSpec) -> "Iterator[SpecDeviceNode]":
    for edits in spec.all_edits:
        yield from edits.device_nodes


def check_gids(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A node for a group's members only, of which the spec says nothing, is root's in the container."""
    found = specs_or_outcome(snapshot)
    if isinstance(found, Outcome):
        return (found,)
    cdi, specs = found
    return tuple(_judge_groups(snapshot, item, states_of(cdi)) for item in specs)


def _judge_groups(snapshot: "Snapshot", item: SpecFile, states: States) -> Outcome:
    subject = item.file.path
    granted = {gid for edits in item.spec.all_edits for gid in edits.additional_gids}
    lacking: dict[str, Evidence] = {}
    for node in _nodes(item.spec):
        state = states.get(node.source)
        if state is None or not state.gid or (state.mode or 0) & FOR_ALL == FOR_ALL:
            continue
        if node.gid != state.gid and state.gid not in granted:
            text = f"{node.source} is for group {state.gid} (mode {state.mode:04o}), the spec does not say so"
            lacking.setdefault(node.source, Evidence(text, subject))
    if lacking:
        evidence = tuple(lacking.values())[:MOST_EVIDENCE]
        message = f"users who are not root cannot open a node in a container: {evidence[0].value}"
        return warned(message, *evidence, subject=subject, remedy=regenerate(snapshot, subject))
    return passed(f"{subject} keeps the groups of the nodes", subject=subject)


def check_hook_binary(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Every container of a spec fails at a hook that cannot be run."""
    found = specs_or_outcome(snapshot, only_nvidia=False)
    if isinstance(found, Outcome):
        return (found,)
    cdi, specs = found
    outcomes = tuple(_judge_hooks(snapshot, item, states_of(cdi)) for item in specs)
    return tuple(item for item in outcomes if item is not None) or (skipped("no spec has hooks on the host"),)


def _judge_hooks(snapshot: "Snapshot", item: SpecFile, states: States) -> Outcome | None:
    subject = item.file.path
    named = [path for path in host_paths_of(item.spec) if path.role in (HOOK, SCRIPT)]
    if not named:
        return None
    broken: dict[str, Evidence] = {}
    hidden: Unknown | None = None
    for path in named:
        state = states.get(path.path)
        if state is not None and isinstance(state.kind, Unknown):
            hidden = hidden or Unknown(f"{path.path}: {state.kind.reason}")
        elif state is not None and (text := fault_of_path(path, state)):
            broken.setdefault(path.path, Evidence(text, f"{subject}: {path.where}"))
    if broken:
        evidence = (*tuple(broken.values())[:MOST_EVIDENCE], *_installed_hooks(snapshot))
        message = f"a hook of {subject} cannot be run: {evidence[0].value}"
        return failed(message, *evidence, subject=subject, remedy=regenerate(snapshot, subject))
    return unseen(hidden, subject) if hidden is not None else _judge_words(snapshot, item)


def _installed_hooks(snapshot: "Snapshot") -> tuple[Evidence, ...]:
    """The programs that are there instead."""
    tools = snapshot.toolkit if isinstance(snapshot.toolkit, tuple) else ()
    names = ("nvidia-cdi-hook", "nvidia-ctk")
    return tuple(
        Evidence("is installed", tool.path) for tool in tools if tool.name in names and isinstance(tool.path, str)
    )


def _judge_words(snapshot: "Snapshot", item: SpecFile) -> Outcome:
    """The subcommands of NVIDIA's hook program against the installed toolkit."""
    from ctk.cdi.readers import version_numbers
    from ctk.doctor.checks.toolkit_applies import toolkit_version
    from ctk.doctor.data.cdi_hooks import DEPRECATED, KNOWN, PROGRAMS, SINCE

    subject = item.file.path
    release = toolkit_version(snapshot)
    installed = release.numbers if release is not None else ()
    for hook in (hook for edits in item.spec.all_edits for hook in edits.hooks):
        program = hook.path.rpartition("/")[2]
        words = hook.args[2:3] if program == "nvidia-ctk" else hook.args[1:2]
        if program not in PROGRAMS or not words:
            continue
        word = words[0]
        evidence = Evidence(f"{program} {word}", subject)
        if word not in KNOWN:
            message = f"{subject} has a hook of a name that is not known: {word}"
            return warned(message, evidence, subject=subject, remedy=regenerate(snapshot, subject))
        since = SINCE.get(word)
        if since is not None and installed and version_numbers(since) > installed:
            message = f"{subject} has the hook {word}, which came with {since}: the installed toolkit is older"
            return failed(
                message,
                evidence,
                Evidence(".".join(str(number) for number in installed), "the installed toolkit"),
                subject=subject,
                remedy=regenerate(snapshot, subject),
            )
        if word in DEPRECATED:
            message = f"{subject} has the hook {word}, which fails where it may not change modes"
            return warned(message, evidence, subject=subject, remedy=regenerate(snapshot, subject))
    return passed(f"the hooks of {subject} can be run", subject=subject)
