"""Makes the virtual environment of a checkout ready, from whatever the machine has; knows nothing of ctk's inside.

Called by scripts/bootstrap.sh as `python3 bootstrap.py run|test CHECKOUT`. Standard library only. Says what it does on
stderr. Exit 0: ready; 3: it cannot, with a sentence that names the command that helps; 130: interrupted.
"""

import fcntl
import glob
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

# These would make pip install elsewhere than into the environment, or make Python read modules from elsewhere.
MISLEADING_VARIABLES = (
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
    "PYTHONHOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
)
EXTRAS = {"run": "", "test": "[test]"}
PIP_OPTIONS = ("--quiet", "--disable-pip-version-check", "--no-input", "--root-user-action=ignore")
WHEEL_FOLDERS = ("/usr/share/python-wheels", "/usr/share/python3-wheels")  # Debian's and Fedora's packaged pip wheels


class Unable(Exception):
    """The environment cannot be made; the message is for people."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Runner:
    """Runs programs without misleading variables and keeps the last output for the message.

    Children keep the lock open: where this process is killed, the next one waits until its children have ended.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = {name: value for name, value in environment.items() if name not in MISLEADING_VARIABLES}
        self.output = ""
        self.lock: tuple[int, ...] = ()

    def run(self, *command: str, **extra: str) -> bool:
        try:
            done = subprocess.run(
                command,
                env=self.environment | extra,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=self.lock,
                check=False,
            )
        except OSError as error:
            self.output = f"{command[0]}: {error.strerror}"
            return False
        self.output = done.stdout.decode("utf-8", "replace")
        return done.returncode == 0

    def last_lines(self, count: int = 12) -> str:
        return "\n".join("    " + line for line in self.output.strip().splitlines()[-count:])


class Environment:
    """The virtual environment of one checkout: where its parts lie and in what state they are."""

    def __init__(self, checkout: str, interpreter: str, runner: Runner) -> None:
        self.checkout = checkout
        self.interpreter = interpreter
        self.runner = runner
        self.folder = os.path.join(checkout, ".venv")
        self.python = os.path.join(self.folder, "bin", "python")
        self.home_file = os.path.join(self.folder, "ctk-home")
        self.cache = os.path.join(checkout, ".cache")
        self.unfinished_file = os.path.join(self.cache, "environment-unfinished")

    def stamp_file(self, purpose: str) -> str:
        return os.path.join(self.folder, f"ctk-{purpose}.toml")

    def is_ready(self, purpose: str) -> bool:
        """The same question as environment_is_ready in bootstrap.sh; asked again under the lock."""
        return (
            os.access(self.python, os.X_OK)
            and os.access(os.path.join(self.folder, "bin", "ctk"), os.X_OK)
            and _content(self.home_file) == os.fsencode(self.checkout) + b"\n"
            and _content(self.stamp_file(purpose)) == self.wanted()
        )

    def wanted(self) -> bytes:
        return _content(os.path.join(self.checkout, "pyproject.toml")) or b""

    def is_usable(self) -> bool:
        """It can be built upon: finished once, at this place, for a Python that still works, and pip is at hand."""
        if os.path.exists(self.unfinished_file):
            return False
        if _content(self.home_file) not in (None, os.fsencode(self.checkout) + b"\n"):
            return False  # moved or copied: its scripts name the old place
        return self.works() and _find_pip(self) is not None

    def works(self) -> bool:
        """Its Python starts, is new enough, and is the one its packages were installed for."""
        test = (
            "import os, sys, sysconfig; "
            "sys.exit(sys.version_info < (3, 11) or not os.path.isdir(sysconfig.get_path('purelib')))"
        )
        return self.runner.run(self.python, "-I", "-c", test)

    def has_pip(self) -> bool:
        return self.runner.run(self.python, "-I", "-m", "pip", "--version")

    def remove(self) -> None:
        if os.path.islink(self.folder) or os.path.isfile(self.folder):
            os.unlink(self.folder)
        elif os.path.exists(self.folder):
            shutil.rmtree(self.folder)

    def begin(self) -> None:
        """From here to finish, the environment counts as broken."""
        _write(self.unfinished_file, b"")
        for name in (*map(self.stamp_file, EXTRAS), self.home_file):
            if os.path.exists(name):
                os.unlink(name)

    def finish(self, purpose: str, wanted: bytes) -> None:
        """wanted: pyproject.toml as it was before pip read it; a newer one makes the next run install again."""
        for name in EXTRAS if purpose == "test" else (purpose,):
            _write(self.stamp_file(name), wanted)
        _write(self.home_file, os.fsencode(self.checkout) + b"\n")
        os.unlink(self.unfinished_file)


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def create(environment: Environment) -> None:
    """Make the environment, by the first way that works here."""
    if _create_with_pip(environment) or _create_without_pip(environment):
        return
    reason = _install_venv_package(environment)
    if not reason and (_create_with_pip(environment) or _create_without_pip(environment)):
        return
    environment.remove()
    raise Unable(
        f"ctk: cannot make a virtual environment: {environment.interpreter} has neither ensurepip nor virtualenv, and"
        f" no pip was found.\n{_advice(environment.interpreter)} Nothing outside {environment.checkout} was changed."
        + (f"\n{reason}" if reason else "")
    )


def _create_with_pip(environment: Environment) -> bool:
    for module in ("venv", "virtualenv"):
        environment.remove()
        made = environment.runner.run(environment.interpreter, "-m", module, environment.folder)
        if made and environment.works() and environment.has_pip():
            return True
    return False


def _create_without_pip(environment: Environment) -> bool:
    """The environment alone; pip itself is somebody else's, if there is one."""
    environment.remove()
    made = environment.runner.run(environment.interpreter, "-m", "venv", "--without-pip", environment.folder)
    return made and environment.works() and _find_pip(environment) is not None


def _find_pip(environment: Environment) -> tuple[str, ...] | None:
    """A pip command that installs into the environment: its own, another Python's, or the one in a packaged wheel."""
    return next((pip for pip in _pips(environment) if environment.runner.run(*pip, "--version")), None)


def _pips(environment: Environment) -> Iterator[tuple[str, ...]]:
    yield (environment.python, "-I", "-m", "pip")
    for folder in WHEEL_FOLDERS:
        for wheel in sorted(glob.glob(f"{folder}/pip-*.whl"), reverse=True):
            yield (environment.python, f"{wheel}/pip")
    # pip's own --python (22.3 and newer) makes it install for another interpreter.
    for python in (environment.interpreter, "python3", "/usr/bin/python3"):
        yield (python, "-m", "pip", "--python", environment.python)
    for pip in ("pip3", "pip"):
        yield (pip, "--python", environment.python)


def _venv_package(interpreter: str) -> str:
    """Debian's package that holds ensurepip for its own Pythons; "" for a Python from elsewhere."""
    if os.path.dirname(interpreter) not in ("/usr/bin", "/bin") or shutil.which("apt-get") is None:
        return ""
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def _install_venv_package(environment: Environment) -> str:
    """As root on a machine with apt: install what Debian left out of python3. Returns why not, "" when it did."""
    package = _venv_package(environment.interpreter)
    if not package:
        return "This is not the Python of a system with apt-get, so its package could not be installed from here."
    if os.geteuid() != 0:
        return "As root, this command would install the package itself."
    install = ("apt-get", "install", "-y", "--no-install-recommends", package)
    say(f"ctk: this Python has no ensurepip; installing the package {package} …")
    runner = environment.runner
    if runner.run(*install, DEBIAN_FRONTEND="noninteractive"):
        return ""
    runner.run("apt-get", "update", DEBIAN_FRONTEND="noninteractive")
    if runner.run(*install, DEBIAN_FRONTEND="noninteractive"):
        return ""
    return f"apt-get's last lines:\n{runner.last_lines()}"


def _advice(interpreter: str) -> str:
    package = _venv_package(interpreter)
    if package:
        return f"Install it and run the command again: sudo apt-get install {package}."
    return "Install pip or virtualenv for this Python and run the command again."


def install(environment: Environment, purpose: str) -> None:
    """Put ctk (editable) and what the purpose needs into the environment."""
    pip = _find_pip(environment)
    if pip is None:
        raise Unable(
            f"ctk: cannot install ctk's libraries: the environment has no pip. {_advice(environment.interpreter)}"
        )
    targets = ["--editable", f"{environment.checkout}{EXTRAS[purpose]}"]
    if not environment.has_pip():  # so that the next time does not depend on somebody else's
        targets.append("pip")
    if not environment.runner.run(*pip, "install", *PIP_OPTIONS, *targets):
        raise Unable(
            "ctk: cannot install ctk's libraries: pip stopped. Its last lines:\n"
            f"{environment.runner.last_lines()}\n"
            "If they speak of a connection, make the package registry reachable (PIP_INDEX_URL, a proxy) and run the"
            f" command again. Nothing outside {environment.checkout} was changed."
        )


@contextmanager
def only_one_at_a_time(cache: str) -> Iterator[int]:
    """Two first runs at once: the second waits and then finds everything ready."""
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "environment.lock"), "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("ctk: another run is making the environment; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def make_ready(environment: Environment, purpose: str) -> None:
    with only_one_at_a_time(environment.cache) as lock:
        environment.runner.lock = (lock,)
        if environment.is_ready(purpose):
            return
        start = time.monotonic()
        if purpose == "run" and _content(environment.stamp_file("test")) is not None:
            purpose = "test"  # keep the tools of the tests in step too
        usable = environment.is_usable()
        wanted = environment.wanted()
        environment.begin()
        if not usable:
            say(f"ctk: making the virtual environment {environment.folder} …")
            create(environment)
        say("ctk: installing ctk and its libraries …")
        install(environment, purpose)
        environment.finish(purpose, wanted)
        say(f"ctk: the environment is ready ({time.monotonic() - start:.0f} s).")


def main(arguments: Sequence[str]) -> int:
    purpose, checkout = arguments
    # The real file, not a link or a version manager's shim, so that the environment says which Python it is.
    interpreter = os.path.realpath(sys.executable) if sys.prefix == sys.base_prefix else sys.executable
    try:
        make_ready(Environment(checkout, interpreter, Runner(os.environ)), purpose)
    except Unable as error:
        say(str(error))
        return 3
    except OSError as error:
        say(f"ctk: cannot make the virtual environment: {error.filename}: {error.strerror}.")
        say("Give yourself the right to write there, or make room, and run the command again.")
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
