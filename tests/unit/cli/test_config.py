"""`ctk config` and its commands: what they print, what they write, and in whose form they may be asked."""

import tomllib

import pytest

from ctk.toolkit.settings import SETTINGS
from tests.unit.cli.config_scene import CONFIG, assert_untouched, complete, with_config
from tests.unit.cli.scene import HostFolder
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
