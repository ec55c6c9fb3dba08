"""Every flag of nvidia-ctk's `runtime configure`, in all spellings, and what click would not take by itself."""

import pytest

from ctk.cli.app import App
from ctk.cli.configure import configure
from tests.unit.cli.scene import HostFolder, ctk

# Flags, aliases and defaults of nvidia-ctk 1.20: a script that calls it must work with the name changed.
VALUE_FLAGS = [
    ("runtime", "engine", None),
    ("config", "config", None),
    ("drop-in-config", "drop_in", None),
    ("config-source", "config_source", "file"),
    ("executable-path", "executable", ""),
    ("config-mode", "config_mode", ""),
    ("oci-hook-path", "hook_file", ""),
    ("nvidia-runtime-name", "name", "nvidia"),
    ("nvidia-runtime-path", "path", "nvidia-container-runtime"),
    ("runtime-path", "path", "nvidia-container-runtime"),
    ("nvidia-runtime-hook-path", "hook_path", "/usr/bin/nvidia-container-runtime-hook"),
]
BOOLEAN_FLAGS = [
    ("nvidia-set-as-default", "set_as_default"),
    ("set-as-default", "set_as_default"),
    ("cdi.enabled", "enable_cdi"),
    ("cdi.enable", "enable_cdi"),
    ("enable-cdi", "enable_cdi"),
    ("dry-run", "dry_run"),
]


def parsed(*arguments: str) -> dict[str, object]:
    return configure.make_context("configure", list(arguments), obj=App()).params


@pytest.mark.parametrize(("flag", "parameter", "default"), VALUE_FLAGS)
def test_value_flag_of_nvidia_ctk_in_every_spelling(flag: str, parameter: str, default: str | None) -> None:
    assert parsed()[parameter] == default
    for arguments in ([f"--{flag}=x"], [f"--{flag}", "x"], [f"-{flag}=x"], [f"-{flag}", "x"]):
        assert parsed(*arguments)[parameter] == "x"
    assert parsed(f"--{flag}=")[parameter] == ""
    assert parsed(f"--{flag}=a=b")[parameter] == "a=b"
    assert parsed(f"--{flag}", "--dry-run")[parameter] == "--dry-run"  # as Go's flag package


@pytest.mark.parametrize(("flag", "parameter"), BOOLEAN_FLAGS)
def test_boolean_flag_of_nvidia_ctk_in_every_spelling(flag: str, parameter: str) -> None:
    assert parsed()[parameter] is False
    for word in (f"--{flag}", f"-{flag}", f"--{flag}=true", f"-{flag}=true", f"--{flag}=1", f"--{flag}=T"):
        assert parsed(word)[parameter] is True
    for word in (f"--{flag}=false", f"-{flag}=false", f"--{flag}=0", f"--{flag}=F"):
        assert parsed(word)[parameter] is False
    assert parsed(f"--{flag}", f"--{flag}=false")[parameter] is False, "the last one wins"
    assert parsed(f"--{flag}=false", f"--{flag}")[parameter] is True


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), False),
        (("--restart",), True),
        (("--no-restart",), False),
        (("--restart=false",), False),
        (("--no-restart=false",), True),
        (("-restart",), True),
    ],
)
def test_restart_and_its_opposite(words: tuple[str, ...], expected: bool) -> None:
    assert parsed(*words)["restart"] is expected


def test_force_is_repeatable() -> None:
    assert parsed("--force", "template", "-force=missing-binary")["force"] == ("template", "missing-binary")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("runtime", "configure", "--frobnicate"), "'--frobnicate'"),
        (("runtime", "configure", "--frobnicate=3"), "'--frobnicate'"),
        (("runtime", "configure", "extra-arg"), "extra-arg"),
        (("runtime", "configure", "--dry-run", "--", "extra-arg"), "extra-arg"),
        (("runtime", "configure", "--dry-run=perhaps"), "'perhaps'"),
        (("runtime", "configure", "--runtime"), "'--runtime'"),
        (("runtime", "configure", "--runtime=podman"), "'podman'"),
        (("runtime", "configure", "--runtime="), "''"),
        (("runtime", "configure", "--config-source=web"), "'web'"),
        (("runtime", "configure", "--force=bogus"), "'bogus'"),
        (("runtime", "configure", "--nvidia-runtime-name="), "name is empty"),
        (("runtime", "configure", "--nvidia-runtime-name=\udcff"), "UTF-8"),
        (("runtime", "configure", "--nvidia-runtime-path=/\udcff"), "UTF-8"),
        (("runtime", "configure", "--config-mode=hook", "--nvidia-runtime-hook-path=/\udcff"), "UTF-8"),
        (("runtime", "configure", "--runtime=docker", "--drop-in-config=/etc/x.json"), "no drop-in"),
        (("runtime", "configure", "--runtime=containerd", "--drop-in-config=x.toml"), "'x.toml'"),
        (("runtime", "configure", "--runtime=containerd", "--nvidia-runtime-path=./rt"), "'./rt'"),
        (("runtime", "configure", "--runtime=auto", "--config=/etc/x"), "--runtime=auto"),
        (("runtime", "configure", "--runtime=auto", "--installation=k3s"), "--runtime=auto"),
        (("runtime", "configure", "--nvidia-runtime-name=a\nb"), "control characters"),
        (("runtime", "configure", "--nvidia-runtime-path=/usr/bin/a\n"), "control characters"),
        (("runtime", "configure", "--config=/etc/docker/"), "names a folder"),
        (("runtime", "configure", "--config-mode=hook", "--oci-hook-path=/etc/hooks/"), "names a folder"),
        (("runtime", "configure", "--runtime=crio", "--drop-in-config=/etc/crio/crio.conf.d/"), "the folder"),
        (("runtime", "configure", "--runtime=docker", "--installation=snap"), "'snap'"),
        (("runtime", "configure", "--timeout=0"), "--timeout"),
        (("runtime", "configure", "--timeout=soon"), "'soon'"),
        (("runtime", "configure", "--restart"), "--restart"),
        (("runtime", "configure", "--snapshot=x.json"), "snapshot"),
        (("runtime", "configure", "--config-mode=hook", "--force=bogus"), "'bogus'"),
        (("runtime", "configure", "--config-mode=hook", "--nvidia-runtime-hook-path=hook"), "'hook'"),
        (("runtime", "configure", "--config-mode=hook", "--restart"), "--restart"),
        (("runtime", "unconfigure", "--config-mode=hook"), "--oci-hook-path"),
        (("runtime", "unconfigure", "--snapshot=x.json"), "snapshot"),
        (("runtime", "unconfigure", "--restart"), "--restart"),
        (("runtime", "status", "--runtime=podman"), "'podman'"),
        (("runtime", "history", "--snapshot=x.json"), "snapshot"),
        (("runtime", "rollback"), "'ID'"),
        (("runtime", "rollback", "x", "--snapshot=x.json"), "snapshot"),
        (("runtime", "rollback", "x", "--restart"), "--restart"),
        (("runtime", "frobnicate"), "'frobnicate'"),
        (("frobnicate",), "'frobnicate'"),
        (("--frobnicate",), "'--frobnicate'"),
        (("--version", "runtime"), "--version"),
        (("completion",), "'SHELL'"),
        (("completion", "tcsh"), "'tcsh'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_usage_errors_end_with_2_and_name_the_word(host: HostFolder, arguments: tuple[str, ...], named: str) -> None:
    host.engine("docker")
    before = host.everything()

    answer = host.ctk(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert len(answer.errors()) == 1
    assert named in answer.errors()[0]
    document = host.ctk("--json", *arguments).json()
    assert (document["status"], document["exit_code"]) == ("error", 2)
    assert [error["code"] for error in document["errors"]] == ["usage"]
    assert named in document["errors"][0]["message"]
    assert host.everything() == before
    assert not host.state.exists()


def test_usage_errors_point_to_the_help_of_the_command(host: HostFolder) -> None:
    for words in (["--frobnicate"], ["--dry-run=perhaps"], ["--runtime"]):
        assert "See ctk runtime configure --help." in host.ctk("runtime", "configure", *words).err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--root", "{root}", "runtime", "configure", "--dry-run"),
        ("-root={root}", "runtime", "configure", "--dry-run"),
        ("runtime", "--root", "{root}", "configure", "--dry-run"),
        ("runtime", "configure", "--root", "{root}", "--dry-run"),
        ("runtime", "configure", "--dry-run", "--root={root}"),
    ],
)
def test_root_stands_anywhere(host: HostFolder, arguments: tuple[str, ...]) -> None:
    config = host.engine("docker", "{}\n")

    answer = ctk(*(word.format(root=host.folder) for word in arguments))

    assert answer.code == 0
    assert str(config) in answer.out


def test_root_from_the_environment_and_the_option_that_wins(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    config = host.engine("docker", "{}\n")
    monkeypatch.setenv("CTK_ROOT", str(host.folder))
    assert str(config) in ctk("runtime", "configure", "--dry-run").out

    other = host.put("/elsewhere/etc/docker/daemon.json", "{}\n")
    answer = ctk("runtime", "configure", "--dry-run", "--root", str(host.path("/elsewhere")))
    assert f"--- {other}" in answer.out


@pytest.mark.parametrize(
    ("root", "cause"), [("nowhere", "does not exist"), ("", "does not exist"), ("file", "not a dir")]
)
def test_a_root_that_is_no_folder_is_a_typing_error(host: HostFolder, root: str, cause: str) -> None:
    host.put("/file", "")
    path = str(host.path(root)) if root else ""

    answer = ctk("runtime", "configure", "--root", path, "--force=missing-binary")

    assert answer.code == 2
    assert cause in answer.err
    assert not host.path("nowhere").exists()


def test_a_relative_config_lies_below_the_root(host: HostFolder) -> None:
    host.engine("docker")
    config = host.put("/opt/docker.json", "{}\n")
    assert f"--- {config}" in host.configure("docker", "--config=opt/docker.json", "--dry-run").out


@pytest.mark.parametrize("arguments", [(), ("runtime",)])
def test_no_command_prints_the_help(arguments: tuple[str, ...]) -> None:
    answer = ctk(*arguments)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Usage: ctk")
    assert ctk(*arguments, "--json").json()["data"]["help"].startswith("Usage: ctk")


@pytest.mark.parametrize("command", ["configure", "unconfigure", "status", "history", "rollback"])
@pytest.mark.parametrize("flag", ["--help", "-h", "-help"])
def test_every_command_has_help(command: str, flag: str) -> None:
    answer = ctk("runtime", command, flag)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: ctk runtime {command}")


@pytest.mark.parametrize("word", ["--version", "-v", "-version", "--version=true"])
def test_version(word: str) -> None:
    from ctk import __version__

    assert ctk(word) == (0, f"ctk {__version__}\n", "")
    assert ctk("--json", word).json()["data"] == {"version": __version__}


def test_a_value_that_is_also_a_command_is_a_value(host: HostFolder) -> None:
    host.put("/runtime/etc/docker/daemon.json", "{}\n")
    answer = ctk("--root", str(host.path("runtime")), "runtime", "status", "--runtime", "docker")
    assert answer.code == 0


def test_the_toolkits_file_may_stand_where_nvidia_ctk_has_it(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    host.put("/opt/toolkit.toml", "accept-nvidia-visible-devices-as-volume-mounts = true\n")
    assert host.ctk("--config=/opt/toolkit.toml", "runtime", "configure", "--dry-run").code == 0
    assert (
        "accept-nvidia-visible-devices-as-volume-mounts = true" in host.ctk("--config=/opt/toolkit.toml", "config").out
    )
