"""Xid and SXid events, class by class: a row for each status that a check can give."""

from dataclasses import replace

import pytest

from ctk.doctor.checks.sxid import SXID_CHECKS
from ctk.doctor.checks.xid import XID_CHECKS
from ctk.doctor.data.xid import APPLICATION, DRIVER, HARDWARE, NOTE, WATCH, XIDS
from ctk.doctor.model import FAIL, INFO, PASS, UNKNOWN, WARN, Outcome
from ctk.facts import Unknown
from ctk.facts.kernel_log import EventRate, KernelLog, LinkEvents, LogEvent
from ctk.facts.nvml import Nvml, NvmlAnswer, NvmlGpu
from ctk.facts.pci import Pci, PciFunction
from tests.builders import make_kernel_log, make_snapshot

CHECKS = {check.id: check for check in (*XID_CHECKS, *SXID_CHECKS)}
GPU, OTHER_GPU = "0000:3b:00.0", "0000:af:00.0"

UNASKED = Unknown("not asked: --no-nvml")


def xid(code: int, **changes: object) -> LogEvent:
    values: dict[str, object] = {
        "is_switch": False,
        "address": GPU,
        "code": code,
        "weight": "",
        "times": 1,
        "first_seconds": 60.0,
        "last_seconds": 60.0,
        "text": "pid=1, name=x, words",
    }
    return LogEvent(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def sxid(code: int, **changes: object) -> LogEvent:
    return xid(code, is_switch=True, address="0000:c1:00.0", **changes)


def log(*events: LogEvent, **changes: object) -> KernelLog:
    return make_kernel_log(events=events, **changes)


def nvml(recovery_action: int | None) -> Nvml:
    gpu = NvmlGpu(index=0, address=GPU, uuid="GPU-1", minor=0, name="GPU", recovery_action=recovery_action)
    answer = NvmlAnswer(call="init", code=0, text="")
    return Nvml(library="/usr/lib/libnvidia-ml.so.1", init=answer, elapsed_milliseconds=1, gpus=(gpu,))


def gpus(*addresses: str) -> Pci:
    return Pci(
        functions=tuple(
            PciFunction(address=address, folder="/sys/x", vendor_id=0x10DE, device_id=0x20B5, class_code=0x030200)
            for address in addresses
        )
    )


def statuses(identity: str, **changes: object) -> list[tuple[str, str]]:
    answer = CHECKS[identity].evaluate(make_snapshot(**{"nvml": UNASKED, **changes}))
    outcomes = (answer,) if isinstance(answer, Outcome) else answer
    return [(outcome.status, outcome.subject) for outcome in outcomes]


@pytest.mark.parametrize("identity", CHECKS)
def test_no_log_is_unknown_and_a_quiet_one_passes(identity: str) -> None:
    assert statuses(identity, kernel_log=None) == [(UNKNOWN, "")]
    assert statuses(identity, kernel_log=Unknown("permission denied")) == [(UNKNOWN, "")]
    assert statuses(identity, kernel_log=log()) == [(PASS, "")]


@pytest.mark.parametrize(
    ("identity", "events", "expected"),
    [
        ("xid.summary", (xid(31),), [(INFO, "")]),
        ("xid.application", (xid(31), xid(79)), [(INFO, GPU)]),
        ("xid.application", (xid(31, processes=("a", "b")),), [(WARN, GPU)]),
        (
            "xid.application",
            (xid(31, processes=("a", "b")), xid(31, address=OTHER_GPU)),
            [(INFO, GPU), (INFO, OTHER_GPU)],
        ),
        ("xid.driver", (xid(109), xid(120), xid(31)), [(FAIL, GPU)]),
        ("xid.driver", (xid(119), xid(62, address=OTHER_GPU)), [(INFO, GPU), (FAIL, OTHER_GPU)]),
        ("xid.driver", (xid(31),), [(PASS, "")]),
        ("xid.hardware", (xid(79),), [(FAIL, GPU)]),
        ("xid.hardware", (xid(48), xid(63)), [(FAIL, GPU)]),
        ("xid.hardware", (xid(63),), [(INFO, GPU)]),
        ("xid.hardware", (xid(149, weight="fatal"),), [(FAIL, GPU)]),
        ("xid.hardware", (xid(149, weight="non-fatal"),), [(INFO, GPU)]),
        ("xid.hardware", (sxid(20001),), [(PASS, "")]),
        ("xid.recovery-action", (xid(154, text="changed from 0x0 (None) to 0x2 (Node Reboot)"),), [(FAIL, GPU)]),
        ("xid.recovery-action", (xid(154, text="changed from 0x1 (GPU Reset) to 0x0 (None)"),), [(PASS, GPU)]),
        ("xid.recovery-action", (xid(154, text="other words"),), [(UNKNOWN, GPU)]),
        ("xid.unknown-code", (xid(999),), [(WARN, "")]),
        ("sxid.fatal", (sxid(20034, weight="fatal"),), [(FAIL, "0000:c1:00.0")]),
        ("sxid.fatal", (sxid(22003),), [(FAIL, "0000:c1:00.0")]),
        ("sxid.fatal", (sxid(20001, weight="non-fatal"), xid(79)), [(PASS, "")]),
        ("sxid.nonfatal", (sxid(24001),), [(INFO, "")]),
        ("sxid.nonfatal", (sxid(20001, links=(LinkEvents(4, 1),)),), [(INFO, "0000:c1:00.0 SXid 20001")]),
        ("sxid.nonfatal", (sxid(20001, links=(LinkEvents(4, 9),)),), [(WARN, "0000:c1:00.0 SXid 20001")]),
        ("sxid.nonfatal", (sxid(22003),), [(PASS, "")]),
    ],
)
def test_events(identity: str, events: tuple[LogEvent, ...], expected: list[tuple[str, str]]) -> None:
    assert statuses(identity, kernel_log=log(*events), pci=gpus(GPU, OTHER_GPU)) == expected


def test_a_program_with_one_gpu_only_is_no_ground_for_suspicion() -> None:
    assert statuses("xid.application", kernel_log=log(xid(31, processes=("a", "b"))), pci=gpus(GPU)) == [(INFO, GPU)]


@pytest.mark.parametrize(
    ("identity", "action", "status"),
    [
        ("xid.hardware", 0, WARN),
        ("xid.hardware", 1, FAIL),
        ("xid.hardware", None, FAIL),
        ("xid.driver", 0, WARN),
        ("xid.recovery-action", 0, PASS),
        ("xid.recovery-action", 5, INFO),
        ("xid.recovery-action", None, FAIL),
    ],
)
def test_what_nvml_says_now_counts_for_more(identity: str, action: int | None, status: str) -> None:
    events = (xid(95), xid(62), xid(154, text="changed from 0x0 (None) to 0x1 (GPU Reset Required)"))
    assert statuses(identity, kernel_log=log(*events), nvml=nvml(action)) == [(status, GPU)]


@pytest.mark.parametrize(
    ("code", "ecc", "status"), [(95, 1, INFO), (95, 0, INFO), (95, None, FAIL), (95, Unknown("x"), FAIL), (74, 1, FAIL)]
)
def test_faults_of_memory_are_judged_by_the_counters(code: int, ecc: int | None | Unknown, status: str) -> None:
    gpu = NvmlGpu(index=0, address=GPU, uuid="GPU-1", minor=0, name="GPU", recovery_action=1, ecc_uncorrected=ecc)
    answer = replace(nvml(1), gpus=(gpu,))
    assert statuses("xid.hardware", kernel_log=log(xid(code)), nvml=answer) == [(status, GPU)]


@pytest.mark.parametrize(("rate", "status"), [(10, PASS), (11, WARN), (100, WARN), (101, FAIL)])
def test_rates(rate: int, status: str) -> None:
    kernel_log = log(xid(31, times=rate), rates=(EventRate(GPU, rate),))
    assert [found for found, _ in statuses("xid.burst", kernel_log=kernel_log)] == [status]


@pytest.mark.parametrize("action", range(6))
def test_every_recovery_has_its_own_words(action: int) -> None:
    text = f"changed from 0x0 (None) to {action:#x} (x)"
    answer = CHECKS["xid.recovery-action"].evaluate(make_snapshot(nvml=UNASKED, kernel_log=log(xid(154, text=text))))
    assert isinstance(answer, tuple)
    outcome: object = answer[0]
    assert isinstance(outcome, Outcome)
    assert outcome.status == (PASS if action == 0 else FAIL)
    assert (outcome.remedy is None) == (action == 0)


def test_the_table_has_every_class_and_no_other() -> None:
    assert {kind for kind, _ in XIDS.values()} == {APPLICATION, DRIVER, HARDWARE, WATCH, NOTE}
    assert all(words and words[0].islower() for _, words in XIDS.values())
