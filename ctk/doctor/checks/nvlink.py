"""NVLink and the fabric as each GPU sees them, and IMEX between nodes; judges no fabric manager."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import elsewhere
from ctk.doctor.checks.fabric import find_manager, need_of, seconds_between
from ctk.doctor.checks.nvml_answers import each_gpu, judge_value, subject_of, told, why_silent
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    MEDIUM,
    Check,
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
from ctk.facts.nvml import FabricState, Nvml, NvmlGpu
from ctk.facts.services import IMEX, Services

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

GROUP = "NVLink, NVSwitch, Fabric Manager, IMEX"
STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
SETTLING_SECONDS = 300
FABRIC_CALL = "nvmlDeviceGetGpuFabricInfo"
IMEX_UNIT = "nvidia-imex"
IMEX_NODES = "/etc/nvidia-imex/nodes_config.cfg"


def check_gpu_state(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """A GPU that has not joined the fabric refuses CUDA, even for work on itself alone."""
    young = _is_young(snapshot)
    need = need_of(snapshot)
    return each_gpu(
        snapshot,
        lambda gpu: judge_value(gpu.fabric, lambda state: _gpu_state(gpu, state, young, bool(need)), "NVLink fabric"),
    )


def _is_young(snapshot: "Snapshot") -> bool:
    """The fabric manager was started a moment ago, and may still be at work."""
    manager = find_manager(snapshot)
    if isinstance(manager, Unknown):
        return False
    age = seconds_between(manager.running_since, snapshot.taken_at)
    return age is not None and age < SETTLING_SECONDS


def _gpu_state(gpu: NvmlGpu, fabric: FabricState, young: bool, is_needed: bool) -> Outcome:
    from ctk.doctor.data.nvlink import COMPLETED, IN_PROGRESS, NOT_SUPPORTED

    if fabric.state == NOT_SUPPORTED:
        return skipped("this GPU has no NVLink fabric")
    words = STATES.get(fabric.state, f"state {fabric.state}")
    status = f", status {fabric.status}" if fabric.state == COMPLETED else ""
    evidence = told(f"{words}{status}", FABRIC_CALL)
    if fabric.state == COMPLETED and fabric.status == 0:
        return passed("registered with the fabric", evidence)
    if fabric.state == IN_PROGRESS and young:
        return warned(f"GPU {subject_of(gpu)} is still registering with the fabric", evidence)
    if not is_needed and gpu.virtualization:
        return noted(f"GPU {subject_of(gpu)} of this virtual machine is not registered with a fabric", evidence)
    return failed(
        f"GPU {subject_of(gpu)} is not registered with the NVLink fabric ({words}{status}): CUDA answers error 802",
        evidence,
    )


def check_gpu_health(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The mask has a field of bits for each kind of trouble; the summary is newer."""
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.fabric, lambda state: _gpu_health(gpu, state), "fabric"))


def _gpu_health(gpu: NvmlGpu, fabric: FabricState) -> Outcome:
    from ctk.doctor.data.nvlink import COMPLETED, LIMITED_CAPACITY, UNHEALTHY, decode_health

    if fabric.state != COMPLETED or (not fabric.health_mask and not fabric.health_summary):
        return skipped("this GPU's fabric has no health to tell")
    degraded, broken = decode_health(fabric.health_mask or 0)
    summary = fabric.health_summary or 0
    evidence = told(f"mask {fabric.health_mask or 0:#x}, summary {summary}", FABRIC_CALL)
    if broken or summary == UNHEALTHY:
        why = ", ".join(broken + degraded) or "unhealthy"
        return failed(f"the NVLink fabric of GPU {subject_of(gpu)} is broken: {why}", evidence)
    if degraded or summary == LIMITED_CAPACITY:
        why = ", ".join(degraded) or "limited capacity"
        return warned(f"the NVLink fabric of GPU {subject_of(gpu)} is degraded: {why}", evidence)
    return passed("the fabric is healthy", evidence)


def check_links(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Behind switches every link has to be up; bridges may join some GPUs by some links, as somebody chose."""
    need = need_of(snapshot)
    if isinstance(need, Unknown):
        return why_silent(snapshot) or unseen(need)
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.nvlinks, lambda up: _links(gpu, up, bool(need)), "NVLink"))


def _links(gpu: NvmlGpu, links: tuple[bool, ...], is_switched: bool) -> Outcome:
    if gpu.mig_current is True:
        return skipped("MIG is on: NVLink is not used")
    down = [index for index, is_up in enumerate(links) if not is_up]
    evidence = told(f"{len(links) - len(down)} of {len(links)} links active", "nvmlDeviceGetNvLinkState")
    if not down:
        return passed(f"all {len(links)} links are active", evidence)
    numbers = "all" if len(down) == len(links) else ", ".join(map(str, down))
    if is_switched:
        return failed(f"NVLinks of GPU {subject_of(gpu)} are down: {numbers}", evidence)
    if len(down) == len(links):
        return skipped("no link is in use: this GPU has no NVLink bridge")
    return noted(f"GPU {subject_of(gpu)} uses {len(links) - len(down)} of its {len(links)} NVLinks", evidence)


def _rack_gpus(snapshot: "Snapshot") -> bool:
    from ctk.doctor.data.nvlink import RACK_PRODUCTS, is_product

    nvml = snapshot.nvml
    listed = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    return any(isinstance(gpu.name, str) and is_product(gpu.name, RACK_PRODUCTS) for gpu in listed)


def _imex_facts(snapshot: "Snapshot") -> Services | Outcome:
    """The services, or what to say where there is nothing to judge."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    silent = why_silent(snapshot)
    if silent is not None:
        return silent
    if not _rack_gpus(snapshot):
        return skipped("these GPUs have no NVLink between nodes")
    if isinstance(snapshot.services, Unknown):
        return unseen(snapshot.services)
    if snapshot.services.imex_by_kubernetes is True:
        return skipped("the DRA driver starts IMEX for each compute domain")
    return snapshot.services


def check_imex(snapshot: "Snapshot") -> Outcome:
    """Where nobody has set up a domain, single nodes work without it."""
    services = _imex_facts(snapshot)
    if isinstance(services, Outcome):
        return services
    imex = services.find(IMEX)
    if imex is None:
        return unseen(Unknown("the snapshot does not hold IMEX"))
    if isinstance(imex.running, Unknown):
        return unseen(imex.running)
    if imex.running:
        return passed("the IMEX daemon runs", Evidence(f"process {imex.pid}", "/proc"))
    nodes = services.imex_nodes if isinstance(services.imex_nodes, int) else 0
    evidence = (
        Evidence("no process nvidia-imex", "/proc"),
        Evidence(
            f"unit {imex.unit or 'not installed'}, {'enabled' if imex.enabled is True else 'not enabled'}", "systemd"
        ),
        Evidence(f"{nodes} nodes", IMEX_NODES),
    )
    if imex.enabled is True or nodes:
        return failed("the IMEX daemon does not run, though this node is set up for a domain", *evidence)
    return noted("no IMEX domain is set up: jobs over several nodes cannot use NVLink between them", *evidence)


def check_imex_nodes(snapshot: "Snapshot") -> Outcome:
    """Addresses are only counted: they are nobody's business in a report."""
    services = _imex_facts(snapshot)
    if isinstance(services, Outcome):
        return services
    nodes = services.imex_nodes
    imex = services.find(IMEX)
    if isinstance(nodes, Unknown):
        return unseen(nodes)
    if nodes is None or imex is None or imex.running is not True:
        return skipped("no IMEX domain is in force here")
    evidence = Evidence(f"{nodes} addresses, {services.imex_duplicates} of them twice", IMEX_NODES)
    if not nodes:
        return failed("the list of IMEX nodes is empty: the domain never becomes ready", evidence)
    if services.imex_duplicates:
        return warned("the list of IMEX nodes names a node twice", evidence)
    return passed(f"the list of IMEX nodes has {nodes} addresses", evidence)


def check_imex_domain(snapshot: "Snapshot") -> Outcome:
    """Every node of the domain has to be ready; one that waits for its peers will not import memory."""
    services = _imex_facts(snapshot)
    if isinstance(services, Outcome):
        return services
    domain, daemon = services.imex_domain, services.imex_daemon
    if domain is None:
        return skipped("no IMEX daemon runs here")
    if isinstance(domain, Unknown):
        return unseen(domain)
    here = daemon if isinstance(daemon, str) else "unknown"
    evidence = told(f"domain {domain}, this node {here}", "nvidia-imex-ctl -N -j")
    if domain == "UP":
        return passed("the IMEX domain is up", evidence)
    if domain == "DEGRADED":
        return warned(f"the IMEX domain is degraded; this node is {here}", evidence)
    if domain == "DOWN":
        return failed(f"the IMEX domain is down; this node is {here}", evidence)
    return unseen(Unknown(f"nvidia-imex-ctl says {domain}, which this ctk does not know"))


RESTART = Command("systemctl restart nvidia-fabricmanager", True, ("nvidia-fabricmanager",), True)

NVLINK_CHECKS: tuple[Check, ...] = (
    Check(
        id="fabric.gpu-state",
        title="each GPU completed fabric registration",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_gpu_state,
        reads="the fabric state and status of each GPU, and since when the fabric manager runs",
        rule="fail for any state but completed with success; warn in the manager's first five minutes",
        source="NVML API reference, nvmlGpuFabricInfo_v3_t",
        needs=("fabric.manager-running", "nvml.init"),
        explains=("CUDA error 802: system not yet initialized", "NCCL: unhandled system error"),
        remedy=Remedy(
            "Stop what uses the GPUs, then restart the fabric manager; if that is not enough, reboot", (RESTART,)
        ),
        fix="guarded",
    ),
    Check(
        id="fabric.gpu-health",
        title="fabric health mask and summary are clean",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_gpu_health,
        reads="the fabric health mask and summary of each GPU",
        rule="fail for an unhealthy route or a wrong configuration; warn for what is degraded",
        source="NVML API reference, NVML_GPU_FABRIC_HEALTH_MASK_…",
        needs=("fabric.gpu-state",),
        explains=("a job over NVLink fails on one node of several",),
        remedy=Remedy("Compare partition, cabling and firmware with a node that works; ask who manages the switches"),
        fix="manual",
    ),
    Check(
        id="nvlink.links-up",
        title="all NVLinks are active",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_links,
        reads="the state of every NVLink of each GPU, and whether NVSwitches join them",
        rule="fail for a link that is down behind NVSwitches; info elsewhere, for bridges may use some",
        source="NVML API reference, nvmlDeviceGetNvLinkState",
        needs=("nvml.init", "fabric.gpu-state"),
        explains=("Unable to retrieve NVLink information as all links are inActive", "NCCL uses PCIe"),
        remedy=Remedy(
            "Stop what uses the GPUs, then restart the fabric manager; if links stay down, reset all GPUs together or "
            "have the board looked at",
            (RESTART,),
        ),
        fix="disruptive",
    ),
    Check(
        id="imex.service",
        title="IMEX daemon runs where multi-node NVLink is used",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_imex,
        reads="the process nvidia-imex, its unit and its list of nodes, on racks of GB200 and GB300",
        rule="fail where it is enabled or has nodes and does not run; skip where Kubernetes' DRA driver starts it",
        source="NVIDIA IMEX service for NVLink networks guide",
        needs=("fabric.required",),
        explains=("NCCL: MNNVL initialisation fails", "import of memory of another node fails"),
        remedy=Remedy(
            "Start it on every node of the domain",
            (Command(f"systemctl enable --now {IMEX_UNIT}", restarts=(IMEX_UNIT,)),),
        ),
        fix="guarded",
    ),
    Check(
        id="imex.domain",
        title="domain state is healthy",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_imex_domain,
        reads="nvidia-imex-ctl -N -j and -q, while the daemon runs",
        rule="fail when the domain is DOWN, warn when it is DEGRADED",
        source="IMEX guide, command service; the states are those that DCGM knows (dcgmlib, DcgmImexManager)",
        needs=("imex.service",),
        explains=("NCCL: MNNVL initialisation fails", "import of memory of another node fails"),
        remedy=Remedy(
            "Look which node is not ready and restart its daemon; all nodes need the same driver and IMEX",
            (Command("nvidia-imex-ctl -N"), Command(f"systemctl restart {IMEX_UNIT}", restarts=(IMEX_UNIT,))),
        ),
        fix="guarded",
    ),
    Check(
        id="imex.nodes-config",
        title="node list is sane",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_imex_nodes,
        reads="the number of addresses in nodes_config.cfg, and how many come twice",
        rule="fail when it is empty while the daemon runs; warn for an address that comes twice",
        source="NVIDIA IMEX service for NVLink networks guide",
        needs=("imex.service",),
        explains=("the IMEX domain never becomes ready",),
        remedy=Remedy(
            "Write one address for each node of the domain, the same list on all, and restart the daemon everywhere",
            (Command(f"systemctl restart {IMEX_UNIT}", restarts=(IMEX_UNIT,)),),
        ),
        fix="manual",
    ),
)
