"""Who is known to use which engine: the kubelet, Docker, nerdctl; it only compares sockets."""

from collections.abc import Sequence

from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.host import Host
from ctk.host.kubelet import collect_kubelet
from ctk.host.programs import find_program
from ctk.host.reading import try_read_text

CRI_DOCKERD = ("cri-dockerd", "dockershim")
"""In the kubelet's endpoint: the adapters between the kubelet and Docker."""

NERDCTL_CONFIG = "/etc/nerdctl/nerdctl.toml"
"""https://github.com/containerd/nerdctl/blob/main/docs/config.md: `address` names another containerd."""


def add_users(host: Host, installations: Sequence[EngineInstallation]) -> tuple[EngineInstallation, ...]:
    """The same installations with used_by filled in."""
    if not installations:
        return ()
    endpoint = _kubelet_socket(host)
    nerdctl = _nerdctl_socket(host, installations)
    docker = _docker_containerd_socket(installations)
    result = []
    for item in installations:
        users = list(item.used_by)
        socket = normalize_socket(item.socket)
        if _serves_kubelet(item, endpoint):
            users.append("kubelet")
        if item.engine == "containerd" and item.user is None:
            users += ["docker"] if socket == docker and "docker" not in users else []
            users += ["nerdctl"] if socket == nerdctl else []
        result.append(item._replace(used_by=tuple(users)))
    return tuple(result)


def normalize_socket(address: str | None) -> str:
    """A socket's path to compare: without unix://, /var/run as /run (on every distribution a link to it)."""
    path = (address or "").removeprefix("unix://")
    return path.removeprefix("/var") if path.startswith("/var/run/") else path


def _kubelet_socket(host: Host) -> str:
    kubelet = collect_kubelet(host)
    if kubelet is None or isinstance(kubelet, Unknown) or not isinstance(kubelet.runtime_endpoint, str):
        return ""
    return normalize_socket(kubelet.runtime_endpoint)


def _serves_kubelet(item: EngineInstallation, endpoint: str) -> bool:
    if not endpoint or item.user is not None:
        return False
    if any(word in endpoint for word in CRI_DOCKERD):
        return item.engine == "docker"
    return normalize_socket(item.socket) == endpoint


def _nerdctl_socket(host: Host, installations: Sequence[EngineInstallation]) -> str:
    if not any(item.engine == "containerd" for item in installations):
        return ""
    if not isinstance(find_program(host, ("nerdctl",)), str):
        return ""
    text = try_read_text(host, NERDCTL_CONFIG)
    address = None
    if isinstance(text, str) and "address" in text:
        import tomllib

        try:
            address = tomllib.loads(text).get("address")
        except tomllib.TOMLDecodeError:
            address = None
    return normalize_socket(address if isinstance(address, str) else "/run/containerd/containerd.sock")


def _docker_containerd_socket(installations: Sequence[EngineInstallation]) -> str:
    """The containerd that the system's dockerd uses: the one of --containerd, else the system's unless it has its own.

    https://docs.docker.com/reference/cli/dockerd/, --containerd.
    """
    dockers = [item for item in installations if item.engine == "docker" and item.installation == "system"]
    own = [item for item in installations if item.engine == "containerd" and item.installation == "docker"]
    if not dockers or any(item.running is True for item in own):
        return ""
    named = [flag.value for flag in dockers[0].flags if flag.name == "containerd" and flag.value]
    if named:
        return normalize_socket(named[-1])
    return "" if own else "/run/containerd/containerd.sock"
