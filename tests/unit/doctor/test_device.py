"""The checks of device nodes: one row for each status they can give."""

import pytest

from ctk.doctor.checks.device_numbers import major_names, minor_of
from ctk.doctor.checks.device_rows import DEVICE_CHECKS
from ctk.facts import Unknown
from ctk.facts.device_nodes import DeviceNode, DevMount
from ctk.facts.driver import DeviceMajor, DriverCapability
from ctk.facts.pci import NVIDIA, Pci
from ctk.facts.services import FABRIC_MANAGER, Service, Services
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import (
    FIRST,
    NODES,
    SECOND,
    make_device_nodes,
    make_driver,
    make_driver_gpu,
    make_function,
    make_loaded,
    make_modules,
    make_node,
    make_pci,
)
from tests.nvml_builders import make_nvml, make_nvml_gpu
from tests.unit.doctor.tables import Row, assert_row, params

DENIED = Unknown("permission denied")
NO_GPU = make_snapshot(pci=Pci())
NOT_LOADED = make_snapshot(modules=make_modules(loaded=()))
WSL = make_snapshot(system=make_system(wsl=2))
CLOSED = make_snapshot(device_nodes=DENIED)
UNLISTED = make_snapshot(device_nodes=make_device_nodes(nodes=DENIED))
NO_UVM_MODULE = (DeviceMajor("nvidia", 195),)


def without(*paths: str, **changes: object) -> Snapshot:
    return make_snapshot(device_nodes=make_device_nodes(*(node for node in NODES if node.path not in paths)), **changes)


def instead(*nodes: DeviceNode, **changes: object) -> Snapshot:
    """These nodes in the place of those with the same path."""
    paths = {node.path for node in nodes}
    kept = (node for node in NODES if node.path not in paths)
    return make_snapshot(device_nodes=make_device_nodes(*kept, *nodes), **changes)


def hidden(path: str) -> DeviceNode:
    return DeviceNode(path, "other", unreadable="permission denied")


def every(**changes: object) -> Snapshot:
    """All nodes changed alike."""
    return make_snapshot(device_nodes=make_device_nodes(*(node._replace(**changes) for node in NODES)))  # type: ignore[arg-type] # the record's own fields by name


GPU_ROWS = [
    Row("device.gpu-nodes", "there", make_snapshot(), "pass", "is there"),
    Row("device.gpu-nodes", "missing", without("/dev/nvidia1"), "fail", "no device node /dev/nvidia1", SECOND),
    Row("device.gpu-nodes", "folder", instead(DeviceNode("/dev/nvidia0", "directory")), "fail", "", FIRST),
    Row("device.gpu-nodes", "hidden", instead(hidden("/dev/nvidia0")), "unknown"),
    Row(
        "device.gpu-nodes",
        "handed-over",
        without("/dev/nvidia1", pci=make_pci(make_function(), make_function(SECOND, driver="vfio-pci"))),
        "pass",
    ),
    Row(
        "device.gpu-nodes",
        "excluded",
        without(
            "/dev/nvidia1",
            driver=make_driver(gpus=(make_driver_gpu(), make_driver_gpu(SECOND, minor=1, excluded=True))),
        ),
        "pass",
    ),
    Row("device.gpu-nodes", "no-numbers", make_snapshot(driver=make_driver(gpus=())), "skip"),
    Row("device.gpu-nodes", "list-closed", make_snapshot(driver=make_driver(gpus=DENIED)), "unknown"),
    Row("device.gpu-nodes", "driver-closed", make_snapshot(driver=DENIED), "unknown"),
    Row("device.gpu-nodes", "closed", CLOSED, "unknown"),
    Row("device.gpu-nodes", "unlisted", UNLISTED, "unknown"),
    Row("device.gpu-nodes", "no-gpu", NO_GPU, "skip"),
    Row("device.gpu-nodes", "not-loaded", NOT_LOADED, "skip"),
    Row("device.gpu-nodes", "wsl", WSL, "skip", "Windows"),
    Row("device.control-node", "there", make_snapshot(), "pass"),
    Row("device.control-node", "missing", without("/dev/nvidiactl"), "fail", "no device node /dev/nvidiactl"),
    Row("device.control-node", "hidden", instead(hidden("/dev/nvidiactl")), "unknown"),
    Row("device.control-node", "unlisted", UNLISTED, "unknown"),
    Row("device.control-node", "not-loaded", NOT_LOADED, "skip"),
    Row(
        "device.control-node",
        "other-root",
        make_snapshot(device_nodes=make_device_nodes(NODES[0], root="/run/nvidia/driver")),
        "fail",
        "/run/nvidia/driver/dev/nvidiactl",
    ),
]

UVM_ROWS = [
    Row("device.uvm-nodes", "there", make_snapshot(), "pass"),
    Row("device.uvm-nodes", "nodes-alone-missing", without("/dev/nvidia-uvm"), "fail", "is loaded, but"),
    Row("device.uvm-nodes", "tools-missing", without("/dev/nvidia-uvm-tools"), "warn", "profilers"),
    Row(
        "device.uvm-nodes",
        "module-and-nodes-missing",
        without("/dev/nvidia-uvm", driver=make_driver(majors=NO_UVM_MODULE)),
        "fail",
        "neither the module",
    ),
    Row(
        "device.uvm-nodes",
        "nobody-wants-them",
        without("/dev/nvidia-uvm", driver=make_driver(majors=NO_UVM_MODULE), toolkit=()),
        "info",
    ),
    Row("device.uvm-nodes", "majors-closed", without("/dev/nvidia-uvm", driver=make_driver(majors=DENIED)), "unknown"),
    Row("device.uvm-nodes", "hidden", instead(hidden("/dev/nvidia-uvm")), "unknown"),
    Row("device.uvm-nodes", "driver-closed", make_snapshot(driver=DENIED), "unknown"),
    Row("device.uvm-nodes", "not-loaded", NOT_LOADED, "skip"),
    Row("device.modeset-node", "there", make_snapshot(), "pass"),
    Row("device.modeset-node", "missing", without("/dev/nvidia-modeset"), "info", "display capability"),
    Row("device.modeset-node", "hidden", instead(hidden("/dev/nvidia-modeset")), "unknown"),
    Row("device.modeset-node", "computing", make_snapshot(modules=make_modules(loaded=(make_loaded(),))), "skip"),
    Row("device.modeset-node", "modules-closed", make_snapshot(modules=DENIED), "unknown"),
    Row("device.modeset-node", "list-closed", make_snapshot(modules=make_modules(loaded=DENIED)), "unknown"),
    Row("device.modeset-node", "closed", CLOSED, "unknown"),
]

PLACE_ROWS = [
    Row("device.not-a-device", "all-are", make_snapshot(), "pass"),
    Row(
        "device.not-a-device",
        "folder",
        instead(DeviceNode("/dev/nvidia0", "directory", uid=0)),
        "fail",
        "/dev/nvidia0 is a folder",
        FIRST,
    ),
    Row("device.not-a-device", "file", instead(DeviceNode("/dev/nvidiactl", "file")), "fail", "is a file", ""),
    Row(
        "device.not-a-device",
        "link",
        instead(DeviceNode("/dev/nvidia-uvm", "link", target="/x")),
        "fail",
        "leads nowhere",
    ),
    Row("device.not-a-device", "caps-folder", instead(DeviceNode("/dev/nvidia-caps", "directory")), "pass"),
    Row("device.not-a-device", "caps-file", instead(DeviceNode("/dev/nvidia-caps", "file")), "fail"),
    Row("device.not-a-device", "not-loaded-yet", NOT_LOADED, "pass"),
    Row("device.not-a-device", "closed", CLOSED, "unknown"),
    Row("device.not-a-device", "unlisted", UNLISTED, "unknown"),
    Row("device.not-a-device", "wsl", WSL, "skip"),
    Row("device.dev-mount", "devtmpfs", make_snapshot(), "pass"),
    Row(
        "device.dev-mount",
        "nodev",
        make_snapshot(device_nodes=make_device_nodes(mount=DevMount("/dev", "tmpfs", ("rw", "nodev"), "x"))),
        "fail",
        "nodev",
    ),
    Row(
        "device.dev-mount",
        "static",
        make_snapshot(device_nodes=make_device_nodes(mount=DevMount("/", "ext4", ("rw",), "x"))),
        "warn",
        "ext4",
    ),
    Row("device.dev-mount", "no-mount", make_snapshot(device_nodes=make_device_nodes(mount=None)), "unknown"),
    Row("device.dev-mount", "mounts-closed", make_snapshot(device_nodes=make_device_nodes(mount=DENIED)), "unknown"),
    Row("device.dev-mount", "closed", CLOSED, "unknown"),
    Row("device.dev-mount", "wsl", WSL, "skip"),
]

NUMBER_ROWS = [
    Row("device.major-current", "current", make_snapshot(), "pass", "6 nodes"),
    Row(
        "device.major-current",
        "old-uvm",
        instead(make_node("/dev/nvidia-uvm", 510)),
        "fail",
        "/dev/nvidia-uvm has a number",
    ),
    Row("device.major-current", "minor", instead(make_node(minor=3)), "fail", "/dev/nvidia0 has a number"),
    Row(
        "device.major-current",
        "many",
        every(major=240),
        "fail",
        "and others have a number",
    ),
    Row("device.major-current", "folder", instead(DeviceNode("/dev/nvidia0", "directory")), "pass"),
    Row("device.major-current", "unknown-name", instead(make_node("/dev/nvidia-fs0", 499)), "pass"),
    Row(
        "device.major-current",
        "module-gone",
        instead(make_node("/dev/nvidia-uvm", 510), driver=make_driver(majors=NO_UVM_MODULE)),
        "pass",
    ),
    Row(
        "device.major-current",
        "frontend",
        make_snapshot(driver=make_driver(majors=(DeviceMajor("nvidia-frontend", 195),))),
        "pass",
    ),
    Row("device.major-current", "majors-closed", make_snapshot(driver=make_driver(majors=DENIED)), "unknown"),
    Row("device.major-current", "closed", CLOSED, "unknown"),
    Row("device.major-current", "not-loaded", NOT_LOADED, "skip"),
]

INSTANCES = (
    DriverCapability("mig/config", 1, 0o400),
    DriverCapability("gpu0/mig/gi1/access", 12, 0o444),
    DriverCapability("gpu0/mig/gi1/ci0/access", 13, 0o444),
)
CAPS = tuple(make_node(f"/dev/nvidia-caps/nvidia-cap{minor}", 511, minor, mode=0o444) for minor in (12, 13))


def mig(*nodes: DeviceNode, capabilities: object = INSTANCES) -> Snapshot:
    return instead(*nodes, driver=make_driver(capabilities=capabilities))


MIG_ROWS = [
    Row("device.mig-caps", "there", mig(*CAPS), "pass", "2 capability nodes", FIRST),
    Row("device.mig-caps", "one-missing", mig(CAPS[0]), "fail", "1 of 2 MIG capability nodes", FIRST),
    Row("device.mig-caps", "all-missing", mig(), "fail", "2 of 2"),
    Row("device.mig-caps", "undivided", mig(capabilities=INSTANCES[:1]), "skip"),
    Row("device.mig-caps", "folder-closed", mig(hidden("/dev/nvidia-caps")), "unknown"),
    Row("device.mig-caps", "node-closed", mig(hidden(CAPS[0].path)), "unknown"),
    Row("device.mig-caps", "list-closed", mig(capabilities=DENIED), "unknown"),
    Row("device.mig-caps", "closed", CLOSED, "unknown"),
    Row("device.mig-caps", "not-loaded", NOT_LOADED, "skip"),
]


def switched(*nodes: DeviceNode, running: object = True, driver: str | None = "nvidia-nvswitch") -> Snapshot:
    switch = make_function("0000:c1:00.0", class_code=0x068000, vendor_id=NVIDIA, driver=driver)
    values = {"unit": "nvidia-fabricmanager.service", "enabled": True, "masked": False, "binary": "/usr/bin/x"}
    manager = Service(FABRIC_MANAGER, **values, version=None, running=running)  # type: ignore[arg-type] # the record's own fields by name
    pci = make_pci(make_function(), make_function(SECOND), switch)
    return instead(*nodes, pci=pci, services=Services(services=(manager,)))


SWITCH_NODES = (make_node("/dev/nvidia-nvswitchctl", 234, 255), make_node("/dev/nvidia-nvswitch0", 234, 0))
SWITCH_ROWS = [
    Row("device.nvswitch-nodes", "there", switched(*SWITCH_NODES), "pass", "1 NVSwitches"),
    Row("device.nvswitch-nodes", "missing", switched(SWITCH_NODES[0]), "fail", "1 of 2 NVSwitch nodes"),
    Row("device.nvswitch-nodes", "manager-stopped", switched(running=False), "skip", "fabric manager"),
    Row("device.nvswitch-nodes", "processes-closed", switched(running=DENIED), "skip"),
    Row("device.nvswitch-nodes", "handed-over", switched(driver="vfio-pci"), "skip", "no NVSwitch"),
    Row("device.nvswitch-nodes", "no-switch", make_snapshot(), "skip", "no NVSwitch"),
    Row("device.nvswitch-nodes", "pci-closed", make_snapshot(pci=DENIED), "unknown"),
    Row("device.nvswitch-nodes", "closed", CLOSED, "unknown"),
    Row("device.nvswitch-nodes", "not-loaded", NOT_LOADED, "skip"),
]


def rack(*nodes: DeviceNode, imex_nodes: object = 4, majors: object = None, **changes: object) -> Snapshot:
    numbers = (DeviceMajor("nvidia", 195), DeviceMajor("nvidia-caps-imex-channels", 236))
    return instead(
        *nodes,
        driver=make_driver(majors=numbers if majors is None else majors),
        nvml=make_nvml(make_nvml_gpu(name="NVIDIA GB200")),
        services=Services(imex_nodes=imex_nodes, **changes),  # type: ignore[arg-type] # the record's own fields by name
    )


CHANNEL = make_node("/dev/nvidia-caps-imex-channels/channel0", 236, 0)
IMEX_ROWS = [
    Row("device.imex-channels", "there", rack(CHANNEL), "pass"),
    Row("device.imex-channels", "missing", rack(), "fail", "has no channel"),
    Row("device.imex-channels", "no-domain", rack(imex_nodes=None), "info"),
    Row("device.imex-channels", "kubernetes", rack(imex_by_kubernetes=True), "skip", "DRA"),
    Row("device.imex-channels", "old-driver", rack(majors=(DeviceMajor("nvidia", 195),)), "skip"),
    Row("device.imex-channels", "majors-closed", rack(majors=DENIED), "unknown"),
    Row("device.imex-channels", "single-node", make_snapshot(), "skip"),
    Row("device.imex-channels", "closed", CLOSED, "unknown"),
]

CONTROL = tuple(make_node(f"/dev/nvidia-caps/nvidia-cap{minor}", 511, minor) for minor in (1, 2))
RENDER = tuple(
    make_node(f"/dev/dri/renderD{128 + index}", 226, 128 + index, address=address)
    for index, address in enumerate((FIRST, SECOND))
)
MONITORED = (*INSTANCES, DriverCapability("mig/monitor", 2, 0o444))
OTHER_ROWS = [
    Row("device.stray-nodes", "none", make_snapshot(), "pass"),
    Row("device.stray-nodes", "one", instead(make_node("/dev/nvidia7", minor=7)), "info", "1 device nodes"),
    Row("device.stray-nodes", "no-numbers", make_snapshot(driver=make_driver(gpus=())), "skip"),
    Row("device.stray-nodes", "list-closed", make_snapshot(driver=make_driver(gpus=DENIED)), "unknown"),
    Row("device.stray-nodes", "closed", CLOSED, "unknown"),
    Row("device.mig-control", "there", mig(*CAPS, *CONTROL, capabilities=MONITORED), "pass"),
    Row("device.mig-control", "missing", mig(*CAPS, CONTROL[0], capabilities=MONITORED), "warn", "manage or watch MIG"),
    Row("device.mig-control", "undivided", make_snapshot(), "skip"),
    Row("device.mig-control", "folder-closed", mig(hidden("/dev/nvidia-caps")), "unknown"),
    Row("device.mig-control", "list-closed", mig(capabilities=DENIED), "unknown"),
    Row("device.mig-control", "closed", CLOSED, "unknown"),
    Row("device.dri-nodes", "there", instead(*RENDER), "pass"),
    Row("device.dri-nodes", "one-missing", instead(RENDER[0]), "info", "1 GPUs have no DRM node"),
    Row("device.dri-nodes", "computing", make_snapshot(modules=make_modules(loaded=(make_loaded(),))), "skip"),
    Row("device.dri-nodes", "modules-closed", make_snapshot(modules=DENIED), "unknown"),
    Row("device.dri-nodes", "loaded-closed", make_snapshot(modules=make_modules(loaded=DENIED)), "unknown"),
    Row("device.dri-nodes", "list-closed", make_snapshot(driver=make_driver(gpus=DENIED)), "unknown"),
    Row("device.dri-nodes", "closed", CLOSED, "unknown"),
]

ROWS = (
    *OTHER_ROWS,
    *GPU_ROWS,
    *UVM_ROWS,
    *PLACE_ROWS,
    *NUMBER_ROWS,
    *MIG_ROWS,
    *SWITCH_ROWS,
    *IMEX_ROWS,
)


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(DEVICE_CHECKS, row)


@pytest.mark.parametrize(
    ("path", "names", "minor"),
    [
        ("/dev/nvidia12", ("nvidia", "nvidia-frontend"), 12),
        ("/dev/nvidiactl", ("nvidia", "nvidia-frontend"), 255),
        ("/dev/nvidia-uvm-tools", ("nvidia-uvm",), 1),
        ("/dev/nvidia-caps/nvidia-cap30", ("nvidia-caps",), 30),
        ("/dev/nvidia-caps-imex-channels/channel7", ("nvidia-caps-imex-channels",), 7),
        ("/dev/nvidia-nvswitch3", ("nvidia-nvswitch",), 3),
        ("/dev/nvidia-nvswitchctl", ("nvidia-nvswitch",), 255),
        ("/dev/nvidia-nvlink", ("nvidia-nvlink",), 0),
        ("/dev/nvidia-fs0", (), None),
        ("/dev/nvidia-vgpu1", (), None),
        ("/dev/nvidia" + "9" * 40, ("nvidia", "nvidia-frontend"), None),
    ],
)
def test_numbers_that_a_name_stands_for(path: str, names: tuple[str, ...], minor: int | None) -> None:
    assert (major_names(path), minor_of(path)) == (names, minor)
