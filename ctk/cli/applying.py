"""Applies one plan on behalf of a command: state folder, repair of interrupted runs, journal; decides nothing."""

import os
from typing import TYPE_CHECKING

from ctk.change.plan import Plan
from ctk.change.state import has_unfinished, state_directory
from ctk.cli.app import App
from ctk.result import Message

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.host import Host


def state_of(host: "Host") -> str:
    """The state folder: below --root, unless CTK_STATE_DIR names one."""
    return state_directory("" if host.is_live else host.root, os.environ, os.geteuid())


def repair_interrupted(app: App, state: str, key: str) -> tuple[Message, ...]:
    """Undo what an interrupted run left, before the files are read; cheap when there is none."""
    if not has_unfinished(state):
        return ()
    from ctk.change.journal import Journal
    from ctk.change.recover import repair

    return repair(Journal(state), state, key, command=("ctk", *app.arguments))


def apply_plan(app: App, host: "Host", plan: Plan, *, no_journal: bool = False, verify: bool = True) -> "Applied":
    """Carry a plan out; everything is put back if anything fails."""
    from ctk import __version__
    from ctk.change.apply import apply
    from ctk.change.journal import Journal

    state = state_of(host)
    return apply(
        plan,
        journal=None if no_journal else Journal(state),
        state_directory=state,
        runner=host.run,
        command_line=("ctk", *app.arguments),
        ctk_version=__version__,
        no_verify=not verify,
    )
