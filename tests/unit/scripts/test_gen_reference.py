"""The generated reference pages are in step with the code, and --check says so without writing."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "gen_reference.py"


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_reference", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_in_step(generator: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert generator.main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_page_is_named_and_left_alone(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "docs" / "reference"
    (folder / "schemas").mkdir(parents=True)
    (folder / "cli.md").write_text("old\n")
    monkeypatch.setattr(generator, "CHECKOUT", tmp_path)
    monkeypatch.setattr(generator, "PAGES", folder)

    assert generator.main(["--check"]) == 1
    assert "docs/reference/cli.md is out of step" in capsys.readouterr().err
    assert (folder / "cli.md").read_text() == "old\n"

    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    assert generator.main(["--bogus"]) == 2


def test_every_command_and_option_is_on_the_page(generator: ModuleType) -> None:
    text = generator.render_cli()
    for command in ("configure", "unconfigure", "status", "history", "rollback"):
        assert f"## ctk runtime {command}\n" in text
    for option in ("--cdi.enabled", "--nvidia-runtime-name", "--drop-in-config", "--no-journal", "--root", "--json"):
        assert f"`{option}`" in text
