"""The kubelet's runtime endpoint and cgroup driver, from its flags and files; it asks no cluster."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctk.engines.installations import Daemon
from ctk.facts import Unknown
from ctk.facts.engines import EngineFlag
from ctk.host import Host
from ctk.host.daemons import parse_arguments
from ctk.host.flags import last_value, parse_flags
from ctk.host.processes import Process, collect_processes
from ctk.host.reading import try_exists, try_read_text
from ctk.host.unit_text import Word, parse_environment_file, parse_words
from ctk.host.units import SYSTEM_FOLDERS, collect_unit
from ctk.host.yaml_text import parse_yaml_scalar

if TYPE_CHECKING:
    from ctk.facts.kubelet import Kubelet

KUBELET = Daemon(engine="kubelet", process="kubelet", aliases=(("v", "v"),), config="config", clusters=True)
"""https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/"""

DEFAULT_CONFIG = "/var/lib/kubelet/config.yaml"
FLAG_FILES = ("/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet")
"""kubeadm's own file and the user's: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/kubelet-integration/"""

PROCESS_NAMES = ("kubelet", "k3s", "k3s-server", "k3s-agent", "rke2", "kubelite", "k0s")


class Distribution(NamedTuple):
    """A Kubernetes distribution that brings its kubelet along.

    units start it, config is its own YAML file, arguments_files hold kubelet flags, endpoint is what its kubelet uses
    when nothing else is said, and docker_endpoint with its --docker switch.
    """

    name: str
    units: tuple[str, ...]
    config: str
    endpoint: str
    arguments_files: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    docker_endpoint: str = ""


DISTRIBUTIONS = (
    # https://docs.k3s.io/cli/agent#container-runtime
    Distribution(
        name="k3s",
        units=("k3s.service", "k3s-agent.service"),
        config="/etc/rancher/k3s/config.yaml",
        endpoint="unix:///run/k3s/containerd/containerd.sock",
        docker_endpoint="unix:///run/k3s/cri-dockerd/cri-dockerd.sock",
    ),
    Distribution(
        name="rke2",
        units=("rke2-server.service", "rke2-agent.service"),
        config="/etc/rancher/rke2/config.yaml",
        endpoint="unix:///run/k3s/containerd/containerd.sock",
    ),
    # https://microk8s.io/docs/configuring-services
    Distribution(
        name="microk8s",
        units=("snap.microk8s.daemon-kubelite.service", "snap.microk8s.daemon-kubelet.service"),
        config="",
        endpoint="unix:///var/snap/microk8s/common/run/containerd.sock",
        arguments_files=("/var/snap/microk8s/current/args/kubelet",),
        variables=(
            ("SNAP_DATA", "/var/snap/microk8s/current"),
            ("SNAP_COMMON", "/var/snap/microk8s/common"),
            ("SNAP", "/snap/microk8s/current"),
        ),
    ),
    # https://docs.k0sproject.io/stable/runtime/, --cri-socket
    Distribution(
        name="k0s",
        units=("k0sworker.service", "k0scontroller.service"),
        config="",
        endpoint="unix:///run/k0s/containerd.sock",
    ),
)


class _Finding(NamedTuple):
    value: str
    origin: str


def collect_kubelet(host: Host, processes: Sequence[Process] | Unknown | None = None) -> "Kubelet | None | Unknown":
    """The kubelet of this node, None when there is no trace of one."""
    if processes is None:
        processes = Unknown("not asked")
    found = _collect_plain(host, processes) or _collect_distribution(host, processes)
    if found is not None:
        return found
    hidden = [answer for folder in SYSTEM_FOLDERS if isinstance(answer := try_exists(host, folder), Unknown)]
    return hidden[0] if hidden else None


def collect_kubelet_processes(host: Host) -> tuple[Process, ...] | Unknown:
    """The processes a kubelet runs in."""
    return collect_processes(host, PROCESS_NAMES)


def _collect_plain(host: Host, processes: Sequence[Process] | Unknown) -> "Kubelet | None":
    """A kubelet that is a program and a unit of its own: kubeadm, and the images of cloud providers."""
    unit = collect_unit(host, "kubelet.service")
    process = _find_process(processes, ("kubelet",))
    flags = parse_flags(unit.command, KUBELET) if unit else ()
    flags += _flags_of_files(host) if not flags else ()
    if process is not None:
        flags = (*flags, *_process_flags(process))
    config_flag = last_value(flags, "config")
    config_path = config_flag.value if config_flag and config_flag.value else DEFAULT_CONFIG
    config = try_read_text(host, config_path)
    if unit is None and process is None and config is None and not flags:
        return None
    endpoint = _find(flags, "container-runtime-endpoint", config, "containerRuntimeEndpoint", config_path)
    driver = _find(flags, "cgroup-driver", config, "cgroupDriver", config_path)
    return _make(endpoint, driver, _is_running(processes, process))


def _find_process(processes: Sequence[Process] | Unknown, names: tuple[str, ...]) -> Process | None:
    if isinstance(processes, Unknown):
        return None
    return next((process for process in processes if process.name in names), None)


def _is_running(processes: Sequence[Process] | Unknown, process: Process | None) -> bool | Unknown:
    return processes if isinstance(processes, Unknown) else process is not None


def _process_flags(process: Process) -> tuple[EngineFlag, ...]:
    words = [Word(text, f"command line of pid {process.pid}", None) for text in process.argv]
    return parse_flags(words, KUBELET)


def _flags_of_files(host: Host) -> tuple[EngineFlag, ...]:
    """Where no unit can be read, the files that hold its variables are all there is."""
    words = [Word("kubelet", "", None)]
    for path in FLAG_FILES:
        text = try_read_text(host, path)
        for _, value, line in parse_environment_file(text if isinstance(text, str) else ""):
            words += [Word(word, path, line) for word, _ in parse_words(value, (line,))]
    return parse_flags(words, KUBELET)


def _find(
    flags: Sequence[EngineFlag], flag_name: str, config: str | None | Unknown, key: str, config_path: str
) -> _Finding | None | Unknown:
    """A flag wins over the file: the kubelet's documentation of --config."""
    flag = last_value(flags, flag_name)
    if flag is not None and flag.value:
        return _Finding(flag.value, flag.origin)
    if isinstance(config, Unknown):
        return config
    value = parse_yaml_scalar(config or "", key)
    return _Finding(value, config_path) if value else None


def _make(endpoint: _Finding | None | Unknown, driver: _Finding | None | Unknown, running: bool | Unknown) -> "Kubelet":
    from ctk.facts.kubelet import Kubelet

    return Kubelet(
        runtime_endpoint=endpoint.value if isinstance(endpoint, _Finding) else endpoint,
        endpoint_origin=endpoint.origin if isinstance(endpoint, _Finding) else None,
        cgroup_driver=driver.value if isinstance(driver, _Finding) else driver,
        running=running,
    )


def _collect_distribution(host: Host, processes: Sequence[Process] | Unknown) -> "Kubelet | None":
    for row in DISTRIBUTIONS:
        units = [unit for name in row.units if (unit := collect_unit(host, name)) is not None]
        files = {path: text for path in row.arguments_files if isinstance(text := try_read_text(host, path), str)}
        if not units and not files:
            continue
        flags = tuple(flag for unit in units for flag in parse_flags(unit.command, KUBELET))
        for path, text in files.items():
            arguments = parse_arguments(text, path, row.variables)
            flags += parse_flags((Word("kubelet", path, None), *arguments), KUBELET)
        process = _find_process(processes, ("kubelet", "kubelite", row.name, f"{row.name}-server", f"{row.name}-agent"))
        endpoint = _distribution_endpoint(host, row, flags, units[0].path if units else None)
        driver = last_value(flags, "cgroup-driver")
        found = _Finding(driver.value, driver.origin) if driver else None
        return _make(endpoint, found, _is_running(processes, process))
    return None


def _distribution_endpoint(
    host: Host, row: Distribution, flags: Sequence[EngineFlag], unit_path: str | None
) -> _Finding | Unknown:
    for name in ("container-runtime-endpoint", "cri-socket"):
        flag = last_value(flags, name)
        if flag is not None and flag.value:
            return _Finding(flag.value, flag.origin)
    text = try_read_text(host, row.config) if row.config else None
    if isinstance(text, Unknown):
        return text
    settings: Mapping[str, str | None] = {
        key: parse_yaml_scalar(text or "", key) for key in ("container-runtime-endpoint", "docker")
    }
    if settings["container-runtime-endpoint"]:
        return _Finding(settings["container-runtime-endpoint"], row.config)
    docker = last_value(flags, "docker")
    if row.docker_endpoint and docker is not None and docker.value in ("", "true"):
        return _Finding(row.docker_endpoint, docker.origin)
    if row.docker_endpoint and settings["docker"] == "true":
        return _Finding(row.docker_endpoint, row.config)
    return _Finding(row.endpoint, f"{row.name}'s default" if unit_path is None else unit_path)
