"""A recorded host is discovered like the one it was recorded from, and holds none of its secrets."""

import importlib.util
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.facts.snapshot import Snapshot
from ctk.host.collect import collect
from ctk.host.local import LocalHost
from tests.fake_host import FakeHost
from tests.ld_caches import make_ld_cache
from tests.unit.host.trees import Link, plant

CHECKOUT = Path(__file__).resolve().parents[3]
HOSTS = CHECKOUT / "tests" / "hosts"
RECORDED = [folder for folder in HOSTS.iterdir() if (folder / "rootfs").is_dir()]
NAMES = sorted(folder.name for folder in RECORDED if not (folder / "host.toml").is_file())  # those are more than a tree


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record_host", CHECKOUT / "scripts" / "record_host.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def look_at(root: Path) -> Snapshot:
    snapshot = collect(LocalHost(str(root), environment={}))
    engines = (
        snapshot.engines if isinstance(snapshot.engines, Unknown) else tuple(map(_without_times, snapshot.engines))
    )
    return replace(snapshot, taken_at="", host_name=None, engines=engines)


def _without_times(engine: EngineInstallation) -> EngineInstallation:
    if isinstance(engine.files, Unknown):
        return engine
    return engine._replace(files=engine.files._replace(changed_at=None, changed_path=None, runtime_changed_at=None))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_recorded_host_is_discovered_alike(script: ModuleType, tmp_path: Path, name: str) -> None:
    script.record(str(HOSTS / name / "rootfs"), tmp_path / "rootfs")
    assert look_at(tmp_path / "rootfs") == look_at(HOSTS / name / "rootfs")


def test_only_what_discovery_looks_at_is_recorded(script: ModuleType, tmp_path: Path) -> None:
    plant(tmp_path / "root", {"/etc/os-release": "ID=x\n", "/etc/shadow": "root:x\n", "/home/a/.ssh/id": "key"})
    script.record(str(tmp_path / "root"), tmp_path / "rootfs")
    files = {str(path.relative_to(tmp_path / "rootfs")) for path in (tmp_path / "rootfs").rglob("*") if path.is_file()}
    assert files == {"etc/os-release"}


def test_links_on_the_way_are_recorded(script: ModuleType, tmp_path: Path) -> None:
    files = {
        "/etc/os-release": Link("../data/1/release"),
        "/data/1": Link("/data/two"),
        "/data/two/release": "ID=x\n",
        "/etc/hostname": Link("hostname"),
    }
    plant(tmp_path / "root", files)
    script.record(str(tmp_path / "root"), tmp_path / "rootfs")
    assert look_at(tmp_path / "rootfs").system.distribution == "x"
    assert (tmp_path / "rootfs/data/1").is_symlink()
    assert not isinstance(look_at(tmp_path / "rootfs").system.distribution, Unknown)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"auth": "abc", "x": 1}', '{"auth": "***", "x": 1}'),
        ("K3S_TOKEN=abc\nA=b\n", "K3S_TOKEN=***\nA=b\n"),
        ("password = 'a b'\n", "password = '***'\n"),
        ("--log-opt splunk-token=abc --x", "--log-opt splunk-token=*** --x"),
        ("https://me:word@mirror/x", "https://***@mirror/x"),
        ("authentication:\n  anonymous: true\n", "authentication:\n  anonymous: true\n"),
        ("at box-1 and box-12 and /box-1/", "at recorded-host and box-12 and /recorded-host/"),
    ],
)
def test_secrets_are_masked(script: ModuleType, text: str, masked: str) -> None:
    assert script.mask(text.encode(), b"box-1").decode() == masked


def test_existing_host_is_not_overwritten(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["bare", "A sentence."]) == 3
    assert "cannot record bare" in capsys.readouterr().err


MOUNTS = """\
1 0 0:5 / /dev rw,nosuid - devtmpfs udev rw
2 0 0:6 / /home/secret rw - nfs server:/x rw
"""


@pytest.mark.real
def test_nodes_and_the_loaders_cache_become_rows(script: ModuleType, tmp_path: Path) -> None:
    folder = "/usr/lib/x86_64-linux-gnu"
    files = {
        f"{folder}/libcuda.so.580.95.05": "",
        f"{folder}/libcuda.so.1": Link("libcuda.so.580.95.05"),
        "/dev/char/195:0": Link("../nvidia0"),
        "/proc/1/mountinfo": MOUNTS,
        "/etc/hostname": "gpu-7\n",
    }
    plant(tmp_path / "root", files)
    (tmp_path / "root/etc/ld.so.cache").write_bytes(make_ld_cache(("libcuda.so.1", f"{folder}/libcuda.so.1", 0x303)))
    os.mknod(tmp_path / "root/dev/nvidia0", stat.S_IFCHR | 0o600, os.makedev(195, 0))
    os.chown(tmp_path / "root/dev/nvidia0", 0, 44)
    rows = tomllib.loads(script.write_rows(script.record(str(tmp_path / "root"), tmp_path / "rootfs")))
    assert rows["device"] == [
        {"path": "/dev/nvidia0", "type": "char", "major": 195, "minor": 0, "mode": "0600", "uid": 0, "gid": 44}
    ]
    assert rows["ld_cache"] == [{"name": "libcuda.so.1", "path": f"{folder}/libcuda.so.1", "bits": 64}]
    assert not (tmp_path / "rootfs/etc/ld.so.cache").exists()
    assert (tmp_path / "rootfs/proc/1/mountinfo").read_text().count("\n") == 1
    assert (tmp_path / "rootfs/dev/char/195:0").readlink() == Path("../nvidia0")
    again = collect(FakeHost(str(tmp_path / "rootfs"), rows)).device_nodes
    assert again == collect(LocalHost(str(tmp_path / "root"), environment={})).device_nodes


def test_host_without_nodes_and_cache_has_no_rows(script: ModuleType, tmp_path: Path) -> None:
    plant(tmp_path / "root", {"/etc/os-release": "ID=x\n"})
    assert script.write_rows(script.record(str(tmp_path / "root"), tmp_path / "rootfs")) == ""
