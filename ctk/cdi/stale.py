"""What a spec was made for against what the host has now: driver version, GPUs, MIG devices; pure values."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ctk.facts.cdi_spec import CdiSpec, SpecHook

DRIVER_LIBRARY = re.compile(r"lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.(\d+\.\d+(?:\.\d+)*)")
VERSIONED_LIBRARY = re.compile(r"lib(?:nvidia-.+|GLX_nvidia|cuda.*)\.so\.(\d{3,}\.\d+(?:\.\d+)*)")
DRIVER_VERSION_OPTION = "--host-driver-version"
GPU_NODE = re.compile(r"/dev/nvidia(\d+)")
CAPABILITY_NODE = re.compile(r"/dev/nvidia-caps/nvidia-cap(\d+)")
CONTROL_CAPABILITIES = ("mig/config", "mig/monitor")
INSTANCE = re.compile(r"gpu(\d+)/mig/(gi\d+(?:/ci\d+)?)/access")
INDEX = re.compile(r"(?:gpu)?(\d+)")
GPU_UUID, MIG_UUID = "GPU-", "MIG-"


class PresentGpu(NamedTuple):
    """One GPU of the host that containers may be given. None: not known. mig: it is divided (its instances count)."""

    minor: int | None
    uuid: str | None = None
    index: int | None = None  # type: ignore[assignment] # a record has no use for the method that tuples call so
    mig: bool = False


class Difference(NamedTuple):
    """Names that the spec should have and lacks, and that it has and should not."""

    missing: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Both sides agree."""
        return not self.missing and not self.stale


def driver_version_of(spec: CdiSpec) -> tuple[str, str] | None:
    """The driver that the spec was made for, and what says so: a library's file name, else a hook's argument."""
    mounts = [mount.host_path for edits in spec.all_edits for mount in edits.mounts]
    for pattern in (DRIVER_LIBRARY, VERSIONED_LIBRARY):
        for path in mounts:
            found = pattern.fullmatch(path.rpartition("/")[2])
            if found is not None:
                return found.group(1), path
    for edits in spec.all_edits:
        for hook in edits.hooks:
            version = _driver_version_argument(hook)
            if version:
                return version, f"{DRIVER_VERSION_OPTION} {version}"
    return None


def _driver_version_argument(hook: SpecHook) -> str:
    for index, word in enumerate(hook.args):
        name, equals, value = word.partition("=")
        if name == DRIVER_VERSION_OPTION:
            return value if equals else "".join(hook.args[index + 1 : index + 2])
    return ""


def compare_gpus(spec: CdiSpec, present: Sequence[PresentGpu]) -> Difference:
    """The GPUs of the host against the nodes and names of a spec that means to hold them all."""
    names = [device.name for device in spec.devices]
    full = [gpu for gpu in present if not gpu.mig]
    missing = [f"/dev/nvidia{gpu.minor}" for gpu in full if gpu.minor is not None and gpu.minor not in _minors(spec)]
    known = {gpu.minor for gpu in present}
    stale = [f"/dev/nvidia{minor}" for minor in sorted(_minors(spec)) if None not in known and minor not in known]
    uuids = _compare_names(
        [name for name in names if name.startswith(GPU_UUID)], [gpu.uuid for gpu in full], [gpu.uuid for gpu in present]
    )
    indexes = [name for name in names if INDEX.fullmatch(name)]
    prefix = "gpu" if indexes and indexes[0].startswith("gpu") else ""
    numbers = _compare_names(indexes, _named(full, prefix), _named(present, prefix))
    return Difference((*missing, *uuids.missing, *numbers.missing), (*stale, *uuids.stale, *numbers.stale))


def _named(gpus: Sequence[PresentGpu], prefix: str) -> list[str | None]:
    return [None if gpu.index is None else f"{prefix}{gpu.index}" for gpu in gpus]


def _compare_names(have: Sequence[str], wanted: Sequence[str | None], allowed: Sequence[str | None]) -> Difference:
    """Nothing is said where the spec has no names of this form, or the host's are not known."""
    if not have or None in allowed:
        return Difference()
    missing = tuple(name for name in wanted if name is not None and name not in have)
    return Difference(missing, tuple(name for name in have if name not in allowed))


def _minors(spec: CdiSpec) -> set[int]:
    found = (GPU_NODE.fullmatch(node.path) for edits in spec.all_edits for node in edits.device_nodes)
    return {int(match.group(1)) for match in found if match is not None}


class MigInstance(NamedTuple):
    """One GPU or compute instance: "gpu0/mig/gi1/ci0/access" and the minor number of its capability node."""

    path: str
    minor: int


def mig_instances(capabilities: Sequence[tuple[str, int | None]]) -> tuple[MigInstance, ...]:
    """The instances among the driver's capability files (path below capabilities/, minor)."""
    return tuple(
        MigInstance(path, minor) for path, minor in capabilities if minor is not None and INSTANCE.fullmatch(path)
    )


def compare_mig(
    spec: CdiSpec, instances: Sequence[MigInstance], control: Collection[int], uuids: Sequence[str] | None
) -> Difference:
    """The MIG devices of the host against a spec's. control: minors of config and monitor. uuids None: not known."""
    have = {
        int(found.group(1))
        for edits in spec.all_edits
        for node in edits.device_nodes
        if (found := CAPABILITY_NODE.fullmatch(node.path)) is not None
    } - set(control)
    wanted = {instance.minor: instance.path for instance in instances}
    missing = [f"{path} (nvidia-cap{minor})" for minor, path in wanted.items() if minor not in have]
    stale = [f"nvidia-cap{minor}" for minor in sorted(have) if minor not in wanted]
    if uuids is not None:
        names = [device.name for device in spec.devices if device.name.startswith(MIG_UUID)]
        missing += [uuid for uuid in uuids if names and uuid not in names]
        stale += [name for name in names if name not in uuids]
    return Difference(tuple(missing), tuple(stale))
