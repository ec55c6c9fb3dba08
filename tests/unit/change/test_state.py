"""Where the state folder is, for root, users, and below --root."""

import pytest

from ctk.change.state import file_name_of, has_unfinished, state_directory
from tests.unit.change.scene import Scene


@pytest.mark.parametrize(
    ("root", "environment", "uid", "expected"),
    [
        ("/", {}, 0, "/var/lib/ctk"),
        ("", {}, 0, "/var/lib/ctk"),
        ("/srv/host", {}, 0, "/srv/host/var/lib/ctk"),
        ("/", {"CTK_STATE_DIR": "/data/ctk"}, 0, "/data/ctk"),
        ("/srv/host", {"CTK_STATE_DIR": "/data/ctk"}, 0, "/data/ctk"),
        ("/", {"HOME": "/home/ann"}, 1000, "/home/ann/.local/state/ctk"),
        ("/", {"HOME": "/home/ann", "XDG_STATE_HOME": "/state"}, 1000, "/state/ctk"),
        ("/", {"HOME": "/home/ann", "XDG_STATE_HOME": "relative"}, 1000, "/home/ann/.local/state/ctk"),
        ("/srv/host", {"XDG_STATE_HOME": "/state"}, 1000, "/srv/host/state/ctk"),
        ("/", {}, 4_000_000, "/.local/state/ctk"),
        ("/", {"CTK_STATE_DIR": ""}, 0, "/var/lib/ctk"),
    ],
)
def test_state_directory(root: str, environment: dict[str, str], uid: int, expected: str) -> None:
    assert state_directory(root, environment, uid) == expected


def test_has_unfinished_tells_by_a_folder_s_name(scene: Scene) -> None:
    assert not has_unfinished(str(scene.state))
    scene.apply()
    assert not has_unfinished(str(scene.state))
    (scene.state / "journal/20250101T000000.000000Z-00000000.pending").mkdir()
    assert has_unfinished(str(scene.state))


@pytest.mark.parametrize(
    ("key", "name"), [("containerd-system", "containerd-system"), ("../a/ß", "_a__"), ("", "_"), (".x", "x")]
)
def test_keys_become_plain_file_names(key: str, name: str) -> None:
    assert file_name_of(key) == name


def test_a_root_whose_links_lead_elsewhere_is_resolved_by_the_caller() -> None:
    assert state_directory("/srv/host", {}, 0, lambda path: f"/srv/host/real{path}") == "/srv/host/real/var/lib/ctk"
    assert state_directory("/srv/host", {"CTK_STATE_DIR": "/x"}, 0, lambda path: "never") == "/x"
