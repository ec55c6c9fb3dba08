"""What the runtime's mode means on a host: what auto resolves to, step by step, and whether a mode can work; no I/O.

Source: NVIDIA Container Toolkit 1.20, internal/info/auto.go: the runtime resolves auto to cdi (all devices of the
container are CDI names), csv (Tegra) or jit-cdi; the hook takes jit-cdi for legacy. go-nvlib, pkg/nvlib/info: WSL comes
before Tegra; a Tegra system with NVML counts as Tegra if its GPUs are integrated ones only.
"""

from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.toolkit_mode import ModeFacts
from ctk.toolkit.settings import MODES


class Step(NamedTuple):
    """One step of a decision or a check. outcome: what follows; holds None = could not look."""

    question: str
    answer: str
    holds: bool | None


class Resolution(NamedTuple):
    """The mode a container without special requests gets, and how it was found."""

    mode: str
    steps: tuple[Step, ...]


def resolve(facts: ModeFacts) -> Resolution:
    """What the configured mode resolves to here."""
    configured = "is a mode configured?"
    if facts.configured not in MODES:
        return Resolution(facts.configured, (Step(configured, f"{facts.configured!r} is none", False),))
    if facts.configured != "auto":
        return Resolution(facts.configured, (Step(configured, f"yes: {facts.configured}", True),))
    asked = "does a container ask for CDI names only (vendor/class=name)?"
    steps = [Step(configured, "no: auto", False), Step(asked, "that one gets cdi; the others:", None)]
    for look in (_wsl_step, _tegra_step):
        step, mode = look(facts)
        steps.append(step)
        if mode is not None:
            return Resolution(mode, tuple(steps))
    steps.append(_nvml_step(facts))
    return Resolution("jit-cdi", tuple(steps))


JIT_CDI = "jit-cdi: the runtime makes a CDI spec for each container (the hook, called by itself: legacy)"


def _wsl_step(facts: ModeFacts) -> tuple[Step, str | None]:
    question = "is this WSL?"
    if isinstance(facts.is_wsl, Unknown):
        return Step(question, f"could not look: {facts.is_wsl.reason}", None), None
    return (Step(question, f"yes: {JIT_CDI}", True), "jit-cdi") if facts.is_wsl else (Step(question, "no", False), None)


def _tegra_step(facts: ModeFacts) -> tuple[Step, str | None]:
    question = "is this a Tegra system (Jetson) with its integrated GPU only?"
    if isinstance(facts.is_tegra, Unknown):
        return Step(question, f"could not look: {facts.is_tegra.reason}", None), None
    if not facts.is_tegra:
        return Step(question, "no", False), None
    if facts.driver_library is None:
        return Step(question, "yes, without NVML: csv", True), "csv"
    if isinstance(facts.has_pci_gpu, Unknown):
        return Step(question, f"a Tegra; could not look for others: {facts.has_pci_gpu.reason}", None), None
    if facts.has_pci_gpu:
        return Step(question, "no: a Tegra with a GPU on the PCI bus and NVML", False), None
    return Step(question, "yes: csv", True), "csv"


def _nvml_step(facts: ModeFacts) -> Step:
    question = "is the driver's NVML there?"
    if isinstance(facts.driver_library, str):
        return Step(question, f"{facts.driver_library}: {JIT_CDI}", True)
    if isinstance(facts.driver_library, Unknown):
        return Step(question, f"could not look ({facts.driver_library.reason}), which changes nothing: {JIT_CDI}", None)
    return Step(question, f"no, which changes nothing: {JIT_CDI}", False)


def check_mode(mode: str, facts: ModeFacts) -> tuple[Step, ...]:
    """Whether a mode can work on this host: every step must hold."""
    if mode == "auto":
        return check_mode(resolve(facts._replace(configured="auto")).mode, facts)
    if mode not in MODES:
        return (Step("is it a mode?", f"{mode!r} is none; they are {', '.join(MODES)}", False),)
    checks = {"legacy": _check_legacy, "csv": _check_csv, "cdi": _check_cdi, "jit-cdi": _check_jit_cdi}
    return checks[mode](facts)


def _found(question: str, value: str | None | Unknown, missing: str) -> Step:
    if isinstance(value, Unknown):
        return Step(question, f"could not look: {value.reason}", None)
    return Step(question, value, True) if value is not None else Step(question, missing, False)


def _check_legacy(facts: ModeFacts) -> tuple[Step, ...]:
    return (
        _found("is the hook there?", facts.hook, "no nvidia-container-runtime-hook or ctk-container-runtime-hook"),
        _found("can it inject?", facts.injector, "neither nvidia-container-cli nor ctk's own hook is there"),
        _found("is the driver there?", facts.driver_library, "no libnvidia-ml.so.1 below the driver root"),
    )


def _check_csv(facts: ModeFacts) -> tuple[Step, ...]:
    question = f"are there mount files in {facts.mount_spec_folder}?"
    if isinstance(facts.csv_files, Unknown):
        return (Step(question, f"could not look: {facts.csv_files.reason}", None),)
    if facts.csv_files:
        return (Step(question, ", ".join(facts.csv_files), True),)
    return (Step(question, "none: csv needs the files that Jetson's driver packages bring", False),)


def _check_cdi(facts: ModeFacts) -> tuple[Step, ...]:
    folders = ", ".join(facts.spec_folders)
    question = f"is there a spec of {facts.default_kind} in {folders}?"
    if isinstance(facts.specs, Unknown):
        return (Step(question, f"could not look: {facts.specs.reason}", None),)
    fitting = [path for path, kind in facts.specs if kind == facts.default_kind]
    if not fitting:
        others = sorted({kind for _, kind in facts.specs if kind})
        said = f"no, only of {', '.join(others)}" if others else "none"
        return (Step(question, f"{said}; make one with: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", False),)
    read = [path for path in fitting if path.rpartition("/")[0] in facts.engine_folders]
    seen = ", ".join(read) if read else f"{fitting[0]} is in none of {', '.join(facts.engine_folders)}"
    return (
        Step(question, ", ".join(fitting), True),
        Step("do engines that read CDI themselves look there?", seen, bool(read)),
    )


def _check_jit_cdi(facts: ModeFacts) -> tuple[Step, ...]:
    if facts.is_wsl is True:
        return (Step("is this WSL?", "yes: the driver comes from Windows", True),)
    return (
        _found("is the driver there?", facts.driver_library, "no libnvidia-ml.so.1 below the driver root"),
        _found("is the program for CDI hooks there?", facts.cdi_tool, "neither nvidia-cdi-hook nor nvidia-ctk"),
    )
