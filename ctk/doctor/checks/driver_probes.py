"""What is compared with an expectation: the number of GPUs with the machine's, nvidia-smi's exit with success."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_not_loaded, elsewhere, gpus
from ctk.doctor.model import (
    HIGH,
    TRIAGE,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

PRODUCT_FILE = "/sys/class/dmi/id/product_name"


def check_expected_count(snapshot: "Snapshot") -> Outcome:
    """Only NVIDIA's own servers say by their name how many they have."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    pci = snapshot.pci
    if pci is None or isinstance(pci, Unknown):
        return skipped("there is no PCI bus") if pci is None else unseen(pci)
    if isinstance(pci.product, Unknown):
        return unseen(pci.product)
    from ctk.doctor.data.machines import expected_gpus

    expected = expected_gpus(pci.product or "")
    if expected is None:
        return skipped("nothing says how many GPUs this machine should have")
    found = [gpu for gpu in gpus(snapshot) if gpu.physical_function is None]
    evidence = (Evidence(str(pci.product), PRODUCT_FILE), Evidence(f"{len(found)} GPUs", "/sys/bus/pci/devices"))
    if len(found) < expected:
        return failed(f"{len(found)} of the machine's {expected} GPUs are on the PCI bus", *evidence)
    if len({gpu.device_id for gpu in found}) > 1:
        return warned("the machine's GPUs are not all of one model", *evidence)
    return passed(f"all {expected} GPUs are on the PCI bus", *evidence)


def check_smi(snapshot: "Snapshot") -> Outcome:
    """The number tells more than the text."""
    why = driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    smi = snapshot.smi
    if isinstance(smi, Unknown):
        return skipped("nvidia-smi is run only with --probe") if smi.reason == NOT_PROBED else unseen(smi)
    if smi is None:
        return skipped("nvidia-smi is not installed, and containers do not need it")
    if smi.returncode is None:
        return unseen(Unknown(smi.reason or "it did not end"))
    if smi.returncode == 0:
        return passed("nvidia-smi lists the GPUs", Evidence("exit 0", f"{smi.path} -L"))
    from ctk.doctor.data.smi_codes import INFOROM_CORRUPTED, SMI_CODES

    meaning = SMI_CODES.get(smi.returncode, "an exit code that the manual does not list")
    said = (Evidence(smi.said, f"{smi.path} -L"),) if smi.said else ()
    evidence = (Evidence(f"exit {smi.returncode}", f"{smi.path} -L"), *said)
    return (warned if smi.returncode == INFOROM_CORRUPTED else failed)(f"nvidia-smi says: {meaning}", *evidence)


NOT_PROBED = "not asked: no --probe"

PCI_COUNT_CHECKS: tuple[Check, ...] = (
    Check(
        id="pci.expected-count",
        title="the number and model of GPUs is the expected one",
        group="PCI and hardware",
        layer="L2",
        severity=HIGH,
        evaluate=check_expected_count,
        reads=f"{PRODUCT_FILE}, the GPUs on the PCI bus",
        rule="fail when one of NVIDIA's servers shows fewer GPUs than it has; warn about mixed models in it",
        source="NVIDIA's user guides of DGX systems",
        needs=("pci.gpus-present",),
        explains=("a job sees 7 of 8 GPUs",),
        remedy=Remedy(
            "Find out which is missing and look at the log before the last restart; then switch the power off and on, "
            "and have the tray looked at if it stays away",
            (
                Command("lspci -d 10de:", needs_root=False),
                Command("journalctl -k -b -1 | grep -E 'NVRM|pcieport' | tail -30"),
            ),
        ),
    ),
)

DRIVER_PROBE_CHECKS: tuple[Check, ...] = (
    Check(
        id="driver.smi",
        title="nvidia-smi runs and its exit code is understood",
        group="Driver, kernel side",
        layer="L6",
        severity=HIGH,
        evaluate=check_smi,
        reads="the exit code and the first line of nvidia-smi -L, with --probe only",
        rule="fail for any exit code but 0; warn for 14 (InfoROM)",
        source="nvidia-smi(1), RETURN VALUE",
        needs=("driver.module-loaded", "lib.core", "driver.version-mismatch"),
        explains=("whatever nvidia-smi printed",),
        remedy=Remedy("Run it by hand and read all of its output", (Command("nvidia-smi -q | head -50"),)),
        profiles=(TRIAGE,),
    ),
)
