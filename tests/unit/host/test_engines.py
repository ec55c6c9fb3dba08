"""What counts as installed, which configuration is in force, and who uses an engine."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.host.engines import (
    NOT_ASKED,
    collect_docker_context,
    collect_engines,
    collect_installations,
    engine_version,
    program_version,
)
from ctk.host.local import LocalHost
from ctk.host.processes import Process
from tests.unit.host.trees import PROGRAM, Link, Program, make_process, plant

DOCKERD = {"/usr/bin/dockerd": Program(PROGRAM)}
CONTAINERD = {"/usr/bin/containerd": Program(PROGRAM)}
MAIN = "/etc/containerd/config.toml"
PASSWD = {"/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\n"}


def find(
    tmp_path: Path, engine: str | None, *parts: Mapping[str, str], processes: tuple[Process, ...] = ()
) -> list[EngineInstallation]:
    host = plant(tmp_path, {name: text for part in ({"/x": ""}, *parts) for name, text in part.items()})
    return list(collect_installations(host, engine, processes))


def names(found: list[EngineInstallation]) -> list[str]:
    return [f"{item.engine}/{item.installation}" for item in found]


def test_bare_host_has_no_engine(tmp_path: Path) -> None:
    assert find(tmp_path, None) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (DOCKERD, ["docker/system"]),
        ({"/lib/systemd/system/docker.service": "[Service]\nExecStart=/opt/dockerd\n"}, ["docker/system"]),
        ({"/lib/systemd/system/docker.service": Link("/dev/null")}, []),
        ({"/etc/docker/daemon.json": "{}"}, []),
        ({"/var/snap/docker/current/x": ""}, ["docker/snap"]),
        ({**PASSWD, "/home/alice/.config/docker/daemon.json": "{}"}, ["docker/rootless"]),
        ({**PASSWD, "/home/alice/bin/dockerd": Program(PROGRAM)}, []),
        ({**PASSWD, **DOCKERD, "/usr/lib/systemd/user/docker.service": "[Service]\n"}, ["docker/system"]),
        (CONTAINERD, ["containerd/system"]),
        ({"/var/lib/rancher/k3s/agent/etc/containerd/x": ""}, ["containerd/k3s"]),
        ({"/etc/systemd/system/k3s-agent.service": "[Service]\n"}, ["containerd/k3s"]),
        ({"/var/lib/rancher/rke2/agent/etc/containerd/x": ""}, ["containerd/rke2"]),
        ({"/var/snap/microk8s/current/args/containerd-template.toml": ""}, ["containerd/microk8s"]),
        ({"/etc/k0s/containerd.toml": ""}, ["containerd/k0s"]),
        ({"/var/run/docker/containerd/containerd.toml": ""}, ["containerd/docker"]),
        ({"/usr/bin/crio": Program(PROGRAM)}, ["crio/system"]),
        ({"/usr/bin/podman": Program(PROGRAM)}, ["podman/system"]),
    ],
)
def test_installations_are_told_by_their_signs(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    assert names(find(tmp_path, None, files)) == expected


def test_running_engine_counts_without_any_file(tmp_path: Path) -> None:
    found = find(tmp_path, "docker", processes=(make_process("dockerd", executable="/opt/dockerd"),))
    assert names(found) == ["docker/system"]
    assert (found[0].binary, found[0].running, found[0].pid) == ("/opt/dockerd", True, 42)
    assert found[0].running_since == "2024-05-01T08:00:00Z"


def test_only_the_engine_that_was_asked_for_is_returned(tmp_path: Path) -> None:
    assert names(find(tmp_path, "containerd", DOCKERD, CONTAINERD)) == ["containerd/system"]
    assert names(list(collect_installations(LocalHost(str(tmp_path)), "docker", ()))) == ["docker/system"]


def test_binary_of_the_unit_wins_over_the_one_in_the_path(tmp_path: Path) -> None:
    unit = {"/etc/systemd/system/docker.service": "[Service]\nExecStart=/opt/docker/dockerd-wrapper\n"}
    found = find(tmp_path, "docker", DOCKERD, unit, {"/opt/docker/dockerd": Program(PROGRAM)})
    assert found[0].binary == "/opt/docker/dockerd"


@pytest.mark.parametrize(
    ("unit", "path", "origin"),
    [
        ("ExecStart=/usr/bin/containerd", MAIN, "default"),
        (
            "ExecStart=/usr/bin/containerd -c /a.toml",
            "/a.toml",
            "/etc/systemd/system/containerd.service line 2 (--config)",
        ),
        ("ExecStart=/usr/bin/containerd --config a.toml", "/a.toml", "…"),
        ("ExecStart=/usr/bin/containerd --config=", MAIN, "default"),
    ],
)
def test_config_comes_from_the_unit(tmp_path: Path, unit: str, path: str, origin: str) -> None:
    found = find(tmp_path, "containerd", CONTAINERD, {"/etc/systemd/system/containerd.service": f"[Service]\n{unit}\n"})
    assert found[0].config_path == path
    assert origin in ("…", found[0].config_origin)
    assert found[0].config_exists is False


def test_relative_config_of_a_process_starts_where_the_process_is(tmp_path: Path) -> None:
    process = make_process("containerd", "-c", "conf/a.toml", working_directory="/srv")
    found = find(tmp_path, "containerd", CONTAINERD, processes=(process,))
    assert found[0].config_path == "/srv/conf/a.toml"
    assert found[0].config_origin == "command line of pid 42 (--config)"


def test_process_without_the_flag_reads_the_default_file(tmp_path: Path) -> None:
    unit = {"/etc/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd -c /a.toml\n"}
    found = find(tmp_path, "containerd", CONTAINERD, unit, processes=(make_process("containerd"),))
    assert (found[0].config_path, found[0].config_origin) == (MAIN, "default")


def test_crio_takes_its_places_from_the_environment(tmp_path: Path) -> None:
    unit = "[Service]\nEnvironment=CONTAINER_CONFIG=/a.conf CONTAINER_CONFIG_DIR=/a.d\nExecStart=/usr/bin/crio\n"
    files = {"/etc/systemd/system/crio.service": unit, "/usr/bin/crio": Program(PROGRAM), "/a.d/1": ""}
    found = find(tmp_path, "crio", files)
    assert found[0].config_path == "/a.conf"
    assert found[0].config_origin == "/etc/systemd/system/crio.service line 2 (CONTAINER_CONFIG)"
    assert (found[0].drop_in_directory, found[0].drop_ins) == ("/a.d", ("/a.d/1",))


@pytest.mark.parametrize(
    ("imports", "directory"),
    [
        ("[]", "/etc/containerd/conf.d"),
        ('["/etc/containerd/other.d/*.toml"]', "/etc/containerd/other.d"),
        ('["/a/*.toml", "/etc/containerd/conf.d/*.toml"]', "/etc/containerd/conf.d"),
        ('["/a/b.toml"]', "/etc/containerd/conf.d"),
    ],
)
def test_drop_in_folder_is_the_imported_one(tmp_path: Path, imports: str, directory: str) -> None:
    assert find(tmp_path, "containerd", CONTAINERD, {MAIN: f"imports = {imports}\n"})[0].drop_in_directory == directory


K3S = "/var/lib/rancher/k3s/agent/etc/containerd"


@pytest.mark.parametrize(
    ("files", "template", "directory"),
    [
        ({}, "config-v3.toml.tmpl", None),
        ({"config.toml": "version = 2\n"}, "config.toml.tmpl", None),
        ({"config.toml": "version = 3\n"}, "config-v3.toml.tmpl", None),
        ({"config.toml": "version = 3\n", "config.toml.tmpl": ""}, "config.toml.tmpl", None),
        ({"config.toml": "version = 2\n", "config-v3.toml.tmpl": ""}, "config-v3.toml.tmpl", None),
        ({"config.toml": f'imports = ["{K3S}/config-v3.toml.d/*.toml"]\n'}, "config-v3.toml.tmpl", "config-v3.toml.d"),
    ],
)
def test_k3s_template_and_folder(tmp_path: Path, files: dict[str, str], template: str, directory: str | None) -> None:
    found = find(tmp_path, "containerd", {f"{K3S}/{name}": text for name, text in {"x": "", **files}.items()})
    assert found[0].generated_from == f"{K3S}/{template}"
    assert found[0].drop_in_directory == (f"{K3S}/{directory}" if directory else None)


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("# k0s_managed=true\nversion = 2\n", "/etc/k0s/containerd.d"),
        ("\n# k0s_managed=true\n", "/etc/k0s/containerd.d"),
        (None, "/etc/k0s/containerd.d"),
        ("version = 2\n", None),
        ("#k0s_managed=true\n", None),
    ],
)
def test_k0s_merges_its_folder_only_while_it_manages_the_file(
    tmp_path: Path, text: str | None, directory: str | None
) -> None:
    files = {"/var/lib/k0s/bin/containerd": Program(PROGRAM), "/etc/k0s/containerd.d/a.toml": ""}
    found = find(tmp_path, "containerd", files, {} if text is None else {"/etc/k0s/containerd.toml": text})
    assert found[0].drop_in_directory == directory
    assert found[0].drop_ins == (("/etc/k0s/containerd.d/a.toml",) if directory else ())


@pytest.mark.parametrize(
    ("start", "files", "socket"),
    [
        ("dockerd", {}, "/var/run/docker.sock"),
        ("dockerd -H unix:///a.sock -H tcp://0.0.0.0", {}, "/a.sock"),
        ("dockerd -H fd://", {}, "/var/run/docker.sock"),
        ("dockerd -H fd://", {"/lib/systemd/system/docker.socket": "[Socket]\nListenStream=/b.sock\n"}, "/b.sock"),
        ("dockerd", {"/etc/docker/daemon.json": '{"hosts": ["unix:///c.sock"]}'}, "/c.sock"),
    ],
)
def test_docker_socket(tmp_path: Path, start: str, files: dict[str, str], socket: str) -> None:
    unit = {"/lib/systemd/system/docker.service": f"[Service]\nExecStart=/usr/bin/{start}\n"}
    assert find(tmp_path, "docker", DOCKERD, unit, files)[0].socket == socket


@pytest.mark.parametrize(
    ("files", "users"),
    [
        ({}, ()),
        (DOCKERD, ("docker",)),
        ({**DOCKERD, "/var/run/docker/containerd/containerd.toml": ""}, ()),
        ({"/usr/local/bin/nerdctl": Program(PROGRAM)}, ("nerdctl",)),
        ({"/usr/bin/nerdctl": Program(PROGRAM), "/etc/nerdctl/nerdctl.toml": 'address = "/run/k3s/c.sock"\n'}, ()),
        (
            {"/var/lib/kubelet/config.yaml": "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n"},
            ("kubelet",),
        ),
        (
            {"/var/lib/kubelet/config.yaml": 'containerRuntimeEndpoint: "/var/run/containerd/containerd.sock"\n'},
            ("kubelet",),
        ),
        ({"/var/lib/kubelet/config.yaml": "containerRuntimeEndpoint: unix:///run/crio/crio.sock\n"}, ()),
        (
            {
                **DOCKERD,
                "/lib/systemd/system/docker.service": "[Service]\nExecStart=/usr/bin/dockerd --containerd=/o.sock\n",
            },
            (),
        ),
    ],
)
def test_users_of_the_systems_containerd(tmp_path: Path, files: dict[str, str], users: tuple[str, ...]) -> None:
    assert find(tmp_path, "containerd", CONTAINERD, files)[0].used_by == users


def test_docker_serves_the_kubelet_through_cri_dockerd(tmp_path: Path) -> None:
    files = {"/var/lib/kubelet/config.yaml": "containerRuntimeEndpoint: unix:///var/run/cri-dockerd.sock\n"}
    assert find(tmp_path, "docker", DOCKERD, files)[0].used_by == ("kubelet",)


def test_running_own_containerd_of_docker_wins_over_the_units_flag(tmp_path: Path) -> None:
    unit = "[Service]\nExecStart=/usr/bin/dockerd --containerd=/run/containerd/containerd.sock\n"
    own = make_process("containerd", "--config", "/var/run/docker/containerd/containerd.toml")
    files = {**DOCKERD, **CONTAINERD, "/lib/systemd/system/docker.service": unit}
    found = find(tmp_path, "containerd", files, processes=(own,))
    assert [(item.installation, item.used_by) for item in found] == [("system", ()), ("docker", ("docker",))]


def test_no_version_is_asked_for_by_itself(tmp_path: Path) -> None:
    assert find(tmp_path, "docker", DOCKERD)[0].version == NOT_ASKED
    host = LocalHost(str(tmp_path))
    engines = collect_engines(host, ())
    assert isinstance(engines, tuple)
    assert engines[0].version == Unknown("not run: --root")
    assert engine_version(host, find(tmp_path, "docker")[0]) == Unknown("not run: --root")


def test_unreadable_proc_leaves_running_unknown(tmp_path: Path) -> None:
    host = plant(tmp_path, DOCKERD)
    found = collect_installations(host, "docker", Unknown("permission denied"))
    assert (found[0].running, found[0].pid, found[0].running_since) == (Unknown("permission denied"), None, None)


def write_program(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.real
def test_version_of_a_named_program(tmp_path: Path) -> None:
    good = write_program(tmp_path, "containerd-2", "containerd containerd.io 2.1.0 abc")
    other = write_program(tmp_path, "other", "version 9.9")
    assert program_version(LocalHost(), "containerd", good) == "2.1.0"
    assert program_version(LocalHost(), "containerd", other) is None


@pytest.mark.parametrize(
    ("environment", "files", "context"),
    [
        ({}, {}, None),
        ({"HOME": "/home/a"}, {"/home/a/.docker/config.json": '{"currentContext": "desktop-linux"}'}, "desktop-linux"),
        ({"HOME": "/home/a"}, {"/home/a/.docker/config.json": '{"currentContext": "default"}'}, None),
        ({"HOME": "/home/a"}, {"/home/a/.docker/config.json": '{"auths": {}}'}, None),
        (
            {"HOME": "/home/a"},
            {"/home/a/.docker/config.json": '["currentContext"]'},
            Unknown("/home/a/.docker/config.json is not valid"),
        ),
        ({"DOCKER_CONTEXT": "remote"}, {}, "remote"),
        ({"DOCKER_HOST": "unix:///x", "DOCKER_CONTEXT": "remote"}, {}, None),
        ({"DOCKER_CONFIG": "/conf"}, {"/conf/config.json": '{"currentContext": "x"}'}, "x"),
        (
            {"HOME": "/root", "SUDO_USER": "alice"},
            {**PASSWD, "/home/alice/.docker/config.json": '{"currentContext": "hers"}'},
            "hers",
        ),
    ],
)
def test_docker_context_of_the_caller(
    tmp_path: Path, environment: dict[str, str], files: dict[str, str], context: object
) -> None:
    plant(tmp_path, {"/x": "", **files})
    assert collect_docker_context(LocalHost(str(tmp_path), environment=environment)) == context
