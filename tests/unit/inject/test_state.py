"""Where the container's root is: from the state's own field, else from the bundle's config.json."""

import json
import os
from pathlib import Path

import pytest

from ctk.inject.faults import InjectFault
from ctk.inject.state import find_root


def bundle(tmp_path: Path, config: object) -> bytes:
    (tmp_path / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return json.dumps({"ociVersion": "1.0.2", "bundle": str(tmp_path)}).encode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("rootfs", "{}/rootfs"), ("/merged", "/merged"), ("../x/./y", "{}/../x/y"), ("", "{}/rootfs")],
)
def test_the_bundles_root_may_be_relative(tmp_path: Path, path: str, expected: str) -> None:
    state = bundle(tmp_path, {"root": {"path": path}})
    assert find_root(state) == os.path.normpath(expected.format(tmp_path))


def test_the_states_own_root_comes_first(tmp_path: Path) -> None:
    assert find_root(json.dumps({"bundle": str(tmp_path), "root": "/merged"}).encode()) == "/merged"
    assert find_root(json.dumps({"bundle": str(tmp_path), "root": "merged"}).encode()) == f"{tmp_path}/merged"


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("", "no JSON document"),
        ("[" * 100_000, "no JSON document"),
        ("[]", "no JSON object"),
        ("{}", "names no bundle"),
        ('{"root": "x"}', "is relative"),
        ('{"bundle": 5}', "'bundle' is no path"),
        ('{"bundle": "/nowhere/at/all"}', "cannot read /nowhere/at/all/config.json: No such file or directory"),
        ('{"root": "/a\\u0000b"}', "'root' is no path"),
    ],
)
def test_a_state_without_a_root_says_what_is_wrong(state: str, cause: str) -> None:
    with pytest.raises(InjectFault, match=cause):
        find_root(state.encode())


@pytest.mark.parametrize("config", ["{", "[]", "{}", '{"root": "x"}', '{"root": {"path": 5}}'])
def test_a_config_without_a_root_says_which_file(tmp_path: Path, config: str) -> None:
    with pytest.raises(InjectFault, match=r"config\.json"):
        find_root(bundle(tmp_path, config))
