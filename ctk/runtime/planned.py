"""What one engine's run would do, as values, and how texts become file changes; reads through the host only."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ctk.change.plan import CommandOutput, EngineQuery, FileChange, Plan, RestartRequest
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.errors import SelfCheckFault
from ctk.host.paths import display_path
from ctk.record import Record
from ctk.runtime.request import DEFAULTS
from ctk.runtime.sources import Source
from ctk.runtime.targets import Target, may_ask

if TYPE_CHECKING:
    from ctk.host import Host


class Planned(Record):
    """One engine's plan, and the words that go with it.

    restart_required: the engine must take up a new file. untouched: why nothing is to be done, for people.
    method: how the result is proved if the engine is not asked (parse), "none" if nothing was.
    """

    target: Target
    plan: Plan
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    restart_required: bool = False
    restart_action: str = "restart"
    method: str = "parse"
    files: tuple[str, ...] = ()  # the files the keys stand in, changed or not
    is_registered: Callable[[str], bool] | None = None  # whether a runtime of that name stands in the files today


def file_changes(host: "Host", sources: Iterable[Source], outcome: EditOutcome) -> tuple[FileChange, ...]:
    """The new texts as bytes, with the old file's BOM; new files get the main file's mode and its folder's owner."""
    known = list(sources)
    main = known[0]
    changes = []
    for path, text in outcome.texts.items():
        source = next(item for item in known if item.path == path)
        after = None if text is None else source.text.encode(text)
        changes.append(
            FileChange(
                path=display_path(host, path),
                target=source.target,
                before=source.data,
                after=after,
                mode=main.mode if main.data is not None else 0o644,
                owner=(source.uid, source.gid) if source.data is None and source.uid else None,
            )
        )
    changes.sort(key=lambda change: change.before is not None)  # new files first: the main file must not name a gap
    return tuple(changes)


def prove_second_pass(
    layers: tuple[Layer, ...], outcome: EditOutcome, edit: Callable[[tuple[Layer, ...]], EditOutcome]
) -> None:
    """The same edit on its own result must change nothing, else it is a bug in ctk. Raises SelfCheckFault."""
    if not outcome.texts:
        return
    new = tuple(Layer(layer.path, outcome.texts.get(layer.path, layer.text)) for layer in layers)
    again = edit(new)
    if again.texts:
        path = next(iter(again.texts))
        raise SelfCheckFault(
            f"cannot edit {path}: a second run would change it again",
            hint="This is a bug in ctk. Nothing was changed.",
            path=path,
        )


def restart_request(target: Target, action: str, spec: RuntimeSpec | None = None) -> RestartRequest:
    """How this engine takes up its new file; with a spec, Docker is asked whether it has."""
    request = RestartRequest(target.unit, action, target.socket, DEFAULTS[target.engine].protocol)
    if spec is None:
        return request
    return request._replace(
        runtimes=((spec.name, spec.path),), default_runtime=spec.name if spec.set_as_default else ""
    )


def query(
    host: "Host",
    target: Target,
    method: str,
    arguments: tuple[str, ...],
    judge: Callable[..., tuple[str, ...]],
    *,
    ask_before: bool = True,
    is_answer: Callable[[CommandOutput], bool] | None = None,
) -> EngineQuery | None:
    """The question to the engine's own program; None where none may be asked (--root, no binary, not trusted)."""
    if target.binary is None or not may_ask(host, target):
        return None
    return EngineQuery(method, (target.binary, *arguments), judge, ask_before, is_answer=is_answer)


def plan_facts(target: Target, facts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What the journal keeps of a run besides its files."""
    return (("engine", target.engine), ("installation", target.installation), *facts.items())
