"""`ctk config get`, `explain`, `validate`, `diff` and the whole view: options and screens; changes nothing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.config_keys import complete_key
from ctk.cli.config_place import CONFIG_FILE, HELP, ConfigPlace, config_command, load_config
from ctk.cli.paths import absolute_path
from ctk.edit import toml
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, UsageFault
from ctk.result import Message, Result
from ctk.toolkit.document import DEFAULT, FILE, Effective, effective, effective_of, shown, value_at
from ctk.toolkit.settings import SETTINGS, Setting, find_setting, nearest_key

if TYPE_CHECKING:
    from ctk.toolkit.problems import Problem

FILE_ARGUMENT = click.argument("file", metavar="[FILE]", required=False)


def show(app: App, place: ConfigPlace) -> None:
    """The effective configuration: the file as it stands, with --json each value and where it comes from."""
    from ctk.toolkit.problems import check_document, unknown_paths

    text, content, exists = load_config(place)
    problems = check_document(text, content, place.defaults)
    data = {
        "file": place.shown,
        "exists": exists,
        "origin": place.location.origin,
        "variable": place.location.variable,
        "settings": [_row(text, row) for row in effective(content, place.defaults)],
        "unknown": [{"key": ".".join(path), "nearest": nearest_key(".".join(path))} for path in unknown_paths(content)],
    }
    messages = [*place.messages]
    if not exists:
        messages.append(Message("info", f"{place.shown} does not exist: these are the defaults."))
    messages += [Message("warning", f"{place.shown}:{item.where} {item.key}: {item.text}") for item in problems]
    app.finish(Result(app.command, data, text=text, messages=tuple(messages)))


def _row(text: str, row: Effective) -> dict[str, object]:
    place = toml.position_of(text, row.setting.path) if row.source == FILE else None
    return {
        "key": row.setting.key,
        "value": _as_json(row.value),
        "source": row.source,
        "line": place[0] if place else None,
        "type": row.setting.kind,
    }


@click.command(cls=CtkCommand, name="get", context_settings=HELP)
@click.argument("key", metavar="KEY", shell_complete=complete_key)
@CONFIG_FILE
@shared_options
@config_command("config get", look=False)
def get(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Print the value of KEY that is in force: from the file, else the default. Exit 1 if it has none.

    A text is printed bare, a list as TOML writes it.
    """
    key = str(values["key"])
    setting = find_setting(key)
    _, content, _ = load_config(place)
    value = value_at(content, tuple(key.split(".")))
    source = FILE
    if setting is not None:
        row = effective_of(content, setting, place.defaults)
        value, source = row.value, row.source
    elif value is None:
        raise _no_setting(key)
    data = {
        "key": key,
        "value": _as_json(value),
        "source": source if value is not None else DEFAULT,
        "file": place.shown,
    }
    words = "" if value is None else f"{value}\n" if isinstance(value, str) else f"{shown(value)}\n"
    app.finish(Result(app.command, data, EXIT_NEGATIVE if value is None else EXIT_OK, words))


def _no_setting(key: str) -> UsageFault:
    near = nearest_key(key)
    return UsageFault(
        f"{key!r} is no setting of the toolkit{f'; did you mean {near}?' if near else ''}",
        hint="`ctk config explain` lists the settings.",
    )


@click.command(cls=CtkCommand, name="explain", context_settings=HELP)
@click.argument("key", metavar="[KEY]", required=False, shell_complete=complete_key)
@shared_options
@click.pass_context
def explain(ctx: click.Context, /, key: str | None) -> None:
    """Say what KEY means: type, default, allowed values, security.

    A table's name tells of all its keys; no name, of all there are.
    """
    app = ctx.ensure_object(App)
    app.command = "config explain"
    if key is None:
        rows = [_explained(setting) for setting in SETTINGS]
        text = "\n".join(f"{setting.key}\n    {setting.meaning}" for setting in SETTINGS)
        app.finish(Result("config explain", {"settings": rows}, text=text))
        return
    found = [setting for setting in SETTINGS if setting.key == key or setting.key.startswith(f"{key}.")]
    if not found:
        raise _no_setting(key)
    text = "\n\n".join(_explanation(setting) for setting in found)
    app.finish(Result("config explain", {"settings": [_explained(setting) for setting in found]}, text=text))


def _explained(setting: Setting) -> dict[str, object]:
    return {
        "key": setting.key,
        "type": setting.kind,
        "default": setting.default,
        "allowed": list(setting.allowed),
        "meaning": setting.meaning,
        "security": setting.security or None,
    }


def _explanation(setting: Setting) -> str:
    lines = [setting.key, f"  {setting.meaning}", f"  type      {setting.kind}"]
    lines.append(f"  default   {'not set' if setting.default is None else shown(setting.default)}")
    if setting.allowed:
        lines.append(f"  allowed   {', '.join(setting.allowed)}")
    if setting.security:
        lines.append(f"  security  {setting.security}")
    return "\n".join(lines)


@click.command(cls=CtkCommand, name="validate", context_settings=HELP)
@FILE_ARGUMENT
@click.option("--no-host-checks", is_flag=True, help="Do not look whether values fit this host (image builds).")
@CONFIG_FILE
@shared_options
@config_command("config validate")
def validate(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Look for errors in the file in force, or in FILE: syntax, types, values, unknown keys, what the host lacks.

    Exit 0 without errors (warnings are none), 1 with errors, 3 if the file cannot be read or is no TOML.
    """
    from ctk.toolkit.problems import check_document

    place, named = _named(app, place, values["file"])
    text, content, exists = load_config(place, must_exist=named)
    problems = [*check_document(text, content, place.defaults)]
    if not values["no_host_checks"]:
        problems += _host_problems(place, content, text)
    errors = [problem for problem in problems if problem.is_error]
    data = {
        "file": place.shown,
        "exists": exists,
        "valid": not errors,
        "problems": [_problem(item) for item in problems],
    }
    lines = [] if exists else [f"{place.shown} does not exist: the defaults hold."]
    lines += [f"{place.shown}:{item.where} {_level(item)}: {item.key}: {item.text}" for item in problems]
    lines.append(f"{place.shown}: {_verdict(len(errors), len(problems) - len(errors))}")
    code = EXIT_NEGATIVE if errors else EXIT_OK
    app.finish(Result(app.command, data, code, "\n".join(lines), place.messages))


def _named(app: App, place: ConfigPlace, file: object) -> tuple[ConfigPlace, bool]:
    """The place with the argument FILE as the file, which must then be there."""
    path = absolute_path(app, file) if isinstance(file, str) else None
    return (place, False) if path is None else (place.at(path), True)


def _level(problem: "Problem") -> str:
    return "error" if problem.is_error else "warning"


def _verdict(errors: int, warnings: int) -> str:
    if not errors and not warnings:
        return "valid"
    counts = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in ((errors, "error"), (warnings, "warning"))]
    return ("" if errors else "valid, ") + ", ".join(text for text in counts if not text.startswith("0 "))


def _problem(item: "Problem") -> dict[str, object]:
    place = {"line": item.line, "column": item.column}
    return {"key": item.key, "text": item.text, "level": _level(item), **place}


def _host_problems(place: ConfigPlace, content: dict[str, object], text: str) -> "list[Problem]":
    """What the values in force, the defaults among them, do not find here."""
    from ctk.host.toolkit_values import host_fault
    from ctk.toolkit.problems import Problem
    from ctk.toolkit.values import type_fault

    rows = [row for row in effective(content, place.defaults) if row.value is not None]
    sound = {row.setting.key: row for row in rows if not type_fault(row.setting, row.value)}
    root = str(sound["nvidia-container-cli.root"].value or "/") if "nvidia-container-cli.root" in sound else "/"
    faults = [(row.setting.path, host_fault(place.host, row.setting.check, row.value, root)) for row in sound.values()]
    return [Problem(path, fault).placed(text) for path, fault in faults if fault]


@click.command(cls=CtkCommand, name="diff", context_settings=HELP)
@FILE_ARGUMENT
@CONFIG_FILE
@shared_options
@config_command("config diff")
def diff(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Show the keys of the file in force, or of FILE, whose values are not the defaults. Exit 1 if there are any."""
    from ctk.toolkit.problems import unknown_paths

    place, named = _named(app, place, values["file"])
    _, content, _ = load_config(place, must_exist=named)
    rows = [row for row in effective(content, place.defaults) if row.value != place.defaults.of(row.setting)]
    found = [(row.setting.key, row.value, place.defaults.of(row.setting), True) for row in rows]
    found += [(".".join(path), value_at(content, path), None, False) for path in unknown_paths(content)]
    lines = [f"{key} = {shown(value)}    ({_default(default, known)})" for key, value, default, known in found]
    differences = [
        {"key": key, "value": _as_json(value), "default": default, "known": known}
        for key, value, default, known in found
    ]
    text = "\n".join(lines) or f"{place.shown}: all values are the defaults."
    code = EXIT_NEGATIVE if lines else EXIT_OK
    app.finish(Result(app.command, {"file": place.shown, "differences": differences}, code, text, place.messages))


def _default(value: object, known: bool) -> str:
    if not known:
        return "no setting of the toolkit"
    return "by default not set" if value is None else f"default: {shown(value)}"


def _as_json(value: object) -> object:
    """Dates, times, inf and nan, which JSON lacks, as TOML writes them."""
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    is_json = value is None or isinstance(value, str | int) or (isinstance(value, float) and value - value == 0)
    return value if is_json else shown(value)
