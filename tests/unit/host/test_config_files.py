"""The files an engine reads after its main one, in its own order."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host.config_files import (
    collect_conf_files,
    collect_containerd_files,
    collect_crio_files,
    collect_docker_socket,
    config_exists,
    import_directories,
)
from tests.conftest import AsNobody
from tests.unit.host.trees import Link, plant

MAIN = "/etc/containerd/config.toml"


def test_imports_are_loaded_breadth_first_and_each_file_once(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            MAIN: 'version = 2\nimports = ["conf.d/*.toml", "/opt/last.toml", "config.toml"]\n',
            "/etc/containerd/conf.d/b.toml": 'imports = ["../nested/*.toml", "/opt/last.toml"]\n',
            "/etc/containerd/conf.d/a.toml": "",
            "/etc/containerd/conf.d/c.conf": "",
            "/etc/containerd/nested/n.toml": f'imports = ["{MAIN}"]\n',
            "/opt/last.toml": '[grpc]\naddress = "/run/last.sock"\n',
        },
    )
    files = collect_containerd_files(host, MAIN)
    assert files.imports == ("conf.d/*.toml", "/opt/last.toml", "config.toml")
    assert files.drop_ins == (
        "/etc/containerd/conf.d/a.toml",
        "/etc/containerd/conf.d/b.toml",
        "/opt/last.toml",
        "/etc/containerd/nested/n.toml",
    )
    assert files.socket == "/run/last.sock"
    assert files.version == 2


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        (None, ()),
        ("", ()),
        ("imports = 5\n", ()),
        ('imports = ["/a", 3]\n', ("/a",)),
        ("imports = [\n", ()),
        ('\ufeffimports = ["/a"]\n', ("/a",)),
        ("version = 2\n", ()),
    ],
)
def test_broken_or_missing_main_file_has_no_imports(tmp_path: Path, text: str | None, imports: tuple[str, ...]) -> None:
    host = plant(tmp_path, {MAIN: text} if text is not None else {"/etc/x": ""})
    assert collect_containerd_files(host, MAIN).imports == imports


def test_imported_files_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    host = plant(tmp_path, {MAIN: 'imports = ["/none.toml", "/none/*.toml", "/folder"]\n', "/folder/x": ""})
    assert collect_containerd_files(host, MAIN).drop_ins == ()


@pytest.mark.parametrize(
    ("imports", "folders"),
    [
        (("/etc/containerd/conf.d/*.toml",), ("/etc/containerd/conf.d",)),
        (("conf.d/*.toml", "/a/b.toml"), ("/etc/containerd/conf.d",)),
        (("/etc//containerd/x/../conf.d/*.toml",), ("/etc/containerd/conf.d",)),
        (("/etc/*/conf.d/*.toml", "/etc/containerd/conf.d/*.conf"), ()),
    ],
)
def test_folders_whose_files_are_all_imported(imports: tuple[str, ...], folders: tuple[str, ...]) -> None:
    assert import_directories(MAIN, imports) == folders


def test_crio_reads_its_folder_recursively_in_byte_order(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/etc/crio/crio.conf": '[crio.api]\nlisten = "/run/a.sock"\n',
            "/d/b": '[crio.api]\nlisten = "/run/b.sock"\n',
            "/d/a/z.conf": "",
            "/d/a.conf": "",
            "/d/Z": "",
            "/d/.hidden": "",
            "/d/link": Link("/d/b"),
            "/d/loop": Link("/d"),
            "/d/dangling": Link("/none"),
        },
    )
    files = collect_crio_files(host, "/etc/crio/crio.conf", "/d")
    assert files.drop_ins == ("/d/.hidden", "/d/Z", "/d/a/z.conf", "/d/a.conf", "/d/b", "/d/link")
    assert files.socket == "/run/b.sock"


def test_podman_reads_conf_files_only(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/d/b.conf": "", "/d/a.conf": "", "/d/a.conf~": ""})
    assert collect_conf_files(host, "/d") == ("/d/a.conf", "/d/b.conf")
    assert collect_conf_files(host, "/none") == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"hosts": ["tcp://0.0.0.0:2375", "unix:///a.sock", "unix:///b.sock"]}', "/a.sock"),
        ('{"hosts": ["fd://"]}', None),
        ('{"hosts": "unix:///a.sock"}', None),
        ('{"hosts": [', None),
        ('["hosts"]', None),
        ("{}", None),
        (None, None),
    ],
)
def test_docker_socket_of_the_main_file(tmp_path: Path, text: str | None, path: str | None) -> None:
    host = plant(tmp_path, {"/d.json": text} if text is not None else {"/x": ""})
    assert collect_docker_socket(host, "/d.json") == path


def test_config_exists_tells_three_states_apart(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {"/a/file": "", "/dangling": Link("/none"), "/closed/file": ""})
    (tmp_path / "closed").chmod(0)
    try:
        answers = [config_exists(host, path) for path in ("/a/file", "/dangling", "/a/none")]
        assert answers == [True, True, False]
        assert as_nobody(config_exists, host, "/closed/file") == Unknown("permission denied")
    finally:
        (tmp_path / "closed").chmod(0o755)
