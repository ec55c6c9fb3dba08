"""The driver's GPUs and MIG devices for a CDI spec: from NVML, else from /proc; it judges nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ctk.facts import Unknown
from ctk.facts.driver_root import FileLink, GpuSource, MigInstance, RootGpu
from ctk.facts.pci import normalize_address
from ctk.host import Host
from ctk.host.driver_library import ask, find_askable, find_library, find_obstacle
from ctk.host.nvml_watch import LIBRARY, parse_told
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from
from ctk.record import Record

PROC = "/proc/driver/nvidia"
MIG_MINORS = "/proc/driver/nvidia-caps/mig-minors"
PCI = "/sys/bus/pci/devices"
BY_PATH = "/dev/dri/by-path"
ATS = 2
"""nvmlDeviceAddressingModeType_t: the GPU uses the processor's page tables."""
NVGPU_NAMES = ("(nvgpu)", "NVIDIA Thor")
"""GPUs that are part of a Jetson's processor, by their names."""

Line = Mapping[str, object]


class NvmlQuery(Record):
    """Which library is asked: that of the driver root. places: paths of the host to try first, in the cache's order.

    seconds: how long it may take, None = it is not asked.
    """

    driver_root: str = "/"
    seconds: float | None = None
    places: tuple[str, ...] = ()


Asking = Callable[[Host, NvmlQuery], "FoundGpus | str"]


class FoundGpus(Record):
    """The GPUs and what the driver says of its version. has_library: NVML is below the driver root."""

    source: GpuSource
    gpus: tuple[RootGpu, ...] | Unknown
    version: str | None | Unknown = None
    cuda_version: str | None = None
    has_library: bool = False
    nvgpu: bool = False


def collect_gpus(host: Host, query: NvmlQuery, dev_root: str, ask_library: Asking | None = None) -> FoundGpus:
    """NVML is asked if it may be; where it does not answer, the kernel side of the driver is read.

    ask_library: what asks NVML, ask_nvml unless a test answers for it.
    """
    found = (ask_library or ask_nvml)(host, query)
    if not isinstance(found, FoundGpus):
        found = _read_proc(host, found)
    if isinstance(found.gpus, Unknown):
        return found
    caps = _mig_minors(host)
    gpus = tuple(_complete(host, dev_root, gpu, caps) for gpu in found.gpus)
    there = found.has_library or isinstance(find_library(host, LIBRARY, (query.driver_root,), query.places), str)
    return found._replace(gpus=gpus, has_library=there)


def ask_nvml(host: Host, query: NvmlQuery) -> FoundGpus | str:
    """What NVML says, or why it says nothing."""
    if query.seconds is None:
        return "not asked: --no-nvml"
    library = find_askable(host, LIBRARY, (query.driver_root,), query.places)
    if isinstance(library, Unknown):
        return library.reason
    if library is None:
        return f"there is no {LIBRARY} below {query.driver_root}"
    talk = ask(host, "ctk.host.nvml_devices", library, query.seconds, host.get_environment())
    if isinstance(talk, Unknown):
        return talk.reason
    told = parse_told(talk.printed)
    init = told.host.get("init", {})
    if talk.failure or "value" not in init or init.get("code"):
        reason = talk.failure or f"{init.get('text')} (NVML {init.get('code')})"
        return f"{reason} (asked for {told.asking})" if talk.failure and told.asking else reason
    return build_gpus(told.host, told.gpus)


def build_gpus(lines: Mapping[str, Line], gpus: Mapping[int, Mapping[str, Line]]) -> FoundGpus:
    """The child's lines as records."""
    cuda = _value(lines.get("cuda_version"))
    version = _value(lines.get("driver_version"))
    count = _value(lines.get("count"))
    built = tuple(_build_gpu(index, told) for index, told in sorted(gpus.items()))
    return FoundGpus(
        source=GpuSource("nvml"),
        gpus=built if isinstance(count, int) else Unknown("NVML does not tell how many GPUs there are"),
        version=version if isinstance(version, str) else None,
        cuda_version=f"{cuda // 1000}.{cuda % 1000 // 10}" if isinstance(cuda, int) else None,
        has_library=True,
        nvgpu=any(isinstance(gpu.name, str) and any(word in gpu.name for word in NVGPU_NAMES) for gpu in built),
    )


def _value(line: Line | None) -> object:
    if line is None:
        return Unknown("not told")
    return Unknown(f"{line.get('text')} (NVML {line['code']})") if "code" in line else line.get("value")


def _build_gpu(index: int, lines: Mapping[str, Line]) -> RootGpu:
    lost = next((line for line in lines.values() if line.get("fact") == "handle"), None)

    def text(name: str) -> str | None | Unknown:
        value = _value(lost if lost is not None and name not in lines else lines.get(name))
        return value if isinstance(value, str | Unknown) else None

    minor = _value(lost if lost is not None else lines.get("minor"))
    address = text("pci_bus_id")
    slots = _value(lines.get("mig_slots"))
    return RootGpu(
        index=index,
        minor=minor if isinstance(minor, int | Unknown) else None,
        uuid=text("uuid"),
        address=normalize_address(address) if isinstance(address, str) else address,
        name=text("name"),
        is_mig=_value(lines.get("mig_current")) is True,
        mig_devices=tuple(_build_mig(slot) for slot in slots) if isinstance(slots, list) else (),
        coherent=_coherent(_value(lines.get("addressing_mode"))),
    )


def _coherent(mode: object) -> bool | None:
    return mode == ATS if isinstance(mode, int) else None


def _build_mig(slot: Mapping[str, object]) -> MigInstance:
    name = str(slot.get("name", ""))
    index, instance, compute = (int(str(slot[field])) for field in ("index", "gpu_instance", "compute_instance"))
    attributes = name.rpartition(" ")[2].partition("+")[2]
    return MigInstance(index, instance, compute, str(slot["uuid"]), graphics="gfx" in attributes)


def _read_proc(host: Host, reason: str) -> FoundGpus:
    """The driver's own folders. Without them: is the module loaded at all?"""
    from ctk.host.driver import parse_version

    text = try_read_text(host, f"{PROC}/version")
    loaded = isinstance(text, str) or not find_obstacle(host)
    source = GpuSource("proc", reason, loaded)
    version = parse_version(text) if isinstance(text, str) else text
    try:
        names = host.list_directory(f"{PROC}/gpus")
    except ABSENT:
        return FoundGpus(source, (), version)
    except OSError as error:
        return FoundGpus(source, unknown_from(error), version)
    told = sorted(((normalize_address(name), name) for name in names), key=lambda pair: pair[0])
    present = [(address, name, _information(host, name)) for address, name in told]
    kept = [row for row in present if "GPU Excluded: Yes" not in row[2]]
    gpus = (_parse_gpu(host, index, *row) for index, row in enumerate(kept))
    return FoundGpus(source, tuple(gpus), version)


def _information(host: Host, name: str) -> str:
    text = try_read_text(host, f"{PROC}/gpus/{name}/information")
    return "\n".join(" ".join(line.split()) for line in text.splitlines()) if isinstance(text, str) else ""


def _parse_gpu(host: Host, index: int, address: str, name: str, information: str) -> RootGpu:
    from ctk.host.driver import parse_gpu

    known = parse_gpu(information, address, f"{PROC}/gpus/{name}")
    migs = tuple(_proc_migs(host, known.minor)) if isinstance(known.minor, int) else ()
    return RootGpu(
        index=index,
        minor=known.minor,
        uuid=known.uuid,
        address=address,
        name=known.model,
        is_mig=bool(migs),
        mig_devices=migs,
    )


def _proc_migs(host: Host, minor: int) -> Iterator[MigInstance]:
    """Instances by their numbers: NVML's own order is not told here."""
    folder = f"{PROC}/capabilities/gpu{minor}/mig"
    pairs = [
        (instance, compute)
        for instance in _numbers(host, folder, "gi")
        for compute in _numbers(host, f"{folder}/gi{instance}", "ci")
    ]
    yield from (MigInstance(index, *pair) for index, pair in enumerate(sorted(pairs)))


def _numbers(host: Host, folder: str, prefix: str) -> list[int]:
    try:
        names = host.list_directory(folder)
    except OSError:
        return []
    return [int(name[len(prefix) :]) for name in names if name.startswith(prefix) and name[len(prefix) :].isdigit()]


def _mig_minors(host: Host) -> dict[str, int]:
    """The minors of the capability nodes, by gpuN/giN/access and gpuN/giN/ciN/access."""
    text = try_read_text(host, MIG_MINORS)
    rows = [line.split() for line in text.splitlines()] if isinstance(text, str) else []
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def _complete(host: Host, dev_root: str, gpu: RootGpu, caps: Mapping[str, int]) -> RootGpu:
    """With the capability nodes' numbers, the names of its DRM nodes and the links to them."""
    migs = tuple(_with_caps(host, gpu, mig, caps) for mig in gpu.mig_devices)
    if not isinstance(gpu.address, str):
        return gpu._replace(mig_devices=migs)
    drm = _drm_names(host, gpu.address)
    links = tuple(_drm_links(host, dev_root, gpu.address)) if drm else ()
    return gpu._replace(mig_devices=migs, drm=drm, drm_links=links)


def _with_caps(host: Host, gpu: RootGpu, mig: MigInstance, caps: Mapping[str, int]) -> MigInstance:
    instance = f"gpu{gpu.minor}/gi{mig.gpu_instance}"
    names = (f"{instance}/access", f"{instance}/ci{mig.compute_instance}/access")
    numbers = [caps[name] if name in caps else _capability_minor(host, name) for name in names]
    return mig._replace(gpu_cap=numbers[0], compute_cap=numbers[1])


def _capability_minor(host: Host, name: str) -> int | None:
    """From the capability's own file, where the driver has no list of all."""
    from ctk.host.driver import parse_capability

    gpu, _, rest = name.partition("/")
    text = try_read_text(host, f"{PROC}/capabilities/{gpu}/mig/{rest}")
    return parse_capability(text, name).minor if isinstance(text, str) else None


def _drm_names(host: Host, address: str) -> tuple[str, ...]:
    try:
        return host.list_directory(f"{PCI}/{address}/drm")
    except ABSENT:
        return _drm_names_by_search(host, address)
    except OSError:
        return ()


def _drm_names_by_search(host: Host, address: str) -> tuple[str, ...]:
    """A virtual machine's PCI domain may be wider than the 16 bits that the driver's folders have."""
    if try_exists(host, f"{PCI}/{address}") is True:
        return ()
    try:
        same = [name for name in host.list_directory(PCI) if name != address and normalize_address(name) == address]
        return host.list_directory(f"{PCI}/{same[0]}/drm") if same else ()
    except OSError:
        return ()


def _drm_links(host: Host, dev_root: str, address: str) -> Iterator[FileLink]:
    kinds: Sequence[str] = ("card", "render")
    for kind in kinds:
        path = f"{BY_PATH}/pci-{address}-{kind}"
        place = dev_root.rstrip("/") + path
        try:
            if host.is_link(place):
                yield FileLink(path, host.readlink(place))
        except OSError:
            continue
