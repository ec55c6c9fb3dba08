"""One part's failure is a reason in the snapshot and nothing else."""

import errno
from pathlib import Path

import pytest

from ctk import __version__
from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.facts.snapshot import Snapshot
from ctk.host.collect import collect, guard
from ctk.host.local import LocalHost
from ctk.host.reading import try_exists, try_read_text, unknown_from
from ctk.host.toolkit import collect_toolkit
from tests.unit.host.trees import PROGRAM, Program, plant


def crash() -> str:
    raise RuntimeError("boom")


def refuse() -> str:
    raise PermissionError(errno.EACCES, "Permission denied", "/x")


def test_crash_of_a_collector_is_a_bug_of_ours() -> None:
    assert guard(crash) == Unknown("a bug in ctk: RuntimeError: boom")
    assert guard(refuse) == Unknown("permission denied")
    assert guard(lambda: "value") == "value"


class BrokenHost(LocalHost):
    """A host on which one kind of question always crashes; a real crash needs a bug that is not there."""

    def __init__(self, root: str, broken: str) -> None:
        super().__init__(root, environment={})
        self.broken = broken

    def read_bytes(self, path: str, limit_bytes: int = 1000000) -> bytes:
        if self.broken in path:
            raise ZeroDivisionError(path)
        return super().read_bytes(path, limit_bytes)


def test_crash_in_one_part_leaves_the_others(tmp_path: Path) -> None:
    files = {"/etc/hostname": "box\n", "/etc/os-release": "ID=x\n", "/usr/bin/dockerd": Program(PROGRAM)}
    plant(tmp_path, files)
    snapshot = collect(BrokenHost(str(tmp_path), "os-release"))
    assert snapshot.system.kernel == Unknown("a bug in ctk: ZeroDivisionError: /etc/os-release")
    assert snapshot.host_name == "box"
    assert isinstance(snapshot.engines, tuple)
    assert [engine.engine for engine in snapshot.engines] == ["docker"]
    assert snapshot.ctk_version == __version__


@pytest.mark.real
def test_live_host_is_collected_without_an_unknown_bug() -> None:
    snapshot = collect(LocalHost())
    assert isinstance(snapshot, Snapshot)
    assert "a bug in ctk" not in repr(snapshot)


def test_error_becomes_a_reason_in_the_systems_words() -> None:
    assert unknown_from(PermissionError(errno.EPERM, "Operation not permitted")) == Unknown("permission denied")
    assert unknown_from(OSError(errno.EIO, "Input/output error")) == Unknown("input/output error")
    assert unknown_from(OSError("odd")) == Unknown("odd")


def test_reading_keeps_the_three_states_apart(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/file": "x", "/loop": "", "/folder/x": ""})
    (tmp_path / "loop").unlink()
    (tmp_path / "loop").symlink_to("loop")
    assert try_read_text(host, "/file") == "x"
    assert try_read_text(host, "/none") is None
    assert try_read_text(host, "/file/below") is None
    assert try_read_text(host, "/folder") == Unknown("is a directory")
    assert try_read_text(host, "/loop") == Unknown("too many levels of symbolic links")
    assert try_exists(host, "/loop") == Unknown("too many levels of symbolic links")


def test_toolkit_programs_are_found_in_their_folders(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {"/usr/local/nvidia/toolkit/nvidia-ctk": Program(PROGRAM), "/usr/bin/nvidia-cdi-hook": "not executable"},
    )
    tools = {tool.name: tool for tool in collect_toolkit(host)}
    assert len(tools) == 8
    assert tools["nvidia-ctk"].path == "/usr/local/nvidia/toolkit/nvidia-ctk"
    assert tools["nvidia-ctk"].version == Unknown("not run: --root")
    assert (tools["nvidia-cdi-hook"].executable, tools["nvidia-cdi-hook"].version) == (False, Unknown("not executable"))
    assert (tools["nvidia-container-cli"].path, tools["nvidia-container-cli"].executable) == (None, False)


def test_installation_is_a_value(tmp_path: Path) -> None:
    engines = collect(plant(tmp_path, {"/usr/bin/crio": Program(PROGRAM)})).engines
    assert isinstance(engines, tuple)
    assert isinstance(engines[0], EngineInstallation)
    with pytest.raises(AttributeError):
        engines[0].unit = "x"  # type: ignore[misc] # that it cannot be set is the point
