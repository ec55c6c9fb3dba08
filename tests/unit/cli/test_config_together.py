"""Several runs of `ctk config` at once: none of them loses what another has written."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.config_scene import CONFIG, with_config
from tests.unit.cli.scene import HostFolder

CHECKOUT = Path(__file__).parents[3]
FEATURES = (
    "disable-cuda-compat-lib-hook",
    "disable-imex-channel-creation",
    "ignore-imex-channel-requests",
    "no-additional-gids-for-device-nodes",
)


def start(host: HostFolder, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ctk", "--root", str(host.folder), "config", *arguments]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(*children: "subprocess.Popen[str]") -> None:
    for child in children:
        output, _ = child.communicate(timeout=60)
        assert child.returncode == 0, output


@pytest.mark.real
def test_peer_fault_21_no_update_is_lost(host: HostFolder) -> None:
    path = with_config(host)
    finish(*(start(host, "set", f"features.{name}") for name in FEATURES))
    assert tomllib.loads(path.read_text())["features"] == dict.fromkeys(FEATURES, True)
    assert len(host.entries()) == len(FEATURES)


@pytest.mark.real
def test_a_default_file_never_replaces_one_that_comes_meanwhile(host: HostFolder) -> None:
    default = ("default", "--if-missing", "--in-place")
    finish(start(host, *default), start(host, "set", "disable-require"), start(host, *default))
    assert tomllib.loads(host.path(CONFIG).read_text())["disable-require"] is True
