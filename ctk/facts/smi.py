"""How NVIDIA's own command-line tool ended when it was asked to list the GPUs; no I/O."""

from typing import NamedTuple


class Smi(NamedTuple):
    """One run of `nvidia-smi -L`. returncode None: it did not end (reason); said: its first line when it failed."""

    path: str
    returncode: int | None
    reason: str = ""
    said: str = ""
