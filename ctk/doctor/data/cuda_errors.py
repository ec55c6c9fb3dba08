"""CUDA's error numbers that a start of CUDA can end with: what each means on a host; a table, nothing else.

Source: CUDA Driver API reference, CUresult.
"""

DATE = "2026-09-01"

MEANINGS: dict[int, str] = {
    -1: "the library cannot be loaded",
    3: "CUDA is not initialised",
    34: "the library is a stub for building, not the driver's",
    35: "the driver is older than the library needs",
    46: "every device is busy or unavailable: exclusive mode, or in use by others",
    100: "no device is there for CUDA: none works, or MIG is on without instances",
    101: "a device number is not valid",
    214: "a device has had an uncorrectable memory error",
    802: "the system is not ready: the fabric manager or confidential computing has not finished",
    803: "driver and library have different versions",
    804: "a compatibility library is used on a GPU that does not support it",
    805: "the MPS server cannot be reached",
    999: "an unknown error: mostly nvidia_uvm or its device nodes are missing",
}
