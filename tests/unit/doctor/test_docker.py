"""The checks of Docker's file and runtime: one row for each status they can give."""

from typing import Any

import pytest

from ctk.doctor.checks.docker_restart import find_differences
from ctk.doctor.checks.docker_rows import DOCKER_CHECKS
from ctk.doctor.model import FAIL, PASS, SKIP, Outcome
from ctk.facts import Unknown
from ctk.facts.engines import EngineFiles, EngineInstallation, FileFault
from ctk.facts.pci import Pci
from ctk.facts.platform import Platform, Wsl
from ctk.facts.snapshot import Snapshot
from tests.builders import make_flag, make_snapshot, make_system
from tests.cdi_builders import make_cdi
from tests.engine_builders import (
    AFTER,
    DAEMON_JSON,
    FOLDERS,
    docker_host,
    make_containerd,
    make_daemon,
    make_docker,
    make_files,
    make_podman,
    make_runtime,
    no_runtimes,
)
from tests.toolkit_builders import no_tools
from tests.unit.doctor.docker_scene import (
    BARE,
    BASE_ONLY,
    CLOSED_FILES,
    DENIED,
    ELSEWHERE,
    NOTHING,
    NOWHERE,
    ONLY_TOOL,
    WINDOWS,
    bare,
    cdi,
    docker,
    files,
    flags,
    rootless,
)
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

BROKEN = FileFault(DAEMON_JSON, "a comma before the closing brace", 6, 5)
TWICE = FileFault(DAEMON_JSON, "runtimes is there twice, Docker reads only the last", 9, 3, is_fatal=False)
NO_WINDOWS = Platform(wsl=Wsl(True, (), (), None, ()))


ROWS = [
    # -- config-parse
    Row("runtime.docker.config-parse", "good", docker(), "pass", DAEMON_JSON),
    Row(
        "runtime.docker.config-parse",
        "absent",
        docker(config_exists=False, files=no_runtimes(keys=())),
        "pass",
        "defaults",
    ),
    Row(
        "runtime.docker.config-parse",
        "broken",
        docker(files=Unknown("broken"), faults=(BROKEN,)),
        "fail",
        "keeps what it read",
        "docker",
    ),
    Row(
        "runtime.docker.config-parse",
        "at-rest",
        docker(files=Unknown("x"), faults=(BROKEN,), running=False),
        "fail",
        "does not start",
    ),
    Row("runtime.docker.config-parse", "twice", docker(faults=(TWICE,)), "warn", "twice"),
    Row("runtime.docker.config-parse", "closed", docker(**CLOSED_FILES), "unknown", "denied"),
    Row(
        "runtime.docker.config-parse",
        "inside",
        docker_host(make_docker(running=False), system=make_system(container="docker")),
        "skip",
        "host's business",
    ),
    Row("runtime.docker.config-parse", "nested", docker_host(system=make_system(container="docker")), "pass"),
    # -- flag-conflict
    Row("runtime.docker.flag-conflict", "apart", flags("host=fd://"), "pass", "no setting"),
    Row("runtime.docker.flag-conflict", "hosts", flags("host=fd://", keys=("hosts",)), "fail", "'hosts'"),
    Row(
        "runtime.docker.flag-conflict",
        "exec-opts",
        flags("exec-opt=native.cgroupdriver=systemd", keys=("exec-opts",)),
        "fail",
        "'exec-opts'",
    ),
    Row(
        "runtime.docker.flag-conflict",
        "default",
        flags("default-runtime=nvidia", keys=("default-runtime",)),
        "fail",
        "'default-runtime'",
    ),
    Row("runtime.docker.flag-conflict", "bare-flag", flags("debug", keys=("debug",)), "fail", "'debug'"),
    Row("runtime.docker.flag-conflict", "merged", flags("add-runtime=crun=/usr/bin/crun"), "pass", "merges"),
    Row("runtime.docker.flag-conflict", "two-paths", flags("add-runtime=nvidia=/opt/nv"), "warn", "which wins"),
    Row(
        "runtime.docker.flag-conflict",
        "old",
        flags("add-runtime=a=/b", daemon=make_daemon(version="18.06.3")),
        "fail",
        "18.09",
    ),
    Row("runtime.docker.flag-conflict", "closed", docker(**CLOSED_FILES), "unknown"),
    # -- registered
    Row("runtime.docker.registered", "file", docker(), "pass"),
    Row(
        "runtime.docker.registered",
        "flag",
        docker(**BARE, flags=(make_flag(name="add-runtime", value="nvidia=/usr/bin/x"),)),
        "pass",
    ),
    Row("runtime.docker.registered", "other-name", files(runtimes=(make_runtime("gpu"),)), "pass"),
    Row("runtime.docker.registered", "missing", bare(), "fail", "only docker run --gpus works", "docker"),
    Row("runtime.docker.registered", "no-hook", bare(toolkit=BASE_ONLY), "fail", "registers no runtime of NVIDIA's"),
    Row("runtime.docker.registered", "other-file", docker(**BARE, unread=(ELSEWHERE,)), "fail", "does not read"),
    Row("runtime.docker.registered", "lost", docker(files=no_runtimes()), "warn", "lost at the next start"),
    Row("runtime.docker.registered", "cdi", cdi(), "info", "none is needed"),
    Row("runtime.docker.registered", "cdi-by-spec", cdi(None, spec=True), "info", "none is needed"),
    Row("runtime.docker.registered", "cdi-empty", cdi(()), "fail"),
    Row("runtime.docker.registered", "cdi-hidden", cdi(None, cdi=DENIED), "unknown"),
    Row(
        "runtime.docker.registered",
        "other-engine",
        docker_host(engines=(make_docker(**BARE), make_containerd())),
        "info",
        "containerd",
    ),
    Row(
        "runtime.docker.registered",
        "podman",
        docker_host(engines=(make_docker(**BARE), make_podman()), cdi=make_cdi()),
        "info",
        "Podman",
    ),
    Row("runtime.docker.registered", "at-rest", docker(**BARE, running=False, enabled=False), "skip", "does not run"),
    Row("runtime.docker.registered", "no-toolkit", bare(toolkit=no_tools()), "skip", "no toolkit"),
    Row("runtime.docker.registered", "only-tool", bare(toolkit=ONLY_TOOL), "skip", "no runtime"),
    Row("runtime.docker.registered", "no-gpu", bare(pci=Pci()), "skip", "no NVIDIA GPU"),
    Row("runtime.docker.registered", "bus-hidden", bare(pci=DENIED), "unknown"),
    Row("runtime.docker.registered", "closed", docker(**CLOSED_FILES), "unknown"),
    Row("runtime.docker.registered", "wsl", bare(system=make_system(wsl=2), pci=None, platform=WINDOWS), "fail"),
    # -- binary
    Row("runtime.docker.binary", "there", docker(), "pass"),
    Row(
        "runtime.docker.binary",
        "gone",
        files(runtimes=(make_runtime(fault="/x does not exist"),)),
        "fail",
        "/x does not exist",
        "docker",
    ),
    Row(
        "runtime.docker.binary",
        "gone-default",
        files(runtimes=(make_runtime(fault="/x is gone"),), default_runtime="nvidia"),
        "fail",
        "no container starts",
    ),
    Row("runtime.docker.binary", "none", bare(), "skip"),
    Row("runtime.docker.binary", "closed", docker(**CLOSED_FILES), "unknown"),
    # -- default
    Row("runtime.docker.default", "stock", docker(), "info", "runc"),
    Row(
        "runtime.docker.default",
        "flag",
        docker(flags=(make_flag(name="default-runtime", value="nvidia"),)),
        "info",
        "nvidia",
    ),
    Row(
        "runtime.docker.default",
        "dangling",
        files(default_runtime="crun", dangling_default="crun"),
        "fail",
        "no such runtime",
    ),
    Row("runtime.docker.default", "closed", docker(**CLOSED_FILES), "unknown"),
    # -- restart-needed
    Row("runtime.docker.restart-needed", "agrees", docker(), "pass", "agrees"),
    Row(
        "runtime.docker.restart-needed",
        "runtime",
        docker(daemon=make_daemon("runc")),
        "fail",
        "a reload is pending: runtimes",
    ),
    Row("runtime.docker.restart-needed", "cdi", files(cdi_enabled=True), "fail", "a restart is pending: features.cdi"),
    Row("runtime.docker.restart-needed", "newer-but-equal", files(changed_at=AFTER), "pass", "agrees"),
    Row(
        "runtime.docker.restart-needed",
        "by-time",
        docker(daemon=DENIED, files=make_files(changed_at=AFTER)),
        "warn",
        "denied",
    ),
    Row("runtime.docker.restart-needed", "older", docker(daemon=DENIED), "pass", "older"),
    Row("runtime.docker.restart-needed", "no-start", docker(daemon=DENIED, running_since=DENIED), "unknown"),
    Row("runtime.docker.restart-needed", "not-asked", docker(daemon=None, running_since=None), "unknown", "not asked"),
    Row("runtime.docker.restart-needed", "at-rest", docker(running=False), "skip"),
    Row("runtime.docker.restart-needed", "hidden", docker(running=NOWHERE), "unknown"),
    Row("runtime.docker.restart-needed", "closed", docker(**CLOSED_FILES), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(DOCKER_CHECKS, row)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(NOTHING, id="no-gpu"),
        pytest.param({**NOTHING, "system": make_system(wsl=2), "pci": None, "platform": NO_WINDOWS}, id="wsl"),
        pytest.param({"system": make_system(container="podman")}, id="inside-a-container"),
    ],
)
def test_broken_docker_is_nobodys_business_where_no_gpu_is(changes: dict[str, Any]) -> None:
    item = make_docker(files=Unknown("x"), faults=(BROKEN,), running=False)
    host = docker_host(item, **changes)
    found = [outcome for check in DOCKER_CHECKS for outcome in outcomes_of(DOCKER_CHECKS, check.id, host)]
    assert {outcome.status for outcome in found} == {SKIP}


def only(identity: str, host: Snapshot) -> Outcome:
    (outcome,) = outcomes_of(DOCKER_CHECKS, identity, host)
    return outcome


def commands(outcome: Outcome) -> list[str]:
    assert outcome.remedy is not None
    return [command.text for command in outcome.remedy.commands]


def test_a_reload_is_enough_for_runtimes_and_stops_nothing() -> None:
    found = only("runtime.docker.restart-needed", docker(daemon=make_daemon("runc")))
    assert commands(found) == ["systemctl reload docker"]
    assert found.remedy is not None
    assert not found.remedy.commands[0].stops_containers


@pytest.mark.parametrize(("live", "stops"), [(False, True), (True, False)])
def test_a_restart_says_whether_it_stops_containers(live: bool, stops: bool) -> None:
    host = docker(files=make_files(cdi_enabled=True), daemon=make_daemon(live_restore=live))
    found = only("runtime.docker.restart-needed", host)
    assert found.remedy is not None
    (command,) = found.remedy.commands
    assert (command.text, command.stops_containers) == ("systemctl restart docker", stops)
    assert ("stops all containers" in found.remedy.summary) is stops


@pytest.mark.parametrize(
    ("item", "command"),
    [
        (make_docker(**BARE), "ctk runtime configure --runtime=docker"),
        (
            make_docker(**BARE, config_path="/srv/d.json", config_origin="docker.service"),
            "ctk runtime configure --runtime=docker --config=/srv/d.json",
        ),
        (
            rootless(**BARE),
            "ctk runtime configure --runtime=docker --config=/home/alice/.config/docker/daemon.json",
        ),
    ],
)
def test_remedy_names_the_file_that_this_docker_reads(item: EngineInstallation, command: str) -> None:
    assert commands(only("runtime.docker.registered", docker_host(item)))[0] == command


def test_a_users_docker_is_restarted_by_its_user() -> None:
    (found,) = outcomes_of(
        DOCKER_CHECKS, "runtime.docker.restart-needed", docker_host(rootless(daemon=make_daemon("runc")))
    )
    assert commands(found) == ["systemctl --user reload docker"]
    assert found.remedy is not None
    assert not found.remedy.commands[0].needs_root


@pytest.mark.parametrize(
    ("changes", "daemon", "keys"),
    [
        ({}, {}, []),
        ({"default_runtime": "nvidia"}, {}, ["default-runtime"]),
        ({}, {"default_runtime": "nvidia"}, ["default-runtime"]),
        ({"cgroup_driver": "cgroupfs"}, {}, ["exec-opts"]),
        ({"cgroup_driver": "cgroupfs"}, {"cgroup_driver": None}, []),
        ({"live_restore": True}, {}, ["live-restore"]),
        ({"cdi_enabled": False}, {"cdi_directories": FOLDERS}, ["features.cdi"]),
        ({"cdi_enabled": True}, {"cdi_directories": None}, []),
        ({"cdi_directories": ("/srv/cdi",)}, {"cdi_directories": FOLDERS}, ["cdi-spec-dirs"]),
        ({"cdi_directories": ("/srv/cdi",)}, {}, []),
        ({"runtimes": (make_runtime(path="/opt/x"),)}, {}, ["runtimes"]),
        ({"runtimes": (make_runtime("kata", path=None, kind="io.containerd.kata.v2"),)}, {}, ["runtimes"]),
    ],
)
def test_file_and_daemon_are_compared_by_what_they_say(
    changes: dict[str, Any], daemon: dict[str, Any], keys: list[str]
) -> None:
    item = make_docker(files=make_files(**changes), daemon=make_daemon(**daemon))
    assert isinstance(item.files, EngineFiles)
    assert not isinstance(item.daemon, Unknown | None)
    assert [found.key for found in find_differences(item, item.files, item.daemon)] == keys


def test_the_healthy_docker_is_healthy() -> None:
    found = [outcome for check in DOCKER_CHECKS for outcome in outcomes_of(DOCKER_CHECKS, check.id, docker_host())]
    assert {outcome.status for outcome in found} <= {PASS, "info", SKIP}


def test_blind_docker_is_no_failure() -> None:
    item = make_docker(files=DENIED, daemon=DENIED, running=NOWHERE, enabled=DENIED, listens=DENIED, version=DENIED)
    found = [o for check in DOCKER_CHECKS for o in outcomes_of(DOCKER_CHECKS, check.id, make_snapshot(engines=(item,)))]
    assert not {outcome.status for outcome in found} & {FAIL, "warn"}
