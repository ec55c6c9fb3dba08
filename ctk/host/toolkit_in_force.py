"""The toolkit's configuration as the doctor needs it: the file in force, its values, and what they find on the host."""

from collections.abc import Iterable, Mapping

from ctk.errors import ParseFault
from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.facts.pci import Pci
from ctk.facts.system import System
from ctk.facts.toolkit_mode import ModeFacts
from ctk.facts.toolkit_setup import (
    SECURITY,
    UNKNOWN_KEY,
    VALUE,
    ConfigFault,
    LogFile,
    LowLevelRuntime,
    ToolkitConfig,
    ToolkitProblem,
    ToolkitValue,
)
from ctk.host import Host
from ctk.host.programs import find_program
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from
from ctk.host.toolkit import TOOL_FOLDERS
from ctk.host.toolkit_config import (
    DEFAULT_CONFIG,
    collect_default_user,
    collect_ldconfig,
    collect_look_alikes,
    find_config,
)
from ctk.host.toolkit_modes import collect_mode_facts
from ctk.host.toolkit_values import host_fault
from ctk.toolkit.document import Effective, HostDefaults, effective
from ctk.toolkit.problems import Problem, check_document, unknown_paths
from ctk.toolkit.values import type_fault

RUNTIME = "nvidia-container-runtime"
OWN_RUNTIMES = (RUNTIME, "ctk-container-runtime")
HIDDEN_KEYS = frozenset({"nvidia-container-cli.environment"})
"""Their values may hold secrets."""
LOG_KEYS = ("nvidia-container-cli.debug", f"{RUNTIME}.debug")
NO_LOG = ("", "/dev/null")
SCRIPT_BYTES = 4096

Installations = tuple[EngineInstallation, ...]


def collect_toolkit_config(
    host: Host, system: System, pci: Pci | None | Unknown, engines: Installations | Unknown
) -> ToolkitConfig:
    """What the toolkit's runtime finds when an engine starts it; the caller's own variables do not count."""
    known = engines if isinstance(engines, tuple) else ()
    path = find_path(known)
    text = try_read_text(host, path)
    if isinstance(text, Unknown):
        return ToolkitConfig(path=path, exists=text)
    from ctk.edit import toml

    try:
        content = toml.load(text or "", path)
    except ParseFault as fault:
        return ToolkitConfig(path=path, exists=True, fault=_fault(fault, path))
    defaults = HostDefaults(collect_ldconfig(host), collect_default_user(host))
    rows = tuple(row for row in effective(content, defaults))
    values = {row.setting.key: _typed(row) for row in rows}
    return ToolkitConfig(
        path=path,
        exists=text is not None,
        values=tuple(_value(host, row, values) for row in rows),
        problems=_problems(text or "", content, defaults),
        look_alikes=_look_alikes(host, path, text),
        runtimes=_runtimes(host, values, known),
        mode=_mode(host, values, system, pci),
        logs=tuple(_log(host, key, str(values[key])) for key in LOG_KEYS if values[key] not in (*NO_LOG, None)),
    )


def find_path(engines: Iterable[EngineInstallation]) -> str:
    """The GPU Operator's own file if an engine starts the Operator's copy, whose wrapper names it; else the host's."""
    for installation in engines:
        files = installation.files
        for runtime in () if isinstance(files, Unknown) else files.runtimes:
            folder, _, name = (runtime.path or "").rpartition("/")
            if folder.startswith(TOOL_FOLDERS) and name.startswith(RUNTIME):
                return f"{folder}/.config/nvidia-container-runtime/config.toml"
    return find_config({}, None).path


def _fault(fault: ParseFault, path: str) -> ConfigFault:
    cause = fault.message.removeprefix(f"cannot read {path}: line {fault.line}, column {fault.column}: ")
    return ConfigFault(cause, fault.line, fault.column)


def _typed(row: Effective) -> object:
    """The default in the place of a value of the wrong type."""
    return row.setting.default if row.value is not None and type_fault(row.setting, row.value) else row.value


def _value(host: Host, row: Effective, values: Mapping[str, object]) -> ToolkitValue:
    value = values[row.setting.key]
    found = tuple(str(item) for item in value) if isinstance(value, list) else value
    if row.setting.key in HIDDEN_KEYS:
        found = tuple(item.partition("=")[0] for item in found) if isinstance(found, tuple) else None
    root = str(values["nvidia-container-cli.root"] or "/")
    fault = host_fault(host, row.setting.check, value, root) if row.setting.check else ""
    kept = found if isinstance(found, str | bool | tuple) else None
    return ToolkitValue(row.setting.key, kept, row.source == "file", fault)


def _problems(text: str, content: Mapping[str, object], defaults: HostDefaults) -> tuple[ToolkitProblem, ...]:
    unknown = frozenset(unknown_paths(content))
    return tuple(
        ToolkitProblem(_kind(item, unknown), item.key, item.text, item.line)
        for item in check_document(text, content, defaults)
    )


def _kind(problem: Problem, unknown: frozenset[tuple[str, ...]]) -> str:
    if problem.is_error:
        return VALUE
    return UNKNOWN_KEY if problem.path in unknown else SECURITY


def _look_alikes(host: Host, path: str, text: str | None) -> tuple[str, ...]:
    """Those that say something else; a copy of the GPU Operator's is its own business."""
    location = find_config({}, path)
    others = [other for other in collect_look_alikes(host, location) if not other.startswith(TOOL_FOLDERS)]
    if path != DEFAULT_CONFIG:
        others = [other for other in others if other != DEFAULT_CONFIG]
    return tuple(other for other in others if try_read_text(host, other) != text)


def _runtimes(host: Host, values: Mapping[str, object], engines: Installations) -> tuple[LowLevelRuntime, ...]:
    names = values[f"{RUNTIME}.runtimes"]
    folders = tuple(
        dict.fromkeys(engine.binary.rpartition("/")[0] for engine in engines if isinstance(engine.binary, str))
    )
    return tuple(_runtime(host, str(name), folders) for name in names) if isinstance(names, list) else ()


def _runtime(host: Host, name: str, folders: tuple[str, ...]) -> LowLevelRuntime:
    """folders: k3s and its like bring a runc beside their containerd, and put that folder into its PATH."""
    path = find_program(host, (name,), folders)
    if not isinstance(path, str):
        return LowLevelRuntime(name, path)
    try:
        target = "/" + host.real_path(path).removeprefix(host.root).lstrip("/")
        return LowLevelRuntime(name, path, target, _wrapped(host, target))
    except OSError:
        return LowLevelRuntime(name, path)


def _wrapped(host: Host, target: str) -> str:
    """The toolkit's runtime by its own name, or called by a script."""
    file_name = target.rpartition("/")[2]
    own = next((name for name in OWN_RUNTIMES if file_name == name or file_name.startswith(f"{name}.")), "")
    if own:
        return own
    head = host.read_part(target, 0, SCRIPT_BYTES)
    if not head.startswith(b"#!"):
        return ""
    return next((name for name in OWN_RUNTIMES if name.encode() in head), "")


def _mode(
    host: Host, values: Mapping[str, object], system: System, pci: Pci | None | Unknown
) -> ModeFacts | None | Unknown:
    has_gpu = pci if isinstance(pci, Unknown) else pci is not None and bool(pci.gpus)
    try:
        return collect_mode_facts(host, values, str(values[f"{RUNTIME}.mode"]), system, has_gpu)
    except OSError as error:
        return unknown_from(error)


def _log(host: Host, key: str, path: str) -> LogFile:
    folder = try_exists(host, path.rpartition("/")[0] or "/")
    try:
        return LogFile(key, path, folder, host.stat(path).st_size)
    except ABSENT:
        return LogFile(key, path, folder)
    except OSError as error:
        return LogFile(key, path, folder, unknown_from(error))
