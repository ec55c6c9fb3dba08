"""What auto means, step by step, and whether a mode can work: one row for each way a host can be."""

from typing import Any

import pytest

from ctk.facts import Unknown
from ctk.facts.toolkit_mode import ModeFacts, SpecKind
from ctk.toolkit.modes import check_mode, resolve

DRIVER = "/usr/lib64/libnvidia-ml.so.1"
GOOD = ModeFacts(
    configured="auto",
    is_tegra=False,
    is_wsl=False,
    has_pci_gpu=True,
    driver_library=DRIVER,
    hook="/usr/bin/nvidia-container-runtime-hook",
    injector="/usr/bin/nvidia-container-cli",
    mount_spec_folder="/etc/mounts.d",
    csv_files=("/etc/mounts.d/drivers.csv",),
    spec_folders=("/etc/cdi", "/var/run/cdi"),
    specs=(SpecKind("/etc/cdi/nvidia.yaml", "nvidia.com/gpu"),),
    default_kind="nvidia.com/gpu",
    cdi_tool="/usr/bin/nvidia-cdi-hook",
    engine_folders=("/etc/cdi", "/var/run/cdi"),
)
UNKNOWN = Unknown("permission denied")


@pytest.mark.parametrize(
    ("changes", "mode", "why"),
    [
        ({}, "jit-cdi", f"{DRIVER}: jit-cdi"),
        ({"driver_library": None}, "jit-cdi", "no, which changes nothing: jit-cdi"),
        ({"driver_library": UNKNOWN}, "jit-cdi", "could not look (permission denied)"),
        ({"is_wsl": True}, "jit-cdi", "yes: jit-cdi"),
        ({"is_wsl": True, "is_tegra": True, "driver_library": None}, "jit-cdi", "yes: jit-cdi"),
        ({"is_wsl": UNKNOWN}, "jit-cdi", DRIVER),
        ({"is_tegra": True, "driver_library": None}, "csv", "yes, without NVML: csv"),
        ({"is_tegra": True, "has_pci_gpu": False}, "csv", "yes: csv"),
        ({"is_tegra": True}, "jit-cdi", DRIVER),
        ({"is_tegra": True, "has_pci_gpu": UNKNOWN}, "jit-cdi", DRIVER),
        ({"is_tegra": UNKNOWN}, "jit-cdi", DRIVER),
        ({"configured": "legacy"}, "legacy", "yes: legacy"),
        ({"configured": "csv", "is_wsl": True}, "csv", "yes: csv"),
        ({"configured": "bogus"}, "bogus", "'bogus' is none"),
    ],
)
def test_what_the_mode_resolves_to(changes: dict[str, Any], mode: str, why: str) -> None:
    resolution = resolve(GOOD._replace(**changes))
    assert resolution.mode == mode
    assert why in resolution.steps[-1].answer


def test_a_container_that_asks_for_cdi_names_is_a_step_of_its_own() -> None:
    step = resolve(GOOD).steps[1]
    assert "CDI names only" in step.question
    assert step.holds is None


@pytest.mark.parametrize(
    ("mode", "changes", "expected"),
    [
        ("legacy", {}, [True, True, True]),
        ("legacy", {"hook": None}, [False, True, True]),
        ("legacy", {"injector": None, "driver_library": None}, [True, False, False]),
        ("legacy", {"hook": UNKNOWN}, [None, True, True]),
        ("csv", {}, [True]),
        ("csv", {"csv_files": ()}, [False]),
        ("csv", {"csv_files": UNKNOWN}, [None]),
        ("cdi", {}, [True, True]),
        ("cdi", {"specs": ()}, [False]),
        ("cdi", {"specs": (("/etc/cdi/x.json", "vendor.example/net"), ("/etc/cdi/y.yaml", None))}, [False]),
        ("cdi", {"specs": UNKNOWN}, [None]),
        ("cdi", {"engine_folders": ("/var/run/cdi",)}, [True, False]),
        ("cdi", {"default_kind": "management.nvidia.com/gpu"}, [False]),
        ("jit-cdi", {}, [True, True]),
        ("jit-cdi", {"cdi_tool": None}, [True, False]),
        ("jit-cdi", {"is_wsl": True, "driver_library": None}, [True]),
        ("auto", {}, [True, True]),
        ("auto", {"is_tegra": True, "driver_library": None, "csv_files": ()}, [False]),
        ("bogus", {}, [False]),
    ],
)
def test_whether_a_mode_can_work(mode: str, changes: dict[str, Any], expected: list[bool | None]) -> None:
    assert [step.holds for step in check_mode(mode, GOOD._replace(**changes))] == expected


def test_other_kinds_are_named_where_the_wanted_one_is_missing() -> None:
    steps = check_mode("cdi", GOOD._replace(specs=(SpecKind("/etc/cdi/x.json", "vendor.example/net"),)))
    assert "only of vendor.example/net; make one with: nvidia-ctk cdi generate" in steps[0].answer
