"""The completion of keys and values, as a shell asks for it."""

import pytest

from tests.unit.toolkit.keys import KEYS


def completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    from ctk.cli import run

    monkeypatch.setenv("_CTK_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(("ctk", "config", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words) + 1))
    with pytest.raises(SystemExit):
        run([])
    return capsys.readouterr().out.splitlines()[1::3]


@pytest.mark.parametrize("command", ["get", "unset", "set", "explain"])
def test_every_key_is_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert sorted(completed(monkeypatch, capsys, command, "")) == sorted(KEYS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("get", "nvidia-container-cli.no"), ["nvidia-container-cli.no-cgroups", "nvidia-container-cli.no-pivot"]),
        (("set", "disable-require="), ["disable-require=true", "disable-require=false"]),
        (
            ("set", "nvidia-container-runtime.mode=c"),
            [f"nvidia-container-runtime.mode={word}" for word in ("csv", "cdi")],
        ),
        (("set", "swarm-resource="), []),
        (("set", "bogus="), []),
        (("mode", "c"), ["csv", "cdi"]),
    ],
)
def test_what_is_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected: list[str]
) -> None:
    assert completed(monkeypatch, capsys, *words) == expected
