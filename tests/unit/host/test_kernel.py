"""The running kernel's facts from small trees; what may not be read stays unknown."""

import gzip
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.kernel import BootModule, KernelOption, ModprobeRule
from ctk.host.kernel import collect_kernel, parse_command_line, parse_efi_switch, parse_keys, parse_lockdown
from ctk.host.modprobe import collect_boot_modules, collect_modprobe_rules, parse_modprobe_file
from tests.unit.host.trees import plant

RELEASE = "6.1.0-21-amd64"
GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
KEYS = (
    "0a1b2c3d I------     1 perm 1f030000     0     0 asymmetri Debian Secure Boot CA: 6ccece7e: X509.rsa 5cbb419e []\n"
    "1a2b3c4d I--Q---     1 perm 1f3f0000     0 65534 keyring   _uid.0: empty\n"
)


def test_facts_of_one_boot(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/proc/version": "Linux version 6.1.0-21-amd64 (gcc-12)\n",
            "/proc/stat": "cpu 1\nbtime 1714550400\n",
            "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 nouveau.modeset=0 iommu=pt secret=x\n",
            "/proc/sys/kernel/tainted": "12289\n",
            "/proc/sys/kernel/dmesg_restrict": "1\n",
            "/proc/sys/net/core/bpf_jit_harden": "odd\n",
            "/sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
            "/sys/module/module/parameters/sig_enforce": "Y\n",
            "/proc/keys": KEYS,
            f"/lib/modules/{RELEASE}/build/Makefile": "",
            f"/lib/modules/{RELEASE}/build/include/generated/autoconf.h": "",
            "/lib/modules/6.1.0-20-amd64/modules.dep": "",
            "/run/reboot-required": "",
            "/run/reboot-required.pkgs": "linux-image-6.1.0-22-amd64\nlibc6\nlibc6\n",
            f"/boot/config-{RELEASE}": "CONFIG_CGROUPS=y\n# CONFIG_DRM is not set\nCONFIG_SECRET=1\nCONFIG_SECCOMP=m\n",
        },
    )
    kernel = collect_kernel(host, RELEASE)
    assert (kernel.booted_at, kernel.taint, kernel.lockdown) == ("2024-05-01T08:00:00Z", 12289, "integrity")
    assert kernel.command_line == ("nouveau.modeset=0", "iommu=pt")
    assert (kernel.signatures_enforced, kernel.log_restricted) == (True, 1)
    assert isinstance(kernel.bpf_jit_harden, Unknown)
    assert kernel.trusted_keys == ("Debian Secure Boot CA: 6ccece7e",)
    assert kernel.module_folders == ("6.1.0-20-amd64", RELEASE)
    assert kernel.headers == f"/lib/modules/{RELEASE}/build"
    assert (kernel.reboot_required, kernel.reboot_packages) == (True, ("linux-image-6.1.0-22-amd64", "libc6"))
    assert kernel.options == (KernelOption("CGROUPS", "y"), KernelOption("SECCOMP", "m"))
    assert (kernel.has_option("SECCOMP"), kernel.has_option("DRM")) == (True, False)
    assert (kernel.efi, kernel.secure_boot) == (False, None)
    assert isinstance(kernel.page_size_bytes, Unknown)


def test_bare_tree_is_absent_not_unknown(tmp_path: Path) -> None:
    kernel = collect_kernel(plant(tmp_path, {"/x": ""}), RELEASE)
    assert (kernel.lockdown, kernel.headers, kernel.module_folders, kernel.config_path) == (None, None, None, None)
    assert kernel.has_option("CGROUPS") is None


def test_release_that_is_not_known_makes_its_folders_unknown(tmp_path: Path) -> None:
    kernel = collect_kernel(plant(tmp_path, {"/x": ""}), Unknown("why"))
    assert (kernel.headers, kernel.config_path) == (Unknown("why"), Unknown("why"))


@pytest.mark.parametrize(("value", "found"), [(b"\6\0\0\0\1", True), (b"\6\0\0\0\0", False), (b"\1", None)])
def test_secure_boot_variable(tmp_path: Path, value: bytes, found: bool | None) -> None:
    host = plant(tmp_path, {f"/sys/firmware/efi/efivars/SecureBoot-{GLOBAL}": value.decode("latin-1")})
    assert collect_kernel(host, RELEASE).secure_boot is found
    assert parse_efi_switch(value) is found


def test_efi_without_variables_is_unknown(tmp_path: Path) -> None:
    assert collect_kernel(plant(tmp_path / "a", {"/sys/firmware/efi/fw_platform_size": "64"}), RELEASE).secure_boot == (
        Unknown("the EFI variables are not mounted")
    )
    others = {"/sys/firmware/efi/efivars/Boot0000-x": ""}
    assert collect_kernel(plant(tmp_path / "b", others), RELEASE).secure_boot is None


def test_configuration_in_proc(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/proc/version": "x"})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_MODULES=y\n"))
    kernel = collect_kernel(host, RELEASE)
    assert (kernel.config_path, kernel.options) == ("/proc/config.gz", (KernelOption("MODULES", "y"),))
    (tmp_path / "proc/config.gz").write_bytes(b"damaged")
    assert isinstance(collect_kernel(host, RELEASE).config_path, Unknown)


def test_quoted_words_of_the_command_line_stay_together() -> None:
    assert parse_command_line('pci="nomsi" module_blacklist=nouveau,"x y" dyndbg="file a +p"') == (
        "pci=nomsi",
        "module_blacklist=nouveau,x y",
    )
    assert parse_lockdown("none integrity\n") is None
    assert parse_keys("short line\n") == ()


def test_modprobe_rules_of_interest(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/etc/modprobe.d/nvidia.conf": "# blacklist x\nblacklist nouveau\noptions nvidia-drm \\\n  modeset=1\n",
            "/usr/lib/modprobe.d/nvidia.conf": "blacklist nvidia\n",
            "/usr/lib/modprobe.d/vfio.conf": "options vfio-pci ids=10de:2330\nblacklist pcspkr\n",
            "/etc/modprobe.d/readme.txt": "blacklist nvidia\n",
        },
    )
    assert collect_modprobe_rules(host) == (
        ModprobeRule("blacklist", "nouveau", "", "/etc/modprobe.d/nvidia.conf", 2),
        ModprobeRule("options", "nvidia_drm", "modeset=1", "/etc/modprobe.d/nvidia.conf", 3),
        ModprobeRule("options", "vfio_pci", "ids=10de:2330", "/usr/lib/modprobe.d/vfio.conf", 1),
    )
    assert [rule.module for rule in parse_modprobe_file("install nouveau /bin/false \\", "f")] == ["nouveau"]


def test_modules_asked_for_at_boot(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {"/etc/modules-load.d/nvidia.conf": "nvidia\n; x\nnvidia-uvm\n", "/etc/modules": "# list\n\nloop\n"},
    )
    assert collect_boot_modules(host) == (
        BootModule("nvidia", "/etc/modules-load.d/nvidia.conf", 1),
        BootModule("nvidia_uvm", "/etc/modules-load.d/nvidia.conf", 3),
        BootModule("loop", "/etc/modules", 3),
    )
