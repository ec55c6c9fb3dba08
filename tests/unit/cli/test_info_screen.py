"""The screen says what is known, why, and what could not be looked at; narrow and colourless too."""

from pathlib import Path

import pytest

from ctk.cli.info_screen import render_snapshot
from ctk.facts import Unknown
from ctk.facts.snapshot import NOT_COLLECTED, Snapshot
from tests.builders import make_engine, make_flag, make_kubelet, make_snapshot, make_system, make_tool
from tests.memory_host import snapshot_in_memory


def render(snapshot: Snapshot, *, verbose: bool = False, width: int = 1000, colour: bool = False) -> str:
    return render_snapshot(snapshot, verbose=verbose, colour=colour, width=width)


FULL = make_snapshot(
    engines=(
        make_engine(
            config_exists=False, config_origin="/etc/default/docker line 2 (--config-file)", used_by=("kubelet",)
        ),
        make_engine(
            engine="containerd",
            installation="k3s",
            version=Unknown("no answer within 5 s"),
            generated_from="/k3s/config-v3.toml.tmpl",
            drop_in_directory="/k3s/d",
            imports=("/k3s/d/*.toml",),
            config_path="/k3s/config.toml",
            drop_ins=("/k3s/d/1.toml",),
            running=False,
            pid=None,
            running_since=None,
        ),
    ),
    kubelet=make_kubelet(cgroup_driver=None),
    toolkit=(make_tool(), make_tool(name="nvidia-ctk", path=None, version=None, executable=False)),
    docker_context="desktop-linux",
)

EXPECTED = """\
Host
  name      gpu-node-7.example.org
  system    Debian GNU/Linux 12 (bookworm)
  kernel    6.1.0-21-amd64, x86_64
  init      systemd
  context   desktop-linux (docker)
  taken at  2024-05-02T09:00:00Z by ctk 0.1.0

Driver
  loaded     580.95.05, open
  on disk    /lib/modules/6.1.0-21-amd64/updates/dkms/nvidia.ko, version 580.95.05
  libraries  580.95.05 (/usr/lib/x86_64-linux-gnu)
  CUDA       up to 13.0

GPUs
  0000:3b:00.0  NVIDIA H100 PCIe, GPU-5a1e0000-0000-4000-8000-000000000000, driver nvidia, link 32 GT/s x16
  0000:86:00.0  NVIDIA H100 PCIe, GPU-5a1e0000-0000-4000-8000-000000000001, driver nvidia, link 32 GT/s x16

Docker (system)
  state    running since 2024-05-01T08:00:25Z, pid 812
  version  26.1.5
  binary   /usr/sbin/dockerd
  config   /etc/docker/daemon.json (does not exist)
  because  /etc/default/docker line 2 (--config-file)
  socket   /run/docker.sock
  unit     docker.service
  used by  kubelet

containerd (k3s)
  state      not running
  version    could not look: no answer within 5 s
  binary     /usr/sbin/dockerd
  config     /k3s/config.toml (exists)
  because    default
  made from  /k3s/config-v3.toml.tmpl
  drop-ins   /k3s/d
    reads    /k3s/d/1.toml
  socket     /run/docker.sock
  unit       docker.service

Kubelet
  running   yes
  endpoint  unix:///run/containerd/containerd.sock (/var/lib/kubelet/config.yaml)
  cgroups   driver not named

Toolkit
  nvidia-container-runtime  /usr/bin/nvidia-container-runtime, version 1.17.4

CDI
  folders  /etc/cdi, /var/run/cdi
  spec     /var/run/cdi/nvidia.yaml: nvidia.com/gpu, 3 devices
"""


def test_whole_screen() -> None:
    assert render(FULL) == EXPECTED


def test_verbose_screen_has_flags_imports_and_what_is_missing() -> None:
    text = render(FULL, verbose=True)
    assert "  flag       --host=fd:// (/usr/lib/systemd/system/docker.service line 14)\n" in text
    assert "imports    /k3s/d/*.toml\n" in text
    assert "unit file  /usr/lib/systemd/system/docker.service\n" in text
    assert "nvidia-ctk                not found\n" in text


def test_flag_without_a_line_or_value() -> None:
    engine = make_engine(flags=(make_flag(name="debug", value="", origin="command line of pid 7", line=None),))
    assert "--debug (command line of pid 7)\n" in render(make_snapshot(engines=(engine,)), verbose=True)


@pytest.mark.parametrize("width", [1, 40, 60, 80])
def test_narrow_screen_loses_no_word_and_stays_inside(width: int) -> None:
    text = render(FULL, width=width)
    assert max(len(line) for line in text.splitlines()) <= max(width, 30)
    joined = "".join(text.split())
    for word in (
        "config-v3.toml.tmpl",
        "unix:///run/containerd/containerd.sock",
        "nvidia-container-runtime,version1.17.4",
    ):
        assert word in joined


def test_colours_only_when_asked() -> None:
    assert "\x1b[" not in render(FULL)
    assert "\x1b[1mHost\x1b[0m" in render(FULL, colour=True)


def test_nothing_found_is_said() -> None:
    text = render(make_snapshot(engines=(), toolkit=(), system=make_system(distribution_name=None)))
    assert "none found: no docker, containerd, crio or podman" in text
    assert "none found: neither NVIDIA's toolkit nor ctk's runtime" in text
    assert "Kubelet\n    none found\n" in text
    assert "  system    debian 12\n" in text


def test_all_unknown_host_is_readable() -> None:
    unknown = Unknown("permission denied")
    system = make_system(
        distribution_name=unknown,
        kernel=unknown,
        architecture=unknown,
        init=unknown,
        container=unknown,
        wsl=unknown,
        jetson=unknown,
    )
    snapshot = make_snapshot(host_name=unknown, system=system, engines=unknown, kubelet=unknown, toolkit=unknown)
    text = render(snapshot)
    assert text.count("could not look: permission denied") == 10
    assert "kernel     could not look: permission denied\n" in text


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"container": "lxc"}, "  container  lxc\n"),
        ({"wsl": 2}, "  WSL       2\n"),
        ({"jetson": True}, "  Jetson    yes\n"),
        ({"init": None}, "  init      none\n"),
    ],
)
def test_special_hosts(changes: dict[str, object], line: str) -> None:
    assert line in render(make_snapshot(system=make_system(**changes)))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"running": Unknown("no /proc")}, "  state    could not look: no /proc\n"),
        ({"running_since": Unknown("no start time in /proc")}, "  state    running, pid 812\n"),
        ({"config_exists": Unknown("permission denied")}, "(could not look: permission denied)\n"),
        ({"binary": None}, "  binary   not found\n"),
        ({"version": None}, "  version  it names none\n"),
        ({"user": "alice", "installation": "rootless"}, "Docker (rootless of alice)\n"),
        (
            {"engine": "containerd", "drop_in_directory": "/etc/containerd/conf.d"},
            "  drop-ins  /etc/containerd/conf.d (not imported)\n",
        ),
        ({"engine": "crio", "drop_in_directory": "/etc/crio/crio.conf.d"}, "  drop-ins  /etc/crio/crio.conf.d\n"),
        (
            {"engine": "containerd", "installation": "k0s", "drop_in_directory": "/etc/k0s/containerd.d"},
            "  drop-ins  /etc/k0s/containerd.d\n",
        ),
    ],
)
def test_states_of_an_engine(changes: dict[str, object], line: str) -> None:
    assert line in render(make_snapshot(engines=(make_engine(**changes),)))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"executable": False}, "/usr/bin/nvidia-container-runtime, not executable\n"),
        ({"version": Unknown("not run: --root")}, "version could not look: not run: --root\n"),
        ({"path": Unknown("permission denied")}, "could not look: permission denied\n"),
    ],
)
def test_states_of_a_tool(changes: dict[str, object], line: str) -> None:
    assert line in render(make_snapshot(toolkit=(make_tool(**changes),)))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("mig-server", ("  CUDA       up to 13.0\n", "MIG on, 2 devices\n", "  version  2\n", "  systemd  252\n")),
        ("cpu-only", ("  loaded     no\n", "GPUs\n    none on the PCI bus\n", "  libraries  none\n")),
        ("nvswitch-server", ("  NVSwitches    4\n",)),
        ("cdi-file-empty", ("  spec     /var/run/cdi/nvidia.yaml: refused, the file is empty: it holds no spec\n",)),
        ("driver-container", ("  container  580.95.05 (/run/nvidia/driver",)),
        (
            "nothing-readable",
            (
                "  loaded     could not look: permission denied\n",
                "  folders  none of those that engines read\n  folder   /etc/cdi: could not look: permission denied\n",
            ),
        ),
    ],
)
def test_driver_gpus_specs_and_groups_of_a_host(name: str, lines: tuple[str, ...], tmp_path: Path) -> None:
    text = render(snapshot_in_memory(name, tmp_path))
    for line in lines:
        assert line in text


def test_parts_that_an_older_ctk_did_not_collect_have_no_section() -> None:
    text = render(make_snapshot(driver=NOT_COLLECTED, pci=NOT_COLLECTED, cdi=NOT_COLLECTED, cgroups=NOT_COLLECTED))
    assert "not collected" not in text
    assert "Driver\n" not in text


def test_parts_that_could_not_be_looked_at_say_so() -> None:
    denied = Unknown("permission denied")
    text = render(make_snapshot(driver=denied, pci=denied, cdi=denied, cgroups=denied, nvml=denied))
    assert text.count("could not look: permission denied\n") == 4
