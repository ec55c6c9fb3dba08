"""Whether NVIDIA's toolkit is installed, whole, and there once; versions and configuration are judged beside it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import version_tuple
from ctk.doctor.checks.engine_applies import configure_command, restart_command, subject_of
from ctk.doctor.checks.toolkit_applies import (
    CDI_HOOK,
    CLI,
    FOUR,
    HOOK,
    NVIDIA_KIND,
    OWN_RUNTIME,
    RUNTIME,
    TOOL,
    has_gpu,
    install_command,
    installed_tools,
    names_of_engines,
    only_for_virtual_machines,
    setup_of,
    toolkit_runtimes,
    toolkit_version,
    without_toolkit,
)
from ctk.doctor.model import (
    UNKNOWN,
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
from ctk.facts.packages import RPM
from ctk.facts.toolkit_setup import OPERATOR, SYSTEM

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation, EngineRuntime
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit import ToolBinary
    from ctk.facts.toolkit_setup import ToolkitCopy

RETIRED = ("nvidia-docker2", "nvidia-docker", "nvidia-container-runtime")
OLD_RUNTIME = (3, 5)


def check_installed(snapshot: "Snapshot") -> Outcome:
    """What containers need: a runtime of a toolkit, or a CDI spec for engines that read CDI themselves."""
    outside = without_toolkit(snapshot)
    if outside is None:
        return _describe_installed(snapshot)
    if outside.status == UNKNOWN:
        return outside
    if isinstance(snapshot.engines, Unknown):
        return unseen(snapshot.engines)
    if not snapshot.engines:
        return skipped("no container engine is installed")
    gpu = has_gpu(snapshot)
    if isinstance(gpu, Unknown):
        return unseen(gpu) if snapshot.system.wsl is None else skipped(gpu.reason)
    if not gpu:
        handed = only_for_virtual_machines(snapshot)
        return skipped("every GPU is handed to virtual machines" if handed else "there is no NVIDIA GPU here")
    spec = _nvidia_spec(snapshot)
    if isinstance(spec, Unknown):
        return unseen(spec)
    if spec is not None:
        return noted("no toolkit's runtime is installed; a CDI spec is there for engines that read CDI", spec)
    return failed(
        f"there is a GPU and an engine ({names_of_engines(snapshot)}), but nothing that hands GPUs to containers: "
        "no toolkit's runtime or hook, and no CDI spec",
        Evidence(f"no {RUNTIME}, no {HOOK}", "PATH, the system's folders, /usr/local/nvidia/toolkit"),
        Evidence(f"no CDI spec of {NVIDIA_KIND}", "/etc/cdi, /var/run/cdi"),
        remedy=Remedy(
            "Install the toolkit from NVIDIA's repository, or give engines that read CDI a spec; then start the engine "
            "again",
            (
                install_command(snapshot, "nvidia-container-toolkit"),
                Command("ctk cdi generate --output /etc/cdi/nvidia.yaml"),
            ),
        ),
    )


def _nvidia_spec(snapshot: "Snapshot") -> Evidence | None | Unknown:
    setup = snapshot.toolkit_setup
    if isinstance(setup, Unknown) or isinstance(setup.config, Unknown):
        return setup if isinstance(setup, Unknown) else Unknown("the folders of CDI specs were not looked at")
    mode = setup.config.mode
    if mode is None or isinstance(mode, Unknown) or isinstance(mode.specs, Unknown):
        return Unknown("the folders of CDI specs could not be looked at")
    return next((Evidence("CDI spec", spec.path) for spec in mode.specs if spec.kind == NVIDIA_KIND), None)


def _describe_installed(snapshot: "Snapshot") -> Outcome:
    tools = installed_tools(snapshot)
    version = toolkit_version(snapshot)
    words = f" {version.text}" if version is not None else ""
    evidence = [
        Evidence(str(tool.version) if isinstance(tool.version, str) else "there", str(tool.path)) for tool in tools
    ]
    names = {tool.name for tool in tools}
    if HOOK not in names and OWN_RUNTIME not in names:
        return noted(
            f"only the base of the toolkit{words} is installed, without the hook: enough for CDI, "
            "not for docker run --gpus without CDI",
            *evidence,
        )
    return passed(f"a toolkit{words} is installed", *evidence)


def check_binaries(snapshot: "Snapshot") -> Outcome:
    """Those that were found; that one is missing is told by who names it."""
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    tools = installed_tools(snapshot)
    for tool in tools:
        fault = _fault_of(snapshot, tool)
        if fault:
            again = install_command(snapshot, _package_of(tool.name), again=True)
            return failed(
                f"{tool.name} cannot be run: {fault}",
                Evidence(fault, str(tool.path)),
                remedy=Remedy("Install its package again", (again,)),
            )
    closed = _find_no_exec(snapshot)
    if closed is not None:
        return failed(
            f"no program in {closed.folder} can be run: its file system is mounted noexec",
            Evidence("noexec", closed.folder),
            remedy=Remedy("Mount it so that programs run", (Command(f"findmnt --target {closed.folder}"),)),
        )
    hidden = next(
        (fact for tool in tools for fact in (tool.executable, tool.machine) if isinstance(fact, Unknown)), None
    )
    if hidden is not None:
        return unseen(hidden)
    names = {tool.name for tool in tools}
    if RUNTIME in names and not names & {TOOL, CDI_HOOK} and not _packages_tell(snapshot):
        return warned(
            f"neither {CDI_HOOK} nor {TOOL} is there, which the hooks of CDI specs call",
            Evidence("not there", f"{CDI_HOOK}, {TOOL}"),
        )
    return passed(f"{len(tools)} programs are there and can be run")


def _find_no_exec(snapshot: "Snapshot") -> "ToolkitCopy | None":
    setup = snapshot.toolkit_setup
    copies = () if isinstance(setup, Unknown) or isinstance(setup.copies, Unknown) else setup.copies
    return next((copy for copy in copies if copy.no_exec is True), None)


def _package_of(program: str) -> str:
    if program == CLI:
        return "libnvidia-container-tools"
    return "nvidia-container-toolkit" if program == HOOK else "nvidia-container-toolkit-base"


def _fault_of(snapshot: "Snapshot", tool: "ToolBinary") -> str:
    if tool.executable is False:
        return "it is not executable"
    machine, own = tool.machine, snapshot.system.architecture
    if isinstance(machine, str) and isinstance(own, str) and machine != own and (own, machine) != ("x86_64", "i386"):
        return f"it is for {machine}, this machine is {own}"
    return ""


def _packages_tell(snapshot: "Snapshot") -> bool:
    """A file that a package lacks is told by the check of the packages."""
    packages = snapshot.packages
    return packages is not None and not isinstance(packages, Unknown) and packages.find(*FOUR) is not None


def check_package_integrity(snapshot: "Snapshot") -> Outcome:
    """Programs and libraries only: configuration is meant to be changed."""
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    packages = snapshot.packages
    if packages is None:
        return skipped("this host keeps its packages neither with dpkg nor with rpm")
    if isinstance(packages, Unknown):
        return unseen(packages)
    if packages.find(*FOUR) is None:
        return skipped("the toolkit was not installed from a package")
    if isinstance(packages.faults, Unknown):
        return unseen(packages.faults)
    if not packages.faults:
        return passed("the toolkit's programs and libraries are as their packages have them")
    evidence = [Evidence(f"{fault.state} (package {fault.package})", fault.path) for fault in packages.faults]
    first = packages.faults[0]
    more = f", and {len(evidence) - 1} more" if len(evidence) > 1 else ""
    names = dict.fromkeys(fault.package for fault in packages.faults)
    return failed(
        f"{first.path} of the package {first.package} is {first.state}{more}",
        *evidence,
        remedy=Remedy("Install the packages again", (install_command(snapshot, *names, again=True),)),
    )


def check_legacy_packages(snapshot: "Snapshot") -> Outcome:
    """nvidia-docker2 and its like bring a daemon.json of their own."""
    packages = snapshot.packages
    if packages is None:
        return skipped("this host keeps its packages neither with dpkg nor with rpm")
    if isinstance(packages, Unknown):
        return unseen(packages)
    found = [package for name in RETIRED if (package := packages.find(name)) is not None]
    evidence = [Evidence(f"{package.name} {package.version}", packages.source) for package in found]
    if not found:
        return passed("no retired package is installed")
    names = " ".join(package.name for package in found)
    remedy = Remedy(
        "Keep a copy of daemon.json, and take the package away",
        (
            Command("cp -a /etc/docker/daemon.json /root/daemon.json.kept"),
            Command(f"{'dnf' if packages.manager == RPM else 'apt-get'} remove {names}"),
        ),
    )
    old = packages.find("nvidia-container-runtime")
    is_old = old is not None and version_tuple(old.version.partition("-")[0])[:2] <= OLD_RUNTIME
    if is_old and packages.find(*FOUR[:2]) is None:
        return failed("the runtime is that of the retired package nvidia-container-runtime", *evidence, remedy=remedy)
    return warned(f"retired packages are installed: {names}", *evidence, remedy=remedy)


def check_multiple_installs(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The host's copy and the GPU Operator's, and which one the engines start."""
    setup = setup_of(snapshot)
    if isinstance(setup, Outcome):
        return setup
    if isinstance(setup.copies, Unknown):
        return unseen(setup.copies)
    gone = [
        _operator_gone(engine, runtime)
        for engine, runtime in toolkit_runtimes(snapshot)
        if runtime.fault and _is_operators(runtime.path) and not _is_there(setup.copies, runtime.path)
    ]
    if gone:
        return tuple(gone)
    real = [copy for copy in setup.copies if copy.kind in (SYSTEM, OPERATOR) and RUNTIME in copy.programs]
    if len(real) > 1:
        evidence = [
            Evidence(f"{copy.version}" if isinstance(copy.version, str) else "there", copy.folder) for copy in real
        ]
        folders = " and ".join(copy.folder for copy in real)
        return warned(f"two copies of the toolkit are installed: {folders}", *evidence)
    if isinstance(snapshot.engines, Unknown):
        return unseen(snapshot.engines)
    return passed("one copy of the toolkit is installed", *(Evidence("there", copy.folder) for copy in setup.copies))


def _operator_gone(engine: "EngineInstallation", runtime: "EngineRuntime") -> Outcome:
    commands = (configure_command(engine), restart_command(engine, reload=engine.engine == "docker"))
    return failed(
        f"{engine.engine} starts the GPU Operator's copy of the toolkit, which is gone: {runtime.path}",
        Evidence(runtime.fault, runtime.file or engine.config_path),
        subject=subject_of(engine),
        remedy=Remedy("Let the engine start the host's copy", commands),
    )


def _is_operators(path: str | None) -> bool:
    return (path or "").startswith(("/usr/local/nvidia/", "/run/nvidia/toolkit", "/opt/nvidia/toolkit"))


def _is_there(copies: "tuple[ToolkitCopy, ...]", path: str | None) -> bool:
    folder, _, name = (path or "").rpartition("/")
    return any(copy.folder == folder and name in copy.programs for copy in copies)
