"""The whole host as one frozen value, built once a run; no I/O."""

from dataclasses import dataclass

from ctk.facts import Unknown
from ctk.facts.cdi import Cdi
from ctk.facts.cgroups import Cgroups
from ctk.facts.conditions import Conditions
from ctk.facts.cuda import CudaProbe
from ctk.facts.device_nodes import DeviceNodes
from ctk.facts.driver import Driver
from ctk.facts.engines import EngineInstallation
from ctk.facts.kernel import Kernel
from ctk.facts.kernel_log import KernelLog
from ctk.facts.kubelet import Kubelet
from ctk.facts.loader import Loader
from ctk.facts.modules import Modules
from ctk.facts.nvml import Nvml
from ctk.facts.observer import Observer
from ctk.facts.packages import Packages
from ctk.facts.pci import Pci
from ctk.facts.platform import Platform
from ctk.facts.rights import Rights
from ctk.facts.services import Services
from ctk.facts.smi import Smi
from ctk.facts.suppressions import Suppressions
from ctk.facts.system import System
from ctk.facts.toolkit import ToolBinary
from ctk.facts.toolkit_setup import ToolkitSetup

SNAPSHOT_MAJOR = 1
SNAPSHOT_MINOR = 0

NOT_COLLECTED = Unknown("not collected in this run")
"""The default of every part: a run that does not need a part does not look at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything ctk knows of one host at one moment. taken_at is RFC 3339, UTC."""

    taken_at: str
    ctk_version: str
    host_name: str | None | Unknown
    system: System
    engines: tuple[EngineInstallation, ...] | Unknown
    kubelet: Kubelet | None | Unknown
    toolkit: tuple[ToolBinary, ...] | Unknown
    docker_context: str | None | Unknown = None  # the calling user's current docker context ("desktop-linux")
    suppressions: Suppressions | None | Unknown = NOT_COLLECTED
    nvml: Nvml | None | Unknown = NOT_COLLECTED  # None: the driver's root holds no such library
    kernel: Kernel | Unknown = NOT_COLLECTED
    pci: Pci | None | Unknown = NOT_COLLECTED  # None: there is no PCI bus
    modules: Modules | Unknown = NOT_COLLECTED
    driver: Driver | Unknown = NOT_COLLECTED
    kernel_log: KernelLog | None | Unknown = NOT_COLLECTED
    observer: Observer | Unknown = NOT_COLLECTED
    services: Services | Unknown = NOT_COLLECTED
    conditions: Conditions | Unknown = NOT_COLLECTED
    platform: Platform | Unknown = NOT_COLLECTED
    cuda_probe: CudaProbe | None | Unknown = None  # None: it was not asked for (--probe)
    smi: Smi | None | Unknown = NOT_COLLECTED
    licence_status: str | None | Unknown = None  # nvidia-smi's word on an unlicensed vGPU; None: it was not asked
    device_nodes: DeviceNodes | Unknown = NOT_COLLECTED
    loader: Loader | Unknown = NOT_COLLECTED
    toolkit_setup: ToolkitSetup | Unknown = NOT_COLLECTED
    cdi: Cdi | Unknown = NOT_COLLECTED
    cgroups: Cgroups | Unknown = NOT_COLLECTED
    other_engines: tuple[str, ...] | Unknown = NOT_COLLECTED  # Apptainer, Enroot, LXC …: paths of their programs
    packages: Packages | None | Unknown = NOT_COLLECTED  # None: neither dpkg nor rpm keeps this host's packages
    rights: Rights | Unknown = NOT_COLLECTED
