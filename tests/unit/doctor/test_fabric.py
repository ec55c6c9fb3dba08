"""The checks of the fabric manager, NVLink and IMEX: one row for each status they can give."""

import dataclasses
from typing import Any

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.checks.fabric_rows import FABRIC_CHECKS
from ctk.doctor.checks.nvlink import NVLINK_CHECKS
from ctk.doctor.data.nvlink import decode_health, is_product
from ctk.doctor.model import FAIL, INFO, PASS, SKIP
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.services import IMEX, SUBNET_MANAGER, FabricLogLine, Service
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import FIRST, SECOND, make_driver, make_function, make_loaded, make_modules, make_pci
from tests.nvml_builders import make_fabric, make_nvml, make_nvml_gpu, make_service, make_services
from tests.unit.doctor.tables import Row, assert_row, params

CHECKS = (*FABRIC_CHECKS, *NVLINK_CHECKS)
CLOSED = Unknown("permission denied")
SWITCH = make_function("0000:86:00.0", class_code=0x068000, device_id=0x22A3)
UP = (True,) * 18
OTHER = "580.65.06"


def gpus(**changes: Any) -> tuple[Any, ...]:
    """Two GPUs behind switches; the second is like this."""
    healthy = {"name": "NVIDIA H100 80GB HBM3", "nvlinks": UP, "fabric": make_fabric()}
    return (make_nvml_gpu(FIRST, 0, **healthy), make_nvml_gpu(SECOND, 1, **{**healthy, **changes}))


def board(*services: Service, second: Any = None, **changes: Any) -> Snapshot:
    """A board with NVSwitches whose fabric manager runs."""
    values: dict[str, object] = {
        "pci": make_pci(make_function(FIRST), make_function(SECOND), SWITCH),
        "nvml": make_nvml(*gpus(**(second or {}))),
        "services": make_services(*(services or (make_service(),))),
    }
    return make_snapshot(**{**values, **changes})


def manager(**changes: Any) -> Snapshot:
    return board(make_service(**changes))


def second(**changes: Any) -> Snapshot:
    return board(second=changes)


def plain(**changes: Any) -> Snapshot:
    """GPUs without switches; the second is like this."""
    return make_snapshot(nvml=make_nvml(make_nvml_gpu(FIRST, 0), make_nvml_gpu(SECOND, 1, **changes)))


def log(*texts: str, at: str | None = "2024-05-01T09:00:00Z") -> Snapshot:
    lines = tuple(FabricLogLine(text, at) for text in texts)
    services = make_services(make_service(), fabric_log=lines, fabric_log_path="/var/log/fabricmanager.log")
    return board(services=services)


def blackwell(*services: Service, modules: tuple[str, ...] = ("nvidia", "ib_umad")) -> Snapshot:
    """Eight GPUs of a B200 board, with no switch on the bus."""
    listed = [make_nvml_gpu(f"0000:{bus:02x}:00.0", bus, name="NVIDIA B200") for bus in range(8)]
    loaded = tuple(make_loaded(name) for name in modules)
    subnet = make_service(SUBNET_MANAGER, binary="/opt/nvidia/nvlsm/sbin/nvlsm")
    return make_snapshot(
        nvml=make_nvml(*listed),
        modules=make_modules(loaded=loaded),
        services=make_services(make_service(), *(services or (subnet,))),
    )


def rack(**changes: Any) -> Snapshot:
    """A compute node of a GB200 rack."""
    imex = make_service(IMEX, unit="nvidia-imex.service", **{"version": None, **changes})
    return make_snapshot(
        nvml=make_nvml(make_nvml_gpu(name="NVIDIA GB200", fabric=make_fabric(clique=1))),
        services=make_services(imex, imex_nodes=18),
    )


def nodes(**changes: Any) -> Snapshot:
    snapshot = rack()
    assert not isinstance(snapshot.services, Unknown)
    return dataclasses.replace(snapshot, services=dataclasses.replace(snapshot.services, **changes))


ABSENT: dict[str, Any] = {
    "binary": None,
    "version": None,
    "running": False,
    "unit": None,
    "enabled": False,
    "pid": None,
}
STOPPED: dict[str, Any] = {"running": False, "pid": None, "running_since": None, "result": "exit-code"}
NEEDLESS = make_snapshot(services=make_services(make_service(**STOPPED)))
PASSED_ON = board(pci=make_pci(make_function(FIRST), dataclasses.replace(SWITCH, driver="vfio-pci")))
IN_CONTAINER: dict[str, Any] = {"in_container": True, "binary": None, "version": None, "unit": None, "restarts": None}

FABRIC_ROWS = [
    Row("fabric.required", "switches", board(), "info", "needs a fabric manager"),
    Row("fabric.required", "blackwell-board", blackwell(), "info"),
    Row("fabric.required", "none", make_snapshot(), "skip", "no NVSwitch"),
    Row("fabric.required", "switches-of-a-guest", PASSED_ON, "skip"),
    Row("fabric.required", "container", board(system=make_system(container="lxc")), "skip", "lxc"),
    Row("fabric.required", "bus-closed", make_snapshot(pci=CLOSED), "unknown"),
    Row("fabric.manager-installed", "there", board(), "pass"),
    Row("fabric.manager-installed", "absent", manager(**ABSENT), "fail", "error 802"),
    Row("fabric.manager-installed", "stopped", manager(**STOPPED), "pass", "installed"),
    Row("fabric.manager-installed", "closed", manager(**{**STOPPED, "binary": CLOSED}), "unknown"),
    Row("fabric.manager-installed", "in-a-container", manager(**IN_CONTAINER), "pass"),
    Row("fabric.manager-installed", "not-needed", make_snapshot(), "skip"),
    Row("fabric.manager-version", "equal", board(), "pass", "both 580.95.05"),
    Row("fabric.manager-version", "other", manager(version=OTHER), "fail", OTHER),
    Row("fabric.manager-version", "not-run", manager(version=Unknown("not run: --root")), "unknown", "--root"),
    Row("fabric.manager-version", "in-a-container", manager(**IN_CONTAINER), "skip"),
    Row("fabric.manager-version", "no-module", board(modules=make_modules(loaded=())), "skip"),
    Row("fabric.manager-running", "runs", board(), "pass"),
    Row("fabric.manager-running", "in-a-container", manager(**IN_CONTAINER), "pass", "in a container"),
    Row("fabric.manager-running", "stopped", manager(**STOPPED), "fail", "error 802"),
    Row("fabric.manager-running", "masked", manager(**STOPPED, masked=True), "fail"),
    Row("fabric.manager-running", "closed", manager(running=CLOSED), "unknown"),
    Row("fabric.manager-running", "needless-and-failed", NEEDLESS, "info", "not needed here"),
    Row("fabric.manager-running", "not-there-nor-needed", make_snapshot(), "skip"),
    Row("fabric.manager-running", "services-closed", board(services=CLOSED), "unknown"),
    Row("fabric.manager-flapping", "calm", board(), "pass"),
    Row(
        "fabric.manager-flapping",
        "restless",
        manager(restarts=4, running_since="2024-05-02T08:58:00Z"),
        "warn",
        "4 times; it runs for 120 s",
    ),
    Row("fabric.manager-flapping", "old-trouble", manager(restarts=9), "pass"),
    Row("fabric.manager-flapping", "not-asked", manager(restarts=Unknown("not run: --root")), "unknown"),
    Row("fabric.manager-flapping", "in-a-container", manager(**IN_CONTAINER), "skip"),
    Row("fabric.manager-log", "clean", log(), "pass"),
    Row(
        "fabric.manager-log",
        "topology",
        log("number of NVSwitches don't match with any supported system topology"),
        "fail",
    ),
    Row("fabric.manager-log", "fatal", log("detected NVSwitch fatal error 20034 on fid 0"), "fail"),
    Row("fabric.manager-log", "non-fatal", log("detected NVSwitch non-fatal error 12028 on fid 0"), "warn"),
    Row(
        "fabric.manager-log",
        "before-the-start",
        log("detected NVSwitch fatal error 1", at="2024-04-30T08:00:00Z"),
        "pass",
    ),
    Row("fabric.manager-log", "harmless", log("NV_WARN_NOTHING_TO_DO"), "pass"),
    Row("fabric.manager-log", "no-file", board(), "skip"),
    Row("fabric.manager-log", "closed", board(services=make_services(make_service(), fabric_log=CLOSED)), "unknown"),
    Row("fabric.nvl5-prereqs", "earlier", board(), "skip", "earlier generation"),
    Row("fabric.nvl5-prereqs", "complete", blackwell(), "pass"),
    Row("fabric.nvl5-prereqs", "no-module", blackwell(modules=("nvidia",)), "fail", "lacks"),
    Row("fabric.nvl5-prereqs", "no-subnet-manager", blackwell(make_service(SUBNET_MANAGER, binary=None)), "fail"),
]
NVLINK_ROWS = [
    Row("fabric.gpu-state", "completed", board(), "pass"),
    Row("fabric.gpu-state", "no-fabric", make_snapshot(), "skip"),
    Row("fabric.gpu-state", "not-supported", second(fabric=make_fabric(state=0)), "skip"),
    Row("fabric.gpu-state", "in-progress", second(fabric=make_fabric(state=2)), "fail", "in progress", SECOND),
    Row(
        "fabric.gpu-state",
        "just-started",
        board(make_service(running_since="2024-05-02T08:58:00Z"), second={"fabric": make_fabric(state=2)}),
        "warn",
        "still registering",
        SECOND,
    ),
    Row("fabric.gpu-state", "completed-badly", second(fabric=make_fabric(status=999)), "fail", "status 999", SECOND),
    Row("fabric.gpu-state", "guest", plain(fabric=make_fabric(state=2), virtualization=1), "info", "virtual machine"),
    Row("fabric.gpu-state", "closed", second(fabric=CLOSED), "unknown"),
    Row("fabric.gpu-health", "healthy", board(), "pass"),
    Row("fabric.gpu-health", "old-driver", second(fabric=make_fabric(health_mask=None, health_summary=None)), "pass"),
    Row(
        "fabric.gpu-health", "degraded", second(fabric=make_fabric(health_mask=1)), "warn", "degraded bandwidth", SECOND
    ),
    Row(
        "fabric.gpu-health", "route", second(fabric=make_fabric(health_mask=1 << 4)), "fail", "unhealthy route", SECOND
    ),
    Row("fabric.gpu-health", "no-partition", second(fabric=make_fabric(health_mask=4 << 8)), "fail", "no partition"),
    Row("fabric.gpu-health", "unhealthy", second(fabric=make_fabric(health_summary=2)), "fail", "unhealthy"),
    Row("fabric.gpu-health", "limited", second(fabric=make_fabric(health_summary=3)), "warn", "limited capacity"),
    Row("fabric.gpu-health", "no-fabric", make_snapshot(), "skip"),
    Row("nvlink.links-up", "all", board(), "pass", "all 18"),
    Row("nvlink.links-up", "two-down", second(nvlinks=(False, True, True, False)), "fail", "down: 0, 3", SECOND),
    Row("nvlink.links-up", "none-up", second(nvlinks=(False,) * 18), "fail", "down: all", SECOND),
    Row("nvlink.links-up", "no-bridge", plain(nvlinks=(False,) * 12), "skip"),
    Row("nvlink.links-up", "two-bridges-of-three", plain(nvlinks=(True,) * 8 + (False,) * 4), "info", "8 of its 12"),
    Row("nvlink.links-up", "mig", second(nvlinks=(False,) * 18, mig_current=True), "pass"),
    Row("nvlink.links-up", "no-nvlink", make_snapshot(), "skip"),
    Row("nvlink.links-up", "closed", second(nvlinks=CLOSED), "unknown"),
    Row("imex.service", "runs", rack(), "pass"),
    Row("imex.service", "stopped", rack(**STOPPED), "fail", "does not run"),
    Row("imex.service", "not-set-up", nodes(imex_nodes=None, services=()), "unknown"),
    Row("imex.service", "kubernetes", nodes(imex_by_kubernetes=True), "skip", "DRA"),
    Row("imex.service", "no-rack", make_snapshot(), "skip", "between nodes"),
    Row("imex.service", "closed", rack(running=CLOSED), "unknown"),
    Row("imex.domain", "up", nodes(imex_domain="UP", imex_daemon="READY"), "pass"),
    Row("imex.domain", "degraded", nodes(imex_domain="DEGRADED", imex_daemon="READY"), "warn", "READY"),
    Row("imex.domain", "down", nodes(imex_domain="DOWN", imex_daemon="WAITING_FOR_PEERS"), "fail", "WAITING_FOR_PEERS"),
    Row("imex.domain", "down-and-silent", nodes(imex_domain="DOWN", imex_daemon=CLOSED), "fail", "unknown"),
    Row("imex.domain", "new-word", nodes(imex_domain="SIDEWAYS"), "unknown", "SIDEWAYS"),
    Row("imex.domain", "not-asked", nodes(imex_domain=CLOSED), "unknown"),
    Row("imex.domain", "no-daemon", nodes(), "skip"),
    Row("imex.domain", "no-rack", make_snapshot(), "skip"),
    Row("imex.nodes-config", "listed", nodes(), "pass", "18"),
    Row("imex.nodes-config", "empty", nodes(imex_nodes=0), "fail", "empty"),
    Row("imex.nodes-config", "twice", nodes(imex_duplicates=1), "warn", "twice"),
    Row("imex.nodes-config", "none", nodes(imex_nodes=None), "skip"),
    Row("imex.nodes-config", "closed", nodes(imex_nodes=CLOSED), "unknown"),
]


@pytest.mark.parametrize("row", params((*FABRIC_ROWS, *NVLINK_ROWS)))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


def test_rack_node_without_a_domain_has_nothing_wrong() -> None:
    idle = make_service(IMEX, **ABSENT)
    snapshot = dataclasses.replace(rack(), services=make_services(idle))
    findings = run_checks(CHECKS, snapshot)
    assert {finding.status for finding in findings} <= {PASS, INFO, SKIP}


@pytest.mark.parametrize(
    "snapshot", [board(), blackwell(), rack(), NEEDLESS], ids=["board", "b200", "rack", "needless"]
)
def test_healthy_system_has_nothing_wrong(snapshot: Snapshot) -> None:
    findings = run_checks(CHECKS, snapshot)
    assert [item.key for item in findings if item.status not in (PASS, INFO, SKIP)] == []


def test_wrong_version_explains_what_follows_from_it() -> None:
    snapshot = board(
        make_service(**STOPPED, version=OTHER), second={"fabric": make_fabric(state=2), "nvlinks": (False,) * 18}
    )
    findings = find_causes(run_checks(CHECKS, snapshot))
    assert [finding.key for finding in findings if finding.is_root] == ["fabric.manager-version"]
    masked = {finding.check.id for finding in findings if finding.status == FAIL and finding.caused_by}
    assert masked == {"fabric.manager-running", "fabric.gpu-state", "nvlink.links-up"}


def test_remedy_names_the_version_that_fits() -> None:
    for snapshot in (manager(version=OTHER), manager(**ABSENT)):
        failing = [finding for finding in run_checks(FABRIC_CHECKS, snapshot) if finding.status == FAIL]
        remedy = failing[0].remedy
        assert remedy is not None
        assert "580.95.05" in remedy.commands[0].text


def test_driver_of_an_unknown_version_still_has_a_remedy() -> None:
    unknown: dict[str, Any] = {"modules": make_modules(loaded=CLOSED), "driver": make_driver(version=CLOSED)}
    (finding,) = [
        item
        for item in run_checks(FABRIC_CHECKS, board(make_service(**ABSENT), **unknown))
        if item.key == "fabric.manager-installed"
    ]
    assert finding.remedy is not None
    assert finding.remedy.summary == "Install the fabric manager of exactly the driver's version"


def test_mask_is_read_field_by_field() -> None:
    assert decode_health(0) == ([], [])
    assert decode_health(2 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8) == ([], []), "2 means no, and 1 no fault"
    assert decode_health(1 << 2 | 1 << 6) == (["a route being recovered", "recovery after access time-outs"], [])
    assert decode_health(9 << 8) == ([], ["wrong configuration 9"])


def test_products_are_whole_words() -> None:
    assert is_product("NVIDIA B200", ("B200",))
    assert not is_product("NVIDIA GB200", ("B200",))
