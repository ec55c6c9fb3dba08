"""Whether NVIDIA's driver is installed, its modules there and loaded; which versions they have is judged elsewhere."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    core_module,
    driver_not_loaded,
    expects_containers,
    has_driver_container,
    has_trace,
    no_gpu_here,
    release_of,
)
from ctk.doctor.model import (
    CRITICAL,
    DEBIAN,
    INSTALL,
    RED_HAT,
    TRIAGE,
    UBUNTU,
    Check,
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

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

GROUP = "Driver, kernel side"
PROC_MODULES = "/proc/modules"


def check_installed(snapshot: "Snapshot") -> Outcome:
    """Two halves: kernel modules, and the libraries that programs use."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.driver, Unknown):
        return unseen(snapshot.driver)
    if has_driver_container(snapshot):
        return passed("the driver comes from a driver container")
    if has_trace(snapshot, "vendor"):
        return passed("the driver comes from the system image's own folder")
    kernel_half, user_half = _kernel_half(snapshot), _user_half(snapshot)
    if isinstance(kernel_half, Unknown):
        return unseen(kernel_half)
    if isinstance(user_half, Unknown):
        return unseen(user_half)
    return _judge_halves(snapshot, kernel_half, user_half)


def _judge_halves(snapshot: "Snapshot", kernel_half: Evidence | None, user_half: Evidence | None) -> Outcome:
    if kernel_half is not None and user_half is not None:
        return passed("modules and libraries are there", kernel_half, user_half)
    if kernel_half is not None:
        return warned("the driver's modules are here, but none of its libraries", kernel_half, remedy=_user_remedy())
    if user_half is not None and _has_no_folder(snapshot):
        return unseen(Unknown("there is no module folder for the running kernel"))
    if user_half is not None:
        return warned("the driver's libraries are here, but none of its modules", user_half)
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)  # there may be no GPU that needs one
    return failed(
        "no NVIDIA driver is installed: neither kernel modules nor libraries",
        Evidence("no module nvidia.ko", f"/lib/modules/{release_of(snapshot)}"),
        Evidence("no libnvidia-ml.so", "the system's library folders"),
        remedy=_install_remedy(),
    )


def _kernel_half(snapshot: "Snapshot") -> Evidence | None | Unknown:
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return modules
    module = modules.find_loaded("nvidia")
    if module is not None:
        return Evidence(f"module {module.name}", PROC_MODULES)
    file = modules.find_file("nvidia")
    if file is not None:
        return Evidence("module file", file.path)
    if isinstance(modules.dkms, tuple) and modules.dkms:
        build = modules.dkms[0]
        return Evidence(f"DKMS {build.module}/{build.version}: {build.state}", "/var/lib/dkms")
    return modules.files if isinstance(modules.files, Unknown) else None


def _has_no_folder(snapshot: "Snapshot") -> bool:
    """Then the modules may well be installed, for another kernel."""
    return not isinstance(snapshot.modules, Unknown) and snapshot.modules.files is None


def _user_half(snapshot: "Snapshot") -> Evidence | None | Unknown:
    driver = snapshot.driver
    libraries = driver if isinstance(driver, Unknown) else driver.libraries
    if isinstance(libraries, Unknown):
        return libraries
    return Evidence(f"library {libraries[0].version}", libraries[0].path) if libraries else None


def _install_remedy() -> Remedy:
    return Remedy(
        "Install the driver from the distribution's or NVIDIA's packages",
        (
            Command("ubuntu-drivers install --gpgpu", only_on=(UBUNTU,)),
            Command("apt-get install nvidia-driver", only_on=(DEBIAN,)),
            Command("dnf install nvidia-driver-cuda kmod-nvidia-open-dkms", only_on=(RED_HAT,)),
        ),
    )


def _user_remedy() -> Remedy:
    return Remedy(
        "Install the package with the libraries of the same version",
        (
            Command(
                "apt-get install nvidia-utils-<BRANCH>-server libnvidia-compute-<BRANCH>-server", only_on=(UBUNTU,)
            ),
            Command("apt-get install nvidia-smi libcuda1 libnvidia-ml1", only_on=(DEBIAN,)),
            Command("dnf install nvidia-driver-cuda", only_on=(RED_HAT,)),
        ),
    )


MODPROBE = Command("modprobe nvidia")
MODULE_PACKAGES = (
    Command("apt-get install linux-modules-nvidia-<BRANCH>-server-$(uname -r)", only_on=(UBUNTU,)),
    Command("dnf upgrade 'kmod-nvidia*'", only_on=(RED_HAT,)),
)


def check_module_available(snapshot: "Snapshot") -> Outcome:
    """modprobe finds it only below the running kernel's folder, and only if depmod has listed it."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if has_driver_container(snapshot) or has_trace(snapshot, "vendor"):
        return skipped("the driver's modules do not come from the host's /lib/modules")
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.files, Unknown):
        return unseen(modules.files)
    folder = f"/lib/modules/{release_of(snapshot)}"
    file = modules.find_file("nvidia")
    is_loaded = modules.find_loaded("nvidia") is not None
    if file is not None and (file.is_listed or is_loaded):
        return passed("nvidia.ko is there for the running kernel", Evidence("module file", file.path))
    if file is not None:
        return failed(
            "nvidia.ko is there for the running kernel, but modprobe does not know it",
            Evidence(f"not listed: {file.path}", f"{folder}/modules.dep"),
            remedy=Remedy("List it", (Command("depmod -a"), Command("modprobe nvidia"))),
        )
    missing = Evidence("no nvidia.ko", folder)
    if is_loaded:
        return noted("the nvidia module is loaded, but no file of it is left for the running kernel", missing)
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    message = f"there is no nvidia module for the running kernel {release_of(snapshot)}"
    return failed(message, missing, remedy=_module_remedy(snapshot))


def _module_remedy(snapshot: "Snapshot") -> Remedy | None:
    """Without DKMS nothing is built on this host: its modules come as packages. None: the row's, for both."""
    modules = snapshot.modules
    if isinstance(modules, Unknown) or isinstance(modules.dkms, Unknown) or modules.dkms:
        return None
    return Remedy(
        "Install the package with the module for the running kernel, or start the kernel that it is there for",
        (
            *MODULE_PACKAGES,
            Command("apt-get install nvidia-kernel-dkms", only_on=(DEBIAN,)),
            Command("modprobe nvidia"),
        ),
    )


def check_module_loaded(snapshot: "Snapshot") -> Outcome:
    """Debian calls it nvidia_current."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    module = core_module(snapshot)
    if isinstance(module, Unknown):
        return unseen(module)
    if module is None:
        return _judge_absent(snapshot)
    if module.state != "Live":
        return failed(
            f"the nvidia module has not finished loading or unloading (state {module.state})",
            Evidence(f"{module.name} {module.state}", PROC_MODULES),
        )
    return passed("the nvidia module is loaded", Evidence(f"{module.name} {module.state}", PROC_MODULES))


def _judge_absent(snapshot: "Snapshot") -> Outcome:
    """The kernel's list of modules may be hidden where the driver's own file is not."""
    version = None if isinstance(snapshot.driver, Unknown) else snapshot.driver.version
    if isinstance(version, str):
        return passed("the driver runs", Evidence(version, "/proc/driver/nvidia/version"))
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    return failed("the nvidia kernel module is not loaded", Evidence("no module nvidia", PROC_MODULES))


def check_uvm_loaded(snapshot: "Snapshot") -> Outcome:
    """NVML does without it, CUDA does not; a program with root's rights loads it on demand, a container cannot."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.loaded, Unknown):
        return unseen(modules.loaded)
    if modules.find_loaded("nvidia_uvm") is not None:
        return passed("nvidia_uvm is loaded", Evidence("nvidia_uvm", PROC_MODULES))
    evidence = Evidence("no module nvidia_uvm", PROC_MODULES)
    if expects_containers(snapshot):
        return failed("nvidia_uvm is not loaded, so CUDA cannot start in a container", evidence)
    return noted("nvidia_uvm is not loaded; CUDA will not start before it is", evidence)


_LOAD_REMEDY = Remedy(
    "Load the modules and make their device nodes; if that fails, the kernel's log says why",
    (
        Command("modprobe nvidia"),
        Command("modprobe nvidia-uvm"),
        Command("nvidia-modprobe -c0 -u"),
        Command("dmesg | grep -iE 'nvrm|nvidia' | tail -20"),
    ),
)

DRIVER_CHECKS: tuple[Check, ...] = (
    Check(
        id="driver.installed",
        title="a driver is installed",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_installed,
        reads="loaded modules, module files of the running kernel, DKMS's folder, the names of the driver's libraries, "
        "the folders of driver containers and system images",
        rule="pass with modules and libraries, warn with one of the two, fail with neither",
        source="NVIDIA's driver installation guide; NVIDIA/gpu-operator, the driver validation",
        needs=("pci.gpus-present",),
        explains=("nvidia-smi: command not found", "load library failed: libnvidia-ml.so.1: cannot open shared object"),
        remedy=Remedy("Install the driver from the distribution's or NVIDIA's packages"),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="driver.module-available",
        title="nvidia.ko exists for the running kernel",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_module_available,
        reads="the module files below /lib/modules of the running kernel, and its modules.dep",
        rule="fail without a file that modprobe would find; it does not apply to driver containers",
        source="modprobe(8), depmod(8)",
        needs=("driver.installed", "host.dkms-status", "host.reboot-pending"),
        explains=("modprobe: FATAL: Module nvidia not found in directory /lib/modules/",),
        remedy=Remedy(
            "Build the module for the running kernel, which needs its headers, or install a package that has it",
            (
                Command("dkms autoinstall -k $(uname -r)"),
                *MODULE_PACKAGES,
                MODPROBE,
            ),
        ),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="driver.module-loaded",
        title="nvidia module is loaded and live",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_module_loaded,
        reads="/proc/modules, /proc/driver/nvidia/version",
        rule="fail when the module is not there or not live",
        source="proc_modules(5); NVIDIA's open modules, nv-procfs.c",
        needs=(
            "driver.module-available",
            "pci.gpus-present",
            "host.nouveau-loaded",
            "host.module-signature",
            "host.competing-drivers",
            "host.module-vermagic",
            "host.cmdline",
            "driver.load-errors",
            "pci.gpu-supported",
        ),
        explains=(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
            "nvml error: driver not loaded",
        ),
        remedy=_LOAD_REMEDY,
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
        decides=True,
    ),
    Check(
        id="driver.uvm-loaded",
        title="nvidia_uvm is loaded",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_uvm_loaded,
        reads="/proc/modules, and whether NVIDIA's container tools are installed",
        rule="fail when it is not loaded and containers are meant to run here, else tell it",
        source="NVIDIA/nvidia-modprobe; NVIDIA's container toolkit, CDI generation",
        needs=("driver.module-loaded",),
        explains=("CUDA error 999 (unknown) although nvidia-smi works", "the CDI spec lacks /dev/nvidia-uvm"),
        remedy=Remedy(
            "Load it now and at every boot",
            (
                Command("modprobe nvidia-uvm"),
                Command("nvidia-modprobe -u -c0"),
                Command("printf 'nvidia\\nnvidia-uvm\\n' > /etc/modules-load.d/nvidia.conf"),
            ),
        ),
        fix="safe",
        profiles=(INSTALL, TRIAGE),
    ),
)
