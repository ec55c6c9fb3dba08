"""The script that specs name: `python -I -S …/ctk/inject/hook_main.py apply …`; it makes ctk importable, no more.

-I and -S keep the caller's environment and site packages away. The spec gives the hook an environment of its own, since
without one the engine lets it inherit the image's, and the loader would heed that before Python starts.
"""

import os
import sys


def main() -> int:
    """Run the hook with the arguments of this process."""
    os.umask(0o022)
    for name in tuple(os.environ):
        del os.environ[name]
    from ctk.inject.hooks import run_hook

    return run_hook(sys.argv[1:])


if __name__ == "__main__":
    sys.dont_write_bytecode = True  # a container's start writes nothing on the host
    # behind the standard library: a folder of site packages may hold modules that are called like some of its
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
    os._exit(main())  # nothing is left to be cleaned up, and that takes time
