"""Control groups from a tree: the hierarchy, systemd's version, reloads in the journal, containers' scopes."""

import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.cgroups import HYBRID, V1, V2, ContainerScope, ManagerReload, missing_links
from ctk.facts.device_nodes import CharLink
from ctk.host.cgroup_programs import query_device_programs
from ctk.host.cgroups import (
    RELOADS,
    collect_cgroups,
    collect_mode,
    collect_reloads,
    collect_scopes,
    collect_systemd_version,
    parse_reloads,
)
from tests.driver_builders import make_device_nodes, make_node
from tests.fake_host import FakeHost
from tests.unit.host.trees import PROGRAM, Program, plant

GROUPS = "/sys/fs/cgroup"
SYSTEMD = {"/run/systemd/system/x": ""}
LIBRARY = "/usr/lib/systemd/libsystemd-shared-"
ID = "4f1c" * 16
NO_LINKS = make_device_nodes(make_node(), links=None)
REQUEST = "1714627800.123456 node systemd[1]: Reload requested from client PID 45 ('systemctl') (unit apt.service)..."


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        ({f"{GROUPS}/cgroup.controllers": "cpu memory"}, V2),
        ({f"{GROUPS}/devices/x": "", f"{GROUPS}/unified/cgroup.controllers": ""}, HYBRID),
        ({f"{GROUPS}/devices/x": ""}, V1),
        ({f"{GROUPS}/x": ""}, None),
        ({"/x": ""}, Unknown("no /sys/fs/cgroup")),
    ],
)
def test_hierarchy(tmp_path: Path, files: dict[str, str], mode: object) -> None:
    assert collect_mode(plant(tmp_path, files)) == mode


def test_controllers(tmp_path: Path) -> None:
    host = plant(tmp_path / "2", {f"{GROUPS}/cgroup.controllers": "cpu memory\n"})
    assert collect_cgroups(host, make_device_nodes()).controllers == ("cpu", "memory")
    host = plant(tmp_path / "1", {f"{GROUPS}/{name}/x": "" for name in ("cpu", "devices", "systemd", "unified")})
    assert collect_cgroups(host, make_device_nodes()).controllers == ("cpu", "devices")


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({f"{LIBRARY}252.so": ""}, 252),
        ({f"{LIBRARY}255.4-1ubuntu8.so": ""}, 255),
        ({f"{LIBRARY}252.so": "", f"{LIBRARY}257.9-1.el10.so": ""}, 257),
        ({"/usr/lib/systemd/systemd": ""}, Unknown("systemd's library was not found")),
    ],
)
def test_systemd_version(tmp_path: Path, files: dict[str, str], version: object) -> None:
    assert collect_systemd_version(plant(tmp_path, {**SYSTEMD, **files})) == version


def test_without_systemd_there_is_no_version(tmp_path: Path) -> None:
    assert collect_systemd_version(plant(tmp_path, {f"{LIBRARY}252.so": ""})) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (
            f"{REQUEST}\n1714627800.223456 node systemd[1]: Reloading...\n",
            (ManagerReload("2024-05-02T05:30:00Z", "PID 45 ('systemctl') (unit apt.service)"),),
        ),
        ("1714627800.1 node systemd[1]: Reloading.\n", (ManagerReload("2024-05-02T05:30:00Z", ""),)),
        (
            "1714627900.1 node systemd[1]: Reloading.\n1714627800.1 node systemd[1]: Reloading.\n",
            (ManagerReload("2024-05-02T05:30:00Z", ""), ManagerReload("2024-05-02T05:31:40Z", "")),
        ),
        ("1714627800.1 node systemd[1]: Reloading finished in 5121 ms.\nx\n-- No entries --\n", ()),
        ("1714627800.1 node systemd[1]: Reloading nginx.service...\n", ()),
    ],
)
def test_reloads_in_the_journal(text: str, expected: tuple[ManagerReload, ...]) -> None:
    assert parse_reloads(text) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"stdout": REQUEST}, 1),
        ({"returncode": 1}, 0),
        (
            {"returncode": 1, "stderr": "Compiled without pattern matching support\n"},
            "Compiled without pattern matching support",
        ),
        ({"reason": "no such program"}, "no such program"),
    ],
)
def test_answers_of_the_journal(tmp_path: Path, answer: dict[str, object], expected: int | str) -> None:
    host = FakeHost(str(tmp_path), {"command": [{"argv": list(RELOADS), **answer}]})
    found = collect_reloads(host)
    assert (len(found) if isinstance(found, tuple) else found.reason) == expected


@pytest.mark.parametrize(("mode", "base"), [(V2, GROUPS), (V1, f"{GROUPS}/devices"), (HYBRID, f"{GROUPS}/devices")])
def test_scopes_of_containers(tmp_path: Path, mode: str, base: str) -> None:
    pod = f"{base}/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"
    host = plant(
        tmp_path,
        {
            f"{base}/system.slice/docker-{ID}.scope/cgroup.procs": "12\n13\n",
            f"{base}/system.slice/run-u5.scope/cgroup.procs": "14\n",
            f"{pod}/cgroup.procs": "",
        },
    )
    os.utime(tmp_path / f"{base}/system.slice/docker-{ID}.scope".lstrip("/"), (0, 1_700_000_000))
    found = collect_scopes(host, mode)
    assert isinstance(found, tuple)
    assert found[0] == ContainerScope(f"docker-{ID}.scope", ID, "2023-11-14T22:13:20Z", (12, 13))
    assert [one.unit for one in found[1:]] == [f"cri-containerd-{ID}.scope"]


def test_no_groups_no_scopes(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/x": ""})
    assert collect_scopes(host, None) == Unknown("no control groups")
    assert collect_scopes(host, Unknown("closed")) == Unknown("closed")


def test_journal_and_scopes_are_asked_only_where_links_are_missing(tmp_path: Path) -> None:
    files = {**SYSTEMD, f"{LIBRARY}252.so": "", f"{GROUPS}/cgroup.controllers": ""}
    host = plant(tmp_path, files)
    asked = collect_cgroups(host, NO_LINKS)
    assert (asked.reloads, asked.scopes) == (Unknown("not run: --root"), ())
    for nodes in (make_device_nodes(), Unknown("closed")):
        spared = collect_cgroups(host, nodes)
        assert (spared.reloads, spared.scopes, spared.device_programs) == (None, None, None)


def test_low_level_runtimes(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/usr/bin/runc": Program(PROGRAM)})
    runc, crun = collect_cgroups(host, make_device_nodes()).runtimes
    assert (runc.name, runc.path, runc.version) == ("runc", "/usr/bin/runc", Unknown("not run: --root"))
    assert (crun.name, crun.path, crun.version, crun.executable) == ("crun", None, None, False)


def test_missing_links() -> None:
    nodes = make_device_nodes(make_node(), make_node("/dev/nvidiactl", minor=255))
    assert missing_links(nodes) == ()
    one = make_device_nodes(*nodes.nodes, links=(CharLink("/dev/char/195:0", "../nvidia0"),))  # type: ignore[misc] # they are known here
    assert missing_links(one) == ("195:255",)
    assert missing_links(make_device_nodes(links=Unknown("closed"))) == ()
    assert missing_links(make_device_nodes(nodes=Unknown("closed"))) == ()


def test_a_folder_that_is_no_group_is_not_known(tmp_path: Path) -> None:
    assert isinstance(query_device_programs(str(tmp_path)), Unknown)
    assert query_device_programs(str(tmp_path / "none")) == Unknown("no such file or directory")
