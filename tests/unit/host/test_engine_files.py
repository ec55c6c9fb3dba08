"""What the collectors of engines find beyond runtimes: faults, times, programs, what is written in vain, daemons."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.engines import (
    GENERATED_ONLY,
    MAYBE_IMPORTED,
    NOT_IMPORTED,
    OTHER_FILE,
    OTHER_FOLDER,
    EngineFiles,
    EngineInstallation,
    UnreadRuntime,
)
from ctk.host.docker_api import DockerInfo, parse_docker_info
from ctk.host.engine_daemons import collect_enabled_units, collect_listens, make_daemon
from ctk.host.engines import collect_engines
from ctk.host.local import LocalHost
from tests.builders import make_engine
from tests.fake_host import FakeHost
from tests.unit.host.trees import PROGRAM, Link, Program, plant

DOCKERD = {"/usr/bin/dockerd": Program(PROGRAM)}
CONTAINERD = {"/usr/bin/containerd": Program(PROGRAM)}
CRIO = {"/usr/bin/crio": Program(PROGRAM)}
PODMAN = {"/usr/bin/podman": Program(PROGRAM)}
UNIT = {"/usr/lib/systemd/system/docker.service": "[Service]\nExecStart=/usr/bin/dockerd\n"}
NVIDIA = '{"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}}'
TABLE = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia'
ENTRY = f'version = 2\n[{TABLE}]\nruntime_type = "io.containerd.runc.v2"\n'
MAIN, DROP_IN = "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"
CRIO_ENTRY = '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\n'
SNAP = "/var/snap/docker/current"
MICROK8S = "/var/snap/microk8s/current/args"


def engine(tmp_path: Path, *parts: Mapping[str, str]) -> EngineInstallation:
    """The first engine of a host with these files."""
    host = plant(tmp_path, {name: text for part in parts for name, text in part.items()})
    found = collect_engines(host, Unknown("not asked"))
    assert isinstance(found, tuple)
    return found[0]


def files_of(item: EngineInstallation) -> EngineFiles:
    assert isinstance(item.files, EngineFiles), item.files
    return item.files


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "path", "line", "column"),
    [
        ((DOCKERD, {"/etc/docker/daemon.json": '{\n  "debug": true,\n}\n'}), "/etc/docker/daemon.json", 2, 16),
        ((CONTAINERD, {MAIN: "version = 2\n[a\n"}), MAIN, 2, 3),
        ((CRIO, {"/etc/crio/crio.conf.d/9.conf": "[crio\n"}), "/etc/crio/crio.conf.d/9.conf", 1, 6),
        ((PODMAN, {"/etc/containers/containers.conf": "a = \n"}), "/etc/containers/containers.conf", 1, 5),
    ],
)
def test_a_broken_file_is_a_fault_with_its_place(
    tmp_path: Path, parts: tuple[Mapping[str, str], ...], path: str, line: int, column: int
) -> None:
    item = engine(tmp_path, *parts)
    (fault,) = item.faults
    assert (fault.path, fault.line, fault.column, fault.is_fatal) == (path, line, column, True)
    assert isinstance(item.files, Unknown)


def test_a_file_that_is_a_folder_is_no_fault_of_its_text(tmp_path: Path) -> None:
    item = engine(tmp_path, DOCKERD, {"/etc/docker/daemon.json/x": ""})
    assert item.faults == ()
    assert item.files == Unknown("is a directory")


def test_times_of_all_files_and_of_those_with_our_runtime(tmp_path: Path) -> None:
    host = plant(tmp_path, {**CRIO, "/etc/crio/crio.conf": "", "/etc/crio/crio.conf.d/9.conf": CRIO_ENTRY})
    os.utime(tmp_path / "etc/crio/crio.conf", (0, 2_000_000_000))
    os.utime(tmp_path / "etc/crio/crio.conf.d/9.conf", (0, 1_700_000_000))
    found = collect_engines(host, Unknown("not asked"))
    assert isinstance(found, tuple)
    files = files_of(found[0])
    assert (files.changed_path, files.changed_at) == ("/etc/crio/crio.conf", "2033-05-18T03:33:20Z")
    assert files.runtime_changed_at == "2023-11-14T22:13:20Z"


def test_a_monitor_that_moved_is_found_at_its_new_place(tmp_path: Path) -> None:
    text = CRIO_ENTRY + 'monitor_path = "/usr/bin/crio-conmon"\n'
    conmon = {"/usr/libexec/crio/conmon": Program(PROGRAM)}
    (entry,) = files_of(engine(tmp_path, CRIO, conmon, {"/etc/crio/crio.conf.d/9.conf": text})).runtimes
    assert entry.fault == "/usr/bin/nvidia-container-runtime does not exist"
    assert entry.monitor_fault == "/usr/bin/crio-conmon does not exist; /usr/libexec/crio/conmon does"


def test_podman_has_its_packages_file_below_its_own(tmp_path: Path) -> None:
    packaged = {"/usr/share/containers/containers.conf": '[engine]\ncdi_spec_dirs = ["/a"]\nruntime = "crun"\n'}
    own = {"/etc/containers/containers.conf.d/9.conf": '[engine]\ncdi_spec_dirs = ["/b"]\n'}
    files = files_of(engine(tmp_path, PODMAN, packaged, own))
    assert (files.cdi_directories, files.default_runtime) == (("/b",), "crun")


def test_k0s_merges_its_folder_without_an_import(tmp_path: Path) -> None:
    main = {"/etc/k0s/containerd.toml": "# k0s_managed=true\nversion = 2\n"}
    files = files_of(engine(tmp_path, main, {"/etc/k0s/containerd.d/nvidia.toml": ENTRY}))
    assert [(one.name, one.file) for one in files.runtimes] == [("nvidia", "/etc/k0s/containerd.d/nvidia.toml")]


@pytest.mark.parametrize(
    ("version", "main", "names"),
    [
        ("2.2.1", "version = 3\n", ["nvidia"]),
        ("2.2.1", None, ["nvidia"]),
        ("2.2.1", "version = 3\nimports = []\n", []),
        ("2.1.9", "version = 3\n", []),
    ],
)
def test_containerd_2_2_imports_its_folder_unasked(
    tmp_path: Path, version: str, main: str | None, names: list[str]
) -> None:
    entry = ENTRY.replace("version = 2", "version = 3").replace("grpc.v1.cri", "cri.v1.runtime")
    plant(tmp_path, {**CONTAINERD, DROP_IN: entry, **({} if main is None else {MAIN: main})})
    answer = {"argv": ["/usr/bin/containerd", "--version"], "stdout": f"containerd containerd.io v{version} abc"}
    found = collect_engines(FakeHost(str(tmp_path), {"command": [answer]}), Unknown("not asked"))
    assert isinstance(found, tuple)
    assert [one.name for one in files_of(found[0]).runtimes] == names
    assert [one.reason for one in found[0].unread] == ([] if names else [NOT_IMPORTED])


# -- in vain -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param((DOCKERD, {"/etc/docker/daemon.json": NVIDIA}), (), id="docker-reads-it"),
        pytest.param(
            ({"/var/snap/docker/current/x": ""}, {"/etc/docker/daemon.json": NVIDIA}),
            (
                UnreadRuntime(
                    "nvidia", "/etc/docker/daemon.json", OTHER_FILE, "/var/snap/docker/current/config/daemon.json"
                ),
            ),
            id="snap-does-not",
        ),
        pytest.param(
            ({"/var/snap/docker/current/x": ""}, {"/etc/docker/daemon.json": "{nvidia"}), (), id="broken-is-nothing"
        ),
        pytest.param(
            (CONTAINERD, {MAIN: 'version = 2\nimports = ["/x/*.toml"]\n', DROP_IN: ENTRY}),
            (UnreadRuntime("nvidia", DROP_IN, NOT_IMPORTED),),
            id="other-import",
        ),
        pytest.param(
            (CONTAINERD, {MAIN: 'version = 2\nimports = ["conf.d/*.toml"]\n', DROP_IN: ENTRY}), (), id="imported"
        ),
        pytest.param(
            (CONTAINERD, {MAIN: "version = 2\n", DROP_IN: ENTRY}),
            (UnreadRuntime("nvidia", DROP_IN, MAYBE_IMPORTED),),
            id="version-not-known",
        ),
        pytest.param(
            (CONTAINERD, {MAIN: "version = 2\nimports = []\n", DROP_IN: ENTRY}),
            (UnreadRuntime("nvidia", DROP_IN, NOT_IMPORTED),),
            id="no-imports-at-all",
        ),
        pytest.param(
            (CONTAINERD, {MAIN: 'version = 2\nimports = ["/x/*.toml"]\n', DROP_IN: "version = 2\n"}), (), id="others"
        ),
        pytest.param(
            (CRIO, {"/etc/crio/conf.d/9.conf": CRIO_ENTRY}),
            (UnreadRuntime("nvidia", "/etc/crio/conf.d/9.conf", OTHER_FOLDER),),
            id="crio-other-folder",
        ),
        pytest.param((CRIO, {"/etc/crio/crio.conf.d/9.conf": CRIO_ENTRY}), (), id="crio-reads-it"),
        pytest.param(
            ({f"{MICROK8S}/containerd-template.toml": "version = 2\n", f"{MICROK8S}/containerd.toml": ENTRY},),
            (
                UnreadRuntime(
                    "nvidia", f"{MICROK8S}/containerd.toml", GENERATED_ONLY, f"{MICROK8S}/containerd-template.toml"
                ),
            ),
            id="only-generated",
        ),
        pytest.param(
            ({f"{MICROK8S}/containerd-template.toml": ENTRY, f"{MICROK8S}/containerd.toml": ENTRY},), (), id="in-both"
        ),
        pytest.param(({"/var/lib/rancher/k3s/agent/etc/containerd/config.toml": ENTRY},), (), id="k3s-finds-it-itself"),
    ],
)
def test_what_is_written_where_nothing_reads_it(
    tmp_path: Path, parts: tuple[Mapping[str, str], ...], expected: tuple[UnreadRuntime, ...]
) -> None:
    assert engine(tmp_path, *parts).unread == expected


# -- daemons -----------------------------------------------------------------------------------------------------------


WANTS = "/etc/systemd/system/multi-user.target.wants/docker.service"
USER_UNIT = "/home/alice/.config/systemd/user"


@pytest.mark.parametrize(
    ("parts", "enabled"),
    [
        pytest.param((DOCKERD,), None, id="no-unit"),
        pytest.param((DOCKERD, UNIT), False, id="not-wanted"),
        pytest.param((DOCKERD, UNIT, {WANTS: Link("/usr/lib/systemd/system/docker.service")}), True, id="wanted"),
        pytest.param((DOCKERD, UNIT, {WANTS.replace("docker", "other"): ""}), False, id="another"),
    ],
)
def test_whether_something_starts_it_at_boot(
    tmp_path: Path, parts: tuple[Mapping[str, str], ...], enabled: bool | None
) -> None:
    assert engine(tmp_path, *parts).enabled is enabled


def test_a_users_unit_is_wanted_by_the_users_targets(tmp_path: Path) -> None:
    parts = {
        "/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\n",
        f"{USER_UNIT}/docker.service": "[Service]\nExecStart=/usr/bin/dockerd-rootless.sh\n",
        f"{USER_UNIT}/default.target.wants/docker.service": Link(f"{USER_UNIT}/docker.service"),
    }
    item = engine(tmp_path, parts)
    assert (item.installation, item.enabled) == ("rootless", True)


def test_path_of_a_unit(tmp_path: Path) -> None:
    text = "[Service]\nEnvironment=PATH=/opt/bin:/usr/bin\nExecStart=/usr/bin/dockerd\n"
    item = engine(tmp_path, DOCKERD, {"/usr/lib/systemd/system/docker.service": text})
    assert item.search_path == ("/opt/bin", "/usr/bin")


def test_units_of_all_targets_at_once(tmp_path: Path) -> None:
    host = plant(tmp_path, {WANTS: "", "/run/systemd/system/x.target.requires/y.service": ""})
    assert collect_enabled_units(host) == frozenset({"docker.service", "y.service"})


@pytest.mark.real
def test_a_socket_is_tried_without_a_word(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    item = make_engine(socket=path)
    host = LocalHost("/", timeout_seconds=1)
    assert collect_listens(host, item) is False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        assert collect_listens(host, item) is False
        server.listen()
        assert collect_listens(host, item) is True
        with server.accept()[0] as connection:
            assert connection.recv(10) == b""


def test_a_socket_of_another_root_is_not_tried(tmp_path: Path) -> None:
    assert collect_listens(LocalHost(str(tmp_path)), make_engine()) is None
    assert collect_listens(LocalHost("/"), make_engine(running=False)) is None


def test_answer_of_dockerd() -> None:
    body = (
        b'{"ServerVersion": "28.5.1", "DefaultRuntime": "runc", "CgroupDriver": "systemd", "LiveRestoreEnabled": true,'
        b' "Runtimes": {"runc": {"path": "runc"}, "k": {}}, "CDISpecDirs": ["/etc/cdi"], "ContainersRunning": 3,'
        b' "SecurityOptions": ["name=rootless"], "OperatingSystem": "Debian", "DiscoveredDevices":'
        b' [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}, {"Source": "cdi", "ID": "amd.com/gpu=0"}, {"Source": "x"}, 5]}'
    )
    info = parse_docker_info(body)
    assert isinstance(info, DockerInfo)
    daemon = make_daemon(info)
    assert [(one.name, one.path) for one in daemon.runtimes] == [("runc", "runc"), ("k", None)]
    assert (daemon.version, daemon.cgroup_driver, daemon.live_restore) == ("28.5.1", "systemd", True)
    assert (daemon.cdi_directories, daemon.cdi_devices) == (("/etc/cdi",), ("nvidia.com/gpu=0",))
    assert (daemon.is_rootless, daemon.operating_system, daemon.containers_running) == (True, "Debian", 3)


def test_an_old_dockerd_says_nothing_of_cdi() -> None:
    info = parse_docker_info(b'{"ServerVersion": "20.10.24", "Runtimes": null, "SecurityOptions": null}')
    assert isinstance(info, DockerInfo)
    daemon = make_daemon(info)
    assert (daemon.cdi_directories, daemon.cdi_devices, daemon.runtimes, daemon.is_rootless) == (None, None, (), False)


@pytest.mark.parametrize(
    ("version", "devices"), [("28.5.2+dfsg4", ()), ("28.2.0", ()), ("28.1.1", None), ("26.1.5", None), ("dev", None)]
)
def test_a_dockerd_that_tells_its_devices_leaves_out_none(version: str, devices: tuple[str, ...] | None) -> None:
    info = parse_docker_info(f'{{"ServerVersion": "{version}", "CDISpecDirs": ["/etc/cdi"]}}'.encode())
    assert isinstance(info, DockerInfo)
    assert make_daemon(info).cdi_devices == devices


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"<html>", "the daemon's answer is not JSON"), (b"[]", "the daemon's answer is not an object")],
)
def test_no_answer_of_dockerd(body: bytes, reason: str) -> None:
    assert parse_docker_info(body) == Unknown(reason)
