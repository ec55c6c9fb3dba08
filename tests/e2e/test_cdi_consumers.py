"""Podman and Docker start containers from specs that ctk made: the right nodes, libraries that load, nothing else."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from .daemons import RunningContainerd, RunningDockerd
from .engines import REPOSITORY, Engine, find_binary, need_engine
from .gpu_host import (
    CONTROL_NODES,
    GPU_NODES,
    LIBRARY_FOLDER,
    LOADABLE,
    MIG_NODES,
    VERSION,
    GpuHost,
    Node,
    Probed,
    compile_probe,
    driver_environment,
    image_files,
    parse_probe,
)
from .images import IMAGE, write_image
from .life_cycle import configure, read_corpus
from .scenario import SOURCE, Scenario

MakeScenario = Callable[[Engine | None], Scenario]

SPEC = "/etc/cdi/nvidia.yaml"
CONTROL = {Node(*row) for row in CONTROL_NODES}
GPU = [Node(*row) for row in GPU_NODES]
MIG = [Node(*row) for row in MIG_NODES]
FOREIGN = Node("/dev/nvidia7", 195, 7)
ASKED = {
    "0": CONTROL | {GPU[0]},
    "1": CONTROL | {GPU[1]},
    "2:0": CONTROL | {GPU[2], *MIG[:2]},
    "2:1": CONTROL | {GPU[2], *MIG[2:]},
    "all": CONTROL | set(GPU) | set(MIG),
}
"""For each name of a device the nodes that its container must have, and no other."""
NUMBERS = [*CONTROL, *GPU, *MIG, FOREIGN]
SCRIPT = f"/sbin/ldconfig -p; exec /bin/probe {' '.join(LOADABLE)} {' '.join(f'{n.major}:{n.minor}' for n in NUMBERS)}"


@pytest.fixture(scope="session")
def gpu_host(tmp_path_factory: pytest.TempPathFactory) -> GpuHost:
    return GpuHost(tmp_path_factory.mktemp("gpu-host"))


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu-image")
    return write_image(folder / "image.tar", find_binary("busybox"), files=image_files(compile_probe(folder)))


class GpuScenario(NamedTuple):
    """A private host with GPUs, and where ctk sees them."""

    scenario: Scenario
    root: str

    def ctk(self, *arguments: str) -> None:
        done = self.scenario.ctk(*arguments, f"--root={self.root}", environment=driver_environment())
        assert done.returncode == 0, done.stdout + done.stderr

    def generate(self, *options: str) -> None:
        self.ctk("cdi", "generate", f"--output={SPEC}", *options)
        self.ctk("cdi", "validate")


def check(probed: Probed, device: str) -> None:
    """Nodes with their numbers, a loader that finds the libraries, and a cgroup that allows these and no others."""
    assert probed.nodes == ASKED[device]
    assert {"libcuda.so.1", "libnvidia-ml.so.1"} <= probed.cache
    assert probed.libraries == dict.fromkeys(LOADABLE, "yes")
    allowed = {(node.major, node.minor) for node in ASKED[device]}
    assert probed.opened == {(n.major, n.minor): "yes" if (n.major, n.minor) in allowed else "no" for n in NUMBERS}
    assert probed.links[f"{LIBRARY_FOLDER}/libcuda.so.1"] == f"libcuda.so.{VERSION}"
    assert probed.links[f"{LIBRARY_FOLDER}/libcuda.so"] == "libcuda.so.1"


# Podman --------------------------------------------------------------------------------------------------------------


def podman(scenario: Scenario, *arguments: str) -> str:
    """Runs podman with runc: crun refuses a machine that has both kinds of cgroups."""
    command = ["podman", "--runtime", "/usr/sbin/runc", "--cgroup-manager=cgroupfs", "--events-backend=file"]
    done = scenario.host.run([*command, *arguments], seconds=90)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_in_podman(scenario: Scenario, devices: Sequence[str]) -> Probed:
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--cap-add=MKNOD", "--pids-limit=-1")
    place = ("--network=none", f"--cgroup-parent=/{scenario.host.cgroup}")
    asked = [f"--device=nvidia.com/gpu={device}" for device in devices]
    output = podman(scenario, "run", "--rm", *place, *limits, *asked, "--entrypoint", "/bin/sh", IMAGE, "-c", SCRIPT)
    return parse_probe(output)


@pytest.fixture(params=["cgroup-v1", "cgroup-v2"])
def cgroups(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_podman_host(cgroups: str, make_scenario: MakeScenario, gpus: GpuHost, image: Path) -> GpuScenario:
    need_engine("podman", "podman")
    scenario = make_scenario(None)
    root = gpus.install(scenario.host)
    if cgroups == "cgroup-v2":
        gpus.unify_cgroups(scenario.host)
    archive = shutil.copy(image, scenario.host.directory / "image.tar")
    podman(scenario, "load", "-q", "-i", str(archive))
    return GpuScenario(scenario, root)


@pytest.fixture
def podman_host(cgroups: str, make_scenario: MakeScenario, gpu_host: GpuHost, image: Path) -> GpuScenario:
    return make_podman_host(cgroups, make_scenario, gpu_host, image)


def test_podman_gives_each_device_what_it_needs_and_nothing_else(podman_host: GpuScenario) -> None:
    podman_host.generate()
    for device in ASKED:
        check(run_in_podman(podman_host.scenario, [device]), device)


def test_podman_runs_the_hooks_of_nvidia_ctk_in_ctk(podman_host: GpuScenario) -> None:
    """--hooks=separate: each hook is a process of its own, as in specs of nvidia-ctk; ctk serves them too."""
    host = podman_host.scenario
    script = f'#!/bin/sh\nPYTHONPATH={SOURCE} exec {sys.executable} -m ctk hook "$@"\n'
    host.write("/usr/bin/nvidia-cdi-hook", script).chmod(0o755)
    podman_host.generate("--hooks=separate")
    check(run_in_podman(podman_host.scenario, ["0"]), "0")


def test_podman_runs_with_the_files_of_a_real_driver(make_scenario: MakeScenario, image: Path, tmp_path: Path) -> None:
    """Debian's packages of a real driver, behind its alternatives links; without a GPU its own NVML answers nothing."""
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "scripts" / "driver_files.py")], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    host = make_podman_host("cgroup-v1", make_scenario, GpuHost(tmp_path, Path(done.stdout.strip())), image)
    host.generate()
    probed = run_in_podman(host.scenario, ["0"])
    assert probed.nodes == ASKED["0"]
    assert probed.libraries == dict.fromkeys(LOADABLE, "yes")
    assert {"libcuda.so.1", "libnvidia-ml.so.1"} <= probed.cache


# Docker --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def docker_host(cgroups: str, make_scenario: MakeScenario, gpu_host: GpuHost) -> GpuScenario:
    scenario = make_scenario(need_engine("dockerd", "28"))
    root = gpu_host.install(scenario.host)
    if cgroups == "cgroup-v2":
        gpu_host.unify_cgroups(scenario.host)
    scenario.write("/etc/docker/daemon.json", '{"features": {"cdi": true}}\n')
    return GpuScenario(scenario, root)


def test_docker_gives_each_device_what_it_needs_and_nothing_else(docker_host: GpuScenario, image: Path) -> None:
    docker_host.generate()
    host = docker_host.scenario.host
    with RunningDockerd(host) as daemon:
        done = daemon.docker("load", "-i", str(shutil.copy(image, host.directory / "image.tar")))
        assert done.returncode == 0, done.stderr
        for device in ASKED:
            result = daemon.run_container("/bin/sh", "-c", SCRIPT, devices=[f"nvidia.com/gpu={device}"])
            assert result.exit_code == 0, result.output
            check(parse_probe(result.output), device)


# containerd, as the kubelet asks it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", ["1.7", "2"])
def test_containerd_gives_each_device_what_it_needs_and_nothing_else(
    generation: str, make_scenario: MakeScenario, gpu_host: GpuHost, tmp_path: Path
) -> None:
    scenario = make_scenario(need_engine("containerd", generation))
    host = GpuScenario(scenario, gpu_host.install(scenario.host))
    host.generate()
    scenario.write("/etc/containerd/config.toml", read_corpus("containerd", "v2-kubeadm.toml")[0].read_bytes())
    configure(scenario, "containerd", "--enable-cdi")
    with RunningContainerd(scenario.host) as daemon:
        daemon.load_image(scenario.busybox, image_files(compile_probe(tmp_path)))
        for device in ASKED:
            result = daemon.run_pod("nvidia", ("/bin/sh", "-c", SCRIPT), devices=(f"nvidia.com/gpu={device}",))
            assert result.exit_code == 0, result.output
            check(parse_probe(result.output), device)
