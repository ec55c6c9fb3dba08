"""Who looked at the host, and from where: how far the other facts can be trusted; no I/O."""

from dataclasses import dataclass

from ctk.facts import Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """The run itself. is_live False: another root was looked at, and the facts of a running process are None."""

    is_live: bool
    user_id: int  # the effective one
    capabilities: int | None | Unknown = None  # CapEff, a bit mask (capabilities(7))
    shares_mounts: bool | None | Unknown = None  # with process 1; False: inside a container or a chroot
    boot_id: str | None | Unknown = None
    newest_change: str | None = None  # RFC 3339, UTC: the youngest of some files that every boot or login writes
