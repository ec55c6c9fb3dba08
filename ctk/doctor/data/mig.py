"""The first driver that can split each kind of GPU into MIG instances; a dated table, nothing else."""

DATE = "2026-09-01"
SOURCE = "MIG user guide, edition 620: Supported GPUs"

FLOORS: tuple[tuple[str, str], ...] = (
    ("B300", "580.82.07"),
    ("GB200", "570.133.20"),
    ("B200", "570.133.20"),
    ("H200", "550.90.07"),
    ("H20", "535.161.07"),
    ("H100", "525.85.12"),
    ("A100", "450.80.02"),
    ("A30", "460.73.01"),
    ("RTX PRO 6000", "575.51.03"),
    ("RTX PRO 5000", "575.57.08"),
    ("RTX PRO 4500", "575.64"),
)
"""Product name to driver. The first row whose words are in the name counts, so longer names come first."""


def find_floor(product: str) -> str | None:
    """The driver a product needs; None for one that the table does not have."""
    words = product.replace("-", " ").split()
    for name, floor in FLOORS:
        parts = name.split()
        if any(words[start : start + len(parts)] == parts for start in range(len(words))):
            return floor
    return None
