"""`ctk cdi generate`: the file is whole, of mode 0644 and of the right format, or what was there before stays."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctk.cli.cdi_hook_program import why_untrusted
from ctk.host import LocalHost
from tests.conftest import AsNobody
from tests.driver_tree import VERSION, DriverTree
from tests.test_json_contract import assert_valid
from tests.unit.cli.scene import HostFolder

pytestmark = pytest.mark.real  # nodes are made with mknod

OUTPUT = "/etc/cdi/nvidia.yaml"
OLD = "an older spec\n"
HOOK_WARNING = "not below --root"


@pytest.fixture
def tree(host: HostFolder) -> DriverTree:
    """Two GPUs by the driver's own folders, since there is no library to ask."""
    made = DriverTree(host.folder)
    made.library("libcuda")
    made.control_nodes()
    made.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Release\n")
    for number, address in enumerate(("0000:1b:00.0", "0000:2b:00.0")):
        text = f"Model: NVIDIA A100\nGPU UUID: GPU-{number}\nDevice Minor: {number}\n"
        made.put(f"/proc/driver/nvidia/gpus/{address}/information", text)
        made.node(f"nvidia{number}", 195, number)
    made.make_nodes()
    return made


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_spec_goes_to_stdout_and_nothing_is_written(host: HostFolder, tree: DriverTree) -> None:
    before = host.everything()
    answer = host.ctk("cdi", "generate")
    assert answer.code == 0
    assert not [line for line in answer.err.splitlines() if HOOK_WARNING not in line]
    spec = yaml.safe_load(answer.out)
    assert (spec["cdiVersion"], spec["kind"]) == ("0.5.0", "nvidia.com/gpu")
    assert [device["name"] for device in spec["devices"]] == ["0", "1", "GPU-0", "GPU-1", "all"]
    assert host.everything() == before
    assert json.loads(host.ctk("cdi", "generate", "--format=json").out) == spec
    assert yaml.safe_load(host.ctk("cdi", "generate", "--format", "YAML").out) == spec


def test_hook_is_ctks_own_script_under_a_real_interpreter(host: HostFolder, tree: DriverTree) -> None:
    (hook,) = yaml.safe_load(host.ctk("cdi", "generate").out)["containerEdits"]["hooks"]
    assert hook["path"] == hook["args"][0] == os.path.realpath(sys.executable)
    assert hook["args"][1:3] == ["-I", "-S"]
    assert hook["args"][3].endswith("/ctk/inject/hook_main.py")
    assert hook["env"] == ["NVIDIA_CTK_DEBUG=false"]


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_file_and_folders_can_be_read_by_everybody_under_any_umask(
    host: HostFolder, tree: DriverTree, umask: int
) -> None:
    old = os.umask(umask)
    try:
        answer = host.ctk("cdi", "generate", f"--output={OUTPUT}")
    finally:
        os.umask(old)
    path = host.path(OUTPUT)
    assert answer.code == 0
    assert answer.out == f"{path}: written, nvidia.com/gpu with 5 device names (CDI 0.5.0).\n"
    assert [place.stat().st_mode & 0o777 for place in (path, path.parent)] == [0o644, 0o755]
    assert [entry.name for entry in path.parent.iterdir()] == ["nvidia.yaml"]


def test_second_run_changes_nothing_and_a_wrong_mode_is_mended(host: HostFolder, tree: DriverTree) -> None:
    host.ctk("cdi", "generate", f"--output={OUTPUT}")
    before = host.everything()
    assert "says so already" in host.ctk("cdi", "generate", f"--output={OUTPUT}").out
    assert host.everything() == before
    host.path(OUTPUT).chmod(0o600)
    assert "written" in host.ctk("cdi", "generate", f"--output={OUTPUT}").out
    assert host.path(OUTPUT).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("name", "options", "is_json"),
    [
        ("x.yaml", (), False),
        ("x.yml", (), False),
        ("x.json", (), True),
        ("x.JSON", (), True),
        ("noext", (), False),
        ("q.yaml", ("--format=json",), True),
        ("q.json", ("--format=yaml",), False),
    ],
)
def test_file_has_the_name_that_was_given_and_the_format_that_was_asked_for(
    host: HostFolder, tree: DriverTree, name: str, options: tuple[str, ...], is_json: bool
) -> None:
    assert host.ctk("cdi", "generate", f"--output=/out/{name}", *options).code == 0
    assert os.listdir(host.path("/out")) == [name]
    text = host.path(f"/out/{name}").read_text()
    assert text.startswith("{" if is_json else "---\n")
    assert yaml.safe_load(text)["kind"] == "nvidia.com/gpu"


def test_name_that_no_engine_reads_is_a_warning(host: HostFolder, tree: DriverTree) -> None:
    warnings = host.ctk("cdi", "generate", "--output=/etc/cdi/nvidia.yml").warnings()
    assert f"warning: engines read files that end with .yaml or .json only, not {host.path('/etc/cdi/nvidia.yml')}" in (
        warnings
    )


def test_second_file_with_the_same_devices_is_a_warning(host: HostFolder, tree: DriverTree) -> None:
    """Of another kind, or in another folder, it is none."""
    host.ctk("cdi", "generate", "--output=/etc/cdi/old.yaml", "--device-id=1")
    text = f"{host.path('/etc/cdi/old.yaml')} defines nvidia.com/gpu=1 and 2 more too"
    assert text in host.ctk("cdi", "generate", f"--output={OUTPUT}").err
    host.put("/etc/cdi/broken.json", "nvidia.com/gpu")
    for words in ((f"--output={OUTPUT}", "--class=other"), ("--output=/var/run/cdi/nvidia.yaml",)):
        assert "too, so engines take" not in host.ctk("cdi", "generate", *words).err


def test_link_is_followed_inside_the_root(host: HostFolder, tree: DriverTree) -> None:
    host.put("/srv/real.yaml", OLD)
    host.path("/etc/cdi").mkdir(parents=True)
    host.path(OUTPUT).symlink_to("/srv/real.yaml")
    assert host.ctk("cdi", "generate", f"--output={OUTPUT}").code == 0
    assert host.path(OUTPUT).is_symlink()
    assert load(host.path("/srv/real.yaml"))["kind"] == "nvidia.com/gpu"


def test_variables_stand_for_options(host: HostFolder, tree: DriverTree, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "NVIDIA_CTK_CDI_OUTPUT_FILE_PATH": OUTPUT,
        "NVIDIA_CTK_CDI_GENERATE_OUTPUT_FORMAT": "json",
        "NVIDIA_CTK_CDI_GENERATE_DEVICE_NAME_STRATEGIES": "type-index,uuid",
        "NVIDIA_CTK_CDI_GENERATE_DEVICE_IDS": "0,1",
        "NVIDIA_CTK_CDI_GENERATE_DISABLED_HOOKS": "all",
        "NVIDIA_CTK_CDI_GENERATE_NO_ALL_DEVICE": "true",
        "NVIDIA_CTK_CDI_GENERATE_CLASS": "vgpu",
    }.items():
        monkeypatch.setenv(name, value)
    assert host.ctk("cdi", "generate").code == 0
    spec = json.loads(host.path(OUTPUT).read_text())
    assert spec["kind"] == "nvidia.com/vgpu"
    assert [device["name"] for device in spec["devices"]] == ["GPU-0", "GPU-1", "gpu0", "gpu1"]
    assert "hooks" not in spec["containerEdits"]


def test_options_of_nvidia_ctk_in_its_spellings(host: HostFolder, tree: DriverTree) -> None:
    words = (
        *("-discovery-mode=AUTO", "--cdi-vendor", "example.com", "--cdi-class=xy", "--devices=1,0", "--device", "0"),
        *("--nvidia-ctk-path=/opt/nvidia-ctk", "--disable-hooks=enable-cuda-compat", "--no-all-device=true"),
        *("--feature-flags=disable-nvsandboxutils", "--ldconfig-path=@/sbin/ldconfig.real", "--dev-root=/"),
    )
    answer = host.ctk("cdi", "generate", *words)
    spec = yaml.safe_load(answer.out)
    assert spec["kind"] == "example.com/xy"
    assert [device["name"] for device in spec["devices"]] == ["0", "1", "GPU-0", "GPU-1"]
    hooks = spec["containerEdits"]["hooks"]
    assert {hook["path"] for hook in hooks} == {"/opt/nvidia-ctk"}
    assert ["nvidia-ctk", "hook", "update-ldcache", "--ldconfig-path", "/sbin/ldconfig.real"] in [
        hook["args"][:5] for hook in hooks
    ]


@pytest.mark.parametrize(
    ("installed", "option", "expected", "warned"),
    [
        (("nvidia-cdi-hook", "nvidia-ctk"), "--hooks=separate", "/usr/bin/nvidia-cdi-hook", False),
        (("nvidia-ctk",), "--hooks=separate", "/usr/bin/nvidia-ctk", False),
        (("nvidia-cdi-hook",), "--nvidia-ctk-path=nvidia-ctk", "/usr/bin/nvidia-ctk", True),
        ((), "--hooks=separate", "/usr/bin/nvidia-cdi-hook", True),
        ((), "--nvidia-cdi-hook-path=/opt/hook", "/opt/hook", False),
    ],
)
def test_f81_hook_program_is_the_one_that_is_installed(
    host: HostFolder, tree: DriverTree, installed: tuple[str, ...], option: str, expected: str, warned: bool
) -> None:
    for name in installed:
        host.program(f"/usr/bin/{name}")
    answer = host.ctk("cdi", "generate", option)
    hooks = yaml.safe_load(answer.out)["containerEdits"]["hooks"]
    assert {hook["path"] for hook in hooks} == {expected}
    assert ("was not found on this host" in answer.err) == warned


def test_driver_root_comes_from_the_toolkits_file_unless_it_is_named(host: HostFolder, tree: DriverTree) -> None:
    host.put("/etc/nvidia-container-runtime/config.toml", '[nvidia-container-cli]\nroot = "/run/nvidia/driver"\n')
    answer = host.ctk("cdi", "generate")
    assert (answer.code, answer.errors()[0]) == (
        3,
        "error: cannot use /run/nvidia/driver as the driver root: it does not exist, though a driver is loaded",
    )
    assert host.ctk("cdi", "generate", "--driver-root=/").code == 0
    below = DriverTree(host.folder, "/run/nvidia/driver")
    below.library("libcuda")
    spec = yaml.safe_load(host.ctk("cdi", "generate", "--dev-root=/").out)
    (mount,) = spec["containerEdits"]["mounts"]
    assert mount["hostPath"] == f"/run/nvidia/driver{mount['containerPath']}"


def test_f79_driver_root_that_is_not_there_yet_is_no_failure(host: HostFolder) -> None:
    answer = host.ctk("cdi", "generate", "--driver-root=/run/nvidia/driver", f"--output={OUTPUT}")
    assert (answer.code, answer.out) == (4, "")
    assert len(answer.err.splitlines()) == 1


def test_broken_toolkit_file_is_an_error(host: HostFolder, tree: DriverTree) -> None:
    host.put("/etc/nvidia-container-runtime/config.toml", "root = \n")
    answer = host.ctk("cdi", "generate")
    assert answer.code == 3
    assert "config.toml" in answer.errors()[0]


def test_f79_without_a_driver_the_old_spec_stays(host: HostFolder) -> None:
    host.put(OUTPUT, OLD)
    host.put("/proc/modules", "ext4 1 1 - Live 0x0\n")
    answer = host.ctk("cdi", "generate", f"--output={OUTPUT}")
    assert (answer.code, answer.out) == (4, "")
    assert len(answer.err.splitlines()) == 1
    assert host.path(OUTPUT).read_text() == OLD


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--mode=nvml",), 3),
        (("--device-id=7",), 3),
        (("--mode=gds",), 4),
        (("--mode=bogus",), 2),
        (("--disable-hook=bogus",), 2),
        (("--feature-flag=bogus",), 2),
        (("--driver-root=driver",), 2),
        (("--driver-root=/nowhere",), 3),
        (("extra",), 2),
    ],
)
def test_failure_writes_nothing_and_says_one_error(
    host: HostFolder, tree: DriverTree, words: tuple[str, ...], code: int
) -> None:
    host.put(OUTPUT, OLD)
    before = host.everything()
    answer = host.ctk("cdi", "generate", f"--output={OUTPUT}", *words)
    assert (answer.code, len(answer.errors()), answer.out) == (code, 1, "")
    assert host.everything() == before


@pytest.mark.parametrize("output", ["/etc/cdi/circle/nvidia.yaml", "/etc/hostname/nvidia.yaml"])
@pytest.mark.parametrize("command", ["generate", "refresh"])
def test_place_that_can_hold_no_file_is_told(host: HostFolder, tree: DriverTree, command: str, output: str) -> None:
    host.put("/etc/hostname", "node1\n")
    host.path("/etc/cdi").mkdir()
    host.path("/etc/cdi/circle").symlink_to("circle")
    answer = host.ctk("cdi", command, f"--output={output}")
    assert (answer.code, len(answer.errors())) == (3, 1)
    assert str(host.path(output)) in answer.errors()[0]
    assert "a bug in ctk" not in answer.err


def test_snapshot_and_two_formats_are_usage_errors(host: HostFolder, tree: DriverTree) -> None:
    assert host.ctk("cdi", "generate", "--snapshot=x.json").code == 2
    assert host.ctk("cdi", "generate", "--json", "--format=json").code == 2
    assert host.ctk("cdi", "generate", "--json", "--format=json", "--output=/a.txt").code == 0


def test_json_holds_the_spec_or_the_file_and_what_was_left_out(host: HostFolder, tree: DriverTree) -> None:
    host.path("/dev/nvidia1").unlink()
    answer = host.ctk("cdi", "generate", "--json")
    document = answer.json()
    assert_valid(document)
    data = document["data"]
    assert data["spec"] == yaml.safe_load(host.ctk("cdi", "generate").out)
    assert {"what": "device", "name": "1", "reason": "/dev/nvidia1 does not exist"} in data["left_out"]
    assert (data["mode"], data["source"], data["driver_version"]) == ("nvml", "proc", VERSION)
    written = host.ctk("cdi", "generate", "--json", f"--output={OUTPUT}").json()
    assert_valid(written)
    assert (written["data"]["spec"], written["data"]["changed"]) == (None, True)
    assert written["data"]["output"] == str(host.path(OUTPUT))


def test_device_that_is_left_out_is_a_warning_and_the_rest_is_told_on_request(
    host: HostFolder, tree: DriverTree
) -> None:
    for name in ("nvidia1", "nvidia-uvm", "nvidia-modeset"):
        host.path(f"/dev/{name}").unlink()
    told = [line for line in host.ctk("cdi", "generate").err.splitlines() if HOOK_WARNING not in line]
    uvm = "not there, and CUDA does not start without it: nvidia-modprobe -u -c=0"
    assert told == [
        "warning: left out: device 1: /dev/nvidia1 does not exist",
        f"warning: left out: control node /dev/nvidia-uvm: {uvm}",
    ]
    assert "note: left out: node /dev/nvidia-modeset: not there" in host.ctk("cdi", "generate", "-v").err


def test_hook_that_others_can_change_is_a_warning(tmp_path: Path) -> None:
    """Who may write to ctk's own files becomes root when a container starts."""
    script = tmp_path / "hook_main.py"
    script.write_text("")
    assert why_untrusted(LocalHost("/"), (str(script),)) == ()
    script.chmod(0o666)
    (warning,) = why_untrusted(LocalHost("/"), (str(script), str(script)))
    assert f"{script} can be changed by others" in warning


def test_full_disk_leaves_the_old_file_whole(host: HostFolder, tree: DriverTree) -> None:
    host.put(OUTPUT, OLD)
    before = host.everything()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        answer = host.ctk("cdi", "generate", f"--output={OUTPUT}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert answer.code == 3
    assert answer.errors() == [f"error: cannot write {host.path(OUTPUT)}: file too large"]
    after = host.everything()
    assert {name: value[0] for name, value in after.items()} == {name: value[0] for name, value in before.items()}


def test_folder_that_may_not_be_written_leaves_the_old_file(
    host: HostFolder, tree: DriverTree, as_nobody: AsNobody
) -> None:
    host.put(OUTPUT, OLD)
    answer = as_nobody(host.ctk, "cdi", "generate", f"--output={OUTPUT}")
    assert answer.code == 3
    assert "permission denied" in answer.errors()[0]
    assert host.path(OUTPUT).read_text() == OLD


FULL = "mount -t tmpfs -o size=4k none {folder} && cp {old} {file}"
READ_ONLY = "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("mount", "words"), [(FULL, "no space left on device"), (READ_ONLY, "read-only file system")], ids=["full", "ro"]
)
def test_file_system_that_takes_nothing_keeps_the_old_file(
    host: HostFolder, tree: DriverTree, mount: str, words: str
) -> None:
    """In a mount namespace of its own: the folder of specs is a full disk, or a read-only one."""
    file, old = host.put(OUTPUT, OLD), host.put("/old.yaml", OLD)
    command = f"{sys.executable} -m ctk --root {host.folder} cdi generate --output={OUTPUT}"
    set_up = mount.format(folder=file.parent, file=file, old=old)
    script = f"{set_up}; {command}; echo exit $?; cat {file}; ls {file.parent}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert f"error: cannot write {file}: {words}" in done.stderr
    assert done.stdout.splitlines() == ["exit 3", OLD.strip(), "nvidia.yaml"]


@pytest.mark.long
def test_killed_at_any_time_the_file_is_the_old_or_the_new_one(host: HostFolder, tree: DriverTree) -> None:
    host.ctk("cdi", "generate", f"--output={OUTPUT}")
    new = host.path(OUTPUT).read_text()
    command = [sys.executable, "-m", "ctk", "--root", str(host.folder), "cdi", "generate", f"--output={OUTPUT}"]
    seen = set()
    for step in range(40):
        host.put(OUTPUT, OLD)
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.005 * step)
        child.kill()
        child.wait()
        seen.add(host.path(OUTPUT).read_text())
    assert seen <= {OLD, new}
    assert OLD in seen
