"""Hosts of which little can be seen: an unprivileged user, closed folders, a container without /sys; no verdict."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import ERROR, FAIL, UNKNOWN
from ctk.doctor.report import Report, judge
from ctk.doctor.run import select_checks
from ctk.errors import EXIT_FAILED, EXIT_OK
from ctk.host.collect import collect
from tests.conftest import AsNobody
from tests.fake_host import FakeHost, build_host
from tests.unit.cli.scene import Answer, ctk

FOLDERS = ("boot", "dev", "etc", "lib", "proc", "run", "sys", "usr", "var")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> FakeHost:
    """One tree for all tests, which leave it as it was."""
    folder = tmp_path_factory.mktemp("blind")
    folder.chmod(0o711)  # nobody may go through it
    return build_host("healthy-one-gpu", folder / "host")[0]


@pytest.fixture
def opened(healthy: FakeHost) -> Iterator[Path]:
    """The tree, with its folders' modes put back afterwards."""
    root = Path(healthy.root)
    yield root
    for name in FOLDERS:
        (root / name).chmod(0o755)


def look(host: FakeHost) -> Report:
    return judge(collect(host, None), select_checks(ALL_CHECKS), ALL_CHECKS)


def wrong(report: Report) -> list[tuple[str, str]]:
    return [(item.key, item.outcome.message) for item in report.findings if item.status in (ERROR, FAIL)]


@pytest.mark.parametrize("closed", [*((name,) for name in FOLDERS), FOLDERS], ids=lambda names: "+".join(names))
def test_what_a_user_may_not_read_is_unknown(
    healthy: FakeHost, opened: Path, as_nobody: AsNobody, closed: tuple[str, ...]
) -> None:
    for name in closed:
        (opened / name).chmod(0)
    report = as_nobody(look, healthy)
    assert wrong(report) == []
    assert report.exit_code(strict=False) == (EXIT_FAILED if report.undecided else EXIT_OK)
    unseen = [item for item in report.findings if item.status == UNKNOWN]
    assert unseen or closed == ("run",), "everything was seen through closed folders"
    assert len(unseen) < len(report.findings) // 2 or closed == FOLDERS, "more was closed than was meant"


def test_a_host_of_which_nothing_can_be_read_is_incomplete(
    healthy: FakeHost, opened: Path, as_nobody: AsNobody
) -> None:
    for name in FOLDERS:
        (opened / name).chmod(0)
    answer = as_nobody(ctk, "--root", healthy.root, "doctor", "--json")
    assert answer.code == EXIT_FAILED
    assert answer.json()["data"]["verdict"] == "incomplete"
    assert "Traceback" not in answer.err
    text = as_nobody(ctk, "--root", healthy.root, "doctor")
    assert text.code == EXIT_FAILED
    assert "could not look" in text.out


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_container_without_sys_and_proc_driver(tmp_path: Path, is_marked: bool) -> None:
    host, _ = build_host("healthy-one-gpu", tmp_path / "host")
    root = Path(host.root)
    shutil.rmtree(root / "sys")
    shutil.rmtree(root / "proc/driver")
    if is_marked:
        (root / ".dockerenv").touch()
    report = look(host)
    assert wrong(report) == []
    assert report.exit_code(strict=False) in (EXIT_OK, EXIT_FAILED)


def state_of(root: Path) -> dict[str, tuple[int, int, int]]:
    found = {}
    for folder, folders, names in os.walk(root):
        for name in (".", *folders, *names):
            status = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def test_a_file_system_that_nobody_may_write_is_looked_at_as_any_other(
    tmp_path: Path, as_nobody: AsNobody, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _ = build_host("healthy-one-gpu", tmp_path / "host")
    monkeypatch.setenv("CTK_STATE_DIR", str(tmp_path / "host/var/lib/ctk"))
    root = Path(host.root)

    def doctor() -> Answer:
        return ctk("--root", host.root, "doctor", "--json")

    before = doctor()
    for folder, _, names in os.walk(root):
        os.chmod(folder, 0o555)
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o444 | os.stat(path).st_mode & 0o111)
    state = state_of(root)
    after = as_nobody(doctor)
    assert state_of(root) == state
    assert (after.code, after.err) == (before.code, before.err)
    assert after.json()["data"]["root_causes"] == before.json()["data"]["root_causes"]


def test_a_tree_without_a_bus_and_without_a_driver_is_no_broken_host(tmp_path: Path) -> None:
    host, _ = build_host("bare", tmp_path / "host")
    report = look(host)
    assert wrong(report) == []
    assert report.exit_code(strict=False) == EXIT_FAILED
