"""The running kernel: how it was started, what it enforces, what its build has; it knows no module of NVIDIA's."""

import os
from collections.abc import Callable
from typing import TypeVar

from ctk.facts import Unknown
from ctk.facts.kernel import Kernel, KernelOption
from ctk.host import Host
from ctk.host.modprobe import collect_boot_modules, collect_modprobe_rules
from ctk.host.processes import format_time, parse_boot_time
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from

T = TypeVar("T")

MODULE_ROOT = "/lib/modules"
EFI = "/sys/firmware/efi"
EFI_VARIABLE = EFI + "/efivars/{name}-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""EFI_GLOBAL_VARIABLE of the UEFI specification; efivarfs puts four bytes of attributes before the value."""
LOCKDOWN = "/sys/kernel/security/lockdown"
REBOOT_REQUIRED = "/run/reboot-required"
"""What Debian's and Ubuntu's packages touch; the names of the packages are in the .pkgs file beside it."""
KERNEL_OPTIONS = frozenset(
    {
        "ARM64_64K_PAGES",
        "CGROUPS",
        "CGROUP_BPF",
        "CGROUP_DEVICE",
        "DEVICE_PRIVATE",
        "DRM",
        "MMU_NOTIFIER",
        "MODULES",
        "MODULE_SIG_FORCE",
        "NAMESPACES",
        "OVERLAY_FS",
        "PCI_MSI",
        "RANDOMIZE_BASE",
        "SECCOMP",
    }
)
COMMAND_LINE_NAMES = frozenset(
    {
        "amd_iommu",
        "apparmor",
        "cgroup_disable",
        "cgroup_no_v1",
        "default_hugepagesz",
        "hugepages",
        "hugepagesz",
        "init_on_alloc",
        "initcall_blacklist",
        "intel_iommu",
        "iommu",
        "lockdown",
        "log_buf_len",
        "lsm",
        "modprobe.blacklist",
        "module.sig_enforce",
        "module_blacklist",
        "nokaslr",
        "nomodule",
        "nomodeset",
        "numa_balancing",
        "pci",
        "pcie_aspm",
        "rd.driver.blacklist",
        "security",
        "selinux",
        "systemd.legacy_systemd_cgroup_controller",
        "systemd.unified_cgroup_hierarchy",
    }
)
COMMAND_LINE_PREFIXES = ("nouveau.", "nvidia", "vfio")
"""Only what changes how a GPU or its containers work is kept: the rest may hold an address or a password."""
ONLY_ROOT_SEES_KEYS = Unknown("only root sees the kernel's keys")


def collect_kernel(host: Host, release: str | None | Unknown) -> Kernel:
    """release: of the running kernel; without it the parts that lie in its folders are unknown."""
    efi = try_exists(host, EFI)
    config_path, options = _collect_options(host, release)
    packages = try_read_text(host, REBOOT_REQUIRED + ".pkgs")
    return Kernel(
        banner=_line(host, "/proc/version"),
        booted_at=_booted_at(host),
        command_line=_parsed(try_read_text(host, "/proc/cmdline"), parse_command_line),
        taint=_number(host, "/proc/sys/kernel/tainted"),
        page_size_bytes=os.sysconf("SC_PAGE_SIZE") if host.is_live else Unknown("only a running host tells"),
        efi=efi,
        secure_boot=_efi_switch(host, efi, "SecureBoot"),
        setup_mode=_efi_switch(host, efi, "SetupMode"),
        lockdown=_parsed(try_read_text(host, LOCKDOWN), parse_lockdown),
        signatures_enforced=_switch(host, "/sys/module/module/parameters/sig_enforce"),
        trusted_keys=_collect_keys(host),
        module_folders=_module_folders(host),
        headers=_collect_headers(host, release),
        reboot_required=try_exists(host, REBOOT_REQUIRED),
        reboot_packages=tuple(dict.fromkeys(packages.split())) if isinstance(packages, str) else (),
        modprobe_rules=collect_modprobe_rules(host),
        boot_modules=collect_boot_modules(host),
        config_path=config_path,
        options=options,
        log_restricted=_number(host, "/proc/sys/kernel/dmesg_restrict"),
        bpf_jit_harden=_number(host, "/proc/sys/net/core/bpf_jit_harden"),
    )


def parse_command_line(text: str) -> tuple[str, ...]:
    """The words that matter here; double quotes hold blanks together and are dropped (kernel-parameters.rst)."""
    words: list[str] = []
    quoted = False
    current = ""
    for letter in text.strip():
        if letter == '"':
            quoted = not quoted
        elif letter.isspace() and not quoted:
            words.append(current)
            current = ""
        else:
            current += letter
    return tuple(word for word in (*words, current) if _is_of_interest(word.partition("=")[0]))


def _is_of_interest(name: str) -> bool:
    return name in COMMAND_LINE_NAMES or name.startswith(COMMAND_LINE_PREFIXES)


def parse_lockdown(text: str) -> str | None:
    """The mode in brackets: "none [integrity] confidentiality"; None when no word has them."""
    return next((word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")), None)


def parse_efi_switch(content: bytes) -> bool | None:
    """One byte behind the attributes; None for anything else."""
    return content[4] == 1 if len(content) == 5 else None


def parse_keys(text: str) -> tuple[str, ...]:
    """The descriptions of asymmetric keys in /proc/keys (keyrings(7)), without the algorithm behind them."""
    found = []
    for line in text.splitlines():
        fields = line.split(None, 8)
        if len(fields) == 9 and fields[7] == "asymmetri":
            found.append(fields[8].partition(": X509.")[0])
    return tuple(found)


def parse_options(text: str) -> tuple[KernelOption, ...]:
    """CONFIG_NAME=value lines of the options that ctk asks for, in the file's order."""
    found = []
    for line in text.splitlines():
        name, equals, value = line.removeprefix("CONFIG_").partition("=")
        if equals and name in KERNEL_OPTIONS:
            found.append(KernelOption(name, value.strip().strip('"')))
    return tuple(found)


def _parsed(text: str | None | Unknown, parse: Callable[[str], T | None]) -> T | None | Unknown:
    return parse(text) if isinstance(text, str) else text


def _line(host: Host, path: str) -> str | None | Unknown:
    text = try_read_text(host, path)
    return text.strip() or None if isinstance(text, str) else text


def _number(host: Host, path: str) -> int | None | Unknown:
    text = try_read_text(host, path)
    if not isinstance(text, str):
        return text
    return int(text) if text.strip().isdigit() else Unknown(f"no number in {path}")


def _switch(host: Host, path: str) -> bool | None | Unknown:
    text = try_read_text(host, path)
    return text.strip() in ("Y", "1") if isinstance(text, str) else text


def _booted_at(host: Host) -> str | None | Unknown:
    text = try_read_text(host, "/proc/stat")
    if not isinstance(text, str):
        return text
    seconds = parse_boot_time(text)
    return Unknown("no boot time in /proc/stat") if seconds is None else format_time(seconds)


def _efi_switch(host: Host, efi: bool | Unknown, name: str) -> bool | None | Unknown:
    if efi is not True:
        return None if efi is False else efi
    path = EFI_VARIABLE.format(name=name)
    try:
        return parse_efi_switch(host.read_bytes(path))
    except ABSENT:
        return None if _has_entries(host, EFI + "/efivars") else Unknown("the EFI variables are not mounted")
    except OSError as error:
        return unknown_from(error)


def _has_entries(host: Host, folder: str) -> bool:
    try:
        return bool(host.list_directory(folder))
    except OSError:
        return False


def _collect_keys(host: Host) -> tuple[str, ...] | None | Unknown:
    text = try_read_text(host, "/proc/keys")
    if not isinstance(text, str):
        return text
    return parse_keys(text) or (ONLY_ROOT_SEES_KEYS if host.is_live and os.geteuid() != 0 else ())


def _module_folders(host: Host) -> tuple[str, ...] | None | Unknown:
    try:
        names = host.list_directory(MODULE_ROOT)
        return tuple(name for name in names if host.is_directory(f"{MODULE_ROOT}/{name}"))
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _collect_headers(host: Host, release: str | None | Unknown) -> str | None | Unknown:
    """Complete means: a Makefile and the generated configuration, without either no module can be built."""
    if not isinstance(release, str):
        return release
    folder = f"{MODULE_ROOT}/{release}/build"
    parts = [try_exists(host, f"{folder}/{name}") for name in ("Makefile", "include/generated/autoconf.h")]
    unknown = [part for part in parts if isinstance(part, Unknown)]
    return unknown[0] if unknown else (folder if all(parts) else None)


def _collect_options(
    host: Host, release: str | None | Unknown
) -> tuple[str | None | Unknown, tuple[KernelOption, ...]]:
    """The first file that is there; all that are there may be closed to us."""
    reasons: list[Unknown] = [release] if isinstance(release, Unknown) else []
    folders = (f"/boot/config-{release}", f"{MODULE_ROOT}/{release}/config") if isinstance(release, str) else ()
    for path in folders:
        text = try_read_text(host, path)
        if isinstance(text, str):
            return path, parse_options(text)
        reasons += [text] if isinstance(text, Unknown) else []
    try:
        return "/proc/config.gz", parse_options(_unpack(host.read_bytes("/proc/config.gz")))
    except ABSENT:
        return (reasons[0] if reasons else None), ()
    except (OSError, ValueError) as error:
        return (unknown_from(error) if isinstance(error, OSError) else Unknown(str(error))), ()


def _unpack(content: bytes) -> str:
    """ValueError: it is no gzip file."""
    import zlib

    try:
        return zlib.decompress(content, wbits=31).decode("utf-8", "replace")
    except zlib.error as error:
        raise ValueError(f"not unpacked: {error}") from error
