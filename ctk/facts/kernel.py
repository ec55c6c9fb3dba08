"""The running kernel, how it was started and what it enforces, and the files that rule its modules; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown


class ModprobeRule(NamedTuple):
    """One line of modprobe.d: command is blacklist, options, install, softdep or alias; module has underscores."""

    command: str
    module: str
    arguments: str
    path: str
    line: int


class BootModule(NamedTuple):
    """A module that a modules-load.d file asks for at boot, with underscores."""

    module: str
    path: str
    line: int


class KernelOption(NamedTuple):
    """One option of the kernel's build configuration, without CONFIG_; value "y", "m", "n" or its text."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Facts of one boot. System.kernel holds the release; None means that the host has no such file or switch."""

    banner: str | None | Unknown = None  # /proc/version
    booted_at: str | None | Unknown = None  # RFC 3339, UTC
    command_line: tuple[str, ...] | None | Unknown = None  # only words that matter to GPUs and containers
    taint: int | None | Unknown = None
    page_size_bytes: int | None | Unknown = None
    efi: bool | Unknown = False
    secure_boot: bool | None | Unknown = None  # None: started without EFI, or the firmware has no such variable
    setup_mode: bool | None | Unknown = None
    lockdown: str | None | Unknown = None  # none, integrity or confidentiality
    signatures_enforced: bool | None | Unknown = None
    trusted_keys: tuple[str, ...] | None | Unknown = None  # what the kernel calls its asymmetric keys
    module_folders: tuple[str, ...] | None | Unknown = None  # the releases with a folder below /lib/modules
    headers: str | None | Unknown = None  # the folder to build modules in for the running kernel, complete
    reboot_required: bool | Unknown = False
    reboot_packages: tuple[str, ...] = ()
    modprobe_rules: tuple[ModprobeRule, ...] | Unknown = ()
    boot_modules: tuple[BootModule, ...] | Unknown = ()
    config_path: str | None | Unknown = None  # the file the options were read from
    options: tuple[KernelOption, ...] = ()  # only those that a check asks for
    log_restricted: int | None | Unknown = None  # kernel.dmesg_restrict
    bpf_jit_harden: int | None | Unknown = None  # net.core.bpf_jit_harden

    def has_option(self, name: str) -> bool | None:
        """Whether the option is built in or a module; None when the configuration was not found."""
        if not isinstance(self.config_path, str):
            return None
        return any(option.name == name and option.value in ("y", "m") for option in self.options)
