"""Restarting an engine: a real daemon on a real socket, started by a stand-in for systemctl."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctk.change.plan import CommandOutput, RestartRequest
from ctk.change.probe import cri_serves, docker_pings, grpc_greets
from ctk.change.restart import restart, unit_log
from ctk.errors import RestartFault
from tests.unit.change import engine_stand_in
from tests.unit.change.scene import NEW, OLD, QUICK, Scene

pytestmark = [pytest.mark.real, pytest.mark.long]  # daemons that die, hang and lie take seconds
PROGRAM = str(engine_stand_in.__file__)


class Engine:
    """The scene's file as the configuration of a daemon with a socket, and a folder of stand-in programs."""

    def __init__(self, scene: Scene, protocol: str) -> None:
        self.folder = scene.folder / "stand-in"
        self.folder.mkdir()
        self.socket = str(scene.folder / "e.sock")
        self.request = RestartRequest("engine.service", "restart", self.socket, protocol, 1.0)
        command = [sys.executable, "-IS", PROGRAM, "serve", str(scene.file), self.socket, protocol]
        (self.folder / "daemon").write_text("\n".join(command))
        scene.runner = self.run

    def run(self, argv: tuple[str, ...], timeout: float) -> CommandOutput:
        """What the command line's runner does, with the stand-in for systemctl and a log in a file."""
        if argv[0] == "journalctl":
            lines = (self.folder / "log").read_text().splitlines()[-int(argv[4]) :]
            return CommandOutput(argv, 0, "\n".join(lines), "")
        assert argv[0] == "systemctl"
        command = [sys.executable, "-IS", PROGRAM, "systemctl", str(self.folder), *argv[1:]]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return CommandOutput(argv, None, "", "", f"no answer within {timeout:g} s")
        return CommandOutput(argv, ended.returncode, ended.stdout, ended.stderr)

    def behave(self, how: str) -> None:
        (self.folder / "behaviour").write_text(how)

    def calls(self) -> list[str]:
        lines = (self.folder / "calls").read_text().splitlines()
        return [line for line in lines if not line.startswith("is-active")]

    def start(self) -> None:
        assert restart(self.request, self.run, QUICK, need_cri=False).done


BOTH = pytest.mark.parametrize("engine", ["docker", "grpc"], indirect=True)
GRPC = pytest.mark.parametrize("engine", ["grpc"], indirect=True)


@pytest.fixture
def engine(scene: Scene, request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = Engine(scene, getattr(request, "param", "docker"))
    yield made
    engine_stand_in.stop(made.folder)


@BOTH
def test_restart_waits_until_the_engine_answers(scene: Scene, engine: Engine) -> None:
    applied = scene.apply(scene.plan(restart=engine.request))
    assert applied.restart_done
    assert scene.file.read_bytes() == NEW
    assert engine.calls() == ["restart engine.service"]
    probe = docker_pings if engine.request.protocol == "docker" else grpc_greets
    assert probe(engine.socket)
    assert probe(f"unix://{engine.socket}")


@BOTH
@pytest.mark.parametrize("fault", ["broken", "short-lived"])
def test_an_engine_that_dies_on_the_new_file_gets_the_old_one_back_and_runs(
    scene: Scene, engine: Engine, fault: str
) -> None:
    engine.start()
    with pytest.raises(RestartFault) as caught:
        scene.apply(scene.plan(scene.change(OLD, fault.encode()), restart=engine.request))
    assert "engine.service has failed" in caught.value.message or "no answer" in caught.value.message
    assert "last lines of its log:\n  level=fatal msg=" in caught.value.message
    assert "put back" in caught.value.hint
    assert "answers again" in caught.value.hint
    assert scene.file.read_bytes() == OLD
    assert scene.states() == ["undone"]
    assert restart(engine.request, engine.run, QUICK).done
    assert "reset-failed engine.service" in engine.calls()


def test_an_engine_that_does_not_come_back_with_the_old_file_either_is_said(scene: Scene, engine: Engine) -> None:
    scene.file.write_bytes(b"broken, too")
    with pytest.raises(RestartFault) as caught:
        scene.apply(scene.plan(scene.change(b"broken, too", b"broken"), restart=engine.request))
    assert "does not come back with them either" in caught.value.hint
    assert "systemctl status engine.service" in caught.value.hint
    assert scene.file.read_bytes() == b"broken, too"


def test_systemctl_that_fails_is_quoted_and_the_old_file_put_back(scene: Scene, engine: Engine) -> None:
    engine.start()
    engine.behave("fail")
    with pytest.raises(RestartFault, match="Unit not found"):
        scene.apply(scene.plan(restart=engine.request))
    assert scene.file.read_bytes() == OLD


def test_systemctl_that_hangs_has_a_deadline(scene: Scene, engine: Engine) -> None:
    engine.start()
    engine.behave("hang")
    begun = time.monotonic()
    outcome = restart(engine.request, engine.run, QUICK._replace(command=0.5), need_cri=False)
    assert time.monotonic() - begun < 5
    assert not outcome.done
    assert "no answer within 0.5 s" in outcome.reason


def test_a_reload_does_not_restart(scene: Scene, engine: Engine) -> None:
    engine.start()
    scene.apply(scene.plan(restart=engine.request._replace(action="reload")))
    assert engine.calls()[1:] == ["reload engine.service"]


def test_a_restart_without_a_change_is_possible_and_reported(scene: Scene, engine: Engine) -> None:
    applied = scene.apply(scene.plan(scene.change(OLD, OLD), restart=engine.request))
    assert (applied.applied, applied.restart_done) == (False, True)
    engine.behave("fail")
    with pytest.raises(RestartFault) as caught:
        scene.apply(scene.plan(scene.change(OLD, OLD), restart=engine.request))
    assert caught.value.hint == "No file was changed."


@GRPC
def test_containerd_that_loses_its_cri_plugin_gets_the_old_file_back(scene: Scene, engine: Engine) -> None:
    engine.start()
    assert cri_serves(engine.socket)
    with pytest.raises(RestartFault, match="its CRI service, which worked before, does not answer"):
        scene.apply(scene.plan(scene.change(OLD, b"no-cri"), restart=engine.request))
    assert scene.file.read_bytes() == OLD
    assert cri_serves(engine.socket)


@GRPC
def test_an_engine_without_cri_before_needs_none_after(scene: Scene, engine: Engine) -> None:
    scene.file.write_bytes(b"no-cri")
    engine.start()
    assert scene.apply(scene.plan(scene.change(b"no-cri", b"no-cri 2"), restart=engine.request)).restart_done


def test_the_log_of_a_unit_is_its_last_lines_or_nothing() -> None:
    long = "\n".join(str(number) for number in range(50))
    seen = []

    def runner(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
        seen.append(shlex.join(argv))
        return CommandOutput(argv, 0, long, "")

    assert unit_log("docker.service", runner).split("\n") == [str(number) for number in range(30, 50)]
    assert seen == ["journalctl -u docker.service -n 20 --no-pager -o cat"]
    assert unit_log("x", lambda argv, timeout: CommandOutput(argv, 1, "no", "")) == ""


def test_a_silent_or_absent_socket_is_no_answer(tmp_path: Path) -> None:
    assert not docker_pings(str(tmp_path / "none"))
    assert not grpc_greets(str(tmp_path / ("x" * 200)))
