"""stdout is for results, stderr for the rest; no stream can make ctk fail, or hide what it did."""

import io
import json
from typing import Any

import pytest

from tests.unit.cli.scene import HostFolder, ctk_on

UMLAUTS = '{"data-root": "/srv/döcker€"}\n'


class Broken(io.TextIOBase):
    """A stdout that cannot be written."""

    encoding = "utf-8"

    def __init__(self, error: OSError) -> None:
        self.error = error

    def write(self, text: str) -> int:
        raise self.error

    def isatty(self) -> bool:
        return False


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_text_is_printed_in_every_encoding(host: HostFolder, encoding: str) -> None:
    host.engine("docker", UMLAUTS)
    answer = host.ctk("runtime", "configure", "--dry-run", encoding=encoding)
    assert answer.code == 0
    assert '"path": "nvidia-container-runtime"' in answer.out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_valid_in_every_encoding(host: HostFolder, encoding: str) -> None:
    host.engine("docker", UMLAUTS)
    document = host.ctk("runtime", "configure", "--dry-run", "--json", encoding=encoding).json()
    assert "döcker€" in document["data"]["engines"][0]["files"][0]["diff"]


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_name_that_is_no_text_is_printed_escaped(host: HostFolder, encoding: str) -> None:
    host.engine("docker")
    command = ("runtime", "configure", "--config=/etc/\udcff.json", "--dry-run")

    document = host.ctk(*command, "--json", encoding=encoding).json()

    assert document["data"]["engines"][0]["files"][0]["path"].endswith("/etc/\udcff.json")
    assert "/etc/\\udcff.json" in host.ctk(*command, encoding=encoding).out


def test_colour_only_on_a_terminal(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    host.engine("docker", "{}\n")
    command = ("runtime", "configure", "--dry-run")

    assert "\x1b[" in host.ctk(*command, terminal=True).out
    assert "\x1b[" not in host.ctk(*command).out
    assert "\x1b[" not in host.ctk(*command, "--json", terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in host.ctk(*command, terminal=True).out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b[" not in host.ctk(*command, terminal=True).out


def test_quiet_leaves_warnings_and_errors(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    command = ("runtime", "configure", "--runtime=docker", "--config-source=command", "--config-mode=odd", "--dry-run")
    assert "reads the file" in host.ctk(*command).err
    quiet = host.ctk(*command, "--quiet")
    assert "reads the file" not in quiet.err
    assert len(quiet.warnings()) == 1
    assert host.ctk("runtime", "configure", "--bogus", "--quiet").errors()


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_reader_that_went_away_is_no_error(host: HostFolder, words: tuple[str, ...]) -> None:
    host.engine("docker", "{}\n")
    stdout = Broken(BrokenPipeError(32, "Broken pipe"))
    assert ctk_on(stdout, "--root", str(host.folder), "runtime", "configure", "--dry-run", *words) == (0, "")
    assert ctk_on(stdout, "--root", str(host.folder), "runtime", "configure", "--check", *words) == (1, "")


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_full_disk_behind_stdout_is_told_and_the_work_stands(host: HostFolder, words: tuple[str, ...]) -> None:
    config = host.engine("docker", "{}\n")
    stdout = Broken(OSError(28, "No space left on device"))

    code, err = ctk_on(stdout, "--root", str(host.folder), "runtime", "configure", *words)

    assert code == 3
    assert err.startswith("error: cannot print the result: No space left on device\n")
    assert "nvidia" in config.read_text()


def test_a_closed_stdout_is_nobody_who_reads(host: HostFolder) -> None:
    config = host.engine("docker", "{}\n")
    assert ctk_on(None, "--root", str(host.folder), "runtime", "configure", "--json") == (0, "")
    assert "nvidia" in config.read_text()


def _all_documents(host: HostFolder) -> list[Any]:
    commands = (
        ("runtime", "configure", "--runtime=auto"),
        ("runtime", "status"),
        ("runtime", "history"),
        ("runtime", "rollback", "nothing"),
        ("runtime", "unconfigure", "--runtime=auto"),
        ("completion", "bash"),
        ("frobnicate",),
    )
    return [host.ctk(*command, "--json") for command in commands]


def test_json_is_one_document_and_all_of_stdout(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    host.engine("containerd", "version = 9\n")
    for answer in _all_documents(host):
        document = json.loads(answer.out)
        assert document["exit_code"] == answer.code
        assert document["schema_version"] == 1
        assert answer.err == "", "messages and errors are in the document"
