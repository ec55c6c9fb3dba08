"""From exceptions to exit codes: a mistake of the user, a bug of ours, and Ctrl-C."""

import pytest

import ctk.runtime.configure
from ctk.engines import docker
from tests.unit.cli.scene import HostFolder


def _fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException, engine: str = "_plan_docker") -> None:
    """Break the planner of one engine; no input is known that does, which is why it is replaced here."""

    def broken(*_arguments: object, **_settings: object) -> None:
        raise error

    monkeypatch.setattr(ctk.runtime.configure, engine, broken)


def test_a_bug_of_ours_is_one_message_and_exit_3(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    host.engine("docker", "{}\n")
    before = host.everything()
    _fail_with(monkeypatch, RuntimeError("boom"))

    answer = host.configure("docker")

    assert answer.code == 3
    assert answer.errors() == ["error: cannot finish: a bug in ctk (RuntimeError: boom)"]
    assert "Traceback" not in answer.err
    assert host.everything() == before
    [error] = host.configure("docker", "--json").json()["errors"]
    assert error["code"] == "internal"


def test_a_bug_outside_an_engine_is_the_same(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    host.engine("docker", "{}\n")
    monkeypatch.setattr(docker, "view", None)
    assert host.ctk("runtime", "status", "--json").json()["errors"][0]["code"] == "internal"
    assert host.ctk("runtime", "status").code == 3


def test_debug_shows_where_it_comes_from_and_changes_nothing_else(
    host: HostFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine("docker", "{,}\n")
    plain, debug = host.configure("docker"), host.configure("docker", "--debug")
    assert "Traceback" not in plain.err
    assert "Traceback (most recent call last)" in debug.err
    assert debug.err.endswith(plain.err)
    assert (plain.code, plain.out) == (debug.code, debug.out)
    monkeypatch.setenv("NVIDIA_CTK_DEBUG", "true")
    document = host.configure("docker", "--json").json()
    assert document["errors"][0]["code"] == "parse"


def test_a_bug_met_with_one_engine_hides_nothing_of_the_others(
    host: HostFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = host.engine("docker", "{}\n")
    host.engine("crio", "")
    _fail_with(monkeypatch, RuntimeError("boom"), "_plan_crio")

    answer = host.configure("auto", "--json")

    assert answer.code == 3
    assert [row["applied"] for row in answer.json()["data"]["engines"]] == [True, False]
    assert [error["code"] for error in answer.json()["errors"]] == ["internal"]
    assert "nvidia" in config.read_text()


@pytest.mark.parametrize("words", [(), ("--json",), ("--debug",)])
def test_ctrl_c_is_130_without_a_word(
    host: HostFolder, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    host.engine("docker", "{}\n")
    _fail_with(monkeypatch, KeyboardInterrupt())
    answer = host.configure("docker", *words)
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.strip() == ""
