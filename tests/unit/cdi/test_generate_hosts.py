"""What `cdi generate` says on the hosts of tests/hosts: a spec, or why there is none; expected/cdi.txt holds it."""

from pathlib import Path
from typing import Any

import pytest

from ctk.cdi.document import render_yaml
from ctk.cdi.generate import GenerateRequest, generate
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.codec import record_from_document
from ctk.facts.driver_root import GpuSource, MigInstance, RootGpu
from ctk.facts.nvml import Nvml, NvmlGpu
from ctk.host import Host
from ctk.host.driver_root import RootQuery, collect_driver_root
from ctk.host.root_gpus import FoundGpus, NvmlQuery
from tests.conftest import GoldenCheck
from tests.driver_tree import HOOKS
from tests.fake_host import HOSTS
from tests.memory_host import host_in_memory

pytestmark = pytest.mark.long

CSV = "/etc/nvidia-container-runtime/host-files-for-container.d"


def answer_for(rows: dict[str, Any]) -> Any:
    """What NVML would say, from the rows of host.toml."""

    def ask(host: Host, query: NvmlQuery) -> FoundGpus | str:
        document = dict(rows.get("nvml", {"absent": True}))
        if document.pop("unasked", False) or document.pop("absent", False):
            return "there is no libnvidia-ml.so.1 below /"
        nvml = record_from_document(Nvml, document)
        assert isinstance(nvml, Nvml)
        if isinstance(nvml.init, Unknown) or nvml.init.code or isinstance(nvml.gpus, Unknown) or nvml.hang:
            return "it does not answer"
        version = nvml.driver_version
        return FoundGpus(GpuSource("nvml"), tuple(map(as_root_gpu, nvml.gpus)), version, None, True)

    return ask


def as_root_gpu(gpu: NvmlGpu) -> RootGpu:
    listed = gpu.mig_devices if isinstance(gpu.mig_devices, tuple) else ()
    migs = tuple(
        MigInstance(index, one.gpu_instance, one.compute_instance, one.uuid) for index, one in enumerate(listed)
    )
    return RootGpu(gpu.index, gpu.minor, gpu.uuid, gpu.address, gpu.name, gpu.mig_current is True, migs)


def describe(name: str, folder: Path) -> str:
    """The spec and what it lacks, or the error and its exit code."""
    host, rows = host_in_memory(name, folder)
    facts = collect_driver_root(host, RootQuery(csv_folder=CSV), answer_for(rows))
    try:
        generated = generate(facts, GenerateRequest(hooks=HOOKS))
    except CtkError as error:
        return f"exit {error.exit_code}: {error.message}\n"
    told = (
        row for row in generated.left_out if row.reason != "not found below /"
    )  # which these small trees lack a lot
    notes = "".join(f"# left out: {row.what} {row.name}: {row.reason}\n" for row in told)
    return f"# mode {generated.mode}, GPUs from {generated.source}\n{notes}{render_yaml(generated.spec)}"


TOLD = (
    *(
        "bare",
        "cpu-only",
        "driver-container",
        "driver-firmware-gone",
        "driver-updated",
        "el9-server",
        "gpu-lost-to-nvml",
    ),
    *("healthy-one-gpu", "jetson-mount-files-gone", "jetson-orin", "jetson-paths-missing", "mig-server"),
    *(
        "mig-without-instances",
        "nothing-readable",
        "nvml-hangs",
        "nvswitch-server",
        "user-without-rights",
        "vgpu-guest",
    ),
    *(
        "vgpu-server-driver",
        "virtual-machine",
        "wsl2",
        "wsl2-no-device",
        "wsl2-store-incomplete",
        "wsl2-without-nvidia",
    ),
    "wsl2-two-faults",
)
"""Hosts that differ in what is generated; the others are hosts of the doctor, with the same GPU."""


@pytest.mark.parametrize("name", TOLD)
def test_spec_of_a_host_is_as_expected(name: str, tmp_path: Path, assert_golden: GoldenCheck) -> None:
    assert_golden(HOSTS / name / "expected" / "cdi.txt", describe(name, tmp_path / "host"))
