"""How many GPUs a machine has by the name its firmware gives it; a table, nothing else.

Source: NVIDIA's user guides for DGX-1, DGX-2, DGX A100, DGX H100/H200 and DGX B200/B300. The names are written as
DMI holds them ("DGX-1 with V100", "DGXA100 920-23687-2531-001", "NVIDIA DGX H100"); desk-side machines have others.
"""

import re

DATE = "2026-09-01"

GPU_COUNTS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"\bDGX-2\b"), 16),
    (re.compile(r"\bDGX-1\b"), 8),
    (re.compile(r"\bDGX[ -]?(A100|H100|H200|B200|B300)\b"), 8),
)


def expected_gpus(product: str) -> int | None:
    """None: not a machine that the table knows."""
    return next((count for pattern, count in GPU_COUNTS if pattern.search(product)), None)
