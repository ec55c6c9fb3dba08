"""Which parts of a snapshot the checks read, so that a run of few checks looks at little; it evaluates nothing."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctk.doctor.model import Check

ALWAYS = ("suppressions", "pci", "modules", "driver", "toolkit", "platform")
"""What tells whether a check applies here, and whether there is anything to be judged at all."""

READ: dict[str, tuple[str, ...]] = {
    "collect.scope": ("observer",),
    "collect.kernel-log": ("kernel_log",),
    "collect.boot-identity": ("kernel", "observer"),
    "collect.data-age": (),
    "collect.observer-effect": ("nvml",),
    "collect.probe-hang": ("nvml",),
    "host": ("kernel", "kernel_log", "conditions"),
    "host.kernel-version": (),
    "host.reboot-pending": ("kernel",),
    "host.kernel-config": ("kernel",),
    "host.nouveau-loaded": (),
    "host.competing-drivers": (),
    "host.secure-boot": ("kernel",),
    "host.module-signature": ("kernel",),
    "host.kernel-headers": ("kernel",),
    "host.dkms-status": (),
    "host.module-vermagic": (),
    "host.disk-space": ("conditions",),
    "host.selinux": ("conditions",),
    "host.install-method-mix": (),
    "pci": ("kernel_log",),
    "pci.gpus-present": (),
    "pci.binding": (),
    "pci.vfio-bound": (),
    "driver": ("kernel_log", "nvml", "services", "smi"),
    "driver.installed": (),
    "driver.module-available": (),
    "driver.module-loaded": (),
    "driver.uvm-loaded": (),
    "driver.version-mismatch": (),
    "driver.modules-consistent": (),
    "driver.gsp-firmware-files": (),
    "driver.root": (),
    "driver.params": ("kernel_log",),
    "device": ("device_nodes", "nvml", "services"),
    "device.not-a-device": ("device_nodes",),
    "device.dev-mount": ("device_nodes",),
    "device.control-node": ("device_nodes",),
    "device.gpu-nodes": ("device_nodes",),
    "device.uvm-nodes": ("device_nodes",),
    "device.char-symlinks": ("device_nodes", "engines", "kubelet", "toolkit_setup", "cgroups", "packages"),
    "device.char-symlinks-persistent": ("device_nodes", "engines", "kubelet", "toolkit_setup", "cgroups", "services"),
    "lib": ("loader", "nvml"),
    "lib.ldcache": ("loader",),
    "lib.core": ("loader",),
    "lib.nvml-loadable": ("nvml",),
    "lib.daemon-environment": ("loader", "engines"),
    "cdi": ("cdi", "engines", "toolkit_setup", "packages"),
    "cdi.stale-devices": ("cdi", "engines", "toolkit_setup", "nvml"),
    "cdi.stale-mig": ("cdi", "engines", "toolkit_setup", "nvml"),
    "cdi.conflicts": ("cdi",),
    "toolkit": ("toolkit_setup", "packages", "engines"),
    "toolkit.known-bad": ("toolkit_setup", "packages", "engines", "nvml"),
    "toolkit.mode": ("toolkit_setup", "packages", "engines", "kubelet"),
    "toolkit.cdi-refresh-result": ("toolkit_setup", "kernel_log"),
    "runtime": ("engines", "cdi", "toolkit_setup", "packages", "docker_context"),
    "runtime.any": ("engines", "other_engines"),
    "runtime.runc.version": ("cgroups",),
    "cgroup": ("cgroups", "device_nodes", "engines", "kubelet", "kernel", "toolkit_setup", "packages", "nvml"),
    "cgroup.mode": ("cgroups",),
    "security": ("toolkit_setup", "packages", "engines", "kubelet", "services"),
    "security.config-writable": ("rights", "engines"),
    "security.runc-cve": ("cgroups", "packages"),
    "xid": ("kernel_log", "nvml"),
    "sxid": ("kernel_log", "nvml"),
    "nvml": ("nvml",),
    "fabric": ("nvml", "services"),
    "nvlink": ("nvml", "services"),
    "imex": ("nvml", "services"),
    "cuda": ("nvml", "services", "cuda_probe"),
    "jetson": ("platform",),
    "wsl": ("platform",),
    "vm": ("platform",),
    "vgpu": ("platform", "nvml", "services"),
}
"""By the id of a check, else by what stands before its first dot. A check that has no row may read everything."""


def parts_of(checks: Iterable["Check"]) -> frozenset[str] | None:
    """The fields of the snapshot that these checks read; None = all."""
    found = set(ALWAYS)
    for check in checks:
        read = READ.get(check.id, READ.get(check.id.partition(".")[0]))
        if read is None:
            return None
        found.update(read)
    return frozenset(found)
