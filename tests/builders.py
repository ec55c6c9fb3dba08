"""Valid values of the data model, one word each; override what a test is about."""

from functools import cache

from ctk.facts.engines import EngineFlag, EngineInstallation
from ctk.facts.kernel_log import KernelLog
from ctk.facts.kubelet import Kubelet
from ctk.facts.observer import Observer
from ctk.facts.platform import Platform
from ctk.facts.snapshot import Snapshot
from ctk.facts.system import System
from ctk.facts.toolkit import ToolBinary
from tests.cdi_builders import make_cdi
from tests.driver_builders import (
    make_conditions,
    make_device_nodes,
    make_driver,
    make_kernel,
    make_loader,
    make_modules,
    make_pci,
)
from tests.nvml_builders import make_nvml, make_services
from tests.toolkit_builders import make_packages, make_rights, make_toolkit_setup, make_tools


def make_engine(**changes: object) -> EngineInstallation:
    """A running dockerd of the system, as Debian installs it."""
    values: dict[str, object] = {
        "engine": "docker",
        "installation": "system",
        "binary": "/usr/sbin/dockerd",
        "version": "26.1.5",
        "config_path": "/etc/docker/daemon.json",
        "config_origin": "default",
        "config_exists": True,
        "socket": "/run/docker.sock",
        "unit": "docker.service",
        "unit_files": ("/usr/lib/systemd/system/docker.service",),
        "flags": (make_flag(),),
        "running": True,
        "pid": 812,
        "running_since": "2024-05-01T08:00:25Z",
    }
    return EngineInstallation(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_flag(**changes: object) -> EngineFlag:
    """A flag of docker.service."""
    values = {"name": "host", "value": "fd://", "origin": "/usr/lib/systemd/system/docker.service", "line": 14}
    return EngineFlag(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_system(**changes: object) -> System:
    """A Debian server."""
    values: dict[str, object] = {
        "distribution": "debian",
        "distribution_version": "12",
        "distribution_name": "Debian GNU/Linux 12 (bookworm)",
        "distribution_like": (),
        "kernel": "6.1.0-21-amd64",
        "architecture": "x86_64",
        "init": "systemd",
        "container": None,
        "wsl": None,
        "jetson": False,
    }
    return System(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_kubelet(**changes: object) -> Kubelet:
    """A kubelet on the system's containerd."""
    values: dict[str, object] = {
        "runtime_endpoint": "unix:///run/containerd/containerd.sock",
        "endpoint_origin": "/var/lib/kubelet/config.yaml",
        "cgroup_driver": "systemd",
        "running": True,
    }
    return Kubelet(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_tool(**changes: object) -> ToolBinary:
    """NVIDIA's runtime, installed."""
    values = {"name": "nvidia-container-runtime", "path": "/usr/bin/nvidia-container-runtime", "version": "1.17.4"}
    return ToolBinary(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_observer(**changes: object) -> Observer:
    """Root, on the machine itself."""
    values: dict[str, object] = {
        "is_live": True,
        "user_id": 0,
        "capabilities": 0x1FFFFFFFFFF,
        "shares_mounts": True,
        "boot_id": "7c7f7a57-5e27-4d5a-9a3a-0d6a7d9a3f11",
        "newest_change": "2024-05-02T06:00:00Z",
    }
    return Observer(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_kernel_log(**changes: object) -> KernelLog:
    """A whole log in which nothing went wrong."""
    values: dict[str, object] = {
        "source": "/dev/kmsg",
        "reaches_boot": True,
        "first_seconds": 0.0,
        "last_seconds": 90000.0,
        "persistent_journal": True,
    }
    return KernelLog(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


@cache
def _healthy_parts() -> dict[str, object]:
    """The parts of a healthy snapshot: frozen, so one copy serves all tests."""
    return {
        "taken_at": "2024-05-02T09:00:00Z",
        "ctk_version": "0.1.0",
        "host_name": "gpu-node-7.example.org",
        "system": make_system(),
        "engines": (make_engine(),),
        "kubelet": None,
        "toolkit": make_tools(),
        "toolkit_setup": make_toolkit_setup(),
        "cdi": make_cdi(),
        "packages": make_packages(),
        "rights": make_rights(),
        "kernel": make_kernel(),
        "pci": make_pci(),
        "modules": make_modules(),
        "driver": make_driver(),
        "device_nodes": make_device_nodes(),
        "loader": make_loader(),
        "conditions": make_conditions(),
        "platform": Platform(),
        "nvml": make_nvml(),
        "services": make_services(),
        "suppressions": None,
        "observer": make_observer(),
        "kernel_log": make_kernel_log(),
        "other_engines": (),
    }


def make_snapshot(**changes: object) -> Snapshot:
    """A healthy Docker host without a kubelet."""
    return Snapshot(**{**_healthy_parts(), **changes})  # type: ignore[arg-type] # the record's own fields by name
