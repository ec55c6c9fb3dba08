"""Shell completion of the toolkit's settings, from the table; it reads no file."""

from typing import TYPE_CHECKING

from click import Context, Parameter

from ctk.toolkit.settings import BOOLEAN, SETTINGS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_key(_: Context, __: Parameter, incomplete: str) -> "list[CompletionItem]":
    """The keys that begin like this."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(row.key, help=row.meaning) for row in SETTINGS if row.key.startswith(incomplete)]


def complete_assignment(context: Context, parameter: Parameter, incomplete: str) -> "list[CompletionItem]":
    """The keys that begin like this; behind "=", the values a key may have where they can be listed."""
    from click.shell_completion import CompletionItem

    key, equals, word = incomplete.partition("=")
    if not equals:
        return complete_key(context, parameter, incomplete)
    row = next((row for row in SETTINGS if row.key == key), None)
    allowed = () if row is None else ("true", "false") if row.kind == BOOLEAN else row.allowed
    return [CompletionItem(f"{key}={value}") for value in allowed if value.startswith(word)]
