"""Rows of tests for checks: a check's id, what is changed on a healthy host, and what it must say; knows no check."""

from collections.abc import Iterable
from typing import NamedTuple

import pytest

from ctk.doctor.model import FAIL, SKIP, STATUSES, Check, Outcome
from ctk.facts.snapshot import Snapshot


class Row(NamedTuple):
    """words must be in the message; subject None: not looked at."""

    check: str
    name: str
    snapshot: Snapshot
    status: str
    words: str = ""
    subject: str | None = None


def params(rows: Iterable[Row]) -> list[object]:
    return [pytest.param(row, id=f"{row.check}-{row.name}") for row in rows]


def outcomes_of(checks: Iterable[Check], identity: str, snapshot: Snapshot) -> tuple[Outcome, ...]:
    check = next(check for check in checks if check.id == identity)
    answer = check.evaluate(snapshot)
    return (answer,) if isinstance(answer, Outcome) else answer


def assert_row(checks: tuple[Check, ...], row: Row) -> None:
    """The worst outcome is the one the row is about."""
    outcomes = outcomes_of(checks, row.check, row.snapshot)
    assert outcomes, "no outcome at all"
    found = [outcome for outcome in outcomes if outcome.status == row.status]
    assert found, [(outcome.status, outcome.message) for outcome in outcomes]
    assert row.words in found[0].message
    if row.subject is not None:
        assert found[0].subject == row.subject
    others = {outcome.status for outcome in outcomes} - {row.status}
    if row.status not in (FAIL, "warn"):
        assert not others & {FAIL, "warn"}
    assert all(outcome.status in STATUSES for outcome in outcomes)
    check = next(check for check in checks if check.id == row.check)
    for outcome in outcomes:
        if outcome.status == FAIL:
            assert outcome.evidence, "a failure without evidence"
            assert outcome.remedy or check.remedy, "a failure without a remedy"
        if outcome.status == SKIP:
            assert outcome.message
