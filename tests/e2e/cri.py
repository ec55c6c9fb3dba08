"""Runs a pod through containerd's CRI socket, as a kubelet would; speaks only the few calls that takes.

The messages are written by field number, from the public definition of runtime.v1 (kubernetes/cri-api, api.proto), so
no generated code and no protobuf library stand between the test and the socket.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Union

import grpc

Value = Union[int, str, bytes, "Message", Sequence[str | bytes]]
Message = Mapping[int, Value]

NODE_NETWORK = 2  # NamespaceMode.NODE: the host's network, so no CNI plugin is needed
EXITED = 2  # ContainerState.CONTAINER_EXITED


def encode(message: Message) -> bytes:
    """A message in protobuf's wire format."""
    return b"".join(_encode_field(number, value) for number, value in message.items())


def _encode_field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _encode_varint(number << 3) + _encode_varint(value)
    if isinstance(value, Mapping):
        value = encode(value)
    elif isinstance(value, str):
        value = value.encode()
    elif not isinstance(value, bytes):
        return b"".join(_encode_field(number, item) for item in value)
    return _encode_varint(number << 3 | 2) + _encode_varint(len(value)) + value


def _encode_varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def decode(data: bytes) -> dict[int, list[int | bytes]]:
    """Field number -> values, in order."""
    fields: dict[int, list[int | bytes]] = {}
    position = 0
    while position < len(data):
        key, position = _decode_varint(data, position)
        value: int | bytes
        if key & 7 == 0:
            value, position = _decode_varint(data, position)
        elif key & 7 == 2:
            length, position = _decode_varint(data, position)
            value, position = data[position : position + length], position + length
        else:
            raise ValueError(f"wire type {key & 7} is not used by the CRI messages read here")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _decode_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _text(fields: Mapping[int, Sequence[int | bytes]], number: int) -> str:
    value = fields.get(number, [b""])[0]
    assert isinstance(value, bytes)
    return value.decode()


def _number(fields: Mapping[int, Sequence[int | bytes]], number: int) -> int:
    value = fields.get(number, [0])[0]
    assert isinstance(value, int)
    return value


class Condition(NamedTuple):
    """One row of the runtime's status, such as RuntimeReady."""

    kind: str
    status: bool
    reason: str
    message: str


class PodResult(NamedTuple):
    """What one container did: its exit code and what it wrote."""

    exit_code: int
    output: str


class PodRequest(NamedTuple):
    """One container in one pod. logs is a folder on both sides; cgroup the parent's name; devices are CDI names."""

    image: str
    command: tuple[str, ...]
    logs: Path
    cgroup: str
    devices: tuple[str, ...] = ()


class CriError(Exception):
    """A call that the engine refused, with the engine's own words."""


class CriClient:
    """A context manager around one connection to a CRI socket."""

    def __init__(self, socket: Path) -> None:
        self._channel = grpc.insecure_channel(f"unix:{socket}")

    def __enter__(self) -> "CriClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def call(self, method: str, message: Message, service: str = "RuntimeService", seconds: float = 30.0) -> bytes:
        """One call; a refusal is CriError with the engine's message."""
        invoke = self._channel.unary_unary(f"/runtime.v1.{service}/{method}")
        try:
            answer = invoke(encode(message), timeout=seconds, wait_for_ready=True)
        except grpc.RpcError as error:
            raise CriError(f"{method}: {error.code().name}: {error.details()}") from error
        assert isinstance(answer, bytes)
        return answer

    def ask_version(self) -> str:
        """The engine's version, from the Version call."""
        return _text(decode(self.call("Version", {1: "v1"})), 3)

    def ask_conditions(self) -> list[Condition]:
        """The runtime's conditions (RuntimeReady, NetworkReady)."""
        status = decode(_bytes(decode(self.call("Status", {})), 1))
        rows = (decode(row) for row in status.get(1, []) if isinstance(row, bytes))
        return [Condition(_text(r, 1), bool(_number(r, 2)), _text(r, 3), _text(r, 4)) for r in rows]

    def list_image_names(self) -> list[str]:
        """The names of all images the CRI plugin knows."""
        images = decode(self.call("ListImages", {}, service="ImageService")).get(1, [])
        rows = (decode(image) for image in images if isinstance(image, bytes))
        return [name.decode() for row in rows for name in row.get(2, []) if isinstance(name, bytes)]

    def run_pod(self, handler: str, request: PodRequest) -> PodResult:
        """Runs one container in one pod through a runtime handler, waits for its end and removes both."""
        sandbox_config = _sandbox_config(request)
        answer = self.call("RunPodSandbox", {1: sandbox_config, 2: handler}, seconds=60.0)
        sandbox = _text(decode(answer), 1)
        try:
            return self._run_container(sandbox, sandbox_config, request)
        finally:
            self.call("StopPodSandbox", {1: sandbox}, seconds=60.0)
            self.call("RemovePodSandbox", {1: sandbox}, seconds=60.0)

    def _run_container(self, sandbox: str, sandbox_config: Message, request: PodRequest) -> PodResult:
        config: dict[int, Value] = {
            1: {1: "main"},
            2: {1: request.image},
            3: list(request.command),
            11: "main.log",
            15: {2: {3: {1: NODE_NETWORK}}},
        }
        if request.devices:
            config[17] = [encode({1: name}) for name in request.devices]
        created = self.call("CreateContainer", {1: sandbox, 2: config, 3: sandbox_config})
        container = _text(decode(created), 1)
        self.call("StartContainer", {1: container})
        status = next(self._follow(container))
        return PodResult(_number(status, 7), _read_cri_log(request.logs / "main.log"))

    def _follow(self, container: str, seconds: float = 30.0) -> Iterator[Mapping[int, Sequence[int | bytes]]]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = decode(_bytes(decode(self.call("ContainerStatus", {1: container})), 1))
            if _number(status, 3) == EXITED:
                yield status
            time.sleep(0.03)
        raise CriError(f"container {container} did not end within {seconds:.0f} s")


def _bytes(fields: Mapping[int, Sequence[int | bytes]], number: int) -> bytes:
    value = fields.get(number, [b""])[0]
    assert isinstance(value, bytes)
    return value


def _sandbox_config(request: PodRequest) -> Message:
    name = f"pod-{time.monotonic_ns()}"
    security: Message = {1: {1: NODE_NETWORK}}
    return {1: {1: name, 2: name, 3: "default"}, 3: str(request.logs), 8: {1: f"/{request.cgroup}", 2: security}}


def _read_cri_log(path: Path) -> str:
    """The container's own words, without the time, stream and flag that the CRI log format puts before each line."""
    if not path.exists():
        return ""
    return "".join(line.split(" ", 3)[3] + "\n" for line in path.read_text().splitlines())
