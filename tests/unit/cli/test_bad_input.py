"""Files that nobody can edit: exit 3, one message that says where and what, and nothing is touched."""

import errno
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import AsNobody
from tests.unit.cli.scene import CONFIGS, CONTAINERD_V2, CRIO_DROP_IN, HostFolder

ENGINES = sorted(CONFIGS)
COMMANDS = (("configure",), ("configure", "--set-as-default"), ("unconfigure",), ("status",))
GOOD = {"docker": '{"debug": true}\n', "containerd": CONTAINERD_V2, "crio": "[crio.runtime]\n"}


class Bad(NamedTuple):
    """A file's content, where its fault lies, and what must be said."""

    content: str | bytes
    line: int
    column: int
    says: str


JSON_FAULTS = {
    "missing comma": Bad('{\n  "dns": ["192.0.2.1"]\n  "runtimes": {}\n}\n', 3, 3, "missing comma"),
    "trailing comma": Bad('{\n  "live-restore": true,\n}\n', 2, 23, "trailing comma"),
    "slash comment": Bad('{\n  // site\n  "debug": true\n}\n', 2, 3, "JSON has no comments"),
    "hash comment": Bad('{\n  # site\n  "debug": true\n}\n', 2, 3, "JSON has no comments"),
    "block comment": Bad('{\n  "debug": true /* site */\n}\n', 2, 17, "JSON has no comments"),
    "stray brace": Bad(
        '{\n  "a": ["b"] },\n  "data-root": "/data/d",\n}\n', 2, 15, "extra data after the top-level object"
    ),
    "second value": Bad('{"debug":true} {"x": 1}\n', 1, 16, "extra data after the top-level object"),
    "web page": Bad("<!DOCTYPE html>\n<html></html>\n", 1, 1, "looks like HTML/XML"),
    "web page below": Bad("\n\n  <html></html>\n", 3, 3, "looks like HTML/XML"),
    "array": Bad("[]\n", 1, 1, "must be an object, not an array"),
    "null": Bad("null\n", 1, 1, "must be an object, not null"),
    "number": Bad("3\n", 1, 1, "must be an object, not a number"),
    "template": Bad("{\n{{ range .X }}\n}\n", 2, 1, "template"),
    "half a file": Bad('{\n  "a": {\n', 3, 1, "unterminated object"),
    "runtimes of another type": Bad('{"runtimes": []}\n', 1, 14, "runtimes must be an object"),
    "entry of another type": Bad('{"runtimes": {"nvidia": "x"}}\n', 1, 25, "runtimes.nvidia must be an object"),
}
TOML_FAULTS = {
    "unclosed header": Bad("[a]\n[b\n", 2, 3, "expected ']'"),
    "table twice": Bad("[a.b]\nx = 1\n[a.b]\n", 3, 1, "a second time, the first one is in line 1"),
    "key twice": Bad("x = 1\nx = 2\n", 2, 1, "a second time"),
    "no value": Bad("x =\n", 1, 4, "value"),
    "web page": Bad("<!DOCTYPE html>\n<html></html>\n", 1, 1, "HTML"),
    "JSON": Bad('{"version": 2}\n', 1, 1, "JSON, not TOML"),
    "template": Bad('x = "{{ .Y }}"\n{{- if .Z }}\ny = 1\n{{ end }}\n', 2, 1, "Go template"),
    "binary": Bad("x = 1\n\0\0\n", 2, 1, "NUL"),
}
BYTE_FAULTS = {
    "UTF-16": Bad("{}\n".encode("utf-16"), 1, 1, "UTF-16"),
    "UTF-16 without a mark": Bad('{"a": 1}\n'.encode("utf-16-be"), 1, 1, "UTF-16"),
    "Latin-1": Bad(b'a = "\xe9"\n', 1, 6, "not valid UTF-8"),
}
VERSION_FAULTS = {
    "version as a string": Bad('version = "2"\n', 1, 1, "version = 2"),
    "unknown version": Bad("# site\nversion = 5\n", 2, 1, "unsupported config version 5"),
    "version 0": Bad("version = 0\n", 1, 1, "unsupported config version 0"),
    "version as a float": Bad("version = 2.0\n", 1, 1, "must be an integer"),
    "imports as a string": Bad('version = 2\nimports = "x"\n', 2, 1, "imports must be an array"),
    "plugins as a string": Bad('version = 2\nplugins = "x"\n', 2, 1, "plugins must be a table"),
}
FAULTS = {
    "docker": JSON_FAULTS | BYTE_FAULTS,
    "containerd": TOML_FAULTS | BYTE_FAULTS | VERSION_FAULTS,
    "crio": TOML_FAULTS | BYTE_FAULTS,
}
CASES = [
    pytest.param(engine, bad, id=f"{engine}-{name}") for engine, rows in FAULTS.items() for name, bad in rows.items()
]


def _assert_refused(
    host: HostFolder, engine: str, command: tuple[str, ...], path: Path, says: str
) -> dict[str, object]:
    """Run it as text and as JSON; returns the one error."""
    before = host.everything()
    words = ("runtime", command[0], f"--runtime={engine}", *command[1:])
    answer, document = host.ctk(*words), host.ctk(*words, "--json").json()

    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert str(path) in answer.errors()[0]
    assert says in answer.errors()[0]
    assert answer.err.splitlines()[1].startswith("       "), "a hint"
    assert "Nothing was changed." in answer.err
    assert "Traceback" not in answer.err
    assert host.everything() == before
    assert host.entries() == []
    [error] = document["errors"]
    assert document["status"] == "error"
    assert error["path"] == str(path)
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize(("engine", "bad"), CASES)
def test_bad_content(host: HostFolder, engine: str, bad: Bad) -> None:
    path = host.engine(engine, bad.content)
    for command in COMMANDS:
        error = _assert_refused(host, engine, command, path, bad.says)
        assert (error["line"], error["column"]) == (bad.line, bad.column)
        assert f"line {bad.line}, column {bad.column}: " in str(error["message"])


@pytest.mark.parametrize("bad", TOML_FAULTS.values(), ids=TOML_FAULTS)
def test_bad_content_of_a_file_beside(host: HostFolder, bad: Bad) -> None:
    host.engine("crio", GOOD["crio"])
    drop_in = host.put("/etc/crio/crio.conf.d/10-site.conf", bad.content)
    _assert_refused(host, "crio", ("configure",), drop_in, bad.says)
    host.engine("containerd", 'imports = ["/etc/containerd/more/*.toml"]\n' + CONTAINERD_V2)
    imported = host.put("/etc/containerd/more/site.toml", bad.content)
    _assert_refused(host, "containerd", ("configure",), imported, bad.says)


def test_a_template_with_the_file_name_of_one(host: HostFolder) -> None:
    host.engine("containerd")
    path = host.put("/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl", 'version = 2\nx = "{{ .Y }}"\n')
    name = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl"
    error = _assert_refused(host, "containerd", ("configure", f"--config={name}"), path, "Go template")
    assert (error["line"], error["column"], error["code"]) == (2, 6, "template")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_folder_in_place_of_the_file(host: HostFolder, engine: str) -> None:
    path = host.engine(engine)
    path.mkdir(parents=True)
    for command in COMMANDS:
        _assert_refused(host, engine, command, path, "it is a directory")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dangling_link(host: HostFolder, engine: str) -> None:
    path = host.engine(engine)
    path.parent.mkdir(parents=True)
    path.symlink_to("/srv/gone/file")
    for command in COMMANDS:
        _assert_refused(host, engine, command, path, "symbolic link to /srv/gone/file, which does not exist")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_link_to_itself(host: HostFolder, engine: str) -> None:
    path = host.engine(engine)
    path.parent.mkdir(parents=True)
    path.symlink_to(path.name)
    _assert_refused(host, engine, ("configure",), path, "loop")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_of_the_path_is_a_file(host: HostFolder, engine: str) -> None:
    path = host.engine(engine)
    host.put(os.path.dirname(CONFIGS[engine]), "a file\n")
    read_first = path.parent / "crio.conf.d" if engine == "crio" else path
    _assert_refused(host, engine, ("configure",), read_first, "not a directory")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fifo_is_not_waited_for(host: HostFolder, engine: str) -> None:
    path = host.engine(engine)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    _assert_refused(host, engine, ("configure",), path, "not a regular file")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", [0o000, 0o200])
def test_a_file_that_may_not_be_read(host: HostFolder, as_nobody: AsNobody, engine: str, mode: int) -> None:
    path = host.engine(engine, GOOD[engine])
    before = host.everything()
    path.chmod(mode)
    answer = as_nobody(host.configure, engine)
    assert path.stat().st_mode & 0o777 == mode
    path.chmod(0o644)
    assert answer.code == 3
    assert answer.errors() == [f"error: cannot read {path}: permission denied"]
    assert "sudo" in answer.err
    assert host.everything() == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_folder_that_may_not_be_entered(host: HostFolder, as_nobody: AsNobody, engine: str) -> None:
    path = host.engine(engine, GOOD[engine])
    path.parent.chmod(0o000)
    try:
        answer = as_nobody(host.configure, engine)
    finally:
        path.parent.chmod(0o755)
    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert "permission denied" in answer.errors()[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_may_not_be_written(
    host: HostFolder, as_nobody: AsNobody, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = host.engine(engine, GOOD[engine])
    (path.parent / "crio.conf.d").mkdir()
    for folder in (path.parent / "crio.conf.d", path.parent):
        folder.chmod(0o555)
    state = tmp_path / "open"
    state.mkdir()
    state.chmod(0o777)
    monkeypatch.setenv("CTK_STATE_DIR", str(state / "ctk"))
    before = host.everything()

    answer = as_nobody(host.configure, engine)

    assert answer.code == 3
    [error] = answer.errors()
    assert os.strerror(errno.EACCES).lower() in error.lower()
    written = CRIO_DROP_IN if engine == "crio" else CONFIGS[engine]
    assert str(host.path(os.path.dirname(written))) in error
    assert host.everything() == before
    assert as_nobody(host.configure, engine, "--dry-run").code == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_no_place_for_the_journal(
    host: HostFolder, as_nobody: AsNobody, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a record there is no undo: refused unless that is said to be fine."""
    host.engine(engine, GOOD[engine])
    for path in (host.folder, *host.folder.rglob("*")):
        path.chmod(0o777)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    monkeypatch.setenv("CTK_STATE_DIR", str(closed / "ctk"))
    before = host.everything()

    answer = as_nobody(host.configure, engine)

    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert str(closed) in answer.errors()[0]
    assert "--no-journal" in answer.err
    assert host.everything() == before
    assert as_nobody(host.configure, engine, "--no-journal").code == 0


def test_a_section_of_another_type(host: HostFolder) -> None:
    path = host.engine("crio", 'crio = "x"\n')
    _assert_refused(host, "crio", ("configure",), path, "crio must be a table")


@pytest.mark.parametrize("engine", ["docker", "containerd", "crio"])
@pytest.mark.parametrize("content", ["", "\n", "  \n\n"])
def test_an_empty_file_is_an_empty_configuration_with_one_warning(host: HostFolder, engine: str, content: str) -> None:
    path = host.engine(engine, content)
    path.chmod(0o600)
    answer = host.configure(engine)
    assert answer.code == 0
    assert len([line for line in answer.warnings() if "empty" in line]) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert host.configure(engine).err == "", "configured: it is not empty any more, and nothing has to be said"


def test_an_empty_crio_conf_beside_drop_ins_is_usual(host: HostFolder) -> None:
    """Packages of CRI-O put their settings into the folder."""
    host.engine("crio", "")
    host.put("/etc/crio/crio.conf.d/10-crio.conf", '[crio.runtime]\ndefault_runtime = "crun"\n')
    answer = host.configure("crio")
    assert (answer.code, answer.err) == (0, "")
    assert host.path(CRIO_DROP_IN).exists()
