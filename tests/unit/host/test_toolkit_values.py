"""What a value of config.toml finds on a host: said in one sentence, nothing where all is well or nobody may look."""

import os
from pathlib import Path

import pytest

from ctk.host.toolkit_values import find_driver_library, host_fault
from tests.conftest import AsNobody
from tests.unit.host.trees import Program, plant

LIBRARY = "/usr/lib64/libnvidia-ml.so.1"
ACCOUNTS = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\ngpu:x:1000:1000::/home/gpu:/bin/sh\nbroken\n",
    "/etc/group": "root:x:0:\nvideo:x:44:\n",
}


@pytest.mark.parametrize(
    ("files", "check", "value", "words"),
    [
        ({"/sbin/ldconfig": ""}, "ldconfig", "@/sbin/ldconfig", ""),
        (
            {"/sbin/ldconfig": ""},
            "ldconfig",
            "@/sbin/ldconfig.real",
            "/sbin/ldconfig.real does not exist here, but /sbin/ldconfig does: @/sbin/ldconfig",
        ),
        ({}, "ldconfig", "@/sbin/ldconfig", "/sbin/ldconfig does not exist here, nor any other ldconfig"),
        ({}, "ldconfig", "/sbin/ldconfig", ""),
        ({"/etc/ld.so.cache": ""}, "ldcache", "", ""),
        ({}, "ldcache", "", "/etc/ld.so.cache does not exist here: no library is found by it"),
        ({}, "ldcache", "/x", "/x does not exist here: no library is found by it"),
        ({"/usr/bin/crun": Program()}, "runtimes", ["runc", "crun"], ""),
        ({"/opt/runc": Program()}, "runtimes", ["/opt/runc"], ""),
        ({}, "runtimes", ["runc", "crun"], "none of runc, crun was found on this host"),
        ({"/usr/bin/nvidia-ctk": Program()}, "program-or-empty", "nvidia-ctk", ""),
        ({}, "program-or-empty", "nvidia-ctk", "nvidia-ctk was not found on this host"),
        ({}, "program-or-empty", "", ""),
        ({}, "", "anything", ""),
    ],
)
def test_a_value(tmp_path: Path, files: dict[str, str], check: str, value: object, words: str) -> None:
    """F60 among them: the path that is missing, and the one that exists."""
    assert host_fault(plant(tmp_path, files), check, value, "/") == words


def test_f62_a_driver_root_without_a_driver(tmp_path: Path) -> None:
    root = "/run/nvidia/driver"
    host = plant(tmp_path, {LIBRARY: ""})
    words = f"there is no libnvidia-ml.so.1 below {root}"
    assert host_fault(host, "driver-root", root, "/") == f"{words}; the host itself has one: unset the key"
    assert host_fault(host, "driver-root", "", "/") == ""
    assert host_fault(plant(tmp_path, {f"{root}{LIBRARY}": ""}), "driver-root", root, "/") == ""
    assert host_fault(plant(tmp_path / "bare", {}), "driver-root", root, "/") == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("root:video", ""),
        ("root", ""),
        ("0:0", ""),
        ("gpu", ""),
        ("nobody:video", "there is no user 'nobody' on this host"),
        ("broken", "there is no user 'broken' on this host"),
        ("root:render", "there is no group 'render' on this host"),
        ("", ""),
    ],
)
def test_f64_names_are_resolved(tmp_path: Path, value: str, words: str) -> None:
    assert host_fault(plant(tmp_path, ACCOUNTS), "user", value, "/") == words


def test_f64_the_first_obstacle_on_the_way_is_named(tmp_path: Path) -> None:
    host = plant(tmp_path, {**ACCOUNTS, LIBRARY: "", "/dev/nvidiactl": ""})
    library, node = tmp_path / LIBRARY.lstrip("/"), tmp_path / "dev/nvidiactl"
    node.chmod(0o666)
    tmp_path.chmod(0o755)
    assert host_fault(host, "user", "4711:4711", "/") == ""
    node.chmod(0o640)
    assert host_fault(host, "user", "4711:4711", "/") == (
        "4711:4711 may not open /dev/nvidiactl: /dev/nvidiactl is closed to it (mode 0640)"
    )
    assert host_fault(host, "user", "root:video", "/") == ""
    library.parent.chmod(0o750)
    assert host_fault(host, "user", "4711:4711", "/") == (
        f"4711:4711 may not read {LIBRARY}: /usr/lib64 is closed to it (mode 0750)"
    )
    owner = library.parent.stat()
    assert "/usr/lib64" not in host_fault(host, "user", f"4711:{owner.st_gid}", "/")
    assert "/usr/lib64" not in host_fault(host, "user", f"{owner.st_uid}:4711", "/")
    library.parent.chmod(0o755)


def test_f64_a_name_of_the_system_is_asked_for_on_the_live_host_only(tmp_path: Path) -> None:
    from ctk.host.local import LocalHost

    live = LocalHost("/", environment={})
    assert host_fault(live, "user", "no-such-user-of-ours", "/nowhere") == (
        "there is no user 'no-such-user-of-ours' on this host"
    )
    assert host_fault(live, "user", "root", "/nowhere") == ""
    assert host_fault(plant(tmp_path, {}), "user", "root", "/") == "there is no user 'root' on this host"


def test_nothing_is_said_of_what_nobody_may_look_at(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path / "host", {"/sbin/x": "", "/usr/lib64/x": "", "/lib64/x": ""})
    for folder in ("sbin", "usr"):
        (tmp_path / "host" / folder).chmod(0o700)
    assert as_nobody(host_fault, host, "ldconfig", "@/sbin/ldconfig", "/") == ""
    assert as_nobody(host_fault, host, "driver-root", "/", "/") == ""
    assert as_nobody(host_fault, host, "runtimes", ["runc"], "/") in ("", "none of runc was found on this host")
    hidden = as_nobody(find_driver_library, host, "/")
    assert "Permission denied" in getattr(hidden, "reason", "") or os.geteuid() != 0
    for folder in ("sbin", "usr"):
        (tmp_path / "host" / folder).chmod(0o755)
