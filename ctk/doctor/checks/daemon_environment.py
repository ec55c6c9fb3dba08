"""Whether the daemons of engines run with variables that lead runtimes and hooks astray: names alone, no values."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import nothing_to_judge
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, passed, skipped, unseen, warned
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.loader import DaemonVariables
    from ctk.facts.snapshot import Snapshot


def check_daemon_environment(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Every runtime and hook inherits them: another library path, hidden devices, another configuration."""
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    loader = snapshot.loader
    daemons = loader if isinstance(loader, Unknown) else loader.daemons
    if isinstance(daemons, Unknown):
        return unseen(daemons)
    if not daemons:
        return skipped("no engine of the system's own runs")
    return tuple(_judge(snapshot, daemon) for daemon in daemons)


def _judge(snapshot: "Snapshot", daemon: "DaemonVariables") -> Outcome:
    if isinstance(daemon.names, Unknown):
        return unseen(daemon.names, daemon.engine)
    if not daemon.names:
        return passed(f"{daemon.engine} runs without variables that mislead its runtimes", subject=daemon.engine)
    unit = _unit_of(snapshot, daemon)
    evidence = (Evidence(name, f"/proc/{daemon.pid}/environ") for name in daemon.names[:6])
    return warned(
        f"{daemon.engine} runs with {', '.join(daemon.names[:3])}: its runtimes and hooks inherit that",
        *evidence,
        subject=daemon.engine,
        remedy=Remedy(
            "Take it out of the unit, its drop-ins and its environment files, and start the daemon anew",
            (
                Command(f"systemctl cat {unit} | grep -i environment", needs_root=False),
                Command("systemctl daemon-reload"),
                Command(f"systemctl restart {unit}", restarts=(unit,), stops_containers=daemon.engine == "docker"),
            ),
        ),
    )


def _unit_of(snapshot: "Snapshot", daemon: "DaemonVariables") -> str:
    engines = () if isinstance(snapshot.engines, Unknown) else snapshot.engines
    found = next((engine.unit for engine in engines if engine.pid == daemon.pid and engine.unit), None)
    return found or f"{daemon.engine}.service"
