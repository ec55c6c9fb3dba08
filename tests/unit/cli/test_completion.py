"""The completion scripts: printed without starting a shell, and what the shell then asks ctk."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.scene import ctk


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    answer = ctk("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    assert f"_CTK_COMPLETE={shell}_complete" in answer.out
    assert ctk("completion", shell, "--json").json()["data"] == {"shell": shell, "script": answer.out}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ctk runtime conf", ["plain,configure"]),
        ("ctk ", ["plain,runtime", "plain,info"]),
        ("ctk runtime configure --set-as", ["plain,--set-as-default"]),
        ("ctk completion z", ["plain,zsh"]),
    ],
)
def test_what_a_shell_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, expected: list[str]
) -> None:
    from ctk.cli import run

    monkeypatch.setenv("_CTK_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as stop:
        run([])
    assert stop.value.code == 0
    assert set(expected) <= set(capsys.readouterr().out.split())


@pytest.mark.real
def test_bash_takes_the_script(tmp_path: Path) -> None:
    script = tmp_path / "ctk.bash"
    script.write_text(ctk("completion", "bash").out)
    bash = shutil.which("bash")
    assert bash is not None
    answer = subprocess.run(
        [bash, "-c", f"source {script} && complete -p ctk"], capture_output=True, text=True, timeout=20, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "_ctk_completion" in answer.stdout
