"""Distribution-managed containerd files: k3s, RKE2, microk8s and k0s; decides where keys may go, changes nothing."""

from typing import TYPE_CHECKING

from ctk.change.plan import FileChange, Plan
from ctk.engines.base import RuntimeSpec
from ctk.engines.containerd import Destination
from ctk.engines.containerd_layout import import_covers, read_layout
from ctk.engines.containerd_template import add_runtime, is_template, names_ours, names_runtime
from ctk.engines.containerd_view import view
from ctk.engines.installations import GO_TEMPLATE_BASE, K0S_MARKER
from ctk.errors import CtkError, ParseFault, Refused, UsageFault
from ctk.host.paths import display_path
from ctk.record import Record
from ctk.runtime.planned import Planned, plan_facts, restart_request
from ctk.runtime.request import Request
from ctk.runtime.sources import Source, read_source
from ctk.runtime.targets import DROP_IN, GENERATED, TEMPLATE, Target

if TYPE_CHECKING:
    from ctk.host import Host

SELF_DETECTED = (
    "/usr/local/nvidia/toolkit/nvidia-container-runtime",
    "/usr/bin/nvidia-container-runtime",
    "/usr/local/bin/nvidia-container-runtime",
)
"""Where k3s and RKE2 look for the runtime at every start (https://docs.k3s.io/advanced#nvidia-container-runtime)."""


class Place(Record):
    """Which main file is read, where new keys may go, and the whole plan where it is already decided."""

    config: str
    destination: Destination
    notes: tuple[str, ...] = ()
    done: Planned | None = None


def place_of(host: "Host", request: Request, target: Target, spec: RuntimeSpec) -> Place:
    """Where this containerd's keys go. Raises Refused(generated-file, template) for files others write."""
    if is_template(target.config):
        return Place(target.config, Destination(), done=plan_template(host, request, target, spec, target.config))
    if request.config is not None:
        _refuse_generated(host, request, target)
        return _main(request, target)
    if target.treatment == DROP_IN and _is_k0s_managed(host, target.config):
        drop_in = request.drop_in or _k0s_drop_in(target)
        note = f"k0s merges {drop_in.rpartition('/')[0]} into its own configuration when it starts"
        destination = Destination(drop_in, foreign_main=True)
        return Place(target.config, destination, (note,))
    if target.treatment == TEMPLATE and target.record and target.record.generated_from:
        template = target.record.generated_from
        return Place(template, Destination(in_main=True), (f"{target.config} is generated from {template}",))
    if target.treatment == GENERATED:
        return _generated(host, request, target, spec)
    return _main(request, target)


def _main(request: Request, target: Target) -> Place:
    if request.drop_in:
        return Place(target.config, Destination(request.drop_in, explicit=True))
    if request.drop_in == "":
        return Place(target.config, Destination(in_main=True))
    return Place(target.config, Destination(_usual_drop_in(target)))


def _usual_drop_in(target: Target) -> str:
    """Beside the main file; for /etc/containerd/config.toml that is where NVIDIA's toolkit has it, too."""
    return f"{target.config.rpartition('/')[0]}/conf.d/99-nvidia.toml"


def _is_k0s_managed(host: "Host", path: str) -> bool:
    """k0s writes the file again, and merges its folder, only while the marker line stands (k0s docs, runtime)."""
    source = read_source(host, path)
    return source.data is None or any(line.strip() == K0S_MARKER for line in source.text.text.splitlines())


def _refuse_generated(host: "Host", request: Request, target: Target) -> None:
    source = generated_source(host, target.config)
    if source is None or "generated-file" in request.forced:
        return
    raise Refused(
        f"cannot configure {target.config}: it is generated from {source} and overwritten when its owner starts",
        force="generated-file",
        hint=f"Leave out --config, or name the source: --config={source}. Nothing was changed.",
        path=target.config,
    )


def generated_source(host: "Host", path: str) -> str | None:
    """The file or folder that `path` is generated from, None if it is nobody's product."""
    folder, _, name = path.rpartition("/")
    if name == "config.toml" and folder.endswith("agent/etc/containerd"):
        for template in ("config-v3.toml.tmpl", "config.toml.tmpl"):
            if host.exists(f"{folder}/{template}"):
                return f"{folder}/{template}"
        return f"{folder}/config-v3.toml.tmpl"
    if name == "containerd.toml" and host.exists(f"{folder}/containerd-template.toml"):
        return f"{folder}/containerd-template.toml"
    if path == "/etc/k0s/containerd.toml" and host.exists(path) and _is_k0s_managed(host, path):
        return "/etc/k0s/containerd.d"
    return None


def _generated(host: "Host", request: Request, target: Target, spec: RuntimeSpec) -> Place:
    """k3s and RKE2: a drop-in where their file imports one, else they find the runtime themselves, else a template."""
    source = read_source(host, target.config)
    layout = read_layout((source.layer(),), None, frozenset({"config-version"}))
    folder = target.config.rpartition("/")[0]
    drop_in = request.drop_in or f"{folder}/config-v3.toml.d/99-nvidia.toml"
    imports = layout.main.content.get("imports")
    patterns = [item for item in imports if isinstance(item, str)] if isinstance(imports, list) else []
    is_imported = layout.version > 2 and any(import_covers(item, target.config, drop_in) for item in patterns)
    is_done = view((source.layer(),), spec.name).registered and not spec.set_as_default
    if is_imported and not is_done:
        return Place(target.config, Destination(drop_in, foreign_main=True))
    if request.drop_in:
        raise CtkError(
            f"cannot use {request.drop_in}: nothing in {target.config} imports it",
            hint="Leave out --drop-in-config. Nothing was changed.",
            code="not-imported",
            path=request.drop_in,
        )
    done = _self_detected(host, target, source, spec)
    if done is None:
        template = f"{folder}/{'config-v3' if layout.version > 2 else 'config'}.toml.tmpl"
        done = plan_template(host, request, target, spec, template)
    return Place(target.config, Destination(), done=done)


def _self_detected(host: "Host", target: Target, source: Source, spec: RuntimeSpec) -> Planned | None:
    """Nothing to write: k3s registers a runtime `nvidia` for a program it finds, at its next start."""
    owner = target.installation
    registered = source.data is not None and view((source.layer(),), spec.name).registered
    from ctk.host.programs import program_fault

    found = spec.name == "nvidia" and any(not program_fault(host, path) for path in SELF_DETECTED)
    if not (registered or found):
        return None
    if spec.set_as_default:
        raise UsageFault(
            f"{owner} chooses its default runtime itself",
            hint=f"Start {owner} with --default-runtime={spec.name}. Nothing was changed.",
        )
    state = "has registered" if registered else "finds and registers"
    note = f"{owner} {state} the runtime {spec.name!r} itself in {target.config}, which it writes at every start"
    plan = Plan("configure", target.key, (), facts=plan_facts(target, {"runtime": spec.name}))
    return Planned(target, plan, notes=(note,), restart_required=not registered, method="none", files=(target.config,))


def plan_template(host: "Host", request: Request, target: Target, spec: RuntimeSpec, path: str) -> Planned:
    """A k3s or RKE2 template with our tables. Raises Refused(template), ParseFault for a template in the way."""
    source = read_source(host, path)
    if "template" not in request.forced:
        raise _template_refusal(source, path)
    if spec.set_as_default:
        raise UsageFault(
            "a template cannot set the default runtime: its base already opens that table",
            hint=f"Start k3s or RKE2 with --default-runtime={spec.name}. Nothing was changed.",
        )
    text = None if source.data is None else source.text.text
    if text is not None and names_runtime(text, spec.name):
        note = f"{path} names the runtime {spec.name!r} already: it is left as it is"
        plan = Plan("configure", target.key, (), facts=plan_facts(target, {"runtime": spec.name}))
        return Planned(target, plan, notes=(note,), method="none", files=(path,))
    new = add_runtime(text, GO_TEMPLATE_BASE + "\n", path, spec)
    change = FileChange(display_path(host, path), source.target, source.data, source.text.encode(new), mode=0o600)
    changes = (change,) if change.action != "none" else ()
    plan = Plan(
        "configure",
        target.key,
        changes,
        restart=restart_request(target, "restart") if request.restart and changes else None,
        facts=plan_facts(target, {"runtime": spec.name}),
    )
    return Planned(target, plan, restart_required=bool(changes), method="none", files=(path,))


def _template_refusal(source: Source, path: str) -> Refused | ParseFault:
    ways = (
        "Two ways are safe: let k3s or RKE2 find nvidia-container-runtime itself (install it and restart), or "
        "--force template, which keeps the template's base and adds only the runtime's tables. Nothing was changed."
    )
    from ctk.edit.text import position

    offset = source.text.text.find("{{")
    if source.data is not None and offset >= 0:
        line, column = position(source.text.text, offset)
        where = f"cannot edit {path}: line {line}, column {column}: this is a Go template, not TOML"
        return Refused(where, force="template", hint=ways, path=path, line=line, column=column)
    cause = f"cannot write {path}: it is the template from which the whole configuration is made"
    return Refused(cause, force="template", hint=ways, path=path)


def merged_drop_in(host: "Host", target: Target) -> str | None:
    """The file that another program merges into the configuration without an import: k0s' drop-in of ours."""
    if target.treatment == DROP_IN and _is_k0s_managed(host, target.config):
        return _k0s_drop_in(target)
    return None


def _k0s_drop_in(target: Target) -> str:
    folder = (target.record.drop_in_directory if target.record else None) or "/etc/k0s/containerd.d"
    return f"{folder}/nvidia.toml"


class RemovalPlace(Record):
    """Where a runtime may be taken out: main file, drop-in, or the template that holds our block."""

    config: str
    drop_in: str | None = None
    template: str | None = None
    foreign_main: bool = False


def removal_place(host: "Host", request: Request, target: Target) -> RemovalPlace:
    """The counterpart of place_of."""
    if is_template(target.config):
        return RemovalPlace(target.config, template=target.config)
    if request.config is not None or target.treatment not in (GENERATED, TEMPLATE, DROP_IN):
        return RemovalPlace(target.config, request.drop_in or _usual_drop_in(target))
    if target.treatment == TEMPLATE and target.record and target.record.generated_from:
        return RemovalPlace(target.record.generated_from)
    if target.treatment == DROP_IN and _is_k0s_managed(host, target.config):
        return RemovalPlace(target.config, request.drop_in or _k0s_drop_in(target), foreign_main=True)
    if target.treatment != GENERATED:
        return RemovalPlace(target.config, request.drop_in or _usual_drop_in(target))
    for template in target.row.templates if target.row else ():
        source = read_source(host, template)
        if source.data is not None and names_ours(source.text.text, request.name):
            return RemovalPlace(target.config, template=template)
    folder = target.config.rpartition("/")[0]
    return RemovalPlace(target.config, f"{folder}/config-v3.toml.d/99-nvidia.toml", foreign_main=True)
