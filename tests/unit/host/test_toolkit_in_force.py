"""The toolkit's configuration as its runtime finds it, whoever asks."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.engines import EngineFiles, EngineInstallation, EngineRuntime
from ctk.facts.toolkit_mode import ModeFacts
from ctk.facts.toolkit_setup import UNKNOWN_KEY, VALUE, ConfigFault, LogFile, LowLevelRuntime, ToolkitConfig
from ctk.host.system import collect_system
from ctk.host.toolkit_in_force import collect_toolkit_config
from tests.builders import make_engine
from tests.conftest import AsNobody
from tests.driver_builders import make_pci
from tests.unit.host.trees import Link, Program, plant

CONFIG = "/etc/nvidia-container-runtime/config.toml"
OPERATOR = "/usr/local/nvidia/toolkit"
RUNTIMES = "[nvidia-container-runtime]\nruntimes = [{}]\n"


def collect(
    tmp_path: Path, text: str | None = None, files: dict[str, str] | None = None, *engines: EngineInstallation
) -> ToolkitConfig:
    host = plant(tmp_path, {**({CONFIG: text} if text is not None else {}), **(files or {})})
    return collect_toolkit_config(host, collect_system(host), make_pci(), engines)


def starts(path: str) -> EngineInstallation:
    runtime = EngineRuntime("nvidia", path, "/etc/containerd/config.toml")
    return make_engine(engine="containerd", files=EngineFiles((runtime,), None, None))


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    found = collect(tmp_path)
    assert (found.path, found.exists, found.fault, found.problems) == (CONFIG, False, None, ())
    assert found.text("nvidia-container-cli.ldconfig") == "@/sbin/ldconfig"
    assert found.find("nvidia-container-runtime.runtimes") == (
        "nvidia-container-runtime.runtimes",
        ("runc", "crun"),
        False,
        "none of runc, crun was found on this host",
    )
    assert isinstance(found.mode, ModeFacts)
    assert (found.mode.configured, found.mode.has_pci_gpu) == ("auto", True)


def test_values_of_the_file_and_what_they_find(tmp_path: Path) -> None:
    text = '[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig.real"\nno-cgroups = true\nuser = "root:nobody-knows"\n'
    found = collect(tmp_path, text, {"/sbin/ldconfig": Program(""), "/etc/passwd": "root:x:0:0::/root:/bin/sh\n"})
    assert found.is_true("nvidia-container-cli.no-cgroups")
    ldconfig, user = found.find("nvidia-container-cli.ldconfig"), found.find("nvidia-container-cli.user")
    assert ldconfig is not None
    assert ldconfig.host_fault.endswith("but /sbin/ldconfig does: @/sbin/ldconfig")
    assert user is not None
    assert user.host_fault == "there is no group 'nobody-knows' on this host"


def test_a_broken_file_says_where(tmp_path: Path) -> None:
    found = collect(tmp_path, "[nvidia-container-cli]\nload-kmods = true\n/etc/alpha/sources.list\n")
    assert found.fault is not None
    assert isinstance(found.fault, ConfigFault)
    assert found.fault.line == 3
    assert CONFIG not in found.fault.text
    assert found.values == ()


def test_a_file_that_may_not_be_read(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {CONFIG: ""})
    (tmp_path / CONFIG.lstrip("/")).chmod(0)
    system = collect_system(host)
    assert as_nobody(collect_toolkit_config, host, system, None, ()).exists == Unknown("permission denied")


def test_problems_have_a_kind(tmp_path: Path) -> None:
    found = collect(tmp_path, 'mode = "cdi"\n\n[nvidia-container-runtime]\nmode = "cdj"\nlog-level = 3\n')
    assert [(item.kind, item.key, item.line) for item in found.problems] == [
        (VALUE, "nvidia-container-runtime.log-level", 5),
        (VALUE, "nvidia-container-runtime.mode", 4),
        (UNKNOWN_KEY, "mode", 1),
    ]
    assert found.text("nvidia-container-runtime.log-level") == "info"


def test_environment_values_are_not_kept(tmp_path: Path) -> None:
    found = collect(tmp_path, '[nvidia-container-cli]\nenvironment = ["TOKEN=secret", "B"]\n')
    row = found.find("nvidia-container-cli.environment")
    assert row is not None
    assert row.value == ("TOKEN", "B")
    assert "secret" not in repr(found.values)


def test_an_engine_that_starts_the_operators_copy_reads_the_operators_file(tmp_path: Path) -> None:
    path = f"{OPERATOR}/.config/nvidia-container-runtime/config.toml"
    files = {path: '[nvidia-container-cli]\nroot = "/run/nvidia/driver"\n'}
    found = collect(tmp_path, "", files, starts(f"{OPERATOR}/nvidia-container-runtime"))
    assert (found.path, found.text("nvidia-container-cli.root")) == (path, "/run/nvidia/driver")
    assert found.look_alikes == ()


def test_look_alikes_count_where_they_say_something_else(tmp_path: Path) -> None:
    text = "[nvidia-container-cli]\n"
    same, other = "/etc/nvidia-docker/config.toml", "/etc/nvidia/config.toml"
    found = collect(tmp_path, text, {same: text, other: "x = 1\n"})
    assert found.look_alikes == (other,)


def test_the_first_low_level_runtime_and_what_it_leads_to(tmp_path: Path) -> None:
    files = {
        "/usr/bin/runc": Link("/opt/wrap"),
        "/opt/wrap": Program('#!/bin/sh\nexec nvidia-container-runtime "$@"\n'),
        "/usr/bin/crun": Link("nvidia-container-runtime"),
        "/usr/bin/nvidia-container-runtime": Program("\x7fELF"),
        "/usr/bin/youki": Program("\x7fELF nvidia-container-runtime"),
    }
    found = collect(tmp_path, RUNTIMES.format('"runc", "crun", "youki", "kata"'), files)
    assert found.runtimes == (
        LowLevelRuntime("runc", "/usr/bin/runc", "/opt/wrap", "nvidia-container-runtime"),
        LowLevelRuntime("crun", "/usr/bin/crun", "/usr/bin/nvidia-container-runtime", "nvidia-container-runtime"),
        LowLevelRuntime("youki", "/usr/bin/youki", "/usr/bin/youki", ""),
        LowLevelRuntime("kata", None),
    )


def test_k3s_brings_a_runc_beside_its_containerd(tmp_path: Path) -> None:
    folder = "/var/lib/rancher/k3s/data/current/bin"
    engine = make_engine(engine="containerd", installation="k3s", binary=f"{folder}/containerd")
    found = collect(tmp_path, "", {f"{folder}/runc": Program("\x7fELF")}, engine)
    assert found.runtimes[0].path == f"{folder}/runc"


@pytest.mark.parametrize(("folder", "expected"), [("/var/log", True), ("/nowhere", False)])
def test_debug_logs(tmp_path: Path, folder: str, expected: bool) -> None:
    key = "nvidia-container-runtime.debug"
    text = f'[nvidia-container-runtime]\ndebug = "{folder}/x.log"\n'
    found = collect(tmp_path, text, {"/var/log/x.log": "line\n"})
    assert found.logs == (LogFile(key, f"{folder}/x.log", expected, 5 if expected else None),)
