"""Every host in tests/hosts/ is discovered as its expected/snapshot.json says, and survives being saved."""

import json
import shutil
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.codec import snapshot_from_document, snapshot_to_document
from ctk.facts.snapshot import Snapshot
from ctk.host import LocalHost
from ctk.host.collect import collect
from tests.conftest import AsNobody, GoldenCheck

HOSTS = Path(__file__).parent / "hosts"


def has_snapshot(folder: Path) -> bool:
    """Hosts that are there for the doctor alone are more than a tree, or less: what differs from another one."""
    return (folder / "expected" / "snapshot.json").is_file() or not (folder / "host.toml").is_file()


NAMES = sorted(folder.name for folder in HOSTS.iterdir() if (folder / "rootfs").is_dir() and has_snapshot(folder))
OF_THE_RUN = ("taken_at", "ctk_version")


def look_at(root: Path) -> Snapshot:
    return collect(LocalHost(str(root), environment={"HOME": "/root"}))


def dump(snapshot: Snapshot) -> str:
    document = snapshot_to_document(snapshot)
    kept = {key: value for key, value in document.items() if key not in OF_THE_RUN}
    for engine in kept["engines"] if isinstance(kept["engines"], list) else ():
        for key in (
            "changed_at",
            "changed_path",
            "runtime_changed_at",
        ):  # a checkout's files have the time of the checkout
            engine["files"].pop(key, None)
    rights = kept["rights"]
    for place in rights["places"] if isinstance(rights, dict) and "places" in rights else ():
        place.pop("mode")  # of a checkout it is what its user's umask leaves
    return json.dumps(kept, indent=2, sort_keys=True) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_host_is_discovered_as_expected(name: str, assert_golden: GoldenCheck) -> None:
    assert_golden(HOSTS / name / "expected" / "snapshot.json", dump(look_at(HOSTS / name / "rootfs")))


@pytest.mark.parametrize("name", NAMES)
def test_host_survives_being_saved(name: str) -> None:
    snapshot = look_at(HOSTS / name / "rootfs")
    assert snapshot_from_document(json.loads(json.dumps(snapshot_to_document(snapshot)))) == snapshot


@pytest.mark.parametrize("name", sorted(folder.name for folder in HOSTS.iterdir() if folder.is_dir()))
def test_host_says_in_one_sentence_what_it_is(name: str) -> None:
    lines = (HOSTS / name / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    assert lines[0].endswith((".", ")."))


def test_no_secret_of_a_host_is_in_its_snapshot() -> None:
    text = dump(look_at(HOSTS / "docker-add-runtime" / "rootfs")) + dump(look_at(HOSTS / "k3s-and-docker" / "rootfs"))
    assert "splunk-token=***" in text
    assert not [secret for secret in ("d34db33f", "user:word", "notforanyone") if secret in text]


def test_unreadable_host_is_unknown_and_not_empty(
    tmp_path: Path, as_nobody: AsNobody, assert_golden: GoldenCheck
) -> None:
    root = tmp_path / "rootfs"
    shutil.copytree(HOSTS / "docker-config-file" / "rootfs", root, symlinks=True)
    root.chmod(0o755)
    folders = list(root.iterdir())
    for folder in folders:
        folder.chmod(0)
    try:
        snapshot = as_nobody(look_at, root)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert snapshot.system.kernel == Unknown("permission denied")
    assert_golden(HOSTS / "unreadable" / "expected" / "snapshot.json", dump(snapshot))
