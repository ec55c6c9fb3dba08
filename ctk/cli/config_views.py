"""`ctk config get`, `explain`, `validate`, `diff` and the whole view: options and screens; change nothing."""

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.config_edit import ConfigHost, config_host, read_config
from ctk.edit import toml
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, UsageFault
from ctk.result import Message, Result
from ctk.toolkit.document import Effective, Problem, check_document, effective, effective_of, unknown_keys, value_at
from ctk.toolkit.edits import shown
from ctk.toolkit.settings import SETTINGS, Setting, find_setting, nearest_key

HELP = {"help_option_names": ["--help", "-h"]}
CONFIG_FILE = click.option("--config-file", "--config", "-c", "config_file", metavar="FILE", help="The file in force.")


def _place(ctx: click.Context, config_file: str | None, *, look: bool = True) -> ConfigHost:
    return config_host(ctx.ensure_object(App), config_file or ctx.meta.get("ctk.config_file"), look=look)


def show(app: App, config_file: str | None) -> None:
    """The effective configuration: the file as it stands, with --json each value and where it comes from."""
    app.command = "config"
    place = config_host(app, config_file)
    source, text = read_config(place)
    content = toml.load(text, place.location.path)
    problems = check_document(text, content, place.defaults)
    document = content if source.data is not None else {}
    data = {
        "file": {
            "path": place.location.path,
            "exists": source.data is not None,
            "origin": place.location.origin,
        },
        "settings": [_row(row) for row in effective(document, place.defaults)],
        "unknown": [{"key": key, "nearest": nearest_key(key)} for key in unknown_keys(document)],
    }
    messages = [Message("warning", words) for words in place.warnings]
    messages += [Message("warning", f"{place.location.path}: {item.key}: {item.text}") for item in problems]
    app.finish(Result("config", data, text=text, messages=tuple(messages)))


def _row(row: Effective) -> dict[str, object]:
    return {"key": row.setting.key, "value": row.value, "source": row.source, "type": row.setting.kind}


@click.command(cls=CtkCommand, name="get", context_settings=HELP)
@click.argument("key", metavar="KEY")
@CONFIG_FILE
@shared_options
@click.pass_context
def get(ctx: click.Context, /, key: str, config_file: str | None) -> None:
    """Print the value of KEY that is in force: from the file, else the default. Exit 1 if it has none."""
    app = ctx.ensure_object(App)
    app.command = "config get"
    place = _place(ctx, config_file, look=False)
    source, text = read_config(place)
    content = toml.load(text, place.location.path) if source.data is not None else {}
    setting = find_setting(key)
    if setting is None and value_at(content, tuple(key.split("."))) is None:
        near = nearest_key(key)
        raise UsageFault(
            f"{key!r} is no setting of the toolkit{f'; did you mean {near}?' if near else ''}",
            hint="`ctk config explain` lists the settings.",
        )
    row = effective_of(content, setting, place.defaults) if setting else None
    value = row.value if row else value_at(content, tuple(key.split(".")))
    data = {"key": key, "value": value, "source": row.source if row else "file", "file": place.location.path}
    words = "" if value is None else value if isinstance(value, str) else shown(value)
    app.finish(
        Result(
            "config get", data, EXIT_NEGATIVE if value is None else EXIT_OK, f"{words}\n" if value is not None else ""
        )
    )


@click.command(cls=CtkCommand, name="explain", context_settings=HELP)
@click.argument("key", metavar="[KEY]", required=False)
@shared_options
@click.pass_context
def explain(ctx: click.Context, /, key: str | None) -> None:
    """Say what KEY means: type, default, allowed values, security; without KEY, list all of them."""
    app = ctx.ensure_object(App)
    app.command = "config explain"
    if key is None:
        rows = [_explained(setting) for setting in SETTINGS]
        text = "\n".join(f"{setting.key}\n    {setting.meaning}" for setting in SETTINGS)
        app.finish(Result("config explain", {"settings": rows}, text=text))
        return
    found = [setting for setting in SETTINGS if setting.key == key or setting.key.startswith(f"{key}.")]
    if not found:
        near = nearest_key(key)
        raise UsageFault(
            f"{key!r} is no setting of the toolkit{f'; did you mean {near}?' if near else ''}",
            hint="`ctk config explain` lists the settings.",
        )
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
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--no-host-checks", is_flag=True, help="Do not look whether values fit this host (image builds).")
@CONFIG_FILE
@shared_options
@click.pass_context
def validate(ctx: click.Context, /, file: str | None, no_host_checks: bool, config_file: str | None) -> None:
    """Look for errors in the file in force, or in FILE: syntax, types, values, unknown keys, what the host lacks.

    Exit 0 without errors (warnings are none), 1 with errors, 3 if the file cannot be read or is no TOML.
    """
    app = ctx.ensure_object(App)
    app.command = "config validate"
    place = _place(ctx, file or config_file)
    source, text = read_config(place)
    path = place.location.path
    content = toml.load(text, path)
    problems = [*check_document(text, content, place.defaults)]
    if not no_host_checks:
        problems += _host_problems(place, content if source.data is not None else {}, text)
    errors = [problem for problem in problems if problem.is_error]
    lines = [
        f"{path}:{_where(problem)} {'error' if problem.is_error else 'warning'}: {problem.key}: {problem.text}"
        for problem in problems
    ]
    missing = "" if source.data is not None else f"{path} does not exist: the defaults hold.\n"
    verdict = (
        f"{path}: {len(errors)} errors, {len(problems) - len(errors)} warnings\n" if problems else f"{path}: valid\n"
    )
    data = {
        "file": path,
        "valid": not errors,
        "problems": [
            {
                "key": item.key,
                "text": item.text,
                "level": "error" if item.is_error else "warning",
                "line": item.line,
                "column": item.column,
            }
            for item in problems
        ],
    }
    text = missing + "".join(f"{line}\n" for line in lines) + verdict
    messages = tuple(Message("warning", words) for words in place.warnings)
    app.finish(Result("config validate", data, EXIT_NEGATIVE if errors else EXIT_OK, text, messages))


def _where(problem: Problem) -> str:
    return f"{problem.line}:{problem.column}:" if problem.line else ""


def _host_problems(place: ConfigHost, content: dict[str, object], text: str) -> list[Problem]:
    from ctk.host.toolkit_config import host_fault
    from ctk.toolkit.values import type_fault

    problems = []
    for setting in SETTINGS:
        value = value_at(content, setting.path)
        if value is None or type_fault(setting, value):
            continue
        fault = host_fault(place.host, setting.check, value)
        if fault:
            line, column = toml.position_of(text, setting.path) or (None, None)
            problems.append(Problem(setting.key, fault, False, False, line, column))
    return problems


@click.command(cls=CtkCommand, name="diff", context_settings=HELP)
@click.argument("file", metavar="[FILE]", required=False)
@CONFIG_FILE
@shared_options
@click.pass_context
def diff(ctx: click.Context, /, file: str | None, config_file: str | None) -> None:
    """Show the keys of the file in force, or of FILE, whose values are not the defaults. Exit 1 if there are any."""
    app = ctx.ensure_object(App)
    app.command = "config diff"
    place = _place(ctx, file or config_file)
    source, text = read_config(place)
    content = toml.load(text, place.location.path) if source.data is not None else {}
    rows = [row for row in effective(content, place.defaults) if row.value != place.defaults.of(row.setting)]
    unknown = unknown_keys(content)
    lines = [f"{row.setting.key} = {shown(row.value)}    (default: {_default(place, row.setting)})" for row in rows]
    lines += [f"{key} = {value_at(content, tuple(key.split('.')))!r}    (no setting of the toolkit)" for key in unknown]
    data = {
        "file": place.location.path,
        "differences": [
            {"key": row.setting.key, "value": row.value, "default": place.defaults.of(row.setting)} for row in rows
        ]
        + [{"key": key, "value": value_at(content, tuple(key.split("."))), "default": None} for key in unknown],
    }
    text = "\n".join(lines) or f"{place.location.path}: all values are the defaults."
    messages = tuple(Message("warning", words) for words in place.warnings)
    app.finish(Result("config diff", data, EXIT_NEGATIVE if lines else EXIT_OK, text, messages))


def _default(place: ConfigHost, setting: Setting) -> str:
    value = place.defaults.of(setting)
    return "not set" if value is None else shown(value)
