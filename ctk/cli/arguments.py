"""The spellings NVIDIA's tools take, brought to click's: single-dash long flags and --flag=true; knows no command."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

TRUE_WORDS = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # Go's strconv.ParseBool
FALSE_WORDS = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def normalise(
    arguments: Sequence[str], parameters: Sequence[click.Parameter], *, stop_at_word: bool = False
) -> list[str]:
    """Rewrite `-runtime=x` to `--runtime=x` and `--dry-run=false` to what click takes; stops at `--`.

    stop_at_word: also at the first word that is neither an option nor its value (a subcommand's name).
    """
    options = {name: option for option in parameters if isinstance(option, click.Option) for name in _names(option)}
    groups: list[tuple[click.Option | None, list[str]]] = []  # an option with its words, so that =false can undo it
    rest = list(arguments)
    while rest and rest[0] != "--" and not (stop_at_word and not rest[0].startswith("-")):
        option, words = _normalise_word(rest.pop(0), options)
        if option is not None and not words:
            groups = [group for group in groups if group[0] is not option]
        if rest and len(words) == 1 and words[0] in options and _takes_value(option):
            words.append(rest.pop(0))
        groups.append((option, words))
    return [word for _, words in groups for word in words] + rest


def _names(option: click.Option) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def _takes_value(option: click.Option | None) -> bool:
    return option is not None and not option.is_flag and not option.count


def _normalise_word(word: str, options: dict[str, click.Option]) -> tuple[click.Option | None, list[str]]:
    name, equals, value = word.partition("=")
    if len(name) > 2 and name[0] == "-" and name[1] != "-" and f"-{name}" in options:
        name = f"-{name}"
    option = options.get(name)
    if option is None:
        return None, [word]
    if not equals or not option.is_flag:
        return option, [name + equals + value]
    return option, _boolean(name, value, option)


def _boolean(name: str, value: str, option: click.Option) -> list[str]:
    if value in TRUE_WORDS:
        return [name]
    if value not in FALSE_WORDS:
        raise click.UsageError(f"{name} takes true or false, not {value!r}")
    if option.secondary_opts:
        return [option.secondary_opts[0] if name in option.opts else option.opts[0]]
    return []


@contextmanager
def _naming_the_command(ctx: click.Context) -> Iterator[None]:
    """Errors from before click knows the context name the command too."""
    try:
        yield
    except click.UsageError as error:
        error.ctx = error.ctx or ctx
        raise


class CtkCommand(click.Command):
    """A command that also takes the peer spellings, and names the option it does not know."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Normalise, then let click parse."""
        with _naming_the_command(ctx):
            return super().parse_args(ctx, normalise(args, self.get_params(ctx)))


class CtkGroup(click.Group):
    """A group whose members are imported when they are asked for: an explicit, ordered table of rows.

    A row is (name, module, attribute, one line of help); the help is here so that `ctk --help` imports nothing.
    """

    rows: tuple[tuple[str, str, str, str], ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Normalise only the words before the subcommand's name, then let click parse."""
        with _naming_the_command(ctx):
            return super().parse_args(ctx, normalise(args, self.get_params(ctx), stop_at_word=True))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the rows."""
        return [row[0] for row in self.rows] or super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one module that holds the command."""
        from importlib import import_module

        for name, module, attribute, _ in self.rows:
            if name == cmd_name:
                command = getattr(import_module(module), attribute)
                assert isinstance(command, click.Command)  # noqa: S101 - a row that names something else is our bug
                return command
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the rows."""
        if not self.rows:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, _, _, text in self.rows])
