"""The checks that compare with an expectation: one row for each status they can give."""

import pytest

from ctk.doctor.checks.driver_probes import DRIVER_PROBE_CHECKS, PCI_COUNT_CHECKS
from ctk.doctor.data.machines import expected_gpus
from ctk.facts import Unknown
from ctk.facts.smi import Smi
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import make_function, make_modules, make_pci
from tests.unit.doctor.tables import Row, assert_row, params

DENIED = Unknown("permission denied")
SMI = "/usr/bin/nvidia-smi"


def machine(product: object, count: int = 8, *, odd: int = 0x2330) -> Snapshot:
    gpus = [make_function(f"0000:{number:02x}:00.0") for number in range(1, count)]
    return make_snapshot(pci=make_pci(*gpus, make_function("0000:f0:00.0", device_id=odd), product=product))


def smi(answer: object) -> Snapshot:
    return make_snapshot(smi=answer)


ROWS = [
    Row("pci.expected-count", "all", machine("NVIDIA DGX H100"), "pass", "all 8"),
    Row("pci.expected-count", "one-missing", machine("DGXA100 920-23687-2531-001", 7), "fail", "7 of the machine's 8"),
    Row("pci.expected-count", "mixed", machine("NVIDIA DGX H100", odd=0x2331), "warn", "one model"),
    Row("pci.expected-count", "unknown-machine", machine("PowerEdge XE9680", 7), "skip"),
    Row("pci.expected-count", "no-name", machine(None, 7), "skip"),
    Row("pci.expected-count", "name-closed", machine(DENIED), "unknown"),
    Row("pci.expected-count", "bus-closed", make_snapshot(pci=DENIED), "unknown"),
    Row("pci.expected-count", "lxc", make_snapshot(system=make_system(container="lxc")), "skip"),
    Row("driver.smi", "lists", smi(Smi(SMI, 0)), "pass"),
    Row("driver.smi", "no-gpus", smi(Smi(SMI, 6, said="No devices were found")), "fail", "found no GPU"),
    Row("driver.smi", "odd-code", smi(Smi(SMI, 77)), "fail", "does not list"),
    Row("driver.smi", "inforom", smi(Smi(SMI, 14)), "warn", "InfoROM"),
    Row("driver.smi", "hangs", smi(Smi(SMI, None, "no answer within 30 s")), "unknown", "30 s"),
    Row("driver.smi", "not-installed", smi(None), "skip"),
    Row("driver.smi", "not-probed", smi(Unknown("not asked: no --probe")), "skip", "--probe"),
    Row("driver.smi", "not-run", smi(Unknown("not run: --root")), "unknown"),
    Row("driver.smi", "not-loaded", make_snapshot(modules=make_modules(loaded=())), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row((*PCI_COUNT_CHECKS, *DRIVER_PROBE_CHECKS), row)


@pytest.mark.parametrize(
    ("product", "count"),
    [
        ("DGX-1 with V100", 8),
        ("NVIDIA DGX-2", 16),
        ("DGX A100", 8),
        ("NVIDIA DGX Station", None),
        ("DGX Station A100 920-23487", None),
        ("NVIDIA DGX GB200", None),
        ("DGX Spark", None),
        ("", None),
    ],
)
def test_machines_by_their_names(product: str, count: int | None) -> None:
    assert expected_gpus(product) == count
