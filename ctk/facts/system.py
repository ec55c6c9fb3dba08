"""What kind of host this is; no I/O."""

from dataclasses import dataclass

from ctk.facts import Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Distribution, kernel and the kind of machine. container and virtualization name what was recognised."""

    distribution: str | None | Unknown  # os-release ID, normalised
    distribution_version: str | None | Unknown
    distribution_name: str | None | Unknown  # PRETTY_NAME
    distribution_like: tuple[str, ...]
    kernel: str | None | Unknown  # release, as `uname -r`
    architecture: str | None | Unknown  # as `uname -m`
    init: str | None | Unknown  # systemd, openrc, sysvinit, …
    container: str | None | Unknown  # docker, podman, lxc, systemd-nspawn, …
    wsl: int | None | Unknown  # 1 or 2
    jetson: bool | Unknown
