"""plan_unconfigure: takes our keys out of today's files and gives back what the journal shows; writes nothing."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ctk.change.cycle import Baseline
from ctk.change.entry import CYCLE_FACT
from ctk.change.journal import Journal
from ctk.change.plan import FileChange, Plan
from ctk.engines.base import EditOutcome, Layer
from ctk.errors import CtkError, Refused
from ctk.host.paths import display_path
from ctk.record import Record
from ctk.runtime.planned import Planned, plan_facts, query, restart_request
from ctk.runtime.request import Request
from ctk.runtime.sources import Source, read_source
from ctk.runtime.targets import Target

if TYPE_CHECKING:
    from ctk.host import Host


class Past(Record):
    """What the journal knows of one file: its baseline, and the runtimes that ctk registered in it since."""

    baseline: Baseline
    names: frozenset[str]

    def text(self, source: Source) -> str | None:
        """The text from before our first configure; None if the file did not exist."""
        if self.baseline.before is None:
            return None
        from ctk.edit.text import decode_config

        return decode_config(self.baseline.before, source.path).text


class Removal(Record):
    """How one engine takes a runtime out: the files, the edit, and the question to its own program."""

    sources: tuple[Source, ...]
    edit: Callable[[tuple[Layer, ...], dict[str, str | None]], EditOutcome]
    remains: Callable[[tuple[Layer, ...], str], bool]
    method: str = ""
    arguments: tuple[str, ...] = ()
    judge: Callable[..., tuple[str, ...]] | None = None
    is_answer: Callable[..., bool] | None = None
    foreign: frozenset[str] = frozenset()  # files that another program writes: never touched


def plan_unconfigure(host: "Host", request: Request, target: Target, journal: Journal) -> Planned:
    """The plan that takes the runtime out of one installation. Raises CtkError for files that cannot be read."""
    removal = _removal(host, request, target)
    pasts = _pasts(removal.sources, journal)
    changes, outcome, is_open = _changes(host, request, removal, pasts)
    cycle = {CYCLE_FACT: "open"} if is_open else {}
    plan = Plan(
        "unconfigure",
        target.key,
        changes,
        restart=restart_request(target, "restart" if outcome.needs_restart else "reload")
        if request.restart and changes
        else None,
        facts=plan_facts(target, {"runtime": request.name, **cycle}),
    )
    if removal.judge is not None and all(change.after is not None for change in changes):
        question = query(host, target, removal.method, removal.arguments, removal.judge, is_answer=removal.is_answer)
        plan = plan._replace(query=question)
    return Planned(
        target,
        plan,
        warnings=outcome.warnings,
        notes=outcome.notes,
        restart_required=bool(changes),
        restart_action="restart" if outcome.needs_restart else "reload",
        files=(removal.sources[0].path,),
    )


def _pasts(sources: tuple[Source, ...], journal: Journal) -> dict[str, Past]:
    pasts = {}
    for source in sources:
        baseline = journal.baseline(source.target)
        if baseline is not None:
            pasts[source.path] = Past(baseline, _names_since(journal, baseline, source.target))
    return pasts


def _names_since(journal: Journal, baseline: Baseline, target: str) -> frozenset[str]:
    return frozenset(
        entry.fact("runtime")
        for entry in journal.entries()
        if entry.id >= baseline.entry_id and entry.operation == "configure" and entry.file(target)
    )


def with_cycle(planned: Planned, journal: Journal) -> Planned:
    """A configure's plan that knows whether ctk's part in the files begins anew.

    It does where the journal shows an earlier configure, but somebody has taken all its runtimes out by hand since:
    what stands there today is then what an unconfigure gives back.
    """
    if planned.is_registered is None:
        return planned
    names: set[str] = set()
    for change in planned.plan.pending:
        baseline = journal.baseline(change.target)
        if baseline is not None:
            names |= _names_since(journal, baseline, change.target)
    if not names or any(planned.is_registered(name) for name in names):
        return planned
    facts = (*planned.plan.facts, (CYCLE_FACT, "start"))
    return planned._replace(plan=planned.plan._replace(facts=facts))


def _changes(
    host: "Host", request: Request, removal: Removal, pasts: dict[str, Past]
) -> tuple[tuple[FileChange, ...], EditOutcome, bool]:
    """The file changes, what was said, and whether keys of ours stay (another runtime of ctk's is still there)."""
    layers = tuple(source.layer() for source in removal.sources)
    originals = {source.path: pasts[source.path].text(source) for source in removal.sources if source.path in pasts}
    outcome = removal.edit(layers, originals)
    after = tuple(Layer(layer.path, outcome.texts.get(layer.path, layer.text)) for layer in layers)
    others = frozenset(name for past in pasts.values() for name in past.names) - {request.name, ""}
    is_open = any(removal.remains(after, name) for name in others)
    changes = []
    for source in removal.sources:
        if source.path in removal.foreign:
            continue
        past = pasts.get(source.path)
        may_restore = past is not None and not is_open and source.path not in outcome.kept
        change = _restored(host, source, past) if may_restore and past is not None else None
        if change is None and source.path in outcome.texts:
            text = outcome.texts[source.path]
            data = None if text is None else source.text.encode(text)
            change = FileChange(display_path(host, source.path), source.target, source.data, data)
        if change is not None and change.action != "none":
            changes.append(change)
    changes.sort(key=lambda item: item.after is None)  # a file that goes, goes after the one that names it
    return tuple(changes), outcome, is_open


def _restored(host: "Host", source: Source, past: Past) -> FileChange | None:
    """The file as it was, if nothing but our own changes parts it from that; None if somebody else changed it too."""
    baseline = past.baseline
    if not baseline.holds_only_ours(source.data):
        return None
    folders = tuple(reversed(baseline.created_folders)) if baseline.before is None else ()
    return FileChange(
        display_path(host, source.path), source.target, source.data, baseline.before, remove_folders=folders
    )


def _removal(host: "Host", request: Request, target: Target) -> Removal:
    removals = {"docker": _docker, "containerd": _containerd, "crio": _crio}
    return removals[target.engine](host, request, target)


def _docker(host: "Host", request: Request, target: Target) -> Removal:
    from ctk.engines import docker
    from ctk.engines.docker_remove import unconfigure

    source = read_source(host, target.config)
    return Removal(
        (source,),
        lambda layers, originals: unconfigure(layers, request.name, originals),
        lambda layers, name: docker.view(layers, name).registered,
        "dockerd-validate",
        ("--validate", "--config-file", source.target),
        docker.judge_validate,
        is_answer=docker.can_validate,
    )


def _containerd(host: "Host", request: Request, target: Target) -> Removal:
    from ctk.engines.containerd_judge import judge_unconfigured
    from ctk.engines.containerd_remove import holds, unconfigure
    from ctk.runtime.sources import read_containerd
    from ctk.runtime.treatments import removal_place

    place = removal_place(host, request, target)
    if place.template is not None:
        return _template(host, request, place.template)
    sources = read_containerd(host, place.config, place.drop_in)
    asked = place.config == target.config and not place.foreign_main
    return Removal(
        sources,
        lambda layers, originals: unconfigure(layers, request.name, originals),
        holds,
        "config-dump",
        ("--config", sources[0].target, "config", "dump"),
        judge_unconfigured(request.name) if asked else None,
        foreign=frozenset({place.config}) if place.foreign_main else frozenset(),
    )


def _template(host: "Host", request: Request, path: str) -> Removal:
    from ctk.engines.containerd_template import names_ours, remove_runtime

    def edit(layers: tuple[Layer, ...], _: dict[str, str | None]) -> EditOutcome:
        text = layers[0].text or ""
        new = remove_runtime(text, request.name)
        return EditOutcome({path: new} if new != text else {})

    return Removal((read_source(host, path),), edit, lambda layers, name: names_ours(layers[0].text or "", name))


def _crio(host: "Host", request: Request, target: Target) -> Removal:
    from ctk.engines.crio_judge import judge_unconfigured
    from ctk.engines.crio_remove import holds, unconfigure
    from ctk.runtime.configure import crio_places
    from ctk.runtime.sources import read_crio

    folder, place = crio_places(request, target)
    sources = read_crio(host, target.config, folder, place)
    if not any(source.data is not None for source in sources):
        sources = sources[:1]
    return Removal(
        sources,
        lambda layers, originals: unconfigure(layers, request.name, originals),
        holds,
        "crio-config",
        ("--config", host.real_path(target.config), "--config-dir", host.real_path(folder), "config"),
        judge_unconfigured(request.name),
    )


def unconfigure_with(journal: Journal) -> Callable[["Host", Request, Target], Planned]:
    """plan_unconfigure bound to a journal, in the form the CLI runs."""
    return partial(_with_journal, journal)


def _with_journal(journal: Journal, host: "Host", request: Request, target: Target) -> Planned:
    if request.name in ("", None):
        raise CtkError("cannot unconfigure: no runtime is named", code="usage")
    _check_name(request, target)
    return plan_unconfigure(host, request, target, journal)


def _check_name(request: Request, target: Target) -> None:
    """The engines' own runtimes are no business of ours: without runc no container starts."""
    if target.engine != "docker" and request.name in ("runc", "crun") and "reserved-name" not in request.forced:
        raise Refused(
            f"cannot take out the runtime {request.name!r}: {target.engine} runs ordinary containers with it",
            force="reserved-name",
            hint="Name the runtime that was configured with --nvidia-runtime-name. Nothing was changed.",
        )
