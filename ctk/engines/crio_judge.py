"""CRI-O's own reading of its files (`crio config`), before and after; runs no program."""

from collections.abc import Callable

from ctk.edit.compare import edited_only
from ctk.engines.base import RuntimeSpec
from ctk.engines.containerd_judge import failure_of, parse_dump
from ctk.engines.crio import DEFAULT, entry_path
from ctk.engines.layers import Path, look_up
from ctk.facts.command import CommandOutput

Judge = Callable[[CommandOutput | None, CommandOutput], tuple[str, ...]]


def judge_configured(spec: RuntimeSpec) -> Judge:
    """Foreign keys equal, ours in force."""
    wanted: list[tuple[Path, object]] = [((*entry_path(spec.name), "runtime_path"), spec.path)]
    owned: list[Path] = [entry_path(spec.name)]
    if spec.set_as_default:
        wanted.append((DEFAULT, spec.name))
        owned.append(DEFAULT)
    return _judge(tuple(wanted), tuple(owned))


def judge_unconfigured(name: str) -> Judge:
    """Still readable, foreign keys equal."""
    return _judge((), (entry_path(name), DEFAULT))


def _judge(wanted: tuple[tuple[Path, object], ...], owned: tuple[Path, ...]) -> Judge:
    def judge(before: CommandOutput | None, after: CommandOutput) -> tuple[str, ...]:
        problems = failure_of(after)
        if problems:
            return problems
        new = parse_dump(after.stdout)
        if new is None:
            return ("CRI-O's configuration dump is not valid TOML",)
        old = parse_dump(before.stdout) if before is not None and before.returncode == 0 else None
        changed = edited_only(old, new, owned) if old is not None else ()
        foreign = tuple(
            f"{'.'.join(key)} would change from {look_up(old or {}, key)!r} to {look_up(new, key)!r}" for key in changed
        )
        ignored = tuple(
            f"CRI-O ignores {'.'.join(key)}: it has {look_up(new, key)!r}, not {value!r}"
            for key, value in wanted
            if look_up(new, key) != value
        )
        return foreign + ignored

    return judge
