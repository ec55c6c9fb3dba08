"""containerd's main file and drop-ins there and back by the command line, with other people's hands in between."""

import tomllib

import pytest

from tests.unit.cli.scene import CONTAINERD_V2, HostFolder

MAIN = "/etc/containerd/config.toml"
FOLDER = "/etc/containerd/conf.d"
DROP_IN = f"{FOLDER}/99-nvidia.toml"
ASK = f"--drop-in-config={DROP_IN}"
STARTS = {
    "version 3": "version = 3 # three\n\n[debug]\n  level = 'info'\n",
    "version 2": CONTAINERD_V2 + "# end\n",
    "imports": f'version = 3\nimports = [\n  "{FOLDER}/*.toml", # site\n]\n',
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("words", [(), ("--set-as-default", "--enable-cdi")], ids=["plain", "everything"])
def test_a_drop_in_there_and_back(host: HostFolder, start: str, words: tuple[str, ...]) -> None:
    config = host.engine("containerd", start)
    before = {name for name in host.everything() if "containerd" in name}
    assert host.configure("containerd", ASK, *words).code == 0
    assert "nvidia" in host.path(DROP_IN).read_text()
    assert host.unconfigure("containerd", ASK).code == 0
    assert config.read_text() == start
    assert {name for name in host.everything() if "containerd" in name} == before, "the folder was ours, and is gone"


def test_removal_finds_the_usual_drop_in_by_itself(host: HostFolder) -> None:
    config = host.engine("containerd", STARTS["version 3"])
    assert host.configure("containerd", ASK).code == 0
    assert host.unconfigure("containerd").code == 0
    assert config.read_text() == STARTS["version 3"]
    assert not host.path(FOLDER).exists()


def test_an_import_that_others_have_come_to_need_stays(host: HostFolder) -> None:
    config = host.engine("containerd", STARTS["version 3"])
    assert host.configure("containerd", ASK).code == 0
    site = host.put(f"{FOLDER}/50-site.toml", "version = 3\noom_score = -500\n")
    answer = host.unconfigure("containerd")
    assert answer.code == 0
    assert tomllib.loads(config.read_text())["imports"] == [f"{FOLDER}/*.toml"]
    assert "goes on importing" in answer.out + answer.err
    assert site.read_text() == "version = 3\noom_score = -500\n"
    assert not host.path(DROP_IN).exists()


def test_a_drop_in_that_holds_others_settings_stays_and_is_imported(host: HostFolder) -> None:
    config = host.engine("containerd", STARTS["version 3"])
    assert host.configure("containerd", ASK).code == 0
    drop_in = host.path(DROP_IN)
    drop_in.write_text(drop_in.read_text().replace("version = 3\n", "version = 3\noom_score = -500\n"))
    assert host.unconfigure("containerd").code == 0
    assert drop_in.read_text() == "version = 3\noom_score = -500\n"
    assert tomllib.loads(config.read_text())["imports"] == [f"{FOLDER}/*.toml"]


def test_a_drop_in_that_was_deleted_by_hand(host: HostFolder) -> None:
    config = host.engine("containerd", STARTS["version 3"])
    assert host.configure("containerd", ASK).code == 0
    host.path(DROP_IN).unlink()
    assert host.unconfigure("containerd").code == 0
    assert config.read_text() == STARTS["version 3"]


@pytest.mark.parametrize("first", ["nvidia", "nvidia-b"])
def test_two_names_in_a_drop_in(host: HostFolder, first: str) -> None:
    config = host.engine("containerd", STARTS["version 3"])
    second = "nvidia-b" if first == "nvidia" else "nvidia"
    for name in ("nvidia", "nvidia-b"):
        assert host.configure("containerd", ASK, f"--nvidia-runtime-name={name}").code == 0
    assert host.unconfigure("containerd", f"--nvidia-runtime-name={first}").code == 0
    plugins = tomllib.loads(host.path(DROP_IN).read_text())["plugins"]
    assert set(plugins["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]) == {second}
    assert tomllib.loads(config.read_text())["imports"] == [f"{FOLDER}/*.toml"]
    assert host.unconfigure("containerd", f"--nvidia-runtime-name={second}").code == 0
    assert config.read_text() == STARTS["version 3"]
    assert not host.path(FOLDER).exists()
