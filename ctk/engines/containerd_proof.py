"""containerd: distrusts an edit that is done: foreign keys equal, ours in force, for both ways to merge; no I/O."""

from ctk.edit.compare import edited_only
from ctk.engines.base import Layer, RuntimeSpec
from ctk.engines.containerd_layout import Layout, read_layout
from ctk.engines.containerd_workspace import Workspace
from ctk.engines.layers import Path, Table, look_up
from ctk.errors import Refused, SelfCheckFault

BUG = "This is a bug in ctk. Nothing was changed."


def wanted_keys(spec: RuntimeSpec) -> tuple[tuple[Path, object], ...]:
    """The keys below the CRI section that must be in force, and their values."""
    wanted: list[tuple[Path, object]] = [(("containerd", "runtimes", spec.name, "options", "BinaryName"), spec.path)]
    if spec.set_as_default:
        wanted.append((("containerd", "default_runtime_name"), spec.name))
    if spec.enable_cdi:
        wanted.append((("enable_cdi",), True))
    return tuple(wanted)


def prove(work: Workspace, spec: RuntimeSpec, foreign: str | None) -> None:
    """Raise SelfCheckFault where a foreign key would change, Refused where a later file wins over ours."""
    layout = work.layout
    result = layout if _is_unchanged(work) else _read_again(work, foreign)
    for merges in (True, False) if layout.merges is None else (layout.merges,):
        if result is not layout:
            _check_effective(work, result, merges)
        _check_in_force(result, spec, merges)


def _is_unchanged(work: Workspace) -> bool:
    return all(work.texts[document.path] == document.text for document in work.layout.documents)


def _read_again(work: Workspace, foreign: str | None) -> Layout:
    layout = work.layout
    layers = [Layer(path, text) for path, text in work.texts.items()]
    result = read_layout(layers, layout.engine, frozenset({"config-version"}), merged_elsewhere=foreign)
    for before in layout.documents:
        after = result.document(before.path)
        _check_foreign(before.content, after.content if after else {}, work.owned[before.path], before.path)
    return result


def _check_effective(work: Workspace, result: Layout, merges: bool) -> None:
    owned = [key for keys in work.owned.values() for key in keys if key not in work.copied]
    before, after = work.layout.merged(merges), result.merged(merges)
    _check_foreign(before, after, [*owned, ("imports",), ("version",)], work.layout.main.path)


def _check_foreign(before: Table, after: Table, owned: list[Path], path: str) -> None:
    stray = edited_only(before, after, owned)
    if stray:
        raise SelfCheckFault(
            f"cannot edit {path}: the edit would also change {'.'.join(stray[0])}", hint=BUG, path=path
        )


def _check_in_force(result: Layout, spec: RuntimeSpec, merges: bool) -> None:
    section = result.effective(merges)
    for key, value in wanted_keys(spec):
        found = look_up(section, key)
        if found != value:
            said = "does not hold it" if found is None else f"sets it to {found!r}"
            raise Refused(
                f"cannot make {'.'.join(key)} effective: {result.section_home().path} is read later and {said}",
                force="not-in-force",
                hint="Look at the files that the main file imports; before containerd 2.0 the last one with a CRI "
                "section wins. Nothing was changed.",
                path=result.section_home().path,
            )
