"""Grave Xids of earlier boots: counted once a boot, from the journal or syslog's files, and only when asked for."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ctk.doctor.data.xid import DRIVER, HARDWARE, XIDS
from ctk.facts import Unknown
from ctk.facts.command import CommandOutput
from ctk.facts.kernel_log import EarlierFault, KernelLog
from ctk.formats.xid import GRAVE_CODES
from ctk.host.earlier_boots import collect_earlier, count_boots, parse_journal_json, split_boots
from ctk.host.kernel_log import collect_kernel_log
from ctk.host.local import LocalHost
from tests.unit.host.trees import plant

GPU = "0000:3b:00.0"
XID_79 = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, name=python, GPU has fallen off the bus."
XID_13 = "NVRM: Xid (PCI:0000:3b:00): 13, pid=7, Graphics Exception"
BOOT = "Linux version 6.1.0-21-amd64 (gcc-12)"
NOT_KEPT = Unknown("no log of earlier boots is kept")


def syslog(*texts: str) -> str:
    return "".join(f"May  1 08:00:00 node kernel: [{number:12.6f}] {text}\n" for number, text in enumerate(texts))


def test_grave_codes_are_those_of_the_doctors_table() -> None:
    assert {code for code, (kind, _) in XIDS.items() if kind in (DRIVER, HARDWARE)} == GRAVE_CODES


def test_each_boot_counts_once_and_this_one_does_not(tmp_path: Path) -> None:
    files = {
        "/var/log/kern.log.1": syslog(BOOT, XID_79, XID_79, BOOT, XID_13, XID_79),
        "/var/log/kern.log": syslog("usb 1-1: new device", BOOT, "nvidia: loading", BOOT, XID_79),
    }
    assert collect_earlier(plant(tmp_path, files)) == (EarlierFault(GPU, 79, 2),)


def test_a_file_of_this_boot_alone_tells_nothing_of_others(tmp_path: Path) -> None:
    assert collect_earlier(plant(tmp_path / "a", {"/var/log/kern.log": syslog(BOOT, XID_79)})) == NOT_KEPT
    assert collect_earlier(plant(tmp_path / "b", {"/etc/hostname": "node\n"})) == NOT_KEPT


def test_earlier_boots_without_a_fault_are_an_answer(tmp_path: Path) -> None:
    files = {"/var/log/messages": syslog(BOOT, "nvidia: loading", BOOT, XID_79)}
    assert collect_earlier(plant(tmp_path, files)) == ()


def test_earlier_boots_are_looked_for_only_after_a_grave_fault(tmp_path: Path) -> None:
    found = collect_kernel_log(plant(tmp_path / "a", {"/var/log/kern.log": syslog(BOOT, XID_79, BOOT, XID_13)}))
    assert isinstance(found, KernelLog)
    assert found.earlier is None
    found = collect_kernel_log(plant(tmp_path / "b", {"/var/log/kern.log": syslog(BOOT, XID_79, BOOT, XID_79)}))
    assert isinstance(found, KernelLog)
    assert (found.earlier_boots(GPU, 79), found.earlier_boots(GPU, 48)) == (1, 0)


class Journal(LocalHost):
    """This machine with another journal."""

    def __init__(self, root: Path, text: str, returncode: int | None = 0, reason: str = "") -> None:
        super().__init__("/")
        self.below, self.text, self.returncode, self.reason = root, text, returncode, reason

    def is_directory(self, path: str) -> bool:
        return path == "/var/log/journal" or super().is_directory(path)

    def read_text(self, path: str, limit_bytes: int = 1 << 20) -> str:
        return "aaaa-1\n" if path.endswith("boot_id") else super().read_text(path, limit_bytes)

    def run(self, argv: Sequence[str], timeout_seconds: float | None = None) -> CommandOutput:
        del timeout_seconds
        assert argv[0] == "journalctl"
        return CommandOutput(tuple(argv), self.returncode, self.text, "", self.reason)


def entry(boot: str, message: object) -> str:
    return json.dumps({"_BOOT_ID": boot, "MESSAGE": message}) + "\n"


def test_the_journal_names_each_boot(tmp_path: Path) -> None:
    text = entry("aaaa1", XID_79) + entry("bbbb2", XID_79) + entry("bbbb2", XID_79) + entry("cccc3", XID_79)
    assert collect_earlier(Journal(tmp_path, text)) == (EarlierFault(GPU, 79, 2),)
    assert collect_earlier(Journal(tmp_path, "", 1)) == ()
    assert collect_earlier(Journal(tmp_path, "", None, "no answer within 5 s")) == Unknown("no answer within 5 s")


@pytest.mark.parametrize("line", ["no json", "[]", '{"MESSAGE": "x"}', entry("b", [1, 2]), "null"])
def test_lines_that_are_no_entries_are_passed_over(line: str) -> None:
    assert list(parse_journal_json(line, "a")) == []


def test_lines_before_the_first_beginning_belong_to_a_boot_too() -> None:
    lines = [line.encode() for line in syslog(XID_79, BOOT, XID_13).splitlines()]
    assert split_boots(lines) == [[XID_79], [BOOT, XID_13]]
    assert count_boots([("0", XID_79), ("0", XID_79), ("1", "nothing")]) == (EarlierFault(GPU, 79, 1),)
