"""What a request changes in a spec: capabilities, hooks, feature flags, older versions; unknown words are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctk.cdi.document import render_json, render_yaml
from ctk.cdi.generate import Generated
from ctk.cdi.request import FEATURE_FLAGS, HOOKS, HookRequest
from ctk.errors import CtkError, UsageFault
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
