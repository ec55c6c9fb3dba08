"""The devices of mode nvml: which GPUs and MIG devices are asked for, their names, nodes and links; pure."""

from collections.abc import Iterable, Iterator

from ctk.cdi.capabilities import wants_node
from ctk.cdi.edits import additional_gids, join_root, make_node
from ctk.cdi.hooks import HookWork
from ctk.cdi.request import (
    ALL,
    INDEX,
    NO_ADDITIONAL_GIDS,
    NONE,
    TYPE_INDEX,
    UUID,
    GenerateRequest,
    LeftOut,
)
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.cdi_spec import SpecEdits
from ctk.facts.driver_root import DeviceFile, DriverRoot, MigInstance, RootGpu
from ctk.record import Record

DISPLAY_GPUS = ("DGX Display", "NVIDIA DGX Display")
"""A DGX Station's GPU for its screen, which computes nothing."""
CAPS = "/dev/nvidia-caps/nvidia-cap"
DRI = "/dev/dri/"
EMPTY_DEVICE = "NVCT_EMPTY_DEVICE="


class Choice(Record):
    """A whole GPU, or a MIG device of it. asked: by its own id, so that it may not be left out."""

    gpu: RootGpu
    mig: MigInstance | None = None
    asked: bool = False

    @property
    def index(self) -> str:
        """0, or 1:0 for a MIG device."""
        return str(self.gpu.index) if self.mig is None else f"{self.gpu.index}:{self.mig.index}"

    @property
    def uuid(self) -> str | None | Unknown:
        """Its own UUID."""
        return self.gpu.uuid if self.mig is None else self.mig.uuid


class BuiltDevice(Record):
    """A device under all its names. coherent: for GPUs, whether it shares the processor's page tables.

    work: what its hook has to do; the hook itself is not among the edits yet.
    """

    names: tuple[str, ...]
    edits: SpecEdits
    coherent: bool | None = None
    work: HookWork = HookWork()


def choose_devices(gpus: Iterable[RootGpu], ids: Iterable[str]) -> tuple[Choice, ...]:
    """The GPUs and MIG devices for `all`, an index, GPU:MIG, a UUID. Raises CtkError for an id that is not here."""
    everything = tuple(_all_choices(gpus))
    wanted = tuple(dict.fromkeys(ids))
    if ALL in wanted:
        return tuple(one for one in everything if _is_by_default(one))
    chosen: dict[str, Choice] = {}
    for word in wanted:
        found = next((one for one in everything if word == one.index or _is_uuid(word, one.uuid)), None)
        if found is None:
            raise _no_such_device(word, everything)
        chosen[found.index] = found._replace(asked=True)
    return tuple(chosen.values())


def _all_choices(gpus: Iterable[RootGpu]) -> Iterator[Choice]:
    for gpu in gpus:
        yield Choice(gpu)
        yield from (Choice(gpu, mig) for mig in gpu.mig_devices)


def _is_by_default(choice: Choice) -> bool:
    """A GPU in MIG mode is only used by way of its MIG devices."""
    return choice.mig is not None or not (choice.gpu.is_mig or choice.gpu.name in DISPLAY_GPUS)


def tell_unused(gpus: Iterable[RootGpu], chosen: Iterable[Choice]) -> Iterator[LeftOut]:
    """The GPUs that are no device of their own although nobody restricted the devices."""
    used = {choice.gpu.index for choice in chosen if choice.mig is None}
    for gpu in gpus:
        if gpu.index not in used and gpu.is_mig:
            yield LeftOut("gpu", str(gpu.index), "it is in MIG mode: containers get its MIG devices")
        elif gpu.index not in used and gpu.name in DISPLAY_GPUS:
            yield LeftOut("gpu", str(gpu.index), "it is there for a screen, and computes nothing")


def _is_uuid(word: str, uuid: str | None | Unknown) -> bool:
    return isinstance(uuid, str) and word.lower() == uuid.lower()


def _no_such_device(word: str, everything: tuple[Choice, ...]) -> CtkError:
    known = ", ".join(one.index for one in everything) or "none"
    return CtkError(
        f"cannot describe device {word!r}: this host has none of that id",
        hint=f"There are, by index: {known}; also by UUID, and {ALL} and {NONE}. Nothing was written.",
        code="unknown-device",
    )


def build_devices(
    facts: DriverRoot, request: GenerateRequest, choices: Iterable[Choice]
) -> tuple[tuple[BuiltDevice, ...], list[LeftOut]]:
    """The devices whose nodes are all there, and what was left out."""
    built = []
    left_out: list[LeftOut] = []
    by_path = {node.path: node for node in facts.nodes}
    for choice in choices:
        fault = _missing(facts, choice, by_path)
        if fault:
            _refuse_if_asked(facts, choice, fault)
            left_out.append(LeftOut("device", choice.index, fault))
            continue
        names = tuple(_names(choice, request.name_strategies, left_out))
        if names:
            edits, work = _device_edits(facts, request, choice, by_path, left_out)
            coherent = choice.gpu.coherent is True if choice.mig is None else None
            built.append(BuiltDevice(names, edits, coherent, work))
    if not built:
        _refuse_all(facts, left_out)
    return tuple(built), left_out


def _refuse_if_asked(facts: DriverRoot, choice: Choice, fault: str) -> None:
    if choice.asked:
        message = f"cannot describe device {choice.index}: {fault}"
        raise CtkError(message, hint=_node_hint(facts), code="missing-node")


NODE_HINT = "Make the nodes: nvidia-modprobe -c=0 -c=1 (the number of each). Nothing was written."
DEV_ROOT_HINT = "If the nodes are the host's own: add --dev-root=/. Nothing was written."


def _node_hint(facts: DriverRoot) -> str:
    return NODE_HINT if facts.dev_root == "/" else DEV_ROOT_HINT


def _refuse_all(facts: DriverRoot, left_out: Iterable[LeftOut]) -> None:
    reasons = list(dict.fromkeys(f"{row.name}: {row.reason}" for row in left_out if row.what in ("device", "name")))
    told = "; ".join(reasons[:8]) + (f"; and {len(reasons) - 8} more" if len(reasons) > 8 else "")
    why = told or "every GPU is in MIG mode and has no MIG device (see nvidia-smi mig -lgip)"
    hint = _node_hint(facts) if told else "Make MIG devices, or ask for a GPU with --device-id. Nothing was written."
    raise CtkError(f"cannot describe any device: {why}", hint=hint, code="no-device")


def _missing(facts: DriverRoot, choice: Choice, by_path: dict[str, DeviceFile]) -> str:
    """Why the device cannot be described, "" if it can: the first node that is missing, or has no number."""
    gpu = choice.gpu
    if not isinstance(gpu.minor, int):
        return gpu.minor.reason if isinstance(gpu.minor, Unknown) else "the driver does not tell its minor number"
    paths: list[tuple[str, int | None]] = [(f"/dev/nvidia{gpu.minor}", gpu.minor)]
    if choice.mig is not None:
        mig = choice.mig
        paths += [(f"{CAPS}{mig.gpu_cap}", mig.gpu_cap), (f"{CAPS}{mig.compute_cap}", mig.compute_cap)]
    for path, number in paths:
        if number is None:
            return "/proc/driver/nvidia-caps/mig-minors does not tell its capability nodes"
        if path not in by_path:
            return _why_missing(facts, path)
    return ""


def _why_missing(facts: DriverRoot, path: str) -> str:
    place = join_root(facts.dev_root, path)
    if path in facts.other_nodes:
        return f"{place} is no device node"
    hidden = dict(facts.unreadable_nodes)
    folder = path.rpartition("/")[0]
    reason = hidden.get(path) or hidden.get(folder)
    return f"{place}: {reason}" if reason else f"{place} does not exist"


def _names(choice: Choice, strategies: Iterable[str], left_out: list[LeftOut]) -> Iterator[str]:
    for strategy in dict.fromkeys(strategies):
        if strategy == INDEX:
            yield choice.index
        elif strategy == TYPE_INDEX:
            yield f"{'gpu' if choice.mig is None else 'mig'}{choice.index}"
        elif strategy == UUID and isinstance(choice.uuid, str) and _can_be_a_name(choice.uuid):
            yield choice.uuid
        elif strategy == UUID:
            reason = "NVML was not asked, and the driver does not tell the UUID otherwise"
            if isinstance(choice.uuid, str):  # as drivers before 470 write those of MIG devices
                reason = f"CDI allows no {choice.uuid!r}"
            left_out.append(LeftOut("name", choice.index, f"no name by UUID: {reason}"))


def _can_be_a_name(uuid: str) -> bool:
    """By the rules of CDI for a device's name."""
    letters = uuid
    for mark in "_-.:":
        letters = letters.replace(mark, "")
    return letters.isascii() and letters.isalnum() and uuid[-1].isalnum()


def _device_edits(
    facts: DriverRoot,
    request: GenerateRequest,
    choice: Choice,
    by_path: dict[str, DeviceFile],
    left_out: list[LeftOut],
) -> tuple[SpecEdits, HookWork]:
    paths = [f"/dev/nvidia{choice.gpu.minor}"]
    if choice.mig is not None:
        paths += [f"{CAPS}{choice.mig.gpu_cap}", f"{CAPS}{choice.mig.compute_cap}"]
    if choice.mig is None or choice.mig.graphics:
        paths += _drm_paths(facts, request, choice, by_path, left_out)
    nodes = tuple(by_path[path] for path in paths)
    links = tuple(_drm_links(choice.gpu, paths)) if len(nodes) > 1 else ()
    folders = {node.path.rpartition("/")[0] for node in nodes} - {"/dev"}
    work = HookWork(link_groups=(links,), chmod_folders=tuple(sorted(folders)))
    edits = SpecEdits(
        device_nodes=tuple(make_node(facts, node) for node in nodes),
        additional_gids=() if request.has_flag(NO_ADDITIONAL_GIDS) else additional_gids(nodes),
    )
    return edits, work


def _drm_paths(
    facts: DriverRoot,
    request: GenerateRequest,
    choice: Choice,
    by_path: dict[str, DeviceFile],
    left_out: list[LeftOut],
) -> Iterator[str]:
    for name in choice.gpu.drm:
        path = f"{DRI}{name}"
        if not wants_node(path, request.wanted):
            left_out.append(LeftOut("node", path, "no wanted capability needs it"))
        elif path not in by_path:
            left_out.append(LeftOut("node", path, _why_missing(facts, path)))
        else:
            yield path


def _drm_links(gpu: RootGpu, paths: Iterable[str]) -> Iterator[str]:
    """Links by PCI address whose node is there, at their path in the container, whatever the dev root is."""
    there = {path.rpartition("/")[2] for path in paths if path.startswith(DRI)}
    for link in gpu.drm_links:
        if link.text.rpartition("/")[2] in there:
            yield f"{link.text}::{link.path}"
