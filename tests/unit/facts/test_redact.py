"""Nothing in a redacted snapshot names a person, a machine or a network; the rest is as it was."""

import json

import pytest

from ctk.facts.codec import snapshot_from_document, snapshot_to_document
from ctk.facts.redact import redact
from tests.builders import make_engine, make_flag, make_observer, make_snapshot


def redact_text(text: str, **changes: object) -> object:
    document = snapshot_to_document(make_snapshot(engines=(make_engine(config_origin=text),), **changes))
    engines = redact(document)["engines"]
    assert isinstance(engines, list)
    return engines[0]["config_origin"]


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("on gpu-node-7.example.org", "on host-1"),
        ("/srv/gpu-node-7/daemon.json", "/srv/host-1/daemon.json"),
        ("my-gpu-node-7 gpu-node-78", "my-gpu-node-7 gpu-node-78"),
        ("tcp://10.1.2.3:2375 and 10.1.2.3, 192.168.0.9", "tcp://address-1 and address-2, address-3"),
        ("listens on fe80::1 and 2001:db8::5", "listens on address-1 and address-2"),
        ("127.0.0.1 0.0.0.0 ::1", "127.0.0.1 0.0.0.0 ::1"),
        ("tcp://127.0.0.1:2375 unix:///run/x.sock fd://", "tcp://127.0.0.1:2375 unix:///run/x.sock fd://"),
        ("https://mirror.corp.example/x", "https://address-1/x"),
        ("at 12:34:56 of 1.2.3", "at 12:34:56 of 1.2.3"),
        ("GPU-5d3f0f2e-1b7c-4a3e-9c8d-0123456789ab", "GPU-uuid-1"),
        ("02:42:ac:11:00:02", "mac-1"),
        (
            "/home/alice/.config/x and /home/bob and /home/alice",
            "/home/user-1/.config/x and /home/user-2 and /home/user-1",
        ),
        ("/etc/docker/daemon.json", "/etc/docker/daemon.json"),
        ("", ""),
    ],
)
def test_text_is_redacted(text: str, redacted: str) -> None:
    assert redact_text(text) == redacted


def test_user_of_a_rootless_engine_goes_everywhere() -> None:
    engine = make_engine(installation="rootless", user="carol", config_path="/srv/carol/.config/docker/daemon.json")
    text = json.dumps(redact(snapshot_to_document(make_snapshot(engines=(engine,)))))
    assert "carol" not in text
    assert '"user": "user-1"' in text
    assert "/srv/user-1/.config" in text


def test_values_of_unknown_flags_go_and_known_ones_stay() -> None:
    flags = (
        make_flag(name="add-runtime", value="nvidia=/usr/bin/nvidia-container-runtime"),
        make_flag(name="label", value="rack=b7"),
        make_flag(name="tlsverify", value=""),
    )
    engines = redact(snapshot_to_document(make_snapshot(engines=(make_engine(flags=flags),))))["engines"]
    assert isinstance(engines, list)
    values = [flag["value"] for flag in engines[0]["flags"]]
    assert values == ["nvidia=/usr/bin/nvidia-container-runtime", "redacted", ""]


@pytest.mark.parametrize(
    ("context", "redacted"), [("desktop-linux", "desktop-linux"), ("prod-cluster", "context-1"), (None, None)]
)
def test_docker_context(context: str | None, redacted: str | None) -> None:
    assert redact(snapshot_to_document(make_snapshot(docker_context=context)))["docker_context"] == redacted


def test_versions_and_times_are_kept_although_they_look_like_addresses() -> None:
    unnamed = make_observer(boot_id=None)  # and no GPU of NVML's: UUIDs are made placeholders
    snapshot = make_snapshot(engines=(make_engine(version="1.2.3.4"),), host_name=None, observer=unnamed, nvml=None)
    assert snapshot_from_document(redact(snapshot_to_document(snapshot))) == snapshot


def test_redacting_twice_changes_nothing_more() -> None:
    snapshot = make_snapshot(engines=(make_engine(config_origin="on gpu-node-7 at 10.0.0.1 by /home/x/y"),))
    once = redact(snapshot_to_document(snapshot))
    assert redact(once) == once
    assert snapshot_from_document(once).host_name == "host-1"
