"""The pages of docs/how-to show what ctk really prints, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.doc_examples import PAGES, render

DOCS = PAGES.parent


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_examples_are_true(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTK_STATE_DIR", "")  # the examples set it; it is put back after the test
    text = page.read_text(encoding="utf-8")
    assert "```console" in text
    assert render(text, tmp_path) == text, "see tests/doc_examples.py"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
