"""`ctk info` end to end: screen, JSON, saving, and reading a snapshot in place of the machine."""

import json
from pathlib import Path

import pytest

from ctk.cli import run
from ctk.facts.codec import snapshot_from_document

HOST = Path(__file__).parents[2] / "hosts" / "docker-config-file" / "rootfs"


def read_json(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_screen_of_a_host_below_a_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--root", str(HOST)]) == 0
    output = capsys.readouterr()
    assert "  config   /srv/docker/daemon.json (exists)\n" in output.out
    assert (
        "  because  command line of pid 812, from /etc/systemd/system/docker.service.d/10-config.conf line 7"
        in output.out
    )
    assert "gpu-node-7" in output.out
    assert output.err == ""


def test_json_is_one_envelope_without_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--root", str(HOST), "info", "--json"]) == 0
    document = read_json(capsys)
    assert (document["command"], document["status"], document["exit_code"]) == ("info", "ok", 0)
    data = document["data"]
    assert isinstance(data, dict)
    assert data["host_name"] == "host-1"
    assert data["snapshot_version"] == "1.0"
    assert [engine["engine"] for engine in data["engines"]] == ["docker", "containerd"]


def test_names_stay_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--root", str(HOST), "--json", "--no-redact"]) == 0
    data = read_json(capsys)["data"]
    assert isinstance(data, dict)
    assert data["host_name"] == "gpu-node-7"


def test_saved_snapshot_replaces_the_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "host.json"
    assert run(["info", "--root", str(HOST), "--save", str(saved)]) == 0
    assert f"Saved the snapshot to {saved}" in capsys.readouterr().err
    snapshot = snapshot_from_document(json.loads(saved.read_text()))
    assert snapshot.host_name == "host-1"
    assert run(["info", "--snapshot", str(saved), "-v"]) == 0
    text = capsys.readouterr().out
    assert "/srv/docker/daemon.json (exists)" in text
    assert "host-1" in text
    assert "--containerd=/run/containerd/containerd.sock" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not a snapshot of ctk"),
        ("[]", "not a snapshot of ctk"),
        ('{"snapshot_version": "1.0", "engines": []}', "not a snapshot of ctk"),
        ('{"snapshot_version": "7.0"}', "it has version 7.0, this ctk reads up to 1"),
    ],
)
def test_bad_snapshot_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    saved = tmp_path / "host.json"
    saved.write_text(content)
    assert run(["info", "--snapshot", str(saved), "--json"]) == 3
    document = read_json(capsys)
    errors = document["errors"]
    assert isinstance(errors, list)
    assert words in errors[0]["message"]
    assert errors[0]["hint"]


def test_snapshot_that_cannot_be_saved_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "none" / "host.json"
    assert run(["info", "--root", str(HOST), "--save", str(target)]) == 3
    error = capsys.readouterr().err
    assert f"cannot write {target}: no such file or directory" in error
    assert "Nothing was changed" in error
