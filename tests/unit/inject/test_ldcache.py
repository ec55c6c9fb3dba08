"""update-ldcache: the host's ldconfig works below the container's root, with few rights, and cannot hang or grow."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.inject.container import LIBRARIES, MS_BIND, Container

pytestmark = [pytest.mark.real, pytest.mark.long]

HOOK = ("update-ldcache", "--folder", LIBRARIES)
LDCONFIG = "/sbin/ldconfig"
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <linux/capability.h>
extern char **environ;
static void list(const char *path) {
    DIR *folder = opendir(path); struct dirent *entry; FILE *out = fopen("/seen", "a");
    fprintf(out, "%s:", path);
    while (folder && (entry = readdir(folder))) if (entry->d_name[0] != '.') fprintf(out, " %s", entry->d_name);
    fprintf(out, "\\n"); fclose(out);
}
int main(int argc, char **argv) {
    int open_files = 0; struct rlimit files;
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0}; struct __user_cap_data_struct caps[2];
    for (int fd = 3; fd < 1024; fd++) if (fcntl(fd, F_GETFD) != -1) open_files++;
    FILE *out = fopen("/seen", "w");
    for (int i = 0; i < argc; i++) fprintf(out, "argument %s\\n", argv[i]);
    for (char **name = environ; *name; name++) fprintf(out, "environment %s\\n", *name);
    fprintf(out, "pid %d\\nopen files %d\\n", getpid(), open_files);
    syscall(SYS_capget, &head, caps); getrlimit(RLIMIT_NOFILE, &files);
    fprintf(out, "capabilities %x %x %x\\n", caps[0].permitted, caps[1].permitted, caps[0].inheritable);
    fprintf(out, "no new privileges %d\\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    fprintf(out, "file limit %d\\n", (int)files.rlim_max);
    fclose(out);
    list("/"); list("/proc"); list("/dev"); list("/sys");
    const char *last = argv[argc - 1];
    while (!strcmp(last, "/hang")) pause();
    if (!strcmp(last, "/crash")) *(volatile int *)0 = 0;
    if (strcmp(last, "/fail")) return 0;
    fputs("broken\\x1b[31m\\nat last\\n", stderr);
    return 3;
}
"""


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static program that writes down what it was given, below its own root."""
    folder = tmp_path_factory.mktemp("stand-in")
    (folder / "ldconfig.c").write_text(PROGRAM)
    command = ["gcc", "-static", "-o", str(folder / "ldconfig"), str(folder / "ldconfig.c")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder / "ldconfig"


def library(container: Container, name: str = "libz.so.1") -> None:
    """A real library of this machine, without the link that its name is found by."""
    source = next(path for top in ("/lib", "/usr/lib") for path in Path(top).rglob(name))
    shutil.copy(source.resolve(), container.path(f"{LIBRARIES}/{source.resolve().name}"))


def cached(container: Container) -> list[str]:
    command = [LDCONFIG, "-p", "-C", str(container.root / "etc/ld.so.cache")]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[-1] for line in lines if "=>" in line]


def test_a_library_is_found_by_its_name_afterwards(container: Container) -> None:
    library(container)
    assert container.done(*HOOK) == ""
    assert cached(container) == [f"{LIBRARIES}/libz.so.1"]
    assert os.readlink(container.root / LIBRARIES.lstrip("/") / "libz.so.1").startswith("libz.so.1.")


def test_nothing_grows_from_start_to_start(container: Container) -> None:
    library(container)
    container.write("/etc/alpine-release", "3.20.0\n")
    container.done(*HOOK)
    names = {name: row for name, row in container.tree().items() if name not in ("etc", "etc/ld.so.cache")}
    for _ in range(3):
        container.done(*HOOK)
    again = {name: row for name, row in container.tree().items() if name not in ("etc", "etc/ld.so.cache")}
    assert again == names, "but for the cache, which ldconfig itself puts in place anew"


def test_the_program_is_shut_in(container: Container, stand_in: Path) -> None:
    container.write("/dev/null", "the image's")
    container.write("/proc/self/exe", "the image's")
    container.folder_at("/sys/kernel")
    container.write("/etc/ld.so.conf", "# no include\n")
    container.done(*HOOK, "--ldconfig-path", str(stand_in))
    seen = container.read("/seen").splitlines()
    assert [line for line in seen if line.startswith("argument")] == [
        f"argument {word}" for word in ("ldconfig", "-f", "/etc/ld.so.conf", "-C", "/etc/ld.so.cache", LIBRARIES)
    ]
    assert not [line for line in seen if line.startswith("environment")]
    assert {"pid 1", "open files 0", "file limit 64", "/proc:", "/dev:", "/sys:"} <= set(seen)
    assert {"capabilities 2 0 0", "no new privileges 1"} <= set(seen), "CAP_DAC_OVERRIDE is all that is left"
    (top,) = [line for line in seen if line.startswith("/:")]
    assert set(top.split()[1:]) == {"dev", "proc", "sys", "etc", "seen"}


def test_the_covers_are_gone_for_the_container(container: Container, stand_in: Path) -> None:
    container.write("/dev/file", "the image's")
    before = container.tree()
    container.done(*HOOK, "--ldconfig-path", str(stand_in))
    assert {name: before[name] for name in before if name.startswith("dev/")} == {
        name: row for name, row in container.tree().items() if name.startswith("dev/")
    }


def test_what_it_fails_with_is_told_in_one_line(container: Container, stand_in: Path) -> None:
    container.write("/etc/ld.so.conf", "# no include\n")
    ran = container.run("update-ldcache", "--folder=/fail", "--ldconfig-path", str(stand_in))
    assert ran.code == 1
    (line,) = ran.output.splitlines()
    assert "ldconfig exited 3: broken?[31m; at last" in line


def test_the_signal_that_ended_it_is_told(container: Container, stand_in: Path) -> None:
    container.write("/etc/ld.so.conf", "# no include\n")
    ran = container.run("update-ldcache", "--folder=/crash", "--ldconfig-path", str(stand_in))
    assert ran.code == 1
    assert "was ended by signal" in ran.output


def test_one_that_does_not_end_is_ended(container: Container, stand_in: Path) -> None:
    container.write("/etc/ld.so.conf", "# no include\n")
    arguments = ("update-ldcache", "--folder=/hang", "--ldconfig-path", str(stand_in))
    ran = container.run(*arguments, ldconfig_seconds=0.2)
    assert ran.code == 1
    assert "ldconfig did not end within 0.2 s" in ran.output


def test_f89_a_root_that_cannot_be_written_is_a_warning(container: Container) -> None:
    container.folder_at("/etc")
    ran = container.run(*HOOK, read_only=True)
    assert ran.code == 0
    assert "read-only" in ran.output.lower()
    assert "The container starts without it" in ran.output


@pytest.mark.parametrize("call", ["unshare", "mount", "pivot_root"])
def test_f89_an_engine_that_forbids_it_starts_the_container_without(container: Container, call: str) -> None:
    ran = container.run(*HOOK, forbid=[call])
    assert ran.code == 0
    assert "the library cache is not updated: this engine lets no hook enter the container's root" in ran.output


def test_f89_in_a_user_namespace_it_works(container: Container) -> None:
    library(container)
    ran = container.run(*HOOK, user_namespace=True)
    assert ran == (0, "")
    assert cached(container) == [f"{LIBRARIES}/libz.so.1"]


def test_f89_in_a_user_namespace_files_of_others_are_a_warning(container: Container) -> None:
    os.chown(container.folder_at("/etc"), 1234, 1234)
    container.folder_at("/etc").chmod(0o755)
    ran = container.run(*HOOK, user_namespace=True)
    assert ran.code == 0
    assert "Permission denied. The container starts without it" in ran.output


def test_the_debian_wrapper_is_passed_by(container: Container, tmp_path: Path) -> None:
    library(container)
    (tmp_path / "ldconfig").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "ldconfig").chmod(0o755)
    shutil.copy(LDCONFIG, tmp_path / "ldconfig.real")
    container.done(*HOOK, f"--ldconfig-path=@{tmp_path}/ldconfig")
    assert cached(container) == [f"{LIBRARIES}/libz.so.1"]


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        ("#!/bin/sh\n", "no program but a script"),
        (None, "No such file or directory"),
        ("/bin/ls", "not statically linked"),
    ],
)
def test_a_program_that_would_run_what_the_image_has_is_refused(
    container: Container, tmp_path: Path, program: str | None, cause: str
) -> None:
    path = tmp_path / "ldconfig"
    if program == "/bin/ls":
        shutil.copy(program, path)
    elif program is not None:
        path.write_text(program)
    ran = container.run(*HOOK, f"--ldconfig-path={path}")
    assert ran.code == 1
    assert f"cannot run the host's ldconfig {path}: " in ran.output
    assert cause in ran.output


def test_the_hosts_own_root_is_refused(container: Container) -> None:
    container.state.write_text('{"root": "/"}')
    ran = container.run(*HOOK)
    assert ran.code == 1
    assert "it is the host's own root" in ran.output


@pytest.mark.parametrize("place", ["/etc", "/usr", LIBRARIES])
def test_a_volume_in_place_of_a_folder_that_is_needed_is_written(container: Container, place: str) -> None:
    library(container)
    container.folder_at("/etc")
    volume = container.folder / "volume"
    shutil.copytree(container.root / place.lstrip("/"), volume)
    shutil.rmtree(container.root / place.lstrip("/"))
    ran = container.run(*HOOK, mounts=[(str(volume), str(container.folder_at(place)), "", MS_BIND)])
    assert ran == (0, "")
    written = {path.name for path in volume.rglob("*")}
    assert ("ld.so.cache" if place == "/etc" else "libz.so.1") in written


def test_f89_a_link_into_a_volume_in_place_of_etc_is_a_warning(container: Container) -> None:
    volume = container.folder / "volume"
    volume.mkdir()
    container.link("/etc", "/volume")
    ran = container.run(*HOOK, mounts=[(str(volume), str(container.folder_at("/volume")), "", MS_BIND)])
    assert ran.code == 0
    assert "a link in the image leads into a volume, /volume. The container starts without it" in ran.output
    assert os.listdir(volume) == []


def test_a_kernel_that_cannot_protect_volumes_runs_it_all_the_same(container: Container) -> None:
    library(container)
    assert container.run(*HOOK, forbid=["mount_setattr"]) == (0, "")
    assert cached(container) == [f"{LIBRARIES}/libz.so.1"]
