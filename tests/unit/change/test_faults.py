"""Every refusal of the system as a sentence with what to do now."""

import errno
import os

import pytest

from ctk.change.faults import journal_fault, read_fault, write_fault

KNOWN = ["EROFS", "ENOSPC", "EDQUOT", "EACCES", "EPERM", "ENOENT", "ENOTDIR", "EISDIR", "EFBIG", "ENAMETOOLONG"]


@pytest.mark.parametrize("name", [*KNOWN, "ELOOP", "EBUSY", "EIO", "ENODEV"])
def test_known_errors_say_why_what_to_do_and_that_nothing_changed(name: str) -> None:
    number = getattr(errno, name)
    fault = write_fault(OSError(number, os.strerror(number)), "/etc/docker/daemon.json")
    assert fault.message.startswith("cannot write /etc/docker/daemon.json: ")
    assert fault.path == "/etc/docker/daemon.json"
    advice, _, ending = fault.hint.rpartition(". ")
    assert advice
    assert ending == "Nothing was changed."


def test_unknown_errors_keep_the_system_s_words() -> None:
    fault = write_fault(OSError(errno.EXFULL, "Exchange full"), "/a")
    assert fault.message == "cannot write /a: Exchange full"
    assert fault.hint == "Nothing was changed."


def test_a_link_s_real_file_is_named_too() -> None:
    fault = write_fault(OSError(errno.EROFS, ""), "/etc/a", target="/srv/a")
    assert fault.message == "cannot write /etc/a (/srv/a): the file system is read-only"


def test_a_journal_that_cannot_be_written_names_both_ways_out() -> None:
    fault = journal_fault(PermissionError(errno.EACCES, ""), "/var/lib/ctk/journal")
    assert "cannot write the journal in /var/lib/ctk/journal: permission denied" in fault.message
    assert "--no-journal" in fault.hint
    assert "CTK_STATE_DIR" in fault.hint


def test_a_file_that_cannot_be_read_is_a_read_fault() -> None:
    fault = read_fault(PermissionError(errno.EACCES, ""), "/etc/a")
    assert (fault.code, fault.message) == ("read", "cannot read /etc/a: permission denied")
