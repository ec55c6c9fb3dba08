"""Fixtures of the engine suite: private hosts with one engine and recording runtimes; and the check for leftovers."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .engines import (
    CONTAINERD_GENERATIONS,
    DOCKERD_GENERATIONS,
    Engine,
    find_binary,
    need_engine,
    render_header,
)
from .private_host import PrivateHost, find_cgroups, remove_stale_cgroups
from .recorder import Recorder
from .scenario import Scenario

HERE = Path(__file__).parent


def pytest_report_header() -> str:
    """The versions met, at the top of every run."""
    return render_header()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything below this folder carries the marker e2e."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session", params=CONTAINERD_GENERATIONS)
def containerd(request: pytest.FixtureRequest) -> Engine:
    """Each generation of containerd in turn."""
    return need_engine("containerd", request.param)


@pytest.fixture(scope="session", params=DOCKERD_GENERATIONS)
def dockerd(request: pytest.FixtureRequest) -> Engine:
    """Each generation of dockerd in turn."""
    return need_engine("dockerd", request.param)


@pytest.fixture(scope="session")
def real_runc(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of runc that no recording runtime lies on top of."""
    return str(shutil.copy(find_binary("runc"), tmp_path_factory.mktemp("runc") / "runc"))


@pytest.fixture
def make_scenario(tmp_path: Path, real_runc: str) -> Iterator[Callable[[Engine | None], Scenario]]:
    """Makes private hosts that carry an engine, the recording runtimes and the stand-ins; ends them after the test."""
    with ExitStack() as stack:

        def make(engine: Engine | None) -> Scenario:
            directory = tmp_path / f"host-{len(list(tmp_path.glob('host-*')))}"
            top = directory / "top"
            runtime = Recorder(top / "usr/bin/nvidia-container-runtime", directory / "nvidia.jsonl", real_runc)
            base = Recorder(top / "usr/sbin/runc", directory / "runc.jsonl", real_runc)
            shutil.copy(base.binary, top / "usr/bin/runc")
            for name in ("systemctl", "journalctl"):
                shutil.copy(HERE / "stand_ins" / name, top / "usr/bin" / name)
            roots = [Path(engine.root)] if engine is not None and engine.root != "/" else []
            host = stack.enter_context(PrivateHost(directory, [top, *roots]))
            return Scenario(host, runtime, base, find_binary("busybox"))

        yield make


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """No process, mount, cgroup or network interface of the suite outlives it."""
    remove_stale_cgroups()
    mounts, interfaces = _read_mounts(), set(os.listdir("/sys/class/net"))
    yield
    assert _find_processes() == []
    assert find_cgroups(f"ctk-e2e-{os.getpid()}-") == []
    assert {row for row in _read_mounts() - mounts if "ctk-e2e" in row or "pytest" in row} == set()
    assert set(os.listdir("/sys/class/net")) - interfaces == set()


def _read_mounts() -> set[str]:
    return set(Path("/proc/self/mounts").read_text().splitlines())


def _find_processes() -> list[str]:
    """Engines, shims and containers in a process-id namespace below this one that this test run started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if f"ctk-e2e-{os.getpid()}-" in status.read_text():
                found.append((status.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for child in children:
        name = Path(f"/proc/{child}/comm").read_text().strip()
        if name in ("setpriv", "unshare", "nsenter"):
            found.append(name)
    return found
