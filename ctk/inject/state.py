"""Where the root of the container is that is being started: from the state that the engine hands to every hook."""

import os

from ctk.inject.document import parse_document
from ctk.inject.faults import InjectFault, cause_of
from ctk.inject.rootfs import read_all

DOCUMENT_LIMIT_BYTES = 64 << 20
STDIN = 0


def read_state(path: str) -> bytes:
    """The state from a file, or from stdin for "" and "-"."""
    try:
        if path in ("", "-"):
            return read_all(STDIN, DOCUMENT_LIMIT_BYTES)
        return _read_file(path)
    except OSError as error:
        raise InjectFault(f"cannot read the container's state from {path or 'stdin'}: {cause_of(error)}") from error


def find_root(state: bytes) -> str:
    """The root's absolute path: the state's own `root`, else root.path of the bundle's config.json."""
    document = _parse(state, "the container's state")
    bundle = _text(document, "bundle", "the container's state")
    root = _text(document, "root", "the container's state")
    if not root:
        if not bundle:
            raise InjectFault("cannot find the container's root: its state names no bundle")
        config = os.path.join(bundle, "config.json")
        root = _text(_section(_read_config(config), "root", config), "path", config) or "rootfs"
    root = os.path.join(bundle, root)
    if not os.path.isabs(root):
        raise InjectFault(f"cannot find the container's root: {root!r} is relative, and the state names no bundle")
    return os.path.normpath(root)


def _read_config(path: str) -> dict[str, object]:
    try:
        return _parse(_read_file(path), path)
    except OSError as error:
        raise InjectFault(f"cannot read {path}: {cause_of(error)}") from error


def _read_file(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_all(descriptor, DOCUMENT_LIMIT_BYTES)
    finally:
        os.close(descriptor)


def _parse(content: bytes, name: str) -> dict[str, object]:
    try:
        document = parse_document(content)
    except ValueError as error:
        raise InjectFault(f"cannot read {name}: it is no JSON document ({error})") from error
    if not isinstance(document, dict):
        raise InjectFault(f"cannot read {name}: it is no JSON object")
    return document


def _section(document: dict[str, object], key: str, name: str) -> dict[str, object]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise InjectFault(f"cannot read {name}: {key!r} is no object")
    return value


def _text(document: dict[str, object], key: str, name: str) -> str:
    value = document.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or "\0" in value:
        raise InjectFault(f"cannot read {name}: {key!r} is no path")
    return value
