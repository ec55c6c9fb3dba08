"""What nvidia-smi means by its exit codes; a table, nothing else.

Source: nvidia-smi(1), RETURN VALUE.
"""

DATE = "2026-09-01"

SMI_CODES = {
    2: "an argument it does not know",
    3: "the operation is not available on this GPU",
    4: "no permission",
    6: "it found no GPU",
    8: "a GPU's external power cables are not connected",
    9: "the driver is not loaded",
    10: "the kernel sees an interrupt problem with a GPU",
    12: "the NVML library was not found",
    13: "the NVML library lacks a function",
    14: "a GPU's InfoROM is corrupted",
    15: "a GPU fell off the bus or cannot be reached",
    255: "an error of the driver",
}
INFOROM_CORRUPTED = 14
