"""Whether the parts of NVIDIA's toolkit fit together, and what its release is known for; no CVE is here."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import version_tuple
from ctk.doctor.checks.toolkit_applies import (
    CLI,
    FOUR,
    HOOK,
    RUNTIME,
    TOOL,
    config_of,
    engines_of,
    find_tool,
    install_command,
    installed_tools,
    toolkit_runtimes,
    toolkit_version,
    upgrade_command,
    without_toolkit,
)
from ctk.doctor.model import (
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.packages import RPM
from ctk.formats.release import parse_release

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot
    from ctk.formats.release import Release


def check_version_skew(snapshot: "Snapshot") -> Outcome:
    """By the packages where there are some, else by what the programs say."""
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    found = _package_versions(snapshot) or _program_versions(snapshot)
    if not found:
        return _no_versions(snapshot)
    evidence = [Evidence(f"{name} {shown}", source) for name, _, shown, source in found]
    keys = {release.key for _, release, _, _ in found}
    if len(keys) == 1:
        if isinstance(snapshot.packages, Unknown):
            return unseen(snapshot.packages)  # the programs agree; their libraries may not
        return _judge_copies(snapshot) or passed(f"all parts have version {found[0][1].text}", *evidence)
    newest = max((release for _, release, _, _ in found), key=lambda release: release.key)
    words = ", ".join(f"{name} {release.text}" for name, release, _, _ in found)
    from ctk.doctor.data.toolkit_problems import EXACT_SINCE

    if newest.numbers >= EXACT_SINCE:
        return failed(f"the toolkit is half updated: {words}", *evidence, remedy=_same_version(snapshot, newest))
    return warned(
        f"the parts of the toolkit have different versions: {words}", *evidence, remedy=_same_version(snapshot, newest)
    )


Version = tuple[str, "Release", str, str]


def _package_versions(snapshot: "Snapshot") -> list[Version]:
    packages = snapshot.packages
    if packages is None or isinstance(packages, Unknown):
        return []
    rows = [package for name in FOUR if (package := packages.find(name)) is not None]
    return [
        (package.name, release, package.version, packages.source)
        for package in rows
        if (release := parse_release(package.version)) is not None
    ]


def _program_versions(snapshot: "Snapshot") -> list[Version]:
    found: list[Version] = []
    for name in (TOOL, RUNTIME, HOOK, CLI):
        tool = find_tool(snapshot, name)
        if tool is not None and isinstance(tool.version, str) and isinstance(tool.path, str):
            release = parse_release(tool.version)
            found += [(name, release, tool.version, tool.path)] if release is not None else []
    return found


def _no_versions(snapshot: "Snapshot") -> Outcome:
    tools = installed_tools(snapshot)
    hidden = next((tool.version for tool in tools if isinstance(tool.version, Unknown)), None)
    return unseen(hidden or Unknown("nothing tells a version"))


def _same_version(snapshot: "Snapshot", newest: "Release") -> Remedy:
    packages = snapshot.packages
    is_rpm = packages is not None and not isinstance(packages, Unknown) and packages.manager == RPM
    names = (f"{name}{'-' if is_rpm else '='}{newest.text}-1" for name in FOUR)
    return Remedy("Install the same version of all four", (install_command(snapshot, *names),))


def _judge_copies(snapshot: "Snapshot") -> Outcome | None:
    setup = snapshot.toolkit_setup
    copies = () if isinstance(setup, Unknown) or isinstance(setup.copies, Unknown) else setup.copies
    versions = {copy.version for copy in copies if isinstance(copy.version, str)}
    if len(versions) < 2:
        return None
    evidence = [Evidence(str(copy.version), copy.folder) for copy in copies if isinstance(copy.version, str)]
    update = Remedy("Bring them to one version", (upgrade_command(snapshot, "nvidia-container-toolkit"),))
    return warned("there are copies of the toolkit of different versions", *evidence, remedy=update)


def check_known_bad(snapshot: "Snapshot") -> Outcome:
    """Faults that a release is known for, and whether this host is one where they show."""
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    version = toolkit_version(snapshot)
    if version is None:
        return _no_versions(snapshot)
    from ctk.doctor.data.toolkit_problems import TOOLKIT_PROBLEMS

    fitting = [row for row in TOOLKIT_PROBLEMS if row.since <= version.numbers < row.fixed]
    source = Evidence(version.text, "the toolkit's version")
    met = [row for row in fitting if _is_met(snapshot, row.precondition)]
    if met:
        fixed = ".".join(map(str, met[0].fixed))
        words = "; ".join(f"{row.text} ({row.precondition})" for row in met)
        message = f"the toolkit {version.text} has a known fault that shows here, mended in {fixed}: {words}"
        update = Remedy("Update the toolkit", (upgrade_command(snapshot, "nvidia-container-toolkit"),))
        return warned(message, source, remedy=update)
    if fitting:
        words = "; ".join(f"{row.text} (needs {row.precondition})" for row in fitting)
        return noted(f"the toolkit {version.text} has known faults that do not show here: {words}", source)
    return passed(f"no fault of the toolkit {version.text} is known to ctk", source)


def _is_met(snapshot: "Snapshot", precondition: str) -> bool:
    from ctk.doctor.data import toolkit_problems as data

    engines = engines_of(snapshot)
    setup = snapshot.toolkit_setup
    config = None if isinstance(setup, Unknown) or isinstance(setup.config, Unknown) else setup.config
    has_docker = any(engine.engine == "docker" for engine in engines)
    nvml = snapshot.nvml
    gpus = nvml.gpus if nvml is not None and not isinstance(nvml, Unknown) and isinstance(nvml.gpus, tuple) else ()
    answers = {
        data.JETSON: snapshot.system.jetson is True,
        data.ARM: snapshot.system.architecture == "aarch64",
        data.CONTAINERD_2: any(
            engine.engine == "containerd"
            and isinstance(engine.version, str)
            and version_tuple(engine.version)[:1] >= (2,)
            for engine in engines
        ),
        data.DOCKER_CDI: has_docker and config is not None and config.text("nvidia-container-runtime.mode") == "cdi",
        data.DEFAULT_RUNTIME: any(
            not isinstance(engine.files, Unknown) and runtime.name == engine.files.default_runtime
            for engine, runtime in toolkit_runtimes(snapshot)
        ),
        data.WSL: isinstance(snapshot.system.wsl, int),
        data.CRIO: any(engine.engine == "crio" for engine in engines),
        data.MIG: any(gpu.mig_current is True for gpu in gpus),
    }
    return answers.get(precondition, False)


def check_unknown_oci_fields(snapshot: "Snapshot") -> Outcome:
    """A container's configuration of a later specification than the toolkit was built with."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    version = toolkit_version(snapshot)
    if version is None:
        return _no_versions(snapshot)
    from ctk.doctor.data.toolkit_problems import OCI_VERSIONS, STRICT_SINCE

    if version.numbers < STRICT_SINCE:
        return passed(f"the toolkit {version.text} takes fields that it does not know")
    if config.is_true("features.allow-unknown-oci-spec-fields"):
        return passed("the toolkit is told to take fields that it does not know", Evidence("true", config.path))
    newest = (
        snapshot.toolkit_setup if isinstance(snapshot.toolkit_setup, Unknown) else snapshot.toolkit_setup.newest_bundle
    )
    if isinstance(newest, Unknown):
        return unseen(newest)
    release = parse_release(newest) if newest is not None else None
    known = OCI_VERSIONS.get(version.branch)
    if release is None or known is None:
        why = "no container of containerd's runs here" if release is None else f"ctk's table ends before {version.text}"
        return skipped(why)
    evidence = (Evidence(f"ociVersion {newest}", "/run/containerd"), Evidence(version.text, "the toolkit's version"))
    if release.branch > known:
        return warned(
            f"the engine writes configurations of the OCI specification {release.text}, the toolkit {version.text} "
            f"knows {'.'.join(map(str, known))} and refuses fields that are newer",
            *evidence,
        )
    return passed(f"the toolkit knows the OCI specification {release.text} that the engine writes", *evidence)
