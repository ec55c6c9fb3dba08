"""Xid and SXid codes: what each means and how grave it is; a table, and it judges nothing.

Source: NVIDIA's Xid error catalogue (docs.nvidia.com/deploy/xid-errors, edition of October 2025); names of older codes
from src/common/sdk/nvidia/inc/nverror.h of NVIDIA/open-gpu-kernel-modules; SXid sets from the appendix of the Fabric
Manager user guide.
"""

DATE = "2025-10-01"
SOURCE = "NVIDIA, Xid error catalogue (October 2025)"

# Classes. APPLICATION: a program's fault first of all. DRIVER: driver or firmware. HARDWARE: device, memory,
# links. WATCH: hardware that recorded something and goes on. NOTE: no fault of its own.
APPLICATION, DRIVER, HARDWARE, WATCH, NOTE = "application", "driver", "hardware", "watch", "note"

XIDS: dict[int, tuple[str, str]] = {
    8: (APPLICATION, "the GPU stopped working on a channel"),
    11: (APPLICATION, "an invalid push buffer"),
    13: (APPLICATION, "an exception of the graphics engine, often an access out of range"),
    14: (NOTE, "an injected test error"),
    16: (WATCH, "a display hang"),
    18: (WATCH, "a time-out on the bus"),
    23: (NOTE, "a mark in the log"),
    24: (WATCH, "a semaphore time-out"),
    25: (APPLICATION, "an illegal push buffer"),
    26: (WATCH, "a frame buffer time-out"),
    31: (APPLICATION, "a page fault in GPU memory"),
    32: (APPLICATION, "an error of the push buffer's DMA"),
    37: (NOTE, "the firmware met a method it does not know"),
    38: (WATCH, "the firmware's watchdog"),
    43: (APPLICATION, "the GPU stopped a channel after a program's fault"),
    44: (WATCH, "a fault while contexts were switched"),
    45: (NOTE, "channels were cleaned up after another error or a kill"),
    46: (DRIVER, "the GPU did not answer in time"),
    48: (HARDWARE, "a memory error that cannot be corrected"),
    54: (HARDWARE, "auxiliary power is not connected"),
    57: (WATCH, "an error of the memory interface"),
    58: (WATCH, "an error of the memory interface"),
    59: (WATCH, "an error of the internal micro-controller"),
    60: (APPLICATION, "an exception of the video processor"),
    61: (WATCH, "a breakpoint of the internal micro-controller"),
    62: (DRIVER, "the internal micro-controller halted"),
    63: (WATCH, "a memory row or page was taken out of use"),
    64: (HARDWARE, "a memory row or page could not be taken out of use"),
    66: (APPLICATION, "an illegal access by the driver"),
    67: (APPLICATION, "an illegal access by the driver"),
    69: (APPLICATION, "a class error of the graphics engine"),
    74: (HARDWARE, "an NVLink error"),
    78: (WATCH, "a vGPU did not start"),
    79: (HARDWARE, "the GPU fell off the bus"),
    80: (APPLICATION, "corrupted data was sent to the GPU"),
    81: (HARDWARE, "an error of the VGA unit"),
    86: (APPLICATION, "an exception of the optical flow engine"),
    87: (NOTE, "a telemetry report"),
    90: (WATCH, "an error of the second-level cache"),
    92: (WATCH, "many memory errors that were corrected"),
    93: (NOTE, "the configuration memory was written too often"),
    94: (APPLICATION, "a memory error that was contained to one program"),
    95: (HARDWARE, "a memory error that was not contained"),
    106: (NOTE, "a test message of the management bus"),
    107: (NOTE, "a test message of the management bus"),
    108: (WATCH, "an address translation across NVLink failed"),
    109: (DRIVER, "contexts were not switched in time"),
    110: (DRIVER, "a security fault"),
    119: (DRIVER, "the GPU's system processor did not answer a call"),
    120: (DRIVER, "an error of the GPU's system processor"),
    121: (WATCH, "an error of the chip-to-chip link"),
    122: (DRIVER, "the micro-controller could not read its flash memory"),
    123: (DRIVER, "the micro-controller could not write its flash memory"),
    124: (DRIVER, "the micro-controller could not erase its flash memory"),
    125: (WATCH, "an error of the configuration memory's file system"),
    136: (DRIVER, "a link could not be trained"),
    137: (WATCH, "an NVLink privilege error"),
    139: (APPLICATION, "an exception of the optical flow engine"),
    140: (HARDWARE, "a memory error that the driver could not recover from"),
    141: (NOTE, "an error of CUDA's fast path"),
    143: (DRIVER, "the GPU could not be initialised"),
    151: (WATCH, "a key of confidential computing could not be renewed"),
    152: (NOTE, "a fault of an accelerator's address translation"),
    153: (NOTE, "an accelerator did not answer in time"),
    154: (NOTE, "the driver changed the recovery it asks for"),
    155: (DRIVER, "an NVLink error of the driver's own making"),
    156: (WATCH, "a resource was taken out of use"),
    157: (HARDWARE, "a resource could not be taken out of use"),
    158: (DRIVER, "the GPU stopped for good"),
    159: (WATCH, "an error of the coherent hub interface"),
    160: (WATCH, "a memory channel was taken out of use"),
    161: (HARDWARE, "a memory channel could not be taken out of use"),
    162: (NOTE, "power smoothing is on again"),
    163: (NOTE, "power smoothing is off"),
    164: (WATCH, "power smoothing wears out"),
    165: (HARDWARE, "power smoothing is worn out"),
    166: (WATCH, "traffic on an encrypted link before it was set up"),
    167: (HARDWARE, "a fatal time-out on PCI Express"),
    168: (HARDWARE, "errors in a protected part of memory"),
    169: (DRIVER, "the security processor halted"),
    170: (WATCH, "an interrupt that confidential computing does not allow"),
    171: (HARDWARE, "a memory error that cannot be corrected, in DRAM"),
    172: (HARDWARE, "a memory error that cannot be corrected, in SRAM"),
    **dict.fromkeys((39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)), (APPLICATION, "a copy engine's error")),
    **dict.fromkeys((68, 83, 84, 88, 89, 96, 97, 98), (APPLICATION, "a video decoder's error")),
    **dict.fromkeys((82, *range(99, 106)), (APPLICATION, "a JPEG decoder's error")),
    **dict.fromkeys((47, 65, 73, 142), (NOTE, "a video encoder's error")),
    **dict.fromkeys(range(144, 151), (HARDWARE, "an NVLink error")),
    **dict.fromkeys((*range(1, 8), 9, 10, 12, 15, 17, 49, 50, 51, 52, 53, 55, 91), (NOTE, "a code that is not in use")),
    **dict.fromkeys((19, 20, 21, 22, 27, 28, 29, 30, 33, 34, 35, 36, 42, 138), (NOTE, "an engine of older GPUs")),
    **dict.fromkeys((56, *range(111, 119)), (NOTE, "a display error")),
}

MEMORY_CODES = frozenset({48, 64, 95, 140, 157, 161, 171, 172})
"""Faults of memory, whose state NVML tells: counters of errors, remapped rows, recovery."""

RECOVERY_ACTIONS = {
    0: "none",
    1: "reset the GPU",
    2: "reboot the node",
    3: "drain the peers of the GPU",
    4: "drain the GPU and reset it",
    5: "recover the IMEX domain",
}
"""nvmlDeviceGpuRecoveryAction_t of nvml.h."""

SXID_ALWAYS_FATAL = frozenset({12020, 22003, 22011, 10003, *range(23001, 23018)})
SXID_RESET_ALL = frozenset({19084})
SXID_IGNORABLE = frozenset(
    {
        *(11012, 11021, 11022, 11023, 12021, 12023, 15008, 15011, 19049, 19055, 19057, 19059, 19062, 19065, 19068),
        *(19071, 24001, 24002, 24003),
    }
)
SXID_LINK_TROUBLE = frozenset({20001, 20009, 20012})
"""Replays and broken connections: one is nothing, many on one link are a cable or a board."""
