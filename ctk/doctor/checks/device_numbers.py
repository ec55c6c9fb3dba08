"""Whether the nodes' numbers are those the kernel uses now, and whether MIG and IMEX have theirs; not their rights."""

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctk.doctor.checks.device_nodes import driver_and_nodes, maker_of, where
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen
from ctk.facts import Unknown
from ctk.facts.device_nodes import CAPABILITY_FOLDER, CHANNEL_FOLDER, DeviceNode, DeviceNodes
from ctk.facts.nvml import Nvml

if TYPE_CHECKING:
    from ctk.facts.driver import Driver, DriverCapability
    from ctk.facts.snapshot import Snapshot

GPU_NAMES = ("nvidia", "nvidia-frontend")
"""What /proc/devices calls the GPUs' major, before 550.40 the second."""
CHANNELS = "nvidia-caps-imex-channels"
FIXED_MINORS = {
    "/dev/nvidiactl": 255,
    "/dev/nvidia-modeset": 254,
    "/dev/nvidia-uvm": 0,
    "/dev/nvidia-uvm-tools": 1,
    "/dev/nvidia-nvswitchctl": 255,
    "/dev/nvidia-nvlink": 0,
}
NUMBERED = re.compile(r"/dev/nvidia(\d+)|/dev/nvidia-nvswitch(\d+)|.*/nvidia-cap(\d+)|.*/channel(\d+)")
INSTANCE = re.compile(r"gpu(\d+)/mig/(gi\d+(?:/ci\d+)?)/access")


def major_names(path: str) -> tuple[str, ...]:
    """What /proc/devices calls the major of a node; none for a name that is not known."""
    if path.startswith(f"{CHANNEL_FOLDER}/"):
        return (CHANNELS,)
    if path.startswith(f"{CAPABILITY_FOLDER}/"):
        return ("nvidia-caps",)
    if path.startswith("/dev/nvidia-uvm"):
        return ("nvidia-uvm",)
    if path.startswith("/dev/nvidia-nvswitch"):
        return ("nvidia-nvswitch",)
    if path == "/dev/nvidia-nvlink":
        return ("nvidia-nvlink",)
    is_gpus = path in ("/dev/nvidiactl", "/dev/nvidia-modeset") or (
        path.startswith("/dev/nvidia") and path.removeprefix("/dev/nvidia").isdigit()
    )
    return GPU_NAMES if is_gpus else ()


def minor_of(path: str) -> int | None:
    """The minor number that a node's name stands for."""
    found = NUMBERED.fullmatch(path)
    digits = next((group for group in found.groups() if group), "") if found is not None else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 8 else FIXED_MINORS.get(path)


def check_major_current(snapshot: "Snapshot") -> Outcome:
    """All but the GPUs' are given anew each time a module is loaded, and an old node keeps its old one."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    if isinstance(driver.majors, Unknown):
        return unseen(driver.majors)
    devices = [node for node in nodes.nodes if node.is_device] if isinstance(nodes.nodes, tuple) else []
    wrong = [(node, expected) for node in devices if (expected := _expected(driver, node)) != (node.major, node.minor)]
    if not wrong:
        return passed(f"the numbers of {len(devices)} nodes are those of the running driver")
    names = ", ".join(where(nodes, node.path) for node, _ in wrong[:3]) + (" and others" if len(wrong) > 3 else "")
    return failed(
        f"{names} {'has' if len(wrong) == 1 else 'have'} a number that the running driver does not use",
        *(_difference(nodes, node, expected) for node, expected in wrong[:4]),
        remedy=_renumber(nodes, [node.path for node, _ in wrong]),
    )


def _expected(driver: "Driver", node: DeviceNode) -> tuple[int | None, int | None]:
    """Major and minor as they should be; the node's own where nobody knows."""
    names = major_names(node.path)
    major = driver.find_major(*names) if names else None
    minor = minor_of(node.path)
    if major is None:  # the module is not loaded, or the name is of something else
        return node.major, node.minor
    return major, node.minor if minor is None else minor


def _difference(nodes: DeviceNodes, node: DeviceNode, expected: tuple[int | None, int | None]) -> Evidence:
    return Evidence(
        f"{node.major}:{node.minor}, the driver has {expected[0]}:{expected[1]} (/proc/devices)",
        where(nodes, node.path),
    )


def _renumber(nodes: DeviceNodes, paths: list[str]) -> Remedy:
    makers = dict.fromkeys(maker for path in paths if (maker := maker_of(path)) is not None)
    others = [where(nodes, path) for path in paths if maker_of(path) is None]
    return Remedy(
        "Have the driver's own tool put new ones in their place, and generate the CDI specs anew: they hold the old "
        "numbers, too",
        (
            *((Command(f"rm {shlex.join(others[:8])}"),) if others else ()),
            *list(makers)[:8],
            Command("ctk cdi generate --output /etc/cdi/nvidia.yaml"),
        ),
    )


def check_mig_caps(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Without them a container sees the GPU, and none of the instances that it was given."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    if isinstance(driver.capabilities, Unknown):
        return unseen(driver.capabilities)
    instances = list(_instances(driver))
    if not instances:
        return skipped("no GPU is divided into MIG instances")
    subjects = sorted({subject for subject, _ in instances})
    return tuple(
        _judge_caps(nodes, [found for owner, found in instances if owner == subject], subject) for subject in subjects
    )


def _instances(driver: "Driver") -> Iterator[tuple[str, "DriverCapability"]]:
    """The access files of GPU and compute instances, each with its GPU's address ("" where it is not known)."""
    gpus = driver.gpus if isinstance(driver.gpus, tuple) else ()
    addresses = {gpu.minor: gpu.address for gpu in gpus}
    for capability in driver.capabilities if isinstance(driver.capabilities, tuple) else ():
        found = INSTANCE.fullmatch(capability.path)
        if found is not None and isinstance(capability.minor, int):
            number = int(found[1]) if found[1].isascii() and len(found[1]) < 8 else -1
            yield addresses.get(number, ""), capability


def _judge_caps(nodes: DeviceNodes, capabilities: "list[DriverCapability]", subject: str) -> Outcome:
    paths = {capability.path: f"{CAPABILITY_FOLDER}/nvidia-cap{capability.minor}" for capability in capabilities}
    hidden = next((node for path in paths.values() if (node := nodes.find(path)) is not None and node.unreadable), None)
    hidden = hidden or nodes.find(CAPABILITY_FOLDER)
    if hidden is not None and hidden.unreadable:
        return unseen(Unknown(f"{where(nodes, hidden.path)}: {hidden.unreadable}"), subject)
    there = {node.path for node in nodes.below(CAPABILITY_FOLDER) if node.is_device}
    missing = [name for name, path in paths.items() if path not in there]
    if not missing:
        return passed(f"{len(paths)} capability nodes are there", subject=subject)
    return failed(
        f"{len(missing)} of {len(paths)} MIG capability nodes are missing: containers see the GPU without instances",
        *(
            Evidence(f"{name} has no {where(nodes, paths[name])}", f"/proc/driver/nvidia/capabilities/{name}")
            for name in missing[:4]
        ),
        subject=subject,
        remedy=Remedy(
            "Make them: nvidia-smi does it when root runs it, nvidia-modprobe one by one",
            (
                Command("nvidia-smi -L"),
                *(Command(f"nvidia-modprobe -f /proc/driver/nvidia/capabilities/{name}") for name in missing[:4]),
            ),
        ),
    )


def check_imex_channels(snapshot: "Snapshot") -> Outcome:
    """Programs that share memory between nodes of a rack open one; it does not survive a restart by itself."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    if not _is_rack(snapshot):
        return skipped("these GPUs have no NVLink between nodes")
    services = snapshot.services
    if not isinstance(services, Unknown) and services.imex_by_kubernetes is True:
        return skipped("the DRA driver makes a channel for each compute domain")
    major = driver.find_major(CHANNELS)
    if major is None:
        return unseen(driver.majors) if isinstance(driver.majors, Unknown) else skipped("the driver has no channels")
    channels = nodes.below(CHANNEL_FOLDER)
    if any(node.is_device for node in channels):
        return passed(f"{len(channels)} IMEX channels are there", Evidence(channels[0].path, CHANNEL_FOLDER))
    evidence = (
        Evidence("no channel", where(nodes, CHANNEL_FOLDER)),
        Evidence(f"{major} {CHANNELS}", "/proc/devices"),
        Evidence(f"CreateImexChannel0: {driver.find_parameter('CreateImexChannel0')}", "/proc/driver/nvidia/params"),
    )
    uses_it = not isinstance(services, Unknown) and isinstance(services.imex_nodes, int) and services.imex_nodes > 0
    if not uses_it:
        return noted("there is no IMEX channel: jobs over several nodes cannot share memory by NVLink", *evidence)
    return failed("this node is set up for an IMEX domain, and has no channel", *evidence)


def _is_rack(snapshot: "Snapshot") -> bool:
    from ctk.doctor.data.nvlink import RACK_PRODUCTS, is_product

    nvml = snapshot.nvml
    listed = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    return any(isinstance(gpu.name, str) and is_product(gpu.name, RACK_PRODUCTS) for gpu in listed)
