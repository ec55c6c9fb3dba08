"""How far a report can be trusted: a row for each status that a self-check can give."""

import pytest

import ctk.doctor.data
from ctk.doctor.checks.collector import COLLECTOR_CHECKS
from ctk.doctor.data.dates import TABLES
from ctk.doctor.model import INFO, PASS, SKIP, UNKNOWN, WARN, Outcome
from ctk.facts import Unknown
from ctk.facts.snapshot import NOT_COLLECTED
from tests.builders import make_kernel_log, make_observer, make_snapshot, make_system
from tests.driver_builders import make_kernel

CHECKS = {check.id: check for check in COLLECTOR_CHECKS}
DENIED = Unknown("permission denied")
USER = make_observer(user_id=1000)
SINCE_NOW = {"taken_at": f"{max(day for _, day in TABLES)}T00:00:00Z"}


@pytest.mark.parametrize(
    ("identity", "changes", "status"),
    [
        ("collect.privileges", {}, PASS),
        ("collect.privileges", {"kernel_log": DENIED, "observer": USER}, WARN),
        ("collect.privileges", {"kernel_log": DENIED}, INFO),
        ("collect.privileges", {"observer": make_observer(user_id=1000, shares_mounts=DENIED)}, PASS),
        ("collect.privileges", {"kernel_log": Unknown("no answer within 5 s")}, PASS),
        (
            "collect.privileges",
            {"system": make_system(kernel=Unknown("operation not permitted")), "observer": USER},
            WARN,
        ),
        ("collect.scope", {}, PASS),
        ("collect.scope", {"system": make_system(container="docker")}, WARN),
        ("collect.scope", {"system": make_system(container="lxc")}, INFO),
        ("collect.scope", {"system": make_system(container=DENIED)}, UNKNOWN),
        ("collect.scope", {"observer": make_observer(shares_mounts=False)}, WARN),
        ("collect.scope", {"observer": make_observer(shares_mounts=DENIED)}, PASS),
        ("collect.kernel-log", {}, PASS),
        ("collect.kernel-log", {"kernel_log": None}, UNKNOWN),
        ("collect.kernel-log", {"kernel_log": DENIED}, UNKNOWN),
        ("collect.kernel-log", {"kernel_log": make_kernel_log(reaches_boot=False, persistent_journal=False)}, WARN),
        ("collect.kernel-log", {"kernel_log": make_kernel_log(reaches_boot=False)}, INFO),
        ("collect.kernel-log", {"kernel_log": make_kernel_log(reaches_boot=False, source="/var/log/kern.log")}, INFO),
        ("collect.boot-identity", {}, PASS),
        ("collect.boot-identity", {"observer": make_observer(is_live=False)}, SKIP),
        ("collect.boot-identity", {"observer": DENIED}, UNKNOWN),
        ("collect.boot-identity", {"observer": make_observer(newest_change="2024-05-02T09:01:00Z")}, PASS),
        ("collect.boot-identity", {"observer": make_observer(newest_change="2024-05-02T10:00:00Z")}, WARN),
        ("collect.boot-identity", {"kernel": make_kernel(booted_at="2025-01-01T00:00:00Z")}, WARN),
        ("collect.boot-identity", {"observer": make_observer(boot_id=None, newest_change=None)}, PASS),
        ("collect.data-age", {"taken_at": f"{min(day for _, day in TABLES)}T00:00:00Z"}, PASS),
        ("collect.data-age", {"taken_at": "2040-01-01T00:00:00Z"}, INFO),
        ("collect.data-age", {"taken_at": "some day"}, UNKNOWN),
        ("collect.boot-identity", {"kernel": make_kernel(booted_at="some day")}, PASS),
        ("collect.snapshot", {"observer": NOT_COLLECTED}, WARN),
        ("collect.snapshot", {"observer": Unknown("not recorded in this snapshot")}, WARN),
    ],
)
def test_status(identity: str, changes: dict[str, object], status: str) -> None:
    outcome = CHECKS[identity].evaluate(make_snapshot(**changes))
    assert isinstance(outcome, Outcome)
    assert outcome.status == status
    assert outcome.message


def test_a_whole_snapshot_lacks_nothing() -> None:
    parts = {name: None for name, part in _parts().items() if part == NOT_COLLECTED}
    outcome = CHECKS["collect.snapshot"].evaluate(make_snapshot(**parts))
    assert isinstance(outcome, Outcome)
    assert outcome.status == PASS


def _parts() -> dict[str, object]:
    snapshot = make_snapshot()
    return {name: getattr(snapshot, name) for name in type(snapshot).__dataclass_fields__}


def test_what_was_denied_is_named() -> None:
    outcome = CHECKS["collect.privileges"].evaluate(
        make_snapshot(observer=USER, system=make_system(kernel=DENIED, init=DENIED))
    )
    assert isinstance(outcome, Outcome)
    assert outcome.message == "permission was denied for facts of system"


def test_the_dates_are_those_of_the_tables() -> None:
    from importlib import import_module
    from pkgutil import iter_modules

    modules = {found.name for found in iter_modules(ctk.doctor.data.__path__)} - {"dates"}
    dated = {}
    for name in modules:
        module = import_module(f"ctk.doctor.data.{name}")
        dated[name] = getattr(module, "DATE", None) or getattr(module, "TABLE_DATE", None)
    assert dict(TABLES) == dated, "ctk/doctor/data/dates.py has a row for each table: its module, and its DATE"
