"""The entry point: answers --version before anything heavy is imported, hands all else to ctk.cli."""

import sys


def main() -> int:
    """Run ctk with the arguments of this process; returns the exit code."""
    arguments = sys.argv[1:]
    if len(arguments) == 1 and arguments[0] in ("--version", "-version", "-v"):
        from ctk import __version__

        if sys.stdout is not None:
            sys.stdout.write(f"ctk {__version__}\n")
        return 0
    from ctk.cli import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
