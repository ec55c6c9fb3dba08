"""Two specs differ by what they do: each kind of change is told once, and order or spelling is none."""

import pytest

from ctk.cdi.diff import ADDED, CHANGED, COMMON, HEAD, REMOVED, SpecDifference, diff_specs
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

NODE = SpecDeviceNode("/dev/nvidia0", None, None, 195, 0, 0o666, "rwm")
MOUNT = SpecMount("/usr/lib64/libcuda.so.550.1", "/usr/lib64/libcuda.so.550.1", ("ro", "nosuid"))
HOOK = SpecHook("createContainer", "/usr/bin/python3", ("python3", "apply"), ("A=b",))
EDITS = SpecEdits(env=("X=1", "Y=2"), device_nodes=(NODE,), mounts=(MOUNT,), hooks=(HOOK,), additional_gids=(44,))


def make_spec(edits: SpecEdits = EDITS, **changes: object) -> CdiSpec:
    return CdiSpec("0.7.0", "nvidia.com/gpu", (SpecDevice("0", EDITS), SpecDevice("1", EDITS)), edits)._replace(
        **changes
    )


def one(edits: SpecEdits) -> SpecDifference:
    (found,) = diff_specs(make_spec(), make_spec(edits))
    assert found.where == COMMON
    return found


def test_equal_specs_do_not_differ() -> None:
    assert diff_specs(make_spec(), make_spec()) == ()


def test_order_and_spelled_out_paths_are_no_difference() -> None:
    other = EDITS._replace(
        env=("Y=2", "X=1"),
        device_nodes=(NODE._replace(host_path=NODE.path),),
        mounts=(MOUNT._replace(options=("nosuid", "ro")),),
    )
    assert diff_specs(make_spec(), make_spec(other)) == ()
    assert diff_specs(make_spec(), make_spec(devices=tuple(reversed(make_spec().devices)))) == ()


ROWS = {
    "node gone": (EDITS._replace(device_nodes=()), "device node", REMOVED, "195:0"),
    "node with another number": (
        EDITS._replace(device_nodes=(NODE._replace(major=235),)),
        "device node",
        CHANGED,
        "235:0",
    ),
    "node with a group": (EDITS._replace(device_nodes=(NODE._replace(gid=44),)), "device node", CHANGED, "group 44"),
    "new mount": (EDITS._replace(mounts=(MOUNT, SpecMount("/a", "/b"))), "mount", ADDED, "/a at /b"),
    "mount from elsewhere": (EDITS._replace(mounts=(MOUNT._replace(host_path="/a"),)), "mount", CHANGED, "/a at"),
    "env": (EDITS._replace(env=("X=1", "Y=2", "Z=3")), "env", ADDED, "Z=3"),
    "hook gone": (EDITS._replace(hooks=()), "hook", REMOVED, "apply"),
    "group": (EDITS._replace(additional_gids=()), "additional group", REMOVED, "44"),
    "network": (EDITS._replace(net_devices=(SpecNetDevice("e", "f"),)), "network device", ADDED, "e as f"),
    "rdt": (EDITS._replace(intel_rdt=SpecIntelRdt(clos_id="x")), "intelRdt", ADDED, "clos_id='x'"),
}


@pytest.mark.parametrize(("edits", "what", "change", "word"), ROWS.values(), ids=ROWS)
def test_each_edit_that_differs_is_told_once(edits: SpecEdits, what: str, change: str, word: str) -> None:
    found = one(edits)
    assert (found.what, found.change) == (what, change)
    assert word in (found.after or found.before)


def test_order_of_hooks_counts() -> None:
    second = HOOK._replace(args=("python3", "other"))
    before, after = EDITS._replace(hooks=(HOOK, second)), EDITS._replace(hooks=(second, HOOK))
    (found,) = diff_specs(make_spec(before), make_spec(after))
    assert found.what == "order of hooks"


def test_head_and_devices_are_told_by_name() -> None:
    extra = SpecDevice("2", EDITS, (SpecAnnotation("a.b/c", "d"),))
    after = make_spec(version="0.5.0", kind="x.com/gpu", devices=(make_spec().devices[0], extra))
    assert [(row.where, row.what, row.change) for row in diff_specs(make_spec(), after)] == [
        (HEAD, "cdiVersion", CHANGED),
        (HEAD, "kind", CHANGED),
        ("1", "device", REMOVED),
        ("2", "device", ADDED),
    ]


def test_annotations_are_compared() -> None:
    noted = (SpecAnnotation("a.b/c", "d"),)
    after = make_spec(annotations=noted, devices=tuple(d._replace(annotations=noted) for d in make_spec().devices))
    assert {(row.where, row.what, row.after) for row in diff_specs(make_spec(), after)} == {
        (where, "annotations", "a.b/c=d") for where in (HEAD, "0", "1")
    }
