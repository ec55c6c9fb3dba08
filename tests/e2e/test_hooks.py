"""runc and crun run the hooks of a real bundle: what the container finds, and what a hostile image cannot reach."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from .engines import REPOSITORY, find_binary
from .private_host import PrivateHost

SCRIPT = REPOSITORY / "ctk/inject/hook_main.py"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
HOOK_ENVIRONMENT = ["NVIDIA_CTK_DEBUG=false"]
APPLY = (
    "apply",
    f"--link=libz.so.1::{LIBRARIES}/libcuda.so",
    f"--folder={LIBRARIES}",
    "--host-driver-version=550.54.15",
    "--disable-device-node-modification",
    "--update-application-profile",
    "--mode=755",
    "--path=/dev/dri",
)
MOUNTS = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
]
NAMESPACES = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
DEVICE = {"path": "/dev/nvidia2", "type": "c", "major": 195, "minor": 2, "fileMode": 0o666, "uid": 0, "gid": 0}
HOSTS_USERS = {"namespaces": NAMESPACES, "devices": [DEVICE]}
MAP = [{"containerID": 0, "hostID": 0, "size": 65536}]
OWN_USERS = {"namespaces": [*NAMESPACES, {"type": "user"}], "uidMappings": MAP, "gidMappings": MAP}
PRELOAD = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void load(void) { close(open("%s", O_CREAT | O_WRONLY, 0644)); }
"""


class Bundle:
    """A container's bundle with busybox in it, and the runtime that runs it."""

    def __init__(self, host: PrivateHost, runtime: str) -> None:
        self.host = host
        self.runtime = runtime
        self.folder = host.directory / "bundle"
        self.root = self.folder / "rootfs"
        for name in ("bin", "dev", "etc", "proc", "sys", "tmp", LIBRARIES.lstrip("/")):
            (self.root / name).mkdir(parents=True)
        shutil.copy(find_binary("busybox"), self.root / "bin" / "sh")
        library = next(Path(LIBRARIES).glob("libz.so.1.*"))
        shutil.copy(library, self.root / LIBRARIES.lstrip("/"))

    def run(
        self,
        script: str,
        hook: Sequence[str] = APPLY,
        *,
        environment: Mapping[str, str] | None = None,
        hook_environment: Sequence[str] | None = HOOK_ENVIRONMENT,
        read_only: bool = False,
        user_namespace: bool = False,
    ) -> "subprocess.CompletedProcess[str]":
        """Create and start it; the hook runs as a createContainer hook, as specs have it."""
        entry: dict[str, object] = {"path": sys.executable, "args": [sys.executable, "-I", "-S", str(SCRIPT), *hook]}
        if hook_environment is not None:
            entry["env"] = list(hook_environment)
        words = [f"{name}={value}" for name, value in (environment or {}).items()]
        process = {"args": ["/bin/sh", "-c", script], "cwd": "/", "env": ["PATH=/bin", *words]}
        config = {
            "ociVersion": "1.0.2",
            "process": {"user": {"uid": 0, "gid": 0}, **process},
            "root": {"path": "rootfs", "readonly": read_only},
            "mounts": MOUNTS,
            "hooks": {"createContainer": [entry]},
            "linux": {"cgroupsPath": f"/{self.host.cgroup}/hooks", **(OWN_USERS if user_namespace else HOSTS_USERS)},
        }
        (self.folder / "config.json").write_text(json.dumps(config))
        options = ["--cgroup-manager=disabled"] if self.runtime == "crun" else []
        command = [find_binary(self.runtime), *options, f"--root={self.host.directory}/state", "run"]
        return self.host.run([*command, "--bundle", str(self.folder), "hooks"])


@pytest.fixture(params=["runc", "crun"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bundle]:
    with PrivateHost(tmp_path / "host") as host:
        if request.param == "crun":  # it refuses a machine that has both kinds of cgroups
            done = host.run(["mount", "-t", "cgroup2", "ctk-e2e", "/sys/fs/cgroup"])
            assert done.returncode == 0, done.stderr
        yield Bundle(host, request.param)


def test_a_container_finds_everything(bundle: Bundle) -> None:
    shown = f"ls -l {LIBRARIES}; cat /etc/ld.so.conf.d/00-driver-ctk.conf /etc/nvidia/*/*; ls /; cat /proc/mounts"
    shutil.copy(bundle.root / "bin/sh", bundle.root / "busybox")
    done = bundle.run("; ".join(f"/busybox {word.strip()}" for word in shown.split(";")))
    assert done.returncode == 0, done.stderr
    assert "libcuda.so -> libz.so.1" in done.stdout
    assert "libz.so.1 -> libz.so.1." in done.stdout
    assert f"\n{LIBRARIES}\n" in done.stdout
    assert '"EGLVisibleDGPUDevices",0x4' in done.stdout
    mounts = [line.split()[1] for line in done.stdout.splitlines() if line.count(" ") == 5]
    assert set(mounts) <= {"/", "/proc", "/dev", "/dev/nvidia2"}, "no mount of the hook is left in the container"
    cache = subprocess.run(
        ["/sbin/ldconfig", "-p", "-C", str(bundle.root / "etc/ld.so.cache")], capture_output=True, text=True, check=True
    )
    assert f"libz.so.1 (libc6,x86-64) => {LIBRARIES}/libz.so.1" in cache.stdout
    assert sorted(os.listdir(bundle.root)) == ["bin", "busybox", "dev", "etc", "proc", "sys", "tmp", "usr"]


def test_a_read_only_container_starts(bundle: Bundle) -> None:
    done = bundle.run("echo started", read_only=True)
    assert (done.returncode, done.stdout) == (0, "started\n")


def test_f89_a_container_with_users_of_its_own_finds_its_libraries(bundle: Bundle) -> None:
    done = bundle.run("echo started", user_namespace=True)
    assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr
    assert os.readlink(bundle.root / LIBRARIES.lstrip("/") / "libz.so.1").startswith("libz.so.1.")
    assert (bundle.root / "etc/ld.so.cache").stat().st_size


def test_a_hook_that_fails_keeps_the_container_from_starting_and_says_why(bundle: Bundle) -> None:
    (bundle.root / "link").mkdir()
    done = bundle.run("echo started", ["create-symlinks", "--link=a::/link"])
    assert done.returncode != 0
    assert "started" not in done.stdout
    assert "a folder is in its place" in done.stderr or bundle.runtime == "crun"


def test_a_newer_specs_hook_keeps_no_container_from_starting(bundle: Bundle) -> None:
    done = bundle.run("echo started", ["do-something-new", "--whatever"])
    assert (done.returncode, done.stdout) == (0, "started\n")


def test_what_an_image_would_have_loaded_into_the_hook_is_not(bundle: Bundle) -> None:
    """The image's LD_PRELOAD reaches a hook without an environment of its own, before any line of Python runs."""
    marker = bundle.host.directory / "loaded"
    source = bundle.host.directory / "evil.c"
    source.write_text(PRELOAD % marker)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(bundle.root / "evil.so"), str(source)], check=True)
    code = f"open({str(marker)!r}, 'w')\n"
    for name in ("sitecustomize.py", "json.py", "ctk.py", "os.py"):
        (bundle.root / name).write_text(code)
    hostile = {
        "LD_PRELOAD": f"{bundle.root}/evil.so:/proc/self/cwd/evil.so:/evil.so",
        "LD_LIBRARY_PATH": "/proc/self/cwd",
        "PYTHONPATH": f"{bundle.root}:/proc/self/cwd",
        "PYTHONHOME": "/proc/self/cwd",
    }
    done = bundle.run("echo started", environment=hostile)
    assert done.returncode == 0, done.stderr
    assert not marker.exists()
    if bundle.runtime == "runc":  # crun 1.8 gives such a hook nothing
        bundle.run("echo started", environment=hostile, hook_environment=None)
        assert marker.exists(), "or this test would show nothing"


@pytest.mark.parametrize("name", ["usr", "etc", LIBRARIES.lstrip("/"), "etc/ld.so.conf.d", "etc/nvidia"])
def test_a_hostile_image_reaches_nothing(bundle: Bundle, name: str) -> None:
    sentinel = bundle.host.directory / "sentinel"
    sentinel.mkdir()
    before = sentinel.stat().st_mtime_ns
    path = bundle.root / name
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/proc/1/root" + str(sentinel) if "conf" in name else str(sentinel))
    done = bundle.run("echo started")
    assert done.returncode != 0
    assert os.listdir(sentinel) == []
    assert sentinel.stat().st_mtime_ns == before


def test_nothing_is_loaded_once_the_root_is_entered(bundle: Bundle) -> None:
    """Python would load the image's modules: its system calls between entering the root and ldconfig are looked at."""
    trace = bundle.host.directory / "trace"
    state = bundle.host.directory / "state.json"
    state.write_text(json.dumps({"root": str(bundle.root)}))
    arguments = [sys.executable, "-I", "-S", str(SCRIPT), *APPLY, f"--container-spec={state}"]
    watched = "open,openat,openat2,pivot_root,execve,execveat,stat,newfstatat,readlink,readlinkat"
    command = [find_binary("strace"), "-f", "-o", str(trace), "-e", f"trace={watched}", *arguments]
    done = bundle.host.run(command)
    assert done.returncode == 0, done.stderr
    lines = trace.read_text().splitlines()
    (entered,) = [index for index, line in enumerate(lines) if "pivot_root(" in line]
    child = lines[entered].split()[0]
    inside = [line.split(maxsplit=1)[1] for line in lines[entered + 1 :] if line.startswith(f"{child} ")]
    (left,) = [index for index, line in enumerate(inside) if line.startswith("execveat(")]
    opened = [line for line in inside[:left] if not line.startswith("+++")]
    assert [line.split('"')[1] for line in opened] == ["proc", "sys", "dev"]
    assert all("O_NOFOLLOW" in line for line in opened)
