"""Each rule of the specification, broken alone: its place, its weight, its words; and whole specs without a fault."""

import pytest

from ctk.cdi.validate import FAULT_LIMIT, limit_faults, name_fault, split_kind, validate_spec
from ctk.cdi.version import FEATURES, VERSIONS
from ctk.facts.cdi import INVALID, REFUSED, WARNING, SpecFault
from ctk.facts.cdi_spec import (
    CdiSpec,
    SpecAnnotation,
    SpecDevice,
    SpecDeviceNode,
    SpecEdits,
    SpecHook,
    SpecIntelRdt,
    SpecMount,
    SpecNetDevice,
)

PLAIN = SpecEdits(env=("A=b",))
HOOK = SpecHook("createContainer", "/usr/bin/nvidia-cdi-hook")
MOUNT = SpecMount("/a", "/a", ("ro", "rbind"))
EDITS = "devices[0].containerEdits"


def make_spec(edits: SpecEdits = PLAIN, name: str = "gpu0", version: str = "1.0.0", **changes: object) -> CdiSpec:
    spec = CdiSpec(version, "nvidia.com/gpu", (SpecDevice(name, edits),))
    return spec._replace(**changes)


def with_node(**fields: object) -> CdiSpec:
    return make_spec(SpecEdits(device_nodes=(SpecDeviceNode("/dev/a")._replace(**fields),)))


def with_hook(**fields: object) -> CdiSpec:
    return make_spec(SpecEdits(hooks=(HOOK._replace(**fields),)))


def with_mount(**fields: object) -> CdiSpec:
    return make_spec(SpecEdits(mounts=(MOUNT._replace(**fields),)))


def with_rdt(version: str = "1.0.0", **fields: object) -> CdiSpec:
    return make_spec(SpecEdits(intel_rdt=SpecIntelRdt()._replace(**fields)), version=version)


def with_note(key: str, value: str = "x") -> CdiSpec:
    return make_spec(annotations=(SpecAnnotation(key, value),))


def with_networks(*names: tuple[str, str]) -> CdiSpec:
    return make_spec(SpecEdits(net_devices=tuple(SpecNetDevice(*pair) for pair in names)), version="1.1.0")


NODE = f"{EDITS}.deviceNodes[0]"
RULES = {
    "version missing": (make_spec(version=""), "cdiVersion", REFUSED, "is missing"),
    "version unknown": (make_spec(version="0.9.0"), "cdiVersion", REFUSED, "none that is known"),
    "version too old": (make_spec(version="0.2.0"), "cdiVersion", REFUSED, "older than any engine reads"),
    "kind missing": (make_spec(kind=""), "kind", REFUSED, "is missing"),
    "kind without slash": (make_spec(kind="gpu"), "kind", REFUSED, "a vendor, a slash and a class"),
    "kind without vendor": (make_spec(kind="/gpu"), "kind", REFUSED, "a vendor, a slash and a class"),
    "kind without class": (make_spec(kind="nvidia.com/"), "kind", REFUSED, "a vendor, a slash and a class"),
    "vendor begins with a digit": (make_spec(kind="3com.com/gpu"), "kind", REFUSED, "must begin with a letter"),
    "second slash": (make_spec(kind="a.com/b/c"), "kind", REFUSED, "holds '/'"),
    "vendor ends with a dot": (make_spec(kind="a./c"), "kind", REFUSED, "must end with a letter or a digit"),
    "class with a colon": (make_spec(kind="a.com/b:c"), "kind", REFUSED, "holds ':'"),
    "vendor that is no DNS name": (make_spec(kind="a_b/c"), "kind", WARNING, "should be a DNS name"),
    "long class": (make_spec(kind="a.com/" + "c" * 64), "kind", WARNING, "63 for the class"),
    "no device": (make_spec(devices=()), "devices", REFUSED, "no device"),
    "device twice": (
        make_spec(devices=(SpecDevice("a", PLAIN), SpecDevice("a", PLAIN))),
        "devices[1].name",
        REFUSED,
        "is the name of devices[0] too",
    ),
    "no name": (make_spec(name=""), "devices[0].name", REFUSED, "the device name is empty"),
    "name begins with a dash": (make_spec(name="-a"), "devices[0].name", REFUSED, "begin with a letter or a digit"),
    "name with a blank": (make_spec(name="a b"), "devices[0].name", REFUSED, "holds ' '"),
    "name ends with a colon": (make_spec(name="a:"), "devices[0].name", REFUSED, "must end with"),
    "name of other letters": (make_spec(name="gpü0"), "devices[0].name", REFUSED, "holds 'ü'"),
    "empty edits": (make_spec(SpecEdits()), EDITS, REFUSED, "no edits"),
    "environment": (make_spec(SpecEdits(env=("A=1", "B"))), f"{EDITS}.env[1]", REFUSED, "no NAME=VALUE"),
    "environment without a name": (make_spec(SpecEdits(env=("=1",))), f"{EDITS}.env[0]", REFUSED, "no NAME=VALUE"),
    "environment of the spec": (
        make_spec()._replace(edits=SpecEdits(env=("B",))),
        "containerEdits.env[0]",
        REFUSED,
        "NAME",
    ),
    "node without path": (with_node(path=""), f"{NODE}.path", REFUSED, "missing"),
    "node with a relative path": (with_node(path="dev/a"), f"{NODE}.path", INVALID, "no absolute path"),
    "node with a relative host path": (with_node(host_path="a"), f"{NODE}.hostPath", INVALID, "no absolute path"),
    "node type": (with_node(type="char"), f"{NODE}.type", REFUSED, "b, c, u, p"),
    "permissions": (with_node(permissions="rwx"), f"{NODE}.permissions", REFUSED, "r, w and m only"),
    "permissions none": (with_node(permissions="none"), f"{NODE}.permissions", WARNING, "library before 1.1.0"),
    "octal digits": (with_node(file_mode=666), f"{NODE}.fileMode", WARNING, "means 01232; 0666 is 438"),
    "hook stage": (with_hook(name="created"), f"{EDITS}.hooks[0].hookName", REFUSED, "hookName 'created' must"),
    "hook without stage": (with_hook(name=""), f"{EDITS}.hooks[0].hookName", REFUSED, "hookName is missing"),
    "hook without path": (with_hook(path=""), f"{EDITS}.hooks[0].path", REFUSED, "missing"),
    "hook by name": (with_hook(path="nvidia-ctk"), f"{EDITS}.hooks[0].path", INVALID, "no absolute path"),
    "hook environment": (with_hook(env=("X",)), f"{EDITS}.hooks[0].env[0]", REFUSED, "no NAME=VALUE"),
    "hook timeout": (with_hook(timeout_seconds=0), f"{EDITS}.hooks[0].timeout", INVALID, "greater than zero"),
    "mount without source": (with_mount(host_path=""), f"{EDITS}.mounts[0].hostPath", REFUSED, "missing"),
    "mount of a relative source": (with_mount(host_path="a"), f"{EDITS}.mounts[0].hostPath", INVALID, "absolute"),
    "mount without target": (with_mount(container_path=""), f"{EDITS}.mounts[0].containerPath", REFUSED, "missing"),
    "mount to a relative target": (
        with_mount(container_path="a"),
        f"{EDITS}.mounts[0].containerPath",
        INVALID,
        "absolute",
    ),
    "mount that binds nothing": (with_mount(options=("ro",)), f"{EDITS}.mounts[0]", INVALID, "neither bind nor rbind"),
    "class of service": (with_rdt(clos_id="a/b"), f"{EDITS}.intelRdt.closID", REFUSED, "no file name"),
    "dropped field": (with_rdt(enable_cmt=True), f"{EDITS}.intelRdt", WARNING, "no fields since 1.1.0"),
    "dropped field in 1.1.0": (with_rdt("1.1.0", enable_mbm=False), f"{EDITS}.intelRdt", REFUSED, "no fields since"),
    "network without a name": (with_networks(("eth0", "")), f"{EDITS}.netDevices[0].name", REFUSED, "missing"),
    "network twice": (
        with_networks(("eth0", "a"), ("eth0", "b")),
        f"{EDITS}.netDevices[1].hostInterfaceName",
        REFUSED,
        "twice",
    ),
    "annotation name": (with_note("a b"), "annotations.a b", WARNING, "no name for an annotation"),
    "annotation prefix": (with_note("/b"), "annotations./b", WARNING, "no name for an annotation"),
    "long annotation name": (with_note("a" * 64), f"annotations.{'a' * 64}", WARNING, "no name for an annotation"),
    "annotations too large": (with_note("a", "x" * 262144), "annotations", WARNING, "are the most"),
}


@pytest.mark.parametrize(("spec", "where", "level", "words"), RULES.values(), ids=RULES)
def test_each_rule_has_its_place_and_weight(spec: CdiSpec, where: str, level: str, words: str) -> None:
    faults = validate_spec(spec)
    assert [(fault.where, fault.level) for fault in faults] == [(where, level)]
    assert words in faults[0].message


SOUND = {
    "one letter each (readers of others crash here)": make_spec(kind="x/y"),
    "one letter in the class": make_spec(kind="x.com/y"),
    "one letter in the device": make_spec(name="g"),
    "a digit": make_spec(name="0"),
    "a MIG name": make_spec(name="MIG-5b1c6f2e-7d0a-4a55-9b7e-0c4f0d1e2a3b"),
    "a colon": make_spec(name="1:0"),
    "version with v": make_spec(version="v1.0.0"),
    "class with a dot": make_spec(kind="nvidia.com/gpu.coherent"),
    "tmpfs": with_mount(host_path="tmpfs", type="tmpfs", options=()),
    "bind by type": with_mount(type="bind", options=()),
    "block device": with_node(type="b", permissions="r", file_mode=0o660),
    "root class of service": with_rdt(clos_id="/"),
    "two networks": with_networks(("eth0", "a"), ("eth1", "b")),
    "Kubernetes annotation": with_note("gpu.nvidia.com/Coherent", ""),
    "empty edits of the spec": make_spec()._replace(edits=SpecEdits()),
}


@pytest.mark.parametrize("spec", SOUND.values(), ids=SOUND)
def test_what_the_specification_allows_has_no_fault(spec: CdiSpec) -> None:
    assert validate_spec(spec) == ()


FEATURE_SPECS = {
    "netDevices": with_networks(("eth0", "a")),
    "intelRdt.schemata or enableMonitoring": with_rdt(schemata=("L3:0=f",)),
    "intelRdt": with_rdt(clos_id="x"),
    "additionalGids": make_spec(SpecEdits(additional_gids=(44,))),
    "annotations": with_note("a"),
    "a dot in the class": make_spec(kind="nvidia.com/gpu.x"),
    "hostPath of a device node": with_node(host_path="/dev/b"),
    "a device name that begins with a digit": make_spec(name="0"),
    "type of a mount": with_mount(type="none"),
}


@pytest.mark.parametrize(("needed", "feature"), [row[:2] for row in FEATURES], ids=[row[1] for row in FEATURES])
def test_a_version_older_than_its_fields_is_refused(needed: str, feature: str) -> None:
    """Field case F72: one row for each field."""
    spec = FEATURE_SPECS[feature]
    older = VERSIONS[VERSIONS.index(needed) - 1]
    faults = validate_spec(spec._replace(version=older))
    assert [(fault.where, fault.level) for fault in faults] == [("cdiVersion", REFUSED)]
    assert f"cdiVersion is {older}, but the spec needs {needed}" in faults[0].message
    assert feature in faults[0].message
    assert validate_spec(spec._replace(version=needed)) == ()


def test_every_fault_of_a_file_is_told_in_its_order() -> None:
    spec = make_spec(SpecEdits(env=("A",), hooks=(HOOK._replace(name=""),)), name="", version="9", kind="x")
    assert [fault.where for fault in validate_spec(spec)] == [
        "cdiVersion",
        "kind",
        "devices[0].name",
        f"{EDITS}.env[0]",
        f"{EDITS}.hooks[0].hookName",
    ]


def test_of_very_many_faults_the_heaviest_is_kept() -> None:
    warnings = [SpecFault(str(number), level=WARNING) for number in range(100)]
    kept = limit_faults([*warnings, SpecFault("heavy"), SpecFault("too")])
    assert kept == (*warnings[:FAULT_LIMIT], SpecFault("heavy"))


@pytest.mark.parametrize(
    ("kind", "parts"), [("a/b", ("a", "b")), ("a/b/c", ("a", "b/c")), ("ab", ("", "")), ("/", ("", ""))]
)
def test_a_kind_has_two_parts(kind: str, parts: tuple[str, str]) -> None:
    assert split_kind(kind) == parts


def test_a_device_name_may_hold_colons_and_a_class_may_not() -> None:
    assert name_fault("1:0", "device name", "_-.:") == ""
    assert "holds ':'" in name_fault("a:0", "class")
