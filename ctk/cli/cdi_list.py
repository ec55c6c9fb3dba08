"""`ctk cdi list`: the devices that engines see, one a line, and what is behind each; options and screen."""

from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.cdi_place import SPEC_DIR, Specs, fault_line, fault_to_document, find_specs, shown_file
from ctk.facts import Unknown
from ctk.facts.cdi import INVALID, REFUSED, SpecFault
from ctk.result import Message, Result

if TYPE_CHECKING:
    from ctk.cdi.registry import Registry, RegistryDevice
    from ctk.facts.cdi import CdiFile, CdiHostPath

MOST_FAULTS = 3
"""More faults of one device are counted, not told: they are in `ctk cdi validate` and --json."""


@click.command(cls=CtkCommand, name="list", context_settings={"help_option_names": ["--help", "-h"]})
@SPEC_DIR
@click.option("--verbose", "-v", is_flag=True, help="Also each device's file, the files it shadows, what is broken.")
@shared_options
@click.pass_obj
def list_devices(app: App, spec_dirs: tuple[str, ...], verbose: bool) -> None:
    """List the CDI devices by their qualified names, as engines find them: the later folder wins.

    The names go to stdout, what is wrong with them to stderr. Exit 0 whatever it finds, 3 if a folder cannot be read.

    Example: ctk cdi list --spec-dir /etc/cdi,/run/cdi -v
    """
    from ctk.cdi.host_faults import paths_by_name
    from ctk.cdi.registry import build_registry

    app.command = "cdi list"
    specs = find_specs(app, spec_dirs)
    registry = build_registry(specs.cdi, specs.folders)
    states = paths_by_name(specs.cdi)
    rows = [(device, device_faults(device, states)) for device in registry.devices]
    names = [device.name for device, _ in rows if device.winner is not None]
    text = "\n".join(_screen(app, device, faults) for device, faults in rows) if verbose else "\n".join(names)
    data = {
        "spec_dirs": list(specs.folders),
        "devices": [_data(app, device, faults) for device, faults in rows],
        "broken_files": [_broken_data(app, file) for file in registry.broken],
    }
    app.finish(Result(app.command, data, text=text, messages=_messages(app, specs, registry, rows)))


def device_faults(device: "RegistryDevice", states: "dict[str, CdiHostPath]") -> tuple[SpecFault, ...]:
    """Why a container that asks for it will not start."""
    from ctk.cdi.host_faults import path_faults
    from ctk.facts.cdi_spec import CdiSpec, SpecDevice

    if device.winner is None:
        files = " and ".join(file.path for file in device.conflict)
        return (SpecFault(f"{files} both define it, so engines take it from neither"),)
    if not isinstance(device.winner.spec, CdiSpec):
        return ()
    common, own = device.edits
    alone = device.winner.spec._replace(edits=common, devices=(SpecDevice("", own),))
    return tuple(fault._replace(where="") for fault in path_faults(alone, states) if fault.level == INVALID)


def _messages(
    app: App, specs: Specs, registry: "Registry", rows: "list[tuple[RegistryDevice, tuple[SpecFault, ...]]]"
) -> tuple[Message, ...]:
    found = [Message("warning", line) for file in registry.broken for line in _broken_lines(app, file)]
    by_text: dict[str, list[str]] = {}
    for device, faults in rows:
        if faults:
            by_text.setdefault(_summary(faults), []).append(device.name)
    found += [Message("warning", f"{', '.join(names)}: {text}") for text, names in by_text.items()]
    known = specs.cdi.folders if isinstance(specs.cdi.folders, tuple) else ()
    missing = [folder.path for folder in known if folder.real_path is None and folder.path in specs.folders]
    found += [Message("info", f"{path} is not there") for path in missing if not rows]
    count = sum(device.winner is not None for device, _ in rows)
    return (*found, Message("info", f"Found {count} CDI devices"))


def _broken_lines(app: App, file: "CdiFile") -> list[str]:
    shown = shown_file(app, file)
    if isinstance(file.spec, Unknown):
        return [f"{shown} could not be read: {file.spec.reason}"]
    return [fault_line(shown, fault) for fault in file.faults if fault.level == REFUSED][:MOST_FAULTS]


def _summary(faults: tuple[SpecFault, ...]) -> str:
    more = len(faults) - MOST_FAULTS
    return "; ".join(fault.message for fault in faults[:MOST_FAULTS]) + (f"; and {more} more" if more > 0 else "")


def _screen(app: App, device: "RegistryDevice", faults: tuple[SpecFault, ...]) -> str:
    lines = [device.name]
    if device.winner is not None:
        lines.append(f"  file      {shown_file(app, device.winner)}")
    lines += [f"  shadows   {shown_file(app, file)}" for file in device.shadowed]
    lines += [f"  conflict  {shown_file(app, file)}" for file in device.conflict]
    if faults:
        lines.append(f"  broken    {_summary(faults)}")
    return "\n".join(lines)


def _data(app: App, device: "RegistryDevice", faults: tuple[SpecFault, ...]) -> dict[str, object]:
    return {
        "name": device.name,
        "file": shown_file(app, device.winner) if device.winner is not None else None,
        "shadowed": [shown_file(app, file) for file in device.shadowed],
        "conflict": [shown_file(app, file) for file in device.conflict],
        "usable": not faults,
        "faults": [fault.message for fault in faults],
    }


def _broken_data(app: App, file: "CdiFile") -> dict[str, object]:
    unread = [SpecFault(f"it could not be read: {file.spec.reason}")] if isinstance(file.spec, Unknown) else []
    faults = [fault_to_document(fault) for fault in (*unread, *file.faults)]
    return {"file": shown_file(app, file), "faults": faults}
