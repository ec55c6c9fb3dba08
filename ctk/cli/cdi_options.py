"""The options that say what a CDI spec is made of, shared by `cdi generate`, `diff` and `refresh`; it makes nothing."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import click

from ctk.cdi.modes import MODES
from ctk.cdi.request import HOOK_FORMS

if TYPE_CHECKING:
    from ctk.cdi.request import GenerateRequest
    from ctk.cli.app import App
    from ctk.host import Host
    from ctk.host.driver_root import RootQuery

PREFIX = "NVIDIA_CTK_CDI_GENERATE_"
Function = TypeVar("Function", bound=Callable[..., object])


def _option(*names: str, variable: str = "", **settings: object) -> Callable[[Function], Function]:
    if variable:
        settings["envvar"] = variable
    return click.option(*names, **settings)  # type: ignore[arg-type] # settings are click's own keywords


OPTIONS: tuple[Callable[[Callable[..., object]], Callable[..., object]], ...] = (
    _option(
        "--mode",
        "--discovery-mode",
        "mode",
        type=click.Choice(MODES, case_sensitive=False),
        default="auto",
        show_default=True,
        variable=f"{PREFIX}MODE",
        help="What to describe. nvml insists on NVML; auto finds out whether this is a PC, a Jetson or WSL.",
    ),
    _option(
        "--driver-root",
        metavar="DIR",
        variable="NVIDIA_CTK_DRIVER_ROOT",
        help="Where the driver's files begin. [nvidia-container-cli.root of config.toml, else /]",
    ),
    _option(
        "--dev-root",
        metavar="DIR",
        variable="NVIDIA_CTK_DEV_ROOT",
        help="Where the folder dev with the device nodes is. [the driver root]",
    ),
    _option(
        "--library-search-path",
        "library_folders",
        multiple=True,
        metavar="DIR",
        variable=f"{PREFIX}LIBRARY_SEARCH_PATHS",
        help="Folders below the driver root to look for libraries in first.",
    ),
    _option(
        "--config-search-path",
        "config_folders",
        multiple=True,
        metavar="DIR",
        variable=f"{PREFIX}CONFIG_SEARCH_PATHS",
        help="Folders of the host to look for Vulkan, EGL and X files in, in place of the driver root's.",
    ),
    _option(
        "--device-name-strategy",
        "strategies",
        multiple=True,
        metavar="NAME",
        variable=f"{PREFIX}DEVICE_NAME_STRATEGIES",
        help="How devices are called: index (0, 1:0), uuid, type-index (gpu0, mig1:0). [index and uuid]",
    ),
    _option(
        "--device-id",
        "--device-ids",
        "--device",
        "--devices",
        "device_ids",
        multiple=True,
        metavar="ID",
        variable=f"{PREFIX}DEVICE_IDS",
        help="Only these: an index, GPU:MIG, a UUID, a channel, all or none. [all]",
    ),
    _option("--no-all-device", is_flag=True, variable=f"{PREFIX}NO_ALL_DEVICE", help="Make no device all."),
    _option(
        "--vendor",
        "--cdi-vendor",
        "vendor",
        metavar="NAME",
        variable=f"{PREFIX}VENDOR",
        help="The vendor of the kind. [nvidia.com; management.nvidia.com in mode management]",
    ),
    _option(
        "--class",
        "--cdi-class",
        "class_name",
        metavar="NAME",
        variable=f"{PREFIX}CLASS",
        help="The class of the kind. [gpu; in other modes gds, mofed, imex-channel, nvswitch, gdrcopy]",
    ),
    _option(
        "--capabilities",
        multiple=True,
        metavar="NAME",
        variable=f"{PREFIX}CAPABILITIES",
        help="Only what these driver capabilities need: compute, utility, graphics, video, display, ngx. [all]",
    ),
    _option(
        "--hooks",
        "hook_form",
        type=click.Choice(HOOK_FORMS),
        variable=f"{PREFIX}HOOKS",
        help="One hook of ctk's, or NVIDIA's own ones.",
    ),
    _option(
        "--nvidia-cdi-hook-path",
        "--nvidia-ctk-path",
        "hook_program",
        metavar="FILE",
        variable="NVIDIA_CTK_CDI_HOOK_PATH",
        help="NVIDIA's hook program, or nvidia-ctk; means --hooks=separate. [nvidia-cdi-hook in PATH]",
    ),
    _option(
        "--ldconfig-path",
        metavar="FILE",
        variable=f"{PREFIX}LDCONFIG_PATH",
        help="The ldconfig of the host that the hook runs in the container. [/sbin/ldconfig]",
    ),
    _option(
        "--disable-hook",
        "--disable-hooks",
        "disabled_hooks",
        multiple=True,
        metavar="NAME",
        variable=f"{PREFIX}DISABLED_HOOKS",
        help="Leave this hook's work out; all = every one.",
    ),
    _option(
        "--enable-hook",
        "--enable-hooks",
        "enabled_hooks",
        multiple=True,
        metavar="NAME",
        variable=f"{PREFIX}ENABLED_HOOKS",
        help="Do this hook's work whatever --disable-hook says.",
    ),
    _option(
        "--feature-flag",
        "--feature-flags",
        "feature_flags",
        multiple=True,
        metavar="NAME",
        variable=f"{PREFIX}FEATURE_FLAGS",
        help="A feature flag of nvidia-ctk's, such as no-additional-gids-for-device-nodes.",
    ),
    _option(
        "--max-cdi-version",
        "max_version",
        metavar="VERSION",
        variable=f"{PREFIX}MAX_CDI_VERSION",
        help="Leave out what is newer than this version of CDI, for an older engine. [whatever is needed]",
    ),
    _option(
        "--csv.file",
        "csv_files",
        multiple=True,
        metavar="FILE",
        variable=f"{PREFIX}CSV_FILES",
        help="A Jetson's mount specifications. [devices.csv, drivers.csv, l4t.csv in the toolkit's folder]",
    ),
    _option(
        "--csv.ignore-pattern",
        "csv_ignored",
        multiple=True,
        metavar="PATTERN",
        variable=f"{PREFIX}CSV_IGNORE_PATTERNS",
        help="Links of a mount specification to leave out; **/NAME is about the name alone.",
    ),
    _option(
        "--csv.compat-container-root",
        "csv_compat_root",
        metavar="DIR",
        variable=f"{PREFIX}CSV_COMPAT_CONTAINER_ROOT",
        help="Where images for a Jetson keep newer CUDA libraries.",
    ),
)


def generate_options(function: Function) -> Function:
    """Every option that decides what the spec says; where it goes to is the command's own affair."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def split_words(values: Mapping[str, object], name: str) -> tuple[str, ...]:
    """The words of an option that may be repeated and may hold commas."""
    given = values.get(name) or ()
    words = given if isinstance(given, tuple | list) else (given,)
    return tuple(word for value in words for part in str(value).split(",") if (word := part.strip()))


def make_request(values: Mapping[str, object], host: "Host") -> tuple["GenerateRequest", tuple[str, ...]]:
    """The options' values as a request, and what is odd about them. Raises UsageFault for names that are not known."""
    from ctk.cdi.request import GenerateRequest, check_request
    from ctk.cli.cdi_hook_program import make_hooks

    hooks, warnings = make_hooks(values, host)
    defaults = GenerateRequest()
    request = GenerateRequest(
        mode=str(values["mode"]).lower(),
        vendor=_text(values, "vendor") or None,
        class_name=_text(values, "class_name") or None,
        name_strategies=split_words(values, "strategies") or defaults.name_strategies,
        device_ids=split_words(values, "device_ids") or defaults.device_ids,
        no_all_device=bool(values.get("no_all_device")),
        hooks=hooks,
        feature_flags=split_words(values, "feature_flags"),
        capabilities=split_words(values, "capabilities"),
        max_version=_text(values, "max_version").removeprefix("v"),
        csv_compat_root=_text(values, "csv_compat_root"),
    )
    check_request(request)
    return request, warnings


def make_query(app: "App", host: "Host", values: Mapping[str, object]) -> "RootQuery":
    """The options' values as what is to be read of the host. Raises UsageFault, and ParseFault for config.toml."""
    from ctk.cdi.request import EXPLICIT_LIBRARIES
    from ctk.cli.cdi_roots import find_roots
    from ctk.host.driver_root import RootQuery
    from ctk.host.nvml_watch import DEADLINE_SECONDS

    roots = find_roots(app, host, _text(values, "driver_root"), _text(values, "dev_root"))
    return RootQuery(
        mode=str(values["mode"]).lower(),
        driver_root=roots.driver_root,
        dev_root=roots.dev_root,
        nvml_seconds=None if app.no_nvml else max(DEADLINE_SECONDS, app.timeout_seconds),
        library_folders=split_words(values, "library_folders"),
        config_folders=split_words(values, "config_folders"),
        explicit_libraries=EXPLICIT_LIBRARIES in split_words(values, "feature_flags"),
        csv_folder=roots.csv_folder,
        csv_files=split_words(values, "csv_files"),
        csv_ignored=split_words(values, "csv_ignored"),
    )


def _text(values: Mapping[str, object], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
