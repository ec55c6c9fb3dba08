"""What lies below /dev is told as it is: nodes, links, folders in a node's place, and how /dev is mounted."""

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ctk.facts import Unknown
from ctk.facts.device_nodes import CharLink, DeviceNode, DevMount, LinkRule, OpenAttempt
from ctk.host import LocalHost
from ctk.host.device_nodes import CHANNEL_LIMIT, collect_device_nodes, collect_nodes, parse_dev_mount
from ctk.host.device_open import main as open_node
from ctk.host.device_probe import collect_attempts
from tests.conftest import AsNobody
from tests.fake_host import FakeHost
from tests.unit.host.trees import Link, plant

MOUNTS = """\
25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
26 25 0:5 / /dev rw,nosuid shared:2 - devtmpfs udev rw,size=32G,mode=755
27 26 0:23 / /dev/pts rw,nosuid,noexec shared:3 - devpts devpts rw,gid=5
28 25 0:24 / /run/nvidia/driver/dev rw,nodev shared:4 - tmpfs tmpfs rw
"""


def node(path: str, major: int, minor: int, **changes: object) -> dict[str, object]:
    return {"path": path, "major": major, "minor": minor, **changes}


def fake(tmp_path: Path, *nodes: dict[str, object], files: Mapping[str, str] | None = None, **rows: Any) -> FakeHost:
    plant(tmp_path, {"/dev/.keep": "", **(files or {})})
    return FakeHost(str(tmp_path), {"device": nodes, **rows})


def test_nodes_with_numbers_and_rights(tmp_path: Path) -> None:
    host = fake(tmp_path, node("/dev/nvidia0", 195, 0, mode="0660", gid=44), node("/dev/nvme0", 240, 0))
    assert collect_nodes(host) == (DeviceNode("/dev/nvidia0", "char", 195, 0, 0o660, 0, 44),)


def test_folders_of_capabilities_and_channels_are_looked_into(tmp_path: Path) -> None:
    channels = [node(f"/dev/nvidia-caps-imex-channels/channel{n}", 511, n) for n in range(2 * CHANNEL_LIMIT)]
    host = fake(tmp_path, node("/dev/nvidia-caps/nvidia-cap12", 235, 12, mode="0444"), *channels)
    found = collect_device_nodes(host)
    assert [item.minor for item in found.below("/dev/nvidia-caps")] == [12]
    assert [item.minor for item in found.below("/dev/nvidia-caps-imex-channels")] == list(range(CHANNEL_LIMIT))
    assert found.find("/dev/nvidia-caps") == DeviceNode("/dev/nvidia-caps", "directory", mode=0o755, uid=0, gid=0)


def test_what_stands_in_a_nodes_place(tmp_path: Path) -> None:
    host = fake(tmp_path, files={"/dev/nvidia0/.keep": "", "/dev/nvidiactl": "", "/dev/nvidia-uvm": Link("/dev/gone")})
    found = collect_nodes(host)
    assert isinstance(found, tuple)
    assert [(item.path, item.kind, item.target) for item in found] == [
        ("/dev/nvidia-uvm", "link", "/dev/gone"),
        ("/dev/nvidia0", "directory", None),
        ("/dev/nvidiactl", "file", None),
    ]


def test_drm_nodes_with_their_function(tmp_path: Path) -> None:
    files = {
        "/sys/class/drm/card1/device": Link("../../../0000:3b:00.0"),
        "/dev/dri/by-path/pci-0000:3b:00.0-card": Link("../card1"),
        "/dev/dri/by-path/platform-vgem-card": Link("../card2"),
    }
    host = fake(tmp_path, node("/dev/dri/card1", 226, 1), node("/dev/dri/card2", 226, 2), files=files)
    found = collect_nodes(host)
    assert isinstance(found, tuple)
    assert [(item.path, item.minor, item.target, item.address) for item in found] == [
        ("/dev/dri/card1", 1, None, "0000:3b:00.0"),
        ("/dev/dri/card2", 2, None, None),
        ("/dev/dri/by-path/pci-0000:3b:00.0-card", 1, "../card1", "0000:3b:00.0"),
        ("/dev/dri/by-path/platform-vgem-card", 2, "../card2", None),
    ]


def test_links_of_the_nodes_majors(tmp_path: Path) -> None:
    files = {
        "/dev/char/195:0": Link("../nvidia0"),
        "/dev/char/195:7": Link("../nvidia7"),
        "/dev/char/508:0": Link("../nvidia-uvm"),
        "/dev/char/1:3": Link("../null"),
    }
    found = collect_device_nodes(fake(tmp_path, node("/dev/nvidia-uvm", 508, 0), files=files))
    assert found.links == (
        CharLink("/dev/char/195:0", "../nvidia0"),
        CharLink("/dev/char/195:7", "../nvidia7"),
        CharLink("/dev/char/508:0", "../nvidia-uvm"),
    )


def test_host_without_links_and_without_dev(tmp_path: Path) -> None:
    assert collect_device_nodes(fake(tmp_path)).links is None
    found = collect_device_nodes(plant(tmp_path / "empty", {"/etc/hostname": "x\n"}))
    assert (found.nodes, found.links, found.mount) == (Unknown("no /dev"), None, Unknown("no /proc/1/mountinfo"))


def test_folder_that_may_not_be_listed(tmp_path: Path) -> None:
    host = fake(tmp_path, node("/dev/nvidia-caps/nvidia-cap1", 235, 1), denied=[{"path": "/dev"}])
    assert collect_nodes(host) == Unknown("permission denied")
    assert collect_device_nodes(host).links == Unknown("permission denied")


def test_folder_of_capabilities_that_may_not_be_listed(tmp_path: Path) -> None:
    plant(tmp_path, {"/dev/.keep": ""})
    host = Closed(str(tmp_path), {"device": [node("/dev/nvidia-caps/nvidia-cap1", 235, 1)]})
    found = collect_device_nodes(host).find("/dev/nvidia-caps")
    assert found is not None
    assert (found.kind, found.unreadable) == ("directory", "permission denied")


class Closed(FakeHost):
    """A folder of capability nodes that only its owner may list."""

    def list_directory(self, path: str) -> tuple[str, ...]:
        if path == "/dev/nvidia-caps":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return super().list_directory(path)


def test_rules_that_make_the_links(tmp_path: Path) -> None:
    files = {
        "/lib/udev/rules.d/71-nvidia-dev-char.rules": 'RUN+="/usr/bin/nvidia-ctk system create-dev-char-symlinks"\n',
        "/lib/udev/rules.d/71-nvidia.rules": 'RUN+="/usr/bin/nvidia-modprobe"\n',
    }
    assert collect_device_nodes(fake(tmp_path, files=files)).rules == (
        LinkRule("/lib/udev/rules.d/71-nvidia-dev-char.rules", True),
        LinkRule("/lib/udev/rules.d/71-nvidia.rules", False),
    )


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/dev", DevMount("/dev", "devtmpfs", ("rw", "nosuid", "size=32G", "mode=755"), "x")),
        ("/run/nvidia/driver/dev", DevMount("/run/nvidia/driver/dev", "tmpfs", ("rw", "nodev"), "x")),
        ("/run", DevMount("/", "ext4", ("rw", "relatime"), "x")),
    ],
)
def test_mount_that_a_folder_is_in(path: str, mount: DevMount) -> None:
    assert parse_dev_mount(MOUNTS + "garbage\n\n", path, "x") == mount


def test_mounts_that_say_nothing() -> None:
    assert parse_dev_mount("", "/dev", "x") is None


def test_other_dev_root(tmp_path: Path) -> None:
    host = fake(
        tmp_path,
        node("/run/nvidia/driver/dev/nvidia0", 195, 0),
        files={"/run/nvidia/driver/dev/char/195:0": Link("../nvidia0"), "/proc/1/mountinfo": MOUNTS},
    )
    found = collect_device_nodes(host, "/run/nvidia/driver")
    assert found.nodes == (DeviceNode("/dev/nvidia0", "char", 195, 0, 0o666, 0, 0),)
    assert found.links == (CharLink("/dev/char/195:0", "../nvidia0"),)
    assert isinstance(found.mount, DevMount)
    assert found.mount.options == ("rw", "nodev")


@pytest.mark.parametrize(
    ("places", "root"),
    [
        (("/run/nvidia/driver/dev/nvidiactl",), "/run/nvidia/driver"),
        (("/run/nvidia/driver/dev/nvidiactl", "/dev/nvidiactl"), ""),
        ((), ""),
    ],
)
def test_dev_root_is_where_the_control_node_is(tmp_path: Path, places: tuple[str, ...], root: str) -> None:
    assert collect_device_nodes(fake(tmp_path, *(node(path, 195, 255) for path in places))).root == root


@pytest.mark.real
def test_real_nodes(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    os.mknod(tmp_path / "dev/nvidia0", stat.S_IFCHR | 0o600, os.makedev(195, 0))
    os.chmod(tmp_path / "dev/nvidia0", 0o660)
    os.symlink("nvidia0", tmp_path / "dev/nvidia1")
    found = collect_nodes(LocalHost(str(tmp_path)))
    assert found == (
        DeviceNode("/dev/nvidia0", "char", 195, 0, 0o660, 0, 0),
        DeviceNode("/dev/nvidia1", "char", 195, 0, 0o660, 0, 0, target="nvidia0"),
    )


def test_rights_are_those_of_the_caller(tmp_path: Path, as_nobody: AsNobody) -> None:
    (tmp_path / "node").write_text("")
    (tmp_path / "node").chmod(0o640)
    assert LocalHost("/").may_use(str(tmp_path / "node")) is True
    assert as_nobody(LocalHost("/").may_use, str(tmp_path / "node")) is False
    assert LocalHost(str(tmp_path)).may_use("/node") is None


def test_attempt_is_not_made_below_another_root(tmp_path: Path) -> None:
    assert collect_attempts(plant(tmp_path, {})) == Unknown("not opened: --root")
    assert collect_device_nodes(plant(tmp_path, {}), probe=True).attempts == Unknown("not opened: --root")
    assert collect_device_nodes(plant(tmp_path, {})).attempts is None


@pytest.mark.parametrize(("path", "code"), [("/dev/null", 0), ("/dev/ctk-has-no-such-node", errno.ENOENT)])
def test_child_tells_the_errno(tmp_path: Path, path: str, code: int) -> None:
    with open(tmp_path / "told", "wb") as file:
        open_node(path, file.fileno())
    assert f'"code": {code}' in (tmp_path / "told").read_text()


@pytest.mark.real
def test_attempt_on_this_machine() -> None:
    found = collect_attempts(LocalHost("/"))
    assert isinstance(found, tuple)
    there = Path("/dev/nvidiactl").exists()
    assert (found[0].path, found[0].code in (0, errno.ENXIO, errno.EPERM, errno.EACCES, errno.EIO)) == (
        "/dev/nvidiactl",
        there,
    )
    if not there:
        assert found == (OpenAttempt("/dev/nvidiactl", errno.ENOENT, os.strerror(errno.ENOENT)),)
