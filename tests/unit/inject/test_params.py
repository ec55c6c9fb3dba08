"""disable-device-node-modification: the container reads another answer, cannot change it, nothing is left behind."""

from pathlib import Path

import pytest

from tests.unit.inject.container import Container, Mount, Ran

pytestmark = pytest.mark.real

HOOK = "disable-device-node-modification"
FOLDER = "/proc/driver/nvidia"
FILE = f"{FOLDER}/params"
HOST_TEXT = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\n"
MS_BIND = 4096


def run(
    container: Container,
    tmp_path: Path,
    text: str | None,
    container_text: str | None = HOST_TEXT,
    forbid: tuple[str, ...] = (),
) -> Ran:
    """With these parameters on the host and in the container."""
    driver = tmp_path / "driver"
    driver.mkdir()
    if text is not None:
        (driver / "nvidia").mkdir()
        (driver / "nvidia" / "params").write_text(text)
    if container_text is not None:
        container.write(FILE, container_text)
    mount: Mount = (str(driver), "/proc/driver", "", MS_BIND)
    return container.run(HOOK, mounts=[mount], look_at=[FILE] if container_text is not None else [], forbid=forbid)


def test_the_container_sees_a_changed_copy_that_is_read_only(container: Container, tmp_path: Path) -> None:
    ran = run(container, tmp_path, HOST_TEXT)
    assert ran.code == 0
    lines = ran.output.splitlines()
    assert lines[0] == f"content {HOST_TEXT.replace('Files: 1', 'Files: 0')!r}"
    assert lines[1] == "not writable: Read-only file system"
    (mount,) = lines[2:]
    assert mount.split()[1] == str(container.root / FILE.lstrip("/"))
    assert {"ro", "nosuid", "nodev", "noexec"} <= set(mount.split()[2].split(","))


def test_nothing_is_left_in_the_root(container: Container, tmp_path: Path) -> None:
    container.write(FILE, HOST_TEXT)
    before = container.tree()
    run(container, tmp_path, HOST_TEXT)
    assert container.tree().keys() == before.keys()
    assert container.read(FILE) == HOST_TEXT


@pytest.mark.parametrize("text", [None, HOST_TEXT.replace("Files: 1", "Files: 0"), "NotModifyDeviceFiles: 1\n"])
def test_there_may_be_nothing_to_do(container: Container, tmp_path: Path, text: str | None) -> None:
    ran = run(container, tmp_path, text)
    assert ran.code == 0
    assert ran.output.splitlines() == [f"content {HOST_TEXT!r}", "writable"]


def test_a_container_without_the_file_starts_with_a_warning(container: Container, tmp_path: Path) -> None:
    ran = run(container, tmp_path, HOST_TEXT, None)
    assert ran.code == 0
    assert f"the container has no {FILE}" in ran.output


def test_a_second_hook_of_the_same_kind_finds_it_done(container: Container, tmp_path: Path) -> None:
    changed = HOST_TEXT.replace("Files: 1", "Files: 0")
    ran = run(container, tmp_path, HOST_TEXT, changed)
    assert ran.output.splitlines() == [f"content {changed!r}", "writable"]


def test_an_engine_that_forbids_mounts_starts_the_container_without(container: Container, tmp_path: Path) -> None:
    ran = run(container, tmp_path, HOST_TEXT, forbid=("mount",))
    assert ran.code == 0
    assert "lets no hook mount anything" in ran.output
    assert container.read(FILE) == HOST_TEXT


@pytest.mark.parametrize("no_openat2", [False, True])
def test_a_link_of_the_image_into_a_volume_hides_nothing_there(
    container: Container, tmp_path: Path, no_openat2: bool
) -> None:
    """Without a /proc of its own the image says where /proc/driver is; a shared volume would carry the mount home."""
    volume = tmp_path / "volume"
    (volume / "nvidia").mkdir(parents=True)
    (volume / "nvidia" / "params").write_text(HOST_TEXT)
    container.folder_at("/data")
    container.link("/proc/driver", "/data")
    mount: Mount = (str(volume), str(container.root / "data"), "", MS_BIND)
    driver: Mount = (str(volume), "/proc/driver", "", MS_BIND)
    ran = container.run(HOOK, mounts=[driver, mount], look_at=["/data/nvidia/params"], no_openat2=no_openat2)
    assert ran.code == 0
    assert "a link in the image leads into a volume, /data/nvidia" in ran.output
    assert f"content {HOST_TEXT!r}" in ran.output
