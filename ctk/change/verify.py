"""Asks the engine what it makes of its files before and after a change, for the plan's judge; writes nothing."""

from ctk.change.plan import CommandOutput, EngineQuery, Plan, Runner
from ctk.record import Record


class Verified(Record):
    """How the result was proved.

    method: config-dump, crio-config, dockerd-validate; parse = only ctk's own parsing and the read-back of the bytes;
    none = the user wanted none. result is passed or not-asked. detail says why the engine was not asked.
    """

    method: str
    result: str
    detail: str = ""


def ask_before(plan: Plan, runner: Runner, no_verify: bool) -> CommandOutput | None:
    """The engine's answer from before the change, None where it is not wanted."""
    if plan.query is None or no_verify or not plan.query.ask_before:
        return None
    return _ask(plan.query, runner)


def verify(
    plan: Plan, runner: Runner, before: CommandOutput | None, no_verify: bool
) -> tuple[Verified, tuple[str, ...]]:
    """How the new files were proved, and the problems; the files must go back if there are any."""
    if no_verify:
        return Verified("none", "not-asked", "--no-verify"), ()
    query = plan.query
    if query is None:
        return Verified("parse", "passed"), ()
    after = _ask(query, runner)
    if after.returncode is None:
        return _no_answer(before, after)
    problems = tuple(query.judge(before, after))
    if after.returncode != 0 and not problems:
        return Verified("parse", "passed", f"{after.argv[0]} cannot answer {' '.join(after.argv[1:])}"), ()
    return Verified(query.method, "passed"), problems


def _ask(query: EngineQuery, runner: Runner) -> CommandOutput:
    return runner(query.argv, query.timeout_seconds)


def _no_answer(before: CommandOutput | None, after: CommandOutput) -> tuple[Verified, tuple[str, ...]]:
    """A program that cannot be started proves nothing either way; one that answered before must answer again."""
    program, reason = after.argv[0], after.reason or "it could not be started"
    if before is not None and before.returncode == 0:
        return Verified("parse", "passed"), (f"{program} answered before the change and not after it: {reason}",)
    return Verified("parse", "passed", f"{program} was not asked: {reason}"), ()
