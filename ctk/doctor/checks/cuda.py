"""CUDA as the driver offers it, the toolkits on the host, and the active probe; no container is judged here."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_not_loaded, loaded_version, no_gpu_here
from ctk.doctor.checks.nvml_answers import told
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    NOTE,
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
from ctk.facts.nvml import Nvml

if TYPE_CHECKING:
    from ctk.facts.services import CudaToolkit
    from ctk.facts.snapshot import Snapshot

GROUP = "CUDA and driver compatibility"


def check_driver_version(snapshot: "Snapshot") -> Outcome:
    """What nvidia-smi prints as "CUDA Version": the newest the driver runs, not what is installed."""
    version = snapshot.nvml.cuda_version if isinstance(snapshot.nvml, Nvml) else None
    if isinstance(version, int) and version > 0:
        evidence = told(str(version), "nvmlSystemGetCudaDriverVersion")
        return noted(f"the driver runs CUDA up to {version // 1000}.{version % 1000 // 10}", evidence)
    why = driver_not_loaded(snapshot) or no_gpu_here(snapshot)
    if why:
        return skipped(why)
    return _by_table(loaded_version(snapshot))


def _by_table(driver: str | None | Unknown) -> Outcome:
    from ctk.doctor.data.cuda import DATE, SOURCE, find_cuda_of_driver

    if not isinstance(driver, str):
        return unseen(driver or Unknown("the driver's version is not known"))
    release = find_cuda_of_driver(driver)
    if release is None:
        return unseen(Unknown(f"driver {driver} is older than the table"))
    evidence = (Evidence(driver, "/sys/module/nvidia/version"), Evidence(f"table of {DATE}", SOURCE))
    return noted(f"driver {driver} runs CUDA {release} and older", *evidence)


def check_host_toolkit(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Containers bring their own; this is for those who compare nvcc with nvidia-smi."""
    services = snapshot.services
    if isinstance(services, Unknown):
        return unseen(services)
    if isinstance(services.cuda_toolkits, Unknown):
        return unseen(services.cuda_toolkits)
    if not services.cuda_toolkits:
        return skipped("no CUDA toolkit on the host; containers need none")
    driver = loaded_version(snapshot)
    return tuple(_judge_toolkit(toolkit, driver) for toolkit in services.cuda_toolkits)


def _judge_toolkit(toolkit: "CudaToolkit", driver: str | None | Unknown) -> Outcome:
    from ctk.doctor.data.cuda import DATE, find_minor_floor, find_release_driver, numbers

    if isinstance(toolkit.version, Unknown):
        return unseen(toolkit.version, toolkit.path)
    if toolkit.version is None:
        return noted("a CUDA toolkit that does not name its version", subject=toolkit.path)
    words = f"CUDA toolkit {toolkit.version}"
    needed = find_minor_floor(toolkit.version) or find_release_driver(toolkit.version)
    evidence = Evidence(toolkit.version, f"{toolkit.path}/version.json")
    if not isinstance(driver, str) or needed is None or numbers(driver) >= numbers(needed):
        return noted(f"{words} is on the host", evidence, subject=toolkit.path)
    return warned(
        f"{words} needs driver {needed}, this host has {driver}: what it builds does not run here",
        evidence,
        Evidence(f"{needed} (table of {DATE})", "CUDA Toolkit release notes"),
        subject=toolkit.path,
    )


def check_driver_floor(snapshot: "Snapshot") -> Outcome:
    """Only an image can be too new; what this host runs is told. Toolkits on the host are cuda.host-toolkit's."""
    why = driver_not_loaded(snapshot) or no_gpu_here(snapshot)
    if why:
        return skipped(why)
    driver = loaded_version(snapshot)
    if not isinstance(driver, str):
        return unseen(driver or Unknown("the driver's version is not known"))
    from ctk.doctor.data.cuda import MINOR_FLOORS, find_cuda_of_driver, numbers

    release = find_cuda_of_driver(driver) or "an older one than the table has"
    major = next((str(major) for major, floor in MINOR_FLOORS if numbers(driver) >= numbers(floor)), None)
    limited = f", and of later {major}.x with fewer features" if major == release.partition(".")[0] else ""
    return skipped(f"no image was named; driver {driver} runs those of CUDA {release} and older{limited}")


def check_require(snapshot: "Snapshot") -> Outcome:
    """The language is ctk.formats.requirement; without an image there is nothing to hold it against."""
    why = driver_not_loaded(snapshot) or no_gpu_here(snapshot)
    return skipped(why or "no image was named, so nothing is required")


def check_init(snapshot: "Snapshot") -> Outcome:
    """The one answer that settles it; asked only when somebody wants it, for it wakes GPUs and may make nodes."""
    from ctk.doctor.data.cuda_errors import MEANINGS

    probe = snapshot.cuda_probe
    if probe is None:
        return skipped("CUDA is started only with --probe")
    if isinstance(probe, Unknown):
        why = driver_not_loaded(snapshot) or no_gpu_here(snapshot)
        return skipped(why) if why else unseen(probe)
    if isinstance(probe.code, Unknown):
        return unseen(probe.code)
    name = probe.name or f"CUDA error {probe.code}"
    evidence = told(f"{probe.call}: {name} ({probe.code})", probe.library)
    if probe.code:
        return failed(f"CUDA does not start: {MEANINGS.get(probe.code, name)} (error {probe.code})", evidence)
    if probe.count == 0:
        return failed("CUDA starts, but finds no device", evidence)
    return passed(f"CUDA starts and finds {probe.count} devices", evidence)


CUDA_CHECKS: tuple[Check, ...] = (
    Check(
        id="cuda.driver-floor",
        title="driver meets the floor of the CUDA used",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_driver_floor,
        reads="the running driver's version; the table of CUDA releases",
        rule="skip, with what the driver runs: it takes an image to judge",
        source="CUDA Toolkit release notes; CUDA Compatibility guide",
        needs=("cuda.driver-version",),
        explains=("CUDA driver version is insufficient for CUDA runtime version", "the provided PTX was compiled with"),
        remedy=Remedy("Install a newer driver, or take an image of an older CUDA release"),
        fix="manual",
    ),
    Check(
        id="cuda.require-eval",
        title="what an image requires of the driver is met",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_require,
        reads="nothing without an image",
        rule="skip: it takes an image to judge",
        source="NVIDIA/libnvidia-container, src/cli/dsl.c",
        needs=("cuda.driver-version",),
        explains=("requirement error: unsatisfied condition: cuda>=",),
        remedy=Remedy("Install a newer driver, or take an image that asks for less"),
    ),
    Check(
        id="cuda.driver-version",
        title="CUDA version offered by the driver",
        group=GROUP,
        layer="L6",
        severity=NOTE,
        evaluate=check_driver_version,
        reads="nvmlSystemGetCudaDriverVersion; without NVML the driver's version and the table of CUDA releases",
        rule="always info",
        source="NVML API reference; CUDA Toolkit release notes",
        needs=("nvml.init",),
        explains=("nvidia-smi and nvcc name different CUDA versions",),
    ),
    Check(
        id="cuda.host-toolkit",
        title="CUDA toolkits on the host",
        group=GROUP,
        layer="L6",
        severity=NOTE,
        evaluate=check_host_toolkit,
        reads="version.json of every /usr/local/cuda-X.Y; the running driver's version; the table of CUDA releases",
        rule="info; warn where the driver is older than any that runs the toolkit's programs",
        source="CUDA Toolkit release notes; CUDA Compatibility guide",
        explains=("CUDA driver version is insufficient for CUDA runtime version",),
        remedy=Remedy("Install a newer driver, or an older toolkit; containers are not concerned"),
    ),
    Check(
        id="cuda.init",
        title="optional active probe on the host",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_init,
        reads="cuInit and cuDeviceGetCount of the driver's libcuda.so.1 in a child process, with --probe",
        rule="fail for any code but 0, and for no device",
        source="CUDA Driver API reference, CUresult",
        needs=(
            "driver.uvm-loaded",
            "device.uvm-nodes",
            "device.major-current",
            "lib.core",
            "fabric.gpu-state",
            "driver.version-mismatch",
            "nvml.init",
        ),
        explains=("torch.cuda.is_available() is False", "CUDA error 802: system not yet initialized"),
        remedy=Remedy(
            "Look at the checks of modules, device nodes, libraries and the fabric: one of them says why",
            (Command("ctk doctor --profile all --verbose"),),
        ),
    ),
)
