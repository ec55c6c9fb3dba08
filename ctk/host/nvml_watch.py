"""Has NVML asked in a child process, and reads what the child told; it loads no library into this process."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.nvml import ConfidentialState, Nvml, NvmlAnswer, NvmlGpu, PowerState
from ctk.facts.pci import normalize_address
from ctk.host import Host
from ctk.host.driver_library import Talk, ask, find_askable
from ctk.host.reading import try_read_text

DEADLINE_SECONDS = 30.0
LIBRARY = "libnvidia-ml.so.1"


def collect_nvml(host: Host, timeout_seconds: float | None = DEADLINE_SECONDS) -> Nvml | None | Unknown:
    """What NVML answers; None = there is no library. timeout_seconds None: it is not to be asked (--no-nvml)."""
    if timeout_seconds is None:
        return Unknown("not asked: --no-nvml")
    library = find_askable(host, LIBRARY)
    if not isinstance(library, str):
        return library
    power = collect_power(host)
    talk = ask(host, "ctk.host.nvml", library, timeout_seconds, host.get_environment())
    if isinstance(talk, Unknown):
        return talk
    return build_nvml(library, talk, _compare_power(power, host))


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
    for line in read_lines(text):
        gpu = line.get("gpu")
        place = gpus.setdefault(gpu, {}) if isinstance(gpu, int) else host
        if "ask" in line:
            asking, asking_gpu = str(line["ask"]), gpu if isinstance(gpu, int) else None
        elif "fact" in line:
            place[str(line["fact"])] = line
    return Told(host, gpus, asking, asking_gpu)


def read_lines(text: str) -> Iterator[Mapping[str, object]]:
    """A child's lines; one that was cut off is left out."""
    import json

    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # cut off in the middle
        if isinstance(value, dict):
            yield value


def build_nvml(library: str, talk: Talk, power_states: tuple[PowerState, ...] = ()) -> Nvml:
    """The record of what was told, with a reason for each fact that was not."""
    told = parse_told(talk.printed)
    why = f"{talk.failure} (asked for {told.asking})" if talk.failure and told.asking else talk.failure or "not told"
    init = _init(told.host.get("init"), why)
    if isinstance(init, NvmlAnswer) and init.code:
        why = f"{init.text} (NVML {init.code})"
    gpus = tuple(_build_gpu(index, lines, why) for index, lines in sorted(told.gpus.items()))
    facts = {name: _value(told.host.get(name), why) for name in ("driver_version", "cuda_version", "count")}
    return Nvml(
        library=library,
        init=init,
        elapsed_milliseconds=talk.elapsed_milliseconds,
        hang=talk.hang._replace(asking=told.asking, gpu=told.asking_gpu) if talk.hang is not None else None,
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
    from ctk.facts.codec import record_from_document

    errors = [(name, line) for name, line in lines.items() if "code" in line]
    lost = next((line for _, line in errors if _code(line) == 15 or line["fact"] == "handle"), None)
    rest = f"{lost.get('text')} (NVML {lost['code']})" if lost else why
    document: dict[str, object] = {"index": index, "address": _address(lines.get("pci_bus_id"), rest)}
    for name in NvmlGpu._fields:
        if name not in ("index", "address", "errors"):
            document[name] = _encoded(_value(lines.get(name), rest))
    document["errors"] = [{"call": name, "code": _code(line), "text": str(line.get("text"))} for name, line in errors]
    record = record_from_document(NvmlGpu, document)
    assert isinstance(record, NvmlGpu)  # noqa: S101 - it returns what it was asked for; this tells mypy so
    return record


def _address(line: Mapping[str, object] | None, why: str) -> object:
    value = _value(line, why)
    return normalize_address(value) if isinstance(value, str) else _encoded(value)


def _encoded(value: object) -> object:
    return {"unknown": value.reason} if isinstance(value, Unknown) else value
