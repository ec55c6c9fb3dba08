"""Driver releases with a fault that NVIDIA has confirmed, and what brings it out; a table, nothing else.

Source: NVIDIA's documentation of the GPU Operator, troubleshooting (a regression of NVML's MIG queries in 570).
"""

DATE = "2026-09-01"

MIXED_MIG = frozenset({"570.124.06", "570.133.20", "570.148.08", "570.158.01"})
"""NVML fails on a node where some GPUs are in MIG mode and others are not."""
