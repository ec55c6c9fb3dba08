"""A spec as the mapping that a file holds, and as YAML or JSON text; it checks nothing and opens no file."""

from ctk.facts.cdi_spec import CdiSpec, SpecAnnotation, SpecDeviceNode, SpecEdits, SpecHook, SpecIntelRdt, SpecMount

Document = dict[str, object]


def spec_to_document(spec: CdiSpec) -> Document:
    """The keys of the specification in its own order; what is absent has no key."""
    return {
        "cdiVersion": spec.version,
        "kind": spec.kind,
        **_annotations(spec.annotations),
        "devices": [
            {
                "name": device.name,
                **_annotations(device.annotations),
                "containerEdits": edits_to_document(device.edits),
            }
            for device in spec.devices
        ],
        **({} if spec.edits.is_empty else {"containerEdits": edits_to_document(spec.edits)}),
    }


def edits_to_document(edits: SpecEdits) -> Document:
    """One containerEdits."""
    networks = [{"hostInterfaceName": device.host_interface_name, "name": device.name} for device in edits.net_devices]
    return _present(
        env=list(edits.env),
        deviceNodes=[_node(node) for node in edits.device_nodes],
        netDevices=networks,
        hooks=[_hook(hook) for hook in edits.hooks],
        mounts=[_mount(mount) for mount in edits.mounts],
        intelRdt=None if edits.intel_rdt is None else _rdt(edits.intel_rdt),
        additionalGids=list(edits.additional_gids),
    )


def render_json(spec: CdiSpec) -> str:
    """One indented JSON document with a final newline."""
    import json

    return json.dumps(spec_to_document(spec), indent=4, ensure_ascii=False) + "\n"


def render_yaml(spec: CdiSpec) -> str:
    """A YAML document that begins with ---, keys in the specification's order; the same value gives the same bytes."""
    import yaml

    from ctk.cdi.scalars import TEXT, resolve_plain

    parent = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml where PyYAML was built with it

    class Dumper(parent):  # type: ignore[misc,valid-type] # which one it is, is known when it runs
        """Quotes what the engines' library takes for a number or a switch, and PyYAML for text (1e3)."""

    def represent(dumper: "Dumper", text: str) -> "yaml.ScalarNode":
        style = None if resolve_plain(text)[0] == TEXT else "'"
        node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
        return node

    Dumper.add_representer(str, represent)
    document = spec_to_document(spec)
    return yaml.dump(document, Dumper=Dumper, sort_keys=False, explicit_start=True, width=1000, allow_unicode=True)


def _node(node: SpecDeviceNode) -> Document:
    return _present(
        path=node.path,
        hostPath=node.host_path,
        type=node.type,
        major=node.major,
        minor=node.minor,
        fileMode=node.file_mode,
        permissions=node.permissions,
        uid=node.uid,
        gid=node.gid,
    )


def _mount(mount: SpecMount) -> Document:
    return _present(
        hostPath=mount.host_path, containerPath=mount.container_path, type=mount.type, options=list(mount.options)
    )


def _hook(hook: SpecHook) -> Document:
    return _present(
        hookName=hook.name, path=hook.path, args=list(hook.args), env=list(hook.env), timeout=hook.timeout_seconds
    )


def _rdt(settings: SpecIntelRdt) -> Document:
    return _present(
        closID=settings.clos_id,
        l3CacheSchema=settings.l3_cache_schema,
        memBwSchema=settings.mem_bw_schema,
        enableCMT=settings.enable_cmt,
        enableMBM=settings.enable_mbm,
        schemata=list(settings.schemata),
        enableMonitoring=settings.enable_monitoring,
    )


def _annotations(rows: tuple[SpecAnnotation, ...]) -> Document:
    return {"annotations": {row.key: row.value for row in rows}} if rows else {}


def _present(**values: object) -> Document:
    return {key: value for key, value in values.items() if value is not None and value != []}
