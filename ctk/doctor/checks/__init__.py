"""ALL_CHECKS: every check, in the order of the layers; an explicit tuple, one line for each module of rows."""

from ctk.doctor.checks.driver import DRIVER_CHECKS
from ctk.doctor.checks.pci import PCI_CHECKS
from ctk.doctor.checks.pci_faults import PCI_FAULT_CHECKS
from ctk.doctor.model import Check

ALL_CHECKS: tuple[Check, ...] = (
    *PCI_CHECKS,
    *PCI_FAULT_CHECKS,
    *DRIVER_CHECKS,
)
