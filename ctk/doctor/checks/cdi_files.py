"""The files of CDI specs: where they lie, whether engines take them, which wins; what they name is not looked at."""

from typing import TYPE_CHECKING

from ctk.cdi.kinds import is_nvidia_kind
from ctk.cdi.readers import TOOLKIT, Reader, version_numbers
from ctk.cdi.registry import edits_in, real_folders
from ctk.cdi.version import VERSIONS
from ctk.doctor.checks.applies import no_gpu_here
from ctk.doctor.checks.cdi_applies import (
    cdi_of,
    fault_evidence,
    files_of,
    folders_of,
    hidden_folder,
    readers,
    regenerate,
    registry_of,
    specs_in_force,
)
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.facts.cdi import INVALID, REFUSED, SCHEMA, TEXT, VERSION, Cdi, CdiFile, CdiFolder
from ctk.facts.cdi_spec import CdiSpec

if TYPE_CHECKING:
    from ctk.cdi.registry import RegistryDevice
    from ctk.facts.snapshot import Snapshot

LIKE_SPECS = (".yml", ".YAML", ".YML", ".JSON")
"""Endings that people take for those that are read."""
ALL_MAY_READ, ALL_MAY_ENTER = 0o004, 0o005


def check_spec_dirs(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A spec in a folder that an engine does not read does not exist for it."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    files = [file for file in files_of(cdi) if isinstance(file.spec, CdiSpec) and is_nvidia_kind(file.spec.kind)]
    if not files:
        return (hidden_folder(cdi) or skipped("there is no CDI spec of NVIDIA's here"),)
    asked = [reader for reader in readers(snapshot) if reader.reads is True]
    if not asked:
        return (skipped("no program here is known to read CDI specs"),)
    return tuple(_judge_reader(cdi, files, reader) for reader in asked)


def _judge_reader(cdi: Cdi, files: list[CdiFile], reader: Reader) -> Outcome:
    places = real_folders(cdi, reader.folders)
    seen = [file for file in files if file.folder in places]
    folders = Evidence(f"reads {', '.join(reader.folders)}", reader.origin)
    if seen:
        return passed(f"{reader.name} reads {seen[0].path}", folders, subject=reader.name)
    hidden = hidden_folder(cdi)
    if hidden is not None:
        return hidden._replace(subject=reader.name)
    file = files[0]
    message = f"{file.path} is in no folder that {reader.name} reads: {', '.join(reader.folders)}"
    remedy = Remedy(
        f"Put the spec into a folder that {reader.name} reads",
        (Command(f"cp -p {file.path} {reader.folders[0]}/{file.path.rpartition('/')[2]}"),),
    )
    evidence = (Evidence("a spec of NVIDIA's", file.path), folders)
    if reader.origin != "default" or reader.name == TOOLKIT:
        return failed(message, *evidence, subject=reader.name, remedy=remedy)
    return warned(message, *evidence, subject=reader.name, remedy=remedy)


def check_spec_present(snapshot: "Snapshot") -> Outcome:
    """Only where CDI is the chosen way: elsewhere the runtime or the hook makes do without a file."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return cdi
    found = specs_in_force(cdi)
    if found:
        item = found[0]
        count = len(item.spec.devices)
        return passed(f"{item.file.path} has {count} devices of {item.spec.kind}", Evidence("a spec", item.file.path))
    hidden = hidden_folder(cdi)
    if hidden is not None:
        return hidden
    chosen = _who_needs_a_spec(snapshot)
    if chosen is None:
        return skipped("no spec is needed: nothing here is set to use CDI only")
    folders = ", ".join(folder.path for folder in folders_of(cdi) if folder.named_by)
    others = [file for file in files_of(cdi) if isinstance(file.spec, CdiSpec) and is_nvidia_kind(file.spec.kind)]
    evidence = [chosen, Evidence("no spec of NVIDIA's that can be used", folders)]
    evidence += [Evidence("not read, or refused", file.path) for file in others[:1]]
    where = f"{others[0].path} is not used" if others else "there is no CDI spec of NVIDIA's"
    return failed(f"{where}, and {chosen.value}", *evidence)


def _who_needs_a_spec(snapshot: "Snapshot") -> Evidence | None:
    """What cannot give a container a GPU without a spec."""
    found = readers(snapshot)
    toolkit = next((reader for reader in found if reader.name == TOOLKIT and reader.reads is True), None)
    if toolkit is not None:
        setup = snapshot.toolkit_setup
        path = toolkit.origin if isinstance(setup, Unknown) or isinstance(setup.config, Unknown) else setup.config.path
        return Evidence("the toolkit's runtime is set to mode cdi", path)
    engines = {reader.engine for reader in found if reader.engine}
    if engines == {"podman"} and not _has_oci_hook(snapshot) and _has_toolkit(snapshot):
        return Evidence("Podman, the only engine here, has no other way to the GPUs", "engines of this host")
    return None


def _has_oci_hook(snapshot: "Snapshot") -> bool:
    setup = snapshot.toolkit_setup
    return isinstance(setup, Unknown) or isinstance(setup.hooks, Unknown) or bool(setup.hooks)


def _has_toolkit(snapshot: "Snapshot") -> bool:
    tools = snapshot.toolkit if isinstance(snapshot.toolkit, tuple) else ()
    return any(isinstance(tool.path, str) and tool.name.startswith("nvidia-") for tool in tools)


def check_parse(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """File by file: one bad file hides no good one."""
    return _judge_files(snapshot, TEXT, "can be read", "engines cannot read it")


def check_schema(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Fields, types, names and edits as the engines' library checks them."""
    return _judge_files(snapshot, SCHEMA, "hold to the schema", "it breaks the specification")


def check_version_declared(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Readers refuse the whole file for one field that its version does not have."""
    return _judge_files(snapshot, VERSION, "state a version that has their fields", "engines refuse it")


def _judge_files(snapshot: "Snapshot", part: str, well: str, ill: str) -> tuple[Outcome, ...]:
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    files = files_of(cdi)
    if not files:
        return (hidden_folder(cdi) or skipped("there are no CDI specs here"),)
    found = [outcome for file in files if (outcome := _judge_file(snapshot, file, part, ill)) is not None]
    count = "the CDI spec" if len(files) == 1 else f"all {len(files)} CDI specs"
    words = well.replace("hold ", "holds ").replace("state ", "states ").replace("their", "its")
    return tuple(found) or (passed(f"{count} {words if len(files) == 1 else well}", Evidence("read", files[0].path)),)


def _judge_file(snapshot: "Snapshot", file: CdiFile, part: str, ill: str) -> Outcome | None:
    if isinstance(file.spec, Unknown):
        return unseen(file.spec, file.path)
    faults = [fault for fault in file.faults if fault.part == part]
    heavy = [fault for fault in faults if fault.level in (REFUSED, INVALID)]
    if heavy:
        message = f"{file.path}: {ill}: {heavy[0].message}"
        return failed(
            message, *fault_evidence(file, heavy), subject=file.path, remedy=_mend(snapshot, file, heavy[0].line)
        )
    if faults:
        return warned(f"{file.path}: {faults[0].message}", *fault_evidence(file, faults), subject=file.path)
    return None


def _mend(snapshot: "Snapshot", file: CdiFile, line: int | None) -> Remedy:
    """NVIDIA's specs are written anew; of another file nobody knows whose it is, unless its kind says so."""
    if isinstance(file.spec, CdiSpec) or "nvidia" in file.path.rpartition("/")[2]:
        return regenerate(snapshot, file.path)
    place = "the file" if line is None else f"line {line}"
    return Remedy(f"Correct {place}, or let its vendor's program write it anew")


def check_version_engine(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """An engine with an older library logs a line and goes on without the spec."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    specs = specs_in_force(cdi)
    if not specs:
        return (hidden_folder(cdi) or skipped("there is no CDI spec of NVIDIA's here"),)
    asked = [reader for reader in readers(snapshot) if reader.engine and reader.reads is True]
    if not asked:
        return (skipped("no engine here is known to read CDI specs"),)
    newest = max(specs, key=lambda item: VERSIONS.index(_version(item.spec)))
    return tuple(_judge_engine(reader, newest.file.path, _version(newest.spec)) for reader in asked)


def _version(spec: CdiSpec) -> str:
    stated = spec.version.removeprefix("v")
    return stated if stated in VERSIONS else VERSIONS[0]


def _judge_engine(reader: Reader, path: str, stated: str) -> Outcome:
    from ctk.doctor.data.cdi_versions import FLOOR_OF_0_7_0

    floor = FLOOR_OF_0_7_0.get(reader.engine)
    version = version_numbers(reader.version)
    evidence = (Evidence(f"cdiVersion {stated}", path), Evidence(str(reader.version), reader.name))
    if VERSIONS.index(stated) < VERSIONS.index("0.7.0") or floor is None:
        return passed(f"{reader.name} reads cdiVersion {stated}", *evidence, subject=reader.name)
    if not version:
        return unseen(Unknown("the engine's version is not known"), reader.name)
    if version < floor:
        needed = ".".join(str(number) for number in floor)
        message = f"{reader.name} is {reader.version}, and a spec of version {stated} needs {needed}"
        remedy = Remedy(
            "Upgrade the engine, or write the spec for an older library",
            (Command(f"ctk cdi generate --max-cdi-version=0.5.0 --output={path}"),),
        )
        return failed(message, *evidence, subject=reader.name, remedy=remedy)
    if stated != "0.7.0":
        message = f"{reader.name} reads 0.7.0; whether it reads {stated} is not told by its release notes"
        return noted(message, *evidence)._replace(subject=reader.name)
    return passed(f"{reader.name} reads cdiVersion {stated}", *evidence, subject=reader.name)


def check_conflicts(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Two files of one folder for one device: engines drop the device without asking which was meant."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    groups: dict[tuple[str, ...], list[str]] = {}
    for device in registry_of(cdi).devices:
        if device.conflict:
            groups.setdefault(tuple(file.path for file in device.conflict), []).append(device.name)
    if not groups:
        return (_no_devices(cdi) or passed("no two files of one folder define the same device"),)
    by_path = {file.path: file for file in files_of(cdi)}
    return tuple(_conflict([by_path[path] for path in paths], names) for paths, names in groups.items())


def _no_devices(cdi: Cdi) -> Outcome | None:
    return None if files_of(cdi) else hidden_folder(cdi) or skipped("there are no CDI specs here")


def _conflict(files: list[CdiFile], names: list[str]) -> Outcome:
    paths = [file.path for file in files]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    oldest = min(files, key=lambda file: file.modified_at or "")
    return failed(
        f"{' and '.join(paths)} both define {shown}: engines take it from neither",
        *(Evidence(f"defines {names[0]}", path) for path in paths),
        subject=paths[0],
        remedy=Remedy(
            "Take one of the files out of the way, here the older one",
            (Command(f"mv {oldest.path} {oldest.path}.disabled"),),
        ),
    )


def check_shadowed(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """The spec of an earlier folder has no effect on a device that a later one has too."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    if not files_of(cdi):
        return (hidden_folder(cdi) or skipped("there are no CDI specs here"),)
    pairs: dict[tuple[str, str], list[str]] = {}
    for device in registry_of(cdi).devices:
        for file in device.shadowed:
            if device.winner is not None and _differs(device, file):
                pairs.setdefault((device.winner.path, file.path), []).append(device.name)
    found = tuple(_shadow(winner, loser, names) for (winner, loser), names in pairs.items())
    return found or (passed("no spec hides another one that says something else"),)


def _differs(device: "RegistryDevice", file: CdiFile) -> bool:
    return edits_in(file, device.name) != device.edits


def _shadow(winner: str, loser: str, names: list[str]) -> Outcome:
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return warned(
        f"{loser} has no effect for {shown}: {winner} is in a later folder and says something else",
        Evidence("wins", winner),
        Evidence("is hidden", loser),
        subject=loser,
        remedy=Remedy(
            f"Keep one of them; if {winner} is the one that is kept fresh, take the other away",
            (Command(f"mv {loser} {loser}.disabled"),),
        ),
    )


def check_extension(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Engines pass over what does not end in .yaml or .json, without a word."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    unread = [f"{folder.path}/{name}" for folder in _real_folders_once(cdi) for name in folder.ignored]
    strange = [path for path in unread if path.endswith(LIKE_SPECS)]
    if strange:
        return tuple(_unread(path) for path in strange)
    if not files_of(cdi) and not unread:
        return (hidden_folder(cdi) or skipped("there are no CDI specs here"),)
    if unread:
        evidence = Evidence(", ".join(path.rpartition("/")[2] for path in unread[:4]), unread[0].rpartition("/")[0])
        return (noted("some names in the spec folders are passed over by engines", evidence),)
    return (passed("every name in the spec folders is read"),)


def _real_folders_once(cdi: Cdi) -> list[CdiFolder]:
    """One folder by two names is told once."""
    return list({folder.real_path: folder for folder in folders_of(cdi) if isinstance(folder.real_path, str)}.values())


def _unread(path: str) -> Outcome:
    right = path.rpartition(".")[0] + (".json" if path.lower().endswith("json") else ".yaml")
    return warned(
        f"{path} is read by no engine: specs end in .yaml or .json",
        Evidence("passed over", path),
        subject=path,
        remedy=Remedy("Give it the ending that engines look for", (Command(f"mv {path} {right}"),)),
    )


def check_permissions(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Who may not read a spec has no GPU in a rootless container. Who may write one: security.config-writable."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    if not files_of(cdi):
        return (hidden_folder(cdi) or skipped("there are no CDI specs here"),)
    rootless = _rootless(snapshot)
    if not rootless:
        return (passed("every engine here reads the specs as root"),)
    places = [(folder.path, folder.mode, ALL_MAY_ENTER) for folder in _real_folders_once(cdi)]
    places += [(file.path, file.mode, ALL_MAY_READ) for file in files_of(cdi)]
    closed = tuple(
        _closed(path, mode, needed, rootless)
        for path, mode, needed in places
        if mode is not None and mode & needed != needed
    )
    return closed or (passed(f"all may read the specs, {rootless} too"),)


def _closed(path: str, mode: int, needed: int, rootless: str) -> Outcome:
    kind = "755" if needed == ALL_MAY_ENTER else "644"
    return warned(
        f"{path} may not be read by all, and {rootless} reads it with its user's rights",
        Evidence(f"mode {mode:04o}", path),
        subject=path,
        remedy=Remedy("Let all read it", (Command(f"chmod {kind} {path}"),)),
    )


def _rootless(snapshot: "Snapshot") -> str:
    """An engine that reads specs without root's rights."""
    engines = snapshot.engines if isinstance(snapshot.engines, tuple) else ()
    for item in engines:
        if item.user is not None:
            return f"{item.engine} of {item.user}"
        if item.engine == "podman":
            return "rootless Podman"
    return ""
