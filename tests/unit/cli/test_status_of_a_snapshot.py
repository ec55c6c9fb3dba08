"""`ctk --snapshot FILE runtime status` says what the machine itself would say."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.scene import CONTAINERD_V2, HostFolder, ctk


def _save(host: HostFolder, tmp_path: Path) -> str:
    file = str(tmp_path / "snapshot.json")
    assert host.ctk("info", "--save", file).code == 0
    return file


@pytest.mark.parametrize("configured", [False, True], ids=["as found", "configured"])
def test_a_snapshot_says_the_same(host: HostFolder, tmp_path: Path, configured: bool) -> None:
    host.engine("docker", '{"runtimes": {"crun": {"path": "/usr/bin/crun"}}, "default-runtime": "crun"}\n')
    host.engine("containerd", CONTAINERD_V2)
    host.engine("crio", "")
    if configured:
        for engine in ("docker", "containerd", "crio"):
            assert host.configure(engine, "--set-as-default").code == 0
    live = host.ctk("runtime", "status", "--json").json()["data"]

    recorded = ctk("--snapshot", _save(host, tmp_path), "runtime", "status", "--json").json()["data"]

    assert json.loads(json.dumps(live).replace(str(host.folder), "")) == recorded
    assert [row["registered"] for row in recorded["engines"]] == [configured] * 3


def test_a_broken_file_is_said_and_the_others_are_shown(host: HostFolder, tmp_path: Path) -> None:
    host.engine("docker", "{\n")
    host.engine("containerd", CONTAINERD_V2)
    answer = ctk("--snapshot", _save(host, tmp_path), "runtime", "status")
    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert "daemon.json" in answer.errors()[0]
    assert "containerd (system)" in answer.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--runtime=crio",), 4), (("--config=/etc/x.toml",), 2), (("--runtime=containerd",), 0)],
    ids=["no such engine", "a file", "one engine"],
)
def test_what_can_be_asked(host: HostFolder, tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    host.engine("containerd", CONTAINERD_V2)
    assert ctk("--snapshot", _save(host, tmp_path), "runtime", "status", *arguments).code == code
