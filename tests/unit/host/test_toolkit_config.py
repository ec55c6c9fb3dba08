"""Which config.toml is in force, what looks like it, and the defaults of a distribution."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ctk.host.local import LocalHost
from ctk.host.toolkit_config import (
    DEFAULT_CONFIG,
    LOOK_ALIKES,
    ConfigLocation,
    collect_default_user,
    collect_ldconfig,
    collect_look_alikes,
    find_config,
)
from tests.conftest import AsNobody
from tests.unit.host.trees import Link, plant

ALL = {
    "NVIDIA_CTK_CONFIG_FILE_PATH": "/first.toml",
    "NVIDIA_CTK_CONFIG": "/second.toml",
    "XDG_CONFIG_HOME": "/xdg/",
}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in ALL.items() if name not in names}


@pytest.mark.parametrize(
    ("environment", "explicit", "expected"),
    [
        (ALL, "/opt.toml", ConfigLocation("/opt.toml", "option")),
        (ALL, None, ConfigLocation("/first.toml", "environment", "NVIDIA_CTK_CONFIG_FILE_PATH")),
        (
            without("NVIDIA_CTK_CONFIG_FILE_PATH"),
            None,
            ConfigLocation("/second.toml", "environment", "NVIDIA_CTK_CONFIG"),
        ),
        (
            {"XDG_CONFIG_HOME": "/xdg/", "HOME": "/root"},
            None,
            ConfigLocation("/xdg/nvidia-container-runtime/config.toml", "environment", "XDG_CONFIG_HOME"),
        ),
        ({"HOME": "/root"}, None, ConfigLocation(DEFAULT_CONFIG, "default")),
        (dict.fromkeys(ALL, ""), None, ConfigLocation(DEFAULT_CONFIG, "default")),
    ],
)
def test_the_file_in_force(environment: Mapping[str, str], explicit: str | None, expected: ConfigLocation) -> None:
    assert find_config(environment, explicit) == expected


@pytest.mark.parametrize("path", LOOK_ALIKES)
def test_a_look_alike_is_noticed(tmp_path: Path, path: str) -> None:
    host = plant(tmp_path, {path: "", DEFAULT_CONFIG: ""})
    assert collect_look_alikes(host, ConfigLocation(DEFAULT_CONFIG, "default")) == (path,)


def test_what_is_in_force_is_no_look_alike_by_whatever_name(tmp_path: Path) -> None:
    path = LOOK_ALIKES[0]
    host = plant(tmp_path, {DEFAULT_CONFIG: "", path: Link(DEFAULT_CONFIG)})
    assert collect_look_alikes(host, ConfigLocation(DEFAULT_CONFIG, "default")) == ()
    xdg = ConfigLocation("/xdg/nvidia-container-runtime/config.toml", "environment", "XDG_CONFIG_HOME")
    assert collect_look_alikes(host, xdg) == (DEFAULT_CONFIG, path)


def test_the_users_own_folder_is_a_look_alike(tmp_path: Path) -> None:
    path = "/home/a/.config/nvidia-container-runtime/config.toml"
    plant(tmp_path, {path: ""})
    host = LocalHost(str(tmp_path), environment={"HOME": "/home/a/"})
    assert collect_look_alikes(host, ConfigLocation(DEFAULT_CONFIG, "default")) == (path,)


def test_a_folder_that_is_closed_holds_no_look_alike(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path / "host", {LOOK_ALIKES[0]: ""})
    (tmp_path / "host/etc").chmod(0o700)
    assert as_nobody(collect_look_alikes, host, ConfigLocation(DEFAULT_CONFIG, "default")) == ()


def test_f60_ldconfig_real_only_where_it_is(tmp_path: Path) -> None:
    assert collect_ldconfig(plant(tmp_path, {"/sbin/ldconfig": ""})) == "@/sbin/ldconfig"
    assert collect_ldconfig(plant(tmp_path, {"/sbin/ldconfig.real": ""})) == "@/sbin/ldconfig.real"


@pytest.mark.parametrize(
    ("release", "user"),
    [
        ('ID=opensuse-leap\nID_LIKE="suse opensuse"\n', "root:video"),
        ("ID=sles\nID_LIKE=suse\n", "root:video"),
        ("ID=debian\n", ""),
        ('ID=x\nID_LIKE="susex"\n', ""),
        (None, ""),
    ],
)
def test_f64_root_video_on_suse_only(tmp_path: Path, release: str | None, user: str) -> None:
    assert collect_default_user(plant(tmp_path, {"/etc/os-release": release} if release else {})) == user
