"""The entry point: answers --version before anything heavy is imported, hands all else to ctk.cli."""

import sys


def main() -> int:
    """Run ctk with the arguments of this process; returns the exit code."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in ("--version", "-version", "-v"):
        return _print_version(arguments[1:])
    from ctk.cli import run

    return run(arguments)


def _print_version(rest: list[str]) -> int:
    from ctk import __version__

    if rest:
        sys.stderr.write(f"ctk: --version takes no further arguments, got {' '.join(rest)}\n")
        return 2
    sys.stdout.write(f"ctk {__version__}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
