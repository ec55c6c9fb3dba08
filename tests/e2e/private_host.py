"""A private copy of this host for one test: own mounts, processes and network; what happens in it dies with it.

The folders that an engine or ctk writes to (/etc, /opt, /var/lib, /usr/bin …) are overlays whose upper layer is memory,
/run is empty, and the engine under test lies at its usual place. So ctk runs as an administrator would run it, on
default paths, and this machine stays as it was. Never changes anything outside, but for cgroups, which it removes.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

OVERLAYS = ("etc", "opt", "root", "srv", "var/lib", "usr/bin", "usr/sbin", "usr/local", "usr/lib/systemd", "usr/share")
NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts")
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")  # a test run that is killed leaves no host behind
CGROUP_ROOT = Path("/sys/fs/cgroup")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BASE_ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/root"}

_SETUP = """
set -eu
IFS='
'
mount -t tmpfs -o mode=755 ctk-e2e "$LAYER"
for folder in $FOLDERS; do
  [ -d "/$folder" ] || continue
  lower=
  for top in $TOPS; do
    if [ -d "$top/$folder" ]; then lower="$lower$top/$folder:"; fi
  done
  name=$(echo "$folder" | tr / _)
  mkdir -p "$LAYER/$name/upper" "$LAYER/$name/work"
  mount -t overlay overlay -o "lowerdir=$lower/$folder,upperdir=$LAYER/$name/upper,workdir=$LAYER/$name/work" "/$folder"
done
mount -t tmpfs -o mode=755 ctk-e2e /run
mkdir -p /run/lock /var/lib/containerd /var/lib/docker /etc/containerd /etc/docker
for folder in containerd docker containers ctk; do
  mkdir -p "/var/lib/$folder"
  mount -t tmpfs -o mode=711 ctk-e2e "/var/lib/$folder"
done
rm -rf /etc/containerd/* /etc/docker/* /etc/cdi /etc/resolv.conf
echo "nameserver 192.0.2.1" >/etc/resolv.conf
[ ! -d /etc/systemd/system ] || rm -rf /etc/systemd/system/containerd.service.d /etc/systemd/system/docker.service.d
ip link set lo up
trap '' CHLD
echo ready >"$READY"
exec sleep infinity
"""


class PrivateHost:
    """A context manager; `tops` are folders whose usr/bin, usr/sbin … lie on top of this machine's."""

    _count = 0

    def __init__(self, directory: Path, tops: Sequence[Path] = ()) -> None:
        PrivateHost._count += 1
        self.directory = directory
        self.tops = tuple(tops)
        self.cgroup = f"ctk-e2e-{os.getpid()}-{PrivateHost._count}"
        self._keeper: subprocess.Popen[bytes] | None = None
        self._first = 0
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "PrivateHost":
        layer, ready = self.directory / "layer", self.directory / "ready"
        layer.mkdir(parents=True)
        environment = {
            "PATH": PATH,
            "LAYER": str(layer),
            "READY": str(ready),
            "FOLDERS": "\n".join(OVERLAYS),
            "TOPS": "\n".join(map(str, self.tops)),
        }
        command = [*DIES_WITH_US, "unshare", *NAMESPACES, "--propagation", "private"]
        command += ["--fork", "--kill-child", "--mount-proc"]
        with (self.directory / "setup.log").open("wb") as log:
            self._keeper = subprocess.Popen([*command, "sh", "-c", _SETUP], env=environment, stdout=log, stderr=log)
        try:
            self._wait_until_ready(ready)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _wait_until_ready(self, ready: Path, seconds: float = 10.0) -> None:
        assert self._keeper is not None
        deadline = time.monotonic() + seconds
        while not ready.exists():
            if self._keeper.poll() is not None or time.monotonic() > deadline:
                log = (self.directory / "setup.log").read_text()
                raise RuntimeError(f"cannot make a private host: {log or 'no answer in time'}")
            time.sleep(0.01)
        children = Path(f"/proc/{self._keeper.pid}/task/{self._keeper.pid}/children").read_text().split()
        self._first = int(children[0])

    def _end(self) -> None:
        """Ends every process in it by ending its first one, then removes the cgroups that containers left."""
        if self._keeper is not None:
            if self._first:
                _send_signal(self._first, signal.SIGKILL)
            self._keeper.kill()
            self._keeper.wait(timeout=30)
        for process in self._started:  # what it waited for is dead now
            process.wait(timeout=30)
        remove_cgroups(self.cgroup)
        shutil.rmtree(self.directory / "layer", ignore_errors=True)

    def path(self, name: str) -> Path:
        """A path in it, as a path for this process."""
        assert name.startswith("/")
        return Path(f"/proc/{self._first}/root{name}")

    def require_private(self, name: str) -> None:
        """A file written elsewhere would stay on this machine."""
        assert name.startswith(tuple(f"/{folder}/" for folder in (*OVERLAYS, "run"))), f"{name} is not private"

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command that runs argv inside."""
        return ["nsenter", "-t", str(self._first), "-m", "-p", "-n", "-i", "-u", f"--wd={self.directory}", *argv]

    def run(
        self, argv: Sequence[str], *, seconds: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program inside and returns what it said; never raises for its exit code."""
        return subprocess.run(
            self.command(argv),
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**BASE_ENVIRONMENT, **(environment or {})},
        )

    def start(self, argv: Sequence[str], log: Path) -> "InnerProcess":
        """Starts a daemon inside, its output appended to log."""
        with log.open("ab") as output:
            outer = subprocess.Popen(
                self.command(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=BASE_ENVIRONMENT,
            )
        self._started.append(outer)
        return InnerProcess(outer)


class InnerProcess:
    """A daemon inside: nsenter waits for it here, so its end is seen here, and signals go to the daemon itself."""

    def __init__(self, outer: "subprocess.Popen[bytes]") -> None:
        self._outer = outer

    @property
    def pid(self) -> int | None:
        """The daemon's process id on this machine; None before nsenter has forked or after its end."""
        try:
            children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
        except OSError:
            return None
        return int(children[0]) if children else None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        return self._outer.poll()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the daemon."""
        pid = self.pid
        if pid is not None:
            _send_signal(pid, number)

    def stop(self, seconds: float = 20.0) -> int:
        """SIGTERM, then SIGKILL; returns the exit code."""
        self.send(signal.SIGTERM)
        try:
            return self._outer.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            return self._outer.wait(timeout=seconds)


def _send_signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def find_cgroups(prefix: str) -> list[Path]:
    """The cgroup folders whose name starts with prefix, in every hierarchy, deepest first.

    With SystemdCgroup a container's cgroup is called <prefix>:cri-containerd:<id>, so the name is only a start.
    """
    tops = [Path(top) / name for top, names, _ in os.walk(CGROUP_ROOT) for name in names if name.startswith(prefix)]
    below = [Path(top) for start in tops for top, _, _ in os.walk(start)]
    return sorted(set(below), key=lambda path: len(path.parts), reverse=True)


def remove_stale_cgroups() -> None:
    """Removes what test runs left that were killed: their process id is in the name."""
    for path in find_cgroups("ctk-e2e-"):
        owner = path.name.split("-")[2] if path.name.startswith("ctk-e2e-") else ""
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            remove_cgroups(f"ctk-e2e-{owner}-")


def remove_cgroups(prefix: str, seconds: float = 5.0) -> None:
    """Removes them; the kernel takes a moment after the last process is gone."""
    deadline = time.monotonic() + seconds
    while found := find_cgroups(prefix):
        for path in found:
            try:
                path.rmdir()
            except OSError:
                continue
        if time.monotonic() > deadline:
            raise RuntimeError(f"cannot remove cgroups: {found}")
        time.sleep(0.02)
