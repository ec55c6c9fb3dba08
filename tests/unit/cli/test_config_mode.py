"""`ctk config mode`: which mode holds, what auto means here, whether it can work, and the change of it."""

import pytest

from tests.unit.cli.config_scene import CONFIG, assert_untouched, with_config
from tests.unit.cli.scene import HostFolder

CSV = "/etc/nvidia-container-runtime/host-files-for-container.d/l4t.csv"


def make(host: HostFolder, *parts: str) -> None:
    """A host with these of: driver, hook, tool, spec, csv."""
    for part in parts:
        if part == "hook":
            host.program("/usr/bin/nvidia-container-runtime-hook")
            host.program("/usr/bin/nvidia-container-cli")
        elif part == "tool":
            host.program("/usr/bin/nvidia-ctk")
        elif part == "spec":
            host.put("/etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\n")
        elif part == "csv":
            host.put(CSV, "")
            host.put("/etc/nv_tegra_release", "# R35\n")
        else:
            host.put("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n")
            host.put("/usr/lib64/libnvidia-ml.so.1", "")


def test_what_auto_means_here_step_by_step(host: HostFolder) -> None:
    make(host, "driver", "tool")
    path = with_config(host)
    answer = host.ctk("config", "mode")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"mode auto ({path})",
        "",
        "auto is jit-cdi here:",
        "  is a mode configured? no: auto",
        "  does a container ask for CDI names only (vendor/class=name)? that one gets cdi; the others:",
        "  is this WSL? no",
        "  is this a Tegra system (Jetson) with its integrated GPU only? no",
        "  is the driver's NVML there? /usr/lib64/libnvidia-ml.so.1: jit-cdi: the runtime makes a CDI spec for each "
        "container (the hook, called by itself: legacy)",
        "",
        "Can jit-cdi work here?",
        "  yes is the driver there? /usr/lib64/libnvidia-ml.so.1",
        "  yes is the program for CDI hooks there? /usr/bin/nvidia-ctk",
    ]
    data = host.ctk("config", "mode", "--json").json()["data"]
    assert (data["mode"], data["resolved"], data["works"]) == ("auto", "jit-cdi", True)
    assert [step["holds"] for step in data["steps"]] == [False, None, False, False, True]
    assert [step["holds"] for step in data["checks"]] == [True, True]


@pytest.mark.parametrize(
    ("mode", "parts"),
    [("legacy", ("driver", "hook")), ("csv", ("csv",)), ("cdi", ("spec",)), ("jit-cdi", ("driver", "tool"))],
)
def test_a_mode_that_works_and_one_that_does_not(host: HostFolder, mode: str, parts: tuple[str, ...]) -> None:
    path = with_config(host)
    bare = host.ctk("config", "mode", mode, "--dry-run")
    assert bare.code == 0
    assert all(line.startswith(f"warning: mode {mode} cannot work here: ") for line in bare.warnings())
    assert bare.warnings()
    make(host, *parts)
    answer = host.ctk("config", "mode", mode, "--json").json()
    assert (answer["data"]["mode"], answer["data"]["resolved"], answer["data"]["works"]) == (mode, mode, True)
    assert answer["messages"] == []
    assert f'mode = "{mode}"' in path.read_text()
    assert host.ctk("config", "mode", "--check").code == 0


def test_check_asks_whether_the_mode_in_force_can_work(host: HostFolder) -> None:
    with_config(host)
    before = host.everything()
    answer = host.ctk("config", "mode", "--check")
    assert answer.code == 1
    assert "  NO  is the driver there? no libnvidia-ml.so.1 below the driver root" in answer.out
    assert_untouched(host, answer, before)


def test_check_of_a_mode_also_asks_whether_it_is_the_one_in_the_file(host: HostFolder) -> None:
    make(host, "spec")
    with_config(host)
    before = host.everything()
    pending = host.ctk("config", "mode", "cdi", "--check", "--json").json()
    assert (pending["exit_code"], pending["data"]["changed"], pending["data"]["works"]) == (1, True, True)
    assert_untouched(host, host.ctk("config", "mode", "cdi", "--check"), before)
    host.ctk("config", "mode", "cdi")
    assert host.ctk("config", "mode", "cdi", "--check").code == 0
    host.path("/etc/cdi/nvidia.yaml").unlink()
    broken = host.ctk("config", "mode", "cdi", "--check", "--json").json()
    assert (broken["exit_code"], broken["data"]["changed"], broken["data"]["works"]) == (1, False, False)


def test_a_mode_is_set_where_nobody_looks_at_the_host(host: HostFolder) -> None:
    answer = host.ctk("config", "mode", "cdi", "--no-host-checks")
    assert (answer.code, answer.err) == (0, "")
    assert 'mode = "cdi"' in host.path(CONFIG).read_text()
    shown = host.ctk("config", "mode", "--no-host-checks")
    assert shown.out == f"mode cdi ({host.path(CONFIG)})\n"
    data = host.ctk("config", "mode", "--no-host-checks", "--json").json()["data"]
    assert (data["mode"], data["resolved"], data["works"], data["steps"]) == ("cdi", None, None, [])


def test_f57_a_file_with_a_mode_that_is_none(host: HostFolder) -> None:
    host.put(CONFIG, '[nvidia-container-runtime]\nmode = "nvml"\n')
    answer = host.ctk("config", "mode")
    assert "is it a mode? 'nvml' is none; they are auto, legacy, csv, cdi, jit-cdi" in answer.out
    assert host.ctk("config", "mode", "--check").code == 1
    assert host.ctk("config", "mode", "--json").json()["data"]["resolved"] is None
    assert host.ctk("config", "mode", "auto").code == 0
    assert host.path(CONFIG).read_text() == '[nvidia-container-runtime]\nmode = "auto"\n'


def test_a_second_run_writes_nothing(host: HostFolder) -> None:
    host.ctk("config", "mode", "csv")
    before = host.everything()
    entries = host.entries()
    assert "nothing to do" in host.ctk("config", "mode", "csv").out
    assert host.everything() == before
    assert host.entries() == entries
