"""A host of the tests has what its tree cannot hold, and lacks what it says it lacks."""

import stat
from pathlib import Path

import pytest

from tests.fake_host import FakeHost, build_host, snapshot_of


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/secret").write_text("x")
    (tmp_path / "dev/char").mkdir(parents=True)
    (tmp_path / "dev/char/195:0").symlink_to("../nvidia0")
    rows = {
        "device": [{"path": "/dev/nvidia0", "major": 195, "minor": 0, "gid": 44, "mode": "0660"}],
        "file": [{"path": "/etc/secret", "mode": "4711", "uid": 7}],
        "command": [
            {"argv": ["dkms", "status"], "stdout": "none\n"},
            {"argv": ["slow"], "reason": "no answer within 5 s"},
        ],
        "denied": [{"path": "/root"}],
    }
    return FakeHost(str(tmp_path), rows)


def test_device_nodes_are_there_also_through_links(host: FakeHost) -> None:
    for path in ("/dev/nvidia0", "/dev/char/195:0"):
        found = host.stat(path)
        assert stat.S_ISCHR(found.st_mode)
        assert (found.st_rdev, found.st_gid, stat.S_IMODE(found.st_mode)) == (0xC300, 44, 0o660)
        assert host.exists(path)
    assert not host.is_file("/dev/nvidia0")
    assert host.list_directory("/dev") == ("char", "nvidia0")
    assert host.glob("/dev/nvidia*") == ("/dev/nvidia0",)


def test_modes_and_owners(host: FakeHost) -> None:
    found = host.stat("/etc/secret")
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_size) == (0o4711, 7, 1)


def test_programs_answer_and_others_are_not_run(host: FakeHost) -> None:
    assert (host.run(("dkms", "status")).stdout, host.run(("dkms", "status")).returncode) == ("none\n", 0)
    assert host.run(("slow",)).returncode is None
    assert host.run(("other",)).reason == "not run: --root"


def test_what_is_denied_is_not_absent(host: FakeHost) -> None:
    for path in ("/root", "/root/.docker/config.json"):
        with pytest.raises(PermissionError):
            host.exists(path)
    assert not host.exists("/rooted")


def test_a_host_is_its_base_without_what_it_removes(tmp_path: Path) -> None:
    host, rows = build_host("nouveau-bound", tmp_path / "host")
    assert host.read_text("/etc/hostname") == "gpu-node-1\n"
    assert not host.exists("/proc/driver/nvidia/version")
    assert not host.exists("/dev/nvidia0")
    assert "nouveau" in host.read_text("/proc/modules")
    assert rows["device"] == []


def test_nvml_answers_from_the_rows(tmp_path: Path) -> None:
    snapshot = snapshot_of("healthy-one-gpu", tmp_path / "host")
    assert getattr(snapshot.nvml, "driver_version", None) == "580.95.05"
