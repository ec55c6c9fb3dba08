"""Takes out of a snapshot's document what names a person, a machine or a network; it changes no other value."""

import ipaddress
import re
from collections.abc import Mapping

KEPT_KEYS = frozenset(
    {
        "snapshot_version",
        "taken_at",
        "ctk_version",
        "version",
        "kernel",
        "architecture",
        "distribution_version",
        "running_since",
    }
)
"""Version numbers and times look like addresses and are none."""

KNOWN_CONTEXTS = frozenset({"default", "desktop-linux", "rootless", "colima", "orbstack"})

KEPT_FLAGS = frozenset(
    {
        "add-runtime",
        "address",
        "bridge",
        "cdi-spec-dir",
        "cdi-spec-dirs",
        "cgroup-manager",
        "config",
        "config-dir",
        "config-file",
        "containerd",
        "containerd-namespace",
        "data-root",
        "debug",
        "default-cgroupns-mode",
        "default-runtime",
        "exec-opt",
        "exec-root",
        "experimental",
        "group",
        "host",
        "init",
        "iptables",
        "ip6tables",
        "listen",
        "log-driver",
        "log-level",
        "pidfile",
        "root",
        "seccomp-profile",
        "selinux-enabled",
        "snapshotter",
        "state",
        "storage-driver",
        "userland-proxy",
        "userns-remap",
    }
)
"""Flags whose values say how the engine works. The value of any other may be a label, a mirror, a token: it goes."""

UUID = re.compile(r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
MAC = re.compile(r"(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")
ADDRESS = re.compile(r"(?i)(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w:]|\.\d)")
URL_HOST = re.compile(r"(?<=://)(?!/)[^/\s,]+")
HOME = re.compile(r"(?<=/home/)[^/\s:]+")


def redact(document: Mapping[str, object]) -> dict[str, object]:
    """The same document with placeholders; equal values get equal ones, numbered in the order they occur."""
    return _Redactor(document).redact_mapping(document)


class _Redactor:
    """Remembers which placeholder stands for what while one document is gone through."""

    def __init__(self, document: Mapping[str, object]) -> None:
        self.names: dict[str, dict[str, str]] = {}
        self.words: dict[str, str] = {}
        host = document.get("host_name")
        if isinstance(host, str) and host not in ("", "localhost"):
            self.words = {host: "host-1", host.partition(".")[0]: "host-1"}
        engines = document.get("engines")
        for engine in engines if isinstance(engines, list) else []:
            user = engine.get("user") if isinstance(engine, Mapping) else None
            if isinstance(user, str):
                self.placeholder("user", user)

    def placeholder(self, kind: str, value: str) -> str:
        known = self.names.setdefault(kind, {})
        return known.setdefault(value, f"{kind}-{len(known) + 1}")

    def redact_mapping(self, mapping: Mapping[str, object]) -> dict[str, object]:
        if "origin" in mapping and "value" in mapping and mapping.get("name") not in KEPT_FLAGS:
            mapping = {**mapping, "value": "redacted" if mapping["value"] else ""}
        return {key: value if key in KEPT_KEYS else self._redact(key, value) for key, value in mapping.items()}

    def _redact(self, key: str, value: object) -> object:
        if isinstance(value, Mapping):
            return self.redact_mapping(value)
        if isinstance(value, list):
            return [self._redact(key, item) for item in value]
        if not isinstance(value, str):
            return value
        if key == "user":
            return self.placeholder("user", value)
        if key == "docker_context" and value not in KNOWN_CONTEXTS:
            return self.placeholder("context", value)
        return self._redact_text(value)

    def _redact_text(self, text: str) -> str:
        text = UUID.sub(lambda found: self.placeholder("uuid", found.group().lower()), text)
        text = MAC.sub(lambda found: self.placeholder("mac", found.group().lower()), text)
        text = URL_HOST.sub(lambda found: self._server(found.group()), text)
        text = ADDRESS.sub(lambda found: self._address(found.group()), text)
        text = HOME.sub(lambda found: self.placeholder("user", found.group()), text)
        for name, stand_in in self.names.get("user", {}).items():
            text = re.sub(rf"(?<=/){re.escape(name)}(?=/|$)", stand_in, text)
        for word, stand_in in self.words.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", stand_in, text)
        return text

    def _server(self, host: str) -> str:
        name = host.rpartition("@")[2]
        bare = name.rpartition(":")[0] or name
        return name if bare == "localhost" or _is_local(bare) else self.placeholder("address", name)

    def _address(self, text: str) -> str:
        """Only what is an address goes; one that means the machine itself tells nothing and stays."""
        try:
            ipaddress.ip_address(text)
        except ValueError:
            return text
        return text if _is_local(text) else self.placeholder("address", text)


def _is_local(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
