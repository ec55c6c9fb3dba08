"""Valid values of engines, their files and control groups, one word each; override what a test is about."""

from ctk.facts.cdi import Cdi
from ctk.facts.cgroups import V2, Cgroups
from ctk.facts.engines import EngineDaemon, EngineFiles, EngineInstallation, EngineRuntime
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit import ToolBinary
from tests.builders import make_engine, make_kubelet, make_snapshot
from tests.cdi_builders import make_folders

DAEMON_JSON = "/etc/docker/daemon.json"
MAIN = "/etc/containerd/config.toml"
RUNTIME = "/usr/bin/nvidia-container-runtime"
STARTED = "2024-05-01T08:00:25Z"
BEFORE, AFTER = "2024-04-30T12:00:00Z", "2024-05-02T07:30:00Z"
FOLDERS = ("/etc/cdi", "/var/run/cdi")
NO_SPEC = Cdi(make_folders(), ())
RUNC_SHIM = "io.containerd.runc.v2"


def make_runtime(name: str = "nvidia", **changes: object) -> EngineRuntime:
    """NVIDIA's runtime in daemon.json."""
    values: dict[str, object] = {"name": name, "path": RUNTIME, "file": DAEMON_JSON}
    return EngineRuntime(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_files(*runtimes: EngineRuntime, **changes: object) -> EngineFiles:
    """A daemon.json with these runtimes, or NVIDIA's, older than the daemon."""
    values: dict[str, object] = {
        "runtimes": runtimes or (make_runtime(),),
        "default_runtime": None,
        "cdi_enabled": None,
        "changed_at": BEFORE,
        "changed_path": DAEMON_JSON,
        "runtime_changed_at": BEFORE,
        "keys": ("runtimes",),
    }
    return EngineFiles(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def no_runtimes(**changes: object) -> EngineFiles:
    """A file with other settings."""
    return make_files(**{"runtimes": (), "keys": ("log-driver",), "runtime_changed_at": None, **changes})


def make_daemon(*names: str, **changes: object) -> EngineDaemon:
    """A dockerd 27 that knows these runtimes, or runc and NVIDIA's, and has CDI off."""
    paths = {"nvidia": RUNTIME}
    values: dict[str, object] = {
        "runtimes": tuple(EngineRuntime(name, paths.get(name, name), None) for name in names or ("runc", "nvidia")),
        "default_runtime": "runc",
        "version": "27.5.1",
        "cgroup_driver": "systemd",
        "cdi_directories": (),
        "live_restore": False,
        "is_rootless": False,
        "operating_system": "Debian GNU/Linux 12 (bookworm)",
        "containers_running": 2,
    }
    return EngineDaemon(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_docker(**changes: object) -> EngineInstallation:
    """The system's, set up for GPUs, running."""
    values: dict[str, object] = {
        "version": "27.5.1",
        "files": make_files(),
        "daemon": make_daemon(),
        "enabled": True,
        "listens": True,
    }
    return make_engine(**{**values, **changes})


def make_entry(name: str = "nvidia", **changes: object) -> EngineRuntime:
    """A runtime of containerd's, under systemd's management."""
    values: dict[str, object] = {"file": MAIN, "kind": RUNC_SHIM, "systemd_cgroup": True}
    return make_runtime(name, **{**values, "path": RUNTIME if name == "nvidia" else None, **changes})


def make_containerd_files(*runtimes: EngineRuntime, **changes: object) -> EngineFiles:
    """A file of version 2 with runc and NVIDIA's runtime."""
    values: dict[str, object] = {"changed_path": MAIN, "keys": (), "config_version": 2}
    return make_files(*(runtimes or (make_entry("runc"), make_entry())), **{**values, **changes})


def make_containerd(**changes: object) -> EngineInstallation:
    """The system's, of a Kubernetes node."""
    values: dict[str, object] = {
        "engine": "containerd",
        "binary": "/usr/bin/containerd",
        "version": "1.7.25",
        "config_path": MAIN,
        "drop_in_directory": "/etc/containerd/conf.d",
        "socket": "/run/containerd/containerd.sock",
        "unit": "containerd.service",
        "unit_files": ("/usr/lib/systemd/system/containerd.service",),
        "flags": (),
        "files": make_containerd_files(),
        "daemon": None,
        "used_by": ("kubelet",),
    }
    return make_docker(**{**values, **changes})


def make_crio(**changes: object) -> EngineInstallation:
    """CRI-O of a Kubernetes node, with NVIDIA's runtime in a drop-in."""
    drop_in = "/etc/crio/crio.conf.d/99-nvidia.conf"
    entry = make_runtime(file=drop_in, kind="oci", monitor="/usr/libexec/crio/conmon")
    values: dict[str, object] = {
        "engine": "crio",
        "binary": "/usr/bin/crio",
        "version": "1.31.0",
        "config_path": "/etc/crio/crio.conf",
        "drop_in_directory": "/etc/crio/crio.conf.d",
        "drop_ins": (drop_in,),
        "socket": "/var/run/crio/crio.sock",
        "unit": "crio.service",
        "files": make_files(entry, changed_path=drop_in, keys=(), cdi_enabled=True, cgroup_driver="systemd"),
    }
    return make_containerd(**{**values, **changes})


def make_podman(**changes: object) -> EngineInstallation:
    """Podman has no daemon."""
    values: dict[str, object] = {
        "engine": "podman",
        "binary": "/usr/bin/podman",
        "version": "5.2.2",
        "config_path": "/etc/containers/containers.conf",
        "socket": "/run/podman/podman.sock",
        "unit": "podman.service",
        "flags": (),
        "running": False,
        "enabled": False,
        "listens": None,
        "pid": None,
        "running_since": None,
        "daemon": None,
        "files": no_runtimes(cdi_enabled=True, keys=()),
    }
    return make_docker(**{**values, **changes})


def make_cgroups(**changes: object) -> Cgroups:
    """Version 2 with systemd, and a kernel that tells its device programs."""
    values: dict[str, object] = {
        "mode": V2,
        "controllers": ("cpuset", "cpu", "io", "memory", "pids"),
        "systemd_version": 252,
        "device_programs": True,
        "runtimes": (
            ToolBinary(name="runc", path="/usr/bin/runc", version="1.2.5"),
            ToolBinary(name="crun", path=None, version=None, executable=False),
        ),
    }
    return Cgroups(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def docker_host(item: EngineInstallation | None = None, **changes: object) -> Snapshot:
    """A server with one Docker."""
    values: dict[str, object] = {"engines": (item or make_docker(),), "cgroups": make_cgroups(), "cdi": NO_SPEC}
    return make_snapshot(**{**values, **changes})


def pod_host(item: EngineInstallation | None = None, **changes: object) -> Snapshot:
    """A Kubernetes node with one engine."""
    return docker_host(item or make_containerd(), **{"kubelet": make_kubelet(), **changes})
