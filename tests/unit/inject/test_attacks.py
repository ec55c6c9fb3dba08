"""A hostile image: whatever lies in its root, no hook changes anything outside of it, hangs, or follows it out.

The sentinel is everything beside the bundle: it must stay the same in content, mode, owner, time and number of links.
"""

import itertools
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctk.inject.compat import COMPAT_FILE
from ctk.inject.loader_files import DRIVER_FILE, MAIN_FILE, SYSTEM_FILE
from ctk.inject.profile import PROFILE_FILE, PROFILE_FOLDER
from tests.unit.inject.container import LIBRARIES, MS_BIND, Container, HookServer, Mount, Ran, read_tree
from tests.unit.inject.test_compat import make_library

pytestmark = [pytest.mark.real, pytest.mark.long]

COMPAT = "/usr/local/cuda/compat"
LINK = f"{LIBRARIES}/libcuda.so"
PARAMS = "/proc/driver/nvidia/params"
LDCONFIG_SECONDS = 2.0
APPLY = (
    "apply",
    f"--link=libcuda.so.1::{LINK}",
    "--link=../x::/usr/lib/a/b/c",
    f"--folder={LIBRARIES}",
    "--host-driver-version=550.54.15",
    "--disable-device-node-modification",
    "--update-application-profile",
    "--mode=777",
    "--path=/dev/dri",
    "--path=/dev/nvidia-caps",
)
FOLDERS = (
    "/usr",
    "/usr/lib",
    LIBRARIES,
    "/usr/local",
    "/usr/local/cuda",
    COMPAT,
    "/etc",
    "/etc/ld.so.conf.d",
    "/etc/nvidia",
    PROFILE_FOLDER,
    "/var",
    "/var/cache/ldconfig",
    "/dev",
    "/dev/dri",
    "/proc",
    "/proc/driver",
    "/proc/driver/nvidia",
    "/sys",
    "/lib",
)
FILES = (
    MAIN_FILE,
    COMPAT_FILE,
    DRIVER_FILE,
    SYSTEM_FILE,
    "/etc/ld.so.conf.d/hostile.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.cache~",
    "/var/cache/ldconfig/aux-cache",
    "/var/cache/ldconfig/aux-cache~",
    "/etc/alpine-release",
    "/etc/debian_version",
    f"/etc/ld-musl-{os.uname().machine}.path",
    PROFILE_FILE,
    LINK,
    f"{LIBRARIES}/libcuda.so.1",
    f"{LIBRARIES}/libhostile.so.1",
    f"{COMPAT}/libcuda.so.575.57.08",
    "/dev/dri",
    "/dev/nvidia0",
    PARAMS,
    "/usr/lib/a",
)


class Prey:
    """A container to be made hostile, the host around it, and the hook's run."""

    def __init__(self, folder: Path, server: HookServer) -> None:
        self.container = Container(folder / "host", server)
        self.sentinel = folder / "host" / "sentinel"
        for path in (self.sentinel, self.sentinel / "folder", self.sentinel / "ld.so.conf.d"):
            path.mkdir(mode=0o750)
        for name in ("file", "ld.so.conf", "ld.so.cache", "libcuda.so", "params", "secret.so.1", "ld.so.conf.d/x.conf"):
            (self.sentinel / name).write_text(f"the host's {name}\n")
            (self.sentinel / name).chmod(0o640)
        (self.sentinel / "link").symlink_to("file")
        self.driver = folder / "host" / "driver"
        (self.driver / "nvidia").mkdir(parents=True)
        (self.driver / "nvidia" / "params").write_text("ModifyDeviceFiles: 1\n")

    def fill(self) -> None:
        """What an ordinary image has, where the hostile part has not taken the place."""
        makers: tuple[tuple[str, Callable[[Path], object]], ...] = (
            (f"{LIBRARIES}/libcuda.so.550.54.15", lambda path: path.write_bytes(b"")),
            (f"{COMPAT}/libcuda.so.575.57.08", lambda path: path.write_bytes(make_library(None))),
            ("/dev/nvidia0", lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(195, 0))),
            ("/dev/dri", lambda path: path.mkdir(mode=0o700)),
            (PARAMS, lambda path: path.write_text("ModifyDeviceFiles: 1\n")),
            (MAIN_FILE, lambda path: path.write_text("include ld.so.conf.d/*.conf\n")),
            ("/etc/ld.so.conf.d/site.conf", lambda path: path.write_text("/usr/local/lib\n")),
            ("/var/cache/ldconfig", lambda path: path.mkdir(mode=0o700)),
            ("/sys", lambda path: path.mkdir()),
        )
        for name, make in makers:
            if self._is_free(name):
                make(self.container.path(name))

    def _is_free(self, name: str) -> bool:
        """Whether nothing hostile lies there or on the way there."""
        path = self.container.root
        for part in name.strip("/").split("/"):
            path = path / part
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                return False
        return not path.exists()

    def attack(self, *, no_openat2: bool = False, mounts: tuple[Mount, ...] = (), seconds: float = 0.0) -> Ran:
        """Run everything, and compare the host before and after."""
        before = self.outside()
        everything = (*mounts, (str(self.driver), "/proc/driver", "", MS_BIND))
        ran = self.container.run(
            *APPLY,
            mounts=everything,
            no_openat2=no_openat2,
            seconds=seconds,
            without_ldconfig=bool(seconds),
            ldconfig_seconds=LDCONFIG_SECONDS,
        )
        assert self.outside() == before
        assert ran.code in (0, 1), ran
        assert "a bug in ctk" not in ran.output
        return ran

    def outside(self) -> dict[str, object]:
        """The host, without the container's root."""
        return read_tree(self.container.folder, skip=self.container.root)


@pytest.fixture
def prey(tmp_path: Path, hook_server: HookServer) -> Prey:
    return Prey(tmp_path, hook_server)


@pytest.fixture(params=[False, True], ids=["openat2", "walk"])
def no_openat2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_an_ordinary_image_gets_everything(prey: Prey, no_openat2: bool) -> None:
    """Or the tests below would show nothing."""
    prey.fill()
    ran = prey.attack(no_openat2=no_openat2)
    assert ran.code == 0
    container = prey.container
    assert os.readlink(container.root / LINK.lstrip("/")) == "libcuda.so.1"
    assert container.read(COMPAT_FILE) == f"{COMPAT}\n"
    assert "0x1" in container.read(PROFILE_FILE)
    assert stat.S_IMODE((container.root / "dev/dri").stat().st_mode) == 0o777
    assert (container.root / "etc/ld.so.cache").stat().st_size


WAYS_OUT = {
    "absolute": "{sentinel}",
    "dots": "../../../../../../../../..{sentinel}",
    "relative": "{up}/../../sentinel",
    "through-root-of-proc": "/proc/self/root{sentinel}",
    "through-root-of-init": "/proc/1/root{sentinel}",
    "through-cwd": "/proc/self/cwd{sentinel}",
    "through-a-descriptor": "/proc/self/fd/3",
    "through-a-thread": "/proc/thread-self/root{sentinel}",
}


def in_turns(*lists: Iterable[str]) -> list[object]:
    """Every combination; the fast suite takes each value of the first list once, the others in turns."""
    names, *others = [list(values) for values in lists]
    quick = {(name, *(values[index % len(values)] for values in others)) for index, name in enumerate(names)}
    return [
        pytest.param(*row, marks=() if row in quick else pytest.mark.long) for row in itertools.product(names, *others)
    ]


@pytest.mark.parametrize(("name", "way", "lookup"), in_turns(FOLDERS, WAYS_OUT, ("walk", "openat2")))
def test_f94_a_folder_that_is_a_link_out(prey: Prey, name: str, way: str, lookup: str) -> None:
    up = "/".join([".."] * (name.count("/") - 1)) or "."
    prey.container.link(name, WAYS_OUT[way].format(sentinel=prey.sentinel, up=up))
    prey.fill()
    prey.attack(no_openat2=lookup == "walk", mounts=proc_mount(prey))


def proc_mount(prey: Prey) -> tuple[Mount, ...]:
    """A real /proc in the container, unless something hostile took its place: so its links lead somewhere."""
    proc = prey.container.root / "proc"
    if proc.is_symlink() or (proc.exists() and not proc.is_dir()):
        return ()
    proc.mkdir(exist_ok=True)
    return (("proc", str(proc), "proc", 0),)


@pytest.mark.parametrize(("name", "way"), in_turns(FILES, ("absolute", "relative", "through-root-of-proc")))
def test_f94_a_file_that_is_a_link_out(prey: Prey, name: str, way: str) -> None:
    up = "/".join([".."] * (name.count("/") - 1)) or "."
    target = WAYS_OUT[way].format(sentinel=prey.sentinel, up=up)
    prey.container.link(name, f"{target}/{Path(name).name}")
    prey.container.link("/etc/second", f"{target}/file")
    prey.fill()
    prey.attack(mounts=proc_mount(prey) if not name.startswith("/proc") else ())


KINDS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o666),
    "terminal": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(5, 0)),
    "endless": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
    "disk": lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(7, 200)),
    "folder": lambda path: path.mkdir(),
    "full-folder": lambda path: (path / "x").mkdir(parents=True),
    "loop": lambda path: path.symlink_to(path.name),
    "huge": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
}


@pytest.mark.parametrize(("name", "kind"), in_turns(sorted({*FILES, *FOLDERS}), KINDS))
def test_something_else_in_place_of_a_file_or_folder(prey: Prey, name: str, kind: str) -> None:
    KINDS[kind](prey.container.path(name))
    prey.fill()
    prey.attack()


def test_many_links_one_after_the_other(prey: Prey, no_openat2: bool) -> None:
    for index in range(300):
        prey.container.link(f"/chain/{index}", f"{index + 1}" if index < 299 else str(prey.sentinel))
    prey.container.link("/usr", "/chain/0")
    prey.container.link("/etc", "/chain/290")
    prey.fill()
    assert prey.attack(no_openat2=no_openat2).code == 1


@pytest.mark.parametrize("file_system", ["proc", "sysfs", "cgroup2"])
def test_a_link_into_the_kernels_own_files(prey: Prey, file_system: str, no_openat2: bool) -> None:
    """The container may have them mounted; a folder made there would be a cgroup of the host."""
    place = prey.container.folder_at("/kernel")
    for name in ("/usr/lib", "/etc", "/var"):
        prey.container.link(name, "/kernel")
    prey.fill()
    ran = prey.attack(no_openat2=no_openat2, mounts=((file_system, str(place), file_system, 0),))
    assert ran.code == 1
    assert f"a file system of the kernel ({file_system})" in ran.output


def test_a_configuration_that_includes_what_lies_outside(prey: Prey) -> None:
    lines = [
        f"include {prey.sentinel}/*.conf",
        "include /proc/self/root/etc/*.conf",
        "include /dev/*",
        "/proc/self/root",
    ]
    prey.container.write(
        MAIN_FILE, "\n".join([*lines, "include ld.so.conf.d/*.conf", "include " + "../" * 40 + "etc/*"])
    )
    prey.fill()
    prey.attack(mounts=proc_mount(prey))


# Races ---------------------------------------------------------------------------------------------------------------

SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
pairs = [(os.fsencode(a), os.fsencode(b)) for a, b in zip(sys.argv[1::2], sys.argv[2::2])]
print("ready", flush=True)
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(200):
        for one, other in pairs:
            libc.renameat2(-100, one, -100, other, 2)
"""


@contextmanager
def swapping(pairs: list[tuple[Path, Path]]) -> Iterator[None]:
    """A second process that exchanges each folder with a link out, as fast as it can."""
    command = [sys.executable, "-I", "-S", "-c", SWAPPER, *(str(path) for pair in pairs for path in pair)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.kill()
        process.communicate()


def race(prey: Prey, seconds: float, no_openat2: bool) -> int:
    prey.fill()
    pairs = []
    for name in ("/usr/lib", "/etc/ld.so.conf.d", "/etc/nvidia", "/usr/local/cuda", "/dev/dri", "/proc/driver/nvidia"):
        link = prey.container.link(f"/swapped{name}", str(prey.sentinel))
        pairs.append((prey.container.folder_at(name), link))
    with swapping(pairs):
        ran = prey.attack(no_openat2=no_openat2, seconds=seconds)
    assert not list(prey.container.root.rglob(".ctk-*")), "nothing temporary is left"
    return int(ran.output.rpartition("rounds ")[2])


def test_folders_and_links_out_that_are_exchanged_all_the_time(prey: Prey, no_openat2: bool) -> None:
    assert race(prey, 0.5, no_openat2) > 5


@pytest.mark.long
def test_folders_and_links_out_that_are_exchanged_for_a_minute(prey: Prey, no_openat2: bool) -> None:
    assert race(prey, 30.0, no_openat2) > 500


@pytest.mark.long
def test_folders_are_exchanged_while_ldconfig_runs(prey: Prey) -> None:
    prey.fill()
    pairs = []
    for name in ("/usr/lib", "/etc/ld.so.conf.d", "/var/cache"):
        link = prey.container.link(f"/swapped{name}", str(prey.sentinel))
        pairs.append((prey.container.folder_at(name), link))
    with swapping(pairs):
        for _ in range(200):
            prey.attack()


@pytest.fixture(scope="session")
def hostile_library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library whose name, as ldconfig takes it for a link's, leads into a volume."""
    path = tmp_path_factory.mktemp("hostile") / "libhostile.so.1"
    command = ["gcc", "-shared", "-x", "c", "/dev/null", "-Wl,-soname,libx/../../../../volume/current", "-o", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path.read_bytes()


def test_a_volume_is_not_written_by_ldconfig(prey: Prey, hostile_library: bytes) -> None:
    """The user of the container may not be root; ldconfig is, and the image says where it puts links."""
    volume = prey.container.folder / "volume"
    volume.mkdir()
    (volume / "libhostile.so.1.2").write_bytes(hostile_library)
    (volume / "current").symlink_to("release")
    prey.container.write(f"{LIBRARIES}/libhostile.so.1.2", hostile_library)
    prey.container.folder_at(f"{LIBRARIES}/libx")
    prey.container.write("/etc/ld.so.conf.d/hostile.conf", "/volume\n")
    prey.fill()
    place = prey.container.folder_at("/volume")
    assert prey.attack(mounts=((str(volume), str(place), "", MS_BIND),)).code == 0
    assert (prey.container.root / "etc/ld.so.cache").stat().st_size


@pytest.mark.parametrize("name", ["/usr", "/usr/lib", LIBRARIES, "/etc", "/etc/ld.so.conf.d", "/etc/nvidia", "/dev"])
def test_a_link_into_a_volume_changes_nothing_in_it(prey: Prey, name: str, no_openat2: bool) -> None:
    """The host's /etc, say, that the container's user may only read; the hook is root, and the image has the link."""
    volume = prey.container.folder / "volume"
    for path in ("ld.so.conf.d", "nvidia", "lib/x86_64-linux-gnu", "x86_64-linux-gnu", "dri"):
        (volume / path).mkdir(parents=True, mode=0o700)
    (volume / "ld.so.conf.d" / "00-compat-ctk.conf").write_text("the host's")
    place = prey.container.folder_at("/volume")
    prey.container.link(name, "/volume" if name != "/etc/ld.so.conf.d" else "/volume/ld.so.conf.d")
    prey.fill()
    ran = prey.attack(no_openat2=no_openat2, mounts=((str(volume), str(place), "", MS_BIND),))
    assert ran.code == 0
    assert "a link in the image leads into a volume" in ran.output
