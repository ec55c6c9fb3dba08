"""Markdown for a ticket: every word of the host is code or escaped."""

from ctk.doctor.causes import find_causes
from ctk.doctor.model import PASS, UNKNOWN, WARN, Command, Evidence, Finding, Remedy
from ctk.doctor.render.markdown import render_markdown
from ctk.doctor.report import Report
from tests.unit.doctor.rows import make_finding


def render(*findings: Finding) -> str:
    return render_markdown(Report(find_causes(findings)))


def test_whole_document() -> None:
    text = render(
        make_finding(
            "host.nouveau-loaded",
            message="nouveau holds the GPU",
            evidence=(Evidence("nouveau", "/proc/modules"),),
            explains=("No devices were found",),
            remedy=Remedy("Deny it", (Command("systemctl reboot", reboots=True), Command("lsmod", needs_root=False))),
        ),
        make_finding("driver.module-loaded", "host.nouveau-loaded"),
        make_finding("pci.link-width", status=WARN, subject="0000:3b:00.0", message="x8 of x16"),
        make_finding("driver.params", status=UNKNOWN, message="could not look"),
        make_finding("a.fine", status=PASS),
    )
    assert text == (
        "**Some GPU containers cannot work on this host: 1 root cause, with 1 follow-up.**\n"
        "\n"
        "## host.nouveau-loaded (high)\n"
        "\n"
        "nouveau holds the GPU\n"
        "\n"
        "- `nouveau  (/proc/modules)`\n"
        "- What people see: `No devices were found`\n"
        "\n"
        "What to do: Deny it\n"
        "\n"
        "```sh\n"
        "systemctl reboot  # needs root, reboots\n"
        "lsmod\n"
        "```\n"
        "\n"
        "It explains `driver.module-loaded`.\n"
        "\n"
        "## Warnings\n"
        "\n"
        "- `pci.link-width 0000:3b:00.0` x8 of x16\n"
        "\n"
        "## Could not be looked at\n"
        "\n"
        "- could not look: `driver.params`\n"
        "\n"
        "1 passed, 1 failed, 1 explained by another failure, 1 warned, 1 could not be looked at.\n"
    )


def test_words_of_the_host_are_not_marks() -> None:
    text = render(make_finding("a", message="<b>*x*</b> [l](u)", evidence=(Evidence("a `b` ``c``", ""),)))
    assert "\\<b\\>\\*x\\*\\</b\\> \\[l\\](u)" in text
    assert "- ``` a `b` ``c`` ```\n" in text


def test_many_follow_ups_are_cut_short() -> None:
    text = render(make_finding("a"), *(make_finding(f"b.{number}", "a") for number in range(25)))
    assert "`b.19` and 5 more." in text
