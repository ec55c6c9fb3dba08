"""ctk info beside real, running engines: the file they were given, since when, their socket and version."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from .daemons import RunningContainerd, RunningDockerd
from .engines import Engine
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]


def _find(scenario: Scenario, engine: str, installation: str) -> dict[str, object]:
    data = scenario.ctk_json("info", "--no-redact")["data"]
    assert isinstance(data, dict)
    engines = [item for item in data["engines"] if (item["engine"], item["installation"]) == (engine, installation)]
    assert len(engines) == 1, data["engines"]
    found = engines[0]
    assert isinstance(found, dict)
    return found


def _assert_started_lately(found: dict[str, object]) -> None:
    since = datetime.fromisoformat(str(found["running_since"]))
    assert abs((datetime.now(UTC) - since).total_seconds()) < 120


def test_running_containerd_and_the_file_it_was_given(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    scenario.write("/etc/other/containerd.toml", 'version = 2\nimports = ["more/*.toml"]\n')
    scenario.write("/etc/other/more/1.toml", "version = 2\n")
    with RunningContainerd(scenario.host, ["--config", "/etc/other/containerd.toml"]):
        found = _find(scenario, "containerd", "system")
    assert found["config_path"] == "/etc/other/containerd.toml"
    assert found["config_origin"] == f"command line of pid {found['pid']} (--config)"
    assert found["drop_ins"] == ["/etc/other/more/1.toml"]
    assert found["drop_in_directory"] == "/etc/other/more"
    assert found["running"] is True
    assert str(found["version"]).startswith(containerd.generation)
    _assert_started_lately(found)


def test_running_dockerd_and_the_file_it_was_given(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    scenario.write("/srv/daemon.json", "{}\n")
    with RunningDockerd(scenario.host, ["--config-file=/srv/daemon.json"], own_containerd=True):
        found = _find(scenario, "docker", "system")
        own = _find(scenario, "containerd", "docker")
    assert found["config_path"] == "/srv/daemon.json"
    assert found["config_exists"] is True
    assert str(found["config_origin"]).startswith(f"command line of pid {found['pid']} (--config-file")
    assert found["running"] is True
    assert isinstance(found["version"], str)
    _assert_started_lately(found)
    assert own["running"] is True
    assert own["used_by"] == ["docker"]
    assert own["config_path"] == "/var/run/docker/containerd/containerd.toml"


def test_stopped_engine_is_found_by_its_files(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    found = _find(scenario, "containerd", "system")
    assert (found["running"], found["pid"]) == (False, None)
    assert found["config_path"] == "/etc/containerd/config.toml"


def test_whole_discovery_is_quick_beside_real_engines(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    begin = time.monotonic()
    assert scenario.ctk("info").returncode == 0
    assert time.monotonic() - begin < 20
