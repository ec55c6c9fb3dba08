"""`ctk config` in the form of NVIDIA's command: its options, its spellings, and what it does not get wrong."""

import pytest

from tests.unit.cli.config_scene import CONFIG, assert_untouched, with_config
from tests.unit.cli.scene import HostFolder
from tests.unit.toolkit.keys import corpus

MODE = "nvidia-container-runtime.mode"
DEFAULT = corpus("default.toml").replace("ldconfig.real", "ldconfig")
CDI = DEFAULT.replace('mode = "auto"', 'mode = "cdi"')


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
