"""The script that specs name: its exit codes, and that neither the caller nor the image decides what Python loads."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.inject.container import CHECKOUT, Container
from tests.unit.inject.test_compat import NOTE, make_library

pytestmark = pytest.mark.real

SCRIPT = CHECKOUT / "ctk/inject/hook_main.py"
SLOW = {"typing", "re", "enum", "json", "collections", "functools", "fnmatch", "argparse", "dataclasses", "subprocess"}
SHOW_MODULES = """
import sys, os
real = os._exit
def show(code):
    sys.stderr.write(" ".join(sorted(sys.modules)))
    sys.stderr.flush()
    real(code)
os._exit = show
sys.argv = sys.argv[1:]
exec(open(sys.argv[0]).read(), {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def run(
    *arguments: str, state: str = "{}", environment: Mapping[str, str] | None = None, cwd: str | Path = "/"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", *arguments],
        input=state,
        cwd=cwd,
        env=environment or {"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def hook(*arguments: str, state: str = "{}") -> subprocess.CompletedProcess[str]:
    return run(str(SCRIPT), *arguments, state=state)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 0, "no hook was named"),
        (("make-coffee", "--strong"), 0, "no hook 'make-coffee'"),
        (("--new-option", "create-symlinks", "--link", "x"), 0, "no option '--new-option'"),
        (("--debug", "make-coffee"), 0, "no hook 'make-coffee'"),
        (("noop", "--whatever"), 0, ""),
        (("apply",), 0, ""),
        (("apply", "--disable-device-node-modification=false"), 0, ""),
        (("create-symlinks", "--help"), 0, "--link"),
        (("create-symlinks", "--frob"), 1, "there is no option --frob"),
        (("create-symlinks", "--link"), 1, "--link needs a value"),
        (("create-symlinks", "--folder=/x"), 1, "there is no option --folder"),
        (("apply", "--update-application-profile=perhaps"), 1, "takes true or false"),
        (("create-symlinks", "--link=a::b"), 1, "its state names no bundle"),
        (("chmod", "--mode=755", "--path=/dev/dri", "--container-spec=/nowhere"), 1, "No such file or directory"),
    ],
)
def test_exit_codes_are_those_of_nvidias_hooks(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = hook(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == bool(words)


def test_ctk_hook_is_the_same(container: Container) -> None:
    state = json.dumps({"root": str(container.root)})
    for arguments in (["make-coffee"], ["create-symlinks", "--frob"], ["create-symlinks", "--link=b::/a"]):
        command = [sys.executable, "-m", "ctk", "hook", *arguments]
        done = subprocess.run(
            command, input=state, cwd=CHECKOUT, capture_output=True, text=True, timeout=30, check=False
        )
        script = hook(*arguments, state=state)
        assert (done.returncode, done.stdout, done.stderr) == (script.returncode, "", script.stderr)
    assert os.readlink(container.root / "a") == "b"


def test_the_state_comes_from_stdin(container: Container) -> None:
    state = json.dumps({"bundle": str(container.folder / "bundle")})
    assert hook("create-symlinks", "--link=b::/a", state=state).returncode == 0
    assert os.readlink(container.root / "a") == "b"


def test_a_relative_bundle_of_a_spec_file_is_the_callers(container: Container) -> None:
    done = run(
        str(SCRIPT), "create-symlinks", "--link=b::/a", "--container-spec=state.json", cwd=container.folder / "bundle"
    )
    assert done.returncode == 0, done.stderr
    assert os.readlink(container.root / "a") == "b"


def test_one_hooks_failure_hides_no_others(container: Container) -> None:
    container.folder_at("/a")
    state = json.dumps({"root": str(container.root)})
    done = hook("apply", "--link=b::/a", "--folder=x", "--update-application-profile", state=state)
    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["create-symlinks", "update-ldcache"]


def test_nothing_of_the_image_or_the_caller_is_loaded(container: Container, tmp_path: Path) -> None:
    """A hook starts in the image's root, and an engine may give it the image's environment."""
    marker = tmp_path / "loaded"
    code = f"open({str(marker)!r}, 'w').close()\n"
    for name in ("json", "ctk/__init__", "ctk/inject/hooks", "sitecustomize", "usercustomize", "struct", "encodings/x"):
        container.write(f"/{name}.py", code)
    container.write("/ctk/inject/__init__.py", code)
    environment = {
        "PYTHONPATH": str(container.root),
        "PYTHONSTARTUP": str(container.root / "json.py"),
        "PYTHONUSERBASE": str(container.root),
        "PYTHONINSPECT": "",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    arguments = (str(SCRIPT), "create-symlinks", "--link=b::/a", f"--container-spec={container.state}")
    done = run(*arguments, environment=environment, cwd=container.root)
    assert done.returncode == 0, done.stderr
    assert os.readlink(container.root / "a") == "b"
    assert not marker.exists()


def test_little_is_loaded(container: Container) -> None:
    container.write("/usr/local/cuda/compat/libcuda.so.575.57.08", make_library(NOTE))
    state = json.dumps({"root": str(container.root)})
    done = run("-c", SHOW_MODULES, str(SCRIPT), "apply", "--link=b::/a", "--host-driver-version=550.1", state=state)
    loaded = set(done.stderr.split())
    assert {"ctk.inject.hooks", "ctk.inject.ldcache"} <= loaded
    assert loaded & SLOW == set()
    ours = {name for name in loaded if name.split(".")[0] == "ctk"}
    assert {name for name in ours if not name.startswith("ctk.inject")} == {"ctk"}
    assert {name.split(".")[0] for name in loaded} - {"ctk", "__main__"} <= set(sys.stdlib_module_names)


def test_nothing_is_compiled_into_the_hosts_folders(container: Container, tmp_path: Path) -> None:
    copy = tmp_path / "site"
    shutil.copytree(CHECKOUT / "ctk" / "inject", copy / "ctk" / "inject", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "ctk" / "__init__.py", copy / "ctk")
    state = json.dumps({"root": str(container.root)})
    assert run(str(copy / "ctk/inject/hook_main.py"), "create-symlinks", "--link=b::/a", state=state).returncode == 0
    assert list(copy.rglob("__pycache__")) == []
