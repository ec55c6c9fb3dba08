#!/usr/bin/env python3
"""Writes the pages that follow from the code: docs/reference/{cli,checks,config}.md, schemas/info.schema.json.

Usage: .venv/bin/python scripts/gen_reference.py [--check]     --check: write nothing, exit 1 if a page is out of step.
"""

import dataclasses
import inspect
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Union, get_args, get_origin, get_type_hints

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import click  # noqa: E402 - the checkout's own packages come first

from ctk.cli import root  # noqa: E402 - as above
from ctk.cli.app import shared_options  # noqa: E402 - as above
from ctk.doctor.checks import ALL_CHECKS  # noqa: E402 - as above
from ctk.doctor.render.catalogue import render_page  # noqa: E402 - as above
from ctk.facts import Unknown  # noqa: E402 - as above
from ctk.facts.snapshot import Snapshot  # noqa: E402 - as above
from ctk.toolkit.document import HostDefaults, render_default, shown  # noqa: E402 - as above
from ctk.toolkit.settings import SETTINGS, Setting  # noqa: E402 - as above

PAGES = CHECKOUT / "docs" / "reference"
CLI_HEAD = """\
# Command line

<!-- Written by scripts/gen_reference.py; do not edit. -->

Long options may be written with one dash (`-runtime=docker`), and switches take `=true` and `=false`, as
`nvidia-ctk` has it. What the exit codes mean: [exit-codes.md](exit-codes.md). What `--json` prints: [json.md](json.md).
"""


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    if arguments not in ([], ["--check"]):
        print("usage: scripts/gen_reference.py [--check]", file=sys.stderr)
        return 2
    stale = [path for path, text in pages().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if arguments:
            print(f"{path.relative_to(CHECKOUT)} is out of step: run scripts/gen_reference.py", file=sys.stderr)
        else:
            path.write_text(pages()[path], encoding="utf-8")
            print(f"wrote {path.relative_to(CHECKOUT)}")
    return 1 if arguments and stale else 0


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    schema = json.dumps(info_schema(), indent=2) + "\n"
    return {
        PAGES / "cli.md": render_cli(),
        PAGES / "checks.md": render_page(ALL_CHECKS),
        PAGES / "config.md": render_config(),
        PAGES / "schemas" / "info.schema.json": schema,
    }


# -- cli.md ----------------------------------------------------------------------------------------------------------


def render_cli() -> str:
    """All commands in the order of the help, the options that all share first."""
    parts = [CLI_HEAD, "## Options of every command\n\nThey stand before or after the command's name.\n"]
    parts.append(_options(_shared()))
    parts.extend(_section(context) for context in _walk(_context(root, None, "ctk")))
    return "\n".join(parts)


def _shared() -> list[click.Option]:
    @shared_options
    def nothing() -> None: ...

    return [*reversed(getattr(nothing, "__click_params__"))]  # noqa: B009 - click keeps them there, without a type


def _context(command: click.Command, parent: click.Context | None, name: str) -> click.Context:
    """With the command's own settings: click remembers the help option of the first context that asks for it."""
    return command.context_class(command, parent=parent, info_name=name, **command.context_settings)


def _walk(context: click.Context) -> Iterator[click.Context]:
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None and not member.hidden:
                yield from _walk(_context(member, context, name))


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    shared = {option.name for option in _shared()}
    own = [item for item in command.get_params(context) if isinstance(item, click.Option)]
    own = [item for item in own if item.name not in shared and "--help" not in item.opts and not item.hidden]
    body = [f"## {context.command_path}\n", f"    {usage}\n", _prose(inspect.cleandoc(command.help or ""))]
    if own:
        body.append(_options(own))
    return "\n".join(body)


def _prose(text: str) -> str:
    """The help's paragraphs; one that begins with click's mark for "as it stands" is an example."""
    lines = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines += [f"    {line.strip()}" for line in paragraph.splitlines()[1:]]
        else:
            lines += paragraph.splitlines()
        lines.append("")
    return "\n".join(lines)


def _options(options: list[click.Option]) -> str:
    rows = ["| option | meaning |", "|---|---|"]
    for option in options:
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        value = f" `{option.metavar}`" if option.metavar and not option.is_flag else ""
        default = f" Default: `{option.default}`." if option.show_default and option.default else ""
        repeat = " Repeatable." if option.multiple else ""
        rows.append(f"| {names}{value} | {(option.help or '').replace('|', '/')}{default}{repeat} |")
    return "\n".join(rows) + "\n"


# -- config.md --------------------------------------------------------------------------------------------------------

CONFIG_HEAD = """\
# The toolkit's configuration

<!-- Written by scripts/gen_reference.py from the table of settings; do not edit. -->

The keys of NVIDIA's `config.toml`, which `ctk config` shows, sets and checks ([cli.md](cli.md)). A list's items are
separated by colons on the command line. `ctk config explain KEY` says the same as this page.

## The file in force

The first of these that is given: `--config-file`; the environment variables `NVIDIA_CTK_CONFIG_FILE_PATH` and
`NVIDIA_CTK_CONFIG`; `$XDG_CONFIG_HOME/nvidia-container-runtime/config.toml`, for root too;
`/etc/nvidia-container-runtime/config.toml`. With `--root` all of them lie below it, and what `--output` names too.

`ctk config --json` says which one it is (`file`), who chose it (`origin`, `variable`), and for each key whether its
value comes from the file or is the default (`source`). No environment variable sets a value: they choose the file.
A file that looks like the configuration but is not read, such as `/etc/nvidia-container-toolkit/config.toml`, is named
in a warning.

## Keys
"""
CONFIG_TAIL = """\
## The default file

Keys that are not set by default stand behind a `#`; `set` takes the `#` away in place, `unset` puts it back.
`ldconfig` is `@/sbin/ldconfig.real` where the host has that (Debian, Ubuntu); `user` is set to `root:video` on SUSE.

```toml
"""


def render_config() -> str:
    """Every setting, table by table, and the default document."""
    parts = [CONFIG_HEAD]
    for table in dict.fromkeys(setting.path[:-1] for setting in SETTINGS):
        rows = [_setting(setting) for setting in SETTINGS if setting.path[:-1] == table]
        parts.append("\n".join([f"### {'.'.join(table) or 'At the top'}\n", *rows, ""]))
    return "\n".join([*parts, CONFIG_TAIL + render_default(HostDefaults()) + "```\n"])


def _setting(setting: Setting) -> str:
    default = "not set" if setting.default is None else f"`{shown(setting.default)}`"
    facts = [setting.kind, f"default {default}"]
    facts += [f"one of {', '.join(f'`{word}`' for word in setting.allowed)}"] if setting.allowed else []
    security = f" **Security:** {setting.security}." if setting.security else ""
    return f"- `{setting.key}`: {setting.meaning}{security}\n  ({'; '.join(facts)})"


# -- info.schema.json ------------------------------------------------------------------------------------------------


def info_schema() -> dict[str, object]:
    """The envelope of `ctk info`, its data from the records of ctk.facts."""
    definitions: dict[str, object] = {}
    _record(Snapshot, definitions)
    snapshot = definitions["Snapshot"]
    assert isinstance(snapshot, dict)
    snapshot["properties"] = {
        "snapshot_version": {"type": "string", "pattern": r"^\d+\.\d+$"},
        **snapshot["properties"],
    }
    snapshot["required"] = ["snapshot_version", *snapshot["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "info.schema.json",
        "title": "ctk info --json (written by scripts/gen_reference.py); its data is also what --save writes",
        "allOf": [{"$ref": "envelope.schema.json"}],
        "properties": {"command": {"const": "info"}},
        "if": {"properties": {"status": {"const": "error"}}},
        "then": {"properties": {"data": {"anyOf": [{"$ref": "#/$defs/Snapshot"}, {"maxProperties": 0}]}}},
        "else": {"properties": {"data": {"$ref": "#/$defs/Snapshot"}}},
        "$defs": definitions,
    }


def _record(kind: type, definitions: dict[str, object]) -> dict[str, object]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # holds the place, and the order
        hints = get_type_hints(kind)
        fields = {name: _type(hints[name], definitions) for name in _field_names(kind)}
        definitions[kind.__name__] = {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _field_names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass or a NamedTuple, none for another type."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return getattr(kind, "_fields", ())


def _type(kind: object, definitions: dict[str, object]) -> dict[str, object]:
    if isinstance(kind, types.UnionType) or get_origin(kind) is Union:
        return {"anyOf": [_type(member, definitions) for member in get_args(kind)]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _type(get_args(kind)[0], definitions)}
    if kind is Unknown:
        definitions["Unknown"] = {
            "type": "object",
            "properties": {"unknown": {"type": "string"}},
            "required": ["unknown"],
            "additionalProperties": False,
        }
        return {"$ref": "#/$defs/Unknown"}
    if isinstance(kind, type) and _field_names(kind):
        return _record(kind, definitions)
    names: dict[object, str] = {str: "string", int: "integer", bool: "boolean", float: "number", types.NoneType: "null"}
    return {"type": names[kind]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
