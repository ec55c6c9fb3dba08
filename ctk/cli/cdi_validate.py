"""`ctk cdi validate`: are the specs sound, and still true of this host; options and screen, judged in ctk.cdi."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.cdi_folders import SPEC_DIR, Specs, fault_line, fault_to_document, file_namer, find_specs
from ctk.cli.paths import absolute_path, shown_path
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, NotApplicable, ReadFault, UsageFault
from ctk.facts import Unknown
from ctk.facts.cdi import WARNING, Cdi, CdiFile, SpecFault
from ctk.facts.cdi_spec import CdiSpec
from ctk.result import Result

if TYPE_CHECKING:
    from ctk.cdi.registry import Registry
    from ctk.facts.driver import Driver

    Namer = Callable[[CdiFile], str]


@click.command(cls=CtkCommand, name="validate", context_settings={"help_option_names": ["--help", "-h"]})
@click.argument("files", metavar="[FILE]…", nargs=-1)
@SPEC_DIR
@click.option("--no-host-checks", is_flag=True, help="Only the files themselves, not what they name (image builds).")
@shared_options
@click.pass_obj
def validate(app: App, files: tuple[str, ...], spec_dirs: tuple[str, ...], no_host_checks: bool) -> None:
    """Look for errors in the CDI specs of the spec folders, or in FILE: do engines take them, are they still true?

    Syntax, fields, names, the version against the fields; two files for one device; every path and hook, device
    numbers, the driver's version, the GPUs and MIG devices of this host. Exit 0 without errors (warnings are none), 1
    with errors, 3 if a file cannot be read, 4 if there is no spec at all.
    """
    app.command = "cdi validate"
    specs = _find(app, files, spec_dirs, with_paths=not no_host_checks)
    found = specs.cdi.files if isinstance(specs.cdi.files, tuple) else ()
    if not found:
        folders = ", ".join(specs.folders)
        hint = "Make one with: ctk cdi generate --output /etc/cdi/nvidia.yaml. Nothing was changed."
        raise NotApplicable(f"cannot validate: there is no CDI spec in {folders}", hint=hint)
    _refuse_unreadable(app, found)
    driver = None if no_host_checks else _driver(app)
    judged = [(file, _faults(file, specs.cdi, driver)) for file in found]
    registry = None if files else _registry(specs)
    app.finish(_result(app, judged, registry))


def _find(app: App, files: Sequence[str], spec_dirs: Sequence[str], *, with_paths: bool) -> Specs:
    if not files:
        return find_specs(app, spec_dirs, with_paths=with_paths)
    if spec_dirs or app.snapshot_file is not None:
        other = "--spec-dir" if spec_dirs else "--snapshot"
        raise UsageFault(f"cannot look at files and at {other} together", hint="Leave out one of the two.")
    from ctk.host.cdi import collect_file, collect_host_paths

    host = app.host()
    paths = dict.fromkeys(absolute_path(app, name) or "" for name in files)
    missing = next((path for path in paths if not host.exists(path)), None)
    if missing is not None:
        raise ReadFault(f"cannot read {shown_path(host, missing)}: it does not exist", hint="Nothing was changed.")
    found = [(path, collect_file(host, path, path.rpartition("/")[0])) for path in paths]
    folder = next((path for path, file in found if file is None), None)
    if folder is not None:
        raise ReadFault(f"cannot read {folder}: it is a folder", hint="See --spec-dir.", path=folder)
    known = tuple(file for _, file in found if file is not None)
    return Specs((), Cdi((), known, collect_host_paths(host, known) if with_paths else None))


def _refuse_unreadable(app: App, files: Sequence[CdiFile]) -> None:
    for file in files:
        if isinstance(file.spec, Unknown):
            shown = file_namer(app)(file)
            raise ReadFault(f"cannot read {shown}: {file.spec.reason}", hint="Nothing was changed.", path=shown)


def _driver(app: App) -> "Driver | Unknown":
    if app.snapshot_file is not None:
        return app.snapshot().driver
    host = app.host()
    if not host.exists("/proc/driver/nvidia"):
        return Unknown("no driver is loaded")
    from ctk.host.driver import collect_running_driver

    return collect_running_driver(host)


def _registry(specs: Specs) -> "Registry":
    from ctk.cdi.registry import build_registry

    return build_registry(specs.cdi, specs.folders)


def _faults(file: CdiFile, cdi: Cdi, driver: "Driver | Unknown | None") -> tuple[SpecFault, ...]:
    """What is wrong with one file; of the host only where driver is not None."""
    if driver is None or not isinstance(file.spec, CdiSpec):
        return file.faults
    return (*file.faults, *_host_faults(file.spec, cdi, driver))


def _host_faults(spec: CdiSpec, cdi: Cdi, driver: "Driver | Unknown") -> Iterator[SpecFault]:
    from ctk.cdi.host_faults import driver_faults, gpu_faults, mig_faults, number_faults, path_faults, paths_by_name

    states = paths_by_name(cdi)
    yield from path_faults(spec, states)
    yield from number_faults(spec, states)
    if isinstance(driver, Unknown):
        return
    from ctk.cdi.present import control_minors, present_gpus, present_instances

    yield from driver_faults(spec, driver.version)
    yield from gpu_faults(spec, present_gpus(driver))
    yield from mig_faults(spec, present_instances(driver), control_minors(driver))


def _result(app: App, judged: "Sequence[tuple[CdiFile, tuple[SpecFault, ...]]]", registry: "Registry | None") -> Result:
    show = file_namer(app)
    lines = [line for file, faults in judged for line in _screen(show, file, faults)]
    devices = registry.devices if registry is not None else ()
    conflicts = [device for device in devices if device.conflict]
    shadowed = [device for device in devices if device.shadowed]
    for device in conflicts:
        names = " and ".join(show(file) for file in device.conflict)
        lines.append(f"error: {device.name} is defined by {names}: engines take it from neither")
    lines += _shadow_lines(show, registry)
    data = {
        "files": [_data(show, file, faults) for file, faults in judged],
        "conflicts": [{"name": device.name, "files": [show(file) for file in device.conflict]} for device in conflicts],
        "shadowed": [
            {
                "name": device.name,
                "file": show(device.winner) if device.winner else None,
                "shadowed": [show(file) for file in device.shadowed],
            }
            for device in shadowed
        ],
    }
    is_wrong = bool(conflicts) or any(_is_wrong(faults) for _, faults in judged)
    return Result(app.command, data, EXIT_NEGATIVE if is_wrong else EXIT_OK, "\n".join(lines))


def _is_wrong(faults: Sequence[SpecFault]) -> bool:
    return any(fault.level != WARNING for fault in faults)


def _screen(show: "Namer", file: CdiFile, faults: Sequence[SpecFault]) -> Iterator[str]:
    shown = show(file)
    for fault in faults:
        yield f"{'warning' if fault.level == WARNING else 'error'}: {fault_line(shown, fault)}"
    spec = file.spec
    if _is_wrong(faults) or not isinstance(spec, CdiSpec):
        yield f"{shown}: not valid"
    else:
        count = len(spec.devices)
        words = f"{count} device{'s' if count != 1 else ''} of {spec.kind}, cdiVersion {spec.version}"
        yield f"{shown}: valid ({words})"


def _shadow_lines(show: "Namer", registry: "Registry | None") -> Iterator[str]:
    """One line for each pair of files."""
    pairs: dict[tuple[str, str], int] = {}
    for device in registry.devices if registry is not None else ():
        for file in device.shadowed:
            if device.winner is not None:
                pair = (show(device.winner), show(file))
                pairs[pair] = pairs.get(pair, 0) + 1
    for (winner, loser), count in pairs.items():
        devices = f"{count} device{'s' if count != 1 else ''}"
        yield f"warning: {winner} wins over {loser} for {devices}: its folder comes later"


def _data(show: "Namer", file: CdiFile, faults: Sequence[SpecFault]) -> dict[str, object]:
    spec = file.spec if isinstance(file.spec, CdiSpec) else None
    return {
        "file": show(file),
        "valid": not _is_wrong(faults),
        "kind": spec.kind if spec else None,
        "version": spec.version if spec else None,
        "devices": [device.name for device in spec.devices] if spec else [],
        "faults": [fault_to_document(fault) for fault in faults],
    }
