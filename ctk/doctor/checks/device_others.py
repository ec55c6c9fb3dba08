"""Device nodes that few need, or that belong to nothing: MIG's management, DRM, and numbers without a GPU."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.device_nodes import driver_and_nodes, where
from ctk.doctor.checks.device_numbers import INSTANCE
from ctk.doctor.model import Evidence, Outcome, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.facts.device_nodes import CAPABILITY_FOLDER

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

CONTROLS = ("mig/config", "mig/monitor")
"""Below /proc/driver/nvidia/capabilities: who may change MIG instances, and who may see those of others."""
GPU_NODE = "/dev/nvidia"


def check_stray(snapshot: "Snapshot") -> Outcome:
    """Left from a GPU that was taken out, or made by a script that counts wrongly."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    if isinstance(driver.gpus, Unknown):
        return unseen(driver.gpus)
    minors = {gpu.minor for gpu in driver.gpus or ()}
    if not minors or not all(isinstance(minor, int) for minor in minors):
        return skipped("the driver does not tell the numbers of its GPUs")
    names = {f"{GPU_NODE}{minor}" for minor in minors}
    listed = nodes.nodes if isinstance(nodes.nodes, tuple) else ()
    stray = [node for node in listed if node.path.removeprefix(GPU_NODE).isdigit() and node.path not in names]
    if not stray:
        return passed("every GPU node stands for a GPU")
    shown = (Evidence(f"{node.major}:{node.minor}", where(nodes, node.path)) for node in stray[:4])
    return noted(f"{len(stray)} device nodes stand for no GPU of the driver", *shown)


def check_mig_control(snapshot: "Snapshot") -> Outcome:
    """Ordinary containers need neither; a device plugin that divides GPUs, or watches all, does."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    if isinstance(driver.capabilities, Unknown):
        return unseen(driver.capabilities)
    capabilities = driver.capabilities or ()
    if not any(INSTANCE.fullmatch(one.path) for one in capabilities):
        return skipped("no GPU is divided into MIG instances")
    folder = nodes.find(CAPABILITY_FOLDER)
    if folder is not None and folder.unreadable:
        return unseen(Unknown(f"{where(nodes, folder.path)}: {folder.unreadable}"))
    there = {node.path for node in nodes.below(CAPABILITY_FOLDER) if node.is_device}
    paths = {one.path: f"{CAPABILITY_FOLDER}/nvidia-cap{one.minor}" for one in capabilities if one.path in CONTROLS}
    missing = [name for name, path in paths.items() if path not in there]
    if not missing:
        return passed("the nodes for managing and watching MIG are there")
    shown = (
        Evidence(f"{name} has no {where(nodes, paths[name])}", "/proc/driver/nvidia/capabilities") for name in missing
    )
    return warned("containers that manage or watch MIG find no node for it", *shown)


def check_dri(snapshot: "Snapshot") -> Outcome:
    """Graphics without a display needs the render node; computing needs none."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.loaded, Unknown):
        return unseen(modules.loaded)
    if modules.find_loaded("nvidia_drm") is None:
        return skipped("nvidia_drm is not loaded: this host serves computing alone")
    if driver.gpus is None or isinstance(driver.gpus, Unknown):
        return unseen(driver.gpus or Unknown("no /proc/driver/nvidia/gpus"))
    with_node = {node.address for node in nodes.below("/dev/dri") if node.is_device and "/renderD" in node.path}
    without = [gpu.address for gpu in driver.gpus if gpu.address not in with_node and gpu.excluded is not True]
    if not without:
        return passed("every GPU has its render node")
    shown = (Evidence(f"no render node for {address}", where(nodes, "/dev/dri")) for address in without[:4])
    return noted(f"{len(without)} GPUs have no DRM node: graphics in containers find no device", *shown)
