"""The container engines installed on a host, and the configuration each one really reads; it changes none."""

import os
from collections.abc import Sequence

from ctk.engines.installations import DAEMONS, DROP_IN, INSTALLATIONS, K0S_MARKER, Installation, get_daemon
from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.host import Host
from ctk.host.config_files import (
    FileSet,
    collect_conf_files,
    collect_containerd_files,
    collect_crio_files,
    collect_docker_socket,
    collect_toml_files,
    config_exists,
    first_unix_socket,
    import_directories,
)
from ctk.host.daemons import DaemonView, collect_daemon, is_same_file
from ctk.host.flags import describe_origin
from ctk.host.processes import Process, collect_processes
from ctk.host.programs import collect_version, find_program
from ctk.host.reading import try_exists, try_read_text
from ctk.host.units import collect_unit
from ctk.host.users import User, collect_users, parse_passwd

DAEMON_NAMES = tuple(daemon.process for daemon in DAEMONS)
NOT_ASKED = Unknown("not asked")


def collect_installations(
    host: Host,
    engine: str | None = None,
    processes: Sequence[Process] | Unknown | None = None,
    *,
    with_users: bool = True,
) -> tuple[EngineInstallation, ...]:
    """Every installed engine, or every installation of one; no program is run, so versions are "not asked".

    processes: those that were collected already, to look at /proc once only. with_users: find out who uses which, for
    which the kubelet and nerdctl are looked at too. An engine is installed when its binary,
    its unit or one of its markers is there, or when it runs.
    """
    if processes is None:
        names = DAEMON_NAMES if engine is None else (get_daemon(engine).process,)
        processes = collect_processes(host, names)
    users = collect_users(host)
    wanted = {engine} if engine else {row.engine for row in INSTALLATIONS}
    # Who uses containerd cannot be said without knowing Docker.
    needed = wanted | {"docker"} if with_users and "containerd" in wanted else wanted
    found = [
        installation
        for row in INSTALLATIONS
        if row.engine in needed
        for user in (users if row.per_user else (None,))
        if (installation := _collect_installation(host, row, user, processes)) is not None
    ]
    if with_users:
        from ctk.host.engine_users import add_users

        found = [item for item in add_users(host, found) if item.engine in wanted]
    return tuple(found)


def engine_version(host: Host, installation: EngineInstallation) -> str | None | Unknown:
    """What the engine's binary says; Unknown with the reason where it may not be run or does not answer in time."""
    if not isinstance(installation.binary, str):
        return installation.binary
    return collect_version(host, installation.binary)


def program_version(host: Host, engine: str, binary: str) -> str | None | Unknown:
    """The version of a binary that was found or named otherwise; None when it belongs to another program."""
    version = collect_version(host, binary)
    return version if os.path.basename(binary).startswith(get_daemon(engine).process) else None


def collect_docker_context(host: Host) -> str | None | Unknown:
    """The calling user's docker context, None for the default one. DOCKER_HOST switches contexts off.

    https://docs.docker.com/engine/manage-resources/contexts/; of config.json nothing else is kept: it holds logins.
    """
    environment = host.get_environment()
    if environment.get("DOCKER_HOST"):
        return None
    if environment.get("DOCKER_CONTEXT"):
        return environment["DOCKER_CONTEXT"]
    folder = environment.get("DOCKER_CONFIG") or f"{_caller_home(host)}/.docker"
    text = try_read_text(host, f"{folder}/config.json")
    if not isinstance(text, str) or "currentContext" not in text:
        return text if isinstance(text, Unknown) else None
    import json

    try:
        context = json.loads(text).get("currentContext")
    except (ValueError, AttributeError, RecursionError):
        return Unknown(f"{folder}/config.json is not valid")
    return context if isinstance(context, str) and context not in ("", "default") else None


def _caller_home(host: Host) -> str:
    """The home of who typed the command: with sudo that is not root's."""
    environment = host.get_environment()
    if environment.get("SUDO_USER"):
        text = try_read_text(host, "/etc/passwd")
        homes = {name: home for name, _, home in parse_passwd(text if isinstance(text, str) else "")}
        if environment["SUDO_USER"] in homes:
            return homes[environment["SUDO_USER"]]
    return environment.get("HOME", "/root")


def collect_engines(host: Host, processes: Sequence[Process] | Unknown) -> tuple[EngineInstallation, ...] | Unknown:
    """All installations with their versions; Unknown when none was found because the folders may not be read."""
    found = collect_installations(host, processes=processes)
    if not found:
        for row in INSTALLATIONS:
            answer = find_program(host, row.binaries)
            if isinstance(answer, Unknown) and not row.per_user:
                return answer
    from ctk.host.engine_daemons import collect_enabled_units
    from ctk.host.engine_files import add_files

    enabled = collect_enabled_units(host)
    return tuple(add_files(host, item._replace(version=engine_version(host, item)), enabled) for item in found)


def _collect_installation(
    host: Host, row: Installation, user: User | None, processes: Sequence[Process] | Unknown
) -> EngineInstallation | None:
    view = collect_daemon(host, _for_user(row, user), user, processes)
    binary = _find_binary(host, view)
    if not _is_installed(host, view, binary):
        return None
    config_path, config_origin = _find_config(host, view)
    files = _collect_files(host, view, config_path)
    return EngineInstallation(
        engine=row.engine,
        installation=row.name,
        binary=binary,
        version=NOT_ASKED,
        config_path=config_path,
        config_origin=config_origin,
        config_exists=config_exists(host, config_path),
        drop_in_directory=_find_drop_in_directory(host, view, config_path, files),
        imports=files.imports,
        drop_ins=files.drop_ins,
        generated_from=_find_template(host, view.row, files),
        socket=_find_socket(host, view, files),
        unit=view.unit.name if view.unit else None,
        unit_files=view.files,
        flags=view.flags,
        running=Unknown(view.reason) if view.reason else view.process is not None,
        pid=view.process.pid if view.process else None,
        running_since=view.process.started if view.process else None,
        user=user.name if user else None,
        used_by=row.used_by,
    )


def _for_user(row: Installation, user: User | None) -> Installation:
    """The row with the user's folders in place of the variables."""
    if user is None:
        return row
    drop_ins = row.drop_in_directory
    return row._replace(
        markers=tuple(user.expand(path) for path in row.markers),
        binaries=tuple(user.expand(path) for path in row.binaries),
        config=user.expand(row.config),
        socket=user.expand(row.socket),
        drop_in_directory=user.expand(drop_ins) if drop_ins else None,
    )


def _find_binary(host: Host, view: DaemonView) -> str | None | Unknown:
    """The daemon that the unit starts; else the first of the row's programs."""
    process = get_daemon(view.row.engine).process
    if view.unit and view.unit.command:
        folder, _, name = view.unit.command[0].text.rpartition("/")
        program = f"{folder}/{process}"  # a wrapper script lies beside the daemon it starts
        if folder.startswith("/") and name.startswith(process) and try_exists(host, program) is True:
            return program
    binary = find_program(host, view.row.binaries)
    if binary is None and view.process is not None:
        return view.process.executable
    return binary


def _is_installed(host: Host, view: DaemonView, binary: str | None | Unknown) -> bool:
    """A per-user binary or a unit of all users proves nothing for one of them: /usr/lib holds it for everybody."""
    if view.process is not None or any(try_exists(host, marker) is True for marker in view.row.markers):
        return True
    if view.user is not None:
        return view.unit is not None and view.unit.path.startswith((view.user.config + "/", view.user.home + "/"))
    return isinstance(binary, str) or (view.unit is not None and not view.unit.masked)


def _find_config(host: Host, view: DaemonView) -> tuple[str, str]:
    """The main file in force and what says so."""
    daemon = get_daemon(view.row.engine)
    flag = view.find_flag(daemon.config)
    if flag is not None and flag.value:
        path = _absolute(view, flag.value)
        path = view.row.config if is_same_file(host, path, view.row.config) else path
        return path, describe_origin(flag)
    named = _find_variable(view, daemon.config)
    return named or (view.row.config, "default")


def _find_variable(view: DaemonView, flag_name: str) -> tuple[str, str] | None:
    """What an environment variable of the unit says in place of a flag."""
    for flag, name in get_daemon(view.row.engine).environment:
        variable = view.find_variable(name)
        if flag == flag_name and variable is not None and variable.value:
            place = variable.origin if variable.line is None else f"{variable.origin} line {variable.line}"
            return _absolute(view, variable.value), f"{place} ({name})"
    return None


def _absolute(view: DaemonView, path: str) -> str:
    """systemd starts daemons in /; a running one is asked where it is."""
    folder = view.process.working_directory if view.process else None
    return os.path.normpath(os.path.join(folder or "/", path))


def _collect_files(host: Host, view: DaemonView, config_path: str) -> FileSet:
    if view.row.engine == "containerd":
        files = collect_containerd_files(host, config_path)
        if _is_k0s_managed(host, view.row, config_path):
            merged = collect_toml_files(host, view.row.drop_in_directory or "")
            extra = tuple(path for path in merged if path not in files.drop_ins)
            return files._replace(drop_ins=extra + files.drop_ins)
        return files
    if view.row.engine == "crio":
        return collect_crio_files(host, config_path, _crio_directory(view))
    if view.row.engine == "podman":
        return FileSet(drop_ins=collect_conf_files(host, view.row.drop_in_directory or ""))
    return FileSet(socket=collect_docker_socket(host, config_path))


def _crio_directory(view: DaemonView) -> str:
    name = get_daemon(view.row.engine).config_directory
    flag = view.find_flag(name)
    if flag is not None and flag.value:
        return _absolute(view, flag.value)
    variable = _find_variable(view, name)
    return variable[0] if variable else view.row.drop_in_directory or ""


def _find_drop_in_directory(host: Host, view: DaemonView, config_path: str, files: FileSet) -> str | None:
    """The folder whose files are read: for containerd what is imported, else the row's own."""
    if view.row.engine == "crio":
        return _crio_directory(view)
    if view.row.treatment == DROP_IN:
        return view.row.drop_in_directory if _is_k0s_managed(host, view.row, config_path) else None
    imported = import_directories(config_path, files.imports)
    if not imported or view.row.drop_in_directory in imported:
        return view.row.drop_in_directory
    return imported[0]


def _is_k0s_managed(host: Host, row: Installation, config_path: str) -> bool:
    if row.treatment != DROP_IN:
        return False
    text = try_read_text(host, config_path)
    return text is None or (isinstance(text, str) and K0S_MARKER in text.splitlines())


def _find_template(host: Host, row: Installation, files: FileSet) -> str | None:
    """The template that counts: the first that exists, else the one for the version of the generated file."""
    for path in row.templates:
        if try_exists(host, path) is True:
            return path
    if files.version == 2 and len(row.templates) > 1:
        return row.templates[1]
    return row.templates[0] if row.templates else None


def _find_socket(host: Host, view: DaemonView, files: FileSet) -> str:
    values = tuple(
        flag.value for flag in (view.given if view.process else view.told) if flag.name == _socket_flag(view)
    )
    if view.row.engine != "docker":
        named = values[-1].removeprefix("unix://") if values and values[-1] else None
        return named or files.socket or view.row.socket
    named = first_unix_socket(values)
    if named is None and any(value.startswith("fd://") for value in values):
        named = _activation_socket(host, view)
    return named or files.socket or view.row.socket


def _socket_flag(view: DaemonView) -> str:
    return get_daemon(view.row.engine).socket


def _activation_socket(host: Host, view: DaemonView) -> str | None:
    """fd://: systemd holds the socket; its unit has the service's name."""
    if view.unit is None or view.user is not None:
        return None
    unit = collect_unit(host, view.unit.name.removesuffix(".service") + ".socket")
    paths = [path for path in unit.listen if path.startswith("/")] if unit else []
    return paths[0] if paths else None
