"""Has systemd and udev take up unit files of ctk's own, or let go of them; writes no file and knows no engine."""

from collections.abc import Iterable, Sequence

from ctk.change.plan import Runner

COMMAND_SECONDS = 30.0


def enable_units(units: Sequence[str], runner: Runner) -> tuple[str, ...]:
    """Load new unit files, enable and start them, and have udev read its rules; what failed, as sentences."""
    return _run(
        (
            ("systemctl", "daemon-reload"),
            ("systemctl", "enable", *units),
            ("systemctl", "start", "--no-block", *units),
            ("udevadm", "control", "--reload"),
        ),
        runner,
    )


def disable_units(units: Sequence[str], runner: Runner) -> tuple[str, ...]:
    """Stop and disable units whose files are about to be removed; what failed, as sentences."""
    return _run((("systemctl", "disable", "--now", *units),), runner)


def forget_units(runner: Runner) -> tuple[str, ...]:
    """The unit files are gone: systemd and udev read anew; what failed, as sentences."""
    return _run((("systemctl", "daemon-reload"), ("udevadm", "control", "--reload")), runner)


def _run(commands: Iterable[tuple[str, ...]], runner: Runner) -> tuple[str, ...]:
    failures = []
    for argv in commands:
        output = runner(argv, COMMAND_SECONDS)
        if output.returncode != 0:
            said = output.reason or output.stderr.strip() or f"exit status {output.returncode}"
            failures.append(f"{' '.join(argv)}: {said}")
    return tuple(failures)
