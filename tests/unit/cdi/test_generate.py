"""Which devices a spec has, under which names, with which nodes; what is left out is told, and nothing is guessed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctk.cdi.document import render_json, render_yaml
from ctk.cdi.generate import Generated, LeftOut
from ctk.cdi.request import FEATURE_FLAGS, HOOKS, HookRequest
from ctk.cdi.version import minimum_version
from ctk.errors import CtkError, NotApplicable, UsageFault
from ctk.facts import Unknown
from ctk.facts.cdi_spec import CdiSpec, SpecEdits
from tests.driver_tree import FOLDER, VERSION, DriverTree, make_plain_driver
from tests.driver_tree import HOOKS as OWN_HOOKS


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


@pytest.mark.parametrize(
    ("capabilities", "kept", "gone"),
    [
        (
            ("compute", "utility"),
            {f"{FOLDER}/libcuda.so.{VERSION}", "/usr/bin/nvidia-smi", "/usr/bin/nvidia-cuda-mps-server"},
            {f"{FOLDER}/libnvidia-glcore.so.{VERSION}", "/etc/vulkan/icd.d/nvidia_icd.json"},
        ),
        (("utility",), {f"{FOLDER}/libnvidia-ml.so.{VERSION}"}, {f"{FOLDER}/libcuda.so.{VERSION}"}),
        (
            ("graphics",),
            {f"{FOLDER}/libnvidia-glcore.so.{VERSION}", "/etc/vulkan/icd.d/nvidia_icd.json"},
            {"/usr/bin/nvidia-smi", f"{FOLDER}/libnvidia-ml.so.{VERSION}"},
        ),
        (("all",), {"/usr/bin/nvidia-smi", "/etc/vulkan/icd.d/nvidia_icd.json"}, set()),
    ],
)
def test_capabilities_restrict_files(
    tree: DriverTree, capabilities: tuple[str, ...], kept: set[str], gone: set[str]
) -> None:
    for name in ("usr/bin/nvidia-smi", "usr/bin/nvidia-cuda-mps-server", "etc/vulkan/icd.d/nvidia_icd.json"):
        tree.put(f"/{name}")
    generated = tree.generate(capabilities=capabilities)
    mounted = {mount.container_path for mount in generated.spec.edits.mounts}
    assert kept <= mounted
    assert not gone & mounted
    assert gone <= {row.name for row in generated.left_out}


def test_capabilities_restrict_nodes_and_hooks(tree: DriverTree) -> None:
    generated = tree.generate(capabilities=("utility",))
    assert [node.path for node in generated.spec.edits.device_nodes] == ["/dev/nvidiactl"]
    assert paths(generated, "0") == ["/dev/nvidia0"]
    (hook,) = generated.spec.edits.hooks
    assert "--update-application-profile" not in hook.args
    assert "--host-driver-version" not in hook.args
    assert "--disable-device-node-modification" in hook.args


@pytest.mark.parametrize("name", [name for name in HOOKS if name != "chmod"])
def test_f82_hook_can_be_left_out_by_name(tree: DriverTree, name: str) -> None:
    marks = {
        "create-symlinks": "--link",
        "enable-cuda-compat": "--host-driver-version",
        "update-ldcache": "--folder",
    }
    (full,) = tree.generate().spec.edits.hooks
    (hook,) = tree.generate(hooks=OWN_HOOKS._replace(disabled=(name,))).spec.edits.hooks
    assert marks.get(name, f"--{name}") in full.args
    assert marks.get(name, f"--{name}") not in hook.args
    both = OWN_HOOKS._replace(disabled=("all",), enabled=(name,))
    assert marks.get(name, f"--{name}") in tree.generate(hooks=both).spec.edits.hooks[0].args


def test_all_hooks_can_be_left_out(tree: DriverTree) -> None:
    spec = tree.generate(hooks=OWN_HOOKS._replace(disabled=("all",))).spec
    assert [hook for edits in spec.all_edits for hook in edits.hooks] == []


def test_chmod_is_only_asked_for_folders_that_are_there(tree: DriverTree) -> None:
    generated = tree.generate(hooks=HookRequest("separate", enabled=("chmod",)))
    words = ["nvidia-cdi-hook", "chmod", "--mode", "755", "--path"]
    assert [hook.args for hook in edits_of(generated.spec, "0").hooks][-1] == (*words, "/dev/dri")
    assert [hook.args for hook in edits_of(generated.spec, "1:0").hooks] == [(*words, "/dev/nvidia-caps")]
    assert edits_of(generated.spec, "2").hooks == ()


def test_f81_hook_program_of_another_name(tree: DriverTree) -> None:
    hooks = tree.generate(hooks=HookRequest("separate", program="/opt/bin/nvidia-ctk")).spec.edits.hooks
    assert {hook.args[:2] for hook in hooks} == {("nvidia-ctk", "hook")}
    assert {hook.path for hook in hooks} == {"/opt/bin/nvidia-ctk"}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"hooks": HookRequest(disabled=("ldcache",))}, "--disable-hook: there is no hook 'ldcache'"),
        ({"hooks": HookRequest(enabled=("x",))}, "--enable-hook: there is no hook 'x'"),
        ({"hooks": HookRequest(enabled=("all",))}, "--enable-hook takes no 'all'"),
        ({"feature_flags": ("turbo",)}, "--feature-flag: there is no feature flag 'turbo'"),
        ({"name_strategies": ("name",)}, "--device-name-strategy: there is no naming strategy 'name'"),
        ({"capabilities": ("cuda",)}, "--capabilities: there is no capability 'cuda'"),
        ({"max_version": "0.2.0"}, "--max-cdi-version: there is no CDI version '0.2.0'"),
        ({"class_name": "-gpu"}, "--class: '-gpu' is no name"),
        ({"class_name": "x"}, "--class: 'x' is no name"),
        ({"vendor": "nvidia com"}, "--vendor: 'nvidia com' is no name"),
    ],
)
def test_words_that_are_not_known_are_refused_with_those_that_are(
    tree: DriverTree, request_: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageFault) as raised:
        tree.generate(**request_)
    assert words in raised.value.message
    assert raised.value.hint.endswith("Nothing was changed.")


def test_every_feature_flag_is_taken(tree: DriverTree) -> None:
    assert names(tree.generate(feature_flags=FEATURE_FLAGS)) == names(tree.generate())


def test_sockets_can_be_left_out(tree: DriverTree) -> None:
    tree.put("/run/nvidia-persistenced/socket")
    tree.put("/tmp/nvidia-mps/control")
    sockets = {"/run/nvidia-persistenced/socket", "/tmp/nvidia-mps"}
    assert sockets <= {mount.container_path for mount in tree.generate().spec.edits.mounts}
    without = tree.generate(feature_flags=("disable-ipc-discoverer",)).spec.edits.mounts
    assert not sockets & {mount.container_path for mount in without}


def test_coherent_and_other_gpus_get_a_spec_each(tree: DriverTree) -> None:
    tree.gpus[2]["addressing_mode"] = {"fact": "addressing_mode", "value": 2}
    generated = tree.generate(feature_flags=("enable-coherent-annotations",), name_strategies=("index",))
    assert [(word, spec.kind, [device.name for device in spec.devices]) for word, spec in generated.others] == [
        ("coherent", "nvidia.com/gpu.coherent", ["2", "all"]),
        ("noncoherent", "nvidia.com/gpu.noncoherent", ["0", "all"]),
    ]
    assert {spec.version for _, spec in generated.others} <= {"0.6.0", "0.7.0"}
    assert tree.generate().others == ()
    older = tree.generate(feature_flags=("enable-coherent-annotations",), max_version="0.5.0")
    assert older.others == ()
    assert "specs by coherence" in [row.name for row in older.left_out]


@pytest.mark.parametrize(
    ("most", "expected", "told"),
    [
        ("1.1.0", "0.7.0", []),
        ("0.7.0", "0.7.0", []),
        ("0.6.0", "0.5.0", ["group"]),
        ("0.5.0", "0.5.0", ["group"]),
        ("0.4.0", "0.3.0", ["group", "field", "name"]),
        ("0.3.0", "0.3.0", ["group", "field", "name"]),
    ],
)
def test_older_engine_gets_what_it_can_read(tmp_path: Path, most: str, expected: str, told: list[str]) -> None:
    tree = make_plain_driver(DriverTree(tmp_path / "host", "/run/nvidia/driver"))
    tree.gpu(1, 1, "0000:2b:00.0", drm=1)
    generated = tree.generate(max_version=most)
    assert generated.spec.version == expected
    assert [row.what for row in generated.left_out if row.what != "file"] == told


def test_older_engine_finds_the_node_by_its_number(tmp_path: Path) -> None:
    tree = make_plain_driver(DriverTree(tmp_path / "host", "/run/nvidia/driver"))
    spec = tree.generate(max_version="0.4.0").spec
    (node,) = edits_of(spec, "gpu0").device_nodes
    assert (node.host_path, node.type, node.major, node.minor) == (None, "c", 195, 0)


def test_dotted_class_cannot_be_told_to_an_older_engine(tree: DriverTree) -> None:
    with pytest.raises(CtkError, match=r"'gpu\.big' with a dot needs 0\.6\.0"):
        tree.generate(class_name="gpu.big", max_version="0.5.0")


@pytest.mark.parametrize("render", [render_yaml, render_json])
def test_two_runs_give_the_same_bytes(tree: DriverTree, render: Callable[[CdiSpec], str]) -> None:
    first = render(tree.generate().spec)
    tree.rows.reverse()
    assert render(tree.generate().spec) == first
