"""Restarts or reloads an engine through systemd and waits until it serves again; knows no files."""

import time

from ctk.change.plan import RestartRequest, Runner
from ctk.change.probe import answers, cri_serves, docker_has
from ctk.record import Record

LOG_LINES = 20


class Pace(Record):
    """How long to wait, in seconds. A stop may take systemd's 90 s (DefaultTimeoutStopSec), then comes the start."""

    command: float = 120.0
    poll: float = 0.1
    confirm: float = 0.5
    ask_unit: float = 1.0


PACE = Pace()


class Restarted(Record):
    """done, or the reason why the engine does not serve."""

    done: bool
    reason: str = ""


def restart(request: RestartRequest, runner: Runner, pace: Pace = PACE, *, need_cri: bool | None = None) -> Restarted:
    """Run systemctl, then wait until the engine answers on its socket. Never raises for what the engine does.

    need_cri: whether a gRPC engine must serve the CRI too; None = if it does so now.
    """
    if need_cri is None:
        need_cri = serves_cri(request)
    argv = ("systemctl", request.action, request.unit)
    output = runner(argv, pace.command)
    if output.returncode != 0:
        said = output.reason or output.stderr.strip() or output.stdout.strip() or f"exit status {output.returncode}"
        return Restarted(False, f"{' '.join(argv)}: {said}")
    return _wait(request, runner, pace, need_cri)


def serves_cri(request: RestartRequest) -> bool:
    """Whether a gRPC engine serves the CRI now: containerd comes up without its CRI plugin when that cannot load."""
    return request.protocol == "grpc" and cri_serves(request.socket)


def restart_again(request: RestartRequest, runner: Runner, pace: Pace = PACE, *, need_cri: bool) -> Restarted:
    """The same after the old file was put back; a full restart, and without systemd's limit on starts in a row."""
    runner(("systemctl", "reset-failed", request.unit), pace.command)
    plain = request._replace(action="restart", runtimes=(), default_runtime="")
    return restart(plain, runner, pace, need_cri=need_cri)


def _wait(request: RestartRequest, runner: Runner, pace: Pace, need_cri: bool) -> Restarted:
    """Two answers some time apart: a daemon may serve for a moment and then die on its configuration."""
    deadline = time.monotonic() + request.timeout_seconds
    ask_unit_at = time.monotonic() + pace.ask_unit
    while True:
        if _is_up(request, need_cri):
            time.sleep(pace.confirm)
            if _is_up(request, need_cri):
                return Restarted(True)
        now = time.monotonic()
        if now >= deadline:
            return Restarted(False, _missing(request, need_cri))
        if now >= ask_unit_at:
            if _has_failed(request.unit, runner):
                return Restarted(False, f"{request.unit} has failed")
            ask_unit_at = now + pace.ask_unit
        time.sleep(pace.poll)


def _is_up(request: RestartRequest, need_cri: bool) -> bool:
    if not answers(request.socket, request.protocol) or (need_cri and not cri_serves(request.socket)):
        return False
    asked = request.protocol == "docker" and (request.runtimes or request.default_runtime)
    return not asked or docker_has(request.socket, request.runtimes, request.default_runtime)


def _missing(request: RestartRequest, need_cri: bool) -> str:
    within = f"within {request.timeout_seconds:g} s"
    if need_cri and answers(request.socket, request.protocol):
        return f"its CRI service, which worked before, does not answer on {request.socket} {within}"
    if answers(request.socket, request.protocol):
        return f"it answers on {request.socket}, but has not taken the new configuration up {within}"
    return f"no answer on {request.socket} {within}"


def _has_failed(unit: str, runner: Runner) -> bool:
    return runner(("systemctl", "is-active", unit), 5.0).stdout.strip() == "failed"


def unit_log(unit: str, runner: Runner) -> str:
    """The last lines of the unit's log, "" where there is none to be had."""
    output = runner(("journalctl", "-u", unit, "-n", str(LOG_LINES), "--no-pager", "-o", "cat"), 5.0)
    lines = output.stdout.splitlines() if output.returncode == 0 else []
    return "\n".join(lines[-LOG_LINES:])
