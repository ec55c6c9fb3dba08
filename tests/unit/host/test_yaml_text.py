"""One value of a flat YAML file is read without a YAML library, and never guessed."""

import pytest

from ctk.host.yaml_text import parse_yaml_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("key: unix:///run/x.sock\n", "unix:///run/x.sock"),
        ("a: 1\nkey:    value   # why\n", "value"),
        ('key: "quoted # value"\n', "quoted # value"),
        ("key: 'single'\n", "single"),
        ('"key": value\n', "value"),
        ("key : value\n", "value"),
        ("key: true\r\n", "true"),
        ("key:\n", None),
        ('key: ""\n', None),
        ("key: null\n", None),
        ("key: ~\n", None),
        ("key: # only a comment\n", None),
        ("key: |\n  text\n", None),
        ("key: {a: 1}\n", None),
        ('key: "open\n', None),
        ("# key: value\n", None),
        ("other:\n  key: value\n", None),
        ("keys: value\n", None),
        ("key:value\n", None),
        ("", None),
    ],
)
def test_scalar_at_the_top(text: str, value: str | None) -> None:
    assert (parse_yaml_scalar(text, "key") or None) == value
