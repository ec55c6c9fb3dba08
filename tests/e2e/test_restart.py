"""--restart against real engines, through a stand-in for systemctl that works, fails or hangs; and engines that die."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .cri import CriError
from .daemons import RunningContainerd, RunningDockerd
from .engines import Engine, need_engine
from .life_cycle import HELLO, EngineReport, configure, run_runtime, unconfigure
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]

FILES = {
    "containerd": ("/etc/containerd/config.toml", "# ours\nversion = 2\n"),
    "docker": ("/etc/docker/daemon.json", '{\n  "shutdown-timeout": 5\n}\n'),
}
GENERATIONS = [("containerd", "1.6"), ("containerd", "2"), ("docker", "20.10"), ("docker", "28")]
IDS = [f"{engine}-{generation}" for engine, generation in GENERATIONS]

# A containerd that runs on any file but one that names the runtime; everything else it asks the real one.
DYING_CONTAINERD = """#!/bin/sh
case " $* " in *" config "*|*" --version "*) exec /opt/real/containerd "$@";; esac
if grep -q nvidia /etc/containerd/config.toml /etc/containerd/conf.d/*.toml 2>/dev/null; then
  echo 'level=fatal msg="no luck with this file today"' >&2
  exit 1
fi
exec /opt/real/containerd "$@"
"""


class ManagedHost:
    """A scenario whose one engine is run by the stand-in for systemctl, from the distribution's own unit files."""

    def __init__(self, scenario: Scenario, engine: str) -> None:
        self.scenario = scenario
        self.engine = engine
        self.config, self.text = FILES[engine]
        scenario.host.path("/run/systemd/system").mkdir(parents=True)
        scenario.write("/etc/default/docker", 'DOCKER_OPTS="--bridge=none --iptables=false"\n')
        scenario.write(self.config, self.text)

    def start(self) -> "ManagedHost":
        """Starts the engine, and containerd before docker, as docker's unit wants it."""
        for unit in ("containerd", "docker") if self.engine == "docker" else ("containerd",):
            self.systemctl("start", unit)
        return self

    def systemctl(self, *arguments: str) -> str:
        """What the stand-in prints; it must succeed."""
        done = self.scenario.host.run(["systemctl", *arguments])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @property
    def pid(self) -> int:
        """The engine's main process, 0 when it does not run."""
        return int(self.systemctl("show", self.engine, "-p", "MainPID", "--value"))

    def behave(self, word: str) -> None:
        """Makes the next start, restart or reload fail, hang or take its time."""
        self.scenario.write("/run/stand-in/behaviour", word)

    def asked(self, action: str) -> bool:
        """Whether somebody asked the stand-in for this since the last call."""
        calls = self.scenario.host.path("/run/stand-in/calls")
        lines = calls.read_text().splitlines()
        calls.unlink()
        return any(line.split()[0] == action for line in lines)

    def read(self) -> str:
        """The configuration file as it is now."""
        return self.scenario.host.path(self.config).read_text()

    def run_through_the_entry(self) -> int:
        """Runs a container through the entry named nvidia in the engine that runs now; returns its exit code."""
        scenario = self.scenario
        if self.engine == "containerd":
            daemon = RunningContainerd(scenario.host)
            daemon.load_image(scenario.busybox)
            return daemon.run_pod("nvidia", HELLO).exit_code
        docker = RunningDockerd(scenario.host)
        docker.load_image(scenario.busybox)
        return docker.run_container(*HELLO, runtime="nvidia").exit_code


@pytest.fixture
def make_managed(make_scenario: MakeScenario) -> Callable[[str, str], ManagedHost]:
    """Makes a host whose engine is managed by the stand-in."""

    def make(engine: str, generation: str) -> ManagedHost:
        found = need_engine("dockerd" if engine == "docker" else engine, generation)
        return ManagedHost(make_scenario(found), engine)

    return make


MakeManaged = Callable[[str, str], ManagedHost]


def _restart_of(report: EngineReport) -> Mapping[str, object]:
    found = report.engine["restart"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("engine", "generation"), GENERATIONS, ids=IDS)
def test_restart_brings_the_entry_into_force_and_takes_it_back(
    engine: str, generation: str, make_managed: MakeManaged
) -> None:
    host = make_managed(engine, generation).start()
    first = host.pid
    report = configure(host.scenario, engine, "--restart")
    assert _restart_of(report) == {"required": False, "unit": engine, "done": True}
    assert (host.pid == first) == (engine == "docker")  # docker takes a runtime up on a reload
    assert host.run_through_the_entry() == 7
    assert host.scenario.runtime.creates

    host.asked("restart")
    running = host.pid
    again = configure(host.scenario, engine, "--restart")
    assert _restart_of(again)["done"] is False
    assert host.pid == running
    unconfigure(host.scenario, engine, "--restart")
    assert host.read() == host.text
    assert host.systemctl("is-active", engine) == "active"
    assert host.run_through_the_entry() != 7 if engine == "docker" else _has_no_entry(host)


def _has_no_entry(host: ManagedHost) -> bool:
    try:
        host.run_through_the_entry()
    except CriError as error:
        return 'no runtime for "nvidia"' in str(error)
    return False


@pytest.mark.parametrize("generation", ["20.10", "28"])
def test_dockers_default_runtime_is_back_after_unconfigure(generation: str, make_managed: MakeManaged) -> None:
    # a reload sets a default runtime and never unsets one: only a restart takes it back
    host = make_managed("docker", generation).start()
    daemon = RunningDockerd(host.scenario.host)
    configure(host.scenario, "docker", "--restart", "--set-as-default")
    assert daemon.info()["DefaultRuntime"] == "nvidia"
    unconfigure(host.scenario, "docker", "--restart")
    info = daemon.info()
    assert info["DefaultRuntime"] == "runc"
    assert isinstance(info["Runtimes"], dict)
    assert "nvidia" not in info["Runtimes"]
    assert host.read() == host.text


def test_cdi_needs_a_restart_of_docker_and_gets_it(make_managed: MakeManaged) -> None:
    host = make_managed("docker", "26").start()
    first = host.pid
    configure(host.scenario, "docker", "--restart", "--enable-cdi")
    assert host.pid != first
    assert RunningDockerd(host.scenario.host).info()["CDISpecDirs"] == ["/etc/cdi", "/var/run/cdi"]


def test_status_agrees_with_the_running_engine_only_after_the_restart(make_managed: MakeManaged) -> None:
    host = make_managed("containerd", "2").start()
    time.sleep(2.5)  # the start of a process is known to about a second, and ctk allows for that
    configure(host.scenario, "containerd")
    before = host.scenario.ctk("runtime", "status", "--runtime=containerd").stdout
    assert "restart pending" in before
    host.systemctl("restart", "containerd")
    after = host.scenario.ctk("runtime", "status", "--runtime=containerd").stdout
    assert "restart pending" not in after


@pytest.mark.parametrize(("engine", "generation"), GENERATIONS, ids=IDS)
def test_a_systemctl_that_fails_undoes_the_change(engine: str, generation: str, make_managed: MakeManaged) -> None:
    host = make_managed(engine, generation).start()
    running = host.pid
    host.behave("fail")
    report = run_runtime(host.scenario, "configure", engine, "--restart")
    assert (report.exit_code, report.errors) == (3, ["restart"])
    assert "Failed to connect to bus" in str(report.document["errors"])
    assert host.read() == host.text
    assert host.pid == running


def test_a_slow_systemctl_is_waited_for(make_managed: MakeManaged) -> None:
    host = make_managed("containerd", "1.6").start()
    first = host.pid
    host.behave("slow")
    assert _restart_of(configure(host.scenario, "containerd", "--restart"))["done"] is True
    assert host.pid != first


def test_giving_up_on_a_systemctl_that_hangs_puts_the_file_back(make_managed: MakeManaged) -> None:
    host = make_managed("containerd", "2").start()
    host.behave("hang")
    scenario = host.scenario
    command = [sys.executable, "-m", "ctk", "runtime", "configure", "--runtime=containerd", "--restart", "--json"]
    process = subprocess.Popen(
        scenario.host.command(command), env=scenario.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _wait_until(lambda: host.scenario.host.path("/run/stand-in/calls").read_text().count("restart") > 0)
    assert host.read() != host.text
    _press_control_c_until_it_ends(process)
    assert process.returncode in (130, -signal.SIGINT)
    assert host.read() == host.text
    assert host.systemctl("is-active", "containerd") == "active"
    host.behave("work")
    configure(scenario, "containerd", "--restart")
    assert host.run_through_the_entry() == 7
    unconfigure(scenario, "containerd", "--restart")
    assert host.read() == host.text


def _press_control_c_until_it_ends(process: "subprocess.Popen[bytes]", seconds: float = 30.0) -> None:
    """As a terminal does it: to ctk and to the program that it runs."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        assert time.monotonic() < deadline, "ctk goes on in spite of Ctrl-C"
        ctk = _children(process.pid)
        for pid in [child for inner in ctk for child in _children(inner)] + ctk:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        time.sleep(0.5)
    process.communicate(timeout=5)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("generation", ["1.6", "2"])
def test_an_engine_that_dies_on_the_new_file_comes_back_on_the_old_one(
    generation: str, make_managed: MakeManaged
) -> None:
    host = make_managed("containerd", generation)
    real = host.scenario.host.path("/usr/bin/containerd")
    host.scenario.write("/opt/real/containerd", real.read_bytes()).chmod(0o755)
    real.unlink()
    host.scenario.write("/usr/bin/containerd", DYING_CONTAINERD).chmod(0o755)
    host.start()
    first = host.pid
    report = run_runtime(host.scenario, "configure", "containerd", "--restart")
    assert (report.exit_code, report.errors) == (3, ["restart"])
    assert "no luck with this file today" in str(report.document["errors"])
    assert host.read() == host.text
    assert host.pid not in (0, first)
    daemon = RunningContainerd(host.scenario.host)
    assert daemon.cri_state() == "ok"


def test_an_engine_that_was_down_is_started(make_managed: MakeManaged) -> None:
    host = make_managed("containerd", "2")
    configure(host.scenario, "containerd", "--restart")
    assert host.run_through_the_entry() == 7


def test_without_systemd_nothing_is_changed(make_managed: MakeManaged) -> None:
    host = make_managed("containerd", "2")
    host.scenario.host.path("/run/systemd/system").rmdir()
    report = run_runtime(host.scenario, "configure", "containerd", "--restart")
    assert (report.exit_code, report.errors) == (3, ["no-systemd"])
    assert host.read() == host.text


def test_a_reload_that_docker_refuses_is_not_called_done(make_managed: MakeManaged) -> None:
    host = make_managed("docker", "28").start()
    options = ("--restart", "--force", "reserved-name", "--nvidia-runtime-name=runc")
    report = run_runtime(host.scenario, "configure", "docker", *options)
    assert (report.exit_code, report.errors) == (3, ["restart"])
    assert host.read() == host.text
