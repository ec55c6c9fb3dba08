"""Reads /etc/ctk/doctor.toml: which findings this host's owner switched off, and until when; it judges no finding."""

from collections.abc import Mapping

from ctk.facts import Unknown
from ctk.facts.suppressions import Suppression, Suppressions
from ctk.host import Host
from ctk.host.reading import try_read_text

PATH = "/etc/ctk/doctor.toml"
TABLE = "suppress"
KEYS = ("id", "subject", "reason", "expires")


def collect_suppressions(host: Host) -> Suppressions | None | Unknown:
    """The file's rows; None without the file."""
    text = try_read_text(host, PATH)
    return parse_suppressions(text) if isinstance(text, str) else text


def parse_suppressions(text: str) -> Suppressions:
    """Rows that are whole; the others as faults. A file that is no TOML has one fault and no row."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Suppressions(path=PATH, rows=(), faults=(f"it is not valid TOML: {error}",))
    faults = [f"{name!r} means nothing here; rows are [[{TABLE}]]" for name in document if name != TABLE]
    members = document.get(TABLE, [])
    if not isinstance(members, list):
        return Suppressions(path=PATH, rows=(), faults=(*faults, f"{TABLE!r} is no list; write [[{TABLE}]]"))
    rows = []
    for number, member in enumerate(members, start=1):
        row = _parse_row(member)
        if isinstance(row, Suppression):
            rows.append(row)
        else:
            faults.append(f"row {number}: {row}")
    return Suppressions(path=PATH, rows=tuple(rows), faults=tuple(faults))


def _parse_row(member: object) -> Suppression | str:
    """The row, or what is wrong with it. A reason is asked for: without one nobody dares to take the row out again."""
    if not isinstance(member, Mapping):
        return "it is no table"
    unknown = [str(key) for key in member if key not in KEYS]
    if unknown:
        return f"{unknown[0]!r} means nothing here; keys are {', '.join(KEYS)}"
    identity, subject, reason = (member.get(key) for key in KEYS[:3])
    if not isinstance(identity, str) or not identity:
        return "it has no id"
    if not isinstance(reason, str) or not reason.strip():
        return f"{identity}: it has no reason"
    if subject is not None and not isinstance(subject, str):
        return f"{identity}: its subject is no text"
    expires = _parse_day(member.get("expires"))
    if isinstance(expires, Unknown):
        return f"{identity}: {expires.reason}"
    return Suppression(id=identity, subject=subject, reason=reason.strip(), expires=expires)


def _parse_day(value: object) -> str | None | Unknown:
    """A TOML date or a text of that form, as YYYY-MM-DD."""
    import datetime

    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        value = value.date()
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        return datetime.date.fromisoformat(str(value)).isoformat()
    except ValueError:
        return Unknown(f"expires is {value!r}, not a day such as 2027-01-31")
