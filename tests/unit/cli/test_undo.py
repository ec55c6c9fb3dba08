"""The ways back: unconfigure, history and rollback, and what status says on the way."""

import pytest

from tests.unit.cli.scene import CONFIGS, CONTAINERD_V2, CRIO_DROP_IN, HostFolder

STARTS = {
    "docker": '{\n  "debug": true\n}\n',
    "containerd": CONTAINERD_V2,
    "crio": '[crio.runtime]\nlog_level = "info"\n',
}
ENGINES = sorted(STARTS)


def _content(host: HostFolder) -> dict[str, object]:
    """Names and bytes, without times and inodes."""
    return {name: (facts[0], facts[1]) for name, facts in host.everything().items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("has_file", [True, False], ids=["file", "no file"])
def test_unconfigure_gives_back_the_start(host: HostFolder, engine: str, has_file: bool) -> None:
    host.engine(engine, STARTS[engine] if has_file else None)
    before = _content(host)
    assert host.configure(engine, "--set-as-default", "--enable-cdi").code == 0
    assert _content(host) != before

    answer = host.unconfigure(engine)

    assert answer.code == 0
    assert _content(host) == before
    assert "nothing to do, no runtime 'nvidia' in " in host.unconfigure(engine).out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("has_file", [True, False], ids=["file", "no file"])
def test_rollback_of_the_printed_id_gives_back_the_start(host: HostFolder, engine: str, has_file: bool) -> None:
    host.engine(engine, STARTS[engine] if has_file else None)
    before = _content(host)
    out = host.configure(engine, "--set-as-default").out
    entry = out.split("ctk runtime rollback ")[1].strip()
    configured = _content(host)

    assert host.ctk("runtime", "rollback", entry, "--dry-run").code == 0
    assert host.ctk("runtime", "rollback", entry, "--check").code == 1
    assert _content(host) == configured
    answer = host.ctk("runtime", "rollback", entry)

    assert answer.code == 0
    assert _content(host) == before
    assert "Undo with: ctk runtime rollback " in answer.out
    assert f"Now take it up with: systemctl restart {engine}\n" in answer.out
    assert "nothing to do" in host.ctk("runtime", "rollback", entry).out
    assert host.ctk("runtime", "rollback", entry, "--check").code == 0


def test_a_rollback_can_be_rolled_back(host: HostFolder) -> None:
    host.engine("docker", STARTS["docker"])
    host.configure("docker")
    configured = _content(host)
    host.ctk("runtime", "rollback", host.entries()[0])
    assert host.ctk("runtime", "rollback", host.entries()[-1]).code == 0
    assert _content(host) == configured


def test_rollback_refuses_a_file_that_was_changed_since_and_shows_how(host: HostFolder) -> None:
    config = host.engine("docker", STARTS["docker"])
    host.configure("docker")
    [entry] = host.entries()
    config.write_text(config.read_text().replace("true", "false"))
    before = host.everything()

    answer = host.ctk("runtime", "rollback", entry)

    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert '-  "debug": true,' in answer.err
    assert '+  "debug": false,' in answer.err
    assert host.everything() == before
    assert host.entries() == [entry]
    [error] = host.ctk("runtime", "rollback", entry, "--json").json()["errors"]
    assert (error["code"], error["path"]) == ("moved", str(config))


def test_rollback_takes_the_unique_beginning_of_an_id(host: HostFolder) -> None:
    config = host.engine("docker", STARTS["docker"])
    host.configure("docker")
    assert host.ctk("runtime", "rollback", host.entries()[0][:12]).code == 0
    assert config.read_text() == STARTS["docker"]


@pytest.mark.parametrize("word", ["nothing", "", "../../etc", "2"])
def test_rollback_of_an_unknown_id(host: HostFolder, word: str) -> None:
    host.engine("docker", STARTS["docker"])
    host.configure("docker")
    host.configure("docker", "--set-as-default")
    before = host.everything()
    answer = host.ctk("runtime", "rollback", word)
    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert ("ctk runtime history" if word != "2" else "more of the id") in answer.err
    assert host.everything() == before


def test_history_lists_the_runs_newest_first(host: HostFolder) -> None:
    config = host.engine("docker", STARTS["docker"])
    assert host.ctk("runtime", "history").out == "No run has changed a file yet.\n"
    host.configure("docker")
    host.unconfigure("docker")

    lines = host.ctk("runtime", "history").out.splitlines()

    newest, oldest = reversed(host.entries())
    assert lines == [
        f"{newest}  unconfigure  docker-system: edit {config}",
        f"{oldest}  configure    docker-system: edit {config}",
    ]
    assert f"ctk --root {host.folder} runtime configure --runtime=docker" in host.ctk("runtime", "history", "-v").out
    rows = host.ctk("runtime", "history", "--json").json()["data"]["entries"]
    assert [row["operation"] for row in rows] == ["unconfigure", "configure"]
    assert [row["id"] for row in rows] == [newest, oldest]


def test_history_names_an_entry_that_cannot_be_read(host: HostFolder) -> None:
    host.engine("docker", STARTS["docker"])
    host.configure("docker")
    [entry] = host.entries()
    (host.state / "journal" / entry / "entry.json").write_text("{")
    answer = host.ctk("runtime", "history")
    assert answer.code == 0
    assert entry in answer.warnings()[0]


def test_unconfigure_without_a_journal_says_what_it_cannot_know(host: HostFolder) -> None:
    config = host.engine("docker", '{"default-runtime": "crun", "runtimes": {"crun": {"path": "/usr/bin/crun"}}}\n')
    host.configure("docker", "--set-as-default", "--no-journal")
    answer = host.unconfigure("docker")
    assert answer.code == 0
    assert "nvidia" not in config.read_text()
    assert "crun" in config.read_text()
    assert any("default" in line for line in answer.err.splitlines())


def test_unconfigure_keeps_what_others_changed_since(host: HostFolder) -> None:
    config = host.engine("docker", STARTS["docker"])
    host.configure("docker")
    config.write_text(config.read_text().replace("true", "false"))
    assert host.unconfigure("docker").code == 0
    assert config.read_text() == STARTS["docker"].replace("true", "false")


@pytest.mark.parametrize("engine", ENGINES)
def test_status_before_and_after(host: HostFolder, engine: str) -> None:
    host.engine(engine, STARTS[engine])
    file = host.path(CRIO_DROP_IN if engine == "crio" else CONFIGS[engine])

    [before] = host.ctk("runtime", "status", "--json").json()["data"]["engines"]
    assert (before["engine"], before["registered"], before["file"]) == (engine, False, None)
    host.configure(engine, "--set-as-default")
    [after] = host.ctk("runtime", "status", "--json").json()["data"]["engines"]

    assert (after["registered"], after["file"], after["is_default"]) == (True, str(file), True)
    assert (after["default_runtime"], after["binary_exists"]) == ("nvidia", True)
    assert after["daemon"]["state"] in ("files-only", "not-running")
    screen = host.ctk("runtime", "status").out
    assert screen.startswith(f"{engine} (system)\n")
    assert f"  nvidia         registered in {file}\n" in screen


def test_status_says_what_is_wrong(host: HostFolder) -> None:
    host.engine("docker", '{"runtimes": {"nvidia": {"path": "/opt/gone/rt"}}}\n')
    broken = host.engine("containerd", "version = 2\n[[[\n")

    answer = host.ctk("runtime", "status")

    assert answer.code == 3
    assert answer.warnings() == ["warning: docker (system): /opt/gone/rt does not exist"]
    assert len(answer.errors()) == 1
    assert str(broken) in answer.errors()[0]
    document = host.ctk("runtime", "status", "--json").json()
    assert [row["registered"] for row in document["data"]["engines"]] == [True, None]
    assert document["errors"][0]["line"] == 2
