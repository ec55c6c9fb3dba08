"""Where a check of the toolkit has nothing to say, and what is known of the copy in force; no check is here."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_gpus, gpus, is_debian_like
from ctk.doctor.model import Command, Outcome, skipped, unseen
from ctk.facts import Unknown
from ctk.facts.packages import Package
from ctk.facts.toolkit_mode import ModeFacts
from ctk.facts.toolkit_setup import ToolkitConfig, ToolkitSetup
from ctk.formats.release import Release, parse_release
from ctk.toolkit.modes import resolve

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation, EngineRuntime
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit import ToolBinary

RUNTIME, HOOK, CLI = "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-container-cli"
TOOL, CDI_HOOK = "nvidia-ctk", "nvidia-cdi-hook"
OWN_RUNTIME = "ctk-container-runtime"
RUNTIMES = (RUNTIME, OWN_RUNTIME)
MODE = "nvidia-container-runtime.mode"
NVIDIA_KIND = "nvidia.com/gpu"
JIT_SINCE = (1, 18)
"""From this release on, auto means jit-cdi; before, the hook (NVIDIA Container Toolkit, release notes of 1.18)."""
FOUR = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
VERSION_PACKAGES = ("nvidia-container-toolkit-base", "nvidia-container-toolkit")


def find_tool(snapshot: "Snapshot", name: str) -> "ToolBinary | None":
    """The program's record, whether it was found or not."""
    tools = snapshot.toolkit if isinstance(snapshot.toolkit, tuple) else ()
    return next((tool for tool in tools if tool.name == name), None)


def installed_tools(snapshot: "Snapshot") -> "tuple[ToolBinary, ...]":
    """NVIDIA's programs, and ctk's runtime; ctk alone is no toolkit that an engine could start."""
    tools = snapshot.toolkit if isinstance(snapshot.toolkit, tuple) else ()
    return tuple(
        tool
        for tool in tools
        if isinstance(tool.path, str) and (tool.name.startswith("nvidia-") or tool.name == OWN_RUNTIME)
    )


def without_toolkit(snapshot: "Snapshot") -> Outcome | None:
    """What to say where no toolkit is installed, or nobody could look; None where there is one."""
    if isinstance(snapshot.toolkit, Unknown):
        return unseen(snapshot.toolkit)
    if installed_tools(snapshot):
        return None
    hidden = next((tool.path for tool in snapshot.toolkit if isinstance(tool.path, Unknown)), None)
    return unseen(hidden) if hidden is not None else skipped("no toolkit is installed")


def setup_of(snapshot: "Snapshot") -> ToolkitSetup | Outcome:
    """How the installed toolkit is set up; an outcome where there is nothing to say."""
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    setup = snapshot.toolkit_setup
    return unseen(setup) if isinstance(setup, Unknown) else setup


def config_of(snapshot: "Snapshot") -> ToolkitConfig | Outcome:
    """The configuration with its values; an outcome where it may not be read, or cannot be."""
    setup = setup_of(snapshot)
    if isinstance(setup, Outcome):
        return setup
    config = setup.config
    if isinstance(config, Unknown):
        return unseen(config)
    if isinstance(config.exists, Unknown):
        return unseen(Unknown(f"{config.path}: {config.exists.reason}"))
    return skipped(f"{config.path} cannot be read as TOML") if config.fault is not None else config


def engines_of(snapshot: "Snapshot") -> "tuple[EngineInstallation, ...]":
    """The installed engines; none where nobody could look."""
    return snapshot.engines if isinstance(snapshot.engines, tuple) else ()


def names_of_engines(snapshot: "Snapshot") -> str:
    """As words: "docker, containerd"."""
    return ", ".join(dict.fromkeys(engine.engine for engine in engines_of(snapshot)))


def toolkit_runtimes(snapshot: "Snapshot") -> "tuple[tuple[EngineInstallation, EngineRuntime], ...]":
    """Each runtime entry of an engine that starts a toolkit's runtime."""
    found = []
    for engine in engines_of(snapshot):
        runtimes = () if isinstance(engine.files, Unknown) else engine.files.runtimes
        found += [(engine, runtime) for runtime in runtimes if is_toolkit_runtime(runtime.path)]
    return tuple(found)


def is_toolkit_runtime(path: str | None) -> bool:
    """The program's name, with or without an ending such as .cdi or .legacy."""
    name = (path or "").rpartition("/")[2]
    return any(name == runtime or name.startswith(f"{runtime}.") for runtime in RUNTIMES)


def find_package(snapshot: "Snapshot", *names: str) -> Package | None:
    """The first of these that the package manager lists as installed."""
    packages = snapshot.packages
    return None if packages is None or isinstance(packages, Unknown) else packages.find(*names)


def toolkit_version(snapshot: "Snapshot") -> Release | None:
    """Of NVIDIA's toolkit: what its programs say, else its package; None where nothing tells."""
    for name in (TOOL, RUNTIME, HOOK):
        tool = find_tool(snapshot, name)
        found = parse_release(tool.version) if tool is not None and isinstance(tool.version, str) else None
        if found is not None:
            return found
    package = find_package(snapshot, *VERSION_PACKAGES)
    return parse_release(package.version) if package is not None else None


def install_command(snapshot: "Snapshot", *names: str, again: bool = False) -> Command:
    """How this distribution installs packages, or installs them again."""
    system = snapshot.system
    kinds = {str(system.distribution), *system.distribution_like}
    packages = " ".join(names)
    if kinds & {"suse", "opensuse", "sles", "opensuse-leap", "opensuse-tumbleweed"}:
        return Command(f"zypper install {'--force ' if again else ''}{packages}")
    if kinds & {"arch"}:
        return Command(f"pacman -S {packages}")
    if is_debian_like(snapshot) or not kinds & {"rhel", "fedora", "centos", "amzn", "rocky", "almalinux", "ol"}:
        return Command(f"apt-get install {'--reinstall ' if again else ''}{packages}")
    return Command(f"dnf {'reinstall' if again else 'install'} {packages}")


def upgrade_command(snapshot: "Snapshot", name: str) -> Command:
    """How this distribution brings an installed package up to date."""
    text = install_command(snapshot, name).text
    upgrades = {"zypper": f"zypper update {name}", "pacman": "pacman -Syu", "dnf": f"dnf upgrade {name}"}
    return Command(upgrades.get(text.split()[0], f"apt-get install --only-upgrade {name}"))


def has_gpu(snapshot: "Snapshot") -> bool | Unknown:
    """A GPU that containers of this host may be meant to use."""
    if snapshot.system.jetson is True:
        return True
    if isinstance(snapshot.system.wsl, int):
        return Unknown("under WSL the GPU belongs to Windows")
    if isinstance(snapshot.pci, Unknown):
        return snapshot.pci
    return bool(driver_gpus(snapshot))


def only_for_virtual_machines(snapshot: "Snapshot") -> bool:
    """There are GPUs, and every one is handed to a virtual machine."""
    return bool(gpus(snapshot)) and not driver_gpus(snapshot)


def resolve_mode(snapshot: "Snapshot", config: ToolkitConfig) -> tuple[str, ModeFacts] | Unknown:
    """What the configured mode means here, for the release that is installed, and by what facts."""
    facts = config.mode
    if facts is None or isinstance(facts, Unknown):
        return facts or Unknown("what the mode depends on was not looked at")
    mode = resolve(facts).mode
    version = toolkit_version(snapshot)
    is_old = version is not None and version.numbers < JIT_SINCE
    return ("legacy" if mode == "jit-cdi" and facts.configured == "auto" and is_old else mode), facts
