"""A grave fault that comes back after restarts: a row for each status, and what it explains."""

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.checks.xid_repeat import XID_REPEAT_CHECKS
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.kernel_log import EarlierFault, LogEvent
from ctk.facts.snapshot import Snapshot
from tests.builders import make_kernel_log, make_snapshot
from tests.driver_builders import FIRST, SECOND
from tests.unit.doctor.tables import Row, assert_row, params

NOT_KEPT = Unknown("no log of earlier boots is kept")


def logged(*codes: int, earlier: tuple[EarlierFault, ...] | None | Unknown = ()) -> Snapshot:
    """These Xids of the first GPU in this boot, and what earlier ones had."""
    events = tuple(LogEvent(False, FIRST, code, "", 1, 60.0, 60.0, "words") for code in codes)
    return make_snapshot(kernel_log=make_kernel_log(events=events, earlier=earlier), nvml=NOT_KEPT)


def before(boots: int, code: int = 62, address: str = FIRST) -> tuple[EarlierFault, ...]:
    return (EarlierFault(address, code, boots),)


ROWS = [
    Row("xid.repeat", "quiet", logged(), "pass", "no fault"),
    Row("xid.repeat", "program", logged(31), "pass"),
    Row("xid.repeat", "first-time", logged(62), "pass", "no such fault"),
    Row("xid.repeat", "other-code", logged(62, earlier=before(3, 119)), "pass"),
    Row("xid.repeat", "other-gpu", logged(62, earlier=before(3, address=SECOND)), "pass"),
    Row("xid.repeat", "second-time", logged(62, earlier=before(1)), "warn", "after a restart", FIRST),
    Row("xid.repeat", "third-time", logged(62, earlier=before(2)), "fail", "after 2 restarts", FIRST),
    Row("xid.repeat", "not-kept", logged(62, earlier=NOT_KEPT), "unknown", "no log of earlier boots"),
    Row("xid.repeat", "older-snapshot", logged(62, earlier=None), "unknown"),
    Row("xid.repeat", "no-log", make_snapshot(kernel_log=None), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check(row: Row) -> None:
    assert_row(XID_REPEAT_CHECKS, row)


def causes_of(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    findings = find_causes(run_checks(ALL_CHECKS, snapshot), ALL_CHECKS)
    wanted = ("xid.driver", "xid.repeat", "pci.fell-off-bus")
    return {item.key: item.caused_by for item in findings if item.status == "fail" and item.check.id in wanted}


def test_the_repetition_explains_the_fault_of_this_boot() -> None:
    root = f"xid.repeat[{FIRST}]"
    assert causes_of(logged(62, earlier=before(2))) == {f"xid.driver[{FIRST}]": (root,), root: ()}


def test_a_gpu_that_falls_off_the_bus_again_is_told_so_at_once() -> None:
    snapshot = logged(79, earlier=before(4, 79))
    assert causes_of(snapshot) == {
        f"pci.fell-off-bus[{FIRST}]": (),
        f"xid.repeat[{FIRST}]": (f"pci.fell-off-bus[{FIRST}]",),
    }
    found = run_checks([check for check in ALL_CHECKS if check.id == "pci.fell-off-bus"], snapshot)
    assert "in 4 earlier boots too" in found[0].outcome.message
