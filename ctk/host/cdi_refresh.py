"""The units that keep a CDI spec fresh, NVIDIA's and ctk's: there, enabled, and how they ended; it starts none."""

from collections.abc import Iterator

from ctk.facts import Unknown
from ctk.facts.toolkit_setup import CdiRefresh
from ctk.host import Host
from ctk.host.driver_files import UDEV_FOLDERS
from ctk.host.reading import unknown_from
from ctk.host.services import collect_wanted_units
from ctk.host.units import SYSTEM_FOLDERS, find_unit_file, is_masked

OWNERS = ("nvidia", "ctk")
PROPERTIES = (
    "Result",
    "ExecMainStatus",
    "ConditionResult",
    "ConditionTimestampMonotonic",
    "InactiveEnterTimestampMonotonic",
)
"""org.freedesktop.systemd1(5); the times are microseconds after the boot, 0 for never."""


def collect_cdi_refresh(host: Host) -> tuple[CdiRefresh, ...] | Unknown:
    """One record for each owner whose units are there."""
    try:
        return tuple(_collect(host))
    except OSError as error:
        return unknown_from(error)


def _collect(host: Host) -> Iterator[CdiRefresh]:
    wanted: frozenset[str] | Unknown | None = None
    for owner in OWNERS:
        name = f"{owner}-cdi-refresh"
        service = find_unit_file(host, f"{name}.service", SYSTEM_FOLDERS)
        path_unit = find_unit_file(host, f"{name}.path", SYSTEM_FOLDERS)
        if service is None and path_unit is None:
            continue
        wanted = collect_wanted_units(host, "*-cdi-refresh.*") if wanted is None else wanted
        found = CdiRefresh(
            owner=owner,
            service=service,
            path_unit=path_unit,
            service_enabled=wanted if isinstance(wanted, Unknown) else f"{name}.service" in wanted,
            path_enabled=wanted if isinstance(wanted, Unknown) else f"{name}.path" in wanted,
            masked=any(path is not None and is_masked(host, path) for path in (service, path_unit)),
            udev_rule=_find_rule(host, name),
        )
        yield _asked(host, found, f"{name}.service") if service else found


def _find_rule(host: Host, name: str) -> str | None:
    return next((path for folder in UDEV_FOLDERS for path in host.glob(f"{folder}/*{name}.rules")), None)


def _asked(host: Host, found: CdiRefresh, unit: str) -> CdiRefresh:
    """No file tells how a unit ended; systemd does."""
    output = host.run(("systemctl", "show", f"--property={','.join(PROPERTIES)}", unit))
    if output.returncode != 0:
        why = Unknown(output.reason or f"systemctl ended with {output.returncode}")
        return found._replace(result=why, exit_status=why, condition=why, ended_seconds=why)
    values = dict(line.split("=", 1) for line in output.stdout.splitlines() if "=" in line)
    was_tried = _seconds(values.get("ConditionTimestampMonotonic", "")) is not None
    status = values.get("ExecMainStatus", "")
    return found._replace(
        result=values.get("Result") or None if was_tried else None,
        exit_status=int(status) if was_tried and status.isdigit() else None,
        condition={"yes": True, "no": False}.get(values.get("ConditionResult", "")) if was_tried else None,
        ended_seconds=_seconds(values.get("InactiveEnterTimestampMonotonic", "")),
    )


def _seconds(microseconds: str) -> float | None:
    """0 stands for never."""
    return int(microseconds) / 1e6 if microseconds.isdigit() and int(microseconds) else None
