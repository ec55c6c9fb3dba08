"""A host sees the commands of its own distribution, of its GPU and its driver's branch, and no others."""

from typing import Any

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.fit import fit_remedies, fit_remedy
from ctk.doctor.model import APT, DEBIAN, RED_HAT, SUSE, UBUNTU, WARN, Command, Remedy
from ctk.doctor.render.text import Style, render_text
from ctk.doctor.report import Report
from ctk.facts import Unknown
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.unit.doctor.rows import make_finding

INSTALL = Remedy(
    "Install it",
    (
        Command("apt-get install a", only_on=(DEBIAN,)),
        Command("apt-get install b", only_on=(UBUNTU,)),
        Command("apt-mark hold c", only_on=APT),
        Command("dnf install d", only_on=(RED_HAT,)),
        Command("zypper install e", only_on=(SUSE,)),
        Command("systemctl reboot", reboots=True),
    ),
)


def on(distribution: str | Unknown, *like: str, name: str = "") -> Snapshot:
    return make_snapshot(system=make_system(distribution=distribution, distribution_like=like, distribution_name=name))


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(on("debian"), ["apt-get install a", "apt-mark hold c"], id="debian"),
        pytest.param(on("ubuntu", "debian"), ["apt-get install b", "apt-mark hold c"], id="ubuntu"),
        pytest.param(on("linuxmint", "ubuntu", "debian"), ["apt-get install b", "apt-mark hold c"], id="mint"),
        pytest.param(on("rocky", "rhel", "centos", "fedora"), ["dnf install d"], id="el9"),
        pytest.param(on("amzn", "fedora"), ["dnf install d"], id="amazon"),
        pytest.param(on("opensuse-leap", "suse", "opensuse"), ["zypper install e"], id="suse"),
        pytest.param(on("fedora", name="Fedora Linux 40 (Silverblue)"), [], id="image-fedora"),
        pytest.param(on("flatcar", "coreos"), [], id="image-flatcar"),
    ],
)
def test_only_the_commands_of_this_distribution(snapshot: Snapshot, expected: list[str]) -> None:
    fitted = fit_remedy(INSTALL, snapshot)
    assert [command.text for command in fitted.commands] == [*expected, "systemctl reboot"]
    assert not any(command.only_on for command in fitted.commands)


def test_where_the_distribution_is_not_known_each_command_says_what_it_is_for() -> None:
    finding = make_finding("a", remedy=INSTALL)
    for snapshot in (on(Unknown("permission denied")), on("gentoo")):
        text = render_text(Report(find_causes(fit_remedies([finding], snapshot))), Style(verbose=True))
        assert "    apt-mark hold c  # Debian, Ubuntu    [needs root]\n" in text
        assert "    dnf install d  # Red Hat family    [needs root]\n" in text


def test_an_image_is_not_changed_package_by_package() -> None:
    summary = fit_remedy(INSTALL, on("rhcos", "rhel", "fedora")).summary
    assert summary.startswith("Install it. This system comes as one image")
    untouched = Remedy("Start anew", (Command("systemctl reboot", reboots=True),))
    assert fit_remedy(untouched, on("rhcos")) == untouched


def test_the_branch_is_that_of_the_driver() -> None:
    remedy = Remedy("Install it", (Command("apt-get install libnvidia-compute-<BRANCH>-server"),))
    assert fit_remedy(remedy, make_snapshot()).commands[0].text == "apt-get install libnvidia-compute-580-server"
    nothing: Any = Unknown("no /proc")
    blind = make_snapshot(modules=nothing, driver=nothing)
    assert fit_remedy(remedy, blind).commands == remedy.commands


def test_each_gpu_is_named_in_one_cause() -> None:
    remedy = Remedy("Reset it", (Command("nvidia-smi --gpu-reset -i <GPU>"), Command("nvidia-bug-report.sh")))
    found = [make_finding("x", subject=f"0000:{bus:02x}:00.0", remedy=remedy) for bus in range(2)]
    text = render_text(Report(find_causes(fit_remedies(found, make_snapshot()))), Style())
    assert text.count("FAIL") == 1
    steps = [line.split("    [")[0].strip() for line in text.splitlines() if "[needs root]" in line]
    resets = ["nvidia-smi --gpu-reset -i 0000:00:00.0", "nvidia-smi --gpu-reset -i 0000:01:00.0"]
    assert steps == [*resets, "nvidia-bug-report.sh"]


def test_what_is_well_keeps_the_words_of_its_row() -> None:
    warning = make_finding("a", remedy=INSTALL, status=WARN)
    fine = make_finding("b", remedy=INSTALL, status="pass")
    fitted = fit_remedies([warning, fine], make_snapshot())
    assert fitted[0].remedy is not None
    assert len(fitted[0].remedy.commands) < len(INSTALL.commands)
    assert fitted[1] == fine
