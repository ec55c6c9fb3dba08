"""Whether module, libraries, firmware and driver roots have one version; whether they are there is judged beside it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    core_module,
    driver_gpus,
    driver_not_loaded,
    has_driver_container,
    is_debian_like,
    loaded_version,
    no_gpu_here,
)
from ctk.doctor.model import (
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
from ctk.facts.driver import OPEN
from ctk.facts.modules import DRIVER_MODULES

if TYPE_CHECKING:
    from ctk.facts.driver import DriverLibrary, FirmwareFolder
    from ctk.facts.modules import Modules
    from ctk.facts.snapshot import Snapshot

VERSION_SOURCE = "/sys/module/nvidia/version"
HOST_ROOT, CONTAINER_ROOT = "/", "/run/nvidia/driver"
LIBRARIES = ("libnvidia-ml.so", "libcuda.so")
GSP = "gsp"


def check_version_mismatch(snapshot: "Snapshot") -> Outcome:
    """In an LXC container too: there the host's module meets the container's own libraries."""
    why = _why_no_versions(snapshot)
    if why:
        return skipped(why)
    if has_driver_container(snapshot):
        return skipped("the libraries belong to a driver container")
    loaded = loaded_version(snapshot)
    if isinstance(loaded, Unknown) or isinstance(snapshot.driver, Unknown):
        return unseen(loaded if isinstance(loaded, Unknown) else Unknown("the driver's files were not looked at"))
    if loaded is None:
        return unseen(Unknown("the loaded module does not state its version"))
    libraries = snapshot.driver.libraries
    if isinstance(libraries, Unknown):
        return unseen(libraries)
    if not libraries:
        return skipped("no user library of the driver is in the usual folders")
    stranger = next((found for name in LIBRARIES if (found := _stranger(libraries, name, loaded)) is not None), None)
    if stranger is None:
        return passed(f"module and libraries have version {loaded}")
    return _mismatch(snapshot, loaded, stranger)


def _why_no_versions(snapshot: "Snapshot") -> str:
    system = snapshot.system
    if system.container == "lxc":
        return "" if core_module(snapshot) is not None else "the nvidia module is not loaded"
    return driver_not_loaded(snapshot)


def _stranger(libraries: "tuple[DriverLibrary, ...]", name: str, loaded: str) -> "DriverLibrary | None":
    """A copy that the loader's link leads to, when no copy in force has the module's version.

    Which of several folders comes first is for the checks of the loader's cache.
    """
    copies = [library for library in libraries if library.name == name]
    in_force = [library for library in copies if library.linked] or copies
    return None if any(library.version == loaded for library in in_force) else next(iter(in_force), None)


def _mismatch(snapshot: "Snapshot", loaded: str, library: "DriverLibrary") -> Outcome:
    evidence = [Evidence(f"loaded {loaded}", VERSION_SOURCE), Evidence(f"library {library.version}", library.path)]
    modules = snapshot.modules
    file = None if isinstance(modules, Unknown) else modules.find_file("nvidia")
    on_disk = file.version if file is not None and isinstance(file.version, str) else None
    if file is not None and on_disk:
        evidence.append(Evidence(f"module on disk {on_disk}", file.path))
    message = f"the loaded kernel module is {loaded}, the user libraries are {library.version}"
    if on_disk is not None and on_disk not in (library.version, loaded):
        message += f", and the module on disk is {on_disk}"
    return failed(message, *evidence, remedy=_mismatch_remedy(snapshot, on_disk, library.version))


def _mismatch_remedy(snapshot: "Snapshot", on_disk: str | None, library_version: str) -> Remedy:
    hold = "apt-mark hold" if is_debian_like(snapshot) else "dnf versionlock"
    if snapshot.system.container == "lxc":
        return Remedy(
            "Install the libraries of the loaded module's version in this container; the module is the host's business"
        )
    kept = f"Hold the driver's packages ({hold}) so that no automatic update does this again."
    if on_disk is not None and on_disk != library_version:
        reinstall = f"Reinstall the driver first: the module on disk is {on_disk}, the libraries are {library_version}"
        return Remedy(f"{reinstall}. {kept}", (Command("systemctl reboot", stops_containers=True, reboots=True),))
    reboot = Command("systemctl reboot", stops_containers=True, reboots=True)
    holders = None if isinstance(snapshot.modules, Unknown) else count_holders(snapshot.modules)
    if holders is None or holders > 0:
        busy = f"something holds the driver (use count {holders})" if holders else "the driver may be in use"
        return Remedy(f"Start the machine anew: {busy}, so it cannot be reloaded. {kept}", (reboot,))
    loaded = [name for name in reversed(DRIVER_MODULES) if _is_loaded(snapshot, name)]
    commands = (
        Command("systemctl stop nvidia-persistenced", restarts=("nvidia-persistenced",)),
        Command(f"modprobe -r {' '.join(loaded)}", stops_containers=True),
        Command("modprobe -a nvidia nvidia-uvm"),
        Command("systemctl start nvidia-persistenced"),
    )
    return Remedy(f"Nobody holds the driver, so it can be reloaded without a reboot. {kept}", commands)


def count_holders(modules: "Modules") -> int | None:
    """Open handles on the driver's modules, the modules' own holds on each other left out; None: not known."""
    if isinstance(modules.loaded, Unknown):
        return None
    ours = [module for module in modules.loaded if module.plain_name in DRIVER_MODULES]
    counts = [module.use_count for module in ours]
    if any(count is None for count in counts):
        return None
    names = {module.name for module in ours}  # another product's module (gdrdrv, nvidia_fs) holds the driver, too
    return sum(count or 0 for count in counts) - sum(len(names.intersection(module.used_by)) for module in ours)


def _is_loaded(snapshot: "Snapshot", name: str) -> bool:
    return not isinstance(snapshot.modules, Unknown) and snapshot.modules.find_loaded(name) is not None


def check_modules_consistent(snapshot: "Snapshot") -> Outcome:
    """Modules of two builds do not find each other's symbols, or find the wrong ones."""
    why = driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.loaded, Unknown):
        return unseen(modules.loaded)
    ours = [module for module in modules.loaded if module.plain_name in DRIVER_MODULES]
    versions = {module.name: module.version for module in ours if isinstance(module.version, str)}
    if len(set(versions.values())) > 1:
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        evidence = (Evidence(version, f"/sys/module/{name}/version") for name, version in versions.items())
        return failed(f"the driver's modules have different versions: {listed}", *evidence)
    closed = [module.version for module in ours if isinstance(module.version, Unknown)]
    if closed:
        return unseen(closed[0])
    return passed("all loaded modules of the driver have one version")


def check_gsp_firmware_files(snapshot: "Snapshot") -> Outcome:
    """The open modules start no GPU without it; the proprietary ones start older GPUs without."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    driver = snapshot.driver
    if isinstance(driver, Unknown):
        return unseen(driver)
    if isinstance(driver.firmware, Unknown):
        return unseen(driver.firmware)
    version = _version_to_start(snapshot)
    if version is None or isinstance(version, Unknown):
        return skipped("no driver module is loaded or on disk") if version is None else unseen(version)
    if any(folder.version == version and _has_gsp(folder) for folder in driver.firmware):
        return passed(f"the GPUs' firmware of version {version} is there")
    present = sorted({folder.version for folder in driver.firmware if _has_gsp(folder)})
    folder = driver.firmware_search[-1] if driver.firmware_search else "/lib/firmware"
    return _missing_firmware(snapshot, version, present, f"{folder}/nvidia/{version}")


def _missing_firmware(snapshot: "Snapshot", version: str, present: list[str], expected: str) -> Outcome:
    others = f"; {', '.join(present)} is there" if present else ""
    evidence = [Evidence("no gsp_*.bin", expected), *(Evidence(other, "firmware folder") for other in present[:2])]
    if _is_open(snapshot):
        return failed(f"the GPUs' firmware for version {version} is missing{others}", *evidence)
    if present:
        return warned(f"the GPUs' firmware for version {version} is missing{others}", *evidence)
    return noted(f"there is no firmware for version {version}; the proprietary modules may do without", *evidence)


def _has_gsp(folder: "FirmwareFolder") -> bool:
    return any(name.startswith(GSP) for name in folder.files)


def _is_open(snapshot: "Snapshot") -> bool:
    driver, modules = snapshot.driver, snapshot.modules
    if not isinstance(driver, Unknown) and isinstance(driver.flavour, str):
        return driver.flavour == OPEN
    file = None if isinstance(modules, Unknown) else modules.find_file("nvidia")
    return file is not None and isinstance(file.license, str) and file.license != "NVIDIA"


def _version_to_start(snapshot: "Snapshot") -> str | None | Unknown:
    """Of the loaded module, else of the one that would be loaded."""
    loaded = loaded_version(snapshot)
    if isinstance(loaded, str) or isinstance(snapshot.modules, Unknown):
        return loaded
    file = snapshot.modules.find_file("nvidia")
    return file.version if file is not None else loaded


def check_root(snapshot: "Snapshot") -> Outcome:
    """A driver container beside the host's own packages: two drivers for one kernel."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    driver = snapshot.driver
    if isinstance(driver, Unknown):
        return unseen(driver)
    for part in (driver.libraries, driver.root_libraries):
        if isinstance(part, Unknown):
            return unseen(part)
    own = driver.libraries if isinstance(driver.libraries, tuple) else ()
    contained = driver.root_libraries if isinstance(driver.root_libraries, tuple) else None
    if contained is None:
        return passed("there is no driver container")
    return _judge_roots(own, contained)


def _judge_roots(own: "tuple[DriverLibrary, ...]", contained: "tuple[DriverLibrary, ...]") -> Outcome:
    if not contained:
        evidence = Evidence("no libnvidia-ml.so", CONTAINER_ROOT)
        if own:
            return passed("the host's own driver is the only one")
        message = f"the driver container's root {CONTAINER_ROOT} holds no driver libraries"
        return failed(message, evidence, remedy=_CONTAINER_REMEDY)
    there = Evidence(f"library {contained[0].version}", contained[0].path)
    if not own:
        return passed("the driver is in the driver container alone", there)
    here = Evidence(f"library {own[0].version}", own[0].path)
    if {library.version for library in own} & {library.version for library in contained}:
        return warned("a driver container and the host's own packages bring the same driver twice", there, here)
    versions = f"{contained[0].version} and {own[0].version}"
    return failed(f"a driver container and the host's own packages bring different drivers: {versions}", there, here)


_CONTAINER_REMEDY = Remedy(
    "Look at the driver container: start it anew, and after it the container that installs the toolkit",
    (
        Command("kubectl -n gpu-operator rollout restart daemonset nvidia-driver-daemonset", needs_root=False),
        Command(
            "kubectl -n gpu-operator rollout restart daemonset nvidia-container-toolkit-daemonset", needs_root=False
        ),
    ),
)


def check_proc_gpu_count(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Bound but not registered: the driver gave the GPU up while it started."""
    why = driver_not_loaded(snapshot) or no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.pci, Unknown) or isinstance(snapshot.driver, Unknown):
        return unseen(snapshot.pci if isinstance(snapshot.pci, Unknown) else Unknown("the driver was not looked at"))
    listed = snapshot.driver.gpus
    if isinstance(listed, Unknown):
        return unseen(listed)
    known = {gpu.address for gpu in listed or ()}
    bound = [gpu for gpu in driver_gpus(snapshot) if gpu.driver == "nvidia"]
    missing = [gpu for gpu in bound if gpu.address not in known]
    if not missing:
        return passed(f"the driver lists all {len(bound)} GPUs that are bound to it")
    return tuple(
        failed(
            f"GPU {gpu.address} is bound to the driver, which does not list it",
            Evidence(f"lists {len(known)} of {len(bound)}", "/proc/driver/nvidia/gpus"),
            Evidence("bound to nvidia", f"{gpu.folder}/driver"),
            subject=gpu.address,
        )
        for gpu in missing
    )


def check_excluded_gpus(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The driver knows the GPU and hides it on somebody's wish."""
    why = driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.driver, Unknown):
        return unseen(snapshot.driver)
    listed = snapshot.driver.gpus
    if isinstance(listed, Unknown):
        return unseen(listed)
    excluded = [gpu for gpu in listed or () if gpu.excluded is True]
    if not excluded:
        return passed("no GPU is excluded")
    wish = snapshot.driver.find_parameter("ExcludedGpus") or snapshot.driver.find_parameter("GpuBlacklist") or "none"
    return tuple(
        warned(
            f"GPU {gpu.address} is excluded: no program can use it",
            Evidence("GPU Excluded: Yes", f"{gpu.folder}/information"),
            Evidence(f"ExcludedGpus {wish}", "/proc/driver/nvidia/params"),
            subject=gpu.address,
        )
        for gpu in excluded
    )
