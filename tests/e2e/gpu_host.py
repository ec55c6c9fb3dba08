"""Makes a private host look like a machine with three GPUs: files of the driver, nodes, libraries; no driver answers.

GPU 0 is /dev/nvidia0, GPU 1 is /dev/nvidia3 (a minor is not an index), GPU 2 is /dev/nvidia2 in MIG mode with two
devices. Files cannot be made in /proc, so ctk is given a second view of the same tree, with a /proc of our own, as its
--root: every path in a spec made there is true on the private host too.
"""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.nvml_root import SOURCES

from .private_host import PrivateHost

VERSION = "550.54.15"
LIBRARY_FOLDER = "/usr/lib/x86_64-linux-gnu"
NVML_WORDS = f"gpus=3 driver={VERSION} cuda=12040 1.minor=3 2.mig=1 2.mig_pending=1 2.mig_devices=2"
"""What the stand-in for NVIDIA's management library says (tests/nvml_stand_in/nvml.c)."""
CONTROL_NODES = (
    ("/dev/nvidiactl", 195, 255),
    ("/dev/nvidia-modeset", 195, 254),
    ("/dev/nvidia-uvm", 510, 0),
    ("/dev/nvidia-uvm-tools", 510, 1),
)
GPU_NODES = (("/dev/nvidia0", 195, 0), ("/dev/nvidia3", 195, 3), ("/dev/nvidia2", 195, 2))
CAPABILITIES = {"mig/config": 1, "mig/monitor": 2}
MIG_CAPABILITIES = (
    ("gpu2/gi7/access", 66),
    ("gpu2/gi7/ci0/access", 67),
    ("gpu2/gi8/access", 75),
    ("gpu2/gi8/ci0/access", 76),
)
MIG_NODES = tuple((f"/dev/nvidia-caps/nvidia-cap{minor}", 235, minor) for _, minor in MIG_CAPABILITIES)
LIBRARIES = ("libcuda", "libnvidia-ptxjitcompiler", "libnvidia-encode", "libnvidia-cfg", "libGLX_nvidia")
C_LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")
"""What a real driver's libraries need of an image."""
LOADABLE = ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1", "libcuda.so")

_COVER = """
set -eu
mount -t overlay overlay -o "lowerdir=$LIBRARIES:/usr/lib/x86_64-linux-gnu" /usr/lib/x86_64-linux-gnu
mkdir -p "$WORK/dev" "$WORK/dev-work"
mount -t tmpfs ctk-e2e "$WORK/dev"
mkdir -p "$WORK/dev/upper" "$WORK/dev/work"
for place in pts shm mqueue; do [ ! -d /dev/$place ] || mkdir -p "$WORK/keep/$place"; done
for place in pts shm mqueue; do [ ! -d /dev/$place ] || mount --bind /dev/$place "$WORK/keep/$place"; done
mount -t overlay overlay -o "lowerdir=/dev,upperdir=$WORK/dev/upper,workdir=$WORK/dev/work" /dev
for place in pts shm mqueue; do [ ! -d "$WORK/keep/$place" ] || mount --bind "$WORK/keep/$place" /dev/$place; done
mkdir "$WORK/root"
mount --rbind / "$WORK/root"
mount -t tmpfs ctk-e2e "$WORK/root/proc"
cp -r "$TOP/proc/." "$WORK/root/proc/"
"""


_UNIFIED = """
set -eu
mkdir "$WORK/cgroup"
mount -t cgroup2 ctk-e2e "$WORK/cgroup"
mount --bind "$WORK/cgroup" /sys/fs/cgroup
"""


class Node(NamedTuple):
    """A character device: path and number."""

    path: str
    major: int
    minor: int


class GpuHost:
    """The files on disk, made once a test run; `install` puts them into one private host."""

    def __init__(self, directory: Path, driver_root: Path | None = None) -> None:
        """driver_root: a real driver's files (scripts/driver_files.py) instead of the made-up libraries."""
        self.top = directory / "gpu"
        self.driver_root = driver_root
        self.libraries = (driver_root or self.top) / LIBRARY_FOLDER.lstrip("/")
        self.version = VERSION
        if driver_root is None:
            self._make_libraries(self.libraries)
        else:
            (library,) = self.libraries.glob("nvidia/current/libcuda.so.*.*")
            self.version = library.name.removeprefix("libcuda.so.")
        self._write_proc()

    @staticmethod
    def _make_libraries(folder: Path) -> None:
        folder.mkdir(parents=True)
        _compile(folder / f"libnvidia-ml.so.{VERSION}", SOURCES / "nvml.c", "libnvidia-ml.so.1")
        for name in LIBRARIES:
            _compile(folder / f"{name}.so.{VERSION}", None, f"{name}.so.1")
        subprocess.run(["/sbin/ldconfig", "-n", str(folder)], check=True)
        (folder / "libcuda.so").symlink_to("libcuda.so.1")

    def _write_proc(self) -> None:
        write = self._write
        write("proc/modules", "nvidia_uvm 1540096 0 - Live 0x0\nnvidia 54566912 2 nvidia_uvm, Live 0x0\n")
        write(
            "proc/devices",
            "Character devices:\n  1 mem\n195 nvidia\n235 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n",
        )
        banner = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {self.version}  Release Build"
        write("proc/driver/nvidia/version", banner + "\n")
        write("proc/driver/nvidia/params", "ModifyDeviceFiles: 1\nDeviceFileMode: 438\n")
        minors = [*CAPABILITIES.items(), *MIG_CAPABILITIES]
        write("proc/driver/nvidia-caps/mig-minors", "".join(f"{path} {minor}\n" for path, minor in minors))
        for path, minor in minors:
            text = f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
            write(f"proc/driver/nvidia/capabilities/{_capability_path(path)}", text)
        for index, (path, _, minor) in enumerate(GPU_NODES):
            text = f"Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t {minor}\n"
            write(f"proc/driver/nvidia/gpus/0000:{0x18 + index:02x}:00.0/information", text)
            assert path.endswith(str(minor))

    def _write(self, name: str, text: str) -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def install(self, host: PrivateHost) -> str:
        """Cover /dev, add the libraries, make the nodes, let the host's loader know; returns ctk's --root."""
        work = host.directory / "gpu-work"
        work.mkdir()
        environment = {"TOP": str(self.top), "WORK": str(work), "LIBRARIES": str(self.libraries)}
        _must(host.run(["sh", "-c", _COVER], environment=environment))
        nodes = [Node(*row) for row in (*CONTROL_NODES, *GPU_NODES, *MIG_NODES)]
        lines = ["set -eu", "mkdir -p /dev/nvidia-caps"]
        lines += [f"mknod -m 666 {node.path} c {node.major} {node.minor}" for node in nodes]
        if self.driver_root is not None:
            lines.append(f"cp -a {self.driver_root}/etc/alternatives/. /etc/alternatives/")
            lines.append(f"cp {self.driver_root}/etc/ld.so.conf /etc/ld.so.conf.d/000-nvidia.conf")
        _must(host.run(["sh", "-c", "\n".join([*lines, "/sbin/ldconfig"])]))
        return str(work / "root")

    @staticmethod
    def unify_cgroups(host: PrivateHost) -> None:
        """Let the host have cgroup v2 alone: the engines then attach BPF programs instead of writing device rules."""
        _must(host.run(["sh", "-c", _UNIFIED], environment={"WORK": str(host.directory / "gpu-work")}))


def _capability_path(path: str) -> str:
    """Where the file of a line of mig-minors lies below /proc/driver/nvidia/capabilities."""
    if not path.startswith("gpu"):
        return path
    gpu, _, rest = path.partition("/")
    return f"{gpu}/mig/{rest}"


def _compile(library: Path, source: Path | None, soname: str) -> None:
    code = ["-x", "c", "/dev/null"] if source is None else [str(source)]
    _must(
        subprocess.run(
            ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", str(library), *code],
            check=False,
            capture_output=True,
            text=True,
        )
    )


def _must(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 0, done.stderr


class Probed(NamedTuple):
    """What the probe said in a container. opened: for each number asked for, whether the device cgroup allows it."""

    nodes: frozenset[Node]
    libraries: dict[str, str]
    opened: dict[tuple[int, int], str]
    links: dict[str, str]
    cache: frozenset[str]


def compile_probe(directory: Path) -> Path:
    """The program of stand_ins/probe.c."""
    program = directory / "probe"
    source = Path(__file__).parent / "stand_ins" / "probe.c"
    _must(
        subprocess.run(
            ["gcc", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)],
            check=False,
            capture_output=True,
            text=True,
        )
    )
    return program


def image_files(probe: Path, *, with_ldconfig: bool = True) -> dict[str, bytes]:
    """What an image needs to load a library: the loader, the C libraries, ldconfig, and the probe itself."""
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    libraries = {f"{LIBRARY_FOLDER}/{name}": (Path(LIBRARY_FOLDER) / name).read_bytes() for name in C_LIBRARIES}
    files = {
        "lib64/ld-linux-x86-64.so.2": loader.read_bytes(),
        **{path.lstrip("/"): content for path, content in libraries.items()},
        "bin/probe": probe.read_bytes(),
        "etc/debian_version": b"12.0\n",
        "etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n",
        "etc/ld.so.conf.d/x86_64-linux-gnu.conf": b"/usr/lib/x86_64-linux-gnu\n",
    }
    return (
        {**files, "sbin/ldconfig": Path(shutil.which("ldconfig") or "/sbin/ldconfig").read_bytes()}
        if with_ldconfig
        else files
    )


def parse_probe(output: str) -> Probed:
    """The lines of the probe, and of `ldconfig -p` before them."""
    nodes, libraries, opened, links, cache = set(), {}, {}, {}, set()
    for line in output.splitlines():
        words = line.split()
        if line.startswith("\t") and "=>" in words:
            cache.add(words[0])
        elif words[:1] == ["node"]:
            nodes.add(Node(words[1], int(words[2]), int(words[3])))
        elif words[:1] == ["library"]:
            libraries[words[1]] = " ".join(words[2:])
        elif words[:1] == ["open"]:
            opened[int(words[1]), int(words[2])] = words[3]
        elif words[:1] == ["link"]:
            links[words[1]] = words[2]
    return Probed(frozenset(nodes), libraries, opened, links, frozenset(cache))


def driver_environment() -> dict[str, str]:
    """What ctk's own NVML child is told about the GPUs."""
    return {"NVML_STAND_IN": NVML_WORDS}
