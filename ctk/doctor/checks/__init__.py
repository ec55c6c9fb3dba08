"""ALL_CHECKS: every check, in the order of the layers; an explicit tuple, one line for each module of rows."""

from ctk.doctor.checks.cdi_rows import CDI_CHECKS
from ctk.doctor.checks.cgroup_rows import CGROUP_CHECKS
from ctk.doctor.checks.collector import COLLECTOR_CHECKS
from ctk.doctor.checks.containerd_rows import CONTAINERD_CHECKS
from ctk.doctor.checks.crio import CRIO_CHECKS
from ctk.doctor.checks.cuda import CUDA_CHECKS
from ctk.doctor.checks.device_rows import DEVICE_CHECKS
from ctk.doctor.checks.docker_rows import DOCKER_CHECKS
from ctk.doctor.checks.driver import DRIVER_CHECKS
from ctk.doctor.checks.driver_log import DRIVER_LOG_CHECKS
from ctk.doctor.checks.driver_params import DRIVER_PARAMETER_CHECKS
from ctk.doctor.checks.driver_probes import DRIVER_PROBE_CHECKS, PCI_COUNT_CHECKS
from ctk.doctor.checks.driver_setup import DRIVER_SETUP_CHECKS
from ctk.doctor.checks.driver_version_rows import DRIVER_VERSION_CHECKS
from ctk.doctor.checks.engines import ANY_CHECKS, PODMAN_CHECKS
from ctk.doctor.checks.fabric_rows import FABRIC_CHECKS
from ctk.doctor.checks.host_kernel_rows import HOST_KERNEL_CHECKS
from ctk.doctor.checks.host_module_rows import HOST_MODULE_CHECKS
from ctk.doctor.checks.host_state import HOST_STATE_CHECKS
from ctk.doctor.checks.jetson import JETSON_CHECKS
from ctk.doctor.checks.library_rows import LIBRARY_CHECKS
from ctk.doctor.checks.nvlink import NVLINK_CHECKS
from ctk.doctor.checks.nvml import NVML_CHECKS
from ctk.doctor.checks.nvml_load import NVML_LOAD_CHECKS
from ctk.doctor.checks.nvml_memory import NVML_MEMORY_CHECKS
from ctk.doctor.checks.nvml_probe import NVML_PROBE_CHECKS
from ctk.doctor.checks.nvml_sharing import NVML_SHARING_CHECKS
from ctk.doctor.checks.pci import PCI_CHECKS
from ctk.doctor.checks.pci_faults import PCI_FAULT_CHECKS
from ctk.doctor.checks.security_rows import SECURITY_CHECKS
from ctk.doctor.checks.sxid import SXID_CHECKS
from ctk.doctor.checks.toolkit_config_rows import TOOLKIT_CONFIG_CHECKS
from ctk.doctor.checks.toolkit_rows import TOOLKIT_CHECKS
from ctk.doctor.checks.toolkit_switches import TOOLKIT_SWITCH_CHECKS
from ctk.doctor.checks.virtual_machines import VIRTUAL_MACHINE_CHECKS
from ctk.doctor.checks.wsl import WSL_CHECKS
from ctk.doctor.checks.xid import XID_CHECKS
from ctk.doctor.checks.xid_repeat import XID_REPEAT_CHECKS
from ctk.doctor.model import Check

ALL_CHECKS: tuple[Check, ...] = (
    *COLLECTOR_CHECKS,
    *NVML_PROBE_CHECKS,
    *HOST_KERNEL_CHECKS,
    *HOST_MODULE_CHECKS,
    *HOST_STATE_CHECKS,
    *PCI_CHECKS,
    *PCI_FAULT_CHECKS,
    *PCI_COUNT_CHECKS,
    *DRIVER_CHECKS,
    *DRIVER_VERSION_CHECKS,
    *DRIVER_LOG_CHECKS,
    *DRIVER_SETUP_CHECKS,
    *DRIVER_PROBE_CHECKS,
    *DRIVER_PARAMETER_CHECKS,
    *DEVICE_CHECKS,
    *LIBRARY_CHECKS,
    *XID_CHECKS,
    *XID_REPEAT_CHECKS,
    *SXID_CHECKS,
    *NVML_CHECKS,
    *NVML_MEMORY_CHECKS,
    *NVML_LOAD_CHECKS,
    *NVML_SHARING_CHECKS,
    *FABRIC_CHECKS,
    *NVLINK_CHECKS,
    *CUDA_CHECKS,
    *TOOLKIT_CHECKS,
    *TOOLKIT_CONFIG_CHECKS,
    *TOOLKIT_SWITCH_CHECKS,
    *CDI_CHECKS,
    *ANY_CHECKS,
    *DOCKER_CHECKS,
    *CONTAINERD_CHECKS,
    *CRIO_CHECKS,
    *PODMAN_CHECKS,
    *CGROUP_CHECKS,
    *SECURITY_CHECKS,
    *JETSON_CHECKS,
    *WSL_CHECKS,
    *VIRTUAL_MACHINE_CHECKS,
)
