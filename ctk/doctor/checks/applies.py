"""Where a check of the host, the bus or the driver has nothing to say, and how facts become words; no check is here."""

from typing import TYPE_CHECKING

from ctk.doctor.model import Evidence
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.modules import LoadedModule
    from ctk.facts.nvml import NvmlGpu
    from ctk.facts.pci import PciFunction
    from ctk.facts.snapshot import Snapshot

VFIO = "vfio-pci"


def elsewhere(snapshot: "Snapshot") -> str:
    """Why this machine's kernel and driver are not judged by a server's rules; "" on a host of its own."""
    system = snapshot.system
    if isinstance(system.wsl, int):
        return "under WSL the driver belongs to Windows"
    if system.jetson is True:
        return "a Jetson's GPU is on the chip, with a driver of its own"
    if isinstance(system.container, str):
        return f"inside a container ({system.container}) the kernel is the host's business"
    return ""


def gpus(snapshot: "Snapshot") -> tuple["PciFunction", ...]:
    """The GPUs on the bus; none where the bus could not be looked at."""
    pci = snapshot.pci
    return () if pci is None or isinstance(pci, Unknown) else pci.gpus


def driver_gpus(snapshot: "Snapshot") -> tuple["PciFunction", ...]:
    """The GPUs that NVIDIA's driver should serve: all but those handed to virtual machines."""
    return tuple(gpu for gpu in gpus(snapshot) if gpu.driver != VFIO and gpu.physical_function is None)


def no_gpu_here(snapshot: "Snapshot") -> str:
    """Why no driver is needed here: none of the GPUs is for this host, or there is none; "" where one is, or may be."""
    why = elsewhere(snapshot)
    if why or isinstance(snapshot.pci, Unknown):
        return why
    if not gpus(snapshot):
        return "there is no NVIDIA GPU on the PCI bus"
    return "" if driver_gpus(snapshot) else "every GPU is handed to virtual machines"


def nothing_to_judge(snapshot: "Snapshot") -> str:
    """Why the host's own state is nobody's business here: no GPU, and no sign that one was ever meant to be."""
    why = elsewhere(snapshot)
    if why or isinstance(snapshot.pci, Unknown) or gpus(snapshot) or driver_traces(snapshot):
        return why
    return "there is no NVIDIA GPU here, and no trace of a driver"


def core_module(snapshot: "Snapshot") -> "LoadedModule | None | Unknown":
    """The driver's main module as loaded; None: it is not."""
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return modules
    return modules.loaded if isinstance(modules.loaded, Unknown) else modules.find_loaded("nvidia")


def is_loaded(snapshot: "Snapshot") -> bool:
    """The main module is known to be loaded."""
    module = core_module(snapshot)
    return module is not None and not isinstance(module, Unknown)


def driver_not_loaded(snapshot: "Snapshot") -> str:
    """Why a check of the running driver has nothing to say; "" where the driver runs, or may."""
    why = elsewhere(snapshot)
    return why or ("the nvidia module is not loaded" if core_module(snapshot) is None else "")


def loaded_version(snapshot: "Snapshot") -> str | None | Unknown:
    """The version of the running driver: what the module says of itself, else what /proc says."""
    module = core_module(snapshot)
    if module is not None and not isinstance(module, Unknown) and isinstance(module.version, str):
        return module.version
    return snapshot.driver if isinstance(snapshot.driver, Unknown) else snapshot.driver.version


def driver_traces(snapshot: "Snapshot") -> tuple[Evidence, ...]:
    """What shows that a driver is, or was meant to be, on this host."""
    found: list[Evidence] = []
    modules, driver = snapshot.modules, snapshot.driver
    if not isinstance(modules, Unknown):
        if isinstance(modules.loaded, tuple) and modules.find_loaded("nvidia") is not None:
            found.append(Evidence("module nvidia is loaded", "/proc/modules"))
        files = modules.files if isinstance(modules.files, tuple) else ()
        found += [Evidence("module file", file.path) for file in files[:1]]
        builds = modules.dkms if isinstance(modules.dkms, tuple) else ()
        found += [Evidence(f"DKMS {build.module}/{build.version}", "/var/lib/dkms") for build in builds[:1]]
    if not isinstance(driver, Unknown):
        libraries = driver.libraries if isinstance(driver.libraries, tuple) else ()
        found += [Evidence(f"library {library.version}", library.path) for library in libraries[:1]]
        traces = driver.traces if isinstance(driver.traces, tuple) else ()
        found += [Evidence(f"trace of a driver ({trace.kind})", trace.path) for trace in traces]
    return tuple(found)


def has_trace(snapshot: "Snapshot", kind: str) -> bool:
    """One of the marks of this kind was found: runfile, container, vendor or tool."""
    driver = snapshot.driver
    if isinstance(driver, Unknown) or isinstance(driver.traces, Unknown):
        return False
    return any(trace.kind == kind for trace in driver.traces)


def has_driver_container(snapshot: "Snapshot") -> bool:
    """The driver's libraries lie in a driver container's root, whether the host has some too or not."""
    driver = snapshot.driver
    return not isinstance(driver, Unknown) and isinstance(driver.root_libraries, tuple) and bool(driver.root_libraries)


def expects_containers(snapshot: "Snapshot") -> bool:
    """A program of NVIDIA's container toolkit is installed: somebody means to run GPU containers here."""
    tools = snapshot.toolkit if isinstance(snapshot.toolkit, tuple) else ()
    return any(isinstance(tool.path, str) and tool.name.startswith("nvidia-") for tool in tools)


def release_of(snapshot: "Snapshot") -> str:
    """The running kernel's release, or what a shell puts in its place."""
    return snapshot.system.kernel if isinstance(snapshot.system.kernel, str) else "$(uname -r)"


def is_debian_like(snapshot: "Snapshot") -> bool:
    """The host installs packages with apt."""
    system = snapshot.system
    return bool({"debian", "ubuntu"} & {str(system.distribution), *system.distribution_like})


def version_tuple(version: str) -> tuple[int, ...]:
    """The numbers of a dotted version, as far as they go."""
    numbers = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def find_nvml_gpu(snapshot: "Snapshot", address: str) -> "NvmlGpu | None":
    """What NVML says of a GPU; None where it does not know it, or was not asked."""
    nvml = snapshot.nvml
    if nvml is None or isinstance(nvml, Unknown) or isinstance(nvml.gpus, Unknown):
        return None
    return next((gpu for gpu in nvml.gpus if gpu.address == address), None)


def recovery_asked(snapshot: "Snapshot", address: str) -> int | None:
    """The recovery that NVML asks for on a GPU now, 0 for none; None where it does not say."""
    gpu = find_nvml_gpu(snapshot, address)
    return gpu.recovery_action if gpu is not None and isinstance(gpu.recovery_action, int) else None
