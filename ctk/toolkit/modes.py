"""What the runtime's mode means on a host: what auto resolves to, step by step, and whether a mode can work; no I/O.

Source: NVIDIA Container Toolkit 1.20, internal/info/auto.go: the runtime resolves auto to cdi (all devices of the
container are CDI names), csv (Tegra) or jit-cdi; the hook takes jit-cdi for legacy.
"""

from typing import NamedTuple

from ctk.facts import Unknown


class ModeFacts(NamedTuple):
    """What was found on the host. specs: the kind each CDI spec names, by path; engine_folders: where engines look.

    driver_library: libnvidia-ml.so.1, None = looked and not there. Paths are the host's.
    """

    configured: str
    is_tegra: bool | Unknown
    is_wsl: bool | Unknown
    driver_library: str | None | Unknown
    hook: str | None | Unknown
    injector: str | None | Unknown
    mount_spec_folder: str
    csv_files: tuple[str, ...] | Unknown
    spec_folders: tuple[str, ...]
    specs: tuple[tuple[str, str | None], ...] | Unknown
    default_kind: str
    cdi_tool: str | None | Unknown
    engine_folders: tuple[str, ...] = ("/etc/cdi", "/var/run/cdi", "/run/cdi")


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
    if facts.configured != "auto":
        return Resolution(facts.configured, (Step("is a mode configured?", f"yes: {facts.configured}", True),))
    steps = [
        Step("is a mode configured?", "no: auto", False),
        Step(
            "does the container ask only for CDI names (vendor/class=name)?",
            "then cdi for that container; not known beforehand",
            None,
        ),
        _tegra_step(facts),
    ]
    if facts.is_tegra is True and facts.driver_library is None:
        return Resolution("csv", tuple(steps))
    steps.append(_platform_step(facts))
    steps.append(Step("so", "jit-cdi: the runtime makes a CDI spec for each container (the hook: legacy)", True))
    return Resolution("jit-cdi", tuple(steps))


def _tegra_step(facts: ModeFacts) -> Step:
    question = "is this a Tegra system (Jetson) without NVML?"
    if isinstance(facts.is_tegra, Unknown):
        return Step(question, f"could not look: {facts.is_tegra.reason}", None)
    if facts.is_tegra and facts.driver_library is None:
        return Step(question, "yes: csv", True)
    return Step(question, "a Tegra system, but it has NVML" if facts.is_tegra else "no", False)


def _platform_step(facts: ModeFacts) -> Step:
    question = "which platform is it?"
    if facts.is_wsl is True:
        return Step(question, "WSL", True)
    if isinstance(facts.driver_library, str):
        return Step(question, f"NVML ({facts.driver_library})", True)
    if isinstance(facts.driver_library, Unknown):
        return Step(question, f"could not look for NVML: {facts.driver_library.reason}", None)
    return Step(question, "unknown: no libnvidia-ml.so.1 below the driver root", False)


def check_mode(mode: str, facts: ModeFacts) -> tuple[Step, ...]:
    """Whether a mode can work on this host: every step must hold."""
    if mode == "auto":
        return check_mode(resolve(facts._replace(configured="auto")).mode, facts)
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
    question = f"is there a spec of {facts.default_kind} in {', '.join(facts.spec_folders)}?"
    if isinstance(facts.specs, Unknown):
        return (Step(question, f"could not look: {facts.specs.reason}", None),)
    fitting = [path for path, kind in facts.specs if kind == facts.default_kind]
    if not fitting:
        others = sorted({kind for _, kind in facts.specs if kind})
        said = f"no, only of {', '.join(others)}" if others else "none"
        return (Step(question, f"{said}: make one with: nvidia-ctk cdi generate", False),)
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
