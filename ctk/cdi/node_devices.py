"""The modes that are made of nodes alone (gds, mofed, nvswitch, gdrcopy, imex, management), and WSL; pure."""

from collections.abc import Iterable

from ctk.cdi.assemble import Parts
from ctk.cdi.driver_edits import driver_edits
from ctk.cdi.driver_files import WSL_FILES, WSL_FOLDER, WSL_LIBRARY, WSL_MARK
from ctk.cdi.edits import VOID, additional_gids, make_mount, make_node
from ctk.cdi.gpu_devices import BuiltDevice
from ctk.cdi.hooks import HookWork, build_hooks
from ctk.cdi.modes import GDRCOPY, GDS, IMEX, IMEX_FOLDER, MANAGEMENT_EXCLUDES, MOFED, MOST_CHANNELS, NVSWITCH
from ctk.cdi.request import ALL, NO_ADDITIONAL_GIDS, GenerateRequest, LeftOut
from ctk.errors import CtkError, NotApplicable
from ctk.facts.cdi_spec import SpecEdits
from ctk.facts.driver_root import DeviceFile, DriverRoot, FoundFile, WslStore

COMMON = SpecEdits(env=(VOID,))
WHAT = {
    GDS: ("GPUDirect Storage", "/dev/nvidia-fs*", "modprobe nvidia-fs"),
    MOFED: ("InfiniBand", "/dev/infiniband/uverbs*", "modprobe ib_uverbs"),
    NVSWITCH: ("NVSwitch", "/dev/nvidia-nvswitch*", "modprobe nvidia"),
    GDRCOPY: ("GDRCopy", "/dev/gdrdrv", "modprobe gdrdrv"),
    IMEX: ("IMEX", f"{IMEX_FOLDER}/channel*", "nvidia-modprobe -i=0"),
    "management": ("NVIDIA driver", "/dev/nvidia*", "modprobe nvidia"),
    "wsl": ("WSL 2 GPU", "/dev/dxg", "wsl --update in Windows"),
}
STORE_ENDINGS = (".bin", ".dll")


def node_edits(facts: DriverRoot, request: GenerateRequest, nodes: Iterable[DeviceFile]) -> SpecEdits:
    """These nodes, with the groups that may open them."""
    rows = tuple(nodes)
    gids = () if request.has_flag(NO_ADDITIONAL_GIDS) else additional_gids(rows)
    return SpecEdits(device_nodes=tuple(make_node(facts, node) for node in rows), additional_gids=gids)


def node_parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    """One device `all` with every node of the mode, and for gds the two files that its library reads."""
    _require_nodes(facts, facts.nodes)
    _require_ids(request, (ALL,))
    edits = node_edits(facts, request, facts.nodes)
    mounts = tuple(make_mount(facts, found) for found in facts.files)
    return Parts((BuiltDevice((ALL,), edits._replace(mounts=mounts)),), COMMON)


def imex_parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    """One device for each channel, by its number."""
    channels = {node.path.rpartition("channel")[2]: node for node in facts.nodes}
    channels = {number: node for number, node in channels.items() if number.isdigit()}
    _require_nodes(facts, tuple(channels.values()))
    wanted = list(channels)
    if ALL not in request.device_ids:
        wanted = [_channel_number(word) for word in request.device_ids]
        missing = [number for number in wanted if number not in channels]
        if missing:
            raise CtkError(
                f"cannot describe IMEX channel {missing[0]}: {IMEX_FOLDER}/channel{missing[0]} does not exist",
                hint=f"Make it: nvidia-modprobe -i={missing[0]}. Nothing was written.",
                code="missing-node",
            )
    wanted.sort(key=int)
    devices = tuple(BuiltDevice((number,), node_edits(facts, request, (channels[number],))) for number in wanted)
    return Parts(devices, COMMON)


def _channel_number(word: str) -> str:
    number = word.removeprefix("channel")
    if not (number.isascii() and number.isdigit() and int(number) < MOST_CHANNELS):
        raise CtkError(
            f"cannot describe IMEX channel {word!r}: it is neither a number below {MOST_CHANNELS} nor {ALL}",
            hint="Example: --device-id 0. Nothing was written.",
            code="unknown-device",
        )
    return str(int(number))


def management_parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    """One device `all` with every node of the driver, for tools that manage GPUs and MIG devices."""
    nodes = tuple(node for node in facts.nodes if not node.path.startswith(MANAGEMENT_EXCLUDES))
    _require_nodes(facts, nodes)
    _require_ids(request, (ALL,))
    common, left_out = driver_edits(facts, request, graphics=False)
    return Parts((BuiltDevice((ALL,), node_edits(facts, request, nodes)),), common, tuple(left_out))


def _require_nodes(facts: DriverRoot, nodes: Iterable[DeviceFile]) -> None:
    if tuple(nodes):
        return
    what, path, remedy = WHAT[facts.mode]
    if facts.unreadable_nodes:
        place, reason = facts.unreadable_nodes[0]
        raise CtkError(f"cannot look at {place}: {reason}", hint="Run it as root. Nothing was written.")
    raise NotApplicable(
        f"there is nothing to describe: {facts.dev_root.rstrip('/')}{path} does not exist, so there is no {what} here",
        hint=f"If there should be: {remedy}. Nothing was written.",
    )


def _require_ids(request: GenerateRequest, known: tuple[str, ...]) -> None:
    unknown = [word for word in request.device_ids if word not in known]
    if unknown:
        raise CtkError(
            f"cannot describe device {unknown[0]!r}: this mode only knows {', '.join(known)}",
            hint="Leave out --device-id. Nothing was written.",
            code="unknown-device",
        )


def wsl_parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    """The device of WSL 2 and the files of NVIDIA's driver store."""
    _require_nodes(facts, facts.nodes)
    if facts.wsl is None or facts.wsl.dxcore is None:
        raise CtkError(
            f"cannot describe the GPU: {WSL_LIBRARY} is neither in {WSL_FOLDER}/lib nor in the loader's cache",
            hint="This is WSL 2's own library: wsl --update in Windows. Nothing was written.",
            code="libraries",
        )
    _require_ids(request, (ALL,))
    store, left_out = _choose_store(facts.wsl.stores)
    paths = [facts.wsl.dxcore, *(f"{store.path}/{name}" for name in store.files if _is_driver_file(name))]
    mounts = tuple(make_mount(facts, FoundFile(path, path)) for path in paths)
    smi = f"{store.path}/nvidia-smi"
    links = (f"{smi}::/usr/bin/nvidia-smi",) if smi in paths else ()
    folders = tuple(sorted({path.rpartition("/")[0] for path in paths if ".so" in path}))
    hooks = build_hooks(HookWork(link_groups=(links,), folders=folders), request.hooks)
    common = SpecEdits(env=(VOID,), mounts=mounts, hooks=hooks)
    devices = (BuiltDevice((ALL,), node_edits(facts, request, facts.nodes)),)
    return Parts(devices, common, tuple(left_out))


def _choose_store(stores: Iterable[WslStore]) -> tuple[WslStore, list[LeftOut]]:
    """The newest store that has NVIDIA's libcuda; others are of other devices, or of an older driver."""
    rows = tuple(stores)
    own = [store for store in rows if WSL_MARK in store.files]
    if not any(name in WSL_FILES for store in rows for name in store.files):
        raise NotApplicable(
            "there is nothing to describe: Windows has no NVIDIA driver for this WSL 2",
            hint="If there is an NVIDIA GPU: install its driver in Windows. Nothing was written.",
        )
    if not own:
        names = ", ".join(store.path for store in rows) or f"nothing below {WSL_FOLDER}/drivers"
        raise CtkError(
            f"cannot find NVIDIA's driver store: no folder holds {WSL_MARK} ({names})",
            hint="Install NVIDIA's driver in Windows. Nothing was written.",
            code="libraries",
        )
    best = max(own, key=lambda store: (store.changed_at, store.path))
    reasons = {True: f"an older store than {best.path}", False: f"it holds no {WSL_MARK}"}
    others = [LeftOut("folder", store.path, reasons[store in own]) for store in rows if store != best]
    return best, others


def _is_driver_file(name: str) -> bool:
    return name in WSL_FILES or ".so" in name or name.endswith(STORE_ENDINGS)
