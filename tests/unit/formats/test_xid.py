"""Lines as drivers of several years have printed them."""

import pytest

from ctk.formats.xid import parse_recovery_action, parse_xid


@pytest.mark.parametrize(
    ("line", "address", "code", "weight", "pid", "process", "link"),
    [
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, name=python, GPU has fallen off the bus.",
            "0000:3b:00",
            79,
            "",
            1896,
            "python",
            None,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 31, pid='<unknown>', name=<unknown>, Ch 1",
            "0000:3b:00",
            31,
            "",
            None,
            None,
            None,
        ),
        ("NVRM: Xid (0000:03:00): 6, PE0001", "0000:03:00", 6, "", None, None, None),
        ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 95, pid='7', name=x", "0000:01:00", 95, "", 7, "x", None),
        (
            "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000)",
            "0018:01:00",
            149,
            "fatal",
            None,
            None,
            8,
        ),
        (
            "NVRM: Xid (PCI:0018:01:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 3",
            "0018:01:00",
            145,
            "non-fatal",
            None,
            None,
            3,
        ),
        ("NVRM: Xid (PCI:0000:3b:00): 62, fatal words do not weigh here", "0000:3b:00", 62, "", None, None, None),
    ],
)
def test_xid_lines(
    line: str, address: str, code: int, weight: str, pid: int | None, process: str | None, link: int | None
) -> None:
    event = parse_xid(line)
    assert event is not None
    assert not event.is_switch
    assert (event.address, event.code, event.weight) == (address, code, weight)
    assert (event.pid, event.process, event.link) == (pid, process, link)


@pytest.mark.parametrize(
    ("line", "code", "weight", "link"),
    [
        (
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO",
            28006,
            "non-fatal",
            46,
        ),
        ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", 20034, "fatal", 30),
        ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 10003, Host_unhandled_interrupt", 10003, "", None),
    ],
)
def test_sxid_lines(line: str, code: int, weight: str, link: int | None) -> None:
    event = parse_xid(line)
    assert event is not None
    assert event.is_switch
    assert (event.address, event.code, event.weight, event.link) == ("0000:c1:00.0", code, weight, link)


@pytest.mark.parametrize("line", ["", "NVRM: Xid", "NVRM: GPU at PCI:0000:3b:00: GPU-1", "NVRM: Xid (PCI:): 79"])
def test_other_lines_are_none(line: str) -> None:
    assert parse_xid(line) is None


def test_recovery_action() -> None:
    assert parse_recovery_action("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)") == 1
    assert parse_recovery_action("GPU has fallen off the bus.") is None
