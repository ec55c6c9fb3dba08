"""Which file `ctk config` is about, and the form for a package's post-installation step."""

import os
import stat
from pathlib import Path

import pytest

from tests.conftest import AsNobody
from tests.unit.cli.config_scene import CONFIG, assert_untouched, with_config
from tests.unit.cli.scene import HostFolder, ctk
from tests.unit.toolkit.keys import corpus

MODE = "nvidia-container-runtime.mode"
DEFAULT = corpus("default.toml").replace("ldconfig.real", "ldconfig")
CDI = DEFAULT.replace('mode = "auto"', 'mode = "cdi"')


def test_the_file_in_force_is_chosen_by_variables_below_the_root(
    host: HostFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.put("/xdg/nvidia-container-runtime/config.toml", f"{MODE} = 'csv'\n")
    host.put("/one.toml", f"{MODE} = 'cdi'\n")
    host.put("/two.toml", f"{MODE} = 'legacy'\n")
    with_config(host)
    found = []
    for name, value in (
        ("XDG_CONFIG_HOME", "/xdg"),
        ("NVIDIA_CTK_CONFIG", "/two.toml"),
        ("NVIDIA_CTK_CONFIG_FILE_PATH", "/one.toml"),
    ):
        monkeypatch.setenv(name, value)
        data = host.ctk("config", "--json").json()["data"]
        assert (data["origin"], data["variable"]) == ("environment", name)
        found.append(host.ctk("config", "get", MODE).out.strip())
        assert data["file"].startswith(str(host.folder))
    assert found == ["csv", "legacy", "cdi"]
    assert host.ctk("config", "get", MODE, "-c", CONFIG).out == "auto\n"


def test_the_variable_counts_for_root_and_for_everyone(
    host: HostFolder, monkeypatch: pytest.MonkeyPatch, as_nobody: AsNobody
) -> None:
    host.put("/xdg/nvidia-container-runtime/config.toml", f"{MODE} = 'csv'\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    assert host.ctk("config", "get", MODE).out == "csv\n"
    assert as_nobody(host.ctk, "config", "get", MODE).out == "csv\n"


def test_look_alikes_are_named(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = host.put("/etc/nvidia-container-toolkit/config.toml", f"{MODE} = 'cdi'\n")
    path = with_config(host)
    for words in (("config",), ("config", "set", "disable-require"), ("config", "mode"), ("config", "validate")):
        assert f"warning: {wrong} is not read: the configuration in force is {path}" in host.ctk(*words).warnings()
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    said = host.ctk("config").warnings()
    xdg = host.path("/xdg/nvidia-container-runtime/config.toml")
    assert f"warning: {path} is not read: the configuration in force is {xdg} (XDG_CONFIG_HOME says so)" in said
    assert host.ctk("config", "-c", CONFIG).warnings() == []


def test_a_snapshot_holds_no_configuration(host: HostFolder) -> None:
    for words in (("config",), ("config", "get", MODE), ("config", "mode"), ("config", "set", "disable-require")):
        answer = host.ctk(*words, "--snapshot", "x.json")
        assert answer.code == 2
        assert "on a snapshot: it holds no file of the toolkit's" in answer.err


# After an installation -----------------------------------------------------------------------------------------------

POST_INSTALL = ("config", "default", "--if-missing", "--in-place")


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o000])
def test_f53_post_install_makes_readable_files_under_any_umask(host: HostFolder, mask: int) -> None:
    before = os.umask(mask)
    try:
        assert host.ctk(*POST_INSTALL).code == 0
    finally:
        os.umask(before)
    path = host.path(CONFIG)
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o644, 0o755, 0o755]
    assert path.read_text() == DEFAULT
    done = host.everything()
    again = host.ctk(*POST_INSTALL)
    assert (again.code, again.out) == (0, f"{path} exists and is left as it is.\n")
    assert host.everything() == done


F52 = '[nvidia-container-cli]\nload-kmods = true\nldconfig = "@/sbin/ldconfig\n\n/etc/alpha/sources.list\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (F52, "line 3, column"),
        (DEFAULT + "\n/etc/alpha/sources.list\n", "line 42, column 1"),
        ("nvidia-container-cli = 5\n", "nvidia-container-cli: it must be a table"),
        ("[nvidia-container-runtime]\nmode = 'x'\n", "it must be one of"),
        ("\0\0", "NUL"),
    ],
)
def test_f52_post_install_goes_on_with_a_broken_file(host: HostFolder, content: str, words: str) -> None:
    path = host.put(CONFIG, content)
    before = host.everything()
    answer = host.ctk(*POST_INSTALL)
    assert answer.code == 0
    assert words in answer.err
    assert str(path) in answer.err
    assert_untouched(host, answer, before)
    document = host.ctk(*POST_INSTALL, "--json").json()
    assert (document["status"], document["data"]["changed"]) == ("ok", False)


def test_post_install_can_be_quiet(host: HostFolder) -> None:
    answer = host.ctk(*POST_INSTALL, "--quiet", "--no-journal")
    assert (answer.out, answer.err) == (f"{host.path(CONFIG)}: created.\n", "")


def test_post_install_to_another_file(host: HostFolder) -> None:
    assert host.ctk("config", "default", "--if-missing", "--output", "/opt/c.toml").code == 0
    host.put("/opt/c.toml", "x = 1\n")
    assert host.ctk("config", "default", "--if-missing", "--output", "/opt/c.toml").code == 0
    assert host.path("/opt/c.toml").read_text() == "x = 1\n"
    assert not host.path(CONFIG).exists()


def test_a_link_is_followed_and_modes_stay(host: HostFolder) -> None:
    real = host.put("/srv/config.toml", corpus("default.toml"), mode=0o640)
    path = host.path(CONFIG)
    path.parent.mkdir(parents=True)
    path.symlink_to("/srv/config.toml")
    assert host.ctk("config", "set", f"{MODE}=cdi").code == 0
    assert path.is_symlink()
    assert 'mode = "cdi"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_help_and_no_host(tmp_path: Path) -> None:
    assert "Examples:" in ctk("config", "--help").out
    assert ctk("--root", str(tmp_path / "none"), "config").code == 2
