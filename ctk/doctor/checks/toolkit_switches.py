"""Settings of the toolkit that work, but change what containers get; whether they can work here is judged beside it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.toolkit_applies import config_of, engines_of
from ctk.doctor.checks.toolkit_rows import GROUP, PROFILES
from ctk.doctor.model import (
    LOW,
    MEDIUM,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    warned,
)
from ctk.facts.toolkit_setup import VALUE

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

CAPABILITIES = "supported-driver-capabilities"
COMPAT_MODE, NO_COMPAT_HOOK = (
    "nvidia-container-runtime.modes.legacy.cuda-compat-mode",
    "features.disable-cuda-compat-lib-hook",
)
SKIP_DETECTION = "nvidia-container-runtime-hook.skip-mode-detection"
MODE = "nvidia-container-runtime.mode"
ESSENTIAL = ("compute", "utility")


def check_capabilities(snapshot: "Snapshot") -> Outcome:
    """Only what is named here may be asked for by an image."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    wrong = next((item for item in config.problems if item.kind == VALUE and item.key == CAPABILITIES), None)
    if wrong is not None:
        place = f"{config.path}:{wrong.line}" if wrong.line else config.path
        return failed(f"{CAPABILITIES}: {wrong.text}", Evidence(wrong.text, place))
    value = config.text(CAPABILITIES)
    if not value:
        return skipped(f"{CAPABILITIES} has no value that could be used")
    names = [name.strip() for name in value.split(",")]
    missing = [name for name in ESSENTIAL if name not in names and "all" not in names]
    evidence = Evidence(f"{CAPABILITIES} = {value}", config.path)
    if missing:
        return warned(f"no container can get {' or '.join(missing)}: CUDA and nvidia-smi need them", evidence)
    return passed("containers may ask for CUDA's libraries and for nvidia-smi", evidence)


def check_cuda_compat_mode(snapshot: "Snapshot") -> Outcome:
    """How an image's newer CUDA libraries come before the host's."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    mode = config.text(COMPAT_MODE)
    if mode == "mount":
        return warned(
            "an image's CUDA compatibility libraries are mounted over the host's, as up to 1.17.3",
            Evidence(f"{COMPAT_MODE} = mount", config.path),
        )
    if mode == "disabled" or config.is_true(NO_COMPAT_HOOK):
        key = COMPAT_MODE if mode == "disabled" else NO_COMPAT_HOOK
        return noted(
            "CUDA compatibility libraries are left out: images newer than the driver do not run",
            Evidence(f"{key} = {'disabled' if mode == 'disabled' else 'true'}", config.path),
        )
    return passed("an image's newer CUDA libraries are found", Evidence(f"{COMPAT_MODE} = {mode}", config.path))


def check_skip_mode_detection(snapshot: "Snapshot") -> Outcome:
    """The GPU Operator switches it on, because there an engine may call the hook itself."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    if not config.is_true(SKIP_DETECTION):
        return passed("the hook says when it is called in a mode that is not its own")
    evidence = Evidence(f"{SKIP_DETECTION} = true", config.path)
    if config.text(MODE) == "cdi" and any(engine.engine == "docker" for engine in engines_of(snapshot)):
        return warned(
            "the mode is cdi, and the hook works all the same: GPUs come twice, or not as asked for", evidence
        )
    return noted("the hook works whatever the mode is", evidence)


TOOLKIT_SWITCH_CHECKS = (
    Check(
        id="toolkit.capabilities",
        title="containers may ask for what CUDA needs",
        group=GROUP,
        layer="L7",
        severity=MEDIUM,
        evaluate=check_capabilities,
        reads="supported-driver-capabilities",
        rule="fail for a name that is no capability; warn when compute or utility is missing",
        source="NVIDIA's container toolkit 1.20, api/config/v1",
        needs=("toolkit.config-parse",),
        explains=("unsupported capabilities found in 'graphics' (allowed 'compute,utility')",),
        remedy=Remedy(
            "Take the setting away: all are allowed by default", (Command(f"ctk config unset {CAPABILITIES}"),)
        ),
        fix="guarded",
        profiles=PROFILES,
    ),
    Check(
        id="toolkit.cuda-compat-mode",
        title="an image's newer CUDA libraries are used as they should be",
        group=GROUP,
        layer="L7",
        severity=MEDIUM,
        evaluate=check_cuda_compat_mode,
        reads="modes.legacy.cuda-compat-mode and features.disable-cuda-compat-lib-hook",
        rule="warn for mount; a note when they are left out",
        source="NVIDIA's container toolkit, release notes of 1.17.4 and 1.17.5",
        needs=("toolkit.config-parse",),
        explains=("the provided PTX was compiled with an unsupported toolchain (222)", "CUDA errors 803 and 804"),
        remedy=Remedy("Take the setting away", (Command(f"ctk config unset {COMPAT_MODE}"),)),
        fix="guarded",
    ),
    Check(
        id="toolkit.skip-mode-detection",
        title="the hook hides no error of the mode",
        group=GROUP,
        layer="L7",
        severity=LOW,
        evaluate=check_skip_mode_detection,
        reads="nvidia-container-runtime-hook.skip-mode-detection, the mode, the engines",
        rule="a note when it is on; warn when it is on with the mode cdi and Docker",
        source="NVIDIA's container toolkit",
        needs=("toolkit.config-parse",),
        explains=("GPUs are injected twice, or not at all",),
        remedy=Remedy("Switch it off", (Command(f"ctk config set {SKIP_DETECTION}=false"),)),
        fix="guarded",
    ),
)
