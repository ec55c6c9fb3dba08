"""Runs hooks one after the other, each in a child with mounts of its own; a script, started by conftest.py once.

A request is one line of JSON on stdin, its answer one on stdout. So a test does not pay for a Python of its own, and
the hook still runs as an engine runs it: as a process of its own, below a root that is a mount.
"""

import ctypes
import json
import os
import select
import struct
import sys
import time

sys.path.insert(0, sys.argv[1])

from ctk.inject import hooks, syscalls
from ctk.inject.ldcache import run_ldconfig, update_ldcache

KILL = 9
HUNG = "hung"
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
NUMBERS = {
    "x86_64": {"chmod": 90, "openat2": 437, "mount_setattr": 442, "unshare": 272, "mount": 165, "pivot_root": 155},
    "aarch64": {"chmod": 53, "openat2": 437, "mount_setattr": 442, "unshare": 97, "mount": 40, "pivot_root": 41},
}
CLONE_NEWUSER = 0x10000000
RETURN_ALLOW, RETURN_EPERM = 0x7FFF0000, 0x00050001


def forbid(names: list[str]) -> None:
    """A filter as container engines have it: these calls are not permitted, all others are."""
    rows = [(0x20, 0, 0, 0)]
    for name in names:
        rows += [(0x15, 0, 1, NUMBERS[os.uname().machine][name]), (0x06, 0, 0, RETURN_EPERM)]
    rows.append((0x06, 0, 0, RETURN_ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
    buffer = ctypes.create_string_buffer(program)
    syscalls.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(buffer))


def prepare(request: dict[str, object]) -> None:
    """Mounts that only this child has."""
    if request["user_namespace"]:
        syscalls.unshare(CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    root = str(request["root"])
    syscalls.mount(root, root, "", syscalls.MS_BIND | syscalls.MS_REC)
    for source, target, kind, flags in request["mounts"]:  # type: ignore[attr-defined] # a list of rows, as conftest.py writes it
        syscalls.mount(source, target, kind, flags)
    if request["read_only"]:
        syscalls.mount("", root, "", syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY)
    names = [str(name) for name in request["forbid"]]  # type: ignore[attr-defined] # a list, as above
    if names:
        forbid(names)


def run(request: dict[str, object], output: int) -> None:
    """In the child: as often as asked, then the program that looks at the result from inside; never returns."""
    os.dup2(output, 2)
    code = 99
    try:
        prepare(request)
        arguments = [str(word) for word in request["arguments"]]  # type: ignore[attr-defined] # a list, as above
        if request["without_ldconfig"]:
            hooks.HOOKS = tuple(hook for hook in hooks.HOOKS if hook.run is not update_ldcache)
        run_ldconfig.__defaults__ = (float(str(request["ldconfig_seconds"])),)
        deadline = time.monotonic() + float(str(request["seconds"]))
        rounds = 1
        code = hooks.run_hook(arguments)
        while time.monotonic() < deadline:
            code = hooks.run_hook(arguments)
            rounds += 1
        if rounds > 1:
            os.write(2, f"rounds {rounds}\n".encode())
        for path in request["look_at"]:  # type: ignore[attr-defined] # a list, as above
            look_at(str(path))
    finally:
        os._exit(code)


def look_at(path: str) -> None:
    """What the container sees there: its content, and why it cannot be changed."""
    with open(path, encoding="utf-8") as file:
        os.write(2, f"content {file.read()!r}\n".encode())
    try:
        os.close(os.open(path, os.O_WRONLY))
        os.write(2, b"writable\n")
    except OSError as error:
        os.write(2, f"not writable: {os.strerror(error.errno or 0)}\n".encode())
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        rows = [row.split() for row in file if row.split()[4].startswith(os.path.dirname(path))]
    os.write(2, "".join(f"mount {row[4]} {row[5]}\n" for row in rows).encode())


def answer(request: dict[str, object]) -> dict[str, object]:
    """The exit code and what the hook said."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        run(request, writable)
    os.close(writable)
    parts = []
    code: object = None
    while True:
        if not select.select([readable], [], [], float(str(request["deadline"])))[0]:
            os.kill(child, KILL)
            code = HUNG
            break
        part = os.read(readable, 65536)
        if not part:
            break
        parts.append(part)
    os.close(readable)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"code": code or status, "output": b"".join(parts).decode("utf-8", "replace")}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
