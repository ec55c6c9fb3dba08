"""Applies one plan on behalf of a command: repair of interrupted runs, journal, a second look; decides nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ctk.change.state import has_unfinished
from ctk.cli.app import App
from ctk.cli.paths import journal_of, state_of
from ctk.errors import BusyFault
from ctk.result import Message

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.change.plan import Plan
    from ctk.host import Host

ATTEMPTS = 30  # how often a plan is made again when another run changed the file meanwhile
Made = TypeVar("Made")
Done = TypeVar("Done")


def repair_interrupted(app: App, host: "Host", key: str) -> tuple[Message, ...]:
    """Undo what an interrupted run left, before the files are read; cheap when there is none."""
    state = state_of(host)
    if not has_unfinished(state):
        return ()
    from ctk.change.recover import repair

    return repair(journal_of(host), state, key, command=("ctk", *app.arguments))


def until_unmoved(make: Callable[[], Made], carry_out: Callable[[Made], Done]) -> tuple[Made, Done]:
    """Make a plan and carry it out; make it anew if another run changed a file in between. Raises BusyFault."""
    for attempt in range(ATTEMPTS):
        made = make()
        try:
            return made, carry_out(made)
        except BusyFault as error:
            if error.code != "changed" or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")  # the loop returns or raises


def apply_plan(app: App, host: "Host", plan: "Plan", *, no_journal: bool, no_verify: bool) -> "Applied":
    """Carry a plan out; everything is put back if anything fails."""
    from ctk import __version__
    from ctk.change.apply import apply

    return apply(
        plan,
        journal=None if no_journal else journal_of(host),
        state_directory=state_of(host),
        runner=host.run,
        command_line=("ctk", *app.arguments),
        ctk_version=__version__,
        no_verify=no_verify,
    )
