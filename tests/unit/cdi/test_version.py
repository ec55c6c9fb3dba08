"""Each field that needs a newer CDI version is told by it, alone and beside others (field case F72)."""

import pytest

from ctk.cdi.version import VERSIONS, minimum_version
from ctk.facts.cdi_spec import (
    CdiSpec,
    SpecAnnotation,
    SpecDevice,
    SpecDeviceNode,
    SpecEdits,
    SpecIntelRdt,
    SpecMount,
    SpecNetDevice,
)

PLAIN = SpecEdits(env=("A=b",))
NOTE = (SpecAnnotation("a.example/b", "c"),)


def make_spec(edits: SpecEdits = PLAIN, name: str = "gpu0", kind: str = "nvidia.com/gpu") -> CdiSpec:
    return CdiSpec("0.3.0", kind, (SpecDevice(name, edits),))


ROWS = {
    "nothing new": (make_spec(), "0.3.0"),
    "node": (make_spec(SpecEdits(device_nodes=(SpecDeviceNode("/dev/nvidia0"),))), "0.3.0"),
    "mount type": (make_spec(SpecEdits(mounts=(SpecMount("/a", "/a", (), "tmpfs"),))), "0.4.0"),
    "digit": (make_spec(name="0"), "0.5.0"),
    "hostPath": (make_spec(SpecEdits(device_nodes=(SpecDeviceNode("/dev/a", "/dev/b"),))), "0.5.0"),
    "annotation": (CdiSpec("0.3.0", "a.com/b", (SpecDevice("x", PLAIN, NOTE),)), "0.6.0"),
    "annotation of the spec": (CdiSpec("0.3.0", "a.com/b", (SpecDevice("x", PLAIN),), annotations=NOTE), "0.6.0"),
    "dotted class": (make_spec(kind="nvidia.com/gpu.coherent"), "0.6.0"),
    "gids": (make_spec(SpecEdits(additional_gids=(44,))), "0.7.0"),
    "gids of the spec": (CdiSpec("0.3.0", "a.com/b", (), SpecEdits(additional_gids=(44,))), "0.7.0"),
    "rdt": (make_spec(SpecEdits(intel_rdt=SpecIntelRdt(clos_id="x"))), "0.7.0"),
    "rdt schemata": (make_spec(SpecEdits(intel_rdt=SpecIntelRdt(schemata=("L3:0=f",)))), "1.1.0"),
    "net": (make_spec(SpecEdits(net_devices=(SpecNetDevice("eth0", "eth0"),))), "1.1.0"),
    "the highest counts": (make_spec(SpecEdits(additional_gids=(44,)), name="0"), "0.7.0"),
}


@pytest.mark.parametrize(("spec", "version"), ROWS.values(), ids=ROWS)
def test_the_lowest_version_that_has_all_fields_is_named(spec: CdiSpec, version: str) -> None:
    assert minimum_version(spec) == version
    assert version in VERSIONS
