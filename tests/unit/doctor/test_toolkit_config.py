"""The checks of the toolkit's configuration: one row for each status they can give."""

import dataclasses

import pytest

from ctk.doctor.checks.toolkit_config_rows import TOOLKIT_CONFIG_CHECKS
from ctk.doctor.checks.toolkit_switches import (
    CAPABILITIES,
    COMPAT_MODE,
    NO_COMPAT_HOOK,
    SKIP_DETECTION,
    TOOLKIT_SWITCH_CHECKS,
)
from ctk.facts import Unknown
from ctk.facts.driver import Driver
from ctk.facts.engines import EngineFiles
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit_mode import SpecKind
from ctk.facts.toolkit_setup import (
    SECURITY,
    UNKNOWN_KEY,
    VALUE,
    ConfigFault,
    LogFile,
    LowLevelRuntime,
    ToolkitProblem,
    ToolkitValue,
)
from tests.builders import make_engine, make_kubelet, make_snapshot, make_system
from tests.driver_builders import make_driver, make_library
from tests.toolkit_builders import (
    CONFIG,
    make_config,
    make_mode,
    make_toolkit_setup,
    make_tools,
    make_value,
    no_tools,
)
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
CHECKS = (*TOOLKIT_CONFIG_CHECKS, *TOOLKIT_SWITCH_CHECKS)
MODE, ROOT, USER = "nvidia-container-runtime.mode", "nvidia-container-cli.root", "nvidia-container-cli.user"
LDCONFIG, NO_CGROUPS = "nvidia-container-cli.ldconfig", "nvidia-container-cli.no-cgroups"
ALLOW = "features.allow-ldconfig-from-container"
LOG = "nvidia-container-runtime.debug"
BROKEN = make_config(fault=ConfigFault("invalid value", 13, 35), values=())
ROOTLESS = make_engine(installation="rootless", user="alice")
RESTING = make_engine(running=False, enabled=False)
CONTAINER_DRIVER: Driver = make_driver(libraries=(), root_libraries=(make_library(),))
NO_LDCONFIG = "/sbin/ldconfig.real does not exist here, but /sbin/ldconfig does: @/sbin/ldconfig"


def config(*values: ToolkitValue, **changes: object) -> Snapshot:
    return make_snapshot(toolkit_setup=make_toolkit_setup(make_config(*values, **changes)))


def problem(kind: str, key: str, text: str = "it must be one of auto, legacy") -> Snapshot:
    return config(problems=(ToolkitProblem(kind, key, text, 8),))


def mode(name: str = "auto", *values: ToolkitValue, **facts: object) -> Snapshot:
    return config(make_value(MODE, name), *values, mode=make_mode(configured=name, **facts))


def runtimes(*found: LowLevelRuntime) -> Snapshot:
    return config(runtimes=found)


def legacy(*values: ToolkitValue, **changes: object) -> Snapshot:
    setup = make_toolkit_setup(make_config(make_value(MODE, "legacy"), *values))
    return make_snapshot(toolkit_setup=setup, **changes)


def log(**changes: object) -> LogFile:
    values: dict[str, object] = {"key": LOG, "path": "/var/log/x.log", "folder_exists": True, **changes}
    return LogFile(**values)  # type: ignore[arg-type] # the record's own fields by name


def without_values(identity: str) -> list[Row]:
    """What every check of a value says where there is none to look at."""
    closed = make_toolkit_setup(make_config(exists=DENIED, values=()))
    return [
        Row(identity, "broken", make_snapshot(toolkit_setup=make_toolkit_setup(BROKEN)), "skip", "cannot be read"),
        Row(identity, "closed", make_snapshot(toolkit_setup=closed), "unknown"),
        Row(identity, "setup-closed", make_snapshot(toolkit_setup=DENIED), "unknown"),
        Row(identity, "config-closed", make_snapshot(toolkit_setup=make_toolkit_setup(DENIED)), "unknown"),
        Row(identity, "no-toolkit", make_snapshot(toolkit=no_tools()), "skip", "no toolkit"),
        Row(identity, "toolkit-closed", make_snapshot(toolkit=DENIED), "unknown"),
    ]


OF_VALUES = [check.id for check in CHECKS if check.id not in ("toolkit.config-present", "toolkit.config-parse")]

ROWS = [
    Row("toolkit.config-present", "there", make_snapshot(), "pass"),
    Row("toolkit.config-present", "defaults", config(exists=False), "info", "built-in defaults"),
    Row(
        "toolkit.config-present",
        "another",
        config(look_alikes=("/etc/nvidia-docker/config.toml",)),
        "warn",
        "/etc/nvidia-docker/config.toml looks like",
    ),
    Row("toolkit.config-present", "closed", config(exists=DENIED), "unknown"),
    Row("toolkit.config-present", "config-closed", make_snapshot(toolkit_setup=make_toolkit_setup(DENIED)), "unknown"),
    Row("toolkit.config-present", "no-toolkit", make_snapshot(toolkit=no_tools()), "skip"),
    Row("toolkit.config-parse", "good", make_snapshot(), "pass"),
    Row("toolkit.config-parse", "absent", config(exists=False), "pass"),
    Row(
        "toolkit.config-parse",
        "broken",
        make_snapshot(toolkit_setup=make_toolkit_setup(BROKEN)),
        "fail",
        f"{CONFIG} is no TOML: line 13, column 35: invalid value",
    ),
    Row("toolkit.config-parse", "closed", config(exists=DENIED), "unknown"),
    Row("toolkit.config-parse", "config-closed", make_snapshot(toolkit_setup=make_toolkit_setup(DENIED)), "unknown"),
    Row("toolkit.config-parse", "no-toolkit", make_snapshot(toolkit=no_tools()), "skip"),
    *(row for identity in OF_VALUES for row in without_values(identity)),
    Row("toolkit.config-unknown-keys", "known", make_snapshot(), "pass"),
    Row("toolkit.config-unknown-keys", "typo", problem(UNKNOWN_KEY, "nvidia-container-cli.lodd-kmods"), "warn"),
    Row("toolkit.config-unknown-keys", "other-table", problem(UNKNOWN_KEY, "nvidia-container-cli.mode"), "fail", MODE),
    Row("toolkit.config-values", "good", make_snapshot(), "pass"),
    Row("toolkit.config-values", "word", problem(VALUE, MODE), "fail", "it must be one of auto"),
    Row("toolkit.config-values", "security-is-another-matter", problem(SECURITY, ALLOW), "pass"),
    Row("toolkit.config-values", "ldconfig-has-its-own", problem(VALUE, LDCONFIG), "pass"),
    Row("toolkit.mode", "auto", mode(), "pass", "auto means jit-cdi"),
    Row("toolkit.mode", "no-driver", mode(driver_library=None), "fail", "libnvidia-ml.so.1"),
    Row("toolkit.mode", "driver-closed", mode(driver_library=DENIED), "unknown"),
    Row("toolkit.mode", "root-has-its-own", mode("auto", make_value(ROOT, "/x"), driver_library=None), "pass"),
    Row("toolkit.mode", "cdi", mode("cdi", specs=(SpecKind("/etc/cdi/a.yaml", "nvidia.com/gpu"),)), "pass"),
    Row("toolkit.mode", "specs-are-anothers-business", mode("cdi"), "pass"),
    Row("toolkit.mode", "csv-without-files", mode("csv"), "fail", "no mount file"),
    Row("toolkit.mode", "legacy", mode("legacy"), "pass"),
    Row(
        "toolkit.mode",
        "legacy-and-systemd",
        dataclasses.replace(mode("legacy"), kubelet=make_kubelet(cgroup_driver="systemd")),
        "warn",
        "a reload of systemd",
    ),
    Row(
        "toolkit.mode",
        "legacy-and-docker-by-systemd",
        legacy(engines=(make_engine(files=EngineFiles((), None, None, cgroup_driver="systemd")),)),
        "warn",
    ),
    Row("toolkit.mode", "unknown-word", mode("cdj"), "skip", "is no mode"),
    Row("toolkit.mode", "no-gpu", dataclasses.replace(mode(driver_library=None), pci=Pci()), "skip"),
    Row("toolkit.mode", "wsl", dataclasses.replace(mode(is_wsl=True), system=make_system(wsl=2)), "pass"),
    Row("toolkit.mode", "jetson", dataclasses.replace(mode("csv"), system=make_system(jetson=True)), "skip"),
    Row("toolkit.mode", "facts-closed", config(mode=DENIED), "unknown"),
    Row("toolkit.mode", "not-looked", config(mode=None), "unknown"),
    Row("toolkit.low-level-runtime", "runc", make_snapshot(), "pass", "runc creates"),
    Row("toolkit.low-level-runtime", "none", runtimes(LowLevelRuntime("docker-runc", None)), "fail", "docker-runc"),
    Row("toolkit.low-level-runtime", "closed-folder", runtimes(LowLevelRuntime("runc", DENIED)), "unknown"),
    Row("toolkit.low-level-runtime", "not-named", runtimes(), "skip"),
    Row("toolkit.low-level-runtime", "no-engine", make_snapshot(engines=()), "skip"),
    Row("toolkit.low-level-runtime", "engines-closed", make_snapshot(engines=DENIED), "unknown"),
    Row("toolkit.runtime-loop", "runc", make_snapshot(), "pass"),
    Row(
        "toolkit.runtime-loop",
        "loop",
        runtimes(LowLevelRuntime("runc", "/usr/bin/runc", "/usr/local/bin/wrap", "nvidia-container-runtime")),
        "fail",
        "which is nvidia-container-runtime again",
    ),
    Row(
        "toolkit.runtime-loop",
        "loop-beside-a-real-one",
        runtimes(
            LowLevelRuntime("runc", "/usr/bin/runc", "/usr/bin/runc", "nvidia-container-runtime"),
            LowLevelRuntime("crun", "/usr/bin/crun", "/usr/bin/crun"),
        ),
        "fail",
        "hands containers to /usr/bin/runc",
    ),
    Row("toolkit.runtime-loop", "none", runtimes(LowLevelRuntime("runc", None)), "skip"),
    Row("toolkit.runtime-loop", "closed-folder", runtimes(LowLevelRuntime("runc", DENIED)), "unknown"),
    Row("toolkit.hook-path", "there", make_snapshot(), "pass"),
    Row("toolkit.hook-path", "no-hook", mode("legacy", hook=None), "fail", "needs nvidia-container-runtime-hook"),
    Row("toolkit.hook-path", "no-cli", mode("legacy", injector=None), "fail", "needs nvidia-container-cli"),
    Row("toolkit.hook-path", "no-tool", mode(cdi_tool=None), "fail", "needs nvidia-ctk"),
    Row("toolkit.hook-path", "hook-closed", mode("legacy", hook=DENIED), "unknown"),
    Row(
        "toolkit.hook-path",
        "needless",
        mode(
            "auto",
            make_value("nvidia-container-runtime-hook.path", "/x/hook", fault="/x/hook was not found"),
            hook=None,
        ),
        "info",
        "/x/hook was not found",
    ),
    Row("toolkit.hook-path", "facts-closed", config(mode=DENIED), "unknown"),
    Row("toolkit.ldconfig", "there", make_snapshot(), "pass", "/sbin/ldconfig"),
    Row(
        "toolkit.ldconfig",
        "gone",
        config(make_value(LDCONFIG, "@/sbin/ldconfig.real", fault=NO_LDCONFIG)),
        "fail",
        NO_LDCONFIG,
    ),
    Row(
        "toolkit.ldconfig",
        "no-ldconfig-at-all",
        config(make_value(LDCONFIG, "@/sbin/ldconfig", fault="/sbin/ldconfig does not exist here", is_set=False)),
        "info",
    ),
    Row("toolkit.ldconfig", "no-mark", config(make_value(LDCONFIG, "/usr/sbin/ldconfig")), "fail", "without an @"),
    Row(
        "toolkit.ldconfig",
        "allowed",
        config(make_value(LDCONFIG, "/usr/sbin/ldconfig"), make_value(ALLOW, True)),
        "warn",
        "without an @",
    ),
    Row("toolkit.ldconfig", "wrong-type", config(make_value(LDCONFIG, None)), "skip"),
    Row("toolkit.root", "host", make_snapshot(), "pass"),
    Row(
        "toolkit.root",
        "left-over",
        config(make_value(ROOT, "/run/nvidia/driver", fault="there is no libnvidia-ml.so.1 below /run/nvidia/driver")),
        "fail",
        "no libnvidia-ml.so.1 below",
    ),
    Row("toolkit.root", "container", config(make_value(ROOT, "/run/nvidia/driver")), "pass", "/run/nvidia/driver"),
    Row(
        "toolkit.root",
        "container-not-named",
        make_snapshot(driver=CONTAINER_DRIVER),
        "fail",
        "the driver is in a container's root",
    ),
    Row("toolkit.root", "driver-closed", make_snapshot(driver=DENIED), "unknown"),
    Row("toolkit.root", "libraries-closed", make_snapshot(driver=make_driver(libraries=DENIED)), "unknown"),
    Row("toolkit.no-cgroups", "not-used", make_snapshot(), "pass", "does not use"),
    Row("toolkit.no-cgroups", "left-to-the-hook", config(make_value(NO_CGROUPS, True)), "warn", "docker run --gpus"),
    Row("toolkit.no-cgroups", "legacy", legacy(), "pass"),
    Row("toolkit.no-cgroups", "legacy-on", legacy(make_value(NO_CGROUPS, True)), "fail", "docker runs as root"),
    Row("toolkit.no-cgroups", "rootless", legacy(engines=(ROOTLESS,)), "fail", "is rootless"),
    Row("toolkit.no-cgroups", "rootless-on", legacy(make_value(NO_CGROUPS, True), engines=(ROOTLESS, RESTING)), "pass"),
    Row("toolkit.no-cgroups", "both", legacy(engines=(ROOTLESS, make_engine())), "info", "CDI suits both"),
    Row("toolkit.no-cgroups", "lxc", legacy(make_value(NO_CGROUPS, True), system=make_system(container="lxc")), "skip"),
    Row("toolkit.no-cgroups", "engines-closed", make_snapshot(engines=DENIED), "unknown"),
    Row("toolkit.no-cgroups", "facts-closed", config(mode=DENIED), "unknown"),
    Row("toolkit.user", "none", make_snapshot(), "pass"),
    Row("toolkit.user", "good", config(make_value(USER, "root:video")), "pass", "root:video"),
    Row(
        "toolkit.user",
        "no-group",
        config(make_value(USER, "root:video", fault="there is no group 'video' on this host")),
        "fail",
        "no group 'video'",
    ),
    Row("toolkit.capabilities", "all", make_snapshot(), "pass"),
    Row("toolkit.capabilities", "word", config(make_value(CAPABILITIES, "all")), "pass"),
    Row("toolkit.capabilities", "no-utility", config(make_value(CAPABILITIES, "compute,video")), "warn", "utility"),
    Row(
        "toolkit.capabilities", "typo", problem(VALUE, CAPABILITIES, "'computer' is no capability"), "fail", "computer"
    ),
    Row("toolkit.capabilities", "wrong-type", config(make_value(CAPABILITIES, None)), "skip"),
    Row("toolkit.cuda-compat-mode", "default", make_snapshot(), "pass"),
    Row("toolkit.cuda-compat-mode", "mount", config(make_value(COMPAT_MODE, "mount")), "warn"),
    Row("toolkit.cuda-compat-mode", "disabled", config(make_value(COMPAT_MODE, "disabled")), "info"),
    Row("toolkit.cuda-compat-mode", "no-hook", config(make_value(NO_COMPAT_HOOK, True)), "info"),
    Row("toolkit.skip-mode-detection", "off", make_snapshot(), "pass"),
    Row("toolkit.skip-mode-detection", "on", config(make_value(SKIP_DETECTION, True)), "info"),
    Row("toolkit.skip-mode-detection", "on-with-cdi", mode("cdi", make_value(SKIP_DETECTION, True)), "warn"),
    Row("toolkit.log-files", "off", make_snapshot(), "pass"),
    Row("toolkit.log-files", "on", config(logs=(log(),)), "warn", "is on"),
    Row("toolkit.log-files", "large", config(logs=(log(size_bytes=200 << 20),)), "warn", "grows without end"),
    Row("toolkit.log-files", "size-closed", config(logs=(log(size_bytes=DENIED),)), "warn"),
    Row("toolkit.log-files", "no-folder", config(logs=(log(folder_exists=False),)), "fail", "whose folder"),
    Row("toolkit.log-files", "folder-closed", config(logs=(log(folder_exists=DENIED),)), "unknown"),
    Row(
        "toolkit.log-files",
        "rootless",
        dataclasses.replace(config(logs=(log(),)), engines=(ROOTLESS,)),
        "warn",
        "alice's rootless engine",
    ),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in CHECKS}


def test_before_1_18_auto_means_the_hook() -> None:
    """Then the hook's programs are needed, and no-cgroups counts."""
    snapshot = dataclasses.replace(mode(hook=None), toolkit=make_tools("1.17.8"))
    (outcome,) = outcomes_of(CHECKS, "toolkit.hook-path", snapshot)
    assert outcome.status == "fail"
    assert outcome.message.startswith("the mode legacy needs")


@pytest.mark.parametrize(
    ("value", "fault", "command"),
    [
        ("/usr/sbin/ldconfig", "", f"ctk config set {LDCONFIG}=@/usr/sbin/ldconfig"),
        ("@/sbin/ldconfig.real", NO_LDCONFIG, f"ctk config set {LDCONFIG}=@/sbin/ldconfig"),
    ],
)
def test_the_remedy_names_the_ldconfig_that_is_there(value: str, fault: str, command: str) -> None:
    (outcome,) = outcomes_of(CHECKS, "toolkit.ldconfig", config(make_value(LDCONFIG, value, fault=fault)))
    assert outcome.remedy is not None
    assert [entry.text for entry in outcome.remedy.commands] == [command]


LOOP = LowLevelRuntime("runc", "/usr/bin/runc", "/usr/bin/runc", "nvidia-container-runtime")
CRUN = LowLevelRuntime("crun", "/usr/bin/crun", "/usr/bin/crun")
KEY = "nvidia-container-runtime.runtimes"


@pytest.mark.parametrize(
    ("identity", "snapshot", "commands"),
    [
        pytest.param("toolkit.runtime-loop", runtimes(LOOP, CRUN), [f"ctk config set {KEY}=/usr/bin/crun"], id="real"),
        pytest.param("toolkit.runtime-loop", runtimes(LOOP), ["apt-get install --reinstall runc"], id="none-is-real"),
        pytest.param(
            "toolkit.low-level-runtime",
            runtimes(LowLevelRuntime("runc", None)),
            ["apt-get install runc"],
            id="none-is-there",
        ),
        pytest.param(
            "toolkit.low-level-runtime",
            dataclasses.replace(
                config(make_value(KEY, ("/opt/runc",)), runtimes=(LowLevelRuntime("/opt/runc", None),)), packages=None
            ),
            [f"ctk config unset {KEY}", "apt-get install runc"],
            id="set-by-hand",
        ),
    ],
)
def test_the_remedy_names_no_runtime_that_is_the_fault(identity: str, snapshot: Snapshot, commands: list[str]) -> None:
    (outcome,) = outcomes_of(CHECKS, identity, snapshot)
    assert outcome.status == "fail"
    assert outcome.remedy is not None
    assert [entry.text for entry in outcome.remedy.commands] == commands
