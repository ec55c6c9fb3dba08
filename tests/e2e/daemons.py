"""Starts and stops the real daemons inside a private host and waits until they answer; judges nothing."""

import json
import signal
import socket
import subprocess
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from .cri import CriClient, PodRequest, PodResult
from .images import IMAGE, write_image
from .private_host import InnerProcess, PrivateHost

CONTAINERD_CONFIG = "/etc/containerd/config.toml"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
DOCKER_SOCKET = "/run/docker.sock"
CRI_SERVICE = "io.containerd.grpc.v1.cri"
CRI_RUNTIME = "io.containerd.cri.v1.runtime"


class DaemonFailed(Exception):
    """The daemon ended or did not answer; the text holds the end of its log."""


class RunningDaemon:
    """What both daemons share: start, wait, log, stop by process id."""

    name = "daemon"

    def __init__(self, host: PrivateHost, flags: Sequence[str] = ()) -> None:
        self.host = host
        self.flags = tuple(flags)
        self.log_path = host.directory / f"{self.name}.log"
        self._process: InnerProcess | None = None

    def command(self) -> list[str]:
        """What is started."""
        return [self.name, *self.flags]

    def is_answering(self) -> bool:
        """Whether the daemon answers on its socket now."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.log_path.unlink(missing_ok=True)
        self._process = self.host.start(self.command(), self.log_path)
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def wait(self, seconds: float = 30.0) -> None:
        """Waits for the first answer; DaemonFailed when the daemon ends or the time is over."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while not self.is_answering():
            code = self._process.poll()
            if code is not None:
                raise DaemonFailed(f"{self.name} ended with {code}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise DaemonFailed(f"{self.name} did not answer within {seconds:.0f} s:\n{self.log_tail()}")
            time.sleep(0.05)

    def stop(self) -> int:
        """Ends the daemon; containers that still run die with the private host."""
        assert self._process is not None
        return self._process.stop()

    def send(self, number: signal.Signals) -> None:
        """Sends the daemon a signal."""
        assert self._process is not None
        self._process.send(number)

    def log(self) -> str:
        """All it wrote."""
        return self.log_path.read_text() if self.log_path.exists() else ""

    def log_tail(self, lines: int = 15) -> str:
        """The end of what it wrote."""
        return "\n".join(self.log().splitlines()[-lines:])


class RunningContainerd(RunningDaemon):
    """A real containerd on its default paths in the private host."""

    name = "containerd"

    @property
    def socket(self) -> Path:
        """The socket, as a path for this process."""
        return self.host.path(CONTAINERD_SOCKET)

    def is_answering(self) -> bool:
        """Whether `ctr version` gets its answer; it is only started when somebody listens."""
        return is_listening(self.socket) and self.ctr("version").returncode == 0

    def ctr(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Runs containerd's own client inside."""
        return self.host.run(["ctr", *arguments], seconds=60)

    def cri_state(self) -> str:
        """How the CRI service fares, as `ctr plugins ls` says it: ok, error, skip, or absent.

        containerd 2 has its parts as plugins of their own; the service is there only with the old id.
        """
        rows = [line.split() for line in self.ctr("plugins", "ls").stdout.splitlines()]
        states = {f"{row[0]}.{row[1]}": row[-1] for row in rows if len(row) >= 3}
        if CRI_SERVICE not in states:
            return "absent"
        found = {states[name] for name in (CRI_SERVICE, CRI_RUNTIME) if name in states}
        return "ok" if found == {"ok"} else min(found - {"ok"})

    def load_image(self, busybox: str, files: Mapping[str, bytes] | None = None) -> None:
        """Gives the CRI plugin its two images without a registry: the test's and the one the configuration names."""
        names = [IMAGE, *sandbox_images(dump_config(self.host, self.flags))]
        archive = write_image(self.host.directory / "image.tar", busybox, names, files)
        done = self.ctr("-n", "k8s.io", "images", "import", str(archive))
        if done.returncode != 0:
            raise DaemonFailed(f"cannot import the image: {done.stderr}\n{self.log_tail()}")
        with CriClient(self.socket) as client:
            _wait_for_names(client, names)

    def run_pod(self, handler: str, command: Sequence[str], devices: Sequence[str] = ()) -> PodResult:
        """Really runs a container through a CRI runtime handler, with CDI devices by name."""
        logs = self.host.directory / f"pod-{time.monotonic_ns()}"
        logs.mkdir()
        with CriClient(self.socket) as client:
            return client.run_pod(handler, PodRequest(IMAGE, tuple(command), logs, self.host.cgroup, tuple(devices)))


def is_listening(path: Path) -> bool:
    """Whether a connection to a socket is taken."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def ask_http(path: Path, target: str, seconds: float = 5.0) -> bytes:
    """The raw answer of a daemon that speaks HTTP on a socket; empty when there is none."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(seconds)
        try:
            client.connect(str(path))
            client.sendall(f"GET {target} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
            answer = bytearray()
            while part := client.recv(65536):
                answer += part
        except OSError:
            return b""
    return bytes(answer)


def _wait_for_names(client: CriClient, names: Sequence[str], seconds: float = 10.0) -> None:
    """The CRI plugin learns of an import by an event, a moment later."""
    deadline = time.monotonic() + seconds
    while not set(names) <= set(known := client.list_image_names()):
        if time.monotonic() > deadline:
            raise DaemonFailed(f"the CRI plugin does not know {names}, only {known}")
        time.sleep(0.02)


def dump_config(host: PrivateHost, flags: Sequence[str] = ()) -> dict[str, object]:
    """The effective configuration, as containerd prints it; without a file its default (1.x dumps nothing then)."""
    absent = not flags and not host.path(CONTAINERD_CONFIG).exists()
    done = host.run(["containerd", *flags, "config", "default" if absent else "dump"])
    if done.returncode != 0:
        raise DaemonFailed(f"containerd config dump: {done.stderr}")
    return tomllib.loads(done.stdout)


def sandbox_images(dump: dict[str, object]) -> list[str]:
    """The image of a pod's sandbox, by the names that the versions give the setting."""
    plugins = dump.get("plugins")
    assert isinstance(plugins, dict)
    old = plugins.get(CRI_SERVICE, {}).get("sandbox_image")
    new = plugins.get("io.containerd.cri.v1.images", {}).get("pinned_images", {}).get("sandbox")
    return sorted({name for name in (old, new) if name})


class RunningDockerd(RunningDaemon):
    """A real dockerd on its default paths, without a bridge and without firewall rules.

    It uses a containerd beside it, as its package's unit says; one of its own takes it a second to stop.
    """

    name = "dockerd"
    base_flags = ("--bridge=none", "--iptables=false")

    def __init__(self, host: PrivateHost, flags: Sequence[str] = (), *, own_containerd: bool = False) -> None:
        super().__init__(host, flags if own_containerd else (*flags, f"--containerd={CONTAINERD_SOCKET}"))
        self.own_containerd = own_containerd

    def __enter__(self) -> Self:
        if not self.own_containerd and not is_listening(self.host.path(CONTAINERD_SOCKET)):
            self.host.start(["containerd"], self.host.directory / "containerd.log")
            self._wait_for_containerd()
        return super().__enter__()

    def _wait_for_containerd(self, seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not is_listening(self.host.path(CONTAINERD_SOCKET)):
            if time.monotonic() > deadline:
                raise DaemonFailed("the containerd beside dockerd does not answer")
            time.sleep(0.02)

    def command(self) -> list[str]:
        """dockerd with the flags a host without network needs."""
        return [self.name, "-H", f"unix://{DOCKER_SOCKET}", *self.base_flags, *self.flags]

    def is_answering(self) -> bool:
        """Whether the daemon answers a ping, without a client program for every try."""
        return b"200 OK" in ask_http(self.host.path(DOCKER_SOCKET), "/_ping")

    def docker(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Runs docker's own client inside."""
        return self.host.run(["/usr/bin/docker", "-H", f"unix://{DOCKER_SOCKET}", *arguments], seconds=90)

    def load_image(self, busybox: str) -> None:
        """Gives docker the test's image without a registry."""
        archive = write_image(self.host.directory / "image.tar", busybox)
        done = self.docker("load", "-i", str(archive))
        if done.returncode != 0:
            raise DaemonFailed(f"cannot load the image: {done.stderr}\n{self.log_tail()}")

    def info(self) -> dict[str, object]:
        """All that the daemon tells of itself."""
        _, _, body = ask_http(self.host.path(DOCKER_SOCKET), "/info").partition(b"\r\n\r\n")
        document = json.loads(body)
        assert isinstance(document, dict)
        return document

    def run_container(self, *command: str, runtime: str | None = None, devices: Sequence[str] = ()) -> PodResult:
        """Really runs a container; runtime None = the daemon's default; devices are CDI names."""
        chosen = ["--runtime", runtime] if runtime else []
        parent = f"{self.host.cgroup}.slice" if self.info()["CgroupDriver"] == "systemd" else f"/{self.host.cgroup}"
        asked = [item for device in devices for item in ("--device", device)]
        flags = ["--rm", "--network=none", f"--cgroup-parent={parent}", *chosen, *asked]
        done = self.docker("run", *flags, "--entrypoint", command[0], IMAGE, *command[1:])
        return PodResult(done.returncode, done.stdout or done.stderr)
