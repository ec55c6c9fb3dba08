"""`ctk cdi list`: the devices that engines see, one a line, and what is behind each; options and screen."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.cdi_folders import SPEC_DIR, Specs, fault_line, fault_to_document, file_namer, find_specs
from ctk.facts import Unknown
from ctk.facts.cdi import INVALID, REFUSED, SpecFault
from ctk.result import Message, Result

if TYPE_CHECKING:
    from ctk.cdi.registry import Registry, RegistryDevice
    from ctk.facts.cdi import CdiFile, CdiHostPath

    Namer = Callable[[CdiFile], str]
    Rows = list[tuple[RegistryDevice, tuple[SpecFault, ...]]]

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
    show = file_namer(app)
    rows = [(device, tuple(faults)) for device, faults in _rows(show, registry, paths_by_name(specs.cdi))]
    names = [device.name for device, _ in rows if device.winner is not None]
    text = "\n".join(_screen(show, device, faults) for device, faults in rows) if verbose else "\n".join(names)
    data = _document(show, specs, registry, rows) if app.json else {}
    app.finish(Result(app.command, data, text=text, messages=_messages(show, specs, registry, rows)))


def _document(show: "Namer", specs: Specs, registry: "Registry", rows: "Rows") -> dict[str, object]:
    return {
        "spec_dirs": list(specs.folders),
        "devices": [_data(show, device, faults) for device, faults in rows],
        "broken_files": [_broken_data(show, file) for file in registry.broken],
    }


def _rows(
    show: "Namer", registry: "Registry", states: "dict[str, CdiHostPath]"
) -> "Iterator[tuple[RegistryDevice, list[SpecFault]]]":
    """Each device with why a container that asks for it will not start; what a spec's devices share is judged once."""
    from ctk.cdi.host_faults import edits_faults

    common: dict[str, list[SpecFault]] = {}
    for device in registry.devices:
        if device.winner is None:
            files = " and ".join(show(file) for file in device.conflict)
            yield device, [SpecFault(f"{files} both define it, so engines take it from neither")]
            continue
        shared, own = device.edits
        path = device.winner.path
        if path not in common:
            common[path] = _breaking(edits_faults(shared, "", states))
        yield device, common[path] + _breaking(edits_faults(own, "", states))


def _breaking(faults: "Iterator[SpecFault]") -> list[SpecFault]:
    return [fault for fault in faults if fault.level == INVALID]


def _messages(show: "Namer", specs: Specs, registry: "Registry", rows: "Rows") -> tuple[Message, ...]:
    found = [Message("warning", line) for file in registry.broken for line in _broken_lines(show, file)]
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


def _broken_lines(show: "Namer", file: "CdiFile") -> list[str]:
    shown = show(file)
    if isinstance(file.spec, Unknown):
        return [f"{shown} could not be read: {file.spec.reason}"]
    return [fault_line(shown, fault) for fault in file.faults if fault.level == REFUSED][:MOST_FAULTS]


def _summary(faults: tuple[SpecFault, ...]) -> str:
    texts = tuple(dict.fromkeys(fault.message for fault in faults))  # a device's hook may be the common one's program
    more = len(texts) - MOST_FAULTS
    return "; ".join(texts[:MOST_FAULTS]) + (f"; and {more} more" if more > 0 else "")


def _screen(show: "Namer", device: "RegistryDevice", faults: tuple[SpecFault, ...]) -> str:
    lines = [device.name]
    if device.winner is not None:
        lines.append(f"  file      {show(device.winner)}")
    lines += [f"  shadows   {show(file)}" for file in device.shadowed]
    lines += [f"  conflict  {show(file)}" for file in device.conflict]
    if faults:
        lines.append(f"  broken    {_summary(faults)}")
    return "\n".join(lines)


def _data(show: "Namer", device: "RegistryDevice", faults: tuple[SpecFault, ...]) -> dict[str, object]:
    return {
        "name": device.name,
        "file": show(device.winner) if device.winner is not None else None,
        "shadowed": [show(file) for file in device.shadowed],
        "conflict": [show(file) for file in device.conflict],
        "usable": not faults,
        "faults": [fault.message for fault in faults],
    }


def _broken_data(show: "Namer", file: "CdiFile") -> dict[str, object]:
    unread = [SpecFault(f"it could not be read: {file.spec.reason}")] if isinstance(file.spec, Unknown) else []
    faults = [fault_to_document(fault) for fault in (*unread, *file.faults)]
    return {"file": show(file), "faults": faults}
