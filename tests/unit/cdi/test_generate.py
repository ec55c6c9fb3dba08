"""Which devices a spec has, under which names, with which nodes; what is left out is told, and nothing is guessed."""

from pathlib import Path

import pytest

from ctk.cdi.generate import Generated, LeftOut
from ctk.cdi.version import minimum_version
from ctk.errors import CtkError, NotApplicable
from ctk.facts import Unknown
from ctk.facts.cdi_spec import CdiSpec, SpecEdits
from tests.driver_tree import VERSION, DriverTree, make_plain_driver


@pytest.fixture
def tree(tmp_path: Path) -> DriverTree:
    """Three GPUs, the second in MIG mode; DRM nodes of the first."""
    host = make_plain_driver(DriverTree(tmp_path / "host"))
    host.rows.pop()
    host.gpu(0, 0, "0000:1b:00.0", drm=0)
    host.gpu(1, 3, "0000:2b:00.0")
    host.mig(1, (0, 1, 0), (2, 2, 0))
    host.gpu(2, 2, "0000:3b:00.0")
    return host


def names(generated: Generated) -> list[str]:
    return [device.name for device in generated.spec.devices]


def edits_of(spec: CdiSpec, name: str) -> SpecEdits:
    return next(device.edits for device in spec.devices if device.name == name)


def paths(generated: Generated, name: str) -> list[str]:
    return [node.path for node in edits_of(generated.spec, name).device_nodes]


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        (("index",), ["0", "1:0", "1:2", "2", "all"]),
        (("type-index",), ["all", "gpu0", "gpu2", "mig1:0", "mig1:2"]),
        (("uuid",), ["GPU-0", "GPU-2", "MIG-1-0", "MIG-1-2", "all"]),
        (("index", "type-index", "index"), ["0", "1:0", "1:2", "2", "all", "gpu0", "gpu2", "mig1:0", "mig1:2"]),
    ],
)
def test_names(tree: DriverTree, strategies: tuple[str, ...], expected: list[str]) -> None:
    assert names(tree.generate(name_strategies=strategies)) == expected


def test_uuid_of_an_old_driver_is_no_name_that_cdi_allows(tree: DriverTree) -> None:
    slots = tree.gpus[1]["mig_slots"]["value"]
    assert isinstance(slots, list)
    slots[0]["uuid"] = "MIG-GPU-1/1/0"
    generated = tree.generate()
    assert {"1:0", "1:2", "MIG-1-2"} <= set(names(generated))
    assert LeftOut("name", "1:0", "no name by UUID: CDI allows no 'MIG-GPU-1/1/0'") in generated.left_out


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("2", "0"), ["0", "2", "all"]),
        (("1:2",), ["1:2", "all"]),
        (("1",), ["1", "all"]),
        (("gpu-2", "MIG-1-0"), ["1:0", "2", "all"]),
        (("0", "all"), ["0", "1:0", "1:2", "2", "all"]),
        (("0", "0", "GPU-0"), ["0", "all"]),
    ],
)
def test_chosen_devices(tree: DriverTree, ids: tuple[str, ...], expected: list[str]) -> None:
    assert names(tree.generate(device_ids=ids, name_strategies=("index",))) == expected


def test_gpu_in_mig_mode_asked_by_its_index_is_the_whole_gpu(tree: DriverTree) -> None:
    assert paths(tree.generate(device_ids=("1",)), "1") == ["/dev/nvidia3"]


def test_device_none_has_no_gpu_and_there_is_no_all(tree: DriverTree) -> None:
    generated = tree.generate(device_ids=("none", "0"))
    assert names(generated) == ["none"]
    assert edits_of(generated.spec, "none") == SpecEdits(env=("NVCT_EMPTY_DEVICE=",))
    assert generated.spec.edits.mounts
    assert "all" in [row.name for row in generated.left_out]


def test_unknown_id_names_those_that_are_here(tree: DriverTree) -> None:
    with pytest.raises(CtkError, match="'7': this host has none of that id") as raised:
        tree.generate(device_ids=("0", "7"))
    assert "0, 1, 1:0, 1:2, 2;" in raised.value.hint


def test_all_unites_the_devices_and_may_be_left_out(tree: DriverTree) -> None:
    generated = tree.generate(name_strategies=("index",))
    united = {path for name in ("0", "1:0", "1:2", "2") for path in paths(generated, name)}
    assert set(paths(generated, "all")) == united
    assert "all" not in names(tree.generate(no_all_device=True))


def test_missing_node_of_one_gpu_leaves_that_gpu_out_and_names_it(tree: DriverTree) -> None:
    tree.rows = [row for row in tree.rows if row["path"] != "/dev/nvidia2"]
    generated = tree.generate(name_strategies=("index",))
    assert names(generated) == ["0", "1:0", "1:2", "all"]
    assert LeftOut("device", "2", "/dev/nvidia2 does not exist") in generated.left_out


def test_missing_capability_node_leaves_the_mig_device_out(tree: DriverTree) -> None:
    tree.rows = [row for row in tree.rows if not row["path"].endswith("nvidia-cap23")]
    generated = tree.generate(name_strategies=("index",))
    assert names(generated) == ["0", "1:0", "2", "all"]
    assert LeftOut("device", "1:2", "/dev/nvidia-caps/nvidia-cap23 does not exist") in generated.left_out


def test_device_asked_by_name_is_not_left_out_silently(tree: DriverTree) -> None:
    tree.rows = [row for row in tree.rows if row["path"] != "/dev/nvidia2"]
    with pytest.raises(CtkError, match="cannot describe device 2: /dev/nvidia2 does not exist"):
        tree.generate(device_ids=("0", "2"))


def test_all_nodes_missing_is_an_error_that_names_them(tree: DriverTree) -> None:
    tree.rows = []
    with pytest.raises(CtkError, match="0: /dev/nvidia0 does not exist; 1:0: /dev/nvidia3") as raised:
        tree.generate()
    assert raised.value.exit_code == 3
    assert "nvidia-modprobe" in raised.value.hint


def test_file_in_a_nodes_place_is_no_node(tree: DriverTree) -> None:
    tree.rows = [row for row in tree.rows if row["path"] != "/dev/nvidia2"]
    tree.put("/dev/nvidia2", "not a node")
    assert LeftOut("device", "2", "/dev/nvidia2 is no device node") in tree.generate().left_out


def test_lost_gpu_is_left_out_in_the_librarys_words(tree: DriverTree) -> None:
    tree.gpus[2] = {"handle": {"fact": "handle", "code": 15, "text": "GPU is lost"}}
    assert LeftOut("device", "2", "GPU is lost (NVML 15)") in tree.generate().left_out


def test_mig_mode_without_a_mig_device_is_an_error(tmp_path: Path) -> None:
    tree = make_plain_driver(DriverTree(tmp_path / "host"))
    tree.mig(0)
    with pytest.raises(CtkError, match="every GPU is in MIG mode and has no MIG device"):
        tree.generate()


def test_what_this_driver_does_not_have_is_told(tree: DriverTree) -> None:
    tree.put("/usr/bin/nvidia-smi")
    rows = {row.name: row.reason for row in tree.generate().left_out}
    assert rows["nvidia-imex"] == rows["/run/nvidia-persistenced/socket"] == "not found below /"
    assert rows["1"] == "it is in MIG mode: containers get its MIG devices"
    assert "nvidia-smi" not in rows


def test_gpu_for_a_screen_is_not_described(tree: DriverTree) -> None:
    tree.gpu(3, 7, "0000:4b:00.0", name="NVIDIA DGX Display")
    assert "3" not in names(tree.generate())


def test_drm_nodes_of_a_mig_device_only_with_the_graphics_attribute(tree: DriverTree) -> None:
    tree.rows = [row for row in tree.rows if row["path"] != "/dev/nvidia3"]
    tree.gpu(1, 3, "0000:2b:00.0", drm=3)
    tree.mig(1, (0, 1, 0))
    assert "/dev/dri/card3" not in paths(tree.generate(), "1:0")
    tree.mig(1, (0, 1, 0), profile="1g.5gb+gfx")
    assert "/dev/dri/card3" in paths(tree.generate(), "1:0")


def test_missing_drm_node_and_its_link_are_left_out(tree: DriverTree) -> None:
    tree.rows = [row for row in tree.rows if row["path"] != "/dev/dri/card0"]
    generated = tree.generate()
    assert paths(generated, "0") == ["/dev/nvidia0", "/dev/dri/renderD128"]
    (hook,) = edits_of(generated.spec, "0").hooks
    assert [word for word in hook.args if "::" in word] == ["../renderD128::/dev/dri/by-path/pci-0000:1b:00.0-render"]
    assert LeftOut("node", "/dev/dri/card0", "/dev/dri/card0 does not exist") in generated.left_out


def test_f83_group_of_a_node(tree: DriverTree) -> None:
    """0660 root:video: the node has its group, and the container's user gets it. root's nodes show no change."""
    for row in tree.rows:
        if row["path"] == "/dev/nvidia2":
            row.update(mode="0660", gid=44)
    generated = tree.generate()
    (node,) = edits_of(generated.spec, "2").device_nodes
    assert (node.gid, node.file_mode, node.uid) == (44, 0o660, None)
    assert edits_of(generated.spec, "2").additional_gids == (44,)
    assert edits_of(generated.spec, "1:0").additional_gids == ()
    assert edits_of(generated.spec, "1:0").device_nodes[0].gid is None
    plain = tree.generate(feature_flags=("no-additional-gids-for-device-nodes",))
    assert edits_of(plain.spec, "2").additional_gids == ()
    assert plain.spec.version == "0.5.0"


def test_f83_node_open_to_everybody_needs_no_group(tree: DriverTree) -> None:
    for row in tree.rows:
        row.update(mode="0666", gid=44)
    assert edits_of(tree.generate().spec, "2").additional_gids == ()


def test_f72_version_is_the_lowest_that_the_content_needs(tree: DriverTree) -> None:
    for request in ({}, {"name_strategies": ("uuid",)}, {"class_name": "gpu.big"}, {"device_ids": ("2",)}):
        spec = tree.generate(**request).spec
        assert spec.version == minimum_version(spec._replace(version=""))


def test_f79_driver_that_is_not_loaded(tmp_path: Path) -> None:
    tree = DriverTree(tmp_path / "host")
    tree.put("/proc/modules", "ext4 1 1 - Live 0x0\n")
    tree.library("libcuda")
    with pytest.raises(NotApplicable, match="the NVIDIA driver is not loaded") as raised:
        tree.generate()
    assert raised.value.exit_code == 4


def test_driver_without_a_gpu(tmp_path: Path) -> None:
    tree = DriverTree(tmp_path / "host")
    tree.put("/proc/modules", "nvidia 1 1 - Live 0x0\n")
    with pytest.raises(NotApplicable, match="finds no GPU"):
        tree.generate()


def make_proc_host(tree: DriverTree) -> DriverTree:
    """No NVML: two GPUs below /proc, the second excluded, a third in MIG mode."""
    tree.gpus = {}
    tree.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Release\n")
    for number, (address, more) in enumerate(
        (("0000:1b:00.0", "GPU UUID: \t GPU-a\n"), ("0000:2b:00.0", "GPU Excluded:\t Yes\n"), ("0000:3b:00.0", ""))
    ):
        place = f"/proc/driver/nvidia/gpus/{address}/information"
        tree.put(place, f"Model: \t\t NVIDIA A100\nDevice Minor: \t {number}\n{more}")
    tree.put("/proc/driver/nvidia/capabilities/gpu2/mig/gi1/access", "DeviceFileMinor: 12\n")
    tree.put("/proc/driver/nvidia/capabilities/gpu2/mig/gi1/ci0/access", "DeviceFileMinor: 13\n")
    for minor in (12, 13):
        tree.node(f"nvidia-caps/nvidia-cap{minor}", 235, minor)
    return tree


def test_gpus_and_mig_devices_from_the_drivers_folders(tmp_path: Path) -> None:
    tree = make_proc_host(make_plain_driver(DriverTree(tmp_path / "host")))
    tree.node("nvidia2", 195, 2)
    generated = tree.generate()
    assert (generated.source, generated.driver_version) == ("proc", VERSION)
    assert names(generated) == ["0", "1:0", "GPU-a", "all"]
    assert paths(generated, "1:0") == ["/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"]
    assert [row.what for row in generated.left_out if row.name in ("MIG devices", "1:0")] == ["order", "name"]


def test_mode_nvml_insists_on_nvml(tmp_path: Path) -> None:
    tree = make_proc_host(make_plain_driver(DriverTree(tmp_path / "host")))
    with pytest.raises(CtkError, match=r"as --mode nvml asks: there is no libnvidia-ml\.so\.1"):
        tree.generate(mode="nvml")


def test_gpus_that_may_not_be_looked_at_are_an_error(tree: DriverTree) -> None:
    from ctk.cdi.generate import GenerateRequest, generate

    facts = tree.facts()._replace(gpus=Unknown("permission denied"))
    with pytest.raises(CtkError, match="cannot tell which GPUs there are: permission denied"):
        generate(facts, GenerateRequest())
