"""On the host that NVIDIA's own tool was run on, ctk's spec does the same; what it does otherwise stands in DIFFERENT.

The host: three GPUs (minors 0, 3 and 2), GPU 1 in MIG mode with two devices, driver 550.54.15, recorded as facts.
"""

from pathlib import Path
from typing import Any

import pytest

from ctk.cdi.document import render_yaml
from ctk.cdi.generate import Generated
from ctk.cdi.request import SEPARATE, HookRequest
from ctk.facts.cdi_spec import SpecEdits
from tests.conftest import GoldenCheck
from tests.driver_tree import FOLDER, VERSION, DriverTree

DIFFERENT = (
    "The folder of MPS",
    "Links by PCI address below a driver root",
    "Absolute links in a driver root",
    "The form of hooks",
    "The order of places for libraries",
    "A missing node of one GPU",
    "The class of other modes",
    "The name of the file",
    "A link in place of the file",
    "A file that says so already",
)
"""The rows of the table in docs/reference/cdi-generate.md, which tells users why."""
TABLE = Path(__file__).parents[3] / "docs" / "reference" / "cdi-generate.md"
BINARIES = (
    *("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
    *("nvidia-imex", "nvidia-imex-ctl", "nvidia-xconfig"),
)
DATA = (
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
)
SETTINGS = ("OpenCL/vendors/nvidia.icd", "vulkan/icd.d/nvidia_icd.json", "vulkan/implicit_layer.d/nvidia_layers.json")
FIRMWARE = (f"/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin", f"/lib/firmware/nvidia/{VERSION}/gsp_tu10x.bin")
SOCKETS = ("/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket")
VERSIONED = (
    *("libcuda", "libnvidia-ml", "libnvidia-glcore", "libnvidia-allocator", "libnvidia-vulkan-producer"),
    *("libGLX_nvidia", "libnvidia-opticalflow"),
)


def make_host(folder: Path, driver_root: str = "/") -> DriverTree:
    tree = DriverTree(folder, driver_root)
    for stem in VERSIONED:
        whole = stem in ("libnvidia-glcore", "libnvidia-vulkan-producer")
        tree.library(stem, f"{stem}.so.{VERSION}" if whole else "", plain=stem in ("libcuda", "libnvidia-ml"))
    tree.library("libvdpau_nvidia", folder=f"{FOLDER}/vdpau")
    tree.library("libnvidia-egl-gbm", version="1.1.1")
    tree.library("libglxserver_nvidia", f"libglxserver_nvidia.so.{VERSION}", folder="/usr/lib/xorg/modules/extensions")
    tree.put_below("/usr/lib/xorg/modules/drivers/nvidia_drv.so")
    for name in BINARIES:
        tree.put_below(f"/usr/bin/{name}")
    for name in DATA:
        tree.put_below(f"/usr/share/{name}")
    for name in SETTINGS:
        tree.put_below(f"/etc/{name}")
    for path in (*FIRMWARE, *SOCKETS, "/tmp/nvidia-mps/control"):
        tree.put_below(path)
    tree.control_nodes()
    tree.gpu(0, 0, "0000:1b:00.0", drm=0)
    tree.gpu(1, 3, "0000:2b:00.0")
    tree.gpu(2, 2, "0000:3b:00.0", drm=2)
    tree.mig(1, (0, 1, 0), (1, 2, 0))
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> DriverTree:
    return make_host(tmp_path / "host")


def nodes(edits: SpecEdits) -> list[tuple[str, str, int | None, int | None, int | None]]:
    return [(node.path, node.source, node.major, node.minor, node.gid) for node in edits.device_nodes]


def node_paths(generated: Generated, name: str) -> list[str]:
    return [node.path for node in edits_of(generated, name).device_nodes]


def edits_of(generated: Generated, name: str) -> SpecEdits:
    return next(device.edits for device in generated.spec.devices if device.name == name)


def links(edits: SpecEdits) -> list[str]:
    return [
        value for hook in edits.hooks for word, value in zip(hook.args, hook.args[1:], strict=False) if word == "--link"
    ]


def test_head_and_names(tree: DriverTree) -> None:
    spec = tree.generate().spec
    assert (spec.version, spec.kind) == ("0.7.0", "nvidia.com/gpu")
    assert [device.name for device in spec.devices] == [
        *("0", "1:0", "1:1", "2", "GPU-0", "GPU-2", "MIG-1-0", "MIG-1-1", "all")
    ]


def test_nodes_of_each_device(tree: DriverTree) -> None:
    generated = tree.generate()
    assert node_paths(generated, "0") == ["/dev/nvidia0", "/dev/dri/card0", "/dev/dri/renderD128"]
    assert node_paths(generated, "1:0") == [
        "/dev/nvidia3",
        "/dev/nvidia-caps/nvidia-cap12",
        "/dev/nvidia-caps/nvidia-cap13",
    ]
    assert node_paths(generated, "1:1")[1:] == ["/dev/nvidia-caps/nvidia-cap22", "/dev/nvidia-caps/nvidia-cap23"]
    assert edits_of(generated, "0") == edits_of(generated, "GPU-0")
    assert set(node_paths(generated, "all")) == {
        path for name in ("0", "1:0", "1:1", "2") for path in node_paths(generated, name)
    }
    assert nodes(edits_of(generated, "0"))[1] == ("/dev/dri/card0", "/dev/dri/card0", 226, 0, 44)
    assert edits_of(generated, "0").additional_gids == (44,)


def test_what_every_container_gets(tree: DriverTree) -> None:
    common = tree.generate().spec.edits
    assert [node.path for node in common.device_nodes] == [
        *("/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl")
    ]
    assert common.env == (f"NVIDIA_CTK_LIBCUDA_DIR={FOLDER}", "NVIDIA_VISIBLE_DEVICES=void")
    assert {mount.container_path for mount in common.mounts} == {
        *(f"{FOLDER}/{stem}.so.{VERSION}" for stem in VERSIONED),
        f"{FOLDER}/vdpau/libvdpau_nvidia.so.{VERSION}",
        f"{FOLDER}/libnvidia-egl-gbm.so.1.1.1",
        f"/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so.{VERSION}",
        "/usr/lib/xorg/modules/drivers/nvidia_drv.so",
        *(f"/usr/bin/{name}" for name in BINARIES),
        *(f"/usr/share/{name}" for name in DATA),
        *(f"/etc/{name}" for name in SETTINGS),
        *FIRMWARE,
        *SOCKETS,
        "/tmp/nvidia-mps",
    }
    assert all(mount.host_path == mount.container_path for mount in common.mounts)


def test_options_of_mounts(tree: DriverTree) -> None:
    options = {mount.container_path: mount.options for mount in tree.generate().spec.edits.mounts}
    sockets = (*SOCKETS, "/tmp/nvidia-mps")
    assert {options[path] for path in sockets} == {("nosuid", "nodev", "rbind", "rprivate", "noexec")}
    assert {value for path, value in options.items() if path not in sockets} == {
        ("ro", "nosuid", "nodev", "rbind", "rprivate")
    }


LINKS = [
    f"../libnvidia-allocator.so.1::{FOLDER}/gbm/nvidia-drm_gbm.so",
    f"libnvidia-vulkan-producer.so.{VERSION}::{FOLDER}/libnvidia-vulkan-producer.so",
    f"libglxserver_nvidia.so.{VERSION}::/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so",
    f"libcuda.so.1::{FOLDER}/libcuda.so",
    f"libGLX_nvidia.so.{VERSION}::{FOLDER}/libGLX_indirect.so.0",
    f"libnvidia-opticalflow.so.1::{FOLDER}/libnvidia-opticalflow.so",
    f"libcuda.so.{VERSION}::{FOLDER}/libcuda.so.1",
    f"libnvidia-ml.so.{VERSION}::{FOLDER}/libnvidia-ml.so.1",
    f"libnvidia-ml.so.1::{FOLDER}/libnvidia-ml.so",
    f"libnvidia-allocator.so.{VERSION}::{FOLDER}/libnvidia-allocator.so.1",
    f"libGLX_nvidia.so.{VERSION}::{FOLDER}/libGLX_nvidia.so.1",
    f"libnvidia-opticalflow.so.{VERSION}::{FOLDER}/libnvidia-opticalflow.so.1",
    f"libvdpau_nvidia.so.{VERSION}::{FOLDER}/vdpau/libvdpau_nvidia.so.1",
    f"libnvidia-egl-gbm.so.1.1.1::{FOLDER}/libnvidia-egl-gbm.so.1",
]


def test_links(tree: DriverTree) -> None:
    generated = tree.generate()
    assert sorted(links(generated.spec.edits)) == sorted(LINKS)
    assert links(edits_of(generated, "0")) == [
        "../card0::/dev/dri/by-path/pci-0000:1b:00.0-card",
        "../renderD128::/dev/dri/by-path/pci-0000:1b:00.0-render",
    ]
    assert edits_of(generated, "1:0").hooks == ()


def test_all_has_one_hook_for_the_links_of_all_gpus(tree: DriverTree) -> None:
    generated = tree.generate()
    assert len(edits_of(generated, "all").hooks) == 1
    assert links(edits_of(generated, "all")) == [
        *links(edits_of(generated, "0")),
        *links(edits_of(generated, "2")),
    ]
    separate = tree.generate(hooks=HookRequest(form=SEPARATE))
    assert len(edits_of(separate, "all").hooks) == 2


def test_separate_hooks_are_those_of_nvidia_ctk(tree: DriverTree) -> None:
    hooks = tree.generate(hooks=HookRequest(form=SEPARATE, ldconfig_path="/sbin/ldconfig.real")).spec.edits.hooks
    assert {(hook.name, hook.path, hook.env) for hook in hooks} == {
        ("createContainer", "/usr/bin/nvidia-cdi-hook", ("NVIDIA_CTK_DEBUG=false",))
    }
    assert [hook.args[:2] for hook in hooks] == [
        ("nvidia-cdi-hook", name)
        for name in (
            *("create-symlinks", "create-symlinks", "enable-cuda-compat", "update-ldcache"),
            *("disable-device-node-modification", "update-application-profile"),
        )
    ]
    assert hooks[2].args[2:] == (f"--host-driver-version={VERSION}",)
    folders = ("--folder", FOLDER, "--folder", f"{FOLDER}/vdpau")
    assert hooks[3].args[2:] == ("--ldconfig-path", "/sbin/ldconfig.real", *folders)


def test_one_hook_does_the_work_of_all(tree: DriverTree) -> None:
    (hook,) = tree.generate().spec.edits.hooks
    assert hook.path == hook.args[0] == "/usr/bin/python3.11"
    assert hook.args[1:5] == ("-I", "-S", "/usr/lib/python3/dist-packages/ctk/inject/hook_main.py", "apply")
    assert hook.args[-8:] == (
        *("--host-driver-version", VERSION, "--folder", FOLDER, "--folder", f"{FOLDER}/vdpau"),
        *("--disable-device-node-modification", "--update-application-profile"),
    )


def test_the_same_driver_below_a_driver_root_differs_in_the_hosts_paths_only(tmp_path: Path) -> None:
    """Links by PCI address keep their place in the container, and so do mounts and nodes."""
    plain = make_host(tmp_path / "plain").generate().spec
    below = make_host(tmp_path / "below", "/run/nvidia/driver").generate().spec
    assert {mount.host_path for mount in below.edits.mounts} == {
        f"/run/nvidia/driver{mount.host_path}" for mount in plain.edits.mounts
    }
    assert [mount.container_path for mount in below.edits.mounts] == [
        mount.container_path for mount in plain.edits.mounts
    ]
    assert below.edits.hooks == plain.edits.hooks
    assert [device.edits.hooks for device in below.devices] == [device.edits.hooks for device in plain.devices]
    for before, after in zip(plain.devices, below.devices, strict=True):
        assert [node.path for node in after.edits.device_nodes] == [node.path for node in before.edits.device_nodes]
        assert all(node.host_path == f"/run/nvidia/driver{node.path}" for node in after.edits.device_nodes)


CASES = Path(__file__).parents[2] / "cases" / "cdi"
REQUESTS: dict[str, dict[str, Any]] = {
    "three-gpus": {},
    "separate-hooks": {"hooks": HookRequest(form=SEPARATE), "name_strategies": ("type-index",)},
    "compute-utility": {"capabilities": ("compute", "utility"), "device_ids": ("0",)},
    "older-engine": {"max_version": "0.4.0", "device_ids": ("0", "1:1")},
}


@pytest.mark.parametrize("driver_root", ["/", "/run/nvidia/driver"])
@pytest.mark.parametrize("case", REQUESTS)
def test_whole_file(tmp_path: Path, case: str, driver_root: str, assert_golden: GoldenCheck) -> None:
    spec = make_host(tmp_path / "host", driver_root).generate(**REQUESTS[case]).spec
    name = "spec.yaml" if driver_root == "/" else "below-a-driver-root.yaml"
    assert_golden(CASES / case / name, render_yaml(spec))


def test_two_runs_are_the_same(tree: DriverTree) -> None:
    assert tree.generate() == tree.generate()


def test_users_are_told_what_differs() -> None:
    rows = [line.split("|")[1].strip() for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    assert tuple(rows[1:]) == DIFFERENT
