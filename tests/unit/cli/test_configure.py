"""`ctk runtime configure` as a whole: what it shows, writes, refuses, and says by its exit code."""

import json
import os
import tomllib

import pytest

from tests.unit.change.scene import look
from tests.unit.cli.scene import CONFIGS, CONTAINERD_V2, CRIO_DROP_IN, HostFolder

STARTS = {
    "docker": '{\n  "debug": true\n}\n',
    "containerd": CONTAINERD_V2,
    "crio": '[crio.runtime]\nlog_level = "info"\n',
}
ENGINES = sorted(STARTS)
TENTATIVE = [("--dry-run",), ("--print",), ("--check",), ("--dry-run", "--check"), ("--dry-run", "--print", "--check")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("words", TENTATIVE, ids=" ".join)
@pytest.mark.parametrize("operation", ["configure", "unconfigure"])
def test_nothing_is_written_unless_asked(host: HostFolder, engine: str, words: tuple[str, ...], operation: str) -> None:
    host.engine(engine, STARTS[engine])
    if operation == "unconfigure":
        assert host.configure(engine, "--no-journal").code == 0
    before, state = host.everything(), host.entries()

    answer = host.ctk("runtime", operation, f"--runtime={engine}", *words)

    assert answer.code == (1 if "--check" in words else 0)
    assert host.everything() == before
    assert host.entries() == state
    assert operation == "unconfigure" or not host.state.exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_dry_run_shows_what_a_real_run_does(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    shown = host.configure(engine, "--dry-run", "--json").json()["data"]
    done = host.configure(engine, "--json").json()["data"]
    assert (shown["dry_run"], done["dry_run"]) == (True, False)
    [planned], [applied] = shown["engines"], done["engines"]
    assert planned["files"] == applied["files"]
    assert (planned["applied"], applied["applied"]) == (False, True)
    assert (planned["journal_id"], bool(applied["journal_id"])) == (None, True)
    assert applied["verified"] == {"method": "parse", "result": "passed"}


@pytest.mark.parametrize("engine", ENGINES)
def test_print_is_the_file_and_nothing_else(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    written = host.path(CRIO_DROP_IN if engine == "crio" else CONFIGS[engine])

    before = host.configure(engine, "--print", "--set-as-default")
    assert host.configure(engine, "--set-as-default").code == 0
    after = host.configure(engine, "--print", "--set-as-default")

    assert before.out == written.read_text()
    assert (before.out, before.code) == (after.out, after.code), "also where nothing is to be done"


def test_print_names_the_files_where_they_are_several(host: HostFolder) -> None:
    host.engine("containerd", "version = 3\n")
    drop_in = "--drop-in-config=/etc/containerd/conf.d/99-nvidia.toml"
    answer = host.configure("containerd", "--print", drop_in)
    assert f"# {host.path('/etc/containerd/config.toml')}\n" in answer.out
    assert f"# {host.path('/etc/containerd/conf.d/99-nvidia.toml')}\n" in answer.out


@pytest.mark.parametrize("engine", ENGINES)
def test_check_says_whether_a_change_is_pending(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    assert host.configure(engine, "--check").code == 1
    assert host.configure(engine, "--check", "--json").json()["status"] == "negative"
    assert host.configure(engine).code == 0
    assert host.configure(engine, "--check").code == 0
    assert host.configure(engine, "--check", "--set-as-default").code == 1
    assert host.unconfigure(engine, "--check").code == 1
    assert host.unconfigure(engine).code == 0
    assert host.unconfigure(engine, "--check").code == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_second_run_touches_nothing(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    assert host.configure(engine, "--set-as-default", "--enable-cdi").code == 0
    before, entries = host.everything(), host.entries()

    again = host.configure(engine, "--set-as-default", "--enable-cdi")

    assert again.code == 0
    assert "nothing to do" in again.out
    assert host.everything() == before
    assert host.entries() == entries


@pytest.mark.parametrize("engine", ["docker", "containerd"])
def test_mode_owner_attributes_and_links_stay(host: HostFolder, engine: str) -> None:
    link = host.engine(engine)
    target = host.put("/srv/config/real", STARTS[engine], 0o640)
    os.chown(target, 12, 34) if os.geteuid() == 0 else None
    os.setxattr(target, "user.site", b"kept")
    link.parent.mkdir(parents=True)
    link.symlink_to("../../srv/config/real")
    before = look(target)

    assert host.configure(engine).code == 0

    after = look(target)
    assert link.is_symlink()
    assert (after[1:4], after[6]) == (before[1:4], before[6])
    assert after[0] != before[0]
    assert host.unconfigure(engine).code == 0
    assert (look(target)[:4], look(target)[6]) == (before[:4], before[6])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_missing_program_is_refused_by_name_and_forced_by_name(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    host.path("/usr/bin/nvidia-container-runtime").unlink()
    before = host.everything()

    refused = host.configure(engine, "--json")
    assert refused.code == 3
    assert [error["code"] for error in refused.json()["errors"]] == ["missing-binary"]
    assert "--force missing-binary" in refused.json()["errors"][0]["hint"]
    assert host.everything() == before
    assert host.entries() == []

    tentative = host.configure(engine, "--dry-run")
    assert tentative.code == 0
    assert [line for line in tentative.warnings() if "a real run would stop here: --force missing-binary" in line]
    assert host.configure(engine, "--check").code == 1
    forced = host.configure(engine, "--force=missing-binary")
    assert forced.code == 0
    assert len(forced.warnings()) == 1


def test_a_program_that_went_away_is_warned_of_where_nothing_is_to_be_done(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    assert host.configure("docker").code == 0
    host.path("/usr/bin/nvidia-container-runtime").unlink()
    answer = host.configure("docker")
    assert (answer.code, len(answer.warnings())) == (0, 1)
    assert "nothing to do" in answer.out
    assert "nvidia-container-runtime" in answer.warnings()[0]


def test_another_name_for_force_does_not_help(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    host.path("/usr/bin/nvidia-container-runtime").unlink()
    assert host.configure("docker", "--force=template").code == 3


def test_auto_without_an_engine_is_not_applicable(host: HostFolder) -> None:
    answer = host.configure("auto", "--json")
    assert answer.code == 4
    document = answer.json()
    assert document["status"] == "not-applicable"
    assert document["data"] == {"dry_run": False, "engines": []}
    assert host.ctk("runtime", "status").code == 4


def test_auto_takes_every_engine_in_use(host: HostFolder) -> None:
    for engine in ENGINES:
        host.engine(engine, STARTS[engine])
    host.unit("docker.service", "/usr/bin/dockerd --containerd=/run/containerd/containerd.sock")
    host.unit("containerd.service", "/usr/bin/containerd")
    names = [row["engine"] for row in host.configure("auto", "--json").json()["data"]["engines"]]
    assert names == ["docker", "crio"], "this containerd only serves Docker"


def test_engines_stand_alone_and_the_worst_exit_code_wins(host: HostFolder) -> None:
    docker = host.engine("docker", "{,}\n")
    host.engine("crio", STARTS["crio"])

    answer = host.configure("auto", "--json")

    assert answer.code == 3
    document = answer.json()
    assert [(row["engine"], row["applied"]) for row in document["data"]["engines"]] == [
        ("docker", False),
        ("crio", True),
    ]
    assert [error["path"] for error in document["errors"]] == [str(docker)]
    assert document["errors"][0]["message"].startswith("docker (system): ")
    assert docker.read_text() == "{,}\n"
    assert host.path(CRIO_DROP_IN).exists()


def test_check_of_one_pending_and_one_broken_engine_is_3(host: HostFolder) -> None:
    host.engine("docker", "{,}\n")
    host.engine("crio", STARTS["crio"])
    assert host.configure("auto", "--check").code == 3


def test_a_fault_that_two_engines_share_is_said_once(host: HostFolder) -> None:
    host.engine("containerd", STARTS["containerd"])
    host.engine("crio", STARTS["crio"])
    host.path("/usr/bin/nvidia-container-runtime").unlink()
    answer = host.configure("auto", "--force=missing-binary")
    assert len([line for line in answer.warnings() if "does not exist" in line]) == 1


def test_without_runtime_the_only_engine_that_is_here(host: HostFolder) -> None:
    host.engine("crio", STARTS["crio"])
    assert [row["engine"] for row in _rows(host)] == ["crio"]
    host.engine("containerd", STARTS["containerd"])
    assert [row["engine"] for row in _rows(host)] == ["docker"], "two others: nvidia-ctk's default"
    host.engine("docker", "{}\n")
    assert [row["engine"] for row in _rows(host)] == ["docker"]


def test_the_name_of_an_installation_tells_the_engine(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    host.put("/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n")
    [row] = host.ctk("runtime", "status", "--installation=k3s", "--json").json()["data"]["engines"]
    assert (row["engine"], row["installation"]) == ("containerd", "k3s")
    answer = host.ctk("runtime", "configure", "--installation=k3s", "--dry-run")
    assert answer.out.startswith("containerd (k3s): ")


def _rows(host: HostFolder) -> list[dict[str, object]]:
    rows = host.ctk("runtime", "configure", "--json", "--dry-run").json()["data"]["engines"]
    assert isinstance(rows, list)
    return rows


def test_the_shapes_that_scripts_rely_on(host: HostFolder) -> None:
    for engine in ENGINES:
        host.engine(engine, STARTS[engine])
        assert host.configure(engine, "--set-as-default", "--enable-cdi").code == 0

    docker = json.loads(host.path(CONFIGS["docker"]).read_text())
    assert docker == {
        "debug": True,
        "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}},
        "default-runtime": "nvidia",
        "features": {"cdi": True},
    }
    containerd = tomllib.loads(host.path(CONFIGS["containerd"]).read_text())["plugins"]["io.containerd.grpc.v1.cri"]
    assert containerd["enable_cdi"] is True
    assert containerd["containerd"]["default_runtime_name"] == "nvidia"
    assert containerd["containerd"]["runtimes"]["nvidia"] == {
        "runtime_type": "io.containerd.runc.v2",
        "options": {"SystemdCgroup": True, "BinaryName": "/usr/bin/nvidia-container-runtime"},
    }
    crio = tomllib.loads(host.path(CRIO_DROP_IN).read_text())["crio"]["runtime"]
    assert crio["default_runtime"] == "nvidia"
    assert crio["runtimes"]["nvidia"]["runtime_path"] == "/usr/bin/nvidia-container-runtime"
    assert crio["runtimes"]["nvidia"]["runtime_type"] == "oci"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_screen_says(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    answer = host.configure(engine)
    [entry] = host.entries()
    lines = answer.out.splitlines()
    path = host.path(CRIO_DROP_IN if engine == "crio" else CONFIGS[engine])
    verb = "created" if engine == "crio" else "changed"
    assert f"{engine} (system): {verb} {path}, proved with an independent parser." in lines
    action = "reload" if engine == "docker" else "restart"
    assert f"Now take it up with: systemctl {action} {engine}" in lines
    assert lines[-1] == f"Undo with: ctk runtime rollback {entry}"
    assert lines[0].startswith("--- ")
    assert answer.err == ""


def test_verbose_says_what_was_read(host: HostFolder) -> None:
    config = host.engine("docker", "{}\n")
    assert f"  reads  {config}\n" in host.configure("docker", "-v", "--dry-run").out
    assert "  reads  " not in host.configure("docker", "--dry-run").out


def test_an_absent_engine_gets_a_warning_and_no_advice_to_restart_it(host: HostFolder) -> None:
    answer = host.ctk("runtime", "configure", "--runtime=containerd", "--dry-run")
    assert answer.code == 0
    assert "[plugins." in answer.out
    assert "systemctl" not in answer.out
    assert [line for line in answer.warnings() if "no containerd was found" in line]


def test_a_file_of_no_known_daemon_gets_no_unit_to_restart(host: HostFolder) -> None:
    host.engine("docker", "{}\n")
    host.put("/srv/docker.json", "{}\n")
    out = host.configure("docker", "--config=/srv/docker.json").out
    assert "Now restart the docker that reads it.\n" in out
    assert "systemctl" not in out


def test_no_journal_keeps_no_record(host: HostFolder) -> None:
    config = host.engine("docker", "{}\n")
    answer = host.configure("docker", "--no-journal", "--json")
    assert answer.json()["data"]["engines"][0]["journal_id"] is None
    assert "nvidia" in config.read_text()
    assert host.entries() == []


# -- hook mode ------------------------------------------------------------------------------------------------------

HOOK = {
    "version": "1.0.0",
    "hook": {
        "path": "/usr/bin/nvidia-container-runtime-hook",
        "args": ["nvidia-container-runtime-hook", "prestart"],
        "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    },
    "when": {"always": True, "commands": [".*"]},
    "stages": ["prestart"],
}


@pytest.mark.parametrize("mode", ["oci-hook", "hook"])
def test_hook_mode_prints_the_hook(host: HostFolder, mode: str) -> None:
    answer = host.ctk("runtime", "configure", f"--config-mode={mode}")
    assert answer.code == 0
    assert json.loads(answer.out) == HOOK
    assert len(answer.warnings()) == 1
    document = host.ctk("runtime", "configure", f"--config-mode={mode}", "--json").json()
    assert json.loads(document["data"]["hook"]) == HOOK


def test_hook_mode_writes_honours_dry_run_and_can_be_undone(host: HostFolder) -> None:
    hook = host.path("/usr/share/containers/oci/hooks.d/nvidia.json")
    command = (
        "--config-mode=oci-hook",
        "--oci-hook-path=/usr/share/containers/oci/hooks.d/nvidia.json",
        "--nvidia-runtime-hook-path=/opt/nvidia/hook",
    )

    assert host.ctk("runtime", "configure", *command, "--dry-run").code == 0
    assert not hook.exists()
    assert host.ctk("runtime", "configure", *command, "--check").code == 1
    assert host.ctk("runtime", "configure", *command).code == 0
    assert json.loads(hook.read_text())["hook"]["env"][0].endswith("/bin:/opt/nvidia")
    assert host.ctk("runtime", "configure", *command, "--check").code == 0
    assert host.ctk("runtime", "unconfigure", *command).code == 0
    assert not hook.parent.exists(), "the folder was ours too"
    assert "nothing to do" in host.ctk("runtime", "unconfigure", *command).out


def test_hook_mode_gives_back_a_file_and_leaves_a_changed_one(host: HostFolder) -> None:
    hook = host.put("/etc/hooks/site.json", "{}\n")
    command = ("--config-mode=oci-hook", "--oci-hook-path=/etc/hooks/site.json")
    assert host.ctk("runtime", "configure", *command).code == 0
    assert host.ctk("runtime", "unconfigure", *command).code == 0
    assert hook.read_text() == "{}\n"

    assert host.ctk("runtime", "configure", *command).code == 0
    hook.write_text(hook.read_text().replace("prestart", "createRuntime"))
    answer = host.ctk("runtime", "unconfigure", *command)
    assert answer.code == 0
    assert "left as it is" in answer.err
    assert "createRuntime" in hook.read_text()


@pytest.mark.parametrize("mode", ["", "config-file", "config"])
def test_the_usual_mode_by_name(host: HostFolder, mode: str) -> None:
    host.engine("docker", "{}\n")
    assert host.configure("docker", f"--config-mode={mode}").err == ""


def test_an_unknown_mode_is_named_and_the_usual_one_is_taken(host: HostFolder) -> None:
    config = host.engine("docker", "{}\n")
    answer = host.configure("docker", "--config-mode=odd")
    assert "'odd'" in answer.warnings()[0]
    assert "nvidia" in config.read_text()
