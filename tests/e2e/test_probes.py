"""The questions ctk asks a daemon's socket, asked of real daemons of every generation."""

from collections.abc import Callable

from ctk.change.probe import cri_serves, docker_pings, grpc_greets

from .daemons import RunningContainerd, RunningDockerd
from .engines import Engine
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]


def test_containerd_greets_and_serves_the_cri(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    with RunningContainerd(scenario.host) as daemon:
        assert daemon.cri_state() == "ok"
        path = str(daemon.socket)
        assert grpc_greets(path)
        assert cri_serves(path)
        assert not docker_pings(path)


def test_containerd_without_its_cri_plugin_greets_only(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    version = 2 if containerd.generation.startswith("1") else 3
    disabled = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"]
    scenario.write("/etc/containerd/config.toml", f"version = {version}\ndisabled_plugins = {disabled}\n")
    with RunningContainerd(scenario.host) as daemon:
        path = str(daemon.socket)
        assert grpc_greets(path)
        assert not cri_serves(path)


def test_dockerd_pings(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    with RunningDockerd(scenario.host):
        path = str(scenario.host.path("/run/docker.sock"))
        assert docker_pings(path)
        assert not grpc_greets(path)
