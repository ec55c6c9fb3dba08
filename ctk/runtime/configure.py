"""plan_configure: from a request and one installation to a plan; reads through the host, writes nothing."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ctk.change.plan import Plan
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec, RuntimeView
from ctk.errors import CtkError, Refused
from ctk.runtime.binaries import check_runtime_binary
from ctk.runtime.planned import (
    Planned,
    file_changes,
    plan_facts,
    prove_second_pass,
    query,
    restart_request,
)
from ctk.runtime.request import DEFAULTS, Request, runtime_path
from ctk.runtime.sources import Source, folder_files, read_containerd, read_crio, read_source
from ctk.runtime.targets import Target, containerd_version, is_known_missing, may_ask, other_users

if TYPE_CHECKING:
    from ctk.host import Host


def plan_configure(host: "Host", request: Request, target: Target) -> Planned:
    """The plan for one installation. Under --dry-run and --check a refusal becomes a warning and planning goes on.

    Raises CtkError: parse and read faults, refusals, usage.
    """
    warnings: list[str] = []
    forced = request.forced
    while True:
        try:
            planned = _plan(host, request._replace(forced=forced, excused=forced - request.forced), target)
            return planned._replace(warnings=(*warnings, *planned.warnings))
        except Refused as refusal:
            if not request.tentative or refusal.force in forced:
                raise
            warnings.append(f"{refusal.message}; a real run would stop here: --force {refusal.force}")
            forced = forced | {refusal.force}


def _plan(host: "Host", request: Request, target: Target) -> Planned:
    planners = {"docker": _plan_docker, "containerd": _plan_containerd, "crio": _plan_crio}
    spec = RuntimeSpec(
        request.name,
        runtime_path(request, target.engine),
        request.set_as_default,
        request.enable_cdi,
    )
    _check_name(request, target)
    planned = planners[target.engine](host, request, target, spec)
    warnings = [*planned.warnings]
    if "missing-binary" not in request.excused and planned.method != "none":
        forced = request.forced if planned.plan.pending else frozenset({"missing-binary"})  # it stands: only a warning
        warnings += check_runtime_binary(host, spec.path, forced)
    if is_known_missing(target) and not target.explicit:
        warnings.append(f"no {target.engine} was found on this host: {target.config} is where it would look")
    others = other_users(host, target) if planned.plan.pending else ()
    return planned._replace(warnings=tuple(warnings), notes=(*planned.notes, *others))


def _check_name(request: Request, target: Target) -> None:
    """`runc` and `crun` are the engines' own: redirecting them would take every container's runtime away."""
    if target.engine != "docker" and request.name in ("runc", "crun") and "reserved-name" not in request.forced:
        raise Refused(
            f"cannot register a runtime named {request.name!r}: {target.engine} runs ordinary containers with it",
            force="reserved-name",
            hint="Choose another --nvidia-runtime-name. Nothing was changed.",
        )


def _wants_systemd_cgroup(host: "Host") -> bool:
    """A systemd host's kubelet uses systemd cgroups (kubeadm's default since 1.22); ask the kubelet first."""
    from ctk.host.kubelet import collect_kubelet

    kubelet = collect_kubelet(host)
    driver = getattr(kubelet, "cgroup_driver", None)
    if isinstance(driver, str):
        return driver == "systemd"
    if host.is_directory("/run/systemd/system"):
        return True
    return not host.is_live and (host.exists("/lib/systemd/systemd") or host.exists("/usr/lib/systemd/systemd"))


def finish(
    host: "Host",
    request: Request,
    target: Target,
    sources: tuple[Source, ...],
    outcome: EditOutcome,
    spec: RuntimeSpec,
    *,
    view: Callable[[tuple[Layer, ...], str], RuntimeView],
    facts: Mapping[str, str],
    home: str,
) -> Planned:
    """Turn an edit's outcome into a plan; the query is added by the engine's own planner."""
    layers = tuple(source.layer() for source in sources)
    changes = file_changes(host, sources, outcome)
    action = "restart" if outcome.needs_restart else "reload"
    plan = Plan(
        operation="configure",
        key=target.key,
        changes=changes,
        restart=restart_request(target, action, spec) if request.restart and changes else None,
        facts=plan_facts(target, facts),
    )
    return Planned(
        target,
        plan,
        warnings=outcome.warnings,
        notes=outcome.notes,
        restart_required=bool(changes),
        restart_action=action,
        method="parse",
        files=(home,),
        is_registered=lambda name: view(layers, name).registered,
    )


def _plan_docker(host: "Host", request: Request, target: Target, spec: RuntimeSpec) -> Planned:
    from ctk.engines import docker

    source = read_source(host, target.config)
    layers = (source.layer(),)
    flags = target.record.flags if target.record else ()
    edit = partial(docker.configure, spec=spec, flags=flags, forced=request.forced)
    outcome = edit(layers)
    prove_second_pass(layers, outcome, edit)
    facts = {"runtime": spec.name}
    planned = finish(host, request, target, (source,), outcome, spec, view=docker.view, facts=facts, home=source.path)
    notes = list(planned.notes)
    if request.config_source == "command":
        notes.append("Docker prints no configuration: --config-source=command reads the file")
    question = query(
        host,
        target,
        "dockerd-validate",
        ("--validate", "--config-file", source.target),
        docker.judge_validate,
        is_answer=docker.can_validate,
    )
    warnings = (*planned.warnings, *_desktop_warning(host))
    return planned._replace(plan=planned.plan._replace(query=question), notes=tuple(notes), warnings=warnings)


def _desktop_warning(host: "Host") -> tuple[str, ...]:
    if not host.is_live:
        return ()
    from ctk.engines import docker
    from ctk.host.engines import collect_docker_context

    context = collect_docker_context(host)
    warning = docker.desktop_warning(context) if isinstance(context, str) else None
    return (warning,) if warning else ()


def _plan_containerd(host: "Host", request: Request, target: Target, spec: RuntimeSpec) -> Planned:
    from ctk.engines import containerd, containerd_view
    from ctk.runtime.treatments import place_of

    place = place_of(host, request, target, spec)
    if place.done is not None:
        return place.done
    sources = read_containerd(host, place.config, place.destination.drop_in)
    if not sources[0].text.text.strip():  # only a file made from nothing has to choose
        spec = spec._replace(systemd_cgroup=_wants_systemd_cgroup(host))
    layers = tuple(source.layer() for source in sources)
    destination = place.destination
    if destination.drop_in:
        destination = destination._replace(folder_files=folder_files(host, destination.drop_in))

    def edit(files: tuple[Layer, ...], engine: tuple[int, int] | None = None, dump: object = None) -> EditOutcome:
        return containerd.configure(
            files,
            spec,
            destination,
            engine=engine,
            forced=request.forced,
            dump=dump if isinstance(dump, Mapping) else None,
        )

    outcome = edit(layers)
    if outcome.texts:  # only a run with something to do may ask the engine
        engine = containerd_version(host, target)
        dump = _containerd_dump(host, request, target, place.config)
        outcome = edit(layers, engine, dump)
        prove_second_pass(layers, outcome, lambda files: edit(files, engine, dump))
        _check_copy_stays_private(sources, outcome)
    planned = finish(
        host,
        request,
        target,
        sources,
        outcome,
        spec,
        view=partial(containerd_view.view, merged_elsewhere=destination.drop_in if destination.foreign_main else None),
        facts={"runtime": spec.name, "default_before": _default_before(layers) if outcome.texts else ""},
        home=outcome.home or place.config,
    )
    if place.destination.foreign_main or not planned.plan.pending:
        return planned._replace(notes=(*planned.notes, *place.notes))
    from ctk.engines.containerd_judge import judge_configured

    main = sources[0]
    base_is_ours = any(path[-1:] == ("runc",) for path in outcome.owned)
    question = query(
        host,
        target,
        "config-dump",
        ("--config", main.target, "config", "dump"),
        judge_configured(spec, base_is_ours),
    )
    return planned._replace(plan=planned.plan._replace(query=question), notes=(*planned.notes, *place.notes))


def _check_copy_stays_private(sources: tuple[Source, ...], outcome: EditOutcome) -> None:
    """Refuse to copy a CRI section, which may hold registry passwords, into a file that more people may read."""
    main = sources[0]
    if not any(len(key) == 2 and key[0] == "plugins" for key in outcome.owned):
        return
    for source in sources[1:]:
        if source.path in outcome.texts and source.data is not None and source.mode & ~main.mode & 0o077:
            raise CtkError(
                f"cannot copy the CRI section of {main.path} (mode {main.mode:04o}) into {source.path} (mode "
                f"{source.mode:04o}): more people could read its passwords",
                hint=f"Run chmod {main.mode:o} {source.path}, or leave out --drop-in-config. Nothing was changed.",
                code="mode",
                path=source.path,
            )


def _default_before(layers: tuple[Layer, ...]) -> str:
    from ctk.engines import containerd_view

    return containerd_view.view(layers, "").default_runtime or ""


def _containerd_dump(host: "Host", request: Request, target: Target, config: str) -> Mapping[str, object] | None:
    if request.config_source != "command":
        return None
    return dump_of(host, target, ("--config", host.real_path(config), "config", "dump"))


def dump_of(host: "Host", target: Target, arguments: tuple[str, ...]) -> Mapping[str, object]:
    """The engine's effective configuration. Raises CtkError with the program's own words (peer: hidden)."""
    import tomllib

    if target.binary is None or not may_ask(host, target):
        raise CtkError(
            f"cannot ask {target.engine} for its configuration: no program of it may be run here",
            hint="Name it with --executable-path, or use --config-source=file. Nothing was changed.",
            code="config-source",
        )
    answer = host.run((target.binary, *arguments))
    if answer.returncode != 0:
        said = answer.stderr.strip().splitlines() or [answer.reason or f"status {answer.returncode}"]
        raise CtkError(
            f"cannot read the configuration from `{' '.join(answer.argv)}`: {said[-1]}",
            hint="Correct the file it names, or use --config-source=file. Nothing was changed.",
            code="config-source",
        )
    return tomllib.loads(answer.stdout)


def _plan_crio(host: "Host", request: Request, target: Target, spec: RuntimeSpec) -> Planned:
    from ctk.engines import crio
    from ctk.engines.crio_judge import judge_configured

    folder, place = crio_places(request, target)
    _check_is_read(place, target, folder)
    sources = read_crio(host, target.config, folder, place)
    layers = tuple(source.layer() for source in sources)
    destination = crio.Destination(place, in_main=place == target.config)
    outcome = crio.configure(layers, spec, destination)
    arguments = ("--config", host.real_path(target.config), "--config-dir", host.real_path(folder), "config")
    if outcome.texts and request.config_source == "command":
        dump = dump_of(host, target, arguments)
        outcome = crio.configure(layers, spec, destination, dump=dump)
    prove_second_pass(layers, outcome, lambda files: crio.configure(files, spec, destination))
    default = crio.view(layers, "").default_runtime if outcome.texts else None
    facts = {"runtime": spec.name, "default_before": default or ""}
    planned = finish(host, request, target, sources, outcome, spec, view=crio.view, facts=facts, home=place)
    question = query(host, target, "crio-config", arguments, judge_configured(spec))
    return planned._replace(plan=planned.plan._replace(query=question))


def crio_places(request: Request, target: Target) -> tuple[str, str]:
    """The folder CRI-O reads drop-ins from, and the file for our keys."""
    default = DEFAULTS["crio"].drop_in or ""
    folder = (target.record.drop_in_directory if target.record else None) or default.rpartition("/")[0]
    if request.drop_in and target.explicit:
        folder = request.drop_in.rpartition("/")[0]  # a configuration of the user's own: so is its folder
    drop_in = f"{folder}/99-nvidia.toml" if request.drop_in is None else request.drop_in
    return folder, drop_in or target.config


def _check_is_read(place: str, target: Target, folder: str) -> None:
    """A drop-in outside the folder that CRI-O reads would have no effect (a failure seen in the field)."""
    if place != target.config and place.rpartition("/")[0] != folder:
        raise CtkError(
            f"cannot use {place}: CRI-O reads drop-ins only from {folder}",
            hint=f"Name a file in {folder}, or leave out --drop-in-config. Nothing was changed.",
            code="not-imported",
            path=place,
        )
