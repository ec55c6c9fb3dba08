"""The checks of Docker's kind, daemon and ways to hand out GPUs: one row for each status they can give."""

import dataclasses

import pytest

from ctk.doctor.checks.docker_rows import DOCKER_CHECKS
from ctk.facts.packages import Package
from ctk.facts.pci import Pci
from tests.builders import make_system
from tests.cdi_builders import make_cdi, make_cdi_file
from tests.engine_builders import (
    FOLDERS,
    docker_host,
    make_daemon,
    make_docker,
    make_files,
    make_podman,
)
from tests.toolkit_builders import make_config, make_packages, make_toolkit_setup, make_tools, make_value, no_tools
from tests.unit.doctor.docker_scene import (
    BARE,
    BASE_ONLY,
    CLOSED_FILES,
    DENIED,
    ELSEWHERE,
    FOUND,
    NOTHING,
    NOWHERE,
    ONLY_TOOL,
    WINDOWS,
    bare,
    cdi,
    docker,
    files,
    rootless,
    snap,
)
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

LEGACY = make_toolkit_setup(make_config(make_value("nvidia-container-runtime.mode", "legacy")))
NO_CGROUPS = make_toolkit_setup(
    make_config(
        make_value("nvidia-container-runtime.mode", "legacy"),
        make_value("nvidia-container-cli.no-cgroups", True),
    )
)


ROWS = [
    # -- installed
    Row(
        "runtime.docker.installed",
        "package",
        docker_host(packages=make_packages(Package("docker-ce", "27.5.1"))),
        "pass",
        "docker-ce",
    ),
    Row("runtime.docker.installed", "snap", docker_host(snap()), "pass", "snap", "docker (snap)"),
    Row("runtime.docker.installed", "rootless", docker_host(rootless()), "pass", "", "docker (rootless, alice)"),
    Row(
        "runtime.docker.installed",
        "podman",
        docker_host(make_podman(), packages=make_packages(Package("podman-docker", "5.2"))),
        "info",
        "Podman's",
    ),
    Row("runtime.docker.installed", "none", docker_host(make_podman()), "skip", "not installed"),
    Row("runtime.docker.installed", "nothing-here", docker_host(**NOTHING), "skip", "no NVIDIA GPU"),
    Row("runtime.docker.installed", "hidden", docker_host(engines=DENIED), "unknown", "denied"),
    # -- running
    Row("runtime.docker.running", "runs", docker(), "pass", "runs"),
    Row("runtime.docker.running", "stopped", docker(running=False), "fail", "enabled and does not run"),
    Row("runtime.docker.running", "silent", docker(listens=False), "fail", "nothing answers"),
    Row("runtime.docker.running", "at-rest", docker(running=False, enabled=False), "info", "nothing starts it"),
    Row("runtime.docker.running", "hidden", docker(running=NOWHERE), "unknown", "processes"),
    Row("runtime.docker.running", "units-hidden", docker(running=False, enabled=DENIED), "unknown", "denied"),
    # -- version
    Row("runtime.docker.version", "on", docker(daemon=make_daemon(version="28.5.1")), "pass", "on by default"),
    Row("runtime.docker.version", "off", docker(), "pass", "off unless"),
    Row("runtime.docker.version", "no-cdi", docker(daemon=make_daemon(version="24.0.7")), "info", "25"),
    Row("runtime.docker.version", "no-gpus", docker(daemon=make_daemon(version="18.09.1")), "warn", "19.03"),
    Row("runtime.docker.version", "by-program", docker(daemon=DENIED, version="20.10.24+dfsg1"), "info", "20.10.24"),
    Row("runtime.docker.version", "not-run", docker(daemon=DENIED, version=DENIED), "unknown", "denied"),
    # -- cdi
    Row("runtime.docker.cdi", "discovered", cdi(), "pass", "2 devices"),
    Row("runtime.docker.cdi", "spec", cdi(None, spec=True), "pass"),
    Row("runtime.docker.cdi", "no-spec", cdi(None), "info", "no spec"),
    Row("runtime.docker.cdi", "undiscovered", cdi((), spec=True), "fail", "none of the devices"),
    Row("runtime.docker.cdi", "specs-hidden", cdi((), cdi=DENIED), "unknown"),
    Row("runtime.docker.cdi", "not-in-force", files(cdi_enabled=True), "fail", "off in the running dockerd"),
    Row(
        "runtime.docker.cdi",
        "too-old",
        docker(files=make_files(cdi_enabled=True), daemon=make_daemon(version="24.0.7")),
        "fail",
        "came with 25",
    ),
    Row("runtime.docker.cdi", "off", docker(), "info", "off"),
    Row(
        "runtime.docker.cdi", "off-and-alone", bare(toolkit=ONLY_TOOL, cdi=make_cdi()), "fail", "no runtime of NVIDIA's"
    ),
    Row("runtime.docker.cdi", "off-hidden", bare(cdi=DENIED), "unknown"),
    Row("runtime.docker.cdi", "closed", docker(daemon=DENIED), "unknown"),
    Row("runtime.docker.cdi", "not-asked", docker(daemon=None), "unknown"),
    Row("runtime.docker.cdi", "files-closed", docker(**CLOSED_FILES), "unknown"),
    Row("runtime.docker.cdi", "at-rest", docker(running=False), "skip"),
    Row("runtime.docker.cdi", "hidden", docker(running=NOWHERE), "unknown"),
    # -- gpus-flag
    Row("runtime.docker.gpus-flag", "hook", docker(), "pass", "hook"),
    Row(
        "runtime.docker.gpus-flag",
        "cdi",
        docker(daemon=make_daemon(version="29.2.1", cdi_directories=FOLDERS, cdi_devices=FOUND)),
        "pass",
        "CDI",
    ),
    Row(
        "runtime.docker.gpus-flag", "no-hook", docker_host(toolkit=BASE_ONLY), "fail", "not in dockerd's PATH", "docker"
    ),
    Row(
        "runtime.docker.gpus-flag",
        "off-path",
        docker_host(toolkit=make_tools(path="/usr/local/nvidia/toolkit/nvidia-container-runtime-hook")),
        "fail",
    ),
    Row("runtime.docker.gpus-flag", "own-path", docker(search_path=("/opt/bin",)), "fail", "PATH"),
    Row(
        "runtime.docker.gpus-flag",
        "by-name",
        docker_host(toolkit=BASE_ONLY, cdi=make_cdi()),
        "info",
        "--device nvidia.com/gpu=all",
    ),
    Row(
        "runtime.docker.gpus-flag",
        "no-spec",
        docker_host(make_docker(daemon=make_daemon(version="29.2.1", cdi_devices=())), toolkit=BASE_ONLY),
        "fail",
        "no CDI spec of NVIDIA's in /etc/cdi",
    ),
    Row("runtime.docker.gpus-flag", "specs-hidden", docker_host(toolkit=BASE_ONLY, cdi=DENIED), "unknown"),
    Row("runtime.docker.gpus-flag", "hook-hidden", docker_host(toolkit=make_tools(path=DENIED)), "unknown"),
    Row("runtime.docker.gpus-flag", "no-gpu", docker_host(pci=Pci()), "skip", "no NVIDIA GPU here"),
    Row("runtime.docker.gpus-flag", "bus-hidden", docker_host(pci=DENIED), "unknown"),
    Row("runtime.docker.gpus-flag", "at-rest", docker(running=False), "skip"),
    Row("runtime.docker.gpus-flag", "snap", docker_host(snap()), "skip", "its own"),
    # -- snap
    Row("runtime.docker.snap", "other", docker(), "skip"),
    Row(
        "runtime.docker.snap",
        "both",
        docker_host(engines=(make_docker(), snap())),
        "fail",
        "both want the socket",
        "docker (snap)",
    ),
    Row("runtime.docker.snap", "host-file", docker_host(snap(unread=(ELSEWHERE,))), "warn", "reads /var/snap"),
    Row("runtime.docker.snap", "host-toolkit", docker_host(snap()), "warn", "cannot start the toolkit"),
    Row("runtime.docker.snap", "own-support", docker_host(snap(files=make_files())), "info", "its own file"),
    # -- rootless
    Row("runtime.docker.rootless", "other", docker(), "skip"),
    Row("runtime.docker.rootless", "jit", docker_host(rootless()), "pass", "jit-cdi"),
    Row(
        "runtime.docker.rootless",
        "legacy",
        docker_host(rootless(), toolkit_setup=LEGACY),
        "fail",
        "alice",
        "docker (rootless, alice)",
    ),
    Row("runtime.docker.rootless", "no-cgroups", docker_host(rootless(), toolkit_setup=NO_CGROUPS), "pass", "is true"),
    Row(
        "runtime.docker.rootless",
        "by-its-word",
        docker_host(make_docker(daemon=make_daemon(is_rootless=True)), toolkit_setup=LEGACY),
        "fail",
        "its user",
    ),
    Row("runtime.docker.rootless", "cdi", docker_host(rootless(**BARE)), "info", "CDI"),
    Row("runtime.docker.rootless", "no-toolkit", docker_host(rootless(), toolkit=no_tools()), "skip"),
    Row("runtime.docker.rootless", "hidden", docker_host(rootless(), toolkit_setup=DENIED), "unknown"),
    Row("runtime.docker.rootless", "closed", docker_host(rootless(**CLOSED_FILES)), "unknown"),
    # -- desktop
    Row("runtime.docker.desktop", "own", docker(), "pass"),
    Row("runtime.docker.desktop", "desktop", docker_host(docker_context="desktop-linux"), "warn", "Docker Desktop"),
    Row("runtime.docker.desktop", "hidden", docker_host(docker_context=DENIED), "unknown"),
    Row("runtime.docker.desktop", "wsl", docker_host(system=make_system(wsl=2), platform=WINDOWS), "skip", "WSL"),
    Row("runtime.docker.desktop", "nothing-here", docker_host(**NOTHING), "skip", "no NVIDIA GPU"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(DOCKER_CHECKS, row)


def test_every_check_has_rows() -> None:
    from tests.unit.doctor.test_docker import ROWS as OTHERS

    assert {row.check for row in (*ROWS, *OTHERS)} == {check.id for check in DOCKER_CHECKS}


def test_a_spec_in_a_folder_that_docker_does_not_read_is_not_visible() -> None:
    other = make_cdi(make_cdi_file(path="/srv/cdi/nvidia.yaml"))
    (found,) = outcomes_of(DOCKER_CHECKS, "runtime.docker.cdi", dataclasses.replace(cdi((), spec=True), cdi=other))
    assert found.status == "info"
