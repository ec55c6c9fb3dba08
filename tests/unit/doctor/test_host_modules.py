"""The checks on what keeps NVIDIA's modules from loading: one row for each status they can give."""

import pytest

from ctk.doctor.checks.host_module_rows import HOST_MODULE_CHECKS
from ctk.facts import Unknown
from ctk.facts.kernel_log import KernelLog, LogLine
from ctk.facts.modules import DkmsBuild
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import (
    FIRST,
    RELEASE,
    make_function,
    make_kernel,
    make_loaded,
    make_module_file,
    make_modules,
    make_pci,
)
from tests.unit.doctor.tables import Row, assert_row, params

DENIED = Unknown("permission denied")
WSL = make_snapshot(system=make_system(wsl=2), pci=None)
BARE = make_snapshot(pci=Pci(), modules=make_modules(loaded=(), files=()))
SIGNED = make_module_file(signed=True, signer="Debian Secure Boot CA")
FOREIGN = make_module_file(signed=True, signer="node7 Secure Boot Module Signature key")
OFF = Unknown("packed with zstd")
REJECTED = KernelLog(
    source="/dev/kmsg", reaches_boot=True, lines=(LogLine("Loading of unsigned module is rejected", 1, 3.0, 3.0),)
)


def bound(driver: str, *loaded: str) -> Snapshot:
    modules = make_modules(loaded=tuple(make_loaded(name) for name in loaded))
    return make_snapshot(pci=make_pci(make_function(FIRST, driver=driver)), modules=modules)


def unloaded(*files: object, **kernel: object) -> Snapshot:
    """The module is not loaded; these files are on disk, and the kernel is so."""
    return make_snapshot(modules=make_modules(loaded=(), files=files), kernel=make_kernel(**kernel))


def built(state: str, kernel: str | None = RELEASE, *, loaded: bool = False, **changes: object) -> Snapshot:
    build = DkmsBuild("nvidia", "580.95.05", state, kernel, "x86_64", **changes)  # type: ignore[arg-type] # the row's own fields
    modules = make_modules(loaded=(make_loaded(),) if loaded else (), files=(), dkms=(build,))
    return make_snapshot(modules=modules, kernel=make_kernel(headers=None))


ROWS = [
    Row("host.nouveau-loaded", "absent", make_snapshot(), "pass"),
    Row("host.nouveau-loaded", "bound", bound("nouveau", "nouveau"), "fail", "bound to nouveau", FIRST),
    Row("host.nouveau-loaded", "beside", bound("nvidia", "nvidia", "nouveau"), "warn", "no GPU is bound"),
    Row(
        "host.nouveau-loaded",
        "no-gpu",
        make_snapshot(pci=Pci(), modules=make_modules(loaded=(make_loaded("nouveau"),))),
        "info",
    ),
    Row("host.nouveau-loaded", "closed", make_snapshot(modules=DENIED), "unknown"),
    Row("host.nouveau-loaded", "list-closed", make_snapshot(modules=make_modules(loaded=DENIED)), "unknown"),
    Row("host.nouveau-loaded", "wsl", WSL, "skip"),
    Row("host.competing-drivers", "absent", make_snapshot(), "pass"),
    Row("host.competing-drivers", "nova", bound("nova_core", "nova_core"), "fail", "nova_core", FIRST),
    Row("host.competing-drivers", "mods", bound("nvidia", "nvidia", "mods"), "warn", "mods"),
    Row("host.competing-drivers", "closed", make_snapshot(modules=DENIED), "unknown"),
    Row("host.secure-boot", "no-efi", make_snapshot(), "pass", "without EFI"),
    Row("host.secure-boot", "on", make_snapshot(kernel=make_kernel(efi=True, secure_boot=True)), "info", "is on"),
    Row("host.secure-boot", "off", make_snapshot(kernel=make_kernel(efi=True, secure_boot=False)), "pass", "is off"),
    Row("host.secure-boot", "closed", make_snapshot(kernel=make_kernel(secure_boot=DENIED)), "unknown"),
    Row("host.secure-boot", "kernel-closed", make_snapshot(kernel=DENIED), "unknown"),
    Row("host.secure-boot", "wsl", WSL, "skip"),
    Row("host.lockdown", "none", make_snapshot(), "pass"),
    Row("host.lockdown", "integrity", make_snapshot(kernel=make_kernel(lockdown="integrity")), "info"),
    Row("host.lockdown", "confidentiality", make_snapshot(kernel=make_kernel(lockdown="confidentiality")), "warn"),
    Row("host.lockdown", "closed", make_snapshot(kernel=make_kernel(lockdown=DENIED)), "unknown"),
    Row("host.lockdown", "lxc", make_snapshot(system=make_system(container="lxc")), "skip"),
    Row("host.module-signature", "loaded", make_snapshot(kernel=make_kernel(lockdown="integrity")), "pass", "accepted"),
    Row("host.module-signature", "not-enforced", unloaded(make_module_file()), "skip", "takes unsigned"),
    Row(
        "host.module-signature",
        "unsigned",
        unloaded(make_module_file(), lockdown="integrity", secure_boot=True),
        "fail",
        "Secure Boot is on and the kernel refuses unsigned modules",
    ),
    Row("host.module-signature", "trusted", unloaded(SIGNED, signatures_enforced=True), "pass", "trusts"),
    Row("host.module-signature", "unknown-key", unloaded(FOREIGN, lockdown="integrity"), "fail", "node7"),
    Row(
        "host.module-signature",
        "secure-boot-alone",
        unloaded(make_module_file(), secure_boot=True, lockdown=None),
        "fail",
    ),
    Row("host.module-signature", "keys-closed", unloaded(SIGNED, lockdown="integrity", trusted_keys=DENIED), "unknown"),
    Row(
        "host.module-signature",
        "file-not-read-but-rejected",
        make_snapshot(
            modules=make_modules(loaded=(), files=(make_module_file(signed=OFF),)),
            kernel=make_kernel(lockdown="integrity"),
            kernel_log=REJECTED,
        ),
        "fail",
        "refused a module",
    ),
    Row(
        "host.module-signature",
        "file-not-read",
        unloaded(make_module_file(signed=OFF), lockdown="integrity"),
        "unknown",
    ),
    Row("host.module-signature", "efi-closed", unloaded(SIGNED, lockdown=DENIED), "unknown"),
    Row("host.module-signature", "no-file", unloaded(lockdown="integrity"), "skip"),
    Row("host.module-signature", "no-gpu", BARE, "skip"),
    Row("host.kernel-headers", "not-needed", make_snapshot(), "skip"),
    Row("host.kernel-headers", "missing", built("added", None), "fail", RELEASE),
    Row("host.kernel-headers", "missing-yet-loaded", built("installed", loaded=True), "warn"),
    Row(
        "host.kernel-headers",
        "there",
        make_snapshot(modules=make_modules(dkms=(DkmsBuild("nvidia", "580.95.05", "installed", RELEASE),))),
        "pass",
    ),
    Row(
        "host.kernel-headers",
        "closed",
        make_snapshot(
            modules=make_modules(dkms=(DkmsBuild("nvidia", "1.0", "added"),)), kernel=make_kernel(headers=DENIED)
        ),
        "unknown",
    ),
    Row("host.dkms-status", "none", make_snapshot(), "skip"),
    Row("host.dkms-status", "installed", built("installed"), "pass"),
    Row("host.dkms-status", "added", built("added", None), "fail", "has not built"),
    Row("host.dkms-status", "other-kernel", built("installed", "6.1.0-20-amd64"), "fail", "has not built"),
    Row("host.dkms-status", "built", built("built"), "fail", "not installed it"),
    Row(
        "host.dkms-status",
        "failed",
        built("failed", log="/x/make.log", error="error: no member"),
        "fail",
        "the build failed",
    ),
    Row("host.dkms-status", "failed-yet-loaded", built("failed", log="/x", error="e", loaded=True), "warn"),
    Row(
        "host.dkms-status",
        "another-package",
        make_snapshot(
            modules=make_modules(
                files=(make_module_file(path=f"/lib/modules/{RELEASE}/kernel/nvidia-580/nvidia.ko"),),
                dkms=(DkmsBuild("nvidia", "570.1", "added"),),
            )
        ),
        "info",
    ),
    Row(
        "host.dkms-status",
        "only-nvidia-fs",
        make_snapshot(modules=make_modules(dkms=(DkmsBuild("nvidia-fs", "2.20", "added"),))),
        "skip",
    ),
    Row("host.dkms-status", "closed", make_snapshot(modules=make_modules(dkms=DENIED)), "unknown"),
    Row("host.module-vermagic", "same", make_snapshot(), "pass"),
    Row(
        "host.module-vermagic",
        "other",
        unloaded(make_module_file(version_magic="6.1.0-20-amd64 SMP")),
        "fail",
        "6.1.0-20",
    ),
    Row(
        "host.module-vermagic",
        "two-versions",
        unloaded(
            make_module_file(),
            make_module_file(path="/lib/modules/x/extra/nvidia.ko", version="570.1", is_listed=False),
        ),
        "warn",
        "2 versions",
    ),
    Row("host.module-vermagic", "no-file", unloaded(), "skip"),
    Row("host.module-vermagic", "packed", unloaded(make_module_file(version_magic=OFF)), "unknown"),
    Row("host.module-vermagic", "closed", make_snapshot(modules=make_modules(files=DENIED)), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(HOST_MODULE_CHECKS, row)
