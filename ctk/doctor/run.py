"""Runs checks over a snapshot: every one, each guarded, in the table's order; decides no cause."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ctk.doctor.model import ERROR, STATUSES, Check, Finding, Outcome

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot


def run_checks(checks: Iterable[Check], snapshot: "Snapshot") -> tuple[Finding, ...]:
    """All findings. A check that raises is a finding of its own (status error: our bug) and hides no other."""
    return tuple(Finding(check, outcome) for check in checks for outcome in _evaluate(check, snapshot))


def _evaluate(check: Check, snapshot: "Snapshot") -> tuple[Outcome, ...]:
    try:
        answer = check.evaluate(snapshot)
        outcomes = (answer,) if isinstance(answer, Outcome) else tuple(answer)
    except Exception as error:  # a check's bug must not take the other answers away
        return (Outcome(ERROR, f"a bug in ctk: {type(error).__name__}: {error}"),)
    strange = [outcome for outcome in outcomes if not isinstance(outcome, Outcome) or outcome.status not in STATUSES]
    return (Outcome(ERROR, f"a bug in ctk: {strange[0]!r} is no outcome"),) if strange else outcomes


def select_checks(
    checks: Iterable[Check], *, profile: str = "triage", only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
) -> tuple[Check, ...]:
    """The checks of a profile, or those that `only` names (ids or globs, whatever the profile), without `skip`."""
    chosen = [check for check in checks if _is_chosen(check, profile, only)]
    return tuple(check for check in chosen if not _is_named(check, skip))


def _is_named(check: Check, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(check.id, pattern) for pattern in patterns)


def _is_chosen(check: Check, profile: str, only: tuple[str, ...]) -> bool:
    return _is_named(check, only) if only else profile == "all" or profile in check.profiles
