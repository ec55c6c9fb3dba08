"""Asks a daemon on its unix socket whether it serves: Docker's ping, a gRPC greeting, a CRI call; changes nothing."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socket import socket

ANSWER_SECONDS = 2.0

# RFC 9113: the client's preface, an empty SETTINGS frame, and the frame types that matter here.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
_DATA, _HEADERS, _RESET, _SETTINGS, _GOAWAY = 0, 1, 3, 4, 7
_END_STREAM, _END_HEADERS = 1, 4
_CRI_VERSIONS = ("runtime.v1", "runtime.v1alpha2")  # containerd 1.6 and later; 1.5 and CRI-O before 1.23


def answers(path: str, protocol: str) -> bool:
    """Whether the daemon behind this socket answers. protocol: docker, or grpc for every gRPC server."""
    ask = docker_pings if protocol == "docker" else grpc_greets
    return ask(path)


def docker_pings(path: str) -> bool:
    """GET /_ping has status 200 (Docker Engine API, "Ping", the same without a version in the path)."""
    request = b"GET /_ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    reply = _exchange(path, request, lambda seen: b"\r\n" in seen)
    return reply.startswith(b"HTTP/1.") and reply.split(b"\r\n")[0].split(b" ")[1:2] == [b"200"]


def docker_has(path: str, runtimes: tuple[tuple[str, str], ...], default_runtime: str) -> bool:
    """Whether GET /info names these runtimes with these paths, and this default ("" = whichever)."""
    import json

    request = b"GET /info HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    reply = _exchange(path, request, lambda _: False)
    try:
        info = json.loads(reply.partition(b"\r\n\r\n")[2])
        known = info["Runtimes"]
        return all(known[name].get("path") == program for name, program in runtimes) and (
            default_runtime in ("", info["DefaultRuntime"])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def grpc_greets(path: str) -> bool:
    """An HTTP/2 server's first frame is SETTINGS (RFC 9113, 3.4)."""
    reply = _exchange(path, _PREFACE, lambda seen: len(seen) >= 9)
    return len(reply) >= 9 and reply[3] == _SETTINGS


def cri_serves(path: str) -> bool:
    """Whether RuntimeService/Version of the CRI comes back with a message: the plugin is loaded and initialised."""
    return any(_cri_call(path, f"/{version}.RuntimeService/Version") for version in _CRI_VERSIONS)


def _cri_call(path: str, method: str) -> bool:
    headers = b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value  # RFC 7541, 6.2.2: literal, not indexed
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", method.encode()),
            (b":authority", b"localhost"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )
    call = _PREFACE + _frame(_HEADERS, _END_HEADERS, headers) + _frame(_DATA, _END_STREAM, b"\0\0\0\0\0")
    reply = _exchange(path, call, lambda seen: _verdict(seen) is not None)
    return _verdict(reply) is True


def _frame(kind: int, flags: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + (1).to_bytes(4, "big") + payload


def _verdict(seen: bytes) -> bool | None:
    """True with the first message, False when the call ends without one, None while neither is known."""
    while len(seen) >= 9:
        length, kind, flags = int.from_bytes(seen[:3], "big"), seen[3], seen[4]
        if kind == _DATA:
            return length >= 5
        if kind in (_RESET, _GOAWAY) or (kind == _HEADERS and flags & _END_STREAM):
            return False
        seen = seen[9 + length :]
    return None


def _exchange(path: str, request: bytes, is_enough: Callable[[bytes], bool]) -> bytes:
    """What comes back until it is enough, the other side closes, or time is up; nothing where nobody listens."""
    import socket

    deadline = time.monotonic() + ANSWER_SECONDS
    seen = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(path.removeprefix("unix://"))
            connection.sendall(request)
            while not is_enough(seen) and (part := _receive(connection, deadline)):
                seen += part
    except OSError:
        return seen
    return seen


def _receive(connection: "socket", deadline: float) -> bytes:
    left = deadline - time.monotonic()
    if left <= 0:
        return b""
    connection.settimeout(left)
    return connection.recv(65536)
