"""Has CUDA started once in a child process, and reads what the child told; it loads no library into this process."""

from collections.abc import Mapping

from ctk.facts import Unknown
from ctk.facts.cuda import CudaProbe
from ctk.host import Host
from ctk.host.driver_library import Talk, ask, find_askable
from ctk.host.nvml_watch import DEADLINE_SECONDS, read_lines

LIBRARY = "libcuda.so.1"
HIDING = ("CUDA_", "NVIDIA_")
"""A caller's CUDA_VISIBLE_DEVICES would hide devices that the host has."""


def collect_cuda_probe(host: Host, timeout_seconds: float = DEADLINE_SECONDS) -> CudaProbe | Unknown:
    """What CUDA answers on this host."""
    library = find_askable(host, LIBRARY)
    if not isinstance(library, str):
        return library or Unknown("no libcuda.so.1 was found where drivers put it")
    environment = {name: value for name, value in host.get_environment().items() if not name.startswith(HIDING)}
    talk = ask(host, "ctk.host.cuda", library, timeout_seconds, environment)
    return talk if isinstance(talk, Unknown) else build_probe(library, talk)


def build_probe(library: str, talk: Talk) -> CudaProbe:
    """The record of the child's lines: the last call that answered counts."""
    lines = list(read_lines(talk.printed))
    answers = [line for line in lines if "fact" in line]
    asked = [str(line["ask"]) for line in lines if "ask" in line]
    last: Mapping[str, object] = answers[-1] if answers else {}
    call = asked[-1] if asked else "cuInit"
    why = Unknown(talk.failure or "not told")
    is_told = last.get("fact") == call
    code = last.get("code") if is_told else None
    count = last.get("count") if is_told else why
    return CudaProbe(
        library=library,
        call=call,
        code=code if isinstance(code, int) else why,
        name=str(last.get("text", "")) if is_told else "",
        count=count if isinstance(count, int | Unknown) else None,
        elapsed_milliseconds=talk.elapsed_milliseconds,
        hang=talk.hang._replace(asking=call) if talk.hang is not None else None,
    )
