"""scripts/ctk on a checkout of its own: what it says, what it makes, and how it recovers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
PARTS = ("ctk", "templates", "scripts", "pyproject.toml", "README.md", "LICENSE")
VERSION_LINE = "ctk "
FIRST_RUN_SECONDS = 240

pytestmark = pytest.mark.real


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy without an environment, in a folder whose name holds a space."""
    copy = tmp_path / "a checkout"
    copy.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in PARTS:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignore)
        else:
            shutil.copy(source, copy / name)
    return copy


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "CTK_PYTHON": sys.executable, **changes}


def run(command: Path, *arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(command), *arguments],
        cwd="/",
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=FIRST_RUN_SECONDS,
        check=False,
    )


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def pretend_ready(checkout: Path) -> None:
    """An environment that looks finished; its ctk only prints its arguments."""
    write_program(checkout / ".venv/bin/python", "#!/bin/sh\nexit 1\n")
    write_program(checkout / ".venv/bin/ctk", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (checkout / ".venv/ctk-home").write_text(f"{checkout}\n")
    shutil.copy(checkout / "pyproject.toml", checkout / ".venv/ctk-run.toml")


def test_a_ready_environment_is_used_as_it_is(checkout: Path) -> None:
    pretend_ready(checkout)
    done = run(checkout / "scripts/ctk", "two words", "--x", env=environment(CTK_PYTHON="/nonexistent"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "two words\n--x\n", "")
    assert not (checkout / ".cache").exists()


def test_a_link_to_the_command_finds_its_checkout(checkout: Path, tmp_path: Path) -> None:
    pretend_ready(checkout)
    link = tmp_path / "ctk"
    link.symlink_to(checkout / "scripts/ctk")
    assert run(link, "info", env=environment()).stdout == "info\n"


@pytest.mark.parametrize("change", ["pyproject", "moved", "no-python"])
def test_an_environment_that_does_not_fit_is_not_used(checkout: Path, change: str) -> None:
    pretend_ready(checkout)
    if change == "pyproject":
        with (checkout / "pyproject.toml").open("a") as file:
            file.write("# one more line\n")
    elif change == "moved":
        checkout = checkout.rename(checkout.with_name("elsewhere"))
    else:
        (checkout / ".venv/bin/python").unlink()
    done = run(checkout / "scripts/ctk", "info", env=environment(CTK_PYTHON="/nonexistent"))
    assert (done.returncode, done.stdout) == (3, "")


def test_no_python_is_a_sentence_and_exit_3(checkout: Path) -> None:
    done = run(checkout / "scripts/ctk", "--version", env=environment(CTK_PYTHON="/nonexistent/python3"))
    assert done.returncode == 3
    assert done.stdout == ""
    assert "needs Python 3.11 or newer, and /nonexistent/python3 does not run" in done.stderr
    assert "Nothing was changed" in done.stderr
    assert not (checkout / ".venv").exists()


def test_an_old_python_is_named_with_its_version(checkout: Path, tmp_path: Path) -> None:
    old = write_program(
        tmp_path / "bin/python3", '#!/bin/sh\ncase $2 in *"print("*) echo "is 3.10.12" ;; *) exit 1 ;; esac\n'
    )
    done = run(checkout / "scripts/ctk", "--version", env=environment(CTK_PYTHON=str(old)))
    assert done.returncode == 3
    assert f"{old} is 3.10.12" in done.stderr


ADVICE = [
    ('ID=ubuntu\nVERSION_ID="22.04"\nID_LIKE=debian\n', "apt-get install python3.11 python3.11-venv"),
    ('ID=ubuntu\nVERSION_ID="20.04"\nID_LIKE=debian\n', "Use a newer release"),
    ('ID=ubuntu\nVERSION_ID="24.04"\nID_LIKE=debian\n', "apt-get install python3 python3-venv"),
    ('ID=debian\nVERSION_ID="11"\n', "Use Debian 12 or newer"),
    ('ID=debian\nVERSION_ID="12"\n', "apt-get install python3 python3-venv"),
    ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", "python3.11 python3.11-venv"),
    ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n', "dnf install python3.11"),
    ('ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"\n', "dnf install python3.11"),
    ("ID=fedora\n", "dnf install python3"),
    ('ID="sles"\nID_LIKE="suse"\n', "zypper install python311"),
    ("ID=alpine\n", "apk add python3"),
    ("", "package manager"),
]


@pytest.mark.parametrize(("os_release", "advice"), ADVICE, ids=[advice for _, advice in ADVICE])
def test_the_advice_fits_the_distribution(tmp_path: Path, os_release: str, advice: str) -> None:
    (tmp_path / "os-release").write_text(os_release)
    script = f'folder="{CHECKOUT}/scripts"; . "$folder/bootstrap.sh"; how_to_get_python {tmp_path}/os-release'
    done = run(Path("/bin/sh"), "-euc", script, env={"PATH": os.environ["PATH"]})
    assert advice in done.stdout, done.stderr


@pytest.mark.long
def test_the_first_run_makes_the_environment_and_the_second_says_nothing(checkout: Path) -> None:
    first = run(checkout / "scripts/ctk", "--version", env=environment())
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(VERSION_LINE)
    assert "the environment is ready" in first.stderr
    second = run(checkout / "scripts/ctk", "--version", env=environment(CTK_PYTHON="/nonexistent"))
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")


@pytest.mark.long
def test_two_first_runs_at_once_both_succeed(checkout: Path) -> None:
    command = [str(checkout / "scripts/ctk"), "--version"]
    runs = [
        subprocess.Popen(command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=FIRST_RUN_SECONDS) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], outcomes
    assert all(output.startswith(VERSION_LINE) for output, _ in outcomes)
    assert sum("the environment is ready" in errors for _, errors in outcomes) == 1


@pytest.mark.long
def test_a_half_made_environment_is_made_anew(checkout: Path) -> None:
    write_program(checkout / ".venv/bin/python", "#!/bin/sh\nexit 0\n")
    (checkout / ".cache").mkdir()
    (checkout / ".cache/environment-unfinished").touch()
    done = run(checkout / "scripts/ctk", "--version", env=environment())
    assert done.returncode == 0, done.stderr
    assert "making the virtual environment" in done.stderr
    assert not (checkout / ".cache/environment-unfinished").exists()


# Stands in for Debian's python3 without python3-venv: a real Python whose venv module refuses to bring pip along.
WITHOUT_ENSUREPIP = """#!/bin/sh
case "$*" in
*"-m virtualenv"*) echo "No module named virtualenv" >&2; exit 1 ;;
*--without-pip*) ;;
*"-m venv"*) echo "ensurepip is not available" >&2; exit 1 ;;
*bootstrap.py*) exec "{python}" -c 'import runpy, sys; sys.argv[:] = sys.argv[1:]; sys.executable = "{shim}";\
 sys.prefix = sys.base_prefix + "-elsewhere"; runpy.run_path(sys.argv[0], run_name="__main__")' "$@" ;;
esac
exec "{python}" "$@"
"""


@pytest.mark.long
def test_a_python_without_ensurepip_borrows_a_pip_from_elsewhere(checkout: Path, tmp_path: Path) -> None:
    shim = tmp_path / "bin/python3"
    write_program(shim, WITHOUT_ENSUREPIP.format(python=sys.executable, shim=shim))
    done = run(checkout / "scripts/ctk", "--version", env=environment(CTK_PYTHON=str(shim)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(VERSION_LINE)
    pip = run(checkout / ".venv/bin/python", "-m", "pip", "--version", env=environment())
    assert str(checkout) in pip.stdout


@pytest.mark.long
def test_an_unreachable_registry_is_a_sentence_and_the_next_run_recovers(checkout: Path) -> None:
    nowhere = environment(PIP_INDEX_URL="http://127.0.0.1:1/simple", PIP_RETRIES="0", PIP_CONFIG_FILE=os.devnull)
    done = run(checkout / "scripts/ctk", "--version", env={**nowhere, "PIP_FIND_LINKS": ""})
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot install ctk's libraries" in done.stderr
    assert run(checkout / "scripts/ctk", "--version", env=environment()).returncode == 0
