"""NVLink products by name, and the numbers NVML has for the health of a fabric; a table, nothing else.

Sources: Fabric Manager user guide (supported platforms, NVLink 5 prerequisites); nvml.h, nvmlGpuFabricInfo_v3_t.
"""

DATE = "2026-09-01"

NVLINK5_BOARDS = ("B200", "B300")
"""HGX boards whose NVSwitches hide behind InfiniBand bridges: they are no PCI function of NVIDIA's GPU class."""
BOARD_GPUS = 8

RACK_PRODUCTS = ("GB200", "GB300")
"""Their switches are in the rack and run the fabric manager; the compute node runs IMEX instead."""

NOT_SUPPORTED, NOT_STARTED, IN_PROGRESS, COMPLETED = 0, 1, 2, 3
HEALTHY, UNHEALTHY, LIMITED_CAPACITY = 1, 2, 3

DEGRADED = ((0, "degraded bandwidth"), (2, "a route being recovered"), (6, "recovery after access time-outs"))
BROKEN = ((4, "an unhealthy route"),)
"""The lowest bit of a field of two bits in the health mask, whose value 1 means that it is so."""

CONFIGURATION_SHIFT, CONFIGURATION_MASK = 8, 0xF
CONFIGURATIONS = {
    2: "wrong system GUID",
    3: "wrong chassis serial number",
    4: "no partition",
    5: "too few NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid state of the GPU",
}


def is_product(name: str, products: tuple[str, ...]) -> bool:
    """Whether a GPU's name has one of the words: "NVIDIA B200" has B200, "NVIDIA GB200" has not."""
    return bool(set(name.replace("-", " ").split()) & set(products))


def decode_health(mask: int) -> tuple[list[str], list[str]]:
    """What a health mask says: what is degraded, and what is broken."""
    degraded = [words for shift, words in DEGRADED if (mask >> shift) & 3 == 1]
    broken = [words for shift, words in BROKEN if (mask >> shift) & 3 == 1]
    configuration = (mask >> CONFIGURATION_SHIFT) & CONFIGURATION_MASK
    if configuration > 1:
        broken.append(CONFIGURATIONS.get(configuration, f"wrong configuration {configuration}"))
    return degraded, broken
