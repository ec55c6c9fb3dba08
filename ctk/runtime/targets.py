"""Which engines, and which installation of each, a request means; decides, changes nothing."""

from typing import TYPE_CHECKING

from ctk.engines.installations import DROP_IN, GENERATED, INSTALLATIONS, MAIN, TEMPLATE, Installation
from ctk.errors import NotApplicable, UsageFault
from ctk.facts import Unknown
from ctk.record import Record
from ctk.runtime.request import DEFAULTS, ENGINE_NAMES, Request, check_drop_in

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.host import Host

ORDER = ("system", "snap", "k3s", "rke2", "microk8s", "k0s", "rootless")
OWNED_BY_DOCKER = ("docker", "docker-snap")
KUBERNETES_USERS = ("kubelet", "k3s", "rke2", "microk8s", "k0s", "nerdctl")


class Target(Record):
    """One installation of one engine, and where its configuration is.

    record None: nothing of the engine was found, its default places are taken. explicit: the user named the file.
    binary: the program that may be asked what it makes of the files, None if none may. named: the user named it.
    """

    engine: str
    installation: str
    config: str
    record: "EngineInstallation | None"
    explicit: bool = False
    binary: str | None = None
    named: bool = False

    @property
    def key(self) -> str:
        """Names the lock and the journal's subject."""
        if not self.explicit:
            return f"{self.engine}-{self.installation}"
        from zlib import crc32

        checksum = crc32(self.config.encode("utf-8", "surrogateescape"))
        return f"{self.engine}-{checksum:08x}"

    @property
    def row(self) -> Installation | None:
        """The table's row for this kind of installation."""
        for row in INSTALLATIONS:
            if (row.engine, row.name) == (self.engine, self.installation):
                return row
        return None

    @property
    def treatment(self) -> str:
        """How the configuration may be changed: main, drop-in, template or generated."""
        return self.row.treatment if self.row else MAIN

    @property
    def unit(self) -> str:
        """The systemd unit to restart."""
        unit = self.record.unit if self.record else None
        usual = self.row.units[0] if self.row and self.row.units else None
        defaults = DEFAULTS.get(self.engine)
        return (unit or usual or (defaults.unit if defaults else "")).removesuffix(".service")

    @property
    def socket(self) -> str:
        """The socket the engine answers on."""
        return (self.record.socket if self.record else None) or DEFAULTS[self.engine].socket


def choose_targets(host: "Host", request: Request) -> tuple[Target, ...]:
    """The installations that a request means. Raises NotApplicable if "auto" finds no engine, UsageFault."""
    if request.engine == "auto":
        return _choose_in_use(host)
    engine = request.engine or _default_engine(host, request)
    check_drop_in(request, engine)
    found = _installations(host, engine)
    if request.config is not None:
        return (_explicit(engine, request, found),)
    return (_pick(engine, request, found),)


def _installations(host: "Host", engine: str, *, with_users: bool = False) -> tuple["EngineInstallation", ...]:
    from ctk.host.engines import collect_installations

    found = collect_installations(host, engine, with_users=with_users)
    return tuple(record for record in found if record.installation not in OWNED_BY_DOCKER)


def _explicit(engine: str, request: Request, found: tuple["EngineInstallation", ...]) -> Target:
    """The file the user named; a binary is asked only if it was named too, or if its unit names that file."""
    config = request.config or ""
    record = next((item for item in found if item.config_path == config), None)
    name = record.installation if record else _name_of_row(engine, config)
    binary = request.executable or (_binary(record) if record else None)
    return Target(
        engine, name, config, record, explicit=record is None, binary=binary or None, named=bool(request.executable)
    )


def _name_of_row(engine: str, config: str) -> str:
    for row in INSTALLATIONS:
        if row.engine == engine and config in (row.config, *row.templates):
            return row.name
    return "custom"


def _binary(record: "EngineInstallation") -> str | None:
    return record.binary if isinstance(record.binary, str) else None


def _pick(engine: str, request: Request, found: tuple["EngineInstallation", ...]) -> Target:
    wanted = request.installation
    if wanted is not None:
        chosen = next((record for record in found if record.installation == wanted), None)
        if chosen is None:
            names = ", ".join(record.installation for record in found) or "none"
            raise UsageFault(f"no {wanted!r} installation of {engine} here", hint=f"Found: {names}.")
        return _target(engine, chosen, request)
    ordered = sorted(found, key=lambda record: (_rank(record.installation), record.installation))
    if ordered:
        return _target(engine, ordered[0], request)
    return Target(
        engine,
        "system",
        DEFAULTS[engine].config,
        None,
        binary=request.executable or None,
        named=bool(request.executable),
    )


def _rank(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _target(engine: str, record: "EngineInstallation", request: Request) -> Target:
    binary = request.executable or _binary(record)
    return Target(
        engine, record.installation, record.config_path, record, binary=binary, named=bool(request.executable)
    )


def may_ask(host: "Host", target: Target) -> bool:
    """Whether the engine's program may be run: on the live host, and not one that another user could have put there.

    Raises UsageFault for a program the user named that does not exist.
    """
    if not host.is_live or target.binary is None:
        return False
    if target.named:
        if not host.is_file(target.binary):
            raise UsageFault(
                f"--executable-path names {target.binary}, which is no file", hint="Name the engine's program."
            )
        return True
    from ctk.host.programs import why_not_trusted

    return not why_not_trusted(host, target.binary)


def _default_engine(host: "Host", request: Request) -> str:
    """Docker, as nvidia-ctk; but the only one with the named installation, or the only one where Docker is absent."""
    if request.installation is not None:
        found = {engine: _installations(host, engine) for engine in ENGINE_NAMES}
        names = [engine for engine in found if any(item.installation == request.installation for item in found[engine])]
        if len(names) == 1:
            return names[0]
    if _installations(host, "docker"):
        return "docker"
    others = [engine for engine in ENGINE_NAMES if engine != "docker" and _installations(host, engine)]
    return others[0] if len(others) == 1 and request.config is None else "docker"


def found_targets(host: "Host") -> tuple[Target, ...]:
    """Every installation of every engine that ctk can configure."""
    records = [record for engine in ENGINE_NAMES for record in _installations(host, engine)]
    return tuple(_target(record.engine, record, Request()) for record in records)


def _choose_in_use(host: "Host") -> tuple[Target, ...]:
    docker, crio = (_installations(host, engine) for engine in ("docker", "crio"))
    containerd = _installations(host, "containerd", with_users=True)
    used = [*docker, *(record for record in containerd if _is_in_use(record)), *crio]
    if not used:
        raise NotApplicable(
            "cannot find an engine in use: neither Docker, nor a containerd that is used on its own, nor CRI-O is here",
            hint="Install an engine, or name one with --runtime to treat its configuration all the same. "
            "Nothing was changed.",
        )
    return tuple(_target(record.engine, record, Request()) for record in used)


def _is_in_use(record: "EngineInstallation") -> bool:
    """Whether Kubernetes or nerdctl uses this containerd, or it stands alone; not if it only serves Docker."""
    if any(user in KUBERNETES_USERS for user in record.used_by):
        return True
    return not record.used_by


def other_users(host: "Host", target: Target) -> tuple[str, ...]:
    """Words about another installation of the same engine that the user may have meant."""
    if target.engine != "containerd" or target.explicit:
        return ()
    notes = []
    for record in _installations(host, "containerd", with_users=True):
        if record.installation != target.installation and _is_in_use(record):
            notes.append(
                f"this host also has the containerd of {record.installation} ({record.config_path}); for that one: "
                f"--installation {record.installation}"
            )
    return tuple(notes)


def containerd_version(host: "Host", target: Target) -> tuple[int, int] | None:
    """What this containerd says it is, as (major, minor); None where it may not be asked or does not say."""
    if target.binary is None or not may_ask(host, target):
        return None
    from ctk.host.engines import program_version

    version = program_version(host, "containerd", target.binary)
    numbers = version.split(".") if isinstance(version, str) else []
    is_number = len(numbers) > 1 and all(part.isdigit() for part in numbers[:2])
    return (int(numbers[0]), int(numbers[1])) if is_number else None


def is_known_missing(target: Target) -> bool:
    """Whether nothing of the engine was found."""
    if target.record is None:
        return True
    return target.record.binary is None and not isinstance(target.record.running, Unknown) and not target.record.running


__all__ = ["DROP_IN", "GENERATED", "MAIN", "TEMPLATE", "Target", "choose_targets", "is_known_missing", "other_users"]
