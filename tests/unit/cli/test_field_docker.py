"""What went wrong for people with Docker: the file they had and what they must get, by the command line."""

import json
import os
from pathlib import Path

import pytest

from tests.unit.change.scene import look
from tests.unit.cli.scene import RUNTIME, HostFolder, ctk

DROP_IN = "/etc/systemd/system/docker.service.d/gpu.conf"


def _members(path: Path) -> list[tuple[str, object]]:
    pairs = json.loads(path.read_bytes(), object_pairs_hook=list)
    assert isinstance(pairs, list)
    return pairs


def _assert_second_run_is_silent(host: HostFolder, *arguments: str) -> None:
    before = host.everything()
    assert host.configure("docker", *arguments).code == 0
    assert host.everything() == before


@pytest.mark.parametrize("indent", ["  ", "\t", "       "])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_f01_site_settings_keep_value_order_and_layout(host: HostFolder, indent: str, ending: str) -> None:
    text = (
        '{\n@"hosts": ["unix:///run/alpha.sock", "tcp://127.0.0.1:2399"],\n@"storage-driver": "devicemapper",\n'
        '@"storage-opts": ["dm.thinpooldev=/dev/mapper/vg0-pool"]\n}'
    ).replace("@", indent) + ending
    config = host.engine("docker", text)

    assert host.configure("docker").code == 0

    assert _members(config)[:3] == _members_of(text)
    assert [name for name, _ in _members(config)] == ["hosts", "storage-driver", "storage-opts", "runtimes"]
    assert dict(json.loads(config.read_text()))["runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"
    new = config.read_text()
    assert new.startswith(text.rstrip("\n").removesuffix("\n}"))
    assert f'\n{indent}"runtimes": {{\n{indent * 2}"nvidia"' in new
    assert new.endswith("}" + ending)
    _assert_second_run_is_silent(host)


def _members_of(text: str) -> list[tuple[str, object]]:
    pairs = json.loads(text, object_pairs_hook=list)
    assert isinstance(pairs, list)
    return pairs


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ('{\n  "dns": ["192.0.2.1"]\n  "runtimes": {}\n}\n', 3, 3, "missing comma"),
        ('{\n  "live-restore": true,\n}\n', 2, 23, "trailing comma"),
    ],
)
def test_f03_missing_or_trailing_comma(host: HostFolder, text: str, line: int, column: int, says: str) -> None:
    config = host.engine("docker", text)
    before = host.everything()
    answer = host.configure("docker")
    assert answer.code == 3
    assert answer.err.startswith(f"error: cannot read {config}: line {line}, column {column}: {says}")
    assert len(answer.err.splitlines()) == 2
    assert host.everything() == before


def test_f04_stray_brace(host: HostFolder) -> None:
    host.engine(
        "docker", '{\n  "insecure-registries": ["192.0.2.9:5000"] },\n  "data-root": "/data/d",\n  "runtimes": {}\n}\n'
    )
    before = host.everything()
    answer = host.configure("docker")
    assert answer.code == 3
    assert "line 2, column 46: extra data after the top-level object" in answer.err
    assert host.everything() == before


def test_f06_saved_web_page(host: HostFolder) -> None:
    host.engine("docker", "<html><body>404 Not Found</body></html>\n")
    before = host.everything()
    answer = host.configure("docker")
    assert answer.code == 3
    assert "this is not JSON, it looks like HTML/XML" in answer.err
    assert host.everything() == before


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_f07_empty_file(host: HostFolder, text: str) -> None:
    config = host.engine("docker", text)
    config.chmod(0o640)
    answer = host.configure("docker")
    assert answer.code == 0
    assert len(answer.warnings()) == 1
    assert list(json.loads(config.read_text())) == ["runtimes"]
    assert config.stat().st_mode & 0o777 == 0o640
    _assert_second_run_is_silent(host)
    assert host.unconfigure("docker").code == 0
    assert config.read_text() == text


@pytest.mark.parametrize("text", ["null\n", "[]\n"])
def test_f07_other_top_level(host: HostFolder, text: str) -> None:
    config = host.engine("docker", text)
    assert host.configure("docker").code == 3
    assert config.read_text() == text


FLAG_UNITS = [
    pytest.param(f"--add-runtime=nvidia={RUNTIME}", (), id="same runtime"),
    pytest.param("--add-runtime other=/usr/bin/other", (), id="another runtime"),
    pytest.param("--default-runtime=crun", ("--set-as-default",), id="default"),
]


@pytest.mark.parametrize(("flag", "words"), FLAG_UNITS)
def test_f08_runtime_by_flag_and_by_file(host: HostFolder, flag: str, words: tuple[str, ...]) -> None:
    host.engine("docker", '{\n  "debug": true\n}\n')
    host.unit("docker.service", "/usr/bin/dockerd -H fd://")
    drop_in = host.put(DROP_IN, f"[Service]\nExecStart=\nExecStart=/usr/bin/dockerd -H fd:// {flag}\n")
    before = host.everything()

    answer = host.configure("docker", *words)

    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert DROP_IN in answer.errors()[0]
    assert flag.partition("=")[0].split()[0] in answer.errors()[0]
    assert "--force flag-conflict" in answer.err
    assert host.everything() == before
    assert drop_in.exists()
    tentative = host.configure("docker", "--dry-run", *words)
    assert tentative.code == 0
    assert any("a real run would stop here: --force flag-conflict" in line for line in tentative.warnings())
    assert len(tentative.warnings()) == 1, "not once more as a forced one"
    forced = host.configure("docker", "--force=flag-conflict", *words)
    assert forced.code == 0
    assert forced.warnings()


def test_f10_the_file_that_the_daemon_really_reads(host: HostFolder) -> None:
    usual = host.engine("docker", '{"debug": true}\n')
    other = host.put("/etc/alt/daemon.json", '{"debug": true}\n')
    host.unit("docker.service", "/usr/bin/dockerd --config-file /etc/alt/daemon.json")

    answer = host.configure("docker")

    assert answer.code == 0
    assert "nvidia" in other.read_text()
    assert "nvidia" not in usual.read_text()
    assert "systemctl reload docker" in answer.out
    [row] = host.ctk("runtime", "status", "--json").json()["data"]["engines"]
    assert row["config"] == str(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_f11_rootless_daemon(host: HostFolder) -> None:
    system = host.engine("docker", '{"debug": true}\n')
    home = host.path("/home/ann")
    home.mkdir(parents=True)
    os.chown(home, 1001, 1001)

    answer = host.configure("docker", "--config=/home/ann/.config/docker/daemon.json")

    assert answer.code == 0
    config = home / ".config/docker/daemon.json"
    assert "nvidia" in config.read_text()
    for path in (config, config.parent, config.parent.parent):
        assert (path.stat().st_uid, path.stat().st_gid) == (1001, 1001), path
    assert system.read_text() == '{"debug": true}\n'
    assert host.unconfigure("docker", "--config=/home/ann/.config/docker/daemon.json").code == 0
    assert list(home.iterdir()) == []


def test_f13_removal_takes_only_ours(host: HostFolder) -> None:
    text = '{\n  "dns": ["192.0.2.1"],\n  "log-opts": {"max-size": "10m"}\n}\n'
    config = host.engine("docker", text)
    for _ in range(2):
        assert host.configure("docker", "--set-as-default").code == 0
        assert host.unconfigure("docker").code == 0
        assert config.read_text() == text
    assert len(host.entries()) == 4, "no backup overwrites an older one"


def test_f13_removal_of_an_entry_that_ctk_did_not_make(host: HostFolder) -> None:
    config = host.engine(
        "docker",
        '{"dns": ["192.0.2.1"], "default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "/usr/bin/x"}, "kata": '
        '{"path": "/usr/bin/kata"}}}\n',
    )
    assert host.unconfigure("docker").code == 0
    assert json.loads(config.read_text()) == {"dns": ["192.0.2.1"], "runtimes": {"kata": {"path": "/usr/bin/kata"}}}


def test_f15_other_features_stay(host: HostFolder) -> None:
    config = host.engine("docker", '{"features": {"buildkit": true, "containerd-snapshotter": true}}\n')
    assert host.configure("docker", "--enable-cdi").code == 0
    features = json.loads(config.read_text())["features"]
    assert features == {"buildkit": True, "containerd-snapshotter": True, "cdi": True}


def test_f15_a_switch_that_is_off_on_purpose(host: HostFolder) -> None:
    config = host.engine("docker", '{"features": {"cdi": false}}\n')
    assert host.configure("docker").code == 0
    assert json.loads(config.read_text())["features"] == {"cdi": False}
    answer = host.configure("docker", "--enable-cdi")
    assert json.loads(config.read_text())["features"] == {"cdi": True}
    assert "features.cdi" in answer.err, "it is said"


def test_f16_another_default_stays(host: HostFolder) -> None:
    text = '{"default-runtime": "crun", "runtimes": {"crun": {"path": "/usr/local/bin/crun"}}}\n'
    config = host.engine("docker", text)
    answer = host.configure("docker")
    assert answer.code == 0
    document = json.loads(config.read_text())
    assert document["default-runtime"] == "crun"
    assert document["runtimes"]["crun"] == {"path": "/usr/local/bin/crun"}
    assert "nvidia" in document["runtimes"]
    assert "/usr/local/bin/crun" in answer.err
    assert "config.toml" in answer.err


def test_f18_a_link_stays_a_link(host: HostFolder) -> None:
    link = host.engine("docker")
    target = host.put("/srv/site/repo/daemon.json", '{"debug": true}\n')
    link.parent.mkdir(parents=True)
    link.symlink_to("/srv/site/repo/daemon.json")
    assert host.configure("docker").code == 0
    assert os.readlink(link) == "/srv/site/repo/daemon.json"
    assert "nvidia" in target.read_text()
    assert sorted(os.listdir(target.parent)) == ["daemon.json"]
    assert host.unconfigure("docker").code == 0
    assert target.read_text() == '{"debug": true}\n'


def test_f18_a_dangling_link_is_reported(host: HostFolder) -> None:
    link = host.engine("docker")
    link.parent.mkdir(parents=True)
    link.symlink_to("/srv/gone/daemon.json")
    answer = host.configure("docker")
    assert answer.code == 3
    assert "/srv/gone/daemon.json, which does not exist" in answer.err
    assert link.is_symlink()


def test_f19_docker_desktop_is_warned_of(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "desktop-linux")
    config = host.put("/etc/docker/daemon.json", "{}\n")
    before = look(config)
    answer = ctk("runtime", "configure", "--runtime=docker", f"--config={config}", "--dry-run")
    assert answer.code == 0
    assert any("Docker Desktop" in line for line in answer.warnings())
    assert look(config) == before
