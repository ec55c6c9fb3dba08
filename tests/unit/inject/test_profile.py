"""update-application-profile: the mask is made of the container's own GPU nodes, and written where EGL reads it."""

import json
import os
import re
import stat

import pytest

from ctk.inject.profile import PROFILE_FILE, render_profile
from tests.unit.inject.container import Container

pytestmark = pytest.mark.real

HOOK = "update-application-profile"


def mask_of(text: str) -> int:
    found = re.search(r"EGLVisibleDGPUDevices\",(0x[0-9a-f]+)\]", text)
    assert found
    return int(found[1], 16)


def test_the_mask_has_a_bit_for_each_minor_number(container: Container) -> None:
    for name, minor in (("nvidia0", 0), ("nvidia5", 5), ("nvidia63", 63), ("nvidiactl", 255), ("nvidia-uvm", 7)):
        container.node(f"/dev/{name}", 195, minor)
    container.write("/dev/nvidia3", "no device")
    container.link("/dev/nvidia4", "nvidia0")
    container.done(HOOK)
    assert mask_of(container.read(PROFILE_FILE)) == 1 | 1 << 5 | 1 << 63
    path = container.root / PROFILE_FILE.lstrip("/")
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o555


def test_the_profile_is_one_that_applies_to_every_program() -> None:
    hexadecimal = render_profile(3).decode()
    document = json.loads(hexadecimal.replace("0x3", "3"))
    assert document == {
        "profiles": [{"name": "_container_", "settings": ["EGLVisibleDGPUDevices", 3]}],
        "rules": [{"pattern": [], "profile": "_container_"}],
    }


def test_a_second_run_touches_nothing_and_other_devices_are_taken_up(container: Container) -> None:
    container.node("/dev/nvidia0", 195, 0)
    container.done(HOOK)
    before = container.tree()
    container.done(HOOK)
    assert container.tree() == before
    container.node("/dev/nvidia1", 195, 1)
    container.done(HOOK)
    assert mask_of(container.read(PROFILE_FILE)) == 3


@pytest.mark.parametrize("has_dev", [True, False])
def test_without_a_gpu_nothing_is_written(container: Container, has_dev: bool) -> None:
    if has_dev:
        container.node("/dev/nvidiactl", 195, 255)
    before = container.tree()
    assert container.done(HOOK) == ""
    assert container.tree() == before


def test_a_minor_number_without_a_bit_is_told(container: Container) -> None:
    container.node("/dev/nvidia64", 195, 64)
    assert "minor number 64" in container.done(HOOK)
    assert not os.path.lexists(container.root / "etc")


def test_links_inside_the_root_are_followed(container: Container) -> None:
    container.node("/dev/nvidia0", 195, 0)
    container.folder_at("/data")
    container.link("/etc/nvidia", "/data")
    container.done(HOOK)
    assert mask_of(container.read("/data/nvidia-application-profiles-rc.d/10-container.conf")) == 1
