"""Docker: runtime, default and CDI switch in daemon.json, and dockerd's word on it; text to text, opens no file.

https://docs.docker.com/reference/cli/dockerd/#daemon-configuration-file
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ctk.edit import json
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec, RuntimeView
from ctk.engines.docker_file import CDI, DEFAULT, RUNTIMES, STOCK_RUNTIME, DaemonFile, Path, entry_path, parse
from ctk.errors import Refused, UsageFault

if TYPE_CHECKING:
    from ctk.facts.command import CommandOutput
    from ctk.facts.engines import EngineFlag

SHIM_PREFIX = "io.containerd."  # dockerd takes these names for containerd's shims
SHIM_KEYS = ("runtimeType", "options")  # dockerd refuses them beside path
TOOLKIT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
UNKNOWN_FLAG = "unknown flag: --validate"  # dockerd before 23
DESKTOP_CONTEXT = "desktop-linux"
DESKTOP_SOCKET = "/.docker/desktop/"  # unix:///home/USER/.docker/desktop/docker.sock


class _Edit:
    """The text so far, and what there is to say about it."""

    def __init__(self, file: DaemonFile) -> None:
        self.file = file
        self.text = file.text
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.owned: list[Path] = []

    def set(self, key: Path, value: object) -> None:
        """Give the member at `key` a value."""
        self.text = json.set_member(self.text, key, value, path=self.file.path)

    def remove(self, key: Path) -> None:
        """Take the member at `key` out."""
        self.text = json.remove_member(self.text, key, path=self.file.path)


def configure(
    layers: tuple[Layer, ...],
    spec: RuntimeSpec,
    *,
    flags: "tuple[EngineFlag, ...]" = (),
    forced: frozenset[str] = frozenset(),
) -> EditOutcome:
    """Register `spec`. flags are dockerd's own, from its unit: what they say already is not said again.

    Raises UsageFault for an empty name or path, ParseFault for a broken file, Refused(reserved-name, flag-conflict,
    runtime-type) for what would keep dockerd from starting; forced holds the names of refusals to pass over.
    """
    from ctk.engines.docker_flags import refuse_conflicts, said_by_flags

    _check_spec(spec, forced)
    file = parse(layers)
    edit = _Edit(file)
    edit.warnings += [*_opening_warnings(file), *refuse_conflicts(flags, file, spec, forced)]
    said = said_by_flags(flags, spec)
    edit.notes += said.values()
    if RUNTIMES not in said:
        _set_entry(edit, spec, forced)
    if spec.set_as_default and DEFAULT not in said:
        _set_default(edit, spec)
    text_without_cdi = edit.text
    if spec.enable_cdi and CDI not in said:
        _set_cdi(edit)
    edit.warnings += _dangling_default(edit, spec, flags)
    edit.notes += _other_default(file, spec)
    return EditOutcome(
        {file.path: edit.text} if edit.text != file.text else {},
        warnings=tuple(edit.warnings),
        notes=tuple(edit.notes),
        owned=tuple(edit.owned),
        # SIGHUP takes up runtimes and the default, while the CDI driver is made only when dockerd starts
        # (moby: daemon/reload_unix.go, daemon/cdi.go; the former measured on 20.10).
        needs_restart=edit.text != text_without_cdi,
    )


def _check_spec(spec: RuntimeSpec, forced: frozenset[str]) -> None:
    if not spec.name:
        raise UsageFault("cannot register a runtime: its name is empty", hint="Give --nvidia-runtime-name a name.")
    if not spec.path or not spec.path.isprintable():
        raise UsageFault(
            f"cannot register the runtime {spec.name!r}: its path {spec.path!r} is empty or not printable",
            hint="Give --nvidia-runtime-path the path of the runtime's binary.",
        )
    cause = _reserved(spec.name)
    if cause and "reserved-name" not in forced:
        raise Refused(
            f"cannot register the runtime {spec.name!r}: {cause}",
            force="reserved-name",
            hint="Choose another --nvidia-runtime-name. Nothing was changed.",
        )


def _reserved(name: str) -> str | None:
    """Why dockerd, or the command line of docker, cannot have a runtime of this name; None if it can."""
    if name == STOCK_RUNTIME:
        return f"dockerd does not start with it (runtime name '{STOCK_RUNTIME}' is reserved)"
    if name.startswith(SHIM_PREFIX):
        return f"dockerd takes names that begin with {SHIM_PREFIX} for containerd's shims"
    if not name.isascii() or not name.replace(".", "").replace("_", "").replace("-", "").isalnum():
        return "a name may have letters, digits, '.', '_' and '-'"
    return None if name[0].isalnum() else "a name begins with a letter or a digit"


def _opening_warnings(file: DaemonFile) -> list[str]:
    if file.is_blank:
        return [f"{file.path} is empty: it counts as {{}}"]
    return [
        f"{file.path}: line {line}, column {column}: {'.'.join(key)} is there twice, Docker reads only the last"
        for key, line, column in json.duplicates(file.text)
    ]


def _set_entry(edit: _Edit, spec: RuntimeSpec, forced: frozenset[str]) -> None:
    """The entry as nvidia-ctk writes it, or only its path where there is an entry."""
    key = entry_path(spec.name)
    edit.owned.append(key)
    entry = edit.file.typed(key, dict, "an object")
    if not isinstance(entry, dict):
        edit.set(key, {"args": [], "path": spec.path})
        return
    for name in _shim_keys(edit, spec, entry, forced):
        edit.remove((*key, name))
    before = edit.file.typed((*key, "path"), str, "a string")
    edit.set((*key, "path"), spec.path)
    if before is not None and before != spec.path:
        edit.notes.append(f"runtimes.{spec.name}.path was {before!r}")


def _shim_keys(edit: _Edit, spec: RuntimeSpec, entry: Mapping[str, object], forced: frozenset[str]) -> list[str]:
    """The keys of a containerd shim in the entry; dockerd does not start with both them and a path."""
    names = [name for name in SHIM_KEYS if name in entry]
    if not names:
        return []
    file = edit.file
    line, column = json.position_of(file.text, (*entry_path(spec.name), names[0])) or (1, 1)
    cause = f"the runtime {spec.name!r} is a containerd shim ({' and '.join(names)}), which can have no path"
    if "runtime-type" not in forced:
        raise Refused(
            f"cannot edit {file.path}: line {line}, column {column}: {cause}",
            force="runtime-type",
            hint=f"Choose another --nvidia-runtime-name, or give up {' and '.join(names)} with --force runtime-type. "
            "Nothing was changed.",
            path=file.path,
            line=line,
            column=column,
        )
    edit.warnings.append(f"{file.path}: {cause}: {' and '.join(names)} of it were given up")
    return names


def _set_default(edit: _Edit, spec: RuntimeSpec) -> None:
    edit.owned.append(DEFAULT)
    before = edit.file.typed(DEFAULT, str, "a string")
    edit.set(DEFAULT, spec.name)
    if before not in (None, "", spec.name, STOCK_RUNTIME):
        edit.warnings.append(f"{edit.file.path}: default-runtime was {before!r} and becomes {spec.name!r}")


def _set_cdi(edit: _Edit) -> None:
    edit.owned.append(CDI)
    before = edit.file.typed(CDI, bool, "true or false")
    edit.set(CDI, True)
    if before is False:
        edit.warnings.append(f"{edit.file.path}: features.cdi was false and becomes true")


def _dangling_default(edit: _Edit, spec: RuntimeSpec, flags: "tuple[EngineFlag, ...]") -> list[str]:
    """A default that no entry stands behind; names with a dot are containerd's shims and need none."""
    default = edit.file.default
    if default is None or spec.set_as_default or default in (spec.name, STOCK_RUNTIME) or "." in default:
        return []
    by_flag = any(flag.name == "add-runtime" and flag.value.startswith(default + "=") for flag in flags)
    if by_flag or edit.file.member(entry_path(default)) is not None:
        return []
    return [f"{edit.file.path}: default-runtime is {default!r}, but there is no such runtime: dockerd will not start"]


def _other_default(file: DaemonFile, spec: RuntimeSpec) -> list[str]:
    """What an admin with a default of his own should know about the runtime below ours."""
    default = file.default
    if default is None or spec.set_as_default or default == STOCK_RUNTIME or default.startswith("nvidia"):
        return []
    if default == spec.name:
        return []
    entry = file.member(entry_path(default))
    path = entry.get("path") if isinstance(entry, Mapping) else None
    program = path if isinstance(path, str) else default
    return [
        f"default-runtime stays {default!r}. Containers of the runtime {spec.name!r} use the low-level runtimes that "
        f"{TOOLKIT_CONFIG} lists under nvidia-container-runtime.runtimes: put {program!r} first there "
        f"if it should run them too"
    ]


def runtime_names(layers: tuple[Layer, ...]) -> tuple[str, ...]:
    """The runtimes that daemon.json has. Raises ParseFault."""
    runtimes = parse(layers).typed(RUNTIMES, dict, "an object")
    return tuple(runtimes) if isinstance(runtimes, dict) else ()


def view(layers: tuple[Layer, ...], name: str) -> RuntimeView:
    """What daemon.json says about the runtime `name`. Raises ParseFault."""
    file = parse(layers)
    entry = file.typed(entry_path(name), dict, "an object")
    options: Mapping[str, object] = entry if isinstance(entry, dict) else {}
    path = options.get("path")
    return RuntimeView(
        registered=entry is not None,
        path=path if isinstance(path, str) else None,
        file=file.path if entry is not None else None,
        is_default=file.default == name,
        default_runtime=file.default,
        cdi_enabled=file.cdi,
        options=options,
    )


def can_validate(output: "CommandOutput") -> bool:
    """Whether this dockerd knows `--validate` and could be asked; if not, it was only parsed."""
    return output.returncode is not None and UNKNOWN_FLAG not in output.stderr + output.stdout


def judge_validate(before: "CommandOutput | None", after: "CommandOutput") -> tuple[str, ...]:
    """What `dockerd --validate --config-file FILE` has against the new file; nothing if it cannot be asked."""
    if after.returncode == 0 or not can_validate(after):
        return ()
    cause = _last_line(after)
    if before is not None and can_validate(before) and before.returncode != 0:
        return (f"dockerd refuses the file, as it did the earlier one: {cause}",)
    return (f"dockerd refuses the file: {cause}",)


def _last_line(output: "CommandOutput") -> str:
    lines = [line.strip() for line in output.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"it ended with status {output.returncode}"


def is_desktop_context(docker_context: str | None) -> bool:
    """Whether a docker context, by name or endpoint, is Docker Desktop's virtual machine.

    https://docs.docker.com/desktop/setup/install/linux/#context
    """
    return docker_context is not None and (docker_context == DESKTOP_CONTEXT or DESKTOP_SOCKET in docker_context)


def desktop_warning(docker_context: str | None) -> str | None:
    """The sentence to show where the docker command talks to Docker Desktop, None elsewhere."""
    if not is_desktop_context(docker_context):
        return None
    return (
        f"the docker context in use ({docker_context}) is Docker Desktop's virtual machine, which does not read this "
        "host's daemon.json: change Desktop's own settings, or use the host's engine with 'docker context use default'"
    )
