"""Templates as read from a checkout; tests/test_packaging.py reads them from a wheel."""

from pathlib import Path

import pytest

from ctk.errors import EXIT_FAILED, ReadFault
from ctk.templates import read_template

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def test_every_template_of_the_checkout_can_be_read() -> None:
    names = [str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*") if path.is_file()]
    assert names
    for name in names:
        assert read_template(name).encode() == (TEMPLATES / name).read_bytes()


def test_the_k3s_template_keeps_what_k3s_generates() -> None:
    assert read_template("k3s/base.toml.tmpl") == '{{ template "base" . }}\n'


def test_a_missing_template_is_a_fault_with_a_step() -> None:
    with pytest.raises(ReadFault, match="cannot read the template nowhere/none") as caught:
        read_template("nowhere/none")
    assert caught.value.exit_code == EXIT_FAILED
    assert "Install gpu-ctk again" in caught.value.hint
