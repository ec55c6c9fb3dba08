"""The rows of the checks on the driver's versions; the checks themselves are beside it."""

from ctk.doctor.checks import driver_versions as checks
from ctk.doctor.model import CRITICAL, DEBIAN, HIGH, INSTALL, RED_HAT, TRIAGE, UBUNTU, Check, Command, Remedy

GROUP = "Driver, kernel side"

DRIVER_VERSION_CHECKS: tuple[Check, ...] = (
    Check(
        id="driver.version-mismatch",
        title="kernel module and user libraries have the same version",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=checks.check_version_mismatch,
        reads="the loaded module's version, the versions in the names of libnvidia-ml and libcuda behind their .so.1 "
        "links, the module on disk, the modules' use counts",
        rule="fail when the loaded module and a library in force differ in any part of the version",
        source="NVML's return code 18; the driver's own API check",
        needs=("driver.module-loaded",),
        explains=(
            "Failed to initialize NVML: Driver/library version mismatch",
            "nvml error: driver/library version mismatch",
            "CUDA error 803",
        ),
        remedy=Remedy("Reload the driver where nobody holds it, else start the machine anew; hold its packages"),
        fix="disruptive",
        profiles=(INSTALL, TRIAGE),
        decides=True,
    ),
    Check(
        id="driver.modules-consistent",
        title="uvm, modeset, drm and peermem come from the same build",
        group=GROUP,
        layer="L3",
        severity=HIGH,
        evaluate=checks.check_modules_consistent,
        reads="the version file of each of the driver's modules below /sys/module",
        rule="fail when two of them differ",
        source="voidlinux and other distributions' reports of half-updated modules",
        needs=("driver.module-loaded",),
        explains=("disagrees about version of symbol nvidia_", "Unknown symbol nvidia_p2p_"),
        remedy=Remedy(
            "Build and install all modules of one version, then start the machine anew",
            (
                Command("dkms install --force nvidia/$(modinfo -F version nvidia)"),
                Command("systemctl reboot", stops_containers=True, reboots=True),
            ),
        ),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="driver.gsp-firmware-files",
        title="GSP firmware files match the module",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=checks.check_gsp_firmware_files,
        reads="the folders nvidia/<version> in the kernel's firmware search path, and the module's version",
        rule="fail for open modules without the firmware of their version; proprietary ones: warn when only other "
        "versions are there",
        source="Linux, drivers/base/firmware_loader/main.c; NVIDIA's open modules, README",
        needs=("driver.installed", "driver.version-mismatch"),
        explains=("RmInitAdapter failed!", "Direct firmware load for nvidia/ failed with error -2"),
        remedy=Remedy(
            "Reinstall the package that brings the firmware for the module's version; after an update that was not "
            "followed by a reboot, starting the machine anew takes the new module",
            (
                Command(
                    "apt-get install --reinstall nvidia-firmware-<BRANCH>-server-$(modinfo -F version nvidia)",
                    only_on=(UBUNTU,),
                ),
                Command("apt-get install --reinstall firmware-nvidia-gsp", only_on=(DEBIAN,)),
                Command("dnf reinstall nvidia-kmod-common", only_on=(RED_HAT,)),
                Command("systemctl reboot", stops_containers=True, reboots=True),
            ),
        ),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="driver.root",
        title="exactly one driver root is in use and complete",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=checks.check_root,
        reads="the driver's libraries on the host and below /run/nvidia/driver",
        rule="fail when both have a driver and the versions differ, or neither has one; warn about the same one twice",
        source="NVIDIA/gpu-operator, the driver validation",
        needs=("driver.installed",),
        explains=("failed to locate libnvidia-ml.so.1", "the driver container says that a driver is on the host"),
        remedy=Remedy("Keep one of the two: take the host's packages away, or switch the driver container off"),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="driver.proc-gpu-count",
        title="the driver registered every bound GPU",
        group=GROUP,
        layer="L3",
        severity=HIGH,
        evaluate=checks.check_proc_gpu_count,
        reads="the folders below /proc/driver/nvidia/gpus, and the GPUs whose driver link is nvidia",
        rule="fail for each bound GPU that has no folder; addresses are compared whatever their width",
        source="NVIDIA's open modules, nv-procfs.c",
        needs=("driver.module-loaded", "pci.binding"),
        explains=("nvidia-smi lists fewer GPUs than lspci",),
        remedy=Remedy(
            "Read why the driver gave it up, then start the machine anew",
            (
                Command("dmesg | grep NVRM"),
                Command("systemctl reboot", stops_containers=True, reboots=True),
            ),
        ),
    ),
    Check(
        id="driver.excluded-gpus",
        title="no GPU is excluded unintentionally",
        group=GROUP,
        layer="L3",
        severity=HIGH,
        evaluate=checks.check_excluded_gpus,
        reads="the line GPU Excluded in /proc/driver/nvidia/gpus/*/information, and the parameters that exclude",
        rule="warn for each excluded GPU",
        source="NVIDIA's open modules, nv-reg.h and nv-procfs.c",
        needs=("driver.module-loaded",),
        explains=("nvidia-smi lists fewer GPUs than lspci",),
        remedy=Remedy(
            "Take the option out of the file that sets it, if nobody meant it, and start the machine anew",
            (
                Command("grep -rn -e ExcludedGpus -e GpuBlacklist /etc/modprobe.d", needs_root=False),
                Command("systemctl reboot", stops_containers=True, reboots=True),
            ),
        ),
        fix="guarded",
    ),
)
