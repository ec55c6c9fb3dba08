"""The wheel that users install: built without a network, complete, and readable without the checkout."""

import email
import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
TEMPLATES = {
    str(path.relative_to(CHECKOUT / "templates")): path.read_text(encoding="utf-8")
    for path in sorted((CHECKOUT / "templates").rglob("*"))
    if path.is_file()
}
READ_TEMPLATES = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ctk.templates import read_template
json.dump({name: read_template(name) for name in json.loads(sys.argv[2])}, sys.stdout)
"""

pytestmark = pytest.mark.real


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(CHECKOUT))
    (built,) = folder.glob("gpu_ctk-*.whl")
    return built


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_holds_every_module_and_template_and_nothing_else(wheel: Path) -> None:
    modules = {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "ctk").rglob("*.py")}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name for name in packed if name.endswith(".py")} == modules
    assert {name for name in packed if name.startswith("ctk/_templates/")} == {f"ctk/_templates/{t}" for t in TEMPLATES}
    assert {name.split("/")[0] for name in packed} == {"ctk"}


def test_the_wheel_says_who_it_is_and_what_it_needs(unpacked: Path) -> None:
    (folder,) = unpacked.glob("*.dist-info")
    metadata = email.message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["Name"] == "gpu-ctk"
    assert metadata["Requires-Python"] == ">=3.11"
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(needed, key=str.lower) == sorted(project["dependencies"], key=str.lower)
    assert (folder / "entry_points.txt").read_text().split() == ["[console_scripts]", "ctk", "=", "ctk.__main__:main"]
    assert list(folder.rglob("LICENSE"))


def test_templates_are_the_same_from_the_wheel_and_from_the_checkout(unpacked: Path) -> None:
    names = json.dumps(sorted(TEMPLATES))
    for source in (unpacked, CHECKOUT):
        assert json.loads(run(sys.executable, "-I", "-c", READ_TEMPLATES, str(source), names)) == TEMPLATES


def test_the_unpacked_wheel_runs(unpacked: Path) -> None:
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ctk.__main__ import main; sys.exit(main())"
    version = run(sys.executable, "-I", "-c", start, str(unpacked), "--version")
    assert version == f"ctk {written_version()}\n"


def written_version() -> str:
    """The version as written in ctk/__init__.py, from which the wheel takes it."""
    namespace: dict[str, str] = {}
    exec((CHECKOUT / "ctk" / "__init__.py").read_text(encoding="utf-8"), namespace)
    return namespace["__version__"]
