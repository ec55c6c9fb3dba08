"""Flags are read as each daemon's own parser reads them, and secrets never leave the host."""

import pytest

from ctk.engines.installations import get_daemon
from ctk.facts.engines import EngineFlag
from ctk.host.flags import describe_origin, last_value, mask_secrets, parse_flags
from ctk.host.unit_text import Word


def parse(engine: str, *words: str) -> list[tuple[str, str]]:
    flags = parse_flags([Word(word, "/unit", 3) for word in words], get_daemon(engine))
    assert all((flag.origin, flag.line) == ("/unit", 3) for flag in flags)
    return [(flag.name, flag.value) for flag in flags]


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["dockerd"], []),
        (["dockerd", "-H", "fd://"], [("host", "fd://")]),
        (["dockerd", "-Hunix:///x"], [("host", "unix:///x")]),
        (["dockerd", "-H=unix:///x"], [("host", "unix:///x")]),
        (["dockerd", "-DH", "fd://"], [("debug", ""), ("host", "fd://")]),
        (["dockerd", "-D=false", "--debug=true"], [("debug", "false"), ("debug", "true")]),
        (
            ["dockerd", "--add-runtime", "a=/b", "--add-runtime=c=/d"],
            [("add-runtime", "a=/b"), ("add-runtime", "c=/d")],
        ),
        (["dockerd", "--iptables", "--config-file="], [("iptables", ""), ("config-file", "")]),
        (["dockerd", "stray", "--x", "-", "--", "--y"], [("x", "")]),
        (
            ["dockerd", "-p", "/run/d.pid", "-s", "overlay2"],
            [("pidfile", "/run/d.pid"), ("storage-driver", "overlay2")],
        ),
        (["dockerd", "-", "-=x"], [("=", "x")]),
        ([], []),
    ],
)
def test_docker_flags(words: list[str], flags: list[tuple[str, str]]) -> None:
    assert parse("docker", *words) == flags


@pytest.mark.parametrize(
    ("engine", "words", "flags"),
    [
        ("containerd", ["containerd", "-c", "/a"], [("config", "/a")]),
        ("containerd", ["containerd", "-config=/a", "-a", "/s"], [("config", "/a"), ("address", "/s")]),
        ("containerd", ["containerd", "--config", "/a", "--address=/s"], [("config", "/a"), ("address", "/s")]),
        ("crio", ["crio", "-d", "/d", "--enable-metrics"], [("config-dir", "/d"), ("enable-metrics", "")]),
        ("crio", ["crio", "-c=/a", "--listen", "/s"], [("config", "/a"), ("listen", "/s")]),
    ],
)
def test_flags_with_one_dash(engine: str, words: list[str], flags: list[tuple[str, str]]) -> None:
    assert parse(engine, *words) == flags


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ("splunk-token=abc", "splunk-token=***"),
        ("env=A,gcp-API_KEY=abc", "env=A,gcp-API_KEY=***"),
        ("https://user:word@mirror/x", "https://***@mirror/x"),
        ("nvidia=/usr/bin/nvidia-container-runtime", "nvidia=/usr/bin/nvidia-container-runtime"),
        ("token=", "token="),
        ("user@host", "user@host"),
    ],
)
def test_secrets_are_masked(value: str, masked: str) -> None:
    assert mask_secrets(value) == masked


def test_last_flag_counts() -> None:
    flags = [EngineFlag(name="config", value=value, origin="/unit") for value in ("/a", "/b")]
    assert last_value(flags, "config") == flags[1]
    assert last_value(flags, "other") is None
    assert last_value(flags, "") is None


def test_origin_is_said_in_words() -> None:
    assert describe_origin(EngineFlag(name="config", value="", origin="/etc/x", line=2)) == "/etc/x line 2 (--config)"
    assert describe_origin(EngineFlag(name="config", value="", origin="the shell")) == "the shell (--config)"
