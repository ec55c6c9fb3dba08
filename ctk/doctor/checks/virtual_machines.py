"""GPUs in virtual machines: handed through or shared, the guest's driver and licence, the host's manager."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    driver_not_loaded,
    elsewhere,
    gpus,
    is_loaded,
    loaded_version,
    version_tuple,
)
from ctk.doctor.checks.jetson import GROUP
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    INSTALL,
    NOTE,
    TRIAGE,
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
from ctk.facts.nvml import Nvml, NvmlGpu, VgpuLicence
from ctk.facts.services import LICENCE, VGPU_MANAGER

if TYPE_CHECKING:
    from ctk.facts.pci import PciFunction
    from ctk.facts.platform import Vgpu
    from ctk.facts.snapshot import Snapshot

MEMORY_FLAG, GPU_BARS = 0x200, (0, 1, 2, 3)
VGPU_GUEST = 2
RESTRICTED = "(restricted)"
MANAGER_UNIT, LICENCE_UNIT = "nvidia-vgpu-mgr.service", "nvidia-gridd.service"
GUIDE = "NVIDIA vGPU software documentation"


def _hypervisor(snapshot: "Snapshot") -> str | Outcome:
    """What this machine runs on, or why that is not asked."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.platform, Unknown):
        return unseen(snapshot.platform)
    name = snapshot.platform.hypervisor
    if isinstance(name, Unknown):
        return unseen(name)
    return name or skipped("this is no virtual machine")


def _vgpus(snapshot: "Snapshot") -> "tuple[Vgpu, ...] | Unknown":
    if isinstance(snapshot.platform, Unknown):
        return snapshot.platform
    return snapshot.platform.vgpus or ()


def check_hypervisor(snapshot: "Snapshot") -> Outcome:
    """What the others go by."""
    name = _hypervisor(snapshot)
    if isinstance(name, Outcome):
        return name
    return noted(f"this is a virtual machine ({name})", Evidence(name, "/sys/class/dmi/id"))


def check_passthrough(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """What a guest can see of it: whether the machine gave the GPU's memory an address."""
    name = _hypervisor(snapshot)
    if isinstance(name, Outcome):
        return name
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    vgpus = _vgpus(snapshot)
    shared = {vgpu.address for vgpu in vgpus} if isinstance(vgpus, tuple) else set()
    whole = [gpu for gpu in gpus(snapshot) if gpu.address not in shared]
    return tuple(_judge_whole(gpu, name) for gpu in whole) or skipped("no whole GPU is handed to this machine")


def _judge_whole(gpu: "PciFunction", hypervisor: str) -> Outcome:
    if not isinstance(gpu.regions, tuple):
        return unseen(gpu.regions or Unknown(f"no {gpu.folder}/resource"), gpu.address)
    bars = [bar for bar in gpu.regions if bar.number in GPU_BARS and bar.flags & MEMORY_FLAG]
    without = [bar for bar in bars if not bar.start]
    sizes = Evidence(f"memory {', '.join(_size(bar.size_bytes) for bar in bars)}", f"{gpu.folder}/resource")
    if not without:
        return passed(f"the machine ({hypervisor}) gave GPU {gpu.address} its addresses", sizes, subject=gpu.address)
    return failed(
        f"the virtual machine ({hypervisor}) has no addresses for the memory of GPU {gpu.address}",
        Evidence(f"region {without[0].number} has no address", f"{gpu.folder}/resource"),
        sizes,
        subject=gpu.address,
    )


def _size(count: int) -> str:
    return f"{count >> 20} MiB"


def check_guest_driver(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """A vGPU wants the driver of NVIDIA's vGPU software, of the host's branch or the one before."""
    name = _hypervisor(snapshot)
    if isinstance(name, Outcome):
        return name
    vgpus = _vgpus(snapshot)
    if isinstance(vgpus, Unknown):
        return unseen(vgpus)
    if not vgpus:
        return skipped("no GPU of this machine is a vGPU")
    return tuple(_judge_guest(snapshot, vgpu) for vgpu in vgpus)


def _judge_guest(snapshot: "Snapshot", vgpu: "Vgpu") -> Outcome:
    if not is_loaded(snapshot):
        return skipped("the nvidia module is not loaded", vgpu.address)
    version = loaded_version(snapshot)
    if not isinstance(version, str):
        return unseen(version or Unknown("the driver's version is not known"), vgpu.address)
    guest, host = version_tuple(version)[:1], version_tuple(vgpu.host_version)[:1]
    evidence = (
        Evidence(version, "/sys/module/nvidia/version"),
        Evidence(f"host {vgpu.host_version or 'not told'} {vgpu.host_branch}".strip(), "PCI configuration space"),
    )
    if host and guest > host:
        message = f"the vGPU's driver {version} is of a newer branch than the host's, {vgpu.host_version}"
        return failed(message, *evidence, subject=vgpu.address)
    has_daemon, is_served = _has_licence_daemon(snapshot), _is_served(snapshot, vgpu.address)
    if is_served is not True and has_daemon is not True and Unknown in (type(has_daemon), type(is_served)):
        return unseen(has_daemon if isinstance(has_daemon, Unknown) else is_served, vgpu.address)  # type: ignore[arg-type] # one of them is Unknown
    if not is_served and not has_daemon:
        message = f"driver {version} does not serve the vGPU: it is not the one of NVIDIA's vGPU software"
        return failed(message, *evidence, Evidence("no nvidia-gridd", "/usr/bin"), subject=vgpu.address)
    return passed(f"driver {version} fits the host's {vgpu.host_version or 'driver'}", *evidence, subject=vgpu.address)


def _is_served(snapshot: "Snapshot", address: str) -> bool | Unknown:
    """Whether NVML knows the GPU."""
    nvml = snapshot.nvml
    if not isinstance(nvml, Nvml):
        return nvml or Unknown("NVML's library was not found")
    return nvml.gpus if isinstance(nvml.gpus, Unknown) else any(gpu.address == address for gpu in nvml.gpus)


def _has_licence_daemon(snapshot: "Snapshot") -> bool | Unknown:
    """It comes with the driver for vGPUs, and with no other."""
    if isinstance(snapshot.services, Unknown):
        return snapshot.services
    daemon = snapshot.services.find(LICENCE)
    if daemon is None:
        return Unknown("the licence daemon was not looked for")
    if daemon.running is True or isinstance(daemon.binary, str):
        return True
    return daemon.binary if isinstance(daemon.binary, Unknown) else False


def check_license(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Without one a vGPU is fast for some minutes only; a lease is short and renewed by itself."""
    why = driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    if not isinstance(snapshot.nvml, Nvml) or isinstance(snapshot.nvml.gpus, Unknown):
        vgpus = _vgpus(snapshot)
        return skipped("no vGPU here") if vgpus == () else unseen(Unknown("NVML was not asked, or did not answer"))
    guests = [gpu for gpu in snapshot.nvml.gpus if gpu.virtualization == VGPU_GUEST]
    return tuple(_judge_license(snapshot, gpu) for gpu in guests) or skipped("no GPU here is a vGPU")


def _judge_license(snapshot: "Snapshot", gpu: NvmlGpu) -> Outcome:
    subject = gpu.address if isinstance(gpu.address, str) else ""
    licence = gpu.licence
    if not isinstance(licence, VgpuLicence):
        return unseen(licence or Unknown("NVML tells nothing of a licence"), subject)
    evidence = [Evidence(f"licensed: {licence.licensed}", "nvmlDeviceGetGridLicensableFeatures")]
    status = snapshot.licence_status
    if isinstance(status, str):
        evidence.append(Evidence(status, "nvidia-smi -q"))
    if licence.licensed and licence.expires and licence.expires < snapshot.taken_at:
        message = f"the licence of the vGPU ({licence.product}) ran out at {licence.expires}"
        return warned(message, *evidence, subject=subject)
    if licence.licensed:
        return passed(f"the vGPU is licensed ({licence.product})", *evidence, subject=subject)
    if isinstance(status, str) and RESTRICTED in status.lower():
        message = f"the vGPU has no licence ({licence.product}) and is held down: {status}"
        return failed(message, *evidence, subject=subject)
    message = f"the vGPU has no licence ({licence.product}): it will be slowed down"
    return warned(message, *evidence, subject=subject)


def check_host_manager(snapshot: "Snapshot") -> Outcome:
    """Only machines whose GPUs are shared out to guests have it."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.services, Unknown):
        return unseen(snapshot.services)
    manager = snapshot.services.find(VGPU_MANAGER)
    if manager is None or (manager.unit is None and manager.binary is None):
        return skipped("no vGPU manager is installed")
    for fact in (manager.running, manager.enabled):
        if isinstance(fact, Unknown):
            return unseen(fact)
    if manager.running:
        return passed("the vGPU manager runs", Evidence(f"process {manager.pid}", "/proc"))
    if manager.masked or not manager.enabled:
        return noted("the vGPU manager is installed and switched off", Evidence("not enabled", MANAGER_UNIT))
    return failed("the vGPU manager does not run: no machine with a vGPU can start", Evidence("enabled", MANAGER_UNIT))


VIRTUAL_MACHINE_CHECKS: tuple[Check, ...] = (
    Check(
        id="vm.hypervisor",
        title="virtualisation state",
        group=GROUP,
        layer="L1",
        severity=NOTE,
        evaluate=check_hypervisor,
        reads="the processor's flags, /sys/hypervisor/type, the names in /sys/class/dmi/id",
        rule="info",
        source="systemd, src/basic/virt.c",
    ),
    Check(
        id="vm.passthrough",
        title="passthrough GPU works",
        group=GROUP,
        layer="L2",
        severity=HIGH,
        evaluate=check_passthrough,
        reads="the memory regions of each whole GPU in a virtual machine",
        rule="fail when one has no address",
        source="QEMU and OVMF documentation; kernel-open/nvidia/nv-pci.c of NVIDIA's open modules",
        needs=("vm.hypervisor", "pci.gpus-present"),
        explains=("RmInitAdapter failed! in a virtual machine",),
        remedy=Remedy(
            "On the machine below, give the guest UEFI firmware and a larger window for device memory, then start it "
            "anew; for QEMU: OVMF, machine type q35 and the option -fw_cfg opt/ovmf/X-PciMmio64Mb,string=262144",
            (Command("dmesg | grep -iE 'can.t assign|no space for|BAR'"),),
        ),
        fix="manual",
    ),
    Check(
        id="vgpu.guest-driver",
        title="guest uses a vGPU (GRID) driver compatible with the host",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_guest_driver,
        reads="the vGPU's configuration space, the loaded module's version, what NVML lists, nvidia-gridd",
        rule="fail when the guest's branch is newer than the host's, or a driver without nvidia-gridd serves no vGPU",
        source=f"NVIDIA/k8s-device-plugin, internal/vgpu; {GUIDE}, compatibility of manager and guest driver",
        needs=("vm.hypervisor", "driver.module-loaded"),
        explains=("No devices were found, in a virtual machine with a vGPU",),
        remedy=Remedy("Install the Linux guest driver of the vGPU software release that the host runs"),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="vgpu.host-manager",
        title="vGPU host manager",
        group=GROUP,
        layer="L3",
        severity=HIGH,
        evaluate=check_host_manager,
        reads="the unit nvidia-vgpu-mgr and its process",
        rule="fail when it is enabled and does not run",
        source="NVIDIA/gpu-operator, the vGPU manager's validation",
        needs=("vm.hypervisor", "driver.module-loaded"),
        explains=("a virtual machine with a vGPU does not start",),
        remedy=Remedy(
            "Start it and look at what it says; GPUs with SR-IOV also need their virtual functions",
            (
                Command(f"systemctl restart {MANAGER_UNIT}", restarts=(MANAGER_UNIT,)),
                Command(f"journalctl -b -u {MANAGER_UNIT}"),
                Command("/usr/lib/nvidia/sriov-manage -e ALL"),
            ),
        ),
        fix="guarded",
    ),
    Check(
        id="vgpu.license",
        title="vGPU is licensed",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_license,
        reads="NVML's licensable features of each vGPU; where there is no licence, nvidia-smi -q",
        rule="warn without a licence, fail when the vGPU is restricted",
        source=f"NVML API reference; {GUIDE}, client licensing",
        needs=("vgpu.guest-driver", "nvml.init"),
        explains=("fast for some minutes, then slow", "CUDA error: all CUDA-capable devices are busy or unavailable"),
        remedy=Remedy(
            "Put the client's token into /etc/nvidia/ClientConfigToken, check clock and name service, and let the "
            "licence daemon try again; its messages are in the journal",
            (
                Command(f"systemctl restart {LICENCE_UNIT}", restarts=(LICENCE_UNIT,)),
                Command(f"journalctl -b -u {LICENCE_UNIT}"),
            ),
        ),
        fix="guarded",
    ),
)
