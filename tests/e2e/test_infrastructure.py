"""The engines themselves, configured by hand: proof that what the other modules stand on is real."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .daemons import DaemonFailed, RunningContainerd, RunningDockerd
from .engines import Engine, need_engine
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]

HELLO = ("/bin/sh", "-c", "echo hello from $(id -u); exit 7")

NVIDIA_BY_HAND = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
    BinaryName = "/usr/bin/nvidia-container-runtime"
    SystemdCgroup = true
"""


def test_containerd_without_a_file_runs_a_pod_through_runc(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    with RunningContainerd(scenario.host) as daemon:
        assert daemon.cri_state() == "ok"
        daemon.load_image(scenario.busybox)
        result = daemon.run_pod("", HELLO)
    assert (result.exit_code, result.output) == (7, "hello from 0\n")
    assert len(scenario.base.creates) == 2
    assert scenario.runtime.calls == []


def test_containerd_runs_a_pod_through_an_entry_written_by_hand(
    containerd: Engine, make_scenario: MakeScenario
) -> None:
    scenario = make_scenario(containerd)
    scenario.write("/etc/containerd/config.toml", NVIDIA_BY_HAND)
    with RunningContainerd(scenario.host) as daemon:
        assert daemon.cri_state() == "ok"
        daemon.load_image(scenario.busybox)
        result = daemon.run_pod("nvidia", HELLO)
    assert (result.exit_code, result.output) == (7, "hello from 0\n")
    assert len(scenario.runtime.creates) == 2
    assert all("--systemd-cgroup" in call for call in scenario.runtime.creates)


def test_containerd_on_a_broken_file_ends_with_its_reason(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    scenario.write("/etc/containerd/config.toml", "version = 2\n[plugins\n")
    with pytest.raises(DaemonFailed, match=r"toml|expected|unexpected"), RunningContainerd(scenario.host):
        pass


def test_dockerd_runs_a_container_through_an_entry_written_by_hand(
    dockerd: Engine, make_scenario: MakeScenario
) -> None:
    scenario = make_scenario(dockerd)
    scenario.write(
        "/etc/docker/daemon.json",
        '{"runtimes": {"nvidia": {"args": [], "path": "/usr/bin/nvidia-container-runtime"}}}\n',
    )
    with RunningDockerd(scenario.host) as daemon:
        daemon.load_image(scenario.busybox)
        plain = daemon.run_container(*HELLO)
        assert scenario.runtime.creates == []
        through = daemon.run_container(*HELLO, runtime="nvidia")
    assert (plain.exit_code, plain.output) == (7, "hello from 0\n")
    assert (through.exit_code, through.output) == (7, "hello from 0\n")
    assert len(scenario.runtime.creates) == 1


@pytest.mark.parametrize(("unit", "generation"), [("containerd", "2"), ("docker", "20.10")])
def test_the_stand_in_for_systemctl_starts_and_stops_the_real_engine(
    unit: str, generation: str, make_scenario: MakeScenario
) -> None:
    scenario = make_scenario(need_engine("dockerd" if unit == "docker" else unit, generation))
    scenario.write("/etc/default/docker", 'DOCKER_OPTS="--bridge=none --iptables=false"\n')
    run = scenario.host.run
    assert run(["systemctl", "is-active", unit]).stdout == "inactive\n"
    if unit == "docker":
        assert run(["systemctl", "start", "containerd"]).returncode == 0
    assert run(["systemctl", "restart", unit]).returncode == 0
    first = run(["systemctl", "show", unit, "-p", "MainPID", "--value"]).stdout
    assert run(["systemctl", "restart", unit]).returncode == 0
    second = run(["systemctl", "show", unit, "-p", "MainPID", "--value"]).stdout
    assert 0 < int(first) < int(second)
    assert run(["systemctl", "is-active", unit]).returncode == 0
    assert "level=" in run(["journalctl", "-u", unit, "-n", "5", "--no-pager"]).stdout
    assert run(["systemctl", "stop", unit]).returncode == 0
    assert run(["systemctl", "is-active", unit]).returncode == 3


@pytest.mark.parametrize("name", ["/tmp/x", "/usr/lib/x", "/srvx/y", "/boot/x"])
def test_a_file_that_would_stay_on_this_machine_is_refused(name: str, make_scenario: MakeScenario) -> None:
    with pytest.raises(AssertionError, match="is not private"):
        make_scenario(None).write(name, "")
    assert not Path(name).exists()
