"""podman has a configuration of its own: it runs as before, whatever ctk does for the other engines."""

import subprocess
from collections.abc import Callable

import pytest

from .engines import Engine, find_binary, need_engine
from .images import IMAGE, write_image
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]

FOLDERS = ("/etc/containers", "/usr/share/containers", "/root/.config/containers")


def _podman(scenario: Scenario, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs podman with runc: crun refuses a machine that has both kinds of cgroups."""
    command = ["podman", "--runtime", "/usr/sbin/runc", "--cgroup-manager=cgroupfs", "--events-backend=file"]
    return scenario.host.run([*command, *arguments], seconds=90)


def _run_container(scenario: Scenario) -> tuple[int, str]:
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
    place = ("--network=none", f"--cgroup-parent=/{scenario.host.cgroup}")
    script = "echo hello from $(id -u); exit 7"
    done = _podman(scenario, "run", "--rm", *place, *limits, "--entrypoint", "/bin/sh", IMAGE, "-c", script)
    return done.returncode, done.stdout or done.stderr


@pytest.fixture
def scenario(make_scenario: MakeScenario) -> Scenario:
    """A host with podman and the distribution's Docker and containerd, and an image in podman's store."""
    need_engine("podman", "podman")
    made = make_scenario(need_engine("containerd", "1.6"))
    archive = write_image(made.host.directory / "image.tar", find_binary("busybox"))
    loaded = _podman(made, "load", "-q", "-i", str(archive))
    assert loaded.returncode == 0, loaded.stderr
    return made


@pytest.mark.parametrize("engine", ["auto", "docker", "containerd"])
def test_podman_runs_as_before_and_its_files_are_untouched(engine: str, scenario: Scenario) -> None:
    scenario.write("/etc/containers/containers.conf", '[engine]\nruntime = "runc" # site\n')
    before = _run_container(scenario)
    assert before == (7, "hello from 0\n")
    files = scenario.read_tree(*FOLDERS)
    assert files
    for operation in ("configure", "unconfigure"):
        done = scenario.ctk("runtime", operation, f"--runtime={engine}")
        assert done.returncode == 0, done.stderr
        assert scenario.read_tree(*FOLDERS) == files
        assert _run_container(scenario) == before
    assert scenario.runtime.calls == []
