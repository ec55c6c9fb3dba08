"""What is asked of `generate`, and what it answers, as values; names that are not known are refused here.

Flags and their meaning are those of `nvidia-ctk cdi generate` (NVIDIA Container Toolkit 1.20), but where it says so.
"""

from collections.abc import Iterable

from ctk.cdi.capabilities import CAPABILITIES, parse_capabilities
from ctk.cdi.version import VERSIONS
from ctk.errors import UsageFault
from ctk.facts.cdi_spec import CdiSpec
from ctk.record import Record

APPLY, SEPARATE = "apply", "separate"
HOOK_FORMS = (APPLY, SEPARATE)
CREATE_SYMLINKS, UPDATE_LDCACHE, CHMOD = "create-symlinks", "update-ldcache", "chmod"
CUDA_COMPAT, DISABLE_NODES = "enable-cuda-compat", "disable-device-node-modification"
PROFILE = "update-application-profile"
HOOKS = (CHMOD, CREATE_SYMLINKS, DISABLE_NODES, CUDA_COMPAT, PROFILE, UPDATE_LDCACHE)
OFF_BY_DEFAULT = (CHMOD,)
ALL = "all"
NONE = "none"

INDEX, UUID, TYPE_INDEX = "index", "uuid", "type-index"
NAME_STRATEGIES = (INDEX, UUID, TYPE_INDEX)

EXPLICIT_LIBRARIES = "enable-explicit-driver-libraries"
COHERENT = "enable-coherent-annotations"
ONE_CSV_DEVICE = "disable-multiple-csv-devices"
NO_ADDITIONAL_GIDS = "no-additional-gids-for-device-nodes"
NO_IPC = "disable-ipc-discoverer"
FEATURE_FLAGS = (
    NO_IPC,
    ONE_CSV_DEVICE,
    "disable-nvsandboxutils",
    "disable-nvsandbox-utils",
    COHERENT,
    EXPLICIT_LIBRARIES,
    NO_ADDITIONAL_GIDS,
)
"""disable-nvsandboxutils is taken and changes nothing: ctk asks that library for nothing."""


class HookRequest(Record):
    """How the spec calls hooks. form APPLY: one process of ctk's for all; SEPARATE: one of NVIDIA's for each.

    interpreter, script: for APPLY, absolute paths on the host. program: for SEPARATE, nvidia-cdi-hook or nvidia-ctk.
    """

    form: str = APPLY
    interpreter: str = "/usr/bin/python3"
    script: str = ""
    program: str = "/usr/bin/nvidia-cdi-hook"
    ldconfig_path: str = ""
    disabled: tuple[str, ...] = ()
    enabled: tuple[str, ...] = ()

    def is_enabled(self, name: str) -> bool:
        """Whether this hook's work is done: to enable beats to disable."""
        if name in self.enabled:
            return True
        return name not in self.disabled and ALL not in self.disabled and name not in OFF_BY_DEFAULT


class GenerateRequest(Record):
    """One spec. The mode `auto` has been resolved by whoever read the facts (DriverRoot.mode); mode is what was asked.

    vendor, class_name None: the mode's own. capabilities (): everything. max_version "": as new as the content needs.
    """

    mode: str = "auto"
    vendor: str | None = None
    class_name: str | None = None
    name_strategies: tuple[str, ...] = (INDEX, UUID)
    device_ids: tuple[str, ...] = (ALL,)
    no_all_device: bool = False
    hooks: HookRequest = HookRequest()
    feature_flags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    max_version: str = ""
    csv_compat_root: str = ""

    @property
    def wanted(self) -> frozenset[str] | None:
        """The capabilities, None = all."""
        return parse_capabilities(self.capabilities)[0]

    def has_flag(self, name: str) -> bool:
        """Whether a feature flag is set."""
        return name in self.feature_flags


class LeftOut(Record):
    """Something that the spec does not have and why. what: device, name, node, library, hook, file, version …"""

    what: str
    name: str
    reason: str


class Generated(Record):
    """The spec, and what was left out of it. others: further specs, each with the word its file name gains."""

    spec: CdiSpec
    mode: str
    left_out: tuple[LeftOut, ...] = ()
    others: tuple[tuple[str, CdiSpec], ...] = ()
    source: str = ""  # nvml, proc, csv or none: where the GPUs are known from
    driver_version: str = ""


def check_request(request: GenerateRequest) -> None:
    """Raises UsageFault for a name that is not known, with those that are."""
    hooks = request.hooks
    _refuse_unknown("hook", hooks.disabled, (*HOOKS, ALL), "--disable-hook")
    if ALL in hooks.enabled:
        raise UsageFault("--enable-hook takes no 'all'", hint=f"Name them: {', '.join(HOOKS)}. Nothing was changed.")
    _refuse_unknown("hook", hooks.enabled, HOOKS, "--enable-hook")
    _refuse_unknown("feature flag", request.feature_flags, FEATURE_FLAGS, "--feature-flag")
    _refuse_unknown("naming strategy", request.name_strategies, NAME_STRATEGIES, "--device-name-strategy")
    _refuse_unknown("capability", request.capabilities, (*CAPABILITIES, ALL), "--capabilities")
    if request.max_version:
        _refuse_unknown("CDI version", (request.max_version,), VERSIONS, "--max-cdi-version")
    _check_kind(request)


def _refuse_unknown(what: str, words: Iterable[str], known: tuple[str, ...], option: str) -> None:
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UsageFault(
            f"{option}: there is no {what} {unknown[0]!r}",
            hint=f"Known are: {', '.join(known)}. Nothing was changed.",
        )


def _check_kind(request: GenerateRequest) -> None:
    """One character is allowed by the specification, but the library of today's engines crashes on it."""
    for option, word in (("--vendor", request.vendor), ("--class", request.class_name)):
        if word is None:
            continue
        letters = word.replace("_", "").replace("-", "").replace(".", "")
        if not (word.isascii() and letters.isalnum() and word[0].isalpha() and word[-1].isalnum() and len(word) > 1):
            raise UsageFault(
                f"{option}: {word!r} is no name that engines take",
                hint="Two characters at least: letters, digits and _ - . between them, a letter first. "
                "Nothing was changed.",
            )
