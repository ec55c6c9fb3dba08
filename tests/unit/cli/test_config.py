"""`ctk config` and its commands: what they print, what they write, and in whose form they may be asked."""

import os
import stat
import tomllib
from pathlib import Path

import pytest

from ctk.toolkit.settings import SETTINGS
from tests.unit.cli.config_scene import CONFIG, assert_untouched, complete, with_config
from tests.unit.cli.scene import HostFolder, ctk
from tests.unit.toolkit.keys import KEYS, assignment, corpus

MODE = "nvidia-container-runtime.mode"
DEFAULT = corpus("default.toml").replace("ldconfig.real", "ldconfig")
CDI = DEFAULT.replace('mode = "auto"', 'mode = "cdi"')


# The whole configuration ---------------------------------------------------------------------------------------------


def test_f53_without_a_file_the_defaults_are_shown_and_nothing_is_made(host: HostFolder) -> None:
    before = host.everything()
    answer = host.ctk("config")
    assert (answer.code, answer.out) == (0, DEFAULT)
    assert f"{host.folder}{CONFIG} does not exist: these are the defaults." in answer.err
    assert_untouched(host, answer, before)


@pytest.mark.parametrize("name", ["default.toml", "hand-edited.toml", "old-release.toml"])
def test_the_whole_file_is_shown_as_it_stands(host: HostFolder, name: str) -> None:
    with_config(host, name)
    answer = host.ctk("config")
    assert answer.code == 0
    assert answer.out.rstrip("\n") == corpus(name).rstrip("\n")
    assert repr(tomllib.loads(answer.out)) == repr(tomllib.loads(corpus(name)))


def test_every_value_says_where_it_comes_from(host: HostFolder) -> None:
    with_config(host, "old-release.toml")
    data = host.ctk("config", "--json").json()["data"]
    rows = {row["key"]: row for row in data["settings"]}
    assert list(rows) == [row.key for row in SETTINGS]
    assert rows[MODE] == {"key": MODE, "value": "auto", "source": "file", "line": 28, "type": "string"}
    level = rows["nvidia-container-runtime.log-level"]
    assert (level["value"], level["source"], level["line"]) == ("info", "default", None)
    assert rows["features.disable-imex-channel-creation"]["value"] is None
    assert data["unknown"][0] == {"key": "nvidia-container-runtime.discover-mode", "nearest": MODE}
    assert (data["exists"], data["origin"], data["variable"]) == (True, "default", None)
    assert {row["source"] for row in data["settings"]} == {"file", "default"}


# get, diff, validate, explain ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "code", "out"),
    [
        (MODE, 0, "auto\n"),
        ("nvidia-container-cli.debug", 0, "/var/log/nvidia # cli.log\n"),
        ("nvidia-container-cli.environment", 0, '["NVIDIA_DEBUG=1", "PATHS=/a # b:/c"]\n'),
        ("nvidia-container-cli.load-kmods", 0, "true\n"),
        ("swarm-resource", 0, "\n"),
        ("nvidia-container-cli.no-pivot", 1, ""),
        ("site.owner", 0, "gpu-team@example.net\n"),
        ("site.since", 0, "2019-05-27\n"),
        ("site.weights", 0, '{ "node # 1" = 1.5, b = nan }\n'),
        ("site", 0, None),
        ("nvidia-container-runtime.mod", 2, ""),
    ],
)
def test_get(host: HostFolder, key: str, code: int, out: str | None) -> None:
    with_config(host, "hand-edited.toml")
    answer = host.ctk("config", "get", key)
    assert answer.code == code
    assert out is None or answer.out == out
    document = host.ctk("config", "get", key, "--json").json()
    assert document["exit_code"] == code
    assert code == 2 or document["data"]["key"] == key


def test_get_names_the_nearest_key(host: HostFolder) -> None:
    answer = host.ctk("config", "get", "nvidia-container-runtime.mod")
    assert answer.errors() == [
        f"error: 'nvidia-container-runtime.mod' is no setting of the toolkit; did you mean {MODE}?"
    ]


def test_diff_against_the_defaults(host: HostFolder) -> None:
    path = with_config(host)
    host.program("/sbin/ldconfig.real")
    assert host.ctk("config", "diff").out == f"{path}: all values are the defaults.\n"
    with_config(host, "old-release.toml")
    answer = host.ctk("config", "diff")
    assert answer.code == 1
    assert answer.out.splitlines() == [
        'nvidia-container-runtime.runtimes = ["docker-runc", "runc"]    (default: ["runc", "crun"])',
        'nvidia-container-runtime.discover-mode = "legacy"    (no setting of the toolkit)',
        'nvidia-container-runtime.loglevel = "debug"    (no setting of the toolkit)',
        'nvidia-container-toolkit.log-level = "info"    (no setting of the toolkit)',
    ]
    host.put("/other.toml", "features.disable-imex-channel-creation = true\n")
    other = host.ctk("config", "diff", "/other.toml")
    assert other.out == "features.disable-imex-channel-creation = true    (by default not set)\n"
    row = host.ctk("config", "diff", "/other.toml", "--json").json()["data"]["differences"][0]
    assert (row["value"], row["default"], row["known"]) == (True, None, True)


def test_validate(host: HostFolder) -> None:
    path = with_config(host)
    complete(host)
    assert host.ctk("config", "validate").out == f"{path}: valid\n"
    wrong = host.put("/wrong.toml", 'x = 1\n[nvidia-container-runtime]\nmode = "bogus"\nruntimes = ["gone"]\n')
    answer = host.ctk("config", "validate", "/wrong.toml")
    assert answer.code == 1
    assert answer.out.splitlines() == [
        f"{wrong}:3:1: error: {MODE}: it must be one of auto, legacy, csv, cdi, jit-cdi",
        f"{wrong}:1:1: warning: x: no setting of the toolkit",
        f"{wrong}:4:1: warning: nvidia-container-runtime.runtimes: none of gone was found on this host",
        f"{wrong}: 1 error, 2 warnings",
    ]
    unlooked = host.ctk("config", "validate", "/wrong.toml", "--no-host-checks", "--json").json()
    assert [row["key"] for row in unlooked["data"]["problems"]] == [MODE, "x"]
    assert (unlooked["data"]["valid"], unlooked["status"]) == (False, "negative")


def test_f60_f53_validate_without_a_file_looks_at_the_defaults(host: HostFolder) -> None:
    answer = host.ctk("config", "validate")
    assert answer.code == 0
    assert "does not exist: the defaults hold." in answer.out
    assert "warning: nvidia-container-cli.ldconfig: /sbin/ldconfig does not exist here" in answer.out
    assert "warning: nvidia-container-cli.ldcache: /etc/ld.so.cache does not exist here" in answer.out
    assert answer.out.endswith("valid, 5 warnings\n")


def test_f59_f62_f64_validate_names_what_keeps_containers_from_starting(host: HostFolder) -> None:
    complete(host)
    host.put("/usr/lib64/libnvidia-ml.so.1", "")
    host.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
    text = DEFAULT.replace('"@/sbin/ldconfig"', '"/usr/sbin/ldconfig"')
    text = text.replace('#root = "/run', 'root = "/run').replace('#user = "root:video"', 'user = "root:video"')
    path = host.put(CONFIG, text)
    answer = host.ctk("config", "validate")
    assert answer.code == 1
    assert f"{path}:11:1: error: nvidia-container-cli.ldconfig: it needs an @ in front" in answer.out
    assert "@/usr/sbin/ldconfig" in answer.out
    assert "below /run/nvidia/driver; the host itself has one: unset the key" in answer.out
    assert "there is no group 'video' on this host" in answer.out


def test_explain(host: HostFolder) -> None:
    answer = host.ctk("config", "explain", "nvidia-container-cli.ldconfig")
    assert answer.out.splitlines()[0] == "nvidia-container-cli.ldconfig"
    assert "CVE-2024-0136" in answer.out
    everything = host.ctk("config", "explain")
    assert all(row.key in everything.out for row in SETTINGS)
    table = host.ctk("config", "explain", "nvidia-container-runtime.modes", "--json").json()["data"]["settings"]
    assert len(table) == 8
    wrong = host.ctk("config", "explain", "nvidia-container-runtime.mod")
    assert (wrong.code, f"did you mean {MODE}?" in wrong.err) == (2, True)


# set and unset -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_set_set_again_refused_and_unset(host: HostFolder, key: str) -> None:
    """On the file with comments everywhere; a second run writes nothing, and unset gives the file back."""
    path, row = with_config(host, "hand-edited.toml"), KEYS[key]
    original = path.read_bytes()
    before = host.everything()
    refused = host.ctk("config", "set", assignment(key, row.refused[0]))
    assert refused.code == 2
    assert_untouched(host, refused, before)
    assert host.ctk("config", "set", assignment(key, row.word)).code == 0
    changed = host.everything()
    again = host.ctk("config", "set", assignment(key, row.word))
    assert (again.code, again.out) == (0, f"{path}: nothing to do.\n")
    assert host.everything() == changed
    shown = host.ctk("config", "get", key, "--json").json()["data"]
    assert (shown["value"], shown["source"]) == (row.value, "file")
    assert host.ctk("config", "unset", key).code == 0
    assert host.ctk("config", "get", key, "--json").json()["data"]["source"] == "default"
    if key not in tomllib_keys(original.decode()):
        assert path.read_bytes() == original


def tomllib_keys(text: str) -> set[str]:
    from ctk.toolkit.document import value_at

    content = tomllib.loads(text)
    return {key for key in KEYS if value_at(content, tuple(key.split("."))) is not None}


def test_a_missing_file_is_made_from_the_defaults(host: HostFolder) -> None:
    answer = host.ctk("config", "set", f"{MODE}=cdi")
    path = host.path(CONFIG)
    assert path.read_text() == CDI
    assert answer.out.endswith(f"{path}: created.\nUndo with: ctk runtime rollback {host.entries()[0]}\n")
    assert host.ctk("config", "unset", MODE).code == 0
    assert 'mode = "auto"' not in path.read_text()


def test_a_run_can_be_undone(host: HostFolder) -> None:
    path = with_config(host, "hand-edited-crlf.toml")
    host.ctk("config", "set", f"{MODE}=cdi", "swarm-resource=A,B")
    assert host.ctk("runtime", "rollback", host.entries()[0]).code == 0
    assert path.read_bytes().decode() == corpus("hand-edited-crlf.toml")


def test_unset_where_there_is_no_file(host: HostFolder) -> None:
    before = host.everything()
    answer = host.ctk("config", "unset", MODE)
    assert (answer.code, answer.out) == (0, f"{host.path(CONFIG)}: does not exist, the defaults hold: nothing to do.\n")
    assert_untouched(host, answer, before)
    assert host.ctk("config", "unset", MODE, "--json").json()["data"]["changed"] is False


def test_a_key_of_an_old_release_is_kept_and_told_of_and_can_be_taken_out(host: HostFolder) -> None:
    path = with_config(host, "old-release.toml")
    answer = host.ctk("config", "set", "disable-require")
    assert 'discover-mode = "legacy"\n' in path.read_text()
    assert any(f"discover-mode: no setting of the toolkit; did you mean {MODE}?" in line for line in answer.warnings())
    assert host.ctk("config", "unset", "nvidia-container-runtime.discover-mode").code == 0
    assert "discover-mode" not in path.read_text()
    assert host.ctk("config", "unset", "nvidia-container-runtime.discover-mode").code == 2
    assert host.ctk("config", "set", "site.x=1").code == 2
    assert host.ctk("config", "set", "site.x=1", "--allow-unknown").code == 0
    assert tomllib.loads(path.read_text())["site"] == {"x": "1"}


def test_what_the_host_lacks_is_a_warning_unless_nobody_asks(host: HostFolder) -> None:
    words = ("nvidia-container-cli.user=gpu:gpu", "nvidia-container-runtime.runtimes=youki")
    answer = host.ctk("config", "set", *words, "--dry-run")
    assert answer.code == 0
    assert answer.warnings() == [
        "warning: nvidia-container-cli.user = \"gpu:gpu\": there is no user 'gpu' on this host",
        'warning: nvidia-container-runtime.runtimes = ["youki"]: none of youki was found on this host',
    ]
    assert host.ctk("config", "set", *words, "--dry-run", "--no-host-checks").warnings() == []


@pytest.mark.parametrize("flag", ["--dry-run", "--check"])
@pytest.mark.parametrize("form", [("config", "set", f"{MODE}=cdi"), ("config", "--set", f"{MODE}=cdi")])
def test_looking_writes_nothing(host: HostFolder, flag: str, form: tuple[str, ...]) -> None:
    with_config(host)
    before = host.everything()
    answer = host.ctk(*form, flag)
    assert answer.code == (1 if flag == "--check" else 0)
    assert '-mode = "auto"\n+mode = "cdi"\n' in answer.out
    assert "would be changed. Nothing was written." in answer.out
    assert_untouched(host, answer, before)


# NVIDIA's form -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("--set", f"{MODE}=cdi"),
        (f"--set={MODE}=cdi",),
        ("-set", f"{MODE}=cdi", "-in-place=false"),
        ("--set", f"{MODE}=bogus", "--set", f"{MODE}=cdi"),
        (f"-set={MODE}=cdi", "-i=false"),
    ],
)
def test_without_in_place_the_whole_file_is_printed(host: HostFolder, words: tuple[str, ...]) -> None:
    before = host.everything()
    answer = host.ctk("config", *words)
    assert (answer.code, answer.out) == (0, CDI)
    assert_untouched(host, answer, before)


@pytest.mark.parametrize("flag", ["-i", "--in-place", "-in-place", "--in-place=true", "-i=true"])
def test_in_place(host: HostFolder, flag: str) -> None:
    path = with_config(host)
    assert host.ctk("config", "--set", f"{MODE}=cdi", flag).code == 0
    assert path.read_text() == corpus("default.toml").replace('mode = "auto"', 'mode = "cdi"')


def test_f55_in_place_without_a_change_touches_nothing(host: HostFolder) -> None:
    for name in ("hand-edited.toml", "hand-edited-crlf.toml", "old-release.toml"):
        with_config(host, name)
        before = host.everything()
        answer = host.ctk("config", "--in-place")
        assert answer.code == 0
        assert_untouched(host, answer, before)


def test_f53_in_place_makes_a_missing_file(host: HostFolder) -> None:
    assert host.ctk("config", "-i").code == 0
    assert host.path(CONFIG).read_text() == DEFAULT


@pytest.mark.parametrize("option", ["-o", "--output", "-output"])
def test_output_makes_folders_and_leaves_the_file_in_force(host: HostFolder, option: str) -> None:
    path = with_config(host)
    assert host.ctk("config", "--set", f"{MODE}=cdi", option, "/new/folder/out.toml").code == 0
    assert host.path("/new/folder/out.toml").read_text() == path.read_text().replace('"auto"', '"cdi"')
    assert path.read_text() == corpus("default.toml")


@pytest.mark.parametrize("option", ["--config-file", "--config", "-c", "-config-file", "-config"])
def test_another_file_in_force(host: HostFolder, option: str) -> None:
    other = host.put("/opt/other.toml", "disable-require = true\n")
    assert host.ctk("config", option, "/opt/other.toml", "--set", "disable-require=false", "-i").code == 0
    assert other.read_text() == "disable-require = false\n"
    assert host.ctk("config", option, "/opt/other.toml", "get", "disable-require").out == "false\n"
    assert host.ctk("config", "get", "disable-require", option, "opt/other.toml").out == "false\n"
    missing = host.ctk("config", option, "/opt/none.toml")
    assert (missing.code, missing.out) == (0, DEFAULT)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--set", "disable-require", "-i", "-o", "/x"), "--in-place and --output exclude each other"),
        (("default", "-i", "-o", "/x"), "--in-place and --output exclude each other"),
        (("--set", "disable-require.foo=1", "-i"), "undefined field: 'disable-require.foo'"),
        (("--set", "supported-driver-capabilities=compute,bogus"), "'bogus' is no capability"),
        (("--set", MODE), "needs a value"),
        (("--set", "disable-require=yes"), "takes true or false"),
        (("--set", "x=1", "--set-list-separator="), "--set-list-separator must not be empty"),
        (("--set", "disable-require", "get", MODE), "--set must stand behind get"),
        (("-i", "get", MODE), "--in-place must stand behind get"),
        (("--in-place=maybe",), "takes true or false"),
        (("set",), "missing argument"),
        (("get", MODE, MODE), "unexpected extra argument"),
        (("mode", "bogus"), "'auto', 'legacy', 'csv', 'cdi', 'jit-cdi'"),
        (("bogus",), "no such command"),
    ],
)
def test_a_usage_error(host: HostFolder, words: tuple[str, ...], cause: str) -> None:
    """F57 among them: a mode that is none is answered with those there are."""
    with_config(host)
    before = host.everything()
    answer = host.ctk("config", *words)
    assert answer.code == 2, answer
    assert cause in answer.err
    assert_untouched(host, answer, before)


def test_lists_have_a_separator_and_commas_are_none(host: HostFolder) -> None:
    words = ("--set", "nvidia-container-cli.environment=A=1,2:B=3;C=")
    assert 'environment = ["A=1,2", "B=3;C="]\n' in host.ctk("config", *words).out
    other = host.ctk("config", "--set-list-separator=;", *words).out
    assert 'environment = ["A=1,2:B=3", "C="]\n' in other
    capabilities = host.ctk("config", "--set", "supported-driver-capabilities=compute,utility").out
    assert 'supported-driver-capabilities = "compute,utility"\n' in capabilities


def test_a_feature_is_taken_out_with_nil(host: HostFolder) -> None:
    path = with_config(host)
    key = "features.ignore-imex-channel-requests"
    assert host.ctk("config", "--set", key, "-i").code == 0
    assert host.ctk("config", "--set", f"{key}=nil", "-i").code == 0
    assert path.read_text() == corpus("default.toml")


@pytest.mark.parametrize("name", ["default", "generate-default", "create-default"])
def test_the_default_file(host: HostFolder, name: str) -> None:
    assert host.ctk("config", name).out == DEFAULT
    assert host.ctk("config", name, "-o", "/a/b/c.toml").code == 0
    assert host.path("/a/b/c.toml").read_text() == DEFAULT
    assert host.ctk("config", name, "--check").code == 1
    assert host.ctk("config", name, "--in-place").code == 0
    assert host.ctk("config", name, "--check").code == 0


# The place -----------------------------------------------------------------------------------------------------------


def test_the_file_in_force_is_chosen_by_variables_below_the_root(
    host: HostFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.put("/xdg/nvidia-container-runtime/config.toml", f"{MODE} = 'csv'\n")
    host.put("/one.toml", f"{MODE} = 'cdi'\n")
    host.put("/two.toml", f"{MODE} = 'legacy'\n")
    with_config(host)
    found = []
    for name, value in (
        ("XDG_CONFIG_HOME", "/xdg"),
        ("NVIDIA_CTK_CONFIG", "/two.toml"),
        ("NVIDIA_CTK_CONFIG_FILE_PATH", "/one.toml"),
    ):
        monkeypatch.setenv(name, value)
        data = host.ctk("config", "--json").json()["data"]
        assert (data["origin"], data["variable"]) == ("environment", name)
        found.append(host.ctk("config", "get", MODE).out.strip())
        assert data["file"].startswith(str(host.folder))
    assert found == ["csv", "legacy", "cdi"]
    assert host.ctk("config", "get", MODE, "-c", CONFIG).out == "auto\n"


def test_look_alikes_are_named(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = host.put("/etc/nvidia-container-toolkit/config.toml", f"{MODE} = 'cdi'\n")
    path = with_config(host)
    for words in (("config",), ("config", "set", "disable-require"), ("config", "mode"), ("config", "validate")):
        assert f"warning: {wrong} is not read: the configuration in force is {path}" in host.ctk(*words).warnings()
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    said = host.ctk("config").warnings()
    xdg = host.path("/xdg/nvidia-container-runtime/config.toml")
    assert f"warning: {path} is not read: the configuration in force is {xdg} (XDG_CONFIG_HOME says so)" in said
    assert host.ctk("config", "-c", CONFIG).warnings() == []


def test_a_snapshot_holds_no_configuration(host: HostFolder) -> None:
    for words in (("config",), ("config", "get", MODE), ("config", "mode"), ("config", "set", "disable-require")):
        answer = host.ctk(*words, "--snapshot", "x.json")
        assert answer.code == 2
        assert "on a snapshot: it holds no file of the toolkit's" in answer.err


# After an installation -----------------------------------------------------------------------------------------------

POST_INSTALL = ("config", "default", "--if-missing", "--in-place")


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o000])
def test_f53_post_install_makes_readable_files_under_any_umask(host: HostFolder, mask: int) -> None:
    before = os.umask(mask)
    try:
        assert host.ctk(*POST_INSTALL).code == 0
    finally:
        os.umask(before)
    path = host.path(CONFIG)
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o644, 0o755, 0o755]
    assert path.read_text() == DEFAULT
    done = host.everything()
    again = host.ctk(*POST_INSTALL)
    assert (again.code, again.out) == (0, f"{path} exists and is left as it is.\n")
    assert host.everything() == done


F52 = '[nvidia-container-cli]\nload-kmods = true\nldconfig = "@/sbin/ldconfig\n\n/etc/alpha/sources.list\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (F52, "line 3, column"),
        (DEFAULT + "\n/etc/alpha/sources.list\n", "line 42, column 1"),
        ("nvidia-container-cli = 5\n", "nvidia-container-cli: it must be a table"),
        ("[nvidia-container-runtime]\nmode = 'x'\n", "it must be one of"),
        ("\0\0", "NUL"),
    ],
)
def test_f52_post_install_goes_on_with_a_broken_file(host: HostFolder, content: str, words: str) -> None:
    path = host.put(CONFIG, content)
    before = host.everything()
    answer = host.ctk(*POST_INSTALL)
    assert answer.code == 0
    assert words in answer.err
    assert str(path) in answer.err
    assert_untouched(host, answer, before)
    document = host.ctk(*POST_INSTALL, "--json").json()
    assert (document["status"], document["data"]["changed"]) == ("ok", False)


def test_post_install_can_be_quiet(host: HostFolder) -> None:
    answer = host.ctk(*POST_INSTALL, "--quiet", "--no-journal")
    assert (answer.out, answer.err) == (f"{host.path(CONFIG)}: created.\n", "")


def test_post_install_to_another_file(host: HostFolder) -> None:
    assert host.ctk("config", "default", "--if-missing", "--output", "/opt/c.toml").code == 0
    host.put("/opt/c.toml", "x = 1\n")
    assert host.ctk("config", "default", "--if-missing", "--output", "/opt/c.toml").code == 0
    assert host.path("/opt/c.toml").read_text() == "x = 1\n"
    assert not host.path(CONFIG).exists()


def test_a_link_is_followed_and_modes_stay(host: HostFolder) -> None:
    real = host.put("/srv/config.toml", corpus("default.toml"), mode=0o640)
    path = host.path(CONFIG)
    path.parent.mkdir(parents=True)
    path.symlink_to("/srv/config.toml")
    assert host.ctk("config", "set", f"{MODE}=cdi").code == 0
    assert path.is_symlink()
    assert 'mode = "cdi"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_help_and_no_host(tmp_path: Path) -> None:
    assert "Examples:" in ctk("config", "--help").out
    assert ctk("--root", str(tmp_path / "none"), "config").code == 2
