"""Which process belongs to which installation, and whether the unit or the process has the last word."""

from pathlib import Path

import pytest

from ctk.engines.installations import get_daemon, get_installation
from ctk.facts import Unknown
from ctk.facts.engines import EngineFlag
from ctk.host.daemons import choose_process, collect_daemon, match_row, parse_arguments
from ctk.host.unit_text import Word
from ctk.host.users import make_user
from tests.unit.host.trees import Link, make_process, plant

UNIT = "/etc/systemd/system/docker.service"
ALICE = make_user("alice", 1000, "/home/alice")


@pytest.mark.parametrize(
    ("argv", "changes", "row"),
    [
        (("containerd",), {}, "system"),
        (("containerd", "--config", "/my/own.toml"), {}, "system"),
        (("containerd", "-c", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"), {}, "k3s"),
        (("containerd", "-c", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"), {}, "rke2"),
        (("containerd", "--config", "/var/snap/microk8s/77/args/containerd.toml"), {}, "microk8s"),
        (("containerd", "--config=/etc/k0s/containerd.toml"), {}, "k0s"),
        (("containerd", "--config", "/var/run/docker/containerd/containerd.toml"), {}, "docker"),
        (("containerd", "--config", "/run/snap.docker/containerd/containerd.toml"), {}, "docker-snap"),
        (("containerd",), {"executable": "/var/lib/rancher/k3s/data/77/bin/containerd"}, "k3s"),
        (("containerd",), {"executable": "/var/lib/k0s/bin/containerd"}, "k0s"),
        (("containerd",), {"cgroup": "0::/system.slice/k3s-agent.service\n"}, "k3s"),
        (("containerd",), {"cgroup": "0::/system.slice/containerd.service\n"}, "system"),
        (("containerd",), {"user": 1000}, "rootless"),
    ],
)
def test_process_is_matched_to_its_installation(
    tmp_path: Path, argv: tuple[str, ...], changes: dict[str, object], row: str
) -> None:
    host = plant(
        tmp_path,
        {
            "/var/snap/microk8s/77/args/x": "",
            "/var/snap/microk8s/current": Link("77"),
            "/var/lib/rancher/k3s/data/77/bin/containerd": "",
            "/var/lib/rancher/k3s/data/current": Link("77"),
        },
    )
    assert match_row(host, make_process(*argv, **changes), get_daemon("containerd")) == row


def test_process_of_the_unit_comes_before_an_older_one(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/x": ""})
    row = get_installation("docker", "system")
    mine = make_process("dockerd", pid=9, cgroup="0::/system.slice/docker.service\n")
    processes = [make_process("dockerd", pid=5), make_process("dockerd", pid=6), mine]
    assert choose_process(host, row, None, processes) is mine
    assert choose_process(host, row, None, processes[:2]) is processes[0]
    assert choose_process(host, row, None, []) is None


def test_daemon_that_sees_other_files_counts_only_in_its_unit(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/x": ""})
    row = get_installation("docker", "system")
    stranger = make_process("dockerd", sees_our_files=False)
    private = make_process("dockerd", sees_our_files=False, cgroup="0::/system.slice/docker.service\n")
    assert choose_process(host, row, None, [stranger]) is None
    assert choose_process(host, row, None, [stranger, private]) is private


def test_rootless_process_belongs_to_its_user_only(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/x": ""})
    process = make_process("dockerd", user=1000, sees_our_files=False)
    row = get_installation("docker", "rootless")
    assert choose_process(host, row, ALICE, [process]) is process
    assert choose_process(host, row, make_user("bob", 1001, "/home/bob"), [process]) is None
    assert choose_process(host, get_installation("docker", "system"), None, [process]) is None


def test_running_process_has_the_last_word(tmp_path: Path) -> None:
    host = plant(tmp_path, {UNIT: "[Service]\nExecStart=/usr/bin/dockerd --config-file=/new.json --debug\n"})
    row = get_installation("docker", "system")
    process = make_process("/usr/bin/dockerd", "--config-file", "/old.json", "--debug")
    view = collect_daemon(host, row, None, [process])
    assert view.find_flag("config-file") == EngineFlag(
        name="config-file", value="/old.json", origin="command line of pid 42"
    )
    assert view.find_flag("debug") == EngineFlag(
        name="debug", value="", origin=f"command line of pid 42, from {UNIT} line 2"
    )
    assert [(flag.name, flag.value, flag.origin) for flag in view.flags] == [
        ("config-file", "/new.json", UNIT),
        ("debug", "", UNIT),
        ("config-file", "/old.json", "command line of pid 42"),
    ]


def test_unit_counts_while_nothing_runs(tmp_path: Path) -> None:
    host = plant(tmp_path, {UNIT: "[Service]\nExecStart=/usr/bin/dockerd --config-file=/new.json\n"})
    view = collect_daemon(host, get_installation("docker", "system"), None, [])
    assert view.find_flag("config-file") == EngineFlag(name="config-file", value="/new.json", origin=UNIT, line=2)
    assert view.find_flag("other") is None
    hidden = collect_daemon(host, get_installation("docker", "system"), None, Unknown("no /proc"))
    assert (hidden.process, hidden.reason) == (None, "no /proc")


@pytest.mark.parametrize(
    ("program", "has_flags"),
    [("/usr/bin/dockerd", True), ("/usr/bin/dockerd-rootless.sh", True), ("/usr/bin/snap", False)],
)
def test_flags_of_a_unit_that_starts_something_else_are_not_the_daemons(
    tmp_path: Path, program: str, has_flags: bool
) -> None:
    host = plant(tmp_path, {UNIT: f"[Service]\nExecStart={program} --iptables=false\n"})
    assert bool(collect_daemon(host, get_installation("docker", "system"), None, []).told) is has_flags


def test_users_unit_is_looked_for_in_the_users_folders(tmp_path: Path) -> None:
    path = "/home/alice/.config/systemd/user/docker.service"
    host = plant(tmp_path, {path: "[Service]\nExecStart=%h/bin/dockerd-rootless.sh --config-file=%E/d.json\n"})
    view = collect_daemon(host, get_installation("docker", "rootless"), ALICE, [])
    assert view.unit is not None
    assert view.unit.path == path
    assert [flag.value for flag in view.told] == ["/home/alice/.config/d.json"]


def test_arguments_file_is_read_as_the_snaps_wrapper_reads_it() -> None:
    text = "# --old\n--config ${SNAP_DATA}/c.toml\n\n--name 'a b' # no\n"
    assert parse_arguments(text, "/args", (("SNAP_DATA", "/var/snap/x/current"),))[:4] == (
        Word("--config", "/args", 2),
        Word("/var/snap/x/current/c.toml", "/args", 2),
        Word("--name", "/args", 4),
        Word("a b", "/args", 4),
    )
