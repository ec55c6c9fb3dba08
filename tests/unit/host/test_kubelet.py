"""The kubelet's endpoint: flags before files, the running process before the unit."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.kubelet import Kubelet
from ctk.host.kubelet import collect_kubelet
from ctk.host.processes import Process
from tests.conftest import AsNobody
from tests.unit.host.trees import make_process, plant

CONFIG = "/var/lib/kubelet/config.yaml"
UNIT = "/usr/lib/systemd/system/kubelet.service"


def collect(tmp_path: Path, files: dict[str, str], *processes: Process) -> Kubelet | None:
    found = collect_kubelet(plant(tmp_path, {"/x": "", **files}), processes)
    assert not isinstance(found, Unknown)
    return found


def test_host_without_a_kubelet(tmp_path: Path) -> None:
    assert collect(tmp_path, {}) is None


def test_config_file_names_endpoint_and_driver(tmp_path: Path) -> None:
    text = "cgroupDriver: systemd\ncontainerRuntimeEndpoint: unix:///run/a.sock\n"
    assert collect(tmp_path, {CONFIG: text}) == Kubelet(
        runtime_endpoint="unix:///run/a.sock", endpoint_origin=CONFIG, cgroup_driver="systemd", running=False
    )


def test_flag_wins_over_the_file_and_names_its_origin(tmp_path: Path) -> None:
    files = {
        UNIT: "[Service]\nEnvironmentFile=-/etc/default/kubelet\nExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS\n",
        "/etc/default/kubelet": (
            "KUBELET_EXTRA_ARGS=--container-runtime-endpoint=unix:///run/b.sock --cgroup-driver=cgroupfs\n"
        ),
        CONFIG: "containerRuntimeEndpoint: unix:///run/a.sock\ncgroupDriver: systemd\n",
    }
    found = collect(tmp_path, files)
    assert found is not None
    assert (found.runtime_endpoint, found.endpoint_origin) == ("unix:///run/b.sock", "/etc/default/kubelet")
    assert found.cgroup_driver == "cgroupfs"


@pytest.mark.parametrize(
    "path", ["/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"]
)
def test_flag_files_count_without_a_unit(tmp_path: Path, path: str) -> None:
    text = 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint unix:///run/c.sock --v=2"\n'
    found = collect(tmp_path, {path: text})
    assert found is not None
    assert (found.runtime_endpoint, found.endpoint_origin) == ("unix:///run/c.sock", path)


def test_running_process_wins_over_the_unit(tmp_path: Path) -> None:
    files = {UNIT: "[Service]\nExecStart=/usr/bin/kubelet --container-runtime-endpoint=/run/old.sock\n"}
    process = make_process("/usr/bin/kubelet", "--container-runtime-endpoint=/run/new.sock")
    found = collect(tmp_path, files, process)
    assert found is not None
    assert (found.runtime_endpoint, found.endpoint_origin) == ("/run/new.sock", "command line of pid 42")
    assert found.running is True


def test_config_file_may_be_elsewhere(tmp_path: Path) -> None:
    files = {
        UNIT: "[Service]\nExecStart=/usr/bin/kubelet --config /etc/kubernetes/kubelet.yaml\n",
        "/etc/kubernetes/kubelet.yaml": "containerRuntimeEndpoint: unix:///run/d.sock\n",
        CONFIG: "containerRuntimeEndpoint: unix:///run/a.sock\n",
    }
    found = collect(tmp_path, files)
    assert found is not None
    assert found.runtime_endpoint == "unix:///run/d.sock"


def test_unreadable_config_is_unknown(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {CONFIG: "containerRuntimeEndpoint: unix:///run/a.sock\n"})
    (tmp_path / CONFIG.lstrip("/")).chmod(0)
    found = as_nobody(collect_kubelet, host, ())
    assert isinstance(found, Kubelet)
    assert found.runtime_endpoint == Unknown("permission denied")


def test_running_is_unknown_when_processes_are(tmp_path: Path) -> None:
    found = collect_kubelet(plant(tmp_path, {CONFIG: "kind: x\n"}), Unknown("no /proc"))
    assert isinstance(found, Kubelet)
    assert (found.running, found.runtime_endpoint) == (Unknown("no /proc"), None)


K3S = "/etc/systemd/system/k3s.service"
EMBEDDED = "unix:///run/k3s/containerd/containerd.sock"


@pytest.mark.parametrize(
    ("files", "endpoint", "origin"),
    [
        ({K3S: "[Service]\nExecStart=/usr/local/bin/k3s server\n"}, EMBEDDED, K3S),
        (
            {K3S: "[Service]\nExecStart=/usr/local/bin/k3s server --container-runtime-endpoint=/run/x.sock\n"},
            "/run/x.sock",
            K3S,
        ),
        (
            {K3S: "[Service]\nExecStart=/usr/local/bin/k3s server --docker\n"},
            "unix:///run/k3s/cri-dockerd/cri-dockerd.sock",
            K3S,
        ),
        (
            {K3S: "[Service]\nExecStart=/usr/local/bin/k3s server\n", "/etc/rancher/k3s/config.yaml": "docker: true\n"},
            "unix:///run/k3s/cri-dockerd/cri-dockerd.sock",
            "/etc/rancher/k3s/config.yaml",
        ),
        (
            {
                "/etc/systemd/system/rke2-server.service": "[Service]\nExecStart=/usr/local/bin/rke2 server\n",
                "/etc/rancher/rke2/config.yaml": 'container-runtime-endpoint: "/run/crio/crio.sock"\n',
            },
            "/run/crio/crio.sock",
            "/etc/rancher/rke2/config.yaml",
        ),
        (
            {"/etc/systemd/system/k0sworker.service": "[Service]\nExecStart=/usr/bin/k0s worker\n"},
            "unix:///run/k0s/containerd.sock",
            "/etc/systemd/system/k0sworker.service",
        ),
        (
            {"/var/snap/microk8s/current/args/kubelet": "--cgroup-driver=cgroupfs\n"},
            "unix:///var/snap/microk8s/common/run/containerd.sock",
            "microk8s's default",
        ),
    ],
)
def test_distributions_have_a_kubelet_of_their_own(
    tmp_path: Path, files: dict[str, str], endpoint: str, origin: str
) -> None:
    found = collect(tmp_path, files)
    assert found is not None
    assert (found.runtime_endpoint, found.endpoint_origin) == (endpoint, origin)
