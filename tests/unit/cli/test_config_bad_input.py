"""Configurations nobody can edit: exit 3, one message with path, line and column, and nothing is touched."""

from pathlib import Path

import pytest

from tests.conftest import AsNobody
from tests.unit.cli.config_scene import CONFIG, assert_untouched, with_config
from tests.unit.cli.scene import HostFolder
from tests.unit.toolkit.keys import corpus

MODE = "nvidia-container-runtime.mode"
WRITERS = (
    ("config", "set", f"{MODE}=cdi"),
    ("config", "--set", f"{MODE}=cdi", "-i"),
    ("config", "--set", f"{MODE}=cdi", "-o", "/out/new.toml"),
    ("config", "unset", MODE),
    ("config", "mode", "cdi"),
)
READERS = (("config", "get", MODE), ("config",), ("config", "diff"), ("config", "mode"), ("config", "validate"))
TEXTS = {
    "F52 an open string": ('[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig\n', 2, 28, ""),
    "F52 a pasted line": ("[nvidia-container-cli]\n\n/etc/alpha/sources.list\n", 3, 1, ""),
    "a table twice": ("[a]\n[b]\n[a]\n", 3, 1, "a second time"),
    "a key twice": ("x = 1\nx = 2\n", 2, 1, "a second time"),
    "JSON": ('{"x": 1}\n', 1, 1, "JSON, not TOML"),
    "UTF-16": ("x = 1\n".encode("utf-16"), 1, 1, "UTF-16"),
    "UTF-16 without a mark": ("x = 1\n".encode("utf-16-le"), 1, 2, "UTF-16"),
    "Latin-1": (b"x = '\xe9'\n", 1, 6, "not valid UTF-8"),
    "no value": ("x =\n", 1, 4, ""),
}
SHAPES = {
    "a scalar for a table": ("# c\nnvidia-container-cli = 5\n", 2, 1, "nvidia-container-cli: it must be a table"),
    "an array of tables": ("[[nvidia-container-runtime]]\n", 1, 1, "nvidia-container-runtime: it must be a table"),
    "another type": ("\n disable-require = 'no'\n", 2, 2, "disable-require: it must be true or false"),
    "a list of numbers": ("nvidia-container-runtime.runtimes = [1]\n", 1, 1, "it must be a list of strings"),
}
CASES = [
    *((*row, words) for row in TEXTS.values() for words in (*WRITERS, *READERS)),
    *((*row, words) for row in SHAPES.values() for words in WRITERS),
]


@pytest.mark.parametrize(("content", "line", "column", "says", "words"), CASES)
def test_a_broken_file(
    host: HostFolder, content: str | bytes, line: int, column: int, says: str, words: tuple[str, ...]
) -> None:
    path = host.put(CONFIG, content)
    before = host.everything()
    answer = host.ctk(*words)
    assert answer.code == 3, answer
    assert len(answer.errors()) == 1
    assert f"{path}: line {line}, column {column}: " in answer.errors()[0]
    assert says in answer.errors()[0]
    assert "Traceback" not in answer.err
    assert_untouched(host, answer, before)
    error = host.ctk(*words, "--json").json()["errors"][0]
    assert (error["path"], error["line"], error["column"]) == (str(path), line, column)


@pytest.mark.parametrize("words", [*WRITERS, *READERS], ids=" ".join)
def test_a_folder_and_a_dangling_link(host: HostFolder, words: tuple[str, ...]) -> None:
    path = host.path(CONFIG)
    path.mkdir(parents=True)
    before = host.everything()
    answer = host.ctk(*words)
    assert (answer.code, answer.errors()) == (3, [f"error: cannot read {path}: it is a directory, not a file"])
    assert_untouched(host, answer, before)
    path.rmdir()
    path.symlink_to("/srv/gone.toml")
    before = host.everything()
    answer = host.ctk(*words)
    assert answer.code == 3
    assert answer.errors() == [
        f"error: cannot read {path}: it is a symbolic link to /srv/gone.toml, which does not exist"
    ]
    assert_untouched(host, answer, before)


@pytest.mark.parametrize("words", [*WRITERS, *READERS], ids=" ".join)
def test_a_file_that_may_not_be_read(host: HostFolder, as_nobody: AsNobody, words: tuple[str, ...]) -> None:
    path = with_config(host)
    path.chmod(0o600)
    before = host.everything()
    answer = as_nobody(host.ctk, *words)
    assert (answer.code, answer.errors()) == (3, [f"error: cannot read {path}: permission denied"])
    assert "sudo" in answer.err
    assert_untouched(host, answer, before)


@pytest.mark.parametrize("words", [WRITERS[0], WRITERS[1], WRITERS[4], ("config", "default", "-i")], ids=" ".join)
def test_a_folder_that_may_not_be_written(
    host: HostFolder, as_nobody: AsNobody, words: tuple[str, ...], tmp_path: Path
) -> None:
    host.state.mkdir()
    host.state.chmod(0o777)
    path = with_config(host)
    for folder in (path.parent, path.parent.parent, host.folder):
        folder.chmod(0o755)
    path.write_text(corpus("old-release.toml"))
    before = host.everything()
    answer = as_nobody(host.ctk, *words)
    assert answer.code == 3
    assert "permission denied" in answer.err.lower()
    assert_untouched(host, answer, before)


def test_a_named_file_must_be_there(host: HostFolder) -> None:
    for words in (("config", "validate", "/none.toml"), ("config", "diff", "/none.toml")):
        answer = host.ctk(*words)
        assert (answer.code, answer.errors()) == (
            3,
            [f"error: cannot read {host.path('/none.toml')}: it does not exist"],
        )


@pytest.mark.parametrize("key", ["disable-require.foo", "nvidia-container-cli.root.x"])
def test_a_key_below_a_value_is_refused_even_where_unknown_ones_are_taken(host: HostFolder, key: str) -> None:
    path = with_config(host)
    host.ctk("config", "set", "nvidia-container-cli.root=/x", "--no-journal")
    before = host.everything()
    assert host.ctk("config", "set", f"{key}=1").code == 2
    answer = host.ctk("config", "set", f"{key}=1", "--allow-unknown")
    assert answer.code == 3
    assert str(path) in answer.err or key.rpartition(".")[0] in answer.err
    assert_untouched(host, answer, before)
