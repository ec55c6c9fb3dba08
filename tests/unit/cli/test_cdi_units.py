"""The units that keep a spec true: put in place and taken away to the byte, quoted for systemd, never beside others."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from ctk.change.plan import CommandOutput, FileChange, Plan
from ctk.change.units import disable_units, enable_units, forget_units
from ctk.cli.app import App
from ctk.cli.applying import apply_plan
from ctk.cli.cdi_units import FILES, KEY, UnitOptions, quote_for_systemd, run_units, unit_text
from ctk.errors import Refused
from ctk.result import Result

INSTALL, REMOVE = UnitOptions(), UnitOptions(remove=True)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "root"
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "ctk").write_text("#!/bin/sh\n")
    (root / "usr" / "bin" / "ctk").chmod(0o755)
    monkeypatch.delenv("CTK_STATE_DIR", raising=False)
    return root


def run(root: Path, options: UnitOptions) -> Result:
    app = App()
    app.root, app.command = str(root), "cdi refresh"
    run_units(app, options)
    assert app.result is not None
    return app.result


def tree(root: Path) -> dict[str, bytes]:
    state = root / "var"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_relative_to(state)
    }


def test_units_come_and_go_without_a_trace(host: Path) -> None:
    before = tree(host)
    result = run(host, INSTALL)
    assert result.exit_code == 0
    assert "Undo with: ctk cdi refresh --remove-units" in result.text
    for path, template in FILES:
        written = host / path.lstrip("/")
        assert written.read_text() == unit_text(template, ("/usr/bin/ctk",))
        assert written.stat().st_mode & 0o777 == 0o644
    assert run(host, INSTALL).data["changed"] is False
    run(host, REMOVE)
    assert tree(host) == before
    assert run(host, REMOVE).data["changed"] is False


def test_foreign_root_is_told_how_systemd_learns_of_it(host: Path) -> None:
    (message,) = run(host, INSTALL).messages
    assert f"systemctl --root={host} enable ctk-cdi-refresh.path ctk-cdi-refresh.service" in message.text


def test_units_that_are_in_place_but_not_enabled_are_enabled(host: Path) -> None:
    """An image may have brought the files along, or systemd may have refused the last time."""
    run(host, INSTALL)
    result = run(host, INSTALL)
    assert result.data["changed"] is False
    assert "enable ctk-cdi-refresh.path" in result.messages[0].text
    wants = host / "etc" / "systemd" / "system" / "multi-user.target.wants"
    wants.mkdir()
    for name in ("ctk-cdi-refresh.path", "ctk-cdi-refresh.service"):
        (wants / name).symlink_to(f"../{name}")
    assert run(host, INSTALL).messages == ()


@pytest.mark.parametrize("options", [UnitOptions(dry_run=True), UnitOptions(check=True)])
def test_looking_writes_nothing(host: Path, options: UnitOptions) -> None:
    before = tree(host)
    result = run(host, options)
    assert tree(host) == before
    assert result.exit_code == (1 if options.check else 0)
    assert "+ExecStart=/usr/bin/ctk cdi refresh" in result.text


@pytest.mark.parametrize("options", [REMOVE, INSTALL])
def test_units_that_were_edited_are_not_lost_unasked(host: Path, options: UnitOptions) -> None:
    run(host, INSTALL)
    unit = host / FILES[0][0].lstrip("/")
    unit.write_text(unit.read_text() + "Nice=5\n")
    before = tree(host)
    with pytest.raises(Refused, match=r"ctk-cdi-refresh\.service was changed by hand") as caught:
        run(host, options)
    assert (caught.value.force, tree(host)) == ("edited-units", before)
    told = run(host, options._replace(dry_run=True)).messages
    assert any("a real run would stop here" in message.text for message in told)
    run(host, options._replace(forced=frozenset({"edited-units"})))
    assert "Nice=5" not in "".join(path.read_text() for path in (host / "etc").rglob("*.service"))


def test_units_of_another_version_or_place_of_ctk_are_replaced(host: Path) -> None:
    run(host, INSTALL)
    unit = host / FILES[0][0].lstrip("/")
    written = unit.read_text()
    unit.write_text(written.replace("/usr/bin/ctk", '"/opt/my tools/ctk"'))
    assert run(host, INSTALL).data["changed"] is True
    assert unit.read_text() == written


def test_units_of_an_older_template_are_replaced(host: Path) -> None:
    """What ctk itself wrote is known from its journal, whatever the templates say today."""
    app = App()
    app.root, app.command = str(host), "cdi refresh"
    path = FILES[0][0]
    older = FileChange(path, str(host / path.lstrip("/")), None, b"[Service]\nExecStart=/usr/bin/ctk cdi refresh\n")
    apply_plan(app, app.host(), Plan("cdi", KEY, (older,)), no_journal=False, no_verify=True)
    run(host, INSTALL)
    assert (host / path.lstrip("/")).read_text() == unit_text(FILES[0][1], ("/usr/bin/ctk",))


@pytest.fixture
def with_nvidia_units(host: Path) -> Path:
    wants = host / "etc" / "systemd" / "system" / "multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "nvidia-cdi-refresh.path").symlink_to("/usr/lib/systemd/system/nvidia-cdi-refresh.path")
    return host


def test_two_writers_of_one_spec_are_refused(with_nvidia_units: Path) -> None:
    with pytest.raises(Refused, match=r"nvidia-cdi-refresh\.path of nvidia-ctk would write the same spec") as caught:
        run(with_nvidia_units, INSTALL)
    assert caught.value.force == "two-writers"
    assert "systemctl disable --now nvidia-cdi-refresh.path" in caught.value.hint
    assert not (with_nvidia_units / FILES[0][0].lstrip("/")).exists()


def test_two_writers_may_be_forced_and_are_told_by_a_dry_run(with_nvidia_units: Path) -> None:
    told = run(with_nvidia_units, UnitOptions(dry_run=True)).messages
    assert any("a real run would stop here" in message.text for message in told)
    run(with_nvidia_units, UnitOptions(forced=frozenset({"two-writers"})))
    assert (with_nvidia_units / FILES[0][0].lstrip("/")).exists()


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("/usr/bin/ctk", "/usr/bin/ctk"),
        ("/opt/my tools/ctk", '"/opt/my tools/ctk"'),
        ("/opt/100%/ctk", "/opt/100%%/ctk"),
        ("/opt/$x/ctk", "/opt/$$x/ctk"),
        ('/opt/"q"/ctk', '"/opt/\\"q\\"/ctk"'),
        ("/opt/a\\b/ctk", '"/opt/a\\\\b/ctk"'),
    ],
)
def test_a_path_is_quoted_for_systemd(word: str, quoted: str) -> None:
    assert quote_for_systemd(word) == quoted


@pytest.mark.real
def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    program = tmp_path / "my 100% tools" / "ctk"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for path, template in FILES[:2]:
        (tmp_path / os.path.basename(path)).write_text(unit_text(template, (str(program),)))
    done = subprocess.run(
        [
            "systemd-analyze",
            "verify",
            "--recursive-errors=no",
            *(str(tmp_path / os.path.basename(p)) for p, _ in FILES[:2]),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ctk-cdi-refresh" not in done.stderr


@pytest.mark.real
@pytest.mark.parametrize("is_loaded", [False, True])
def test_nodes_for_cuda_are_made_where_a_driver_is_loaded(tmp_path: Path, is_loaded: bool) -> None:
    """A refresh that comes while somebody unloads the driver must not load it again."""
    unit = unit_text(FILES[0][1], ("/usr/bin/ctk",))
    line = next(line for line in unit.splitlines() if line.startswith("ExecStartPre=-"))
    version, program = tmp_path / "version", tmp_path / "nvidia-modprobe"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    program.chmod(0o755)
    if is_loaded:
        version.touch()
    command = shlex.split(line.removeprefix("ExecStartPre=-").replace("/proc/driver/nvidia/version", str(version)))
    assert subprocess.run(command, env={"PATH": str(tmp_path)}, check=False, timeout=10).returncode == 0
    asked = tmp_path / "asked"
    assert (asked.read_text() if asked.exists() else "") == ("-u -c=0\n" if is_loaded else "")


def test_what_systemd_refuses_is_told() -> None:
    asked: list[tuple[str, ...]] = []

    def runner(argv: tuple[str, ...], seconds: float) -> CommandOutput:
        asked.append(argv)
        fails = "enable" in argv
        return CommandOutput(argv, 1 if fails else 0, "", "Failed to enable unit: read-only\n" if fails else "")

    assert enable_units(("a.path",), runner) == ("systemctl enable a.path: Failed to enable unit: read-only",)
    assert ("systemctl", "start", "--no-block", "a.path") in asked
    assert disable_units(("a.path",), runner) == ()
    assert asked[-1] == ("systemctl", "disable", "--now", "a.path")
    assert forget_units(runner) == ()
