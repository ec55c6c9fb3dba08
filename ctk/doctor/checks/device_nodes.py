"""Whether NVIDIA's device nodes are there and are nodes at all; their numbers and rights are judged beside it."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    VFIO,
    core_module,
    driver_not_loaded,
    expects_containers,
    gpus,
    loaded_version,
    no_gpu_here,
    nothing_to_judge,
)
from ctk.doctor.model import (
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.device_nodes import DIRECTORY, FILE, FOLDERS, LINK, DeviceNode, DeviceNodes
from ctk.facts.services import FABRIC_MANAGER

if TYPE_CHECKING:
    from ctk.facts.driver import Driver, DriverGpu
    from ctk.facts.snapshot import Snapshot

CONTROL, UVM, UVM_TOOLS, MODESET = "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"
SWITCH_CONTROL, SWITCH = "/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch"


def nodes_to_judge(snapshot: "Snapshot") -> DeviceNodes | Outcome:
    """The nodes, or what to say where there is nothing to judge."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    module = core_module(snapshot)
    if isinstance(module, Unknown) and not isinstance(loaded_version(snapshot), str):
        return unseen(module)  # where the driver does not run, there are no nodes
    nodes = snapshot.device_nodes
    if isinstance(nodes, Unknown):
        return unseen(nodes)
    return unseen(nodes.nodes) if isinstance(nodes.nodes, Unknown) else nodes


def driver_and_nodes(snapshot: "Snapshot") -> "tuple[Driver, DeviceNodes] | Outcome":
    """The driver's own account too, without which nobody knows which nodes there should be."""
    nodes = nodes_to_judge(snapshot)
    if isinstance(nodes, Outcome):
        return nodes
    return unseen(snapshot.driver) if isinstance(snapshot.driver, Unknown) else (snapshot.driver, nodes)


def gpu_paths(snapshot: "Snapshot") -> Iterator[tuple["DriverGpu", str]]:
    """The GPUs that the driver serves, each with its node; excluded ones and those of virtual machines have none."""
    driver = snapshot.driver
    listed = () if isinstance(driver, Unknown) or not isinstance(driver.gpus, tuple) else driver.gpus
    handed_over = {gpu.address for gpu in gpus(snapshot) if gpu.driver == VFIO}
    for gpu in listed:
        if isinstance(gpu.minor, int) and gpu.excluded is not True and gpu.address not in handed_over:
            yield gpu, f"/dev/nvidia{gpu.minor}"


def maker_of(path: str) -> Command | None:
    """How nvidia-modprobe makes a node; it replaces one with another number, and sets the mode the driver names."""
    number = path.removeprefix("/dev/nvidia")
    if number.isdigit():
        return Command(f"nvidia-modprobe -c={number}")
    options = {CONTROL: "-c=255", UVM: "-u -c=0", UVM_TOOLS: "-u -c=0", MODESET: "-m"}
    return Command(f"nvidia-modprobe {options[path]}") if path in options else None


def where(nodes: DeviceNodes, path: str) -> str:
    """A node's path on the host."""
    return nodes.root + path


def is_there(nodes: DeviceNodes, path: str) -> bool | Unknown:
    """A character device is at the path; Unknown where the path itself could not be looked at."""
    node = nodes.find(path)
    if node is not None and node.unreadable:
        return Unknown(f"{where(nodes, path)}: {node.unreadable}")
    return node is not None and node.is_device


def check_gpu_nodes(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """A node's number is the driver's minor, neither the order on the bus nor NVML's index."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    if isinstance(driver.gpus, Unknown):
        return unseen(driver.gpus)
    found = tuple(_judge_gpu_node(nodes, gpu, path) for gpu, path in gpu_paths(snapshot))
    return found or skipped("the driver lists no GPU with a number")


def _judge_gpu_node(nodes: DeviceNodes, gpu: "DriverGpu", path: str) -> Outcome:
    there = is_there(nodes, path)
    if isinstance(there, Unknown):
        return unseen(there, gpu.address)
    listed = Evidence(f"Device Minor: {gpu.minor}", f"{gpu.folder}/information")
    if there:
        return passed(f"{where(nodes, path)} is there", listed, subject=gpu.address)
    message = f"there is no device node {where(nodes, path)} for GPU {gpu.address}"
    remedy = Remedy(
        "Have the driver's own tool make it, and start the persistence daemon at boot so that it is there next time",
        (
            maker_of(path) or Command("nvidia-modprobe"),
            Command("systemctl enable --now nvidia-persistenced", restarts=("nvidia-persistenced",)),
        ),
    )
    return failed(message, listed, _missing(nodes, path), subject=gpu.address, remedy=remedy)


def _missing(nodes: DeviceNodes, path: str) -> Evidence:
    node = nodes.find(path)
    return Evidence("not there" if node is None else f"it is a {node.kind}", where(nodes, path))


def check_control_node(snapshot: "Snapshot") -> Outcome:
    """The library opens it before any GPU's."""
    nodes = nodes_to_judge(snapshot)
    if isinstance(nodes, Outcome):
        return nodes
    there = is_there(nodes, CONTROL)
    if isinstance(there, Unknown):
        return unseen(there)
    if there:
        return passed(f"{where(nodes, CONTROL)} is there")
    return failed(f"there is no device node {where(nodes, CONTROL)}", _missing(nodes, CONTROL))


def check_uvm_nodes(snapshot: "Snapshot") -> Outcome:
    """NVML and nvidia-smi do without them, CUDA does not."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    main, tools = is_there(nodes, UVM), is_there(nodes, UVM_TOOLS)
    if isinstance(main, Unknown) or isinstance(tools, Unknown):
        return unseen(main if isinstance(main, Unknown) else tools)  # type: ignore[arg-type] # one of them is Unknown
    if main and tools:
        return passed(f"{where(nodes, UVM)} and {where(nodes, UVM_TOOLS)} are there")
    major = driver.find_major("nvidia-uvm")
    missing = tuple(_missing(nodes, path) for path, there in ((UVM, main), (UVM_TOOLS, tools)) if not there)
    if main:
        return warned(f"{where(nodes, UVM_TOOLS)} is missing: profilers and debuggers need it", *missing)
    return _judge_missing_uvm(snapshot, major, missing)


def _judge_missing_uvm(snapshot: "Snapshot", major: int | None, missing: tuple[Evidence, ...]) -> Outcome:
    if isinstance(snapshot.driver, Unknown) or isinstance(snapshot.driver.majors, Unknown):
        return unseen(Unknown("/proc/devices could not be read"))
    if major is not None:
        evidence = (*missing, Evidence(f"{major} nvidia-uvm", "/proc/devices"))
        return failed("the module nvidia_uvm is loaded, but its device nodes are missing", *evidence)
    evidence = (*missing, Evidence("no nvidia-uvm", "/proc/devices"))
    message = "neither the module nvidia_uvm nor its device nodes are there"
    if not expects_containers(snapshot):
        return noted(f"{message}: the first CUDA program of root brings them", *evidence)
    return failed(
        message,
        *evidence,
        remedy=Remedy(
            "Load the module, make its nodes, and have both done at every boot",
            (
                Command("nvidia-modprobe -u -c=0"),
                Command("echo nvidia-uvm > /etc/modules-load.d/nvidia-uvm.conf"),
                Command("systemctl enable --now nvidia-persistenced", restarts=("nvidia-persistenced",)),
            ),
        ),
    )


def check_modeset_node(snapshot: "Snapshot") -> Outcome:
    """Only a container that asks for the display capability wants it."""
    nodes = nodes_to_judge(snapshot)
    if isinstance(nodes, Outcome):
        return nodes
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.loaded, Unknown):
        return unseen(modules.loaded)
    if modules.find_loaded("nvidia_modeset") is None:
        return skipped("nvidia_modeset is not loaded: this host serves computing alone")
    there = is_there(nodes, MODESET)
    if isinstance(there, Unknown):
        return unseen(there)
    if there:
        return passed(f"{where(nodes, MODESET)} is there")
    return noted(
        f"{where(nodes, MODESET)} is missing: needed for the display capability alone", _missing(nodes, MODESET)
    )


def check_not_a_device(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Engines make a folder for a bind mount whose source is not there; then no node can come into its place."""
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    nodes = snapshot.device_nodes
    if isinstance(nodes, Unknown):
        return unseen(nodes)
    if isinstance(nodes.nodes, Unknown):
        return unseen(nodes.nodes)
    owners = {path: gpu.address for gpu, path in gpu_paths(snapshot)}
    wrong = [node for node in nodes.nodes if _hides_a_node(node)]
    if not wrong:
        return passed("every name of NVIDIA's below /dev is a device")
    return tuple(_judge_hiding(nodes, node, owners.get(node.path, "")) for node in wrong)


def _hides_a_node(node: DeviceNode) -> bool:
    if not node.path.startswith("/dev/nvidia"):
        return False
    if node.path in FOLDERS:
        return node.kind in (FILE, LINK)
    return node.kind in (DIRECTORY, FILE, LINK) and not node.unreadable


def _judge_hiding(nodes: DeviceNodes, node: DeviceNode, subject: str) -> Outcome:
    path = shlex.quote(where(nodes, node.path))
    words = {DIRECTORY: "a folder", FILE: "a file", LINK: "a link that leads nowhere"}[node.kind]
    evidence = Evidence(
        f"{node.kind}, owner {node.uid}" if node.uid is not None else node.kind, where(nodes, node.path)
    )
    maker = maker_of(node.path)
    remedy = Remedy(
        "Stop what mounts it (often a container with this path as a volume), remove it, and make the node",
        (
            Command(f"{'rmdir' if node.kind == DIRECTORY else 'rm'} {path}", stops_containers=True),
            *((maker,) if maker is not None else ()),
        ),
    )
    return failed(f"{where(nodes, node.path)} is {words}, not a device node", evidence, subject=subject, remedy=remedy)


def check_nvswitch_nodes(snapshot: "Snapshot") -> Outcome:
    """The fabric manager makes them when it starts; switches of NVLink 5 are not on the bus and have none."""
    nodes = nodes_to_judge(snapshot)
    if isinstance(nodes, Outcome):
        return nodes
    pci = snapshot.pci
    if pci is None or isinstance(pci, Unknown):
        return skipped("there is no PCI bus") if pci is None else unseen(pci)
    switches = [one for one in pci.switches if one.driver != VFIO]
    if not switches:
        return skipped("there is no NVSwitch on the PCI bus")
    names = {node.path for node in nodes.nodes if node.is_device} if isinstance(nodes.nodes, tuple) else set()
    wanted = [SWITCH_CONTROL, *(f"{SWITCH}{index}" for index in range(len(switches)))]
    missing = [path for path in wanted if path not in names]
    if not missing:
        return passed(f"{len(switches)} NVSwitches have their nodes")
    services = snapshot.services
    manager = None if isinstance(services, Unknown) else services.find(FABRIC_MANAGER)
    if manager is None or manager.running is not True:
        return skipped("the fabric manager makes the nodes, and is not known to run")
    return failed(
        f"{len(missing)} of {len(wanted)} NVSwitch nodes are missing",
        Evidence(f"{len(switches)} NVSwitches", "/sys/bus/pci/devices"),
        *(Evidence("not there", where(nodes, path)) for path in missing[:3]),
        remedy=Remedy(
            "Make them, and start the fabric manager, which does so at every boot",
            (
                Command("nvidia-modprobe -s " + " ".join(f"-c={minor}" for minor in (255, *range(len(switches))))),
                Command("systemctl restart nvidia-fabricmanager", restarts=("nvidia-fabricmanager",)),
            ),
        ),
    )


def check_dev_mount(snapshot: "Snapshot") -> Outcome:
    """With nodev every open of a node is refused, whatever its mode."""
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    nodes = snapshot.device_nodes
    if isinstance(nodes, Unknown):
        return unseen(nodes)
    mount = nodes.mount
    if isinstance(mount, Unknown):
        return unseen(mount)
    if mount is None:
        return unseen(Unknown("no mount that /dev is in was found"))
    evidence = Evidence(f"{mount.point} {mount.type} {','.join(mount.options)}"[:160], mount.source)
    if "nodev" in mount.options:
        return failed(
            f"{mount.point} is mounted with nodev: no device below it can be opened",
            evidence,
            remedy=Remedy(
                "Mount it without, and take nodev out of the line in /etc/fstab or of the unit that mounts it",
                (Command(f"mount -o remount,dev {shlex.quote(mount.point)}"),),
            ),
        )
    if mount.type != "devtmpfs":
        return warned(f"/dev is a {mount.type}, so the kernel makes no nodes in it and udev's rules may not", evidence)
    return passed("devices can be opened below /dev", evidence)
