"""Whether toolkit, driver and engines have releases with known weaknesses; how they are set up is judged beside it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import elsewhere, loaded_version, version_tuple
from ctk.doctor.checks.toolkit_applies import (
    engines_of,
    find_package,
    installed_tools,
    toolkit_version,
    upgrade_command,
    without_toolkit,
)
from ctk.doctor.model import (
    DEBIAN,
    RED_HAT,
    UBUNTU,
    Command,
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
from ctk.facts.services import VGPU_MANAGER
from ctk.formats.release import Release, is_below, is_rebuilt, parse_release
from ctk.toolkit.values import ALLOW_CONTAINER_LDCONFIG

if TYPE_CHECKING:
    from ctk.doctor.data.cves import Cve
    from ctk.facts.snapshot import Snapshot

CvesOf = Callable[[Release], "tuple[Cve, ...]"]

COMPAT_SWITCH = "features.disable-cuda-compat-lib-hook"
MODE = "nvidia-container-runtime.mode"
NONE_OF_OURS = "there is no GPU here, and nothing of NVIDIA's"
SYSTEM_FOLDERS = ("/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/")


def check_toolkit_cve(snapshot: "Snapshot") -> Outcome:
    """NVIDIA's toolkit; ctk's own programs have none of these."""
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    if not any(tool.name.startswith("nvidia-") for tool in installed_tools(snapshot)):
        return skipped("NVIDIA's toolkit is not installed")
    version = toolkit_version(snapshot)
    if version is None:
        return unseen(_why_no_version(snapshot))
    from ctk.doctor.data.cves import GRAVE, TOOLKIT_CVES

    found = [cve for cve in TOOLKIT_CVES if is_below(version, cve.fixed)]
    if not found:
        return passed(f"no weakness of the toolkit {version.text} is known to ctk")
    open_here = [cve for cve in found if _counts(snapshot, cve, version)]
    grave = [cve for cve in open_here if cve.score is None or cve.score >= GRAVE]
    newest = max((cve.fixed[0] for cve in found), key=version_tuple)
    evidence = _evidence(grave or open_here or found, version, "the toolkit's version")
    if grave:
        names = ", ".join(cve.name for cve in grave)
        message = f"the toolkit {version.text} has weaknesses that {newest} mends: {names}"
        return failed(message, *evidence, remedy=_update_toolkit(snapshot, grave))
    words = "" if open_here else " that this set-up does not open"
    message = f"the toolkit {version.text} has weaknesses{words}; {newest} mends them"
    return warned(message, *evidence, remedy=_update_toolkit(snapshot, ()))


def _update_toolkit(snapshot: "Snapshot", cves: "Iterable[Cve]") -> Remedy:
    from ctk.doctor.data.cves import COMPAT_HOOK

    update = upgrade_command(snapshot, "nvidia-container-toolkit")
    if [cve.precondition for cve in cves] != [COMPAT_HOOK]:
        return Remedy("Update the toolkit", (update,))
    summary = "Update the toolkit; until then the hook for CUDA's compatibility libraries can be left out"
    return Remedy(summary, (update, Command(f"ctk config set {COMPAT_SWITCH}=true")))


def _why_no_version(snapshot: "Snapshot") -> Unknown:
    versions = (tool.version for tool in installed_tools(snapshot))
    return next((fact for fact in versions if isinstance(fact, Unknown)), Unknown("nothing tells a version"))


def _counts(snapshot: "Snapshot", cve: "Cve", version: Release) -> bool:
    """Whether the weakness is open in this set-up; it is, where that could not be looked at."""
    from ctk.doctor.data.cves import ALWAYS, COMPAT_HOOK, COMPAT_HOOK_SINCE, LDCONFIG, NOT_CDI

    setup = snapshot.toolkit_setup
    if cve.precondition == ALWAYS or isinstance(setup, Unknown) or isinstance(setup.config, Unknown):
        return True
    config = setup.config
    is_cdi = config.text(MODE) == "cdi"
    if cve.precondition == NOT_CDI:
        return not is_cdi
    if cve.precondition == LDCONFIG:
        value = config.text("nvidia-container-cli.ldconfig")
        return config.is_true(ALLOW_CONTAINER_LDCONFIG) or bool(value and not value.startswith("@"))
    assert cve.precondition == COMPAT_HOOK  # noqa: S101 - the table has no other; a new one needs a line here
    return not config.is_true(COMPAT_SWITCH) and (is_cdi or version.numbers >= COMPAT_HOOK_SINCE)


def _evidence(cves: "Iterable[Cve]", version: Release, source: str) -> tuple[Evidence, ...]:
    rows = tuple(
        Evidence(f"{cve.name}{f' ({cve.score})' if cve.score else ''}, mended in {' / '.join(cve.fixed)}", cve.source)
        for cve in cves
    )
    return (Evidence(version.text, source), *rows)


def check_driver_cve(snapshot: "Snapshot") -> Outcome:
    """Each branch has a release of its own that mends what the bulletins tell of."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    shown = loaded_version(snapshot)
    if isinstance(shown, Unknown):
        return unseen(shown)
    version = parse_release(shown) if shown is not None else None
    if version is None or shown is None:
        return skipped("the driver is not loaded")
    from ctk.doctor.data.cves import DRIVER_FLOORS, DRIVER_SOURCE, MANAGER_FLOORS, SERVED_BRANCHES

    branch = version.numbers[0]
    floors = MANAGER_FLOORS if _is_vgpu_host(snapshot) and branch in MANAGER_FLOORS else DRIVER_FLOORS
    floor = floors.get(branch)
    evidence = (Evidence(shown, "the loaded driver"), Evidence(f"R{branch}: {floor or 'no release'}", DRIVER_SOURCE))
    if floor is None and branch > max(floors):
        return noted(f"ctk's table of driver weaknesses ends before the branch R{branch}", *evidence)
    if floor is None:
        return warned(f"the branch R{branch} of the driver gets no security releases", *evidence)
    if version_tuple(shown) < version_tuple(floor):
        message = f"the driver {shown} has known weaknesses that {floor} mends"
        return failed(message, *evidence, remedy=_update_driver(branch))
    if branch not in SERVED_BRANCHES:
        return warned(f"the newest bulletin mends nothing in the branch R{branch}: its weaknesses stay", *evidence)
    return passed(f"the driver {shown} has what the bulletins mend in its branch", *evidence)


def _update_driver(branch: int) -> Remedy:
    ubuntu = Command(f"apt-get install --only-upgrade 'nvidia-*-{branch}*' 'libnvidia-*-{branch}*'", only_on=(UBUNTU,))
    debian = Command("apt-get install --only-upgrade nvidia-driver", only_on=(DEBIAN,))
    red_hat = Command("dnf upgrade 'nvidia-driver*' 'kmod-nvidia*'", only_on=(RED_HAT,))
    reboot = Command("systemctl reboot", stops_containers=True, reboots=True)
    return Remedy("Update the driver within its branch, then start the machine anew", (ubuntu, debian, red_hat, reboot))


def _is_vgpu_host(snapshot: "Snapshot") -> bool:
    services = snapshot.services
    manager = None if isinstance(services, Unknown) else services.find(VGPU_MANAGER)
    return manager is not None and manager.running is True


def _is_none_of_ours(snapshot: "Snapshot") -> bool:
    """A host without GPUs may have any engine it likes."""
    from ctk.doctor.checks.scope import has_gpus_or_traces

    return not has_gpus_or_traces(snapshot)


def check_runc_cve(snapshot: "Snapshot") -> Outcome:
    """Of the copy in the system's folders, which Docker and containerd start."""
    cgroups = snapshot.cgroups
    if _is_none_of_ours(snapshot):
        return skipped(NONE_OF_OURS)
    if isinstance(cgroups, Unknown):
        return unseen(cgroups)
    from ctk.doctor.data.cves import RUNC_CVES

    hidden = next((tool.path for tool in cgroups.runtimes if isinstance(tool.path, Unknown)), None)
    found = [tool for tool in cgroups.runtimes if tool.name == "runc" and isinstance(tool.path, str)]
    if not found:
        return unseen(hidden) if hidden is not None else skipped("runc is not installed")
    seen = [(tool.version, str(tool.path)) for tool in found]
    return judge_versions(snapshot, "runc", seen, lambda _: RUNC_CVES)


def check_docker_cve(snapshot: "Snapshot") -> Outcome:
    """The daemon's version."""
    from ctk.doctor.data.cves import DOCKER_CVES

    return _judge_engine(snapshot, "docker", lambda _: DOCKER_CVES)


def check_containerd_cve(snapshot: "Snapshot") -> Outcome:
    """Of every containerd here; k3s and its like bring one of their own."""
    from ctk.doctor.data.cves import CONTAINERD_BRANCH_CVES, CONTAINERD_CVES

    def cves_of(version: Release) -> "tuple[Cve, ...]":
        own = CONTAINERD_BRANCH_CVES.get((version.branch[0], version.branch[1]))
        return (*CONTAINERD_CVES, own) if own is not None else CONTAINERD_CVES

    return _judge_engine(snapshot, "containerd", cves_of)


def _judge_engine(snapshot: "Snapshot", name: str, cves_of: "CvesOf") -> Outcome:
    if _is_none_of_ours(snapshot):
        return skipped(NONE_OF_OURS)
    if isinstance(snapshot.engines, Unknown):
        return unseen(snapshot.engines)
    engines = [engine for engine in engines_of(snapshot) if engine.engine == name]
    if not engines:
        return skipped(f"{name} is not installed")
    seen = [(engine.version, str(engine.binary or engine.config_path)) for engine in engines]
    return judge_versions(snapshot, name, seen, cves_of)


def judge_versions(
    snapshot: "Snapshot", name: str, seen: "Iterable[tuple[str | None | Unknown, str]]", cves_of: "CvesOf"
) -> Outcome:
    """The worst of several copies. A distribution mends old releases without another number: that is no verdict."""
    from ctk.doctor.data.cves import MAKERS_PACKAGES, PACKAGES

    package = find_package(snapshot, *PACKAGES[name])
    hidden: Unknown | None = None
    rebuilt: Outcome | None = None
    best: Outcome | None = None
    for fact, source in seen:
        shown = fact if isinstance(fact, str) else _from_package(snapshot, name, source)
        version = parse_release(shown) if shown is not None else None
        if version is None:
            hidden = fact if isinstance(fact, Unknown) else Unknown(f"{source} does not tell its version")
            continue
        found = [cve for cve in cves_of(version) if is_below(version, cve.fixed)]
        evidence = _evidence(found, version, source)
        if not found:
            best = passed(f"no weakness of {name} {version.text} is known to ctk", *evidence)
            continue
        names = ", ".join(cve.name for cve in found)
        is_makers = package is not None and package.name in MAKERS_PACKAGES
        if not is_makers and (package is not None or is_rebuilt(version) or isinstance(snapshot.packages, Unknown)):
            built = f"{package.name} {package.version}" if package is not None else str(shown)
            message = f"{name} {version.text} is older than what mends {names}; the distribution's build may have it"
            rebuilt = noted(message, *evidence, Evidence(built, "the package" if package is not None else source))
            continue
        message = f"{name} {version.text} ({source}) has weaknesses that later releases mend: {names}"
        return failed(message, *evidence, remedy=_update(snapshot, name, source))
    return rebuilt or (unseen(hidden) if hidden is not None else None) or best or skipped(f"{name} is not installed")


def _update(snapshot: "Snapshot", name: str, source: str) -> Remedy | None:
    """By the package that brings the program; what k3s and its like bring comes with them."""
    from ctk.doctor.data.cves import PACKAGES

    brings = ("containerd.io",) if name == "runc" else ()
    package = find_package(snapshot, *PACKAGES[name], *brings)
    if package is None or not source.startswith(SYSTEM_FOLDERS):
        return None
    return Remedy(f"Update {name}", (upgrade_command(snapshot, package.name),))


def _from_package(snapshot: "Snapshot", name: str, source: str) -> str | None:
    """A package speaks for the program in the system's folders, not for a copy that k3s brings."""
    from ctk.doctor.data.cves import PACKAGES

    package = find_package(snapshot, *PACKAGES[name])
    return package.version if package is not None and source.startswith(SYSTEM_FOLDERS) else None
