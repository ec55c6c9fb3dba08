"""What may not be looked at is unknown and never a fault: closed folders, no /sys, no root, a read-only system."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.checks.device_rows import DEVICE_CHECKS
from ctk.doctor.checks.driver_params import DRIVER_PARAMETER_CHECKS
from ctk.doctor.checks.library_rows import LIBRARY_CHECKS
from ctk.doctor.model import ERROR, FAIL, PASS, SKIP, UNKNOWN, WARN, Finding
from ctk.doctor.parts import parts_of
from ctk.doctor.report import judge
from ctk.doctor.run import run_checks
from ctk.facts.snapshot import Snapshot
from ctk.host import LocalHost
from ctk.host.collect import collect
from tests.conftest import AsNobody
from tests.fake_host import FakeHost, Rows, build_host, snapshot_of

CHECKOUT = Path(__file__).resolve().parents[3]
CHECKS = (*DEVICE_CHECKS, *LIBRARY_CHECKS, *DRIVER_PARAMETER_CHECKS)
OWN = tuple(check.id for check in CHECKS)
NODES = tuple(check.id for check in DEVICE_CHECKS)
NODE_LISTS = tuple(
    name for name in NODES if name not in ("device.dev-mount", "device.nvswitch-nodes", "device.imex-channels")
)


def findings_of(snapshot: Snapshot) -> dict[str, Finding]:
    """By id; of several subjects the last."""
    report = judge(snapshot, ALL_CHECKS, ALL_CHECKS)
    assert [item.outcome.message for item in report.findings if item.status == ERROR] == []
    return {item.check.id: item for item in report.findings}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeHost, Rows]:
    return build_host("healthy-one-gpu", tmp_path_factory.mktemp("hosts") / "host")


def look_at(host: FakeHost, rows: Rows) -> dict[str, Finding]:
    """What the checks of this file say of the host with these rows."""
    snapshot = collect(FakeHost(host.root, rows), None, parts=parts_of(CHECKS))
    return {item.check.id: item for item in run_checks(CHECKS, snapshot)}


@pytest.mark.parametrize(
    ("denied", "names"),
    [
        ("/dev", NODE_LISTS),
        ("/dev/nvidia0", ("device.gpu-nodes",)),
        ("/dev/nvidiactl", ("device.control-node",)),
        ("/dev/nvidia-uvm", ("device.uvm-nodes",)),
        ("/dev/char", ("device.char-symlinks",)),
        ("/proc/1", ("device.dev-mount",)),
        ("/proc/devices", ("device.major-current",)),
        ("/proc/driver/nvidia/params", ("device.permissions", "driver.params")),
        ("/proc/driver/nvidia/gpus", ("device.gpu-nodes",)),
        (
            "/etc/ld.so.cache",
            ("lib.ldcache", "lib.core", "lib.multiple-dirs", "lib.stubs-on-path", "lib.compat-on-host-path"),
        ),
        ("/etc/ld.so.conf", ("lib.stubs-on-path", "lib.compat-on-host-path")),
        ("/usr/lib/x86_64-linux-gnu", ("lib.core", "lib.symlink-chain", "lib.version-suffix")),
    ],
)
def test_what_is_closed_is_unknown(healthy: tuple[FakeHost, Rows], denied: str, names: tuple[str, ...]) -> None:
    host, rows = healthy
    found = look_at(host, {**rows, "denied": [*rows.get("denied", ()), {"path": denied}]})
    assert {name: found[name].status for name in names} == dict.fromkeys(names, UNKNOWN)
    assert [found[name].outcome.message for name in OWN if found[name].status in (FAIL, WARN)] == []


def test_divided_gpu_whose_folder_of_nodes_is_closed(tmp_path: Path) -> None:
    host, rows = build_host("mig-server", tmp_path / "host")
    found = look_at(host, {**rows, "denied": [{"path": "/dev/nvidia-caps"}]})
    assert found["device.mig-caps"].status == UNKNOWN


@pytest.mark.long
@pytest.mark.parametrize("name", ["no-sys", "nothing-readable", "user-without-rights"])
def test_hosts_that_show_little(tmp_path: Path, name: str) -> None:
    found = findings_of(snapshot_of(name, tmp_path / "host"))
    assert [(item, found[item].outcome.message) for item in OWN if found[item].status in (FAIL, WARN)] == []


@pytest.mark.real
def test_this_machine_without_root(as_nobody: AsNobody) -> None:
    snapshot = as_nobody(collect, LocalHost("/"), None)
    found = findings_of(snapshot)
    assert {found[name].status for name in OWN} <= {PASS, SKIP, UNKNOWN, "info", FAIL, WARN}


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$2" -m ctk doctor --root "$1" --json'


@pytest.mark.long
@pytest.mark.real
def test_read_only_system_is_judged_like_another(tmp_path: Path) -> None:
    build_host("healthy-one-gpu", tmp_path / "host")
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(tmp_path / "host"), sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "CTK_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.stderr == ""
    document = json.loads(done.stdout)
    statuses = {item["id"]: item["status"] for item in document["data"]["findings"]}
    assert "error" not in statuses.values()
    assert statuses["lib.core"] == PASS
    assert statuses["device.open-test"] in (SKIP, UNKNOWN)
