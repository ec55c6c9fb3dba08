"""The users of a host who may run a rootless engine, and their folders; it asks no directory service."""

import os
from collections.abc import Mapping

from ctk.host import Host
from ctk.host.reading import try_read_text
from ctk.record import Record

FIRST_USER = 1000
"""UID_MIN of login.defs(5) on all distributions that package the engines."""

USER_LIMIT = 200
"""More home folders are not looked into: on a login server most of them lie on the network."""


class User(Record):
    """One account, and its XDG folders as paths of the host."""

    name: str
    uid: int
    home: str
    config: str
    runtime: str

    def expand(self, path: str) -> str:
        """A path of a per-user row of INSTALLATIONS, for this user."""
        for variable, folder in (
            ("$XDG_CONFIG_HOME", self.config),
            ("$XDG_RUNTIME_DIR", self.runtime),
            ("$HOME", self.home),
        ):
            if path.startswith(variable + "/"):
                return folder + path[len(variable) :]
        return path


def collect_users(host: Host) -> tuple[User, ...]:
    """The calling user first, unless that is root; then the people in the host's passwd."""
    text = try_read_text(host, "/etc/passwd")
    accounts = parse_passwd(text) if isinstance(text, str) else ()
    caller = os.geteuid() if host.is_live else 0
    people = [make_user(*account) for account in accounts if account[1] >= FIRST_USER and account[1] != caller]
    if caller:
        people.insert(0, _calling_user(host.get_environment(), accounts, caller))
    return tuple(people[: USER_LIMIT + 1])


def parse_passwd(text: str) -> tuple[tuple[str, int, str], ...]:
    """(name, uid, home) of every account that has a home and may log in. passwd(5)."""
    accounts = []
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) != 7 or not fields[2].isdigit():
            continue
        has_home = fields[5].startswith("/") and fields[5].rstrip("/") not in ("", "/nonexistent")
        if has_home and not fields[6].endswith(("/nologin", "/false")):
            accounts.append((fields[0], int(fields[2]), fields[5].rstrip("/")))
    return tuple(accounts)


def make_user(name: str, uid: int, home: str) -> User:
    """A user whose folders are where the XDG base directory specification and systemd put them by default."""
    return User(name, uid, home, f"{home}/.config", f"/run/user/{uid}")


def _calling_user(environment: Mapping[str, str], accounts: tuple[tuple[str, int, str], ...], caller: int) -> User:
    known = {uid: make_user(name, uid, home) for name, uid, home in accounts}
    home = environment.get("HOME", "/nonexistent").rstrip("/") or "/nonexistent"
    user = known.get(caller, make_user(environment.get("USER", str(caller)), caller, home))
    return user._replace(
        config=_absolute(environment.get("XDG_CONFIG_HOME"), user.config),
        runtime=_absolute(environment.get("XDG_RUNTIME_DIR"), user.runtime),
    )


def _absolute(path: str | None, default: str) -> str:
    """The specification says that a relative path is to be ignored."""
    return path.rstrip("/") if path and path.startswith("/") and path != "/" else default
