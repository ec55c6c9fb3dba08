"""What CUDA answered when it was started once, on request; no I/O."""

from dataclasses import dataclass

from ctk.facts import Unknown
from ctk.facts.nvml import NvmlHang

LIBRARY_NOT_FOUND = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaProbe:
    """One call of cuInit, then cuDeviceGetCount. code: CUresult, -1 where the loader refused the library.

    name: the library's own name for the code, or the loader's words. call: the one that answered code.
    """

    library: str
    call: str
    code: int | Unknown
    name: str
    count: int | None | Unknown
    elapsed_milliseconds: int
    hang: NvmlHang | None = None
