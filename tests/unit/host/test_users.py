"""The people who may run rootless engines, and where their files are."""

import os
from pathlib import Path

import pytest

from ctk.host import LocalHost
from ctk.host.users import USER_LIMIT, collect_users, make_user, parse_passwd
from tests.conftest import NOBODY, AsNobody
from tests.unit.host.trees import plant

PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/usr/sbin:/usr/sbin/nologin
alice:x:1000:1000:Alice,,,:/home/alice/:/bin/bash
ghost:x:1001:1001::/nonexistent:/bin/bash
robot:x:1002:1002::/home/robot:/bin/false
broken:x:no
bob:x:1003:1003::/srv/bob:
"""


def test_people_are_told_from_system_accounts(tmp_path: Path) -> None:
    users = collect_users(plant(tmp_path, {"/etc/passwd": PASSWD}))
    assert users == (make_user("alice", 1000, "/home/alice"), make_user("bob", 1003, "/srv/bob"))
    assert (users[0].config, users[0].runtime) == ("/home/alice/.config", "/run/user/1000")


def test_host_without_passwd_has_no_users(tmp_path: Path) -> None:
    assert collect_users(plant(tmp_path, {"/etc/x": ""})) == ()


def test_number_of_homes_that_are_looked_into_is_limited(tmp_path: Path) -> None:
    lines = [f"u{uid}:x:{uid}:100::/home/u{uid}:/bin/sh" for uid in range(1000, 3000)]
    assert len(collect_users(plant(tmp_path, {"/etc/passwd": "\n".join(lines)}))) == USER_LIMIT + 1


@pytest.mark.parametrize(
    ("path", "expanded"),
    [
        ("$XDG_CONFIG_HOME/docker/daemon.json", "/home/alice/.config/docker/daemon.json"),
        ("$XDG_RUNTIME_DIR/docker.sock", "/run/user/1000/docker.sock"),
        ("$HOME/bin/dockerd", "/home/alice/bin/dockerd"),
        ("/etc/x", "/etc/x"),
        ("dockerd", "dockerd"),
    ],
)
def test_paths_of_a_row_are_expanded(path: str, expanded: str) -> None:
    assert make_user("alice", 1000, "/home/alice").expand(path) == expanded


def test_calling_user_comes_first_with_the_folders_of_the_environment(as_nobody: AsNobody) -> None:
    environment = {"HOME": "/home/me", "USER": "me", "XDG_CONFIG_HOME": "/conf/", "XDG_RUNTIME_DIR": "relative"}
    me = as_nobody(collect_users, LocalHost("/", environment=environment))[0]
    uid = NOBODY if os.geteuid() == 0 else os.geteuid()
    assert me.uid == uid
    assert me.config == "/conf"
    assert me.runtime == f"/run/user/{uid}"


def test_account_lines_are_parsed() -> None:
    assert [name for name, _, _ in parse_passwd(PASSWD)] == ["root", "alice", "bob"]
