"""What went wrong for people with CRI-O, from the files they had to what they must get, through the command line."""

import tomllib
from typing import Any

import pytest

from tests.unit.cli.scene import CRIO_DROP_IN, RUNTIME, HostFolder

PACKAGED = """\
[crio.runtime]
default_runtime = "crun"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
monitor_path = "/usr/libexec/crio/conmon"
monitor_cgroup = "system.slice"
runtime_root = "/run/crun"
allowed_annotations = ["io.alpha/trace"]
"""
TEN = "/etc/crio/crio.conf.d/10-crio.conf"


def _entry(host: HostFolder) -> Any:
    return tomllib.loads(host.path(CRIO_DROP_IN).read_text())["crio"]["runtime"]["runtimes"]["nvidia"]


@pytest.mark.parametrize("place", ["/etc/crio/crio.conf", TEN])
def test_f46_the_monitor_comes_from_the_default_runtime(host: HostFolder, place: str) -> None:
    host.engine("crio", "")
    packaged = host.put(place, PACKAGED)
    assert host.configure("crio").code == 0
    assert _entry(host) == {
        "runtime_path": RUNTIME,
        "runtime_type": "oci",
        "monitor_path": "/usr/libexec/crio/conmon",
        "monitor_cgroup": "system.slice",
        "runtime_root": "/run/crun",
        "allowed_annotations": ["io.alpha/trace"],
    }
    assert packaged.read_text() == PACKAGED
    before = host.everything()
    assert host.configure("crio").code == 0
    assert host.everything() == before
    assert host.unconfigure("crio").code == 0
    assert not host.path(CRIO_DROP_IN).exists()


def test_f48_the_drop_in_lands_where_crio_reads(host: HostFolder) -> None:
    host.engine("crio", PACKAGED)
    assert host.configure("crio").code == 0
    assert host.path("/etc/crio/crio.conf.d/99-nvidia.toml").exists()
    refused = host.configure("crio", "--drop-in-config=/etc/crio/conf.d/99-nvidia.toml")
    assert refused.code == 3
    assert "/etc/crio/crio.conf.d" in refused.errors()[0]
    assert not host.path("/etc/crio/conf.d").exists()


def test_f48_the_folder_of_the_unit(host: HostFolder) -> None:
    host.engine("crio", PACKAGED)
    host.unit("crio.service", "/usr/bin/crio --config-dir /etc/alt/crio.d")
    assert host.configure("crio").code == 0
    assert host.path("/etc/alt/crio.d/99-nvidia.toml").exists()


def test_f50_a_partial_hand_written_drop_in(host: HostFolder) -> None:
    host.engine("crio", PACKAGED)
    text = '[crio.runtime]\ndefault_runtime = "nvidia"\n[crio.runtime.runtimes.nvidia]\nruntime_path = "/opt/site/rt"\n'
    theirs = host.put("/etc/crio/crio.conf.d/10-nvidia-runtime.conf", text)
    answer = host.configure("crio")
    assert answer.code == 0
    assert theirs.read_text() == text
    assert any(theirs.name in line for line in answer.warnings()), "two files define it"
    assert _entry(host)["runtime_type"] == "oci"
    assert host.unconfigure("crio").code == 0
    assert theirs.exists(), "no file of theirs goes"


def test_f51_a_monitor_path_that_went_stale(host: HostFolder) -> None:
    host.engine("crio", PACKAGED.replace("/usr/libexec/crio/conmon", "/usr/bin/crio-conmon"))
    assert host.configure("crio").code == 0
    assert _entry(host)["monitor_path"] == "/usr/bin/crio-conmon"
    before = host.path(CRIO_DROP_IN).read_text()

    host.put("/etc/crio/crio.conf", PACKAGED)
    assert host.configure("crio", "--check").code == 1
    assert host.configure("crio").code == 0

    after = host.path(CRIO_DROP_IN).read_text()
    assert after == before.replace("/usr/bin/crio-conmon", "/usr/libexec/crio/conmon"), "only that key"
