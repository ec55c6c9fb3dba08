"""Which paths of a spec belong to the host and which to the container, path by path, and where a root ends."""

import pytest

from ctk.cdi.transform import CONTAINER, HOST, RootChange, move_path, transform_root
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecDeviceNode, SpecEdits, SpecHook, SpecMount

OLD, NEW = "/run/nvidia/driver", "/"


def make_spec(edits: SpecEdits) -> CdiSpec:
    return CdiSpec("0.5.0", "nvidia.com/gpu", (SpecDevice("0", edits),), edits)


def change(edits: SpecEdits, side: str, old: str = "/a", new: str = "/b") -> SpecEdits:
    changed = transform_root(make_spec(edits), RootChange(old, new, side))
    assert changed.edits == changed.devices[0].edits
    return changed.edits


@pytest.mark.parametrize(
    ("path", "source", "target", "moved"),
    [
        ("/run/driver/x", "/run/driver", "/", "/x"),
        ("/run/driver/x", "/run/driver/", "/host/", "/host/x"),
        ("/run/driver", "/run/driver", "/", "/"),
        ("/run/driver-backup/x", "/run/driver", "/", "/run/driver-backup/x"),
        ("/usr/x", "/", "/host", "/host/usr/x"),
        ("/", "/", "/host", "/host"),
        ("../libcuda.so.1", "/", "/host", "../libcuda.so.1"),
        ("", "/", "/host", ""),
    ],
)
def test_a_root_ends_where_a_name_ends(path: str, source: str, target: str, moved: str) -> None:
    assert move_path(path, source, target) == moved


def test_same_root_in_another_spelling_changes_nothing() -> None:
    spec = make_spec(SpecEdits(mounts=(SpecMount("/a/x", "/a/x"),)))
    assert transform_root(spec, RootChange("/a", "/a/", HOST)) is spec


def test_host_side_of_a_node_is_spelled_out() -> None:
    node = SpecDeviceNode("/a/dev/nvidia0")
    assert change(SpecEdits(device_nodes=(node,)), HOST).device_nodes == (
        SpecDeviceNode("/a/dev/nvidia0", "/b/dev/nvidia0"),
    )


def test_container_side_of_a_node_moves_alone() -> None:
    node = SpecDeviceNode("/a/dev/nvidia0", "/a/host")
    assert change(SpecEdits(device_nodes=(node,)), CONTAINER).device_nodes == (
        SpecDeviceNode("/b/dev/nvidia0", "/a/host"),
    )


def test_host_path_that_becomes_the_same_is_left_out() -> None:
    node = SpecDeviceNode("/dev/nvidia0", "/a/dev/nvidia0")
    assert change(SpecEdits(device_nodes=(node,)), HOST, "/a", "/").device_nodes == (SpecDeviceNode("/dev/nvidia0"),)


@pytest.mark.parametrize(("side", "moved"), [(HOST, SpecMount("/b/x", "/a/y")), (CONTAINER, SpecMount("/a/x", "/b/y"))])
def test_one_side_of_a_mount_moves(side: str, moved: SpecMount) -> None:
    assert change(SpecEdits(mounts=(SpecMount("/a/x", "/a/y"),)), side).mounts == (moved,)


STAGES = [
    ("createRuntime", HOST, "/b/hook", ("/b/x", "--opt=/a/x", "/b/y::/b/z")),
    ("createRuntime", CONTAINER, "/a/hook", ("/a/x", "--opt=/a/x", "/a/y::/a/z")),
    ("createContainer", HOST, "/b/hook", ("/a/x", "--opt=/a/x", "/a/y::/a/z")),
    ("createContainer", CONTAINER, "/a/hook", ("/b/x", "--opt=/a/x", "/b/y::/b/z")),
    ("startContainer", HOST, "/a/hook", ("/a/x", "--opt=/a/x", "/a/y::/a/z")),
    ("startContainer", CONTAINER, "/b/hook", ("/b/x", "--opt=/a/x", "/b/y::/b/z")),
]


@pytest.mark.parametrize(("stage", "side", "path", "args"), STAGES, ids=[f"{row[0]}-{row[1]}" for row in STAGES])
def test_program_and_arguments_of_a_hook_have_sides_of_their_own(
    stage: str, side: str, path: str, args: tuple[str, ...]
) -> None:
    hook = SpecHook(stage, "/a/hook", ("/a/x", "--opt=/a/x", "/a/y::/a/z"), ("PATH=/a/bin",))
    assert change(SpecEdits(hooks=(hook,)), side).hooks == (SpecHook(stage, path, args, ("PATH=/a/bin",)),)


OWN = ("/a/python3", "-I", "-S", "/a/hook_main.py", "apply", "--folder", "/a/lib", "--ldconfig-path", "/a/ldconfig")


@pytest.mark.parametrize(
    ("side", "args"),
    [
        (HOST, ("/b/python3", "-I", "-S", "/b/hook_main.py", *OWN[4:8], "/b/ldconfig")),
        (CONTAINER, (*OWN[:6], "/b/lib", *OWN[7:])),
    ],
)
def test_programs_in_the_arguments_of_our_own_hook_are_of_the_host(side: str, args: tuple[str, ...]) -> None:
    hook = SpecHook("createContainer", "/a/python3", OWN)
    assert change(SpecEdits(hooks=(hook,)), side).hooks[0].args == args


def test_driver_container_and_back() -> None:
    edits = SpecEdits(
        device_nodes=(SpecDeviceNode("/dev/nvidia0", f"{OLD}/dev/nvidia0"),),
        mounts=(SpecMount(f"{OLD}/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1"),),
    )
    there = change(edits, HOST, OLD, "/")
    assert there.mounts[0].host_path == "/usr/lib64/libcuda.so.1"
    assert change(there, HOST, "/", OLD) == edits
