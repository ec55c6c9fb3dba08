"""ctk and real dockerd of two generations and one between: configure, start, run, reload, take back, start again."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from .daemons import RunningDockerd
from .engines import DOCKERD_GENERATIONS, Engine, need_engine
from .life_cycle import HELLO, configure, read_corpus, run_runtime, snapshot_times, unconfigure
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]

CONFIG = "/etc/docker/daemon.json"
FOLDER = "/etc/docker"
RUNTIME = "/usr/bin/nvidia-container-runtime"
REFUSED_BY_OLD = ("bom.json",)  # Docker takes a byte order mark from 23 on

# What `docker info` tells of the configuration, apart from the runtimes, which are compared one by one.
TOLD = (
    "CDISpecDirs",
    "CgroupDriver",
    "Debug",
    "DefaultAddressPools",
    "DefaultRuntime",
    "DockerRootDir",
    "Driver",
    "InitBinary",
    "Labels",
    "LiveRestoreEnabled",
    "LoggingDriver",
    "RegistryConfig",
    "SecurityOptions",
)

CDI_SPEC = {
    "cdiVersion": "0.5.0",
    "kind": "vendor.example.com/device",
    "devices": [{"name": "one", "containerEdits": {"env": ["CTK_CDI=injected"]}}],
}


def _corpus_cases() -> Sequence[object]:
    cases = []
    for generation in DOCKERD_GENERATIONS:
        for path in read_corpus("docker", "*.json"):
            if generation != "20.10" or path.name not in REFUSED_BY_OLD:
                cases.append(pytest.param(generation, path, id=f"{generation}-{path.stem}"))
    return cases


def _told(daemon: RunningDockerd) -> dict[str, object]:
    """The daemon's own account of what it was configured to be, without the entry named nvidia."""
    info = daemon.info()
    runtimes = info["Runtimes"]
    assert isinstance(runtimes, dict)
    told = {name: _in_order(info.get(name)) for name in TOLD}
    return told | {f"runtime {name}": entry for name, entry in runtimes.items() if name != "nvidia"}


def _in_order(value: object) -> object:
    """A list in a fixed order: docker tells labels in whatever order its map has."""
    return sorted(value, key=str) if isinstance(value, list) else value


def _read_files(scenario: Scenario, folder: str = FOLDER) -> dict[str, bytes]:
    """The files of a folder, without the key that dockerd 20.10 makes for itself beside its configuration."""
    return {name: data for name, data in scenario.read_tree(folder).items() if name != f"{folder}/key.json"}


def _has_runtime(daemon: RunningDockerd) -> bool:
    runtimes = daemon.info()["Runtimes"]
    assert isinstance(runtimes, dict)
    return "nvidia" in runtimes


def _run_life_cycle(scenario: Scenario, folder: str = FOLDER, flags: tuple[str, ...] = (), *options: str) -> None:
    """The whole way, from the files as they are and back to them."""
    files = _read_files(scenario, folder)
    report = configure(scenario, "docker", *options)
    assert report.actions
    times = snapshot_times(scenario, folder)
    assert configure(scenario, "docker", *options).actions == {}
    assert snapshot_times(scenario, folder) == times

    with RunningDockerd(scenario.host, flags) as daemon:
        configured = _told(daemon)
        daemon.load_image(scenario.busybox)
        result = daemon.run_container(*HELLO, runtime="nvidia")
    assert (result.exit_code, result.output) == (7, "hello from 0\n")
    assert len(scenario.runtime.creates) == 1

    unconfigure(scenario, "docker", *options)
    assert _read_files(scenario, folder) == files
    with RunningDockerd(scenario.host, flags) as daemon:
        assert _told(daemon) == configured
        assert not _has_runtime(daemon)


def test_a_host_without_a_file(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    _run_life_cycle(scenario)
    assert not scenario.host.path(CONFIG).exists()


@pytest.mark.parametrize(("generation", "path"), _corpus_cases())
def test_a_file_as_people_have_it(generation: str, path: Path, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(need_engine("dockerd", generation))
    scenario.write(CONFIG, path.read_bytes())
    _run_life_cycle(scenario)


def test_a_file_elsewhere_named_by_a_flag(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    wrapper = "/opt/site/bin/gpu-runtime"
    scenario.write(wrapper, scenario.runtime.binary.read_bytes()).chmod(0o755)
    scenario.write("/opt/site/daemon.json", read_corpus("docker", "rich.json")[0].read_bytes())
    options = ("--config", "/opt/site/daemon.json", "--executable-path", "/usr/sbin/dockerd", "--runtime-path", wrapper)
    _run_life_cycle(scenario, "/opt/site", ("--config-file", "/opt/site/daemon.json"), *options)
    assert _read_files(scenario) == {}


def test_the_default_runtime_is_changed_and_given_back(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    scenario.write(CONFIG, read_corpus("docker", "default-crun.json")[0].read_bytes())
    files = _read_files(scenario)
    configure(scenario, "docker", "--set-as-default")
    with RunningDockerd(scenario.host) as daemon:
        assert daemon.info()["DefaultRuntime"] == "nvidia"
        daemon.load_image(scenario.busybox)
        assert daemon.run_container(*HELLO).exit_code == 7
    assert len(scenario.runtime.creates) == 1
    unconfigure(scenario, "docker")
    assert _read_files(scenario) == files
    with RunningDockerd(scenario.host) as daemon:
        assert daemon.info()["DefaultRuntime"] == "crun"


@pytest.mark.parametrize("generation", ["26", "28"])
def test_cdi_is_switched_on_and_works_beside_other_features(generation: str, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(need_engine("dockerd", generation))
    scenario.write("/etc/cdi/vendor.json", json.dumps(CDI_SPEC))
    scenario.write(CONFIG, read_corpus("docker", "features.json")[0].read_bytes())
    files = _read_files(scenario)
    configure(scenario, "docker", "--enable-cdi")
    assert json.loads(_read_files(scenario)[CONFIG])["features"] == {"buildkit": True, "cdi": True}
    with RunningDockerd(scenario.host) as daemon:
        daemon.load_image(scenario.busybox)
        result = daemon.run_container("/bin/env", devices=("vendor.example.com/device=one",))
    assert result.exit_code == 0, result.output
    assert "CTK_CDI=injected" in result.output
    unconfigure(scenario, "docker")
    assert _read_files(scenario) == files


def test_a_running_daemon_takes_the_entry_up_on_a_reload(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    scenario.write(CONFIG, read_corpus("docker", "other-runtimes.json")[0].read_bytes())
    with RunningDockerd(scenario.host) as daemon:
        daemon.load_image(scenario.busybox)
        configure(scenario, "docker")
        assert not _has_runtime(daemon)
        daemon.send(signal.SIGHUP)
        _wait_until(lambda: _has_runtime(daemon))
        assert daemon.run_container(*HELLO, runtime="nvidia").exit_code == 7
        assert len(scenario.runtime.creates) == 1
        unconfigure(scenario, "docker")
        daemon.send(signal.SIGHUP)
        _wait_until(lambda: not _has_runtime(daemon))


def _wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the daemon did not take the change up"
        time.sleep(0.1)


def test_a_name_that_docker_reserves_is_refused(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    scenario.write(CONFIG, read_corpus("docker", "log-options.json")[0].read_bytes())
    files, times = _read_files(scenario), snapshot_times(scenario, FOLDER)
    report = run_runtime(scenario, "configure", "docker", "--nvidia-runtime-name=runc")
    assert (report.exit_code, report.errors) == (3, ["reserved-name"])
    assert (_read_files(scenario), snapshot_times(scenario, FOLDER)) == (files, times)


def test_what_the_daemon_itself_refuses_is_left_alone(dockerd: Engine, make_scenario: MakeScenario) -> None:
    # 20.10 cannot be asked, and reads only a file's first value; ctk does not
    old = dockerd.generation == "20.10"
    text = '{"debug": true}, ' if old else '{"debug": true, "no-such-directive": 1}'
    scenario = make_scenario(dockerd)
    scenario.write(CONFIG, text)
    files = _read_files(scenario)
    assert run_runtime(scenario, "configure", "docker").exit_code == 3
    assert _read_files(scenario) == files
