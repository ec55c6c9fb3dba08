"""The screen: the verdict first, a cause never more than a screen, nothing of the host steers the terminal."""

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.model import (
    CRITICAL,
    ERROR,
    HIGH,
    INFO,
    LOW,
    PASS,
    SECURITY,
    SKIP,
    UNKNOWN,
    WARN,
    Command,
    Evidence,
    Finding,
    Remedy,
)
from ctk.doctor.render.text import Style, render_text
from ctk.doctor.report import Report
from tests.unit.doctor.rows import make_finding

REMEDY = Remedy(
    "Deny nouveau and start anew",
    (
        Command("update-initramfs -u"),
        Command("systemctl restart docker", restarts=("docker.service",), stops_containers=True),
        Command("systemctl reboot", reboots=True),
        Command("lsmod | grep nouveau", needs_root=False),
    ),
)
NOUVEAU = make_finding(
    "host.nouveau-loaded",
    severity=CRITICAL,
    layer="L1",
    message="nouveau holds the GPU",
    evidence=(Evidence("nouveau", "/proc/modules line 4"),),
    explains=("No devices were found",),
    remedy=REMEDY,
)
FOLLOW_UP = make_finding("driver.module-loaded", "host.nouveau-loaded", message="nvidia is not loaded")
WARNING = make_finding("pci.link-width", status=WARN, subject="0000:3b:00.0", message="x8 of x16")
BLIND = make_finding("driver.params", status=UNKNOWN, message="could not look: permission denied")
FINE = make_finding("host.os-supported", status=PASS, message="Debian 12", group="Host")
ALSO_FINE = make_finding("host.lockdown", status=PASS, message="off", group="Host")


def make_report(*findings: Finding, has_gpus: bool = True) -> Report:
    return Report(find_causes(findings), has_gpus)


FULL = make_report(NOUVEAU, FOLLOW_UP, WARNING, BLIND, FINE, ALSO_FINE)
EXPECTED = """\
GPU containers cannot work on this host: 1 root cause, with 1 follow-up.

FAIL  host.nouveau-loaded  (critical)
  nouveau holds the GPU
  - nouveau  (/proc/modules line 4)
  What people see:  No devices were found
  What to do:  Deny nouveau and start anew
    update-initramfs -u    [needs root]
    systemctl restart docker    [needs root, restarts docker.service, stops containers]
    systemctl reboot    [needs root, reboots]
    lsmod | grep nouveau
  It explains 1 more failure: ctk doctor --show-masked

WARN  pci.link-width 0000:3b:00.0  x8 of x16

?     could not look: permission denied  (driver.params)

ok    Host: 2

2 passed, 1 failed, 1 explained by another failure, 1 warned, 1 could not be looked at.
"""


def test_whole_screen() -> None:
    assert render_text(FULL, Style()) == EXPECTED


def test_follow_ups_are_shown_when_asked() -> None:
    text = render_text(FULL, Style(show_masked=True))
    assert "  It explains 1 more failure:\n  - driver.module-loaded: nvidia is not loaded\n" in text
    assert "--show-masked" not in text


def test_verbose_shows_everything() -> None:
    noted = make_finding("a.note", status=INFO, message="a note")
    skipped = make_finding("a.skip", status=SKIP, message="not here")
    switched_off = make_finding("a.known", status=WARN, message="slow")._replace(suppressed="a riser of x8")
    quiet = render_text(make_report(noted, skipped, switched_off, FINE), Style())
    assert (
        quiet
        == "No fault was found.\n\nok    Host: 1\n\n1 passed, 0 failed, 1 noted, 1 do not apply here, 1 switched off.\n"
    )
    text = render_text(make_report(noted, skipped, switched_off, FINE), Style(verbose=True))
    for line in (
        "note  a.note  a note",
        "skip  a.skip  not here",
        "off   a.known  a riser of x8",
        "      host.os-supported  Debian 12",
    ):
        assert f"{line}\n" in text


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (make_report(FINE), "No fault was found."),
        (make_report(WARNING), "No failure was found, but 1 warning."),
        (make_report(make_finding("a", severity=HIGH)), "Some GPU containers cannot work on this host: 1 root cause."),
        (
            make_report(make_finding("a", severity=LOW), make_finding("b")),
            "Some GPU containers cannot work on this host: 2 root causes.",
        ),
        (make_report(make_finding("a", severity=LOW)), "This host has a fault: 1 root cause."),
        (
            make_report(make_finding("a", severity=CRITICAL, profiles=(SECURITY,))),
            "This host is open to misuse: 1 root cause.",
        ),
        (
            make_report(make_finding("a", severity=CRITICAL, profiles=(SECURITY,)), make_finding("b", severity=LOW)),
            "This host has a fault: 2 root causes.",
        ),
        (
            make_report(make_finding("a", status=UNKNOWN, decides=True)),
            "Nothing that was looked at fails, but 1 deciding check could not look.",
        ),
        (
            make_report(has_gpus=False),
            "Nothing to judge: there is no NVIDIA GPU here, and no trace of a driver or of GPU configuration.",
        ),
    ],
)
def test_verdict_in_one_line(report: Report, line: str) -> None:
    assert render_text(report, Style()).splitlines()[0] == line


def test_one_check_that_fails_for_many_subjects_in_one_way_is_one_cause() -> None:
    gpus = [
        make_finding("device.gpu-nodes", subject=f"0000:{bus:02x}:00.0", evidence=(Evidence(str(bus), "/dev"),))
        for bus in range(8)
    ]
    text = render_text(make_report(*gpus), Style())
    assert text.count("FAIL") == 1
    assert "FAIL  device.gpu-nodes  0000:00:00.0, 0000:01:00.0, 0000:02:00.0 and 5 more  (high)\n" in text
    assert text.count("  - ") == 3
    assert render_text(make_report(*gpus), Style(verbose=True)).count("  - ") == 8


def test_subjects_with_remedies_of_their_own_are_causes_of_their_own() -> None:
    one, other = (Remedy("Do it", (Command(f"mend {name}"),)) for name in ("a", "b"))
    text = render_text(
        make_report(make_finding("x", subject="a", remedy=one), make_finding("x", subject="b", remedy=other)), Style()
    )
    assert text.count("FAIL") == 2


LONG = make_finding(
    "lib.version-suffix",
    message="many words " * 20,
    evidence=tuple(Evidence("value " * 20, f"/path/{number}" * 5) for number in range(40)),
    explains=tuple(f"an error of {number} " * 8 for number in range(30)),
    remedy=Remedy("do this " * 20, tuple(Command(f"command {number}") for number in range(30))),
)


def test_a_cause_fits_one_screen() -> None:
    text = render_text(
        make_report(LONG, *(make_finding(f"x.{n}", "lib.version-suffix") for n in range(50))), Style(width=80)
    )
    cause = text.split("\n\n")[1].splitlines()
    assert len(cause) <= 24
    assert max(len(line) for line in cause) <= 80
    whole = render_text(make_report(LONG), Style()).split("\n\n")[1].splitlines()
    assert len(whole) <= 16
    assert "    (26 more commands: ctk doctor -v)" in whole


def test_a_command_is_never_broken() -> None:
    command = "printf 'blacklist nouveau\\n' | sudo tee " + "/etc/modprobe.d/a-very-long-name" * 4
    finding = make_finding("a", remedy=Remedy("Do it", (Command(command),)))
    assert f"    {command}    [needs root]\n" in render_text(make_report(finding), Style(width=40))


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_narrow_screens_lose_no_word(width: int) -> None:
    text = render_text(FULL, Style(width=width))
    assert "".join(text.split()) == "".join(EXPECTED.split())


def test_control_characters_of_the_host_do_not_reach_the_terminal() -> None:
    finding = make_finding(
        "a", subject="\x1b[2J", message="a\x1b]0;title\x07b\rc", evidence=(Evidence("\x9b31m\u202e", "/x\x00"),)
    )
    text = render_text(make_report(finding), Style(verbose=True))
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]
    assert "\\x1b[2J" in text


def test_colours_only_when_asked() -> None:
    assert "\x1b" not in render_text(FULL, Style())
    coloured = render_text(FULL, Style(colour=True, width=80))
    assert coloured.startswith("\x1b[1;31mGPU containers cannot work")
    assert "\x1b[33mWARN  pci.link-width 0000:3b:00.0\x1b[0m  x8 of x16\n" in coloured


def test_a_crash_is_named_as_ours_and_reasons_are_told_once() -> None:
    crash = make_finding("a.crash", status=ERROR, message="a bug in ctk: KeyError: 'x'")
    blind = [make_finding(f"b.{number}", status=UNKNOWN, message="could not look: denied") for number in range(9)]
    text = render_text(make_report(crash, *blind), Style())
    assert "BUG   a.crash  a bug in ctk: KeyError: 'x'\n" in text
    assert "?     could not look: denied  (b.0, b.1, b.2, b.3 and 5 more)\n" in text
