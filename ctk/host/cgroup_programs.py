"""Asks the kernel whether it tells a control group's device programs (bpf(2), BPF_PROG_QUERY); it loads none."""

import errno
import os
import platform

from ctk.facts import Unknown

PROG_QUERY, CGROUP_DEVICE = 16, 6
"""bpf_cmd and bpf_attach_type of linux/bpf.h."""
SYSCALLS = {"x86_64": 321, "aarch64": 280, "ppc64le": 361, "riscv64": 280, "s390x": 351}
"""The number of bpf(2) on the machines for which NVIDIA has a driver, and two more."""
ATTRIBUTE_BYTES = 64


def query_device_programs(folder: str) -> bool | Unknown:
    """Whether the query works on the group of that folder. EINVAL: the kernel was built without it."""
    number = SYSCALLS.get(platform.machine())
    if number is None:
        return Unknown(f"the number of bpf(2) on {platform.machine()} is not known")
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        return Unknown((error.strerror or str(error)).lower())
    try:
        code = _query(number, descriptor)
    finally:
        os.close(descriptor)
    if code == 0:
        return True
    return False if code == errno.EINVAL else Unknown(os.strerror(code).lower())


def _query(number: int, descriptor: int) -> int:
    """The errno of the call, 0 = it worked. How many programs there are is not asked for."""
    import ctypes

    attribute = (ctypes.c_uint32 * (ATTRIBUTE_BYTES // 4))(descriptor, CGROUP_DEVICE)
    library = ctypes.CDLL(None, use_errno=True)
    answer = library.syscall(number, PROG_QUERY, ctypes.byref(attribute), ATTRIBUTE_BYTES)
    return 0 if answer == 0 else ctypes.get_errno()
