"""containerd's own reading of its files, before and after: what changed that should not have; runs no program."""

from collections.abc import Callable, Mapping

from ctk.edit.compare import edited_only
from ctk.engines.base import RuntimeSpec
from ctk.engines.containerd_inherit import cri_section
from ctk.engines.containerd_proof import wanted_keys
from ctk.engines.layers import Path, Table, look_up
from ctk.facts.command import CommandOutput

IGNORED_KEY = "Ignoring unknown key"  # containerd 2 on stderr, one line a key
CRI_PLUGINS = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "cri")


def judge_configured(
    spec: RuntimeSpec, base_is_ours: bool
) -> Callable[[CommandOutput | None, CommandOutput], tuple[str, ...]]:
    """A judge for two `config dump`s: foreign keys equal, ours in force."""

    def judge(before: CommandOutput | None, after: CommandOutput) -> tuple[str, ...]:
        problems = failure_of(after)
        if problems:
            return problems
        new = parse_dump(after.stdout)
        if new is None:
            return ("containerd's config dump is not valid TOML",)
        problems += _foreign_changes(before, new, spec.name, base_is_ours, spec.set_as_default, spec.enable_cdi)
        section = cri_section(new)
        return problems + _missing(section, spec) + _new_dangling(before, section) + _ignored(before, after, spec)

    return judge


def judge_unconfigured(name: str) -> Callable[[CommandOutput | None, CommandOutput], tuple[str, ...]]:
    """A judge for removal: the file is still readable, the runtime is gone, foreign keys equal."""

    def judge(before: CommandOutput | None, after: CommandOutput) -> tuple[str, ...]:
        problems = failure_of(after)
        if problems:
            return problems
        new = parse_dump(after.stdout)
        if new is None:
            return ("containerd's config dump is not valid TOML",)
        return _foreign_changes(before, new, name, base_is_ours=True, default_is_ours=True, cdi_is_ours=True)

    return judge


def failure_of(output: CommandOutput) -> tuple[str, ...]:
    """The reason why containerd cannot read its configuration, empty if it can."""
    if output.returncode == 0:
        return ()
    lines = [line for line in output.stderr.splitlines() if line.strip()]
    return (lines[-1] if lines else f"containerd ended with status {output.returncode}",)


def parse_dump(text: str) -> Table | None:
    """A dump as a table, None if it is not TOML."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _foreign_changes(
    before: CommandOutput | None, new: Table, name: str, base_is_ours: bool, default_is_ours: bool, cdi_is_ours: bool
) -> tuple[str, ...]:
    old = parse_dump(before.stdout) if before is not None and before.returncode == 0 else None
    if old is None:
        return ()
    owned: list[Path] = [("imports",), ("version",)]
    for plugin in CRI_PLUGINS:
        containerd: Path = ("plugins", plugin, "containerd")
        owned.append((*containerd, "runtimes", name))
        if base_is_ours:
            owned.append((*containerd, "runtimes", "runc"))
        if default_is_ours:
            owned.append((*containerd, "default_runtime_name"))
        if cdi_is_ours:
            owned.append(("plugins", plugin, "enable_cdi"))
    changed = edited_only(old, new, tuple(owned))
    return tuple(
        f"{'.'.join(path)} would change from {look_up(old, path)!r} to {look_up(new, path)!r}" for path in changed
    )


def _missing(section: Table, spec: RuntimeSpec) -> tuple[str, ...]:
    problems = []
    for key, value in wanted_keys(spec):
        found = look_up(section, key)
        if found != value:
            more = " (containerd knows enable_cdi since 1.7)" if key == ("enable_cdi",) and found is None else ""
            problems.append(f"containerd ignores {'.'.join(key)}: it has {found!r}, not {value!r}{more}")
    return tuple(problems)


def _new_dangling(before: CommandOutput | None, section: Table) -> tuple[str, ...]:
    """A default without an entry, if it is new: then the CRI plugin would not load. An old one is only warned about."""
    default = _dangling_default(section)
    old = parse_dump(before.stdout) if before is not None and before.returncode == 0 else None
    if default is None or (old is not None and _dangling_default(cri_section(old)) == default):
        return ()
    return (f"the default runtime {default!r} has no entry, so the CRI plugin would not load",)


def _dangling_default(section: Table) -> str | None:
    default = look_up(section, ("containerd", "default_runtime_name"))
    runtimes = look_up(section, ("containerd", "runtimes"))
    is_dangling = isinstance(default, str) and isinstance(runtimes, Mapping) and default not in runtimes
    return str(default) if is_dangling else None


def _ignored(before: CommandOutput | None, after: CommandOutput, spec: RuntimeSpec) -> tuple[str, ...]:
    """Keys of ours that containerd says it ignores; a key copied from a runtime in which it is ignored is no loss."""
    known = set(_ignored_keys(before.stderr)) if before is not None else set()
    essential = {"BinaryName", "runtime_type", "options", spec.name}
    switches = {"enable_cdi"} if spec.enable_cdi else set()
    switches |= {"default_runtime_name"} if spec.set_as_default else set()
    return tuple(
        f"containerd ignores the key {'.'.join(key)}"
        for key in _ignored_keys(after.stderr)
        if key not in known and ((spec.name in key and key[-1] in essential) or key[-1] in switches)
    )


def _ignored_keys(stderr: str) -> list[tuple[str, ...]]:
    import re

    found = []
    for line in stderr.splitlines():
        match = re.search(r'key="?([^"]*?)"?(?: |$)(?=plugin=|$)', line) if IGNORED_KEY in line else None
        if match and match.group(1).strip():
            found.append(tuple(match.group(1).split()))
    return found
