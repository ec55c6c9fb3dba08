"""Starts the child that asks NVML, watches it and reads what it told; it loads no library into this process.

The library is that of the driver root, by its full path, and is not asked at all unless the kernel module is loaded:
asking may load modules and make device nodes.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.nvml import ConfidentialState, Nvml, NvmlAnswer, NvmlGpu, NvmlHang, PowerState
from ctk.facts.pci import normalize_address
from ctk.host import Host
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from

DEADLINE_SECONDS = 30.0
DRIVER_ROOTS = ("/", "/run/nvidia/driver")
"""Where the driver's files may start: the host itself, and the mount of a driver container (GPU Operator)."""

LIBRARY = "libnvidia-ml.so.1"
LIBRARY_FOLDERS = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/wsl/lib",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/lib64",
    "/run/opengl-driver/lib",
    "/usr/local/nvidia/lib64",
    "/home/kubernetes/bin/nvidia/lib64",
    "/usr/local/glibc/usr/lib",
)
"""Distributions' folders, then WSL, NixOS, images that bring the driver below /usr/local, COS and Talos."""

ELF_MACHINE = {"x86_64": 62, "aarch64": 183}
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from ctk.host.nvml import main; main(sys.argv[2])"
UNINTERRUPTIBLE = "D"


def collect_nvml(host: Host, timeout_seconds: float | None = DEADLINE_SECONDS) -> Nvml | None | Unknown:
    """What NVML answers; None = there is no library. timeout_seconds None: it is not to be asked (--no-nvml)."""
    if timeout_seconds is None:
        return Unknown("not asked: --no-nvml")
    obstacle = find_obstacle(host)
    if obstacle:
        return Unknown(f"not asked: {obstacle}")
    library = find_library(host)
    if not isinstance(library, str):
        return library
    distrust = _why_not_trusted(host, library)
    if distrust:
        return Unknown(f"not asked: {distrust}")
    return _ask(host, library, timeout_seconds)


def find_obstacle(host: Host) -> str:
    """Why the library must not be asked, "" if it may. On WSL 2 the driver is in Windows, behind /dev/dxg."""
    modules = try_read_text(host, "/proc/modules")
    if isinstance(modules, Unknown):
        return f"/proc/modules: {modules.reason}"
    state = parse_module_state(modules or "")
    if state is None:
        return "" if try_exists(host, "/dev/dxg") is True else "the kernel module nvidia is not loaded"
    return "" if state == "Live" else f"the kernel module nvidia is in the state {state}"


def parse_module_state(modules: str) -> str | None:
    """The state of the module nvidia in /proc/modules: Live, Loading or Unloading."""
    for line in modules.splitlines():
        fields = line.split()
        if fields[:1] == ["nvidia"]:
            return fields[4] if len(fields) > 4 else "Live"
    return None


def find_library(host: Host) -> str | None | Unknown:
    """libnvidia-ml.so.1 of this machine's architecture, by its path on the host; None = looked and not there."""
    hidden: Unknown | None = None
    for root in DRIVER_ROOTS:
        for folder in LIBRARY_FOLDERS:
            path = f"{root.rstrip('/')}{folder}/{LIBRARY}"
            try:
                if host.is_file(path) and is_loadable(host.read_head(path, 20), os.uname().machine):
                    return path
            except ABSENT:
                continue
            except OSError as error:
                hidden = hidden or Unknown(f"{path}: {unknown_from(error).reason}")
    return hidden


def is_loadable(header: bytes, machine: str) -> bool:
    """A 64-bit ELF file for the machine; one of an unknown machine is left to the loader to judge."""
    if len(header) < 20 or header[:5] != b"\x7fELF\x02":
        return False
    wanted = ELF_MACHINE.get(machine)
    return wanted is None or int.from_bytes(header[18:20], "little") == wanted


def _why_not_trusted(host: Host, path: str) -> str:
    from ctk.host.programs import why_not_trusted

    try:
        return why_not_trusted(host, path)
    except OSError as error:
        return f"{path}: {unknown_from(error).reason}"


def _ask(host: Host, library: str, timeout_seconds: float) -> Nvml | Unknown:
    import json
    import time

    from ctk.host.local import run_watched

    if not sys.executable:
        return Unknown("not asked: the path of the Python interpreter is not known")
    modules = json.dumps([folder for folder in sys.path if os.path.isabs(folder)])
    power = collect_power(host)
    start = time.monotonic()
    output, sleepers = run_watched(
        (sys.executable, "-I", "-c", START, modules, host.real_path(library)), timeout_seconds, host.get_environment()
    )
    elapsed = round((time.monotonic() - start) * 1000)
    told = parse_told(output.stdout)
    hang = None
    if output.returncode is None and sleepers:
        stuck = next((one for one in sleepers if one.state == UNINTERRUPTIBLE), sleepers[0])
        hang = NvmlHang(
            deadline_milliseconds=round(timeout_seconds * 1000),
            asking=told.asking,
            gpu=told.asking_gpu,
            program=stuck.name,
            state=stuck.state,
            wait_channel=stuck.wait_channel or None,
        )
    why = _describe_end(output.returncode, output.reason, output.stderr, told)
    return build_nvml(library, told, why, elapsed, hang, _compare_power(power, host))


def _describe_end(returncode: int | None, reason: str, stderr: str, told: "Told") -> str:
    """Why there are no more answers, for the facts that were not told."""
    if returncode is None:
        return f"{reason} (asked for {told.asking})" if told.asking else reason
    if returncode < 0:
        return f"the library ended its process with signal {-returncode} (asked for {told.asking})"
    last = stderr.strip().splitlines()[-1:] if returncode else []
    return last[0] if last else "not told"


def _names(host: Host) -> tuple[str, ...]:
    try:
        return host.list_directory("/sys/bus/pci/devices")
    except OSError:
        return ()


def collect_power(host: Host) -> tuple[tuple[str, str | None | Unknown], ...]:
    """power/runtime_status of every NVIDIA display device, by address: asking NVML wakes a GPU that sleeps."""
    found = []
    for name in _names(host):
        folder = f"/sys/bus/pci/devices/{name}"
        vendor, kind = (try_read_text(host, f"{folder}/{file}") for file in ("vendor", "class"))
        if str(vendor).strip() == "0x10de" and str(kind).startswith("0x03"):
            found.append((name, _status(host, folder)))
    return tuple(found)


def _status(host: Host, folder: str) -> str | None | Unknown:
    text = try_read_text(host, f"{folder}/power/runtime_status")
    return text.strip() if isinstance(text, str) else text


def _compare_power(before: tuple[tuple[str, str | None | Unknown], ...], host: Host) -> tuple[PowerState, ...]:
    return tuple(
        PowerState(address=address, before=status, after=_status(host, f"/sys/bus/pci/devices/{address}"))
        for address, status in before
    )


class Told(NamedTuple):
    """The child's lines. host, gpus: fact to line, a line being {"value"} or {"code", "text"}; asking: the last one."""

    host: Mapping[str, Mapping[str, object]]
    gpus: Mapping[int, Mapping[str, Mapping[str, object]]]
    asking: str = ""
    asking_gpu: int | None = None


def parse_told(text: str) -> Told:
    """The child's output; a last line that was cut off is left out."""
    host: dict[str, Mapping[str, object]] = {}
    gpus: dict[int, dict[str, Mapping[str, object]]] = {}
    asking, asking_gpu = "", None
    for line in _lines(text):
        gpu = line.get("gpu")
        place = gpus.setdefault(gpu, {}) if isinstance(gpu, int) else host
        if "ask" in line:
            asking, asking_gpu = str(line["ask"]), gpu if isinstance(gpu, int) else None
        elif "fact" in line:
            place[str(line["fact"])] = line
    return Told(host, gpus, asking, asking_gpu)


def _lines(text: str) -> Iterator[Mapping[str, object]]:
    import json

    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # cut off in the middle
        if isinstance(value, dict):
            yield value


def build_nvml(
    library: str,
    told: Told,
    why: str,
    elapsed_milliseconds: int,
    hang: NvmlHang | None,
    power_states: tuple[PowerState, ...],
) -> Nvml:
    """The record; why: the reason for what was not told."""
    init = _init(told.host.get("init"), why)
    if isinstance(init, NvmlAnswer) and init.code:
        why = f"{init.text} (NVML {init.code})"
    gpus = tuple(_build_gpu(index, lines, why) for index, lines in sorted(told.gpus.items()))
    facts = {name: _value(told.host.get(name), why) for name in ("driver_version", "cuda_version", "count")}
    return Nvml(
        library=library,
        init=init,
        elapsed_milliseconds=elapsed_milliseconds,
        hang=hang,
        confidential=_confidential(told, why),
        gpus=gpus if gpus or isinstance(facts["count"], int) else Unknown(why),
        power_states=power_states,
        **facts,  # type: ignore[arg-type] # the child's own values, of the types that pynvml gives them
    )


def _init(line: Mapping[str, object] | None, why: str) -> NvmlAnswer | Unknown:
    if line is None:
        return Unknown(why)
    return NvmlAnswer(call="init", code=_code(line), text=str(line.get("text", "Success")))


def _code(line: Mapping[str, object]) -> int:
    code = line.get("code", 0)
    return code if isinstance(code, int) else 999


def _value(line: Mapping[str, object] | None, why: str) -> object:
    if line is None:
        return Unknown(why)
    return Unknown(f"{line.get('text')} (NVML {line['code']})") if "code" in line else line.get("value")


def _confidential(told: Told, why: str) -> ConfidentialState | None | Unknown:
    state = _value(told.host.get("confidential"), why)
    if not isinstance(state, Mapping):
        return state if isinstance(state, Unknown) else None
    ready = _value(told.host.get("confidential_ready"), why)
    return ConfidentialState(
        feature=bool(state.get("feature")),
        developer_tools=bool(state.get("developer_tools")),
        ready=ready if isinstance(ready, bool | Unknown) else None,
    )


def _build_gpu(index: int, lines: Mapping[str, Mapping[str, object]], why: str) -> NvmlGpu:
    """One GPU from its lines, by way of the snapshot's own document form, which checks every type."""
    from dataclasses import fields

    from ctk.facts.codec import record_from_document

    errors = [(name, line) for name, line in lines.items() if "code" in line]
    lost = next((line for _, line in errors if _code(line) == 15 or line["fact"] == "handle"), None)
    rest = f"{lost.get('text')} (NVML {lost['code']})" if lost else why
    document: dict[str, object] = {"index": index, "address": _address(lines.get("pci_bus_id"), rest)}
    for field in fields(NvmlGpu):
        if field.name not in ("index", "address", "errors"):
            document[field.name] = _encoded(_value(lines.get(field.name), rest))
    document["errors"] = [{"call": name, "code": _code(line), "text": str(line.get("text"))} for name, line in errors]
    record = record_from_document(NvmlGpu, document)
    assert isinstance(record, NvmlGpu)  # noqa: S101 - it returns what it was asked for; this tells mypy so
    return record


def _address(line: Mapping[str, object] | None, why: str) -> object:
    value = _value(line, why)
    return normalize_address(value) if isinstance(value, str) else _encoded(value)


def _encoded(value: object) -> object:
    return {"unknown": value.reason} if isinstance(value, Unknown) else value
