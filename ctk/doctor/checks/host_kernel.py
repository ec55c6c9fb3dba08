"""The running kernel itself: its age, a restart that is due, and what it forbids or lacks that GPU containers need."""

import shlex
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    elsewhere,
    gpus,
    loaded_version,
    no_gpu_here,
    nothing_to_judge,
    version_tuple,
)
from ctk.doctor.checks.log_lines import find_log, none_seen, quote
from ctk.doctor.model import (
    APT,
    RED_HAT,
    SUSE,
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
    from ctk.facts.kernel import Kernel
    from ctk.facts.snapshot import Snapshot

OLDEST_KERNEL, OLD_KERNEL = (4, 15), (5, 10)
"""The open modules build from 4.15 on (their README, 595); device rules on cgroup v2 need it too."""
NEEDED_OPTIONS = ("CGROUPS", "NAMESPACES", "MODULES", "OVERLAY_FS", "SECCOMP", "PCI_MSI")
"""moby's contrib/check-config.sh, and what the driver's build asks for."""
DEVICE_OPTIONS = ("CGROUP_BPF", "CGROUP_DEVICE")
DENIALS = ("module_blacklist", "modprobe.blacklist", "rd.driver.blacklist")
TOLD_OPTIONS = (
    *("nokaslr", "iommu", "intel_iommu", "amd_iommu", "pci", "pcie_aspm", "lockdown", "init_on_alloc"),
    *("numa_balancing", "systemd.unified_cgroup_hierarchy", "systemd.legacy_systemd_cgroup_controller"),
    *("cgroup_no_v1", "nouveau.modeset", "nvidia-drm.modeset", "nvidia_drm.modeset"),
)
HMM_LINE = ("nvidia-uvm", "devmem_alloc_pagemap")


def check_kernel_version(snapshot: "Snapshot") -> Outcome:
    """Distributions carry features back to old numbers: only far too old ones fail."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    release = snapshot.system.kernel
    if not isinstance(release, str):
        return unseen(release or Unknown("the running kernel's release is not known"))
    version = version_tuple(release.partition("-")[0])[:2]
    evidence = Evidence(release, "/proc/sys/kernel/osrelease")
    if len(version) < 2:
        return unseen(Unknown(f"{release!r} is no release of a Linux kernel"))
    if version < OLDEST_KERNEL:
        return failed(f"kernel {release} is older than 4.15, which today's drivers need", evidence)
    if version < OLD_KERNEL:
        return noted(f"kernel {release} is old; the newest drivers may not build for it", evidence)
    return passed(f"kernel {release}", evidence)


def check_reboot_pending(snapshot: "Snapshot") -> Outcome:
    """A kernel whose module folder is gone can load nothing any more."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    kernel = snapshot.kernel
    if isinstance(kernel, Unknown):
        return unseen(kernel)
    release = snapshot.system.kernel
    folders = kernel.module_folders
    if isinstance(folders, tuple) and folders and isinstance(release, str) and release not in folders:
        evidence = Evidence(f"holds {', '.join(folders[:3])}", "/lib/modules")
        if no_gpu_here(snapshot):
            return noted(f"the running kernel {release} has no modules on the disk", evidence)
        message = f"the modules of the running kernel {release} are gone from the disk: nothing can be loaded any more"
        return failed(message, evidence)
    if isinstance(kernel.reboot_required, Unknown):
        return unseen(kernel.reboot_required)
    if not kernel.reboot_required:
        return passed("no restart of the machine is due")
    ours = [name for name in kernel.reboot_packages if "nvidia" in name or name.startswith("linux-image")]
    named = f" for {', '.join(ours[:3])}" if ours else ""
    due = Evidence(" ".join(kernel.reboot_packages[:5]) or "present", "/run/reboot-required")
    return (warned if ours else noted)(f"a restart of the machine is due{named}", due)


def check_package_changed(snapshot: "Snapshot") -> Outcome:
    """When the driver's files were replaced; whether that broke anything is driver.version-mismatch's business."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    kernel, driver = snapshot.kernel, snapshot.driver
    if isinstance(kernel, Unknown) or isinstance(driver, Unknown):
        return unseen(kernel if isinstance(kernel, Unknown) else Unknown("the driver's files were not looked at"))
    if isinstance(driver.libraries, Unknown):
        return unseen(driver.libraries)
    if not isinstance(kernel.booted_at, str):
        return unseen(kernel.booted_at or Unknown("the time of the boot is not known"))
    changed = [item for item in driver.libraries if item.linked and (item.modified_at or "") > kernel.booted_at]
    loaded = loaded_version(snapshot)
    if not changed:
        return passed("the driver's files are older than this boot")
    evidence = [Evidence(f"{item.name} {item.version} of {item.modified_at}", item.path) for item in changed[:2]]
    evidence.append(Evidence(f"booted {kernel.booted_at}", "/proc/stat"))
    if isinstance(loaded, str) and changed[0].version != loaded:
        message = f"the driver was updated to {changed[0].version} under the running system at {changed[0].modified_at}"
        return noted(message, *evidence)
    return noted(f"the driver's files were installed after this boot, at {changed[0].modified_at}", *evidence)


def check_kernel_config(snapshot: "Snapshot") -> Outcome:
    """Distributions' kernels have all of them; home-made ones often lack one."""
    kernel = _kernel(snapshot)
    if isinstance(kernel, Outcome):
        return kernel
    if not isinstance(kernel.config_path, str):
        return unseen(kernel.config_path or Unknown("the kernel's build configuration was not found"))
    missing = [name for name in NEEDED_OPTIONS if not kernel.has_option(name)]
    if not any(kernel.has_option(name) for name in DEVICE_OPTIONS):
        missing.append(" or ".join(DEVICE_OPTIONS))
    evidence = tuple(Evidence(f"no CONFIG_{name}", kernel.config_path) for name in missing)
    if missing:
        return failed(f"the kernel was built without {', '.join(missing)}", *evidence[:3])
    return passed("the kernel has what containers and the driver need")


def check_cmdline(snapshot: "Snapshot") -> Outcome:
    """Mostly told, because it explains odd behaviour; one that denies NVIDIA's module is a fault."""
    kernel = _kernel(snapshot)
    if isinstance(kernel, Outcome):
        return kernel
    words = kernel.command_line
    if isinstance(words, Unknown):
        return unseen(words)
    denied = [word for word in words or () if _denies_nvidia(word)]
    if denied and isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    if denied and gpus(snapshot):
        evidence = Evidence(denied[0], "/proc/cmdline")
        message = f"the kernel's command line denies NVIDIA's module: {denied[0]}"
        return failed(message, evidence, remedy=grub_remedy(denied[0]))
    if "pci=nomsi" in (words or ()):
        return warned(
            "the kernel was started with pci=nomsi: GPUs get no interrupts of their own kind",
            Evidence("pci=nomsi", "/proc/cmdline"),
            remedy=grub_remedy("pci=nomsi"),
        )
    told = [word for word in words or () if word.partition("=")[0] in TOLD_OPTIONS]
    if told:
        return noted(
            f"the kernel was started with {' '.join(told)}", *(Evidence(word, "/proc/cmdline") for word in told[:3])
        )
    return passed("no option on the kernel's command line changes how GPUs work")


def _denies_nvidia(word: str) -> bool:
    name, _, value = word.partition("=")
    return name in DENIALS and bool({"nvidia", "nvidia_current"} & set(value.replace("-", "_").split(",")))


def check_hmm_kaslr(snapshot: "Snapshot") -> Outcome:
    """UVM finds no room for the GPUs' memory among the kernel's randomised addresses."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if not isinstance(snapshot.modules, Unknown) and snapshot.modules.find_loaded("nvidia_uvm") is None:
        return skipped("nvidia_uvm is not loaded")
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    lines = log.matching(*HMM_LINE)
    if lines:
        return failed(
            "nvidia_uvm found no address space for the GPUs' memory, so CUDA cannot start",
            *(quote(line, log) for line in lines[:3]),
        )
    return passed(none_seen(log, "nvidia_uvm found room for the GPUs' memory"))


def check_bpf_jit_harden(snapshot: "Snapshot") -> Outcome:
    """At 2 the kernel hides constants of loaded programs from root too, so device rules cannot be read and extended."""
    kernel = _kernel(snapshot)
    if isinstance(kernel, Outcome):
        return kernel
    value = kernel.bpf_jit_harden
    if isinstance(value, Unknown):
        return unseen(value)
    if value != 2:
        return passed("programs that hold device rules can be read back")
    evidence = Evidence("2", "/proc/sys/net/core/bpf_jit_harden")
    if not gpus(snapshot) or not _has_legacy_runtime(snapshot):
        return noted("net.core.bpf_jit_harden is 2; only containers set up without CDI would mind", evidence)
    return warned("net.core.bpf_jit_harden is 2: the legacy runtime cannot extend a container's device rules", evidence)


def _has_legacy_runtime(snapshot: "Snapshot") -> bool:
    tools = snapshot.toolkit if isinstance(snapshot.toolkit, tuple) else ()
    return any(tool.name == "nvidia-container-cli" and isinstance(tool.path, str) for tool in tools)


def _kernel(snapshot: "Snapshot") -> "Kernel | Outcome":
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    return unseen(snapshot.kernel) if isinstance(snapshot.kernel, Unknown) else snapshot.kernel


def grub_remedy(word: str) -> Remedy:
    """How a word is taken off the kernel's command line; the running kernel keeps the one it was started with."""
    key, _, value = word.partition("=")
    others = ",".join(name for name in value.split(",") if "nvidia" in value and not name.startswith("nvidia"))
    kept = f" --args={shlex.quote(f'{key}={others}')}" if others else ""
    return Remedy(
        f"Take {'nvidia in ' if others else ''}{word} out of GRUB_CMDLINE_LINUX in /etc/default/grub, "
        "write the boot menu anew, and start the machine anew",
        (
            Command(f"grep -rn {shlex.quote(word)} /etc/default/grub /etc/default/grub.d /etc/kernel/cmdline", False),
            Command("update-grub", only_on=APT),
            Command(f"grubby --update-kernel=ALL --remove-args={shlex.quote(word)}{kept}", only_on=(RED_HAT,)),
            Command("grub2-mkconfig -o /boot/grub2/grub.cfg", only_on=(SUSE,)),
            Command("systemctl reboot", stops_containers=True, reboots=True),
        ),
    )
