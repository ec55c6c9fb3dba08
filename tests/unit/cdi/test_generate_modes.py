"""The other modes: what each describes, under a kind of its own, and what it says when there is nothing of the sort."""

import shutil
from pathlib import Path

import pytest

from ctk.cdi.generate import Generated, LeftOut
from ctk.errors import CtkError, NotApplicable
from ctk.facts.cdi_spec import SpecEdits
from tests.driver_tree import FOLDER, VERSION, X86_64, DriverTree, make_library, make_plain_driver

CSV = "/etc/nvidia-container-runtime/host-files-for-container.d"
TEGRA = "/usr/lib/aarch64-linux-gnu/tegra"


@pytest.fixture
def tree(tmp_path: Path) -> DriverTree:
    return DriverTree(tmp_path / "host")


def edits_of(generated: Generated, name: str) -> SpecEdits:
    return next(device.edits for device in generated.spec.devices if device.name == name)


def paths(generated: Generated, name: str = "all") -> list[str]:
    return [node.path for node in edits_of(generated, name).device_nodes]


def mounts(generated: Generated) -> list[str]:
    return [mount.container_path for mount in generated.spec.edits.mounts]


@pytest.mark.parametrize(
    ("mode", "nodes", "kind", "expected"),
    [
        ("gds", ("nvidia-fs0", "nvidia-fs1"), "nvidia.com/gds", ["/dev/nvidia-fs0", "/dev/nvidia-fs1"]),
        (
            "mofed",
            ("infiniband/uverbs0", "infiniband/rdma_cm", "infiniband/umad0"),
            "nvidia.com/mofed",
            ["/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"],
        ),
        (
            "nvswitch",
            ("nvidia-nvswitchctl", "nvidia-nvswitch0", "nvidia0"),
            "nvidia.com/nvswitch",
            ["/dev/nvidia-nvswitch0", "/dev/nvidia-nvswitchctl"],
        ),
        ("gdrcopy", ("gdrdrv",), "nvidia.com/gdrcopy", ["/dev/gdrdrv"]),
    ],
)
def test_nodes_of_a_mode_under_its_own_class(
    tree: DriverTree, mode: str, nodes: tuple[str, ...], kind: str, expected: list[str]
) -> None:
    for number, name in enumerate(nodes):
        tree.node(name, 200, number)
    generated = tree.generate(mode=mode)
    assert generated.spec.kind == kind
    assert paths(generated) == expected
    assert generated.spec.edits.env == ("NVIDIA_VISIBLE_DEVICES=void",)
    assert tree.generate(mode=mode, class_name="gpu").spec.kind == "nvidia.com/gpu"


@pytest.mark.parametrize("mode", ["gds", "mofed", "nvswitch", "gdrcopy", "imex", "management", "wsl", "csv"])
def test_nothing_of_the_sort_is_not_applicable(tree: DriverTree, mode: str) -> None:
    with pytest.raises(NotApplicable, match="there is nothing to describe") as raised:
        tree.generate(mode=mode)
    assert raised.value.exit_code == 4


def test_gds_brings_the_two_files_that_its_library_reads(tree: DriverTree) -> None:
    tree.node("nvidia-fs0", 200, 0)
    tree.put("/etc/cufile.json", "{}")
    tree.put("/run/udev/control")
    mounted = edits_of(tree.generate(mode="gds"), "all").mounts
    assert [mount.container_path for mount in mounted] == ["/etc/cufile.json", "/run/udev"]


def test_imex_channels_by_number(tree: DriverTree) -> None:
    for channel in (0, 2, 10):
        tree.node(f"nvidia-caps-imex-channels/channel{channel}", 234, channel)
    generated = tree.generate(mode="imex")
    assert generated.spec.kind == "nvidia.com/imex-channel"
    assert {device.name for device in generated.spec.devices} == {"0", "2", "10", "all"}
    chosen = tree.generate(mode="imex", device_ids=("channel2", "10"), no_all_device=True)
    assert [device.name for device in chosen.spec.devices] == ["10", "2"]
    assert paths(chosen, "10") == ["/dev/nvidia-caps-imex-channels/channel10"]


@pytest.mark.parametrize(
    ("word", "message"),
    [("7", "channel7 does not exist"), ("1048576", "neither a number below"), ("x", "neither a number below")],
)
def test_imex_channel_that_is_none(tree: DriverTree, word: str, message: str) -> None:
    tree.node("nvidia-caps-imex-channels/channel0", 234, 0)
    with pytest.raises(CtkError, match=message):
        tree.generate(mode="imex", device_ids=(word,))


def test_management_has_every_node_but_those_of_other_modes(tmp_path: Path) -> None:
    tree = make_plain_driver(DriverTree(tmp_path / "host"))
    for name in ("nvidia-fs0", "nvidia-nvswitchctl", "nvidia-nvlink", "nvidia-caps/nvidia-cap1"):
        tree.node(name, 200, 1)
    tree.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}\n")
    generated = tree.generate(mode="management")
    assert generated.spec.kind == "management.nvidia.com/gpu"
    assert paths(generated) == [
        *("/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidiactl"),
        "/dev/nvidia-caps/nvidia-cap1",
    ]
    (hook,) = generated.spec.edits.hooks
    assert "--disable-device-node-modification" not in hook.args
    assert f"{FOLDER}/libcuda.so.{VERSION}" in mounts(generated)


def make_jetson(tree: DriverTree) -> DriverTree:
    tree.put("/etc/nv_tegra_release", "# R36")
    tree.put("/proc/device-tree/compatible", "nvidia,p3737-0000+p3701-0000\0nvidia,tegra234\0")
    tree.put(f"{CSV}/devices.csv", "dev, /dev/nvhost-gpu\ndev, /dev/nvmap\ndev, /dev/gone\n")
    lines = [
        f"lib, {TEGRA}/libcuda.so.1.1",
        f"sym, {TEGRA}/libcuda.so",
        "dir, /usr/share/firmware",
        f"lib, {TEGRA}/libnv*.so",
        "nonsense",
        "",
    ]
    tree.put(f"{CSV}/drivers.csv", "\n".join(lines))
    tree.put(f"{TEGRA}/libcuda.so.1.1")
    tree.link(f"{TEGRA}/libcuda.so.1", "libcuda.so.1.1")
    tree.link(f"{TEGRA}/libcuda.so", "libcuda.so.1")
    tree.put(f"{TEGRA}/libnvos.so")
    tree.put("/usr/share/firmware/a.bin")
    tree.node("nvhost-gpu", 505, 0)
    tree.node("nvmap", 10, 61, gid=44, mode="0660")
    return tree


def test_jetson_is_described_by_its_mount_specification(tree: DriverTree) -> None:
    generated = make_jetson(tree).generate(query={"csv_folder": CSV})
    assert (generated.mode, generated.spec.kind) == ("csv", "nvidia.com/gpu")
    assert [device.name for device in generated.spec.devices] == ["0", "all"]
    assert paths(generated, "0") == ["/dev/nvhost-gpu", "/dev/nvmap"]
    assert edits_of(generated, "0").additional_gids == (44,)
    assert set(mounts(generated)) == {
        *("/etc/nv_tegra_release", "/usr/share/firmware", f"{TEGRA}/libcuda.so.1.1", f"{TEGRA}/libnvos.so")
    }
    (hook,) = generated.spec.edits.hooks
    assert hook.args[5:] == (
        *("--link", f"libcuda.so.1::{TEGRA}/libcuda.so", "--link", f"libcuda.so.1.1::{TEGRA}/libcuda.so.1"),
        *("--folder", TEGRA),
    )


def test_jetsons_missing_paths_and_bad_lines_are_told(tree: DriverTree) -> None:
    left_out = make_jetson(tree).generate(query={"csv_folder": CSV}).left_out
    assert LeftOut("file", "/dev/gone", f"no device node (named in {CSV}/devices.csv)") in left_out
    assert LeftOut("file", f"{CSV}/drivers.csv:5", "there is no comma: nonsense") in left_out


def test_links_of_a_specification_can_be_left_out(tree: DriverTree) -> None:
    make_jetson(tree).put(f"{CSV}/l4t.csv", "sym, /etc/a.conf\nsym, /etc/b.conf\n")
    for name in "ab":
        tree.put(f"/opt/{name}.conf")
        tree.link(f"/etc/{name}.conf", f"/opt/{name}.conf")
    generated = tree.generate(query={"csv_folder": CSV, "csv_ignored": ("**/a.conf", "/etc/c*")})
    assert [path for path in mounts(generated) if path.endswith(".conf")] == ["/opt/b.conf"]
    (hook,) = generated.spec.edits.hooks
    assert [word for word in hook.args if ".conf" in word] == ["/opt/b.conf::/etc/b.conf"]


def test_jetsons_libraries_have_the_links_of_their_soname(tree: DriverTree) -> None:
    make_jetson(tree).put(f"{TEGRA}/libnvos.so.1.2", make_library("libnvos.so.1"))
    tree.put(f"{CSV}/l4t.csv", f"lib, {TEGRA}/libnvos.so.1.2\n")
    tree.link(f"{TEGRA}/libnvos.so.1", "libnvos.so.1.2")
    (hook,) = tree.generate(query={"csv_folder": CSV}).spec.edits.hooks
    assert f"libnvos.so.1.2::{TEGRA}/libnvos.so.1" in hook.args


def test_jetsons_gpu_with_nvml(tree: DriverTree) -> None:
    """NVML names a GPU of the processor: the specification describes it, and the CUDA version tells the hook."""
    make_jetson(tree).gpu(0, 0, "0000:00:00.0", name="Orin (nvgpu)")
    generated = tree.generate(query={"csv_folder": CSV})
    assert [device.name for device in generated.spec.devices] == ["0", "GPU-0", "all"]
    (hook,) = generated.spec.edits.hooks
    compat = ("--host-cuda-version", "12.4", "--cuda-compat-container-root", "/usr/local/cuda/compat_orin")
    assert hook.args[9:13] == compat
    separate = make_jetson_hooks(tree)
    assert separate[1][1:] == (
        *("enable-cuda-compat", "--host-cuda-version=12.4"),
        "--cuda-compat-container-root=/usr/local/cuda/compat_orin",
    )


def make_jetson_hooks(tree: DriverTree) -> list[tuple[str, ...]]:
    from ctk.cdi.request import HookRequest

    generated = tree.generate(query={"csv_folder": CSV}, hooks=HookRequest("separate"))
    return [hook.args for hook in generated.spec.edits.hooks]


def test_second_gpu_of_a_jetson_is_told(tree: DriverTree) -> None:
    make_jetson(tree).gpu(0, 0, "0000:00:00.0", name="NVIDIA Thor")
    tree.gpu(1, 1, "0000:01:00.0")
    generated = tree.generate(query={"csv_folder": CSV})
    assert [row.name for row in generated.left_out if row.what == "device"] == ["1"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"device_ids": ("1",)}, "a Jetson has the device 0 only"),
        ({"name_strategies": ("uuid",)}, "a Jetson's GPU has no UUID"),
    ],
)
def test_what_a_jetson_cannot_do(tree: DriverTree, request_: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(CtkError, match=message):
        make_jetson(tree).generate({"csv_folder": CSV}, **request_)


def test_jetson_without_nodes_or_without_a_specification_is_an_error(tree: DriverTree) -> None:
    make_jetson(tree).rows.clear()
    with pytest.raises(CtkError, match="none of the nodes in"):
        tree.generate(query={"csv_folder": CSV})
    with pytest.raises(CtkError, match="there is no mount specification"):
        tree.generate(query={"csv_folder": "/nowhere"})
    with pytest.raises(CtkError, match=r"/my\.csv: no such file"):
        tree.generate(mode="csv", query={"csv_files": ("/my.csv",)})


STORE = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1"


def make_wsl(tree: DriverTree) -> DriverTree:
    tree.node("dxg", 10, 126)
    tree.put("/usr/lib/wsl/lib/libdxcore.so")
    tree.put("/usr/lib/wsl/drivers/iigd_dch.inf_amd64_0/igd.dll")
    for name in ("libcuda.so.1.1", "libnvidia-ml.so.1", "nvcubins.bin", "nvidia-smi", "readme.txt", "nvoptix.dll"):
        tree.put(f"{STORE}/{name}")
    return tree


def test_f77_wsl_uses_the_store_with_nvidias_files(tree: DriverTree) -> None:
    """Two stores, the integrated GPU's first; libdxcore.so only in WSL's own folder, and not in the cache."""
    generated = make_wsl(tree).generate()
    assert (generated.mode, generated.spec.kind) == ("wsl", "nvidia.com/gpu")
    assert paths(generated) == ["/dev/dxg"]
    assert mounts(generated) == [
        "/usr/lib/wsl/lib/libdxcore.so",
        *(f"{STORE}/{name}" for name in ("libcuda.so.1.1", "libnvidia-ml.so.1", "nvcubins.bin", "nvidia-smi")),
        f"{STORE}/nvoptix.dll",
    ]
    (hook,) = generated.spec.edits.hooks
    assert hook.args[5:] == (
        *("--link", f"{STORE}/nvidia-smi::/usr/bin/nvidia-smi"),
        *("--folder", STORE, "--folder", "/usr/lib/wsl/lib"),
    )
    (row,) = generated.left_out
    assert row == LeftOut("folder", "/usr/lib/wsl/drivers/iigd_dch.inf_amd64_0", "it holds no libcuda.so.1.1")


def test_f77_library_of_wsl_by_the_cache_alone_or_not_at_all(tree: DriverTree) -> None:
    place = make_wsl(tree).folder / "usr/lib/wsl/lib/libdxcore.so"
    place.rename(tree.put("/opt/wsl/libdxcore.so"))
    with pytest.raises(CtkError, match=r"libdxcore\.so is neither in /usr/lib/wsl/lib nor in the loader's cache"):
        tree.generate()
    tree.cache = [("libdxcore.so", "/opt/wsl/libdxcore.so", X86_64)]
    assert "/opt/wsl/libdxcore.so" in mounts(tree.generate())


def test_wsl_without_nvidias_driver_in_windows(tree: DriverTree) -> None:
    shutil.rmtree(make_wsl(tree).folder / STORE.lstrip("/"))
    with pytest.raises(NotApplicable, match="Windows has no NVIDIA driver"):
        tree.generate()


def test_wsl_without_a_store_is_an_error(tree: DriverTree) -> None:
    make_wsl(tree)
    (tree.folder / STORE.lstrip("/") / "libcuda.so.1.1").unlink()
    with pytest.raises(CtkError, match=r"no folder holds libcuda\.so\.1\.1") as raised:
        tree.generate()
    assert raised.value.exit_code == 3
