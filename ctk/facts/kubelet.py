"""The kubelet's view of its container runtime; no I/O."""

from dataclasses import dataclass

from ctk.facts import Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """A kubelet found on the host, and the endpoint it was told to use."""

    runtime_endpoint: str | None | Unknown  # unix:///run/containerd/containerd.sock
    endpoint_origin: str | None  # the file that names it
    cgroup_driver: str | None | Unknown  # systemd or cgroupfs
    running: bool | Unknown
