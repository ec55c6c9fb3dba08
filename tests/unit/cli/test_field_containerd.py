"""What went wrong for people with containerd: the file they had and what they must get, by the command line."""

import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import AsNobody
from tests.unit.cli.scene import CONTAINERD_V2, RUNTIME, HostFolder, ctk

CRI_V2 = "io.containerd.grpc.v1.cri"
CRI_V3 = "io.containerd.cri.v1.runtime"
K3S = "/var/lib/rancher/k3s/agent/etc/containerd"
MICROK8S = "/var/snap/microk8s/current/args"


def _cri(path: Path, plugin: str = CRI_V2) -> Any:
    return tomllib.loads(path.read_text())["plugins"][plugin]["containerd"]


def _assert_old_lines_stand(old: str, new: str) -> None:
    rest = iter(new.splitlines())
    missing = [line for line in old.splitlines() if line not in rest]
    assert missing == [], "every old line, in the old order"


def _assert_cycle_is_clean(host: HostFolder, config: Path, start: str, *arguments: str) -> None:
    before = host.everything()
    assert host.configure("containerd", *arguments).code == 0
    assert host.everything() == before
    assert host.unconfigure("containerd").code == 0
    assert config.read_text() == start


@pytest.mark.parametrize("has_systemd", [True, False])
def test_f20_no_file_yet(host: HostFolder, has_systemd: bool) -> None:
    config = host.engine("containerd")
    if has_systemd:
        host.program("/usr/lib/systemd/systemd")
    answer = host.configure("containerd", "--set-as-default")
    assert answer.code == 0
    cri = _cri(config)
    assert cri["default_runtime_name"] == "nvidia"
    assert cri["runtimes"]["nvidia"]["options"].get("SystemdCgroup", False) is has_systemd
    assert cri["runtimes"]["runc"]["runtime_type"] == "io.containerd.runc.v2"
    assert len(answer.warnings()) == 1
    assert "minimal" in answer.warnings()[0]
    assert host.unconfigure("containerd").code == 0
    assert not config.exists()


def test_f20_the_kubelet_says_which_cgroup_driver(host: HostFolder) -> None:
    config = host.engine("containerd")
    host.program("/usr/bin/kubelet")
    host.put("/var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\ncgroupDriver: systemd\n")
    assert host.configure("containerd").code == 0
    assert _cri(config)["runtimes"]["nvidia"]["options"]["SystemdCgroup"] is True


def test_f21_options_come_from_runc(host: HostFolder) -> None:
    start = CONTAINERD_V2.replace(
        'runtime_type = "io.containerd.runc.v2"\n',
        'runtime_type = "io.containerd.runc.v2"\n  pod_annotations = ["alpha.example/*"]\n'
        "  privileged_without_host_devices = true\n",
    ).replace("SystemdCgroup = true\n", 'SystemdCgroup = true\n    Root = "/run/alpha"\n')
    config = host.engine("containerd", start)
    assert host.configure("containerd").code == 0
    _assert_old_lines_stand(start, config.read_text())
    runtimes = _cri(config)["runtimes"]
    assert runtimes["nvidia"]["options"] == {"SystemdCgroup": True, "Root": "/run/alpha", "BinaryName": RUNTIME}
    assert runtimes["nvidia"]["pod_annotations"] == ["alpha.example/*"]
    assert runtimes["nvidia"]["privileged_without_host_devices"] is True
    assert runtimes["runc"] == tomllib.loads(start)["plugins"][CRI_V2]["containerd"]["runtimes"]["runc"]
    _assert_cycle_is_clean(host, config, start)


def test_f23_version_3_keeps_its_plugin_and_quotes(host: HostFolder) -> None:
    start = (
        "version = 3\n# site header\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n"
        "  SystemdCgroup = true\n[plugins.'io.containerd.cri.v1.images']\n  snapshotter = 'overlayfs'\n"
    )
    config = host.engine("containerd", start)
    assert host.configure("containerd").code == 0
    _assert_old_lines_stand(start, config.read_text())
    assert CRI_V2 not in config.read_text()
    assert _cri(config, CRI_V3)["runtimes"]["nvidia"]["options"] == {"SystemdCgroup": True, "BinaryName": RUNTIME}
    assert tomllib.loads(config.read_text())["version"] == 3
    _assert_cycle_is_clean(host, config, start)


V1 = """\
[plugins.cri.containerd]
  [plugins.cri.containerd.default_runtime]
    runtime_type = "io.containerd.runtime.v1.linux"
    [plugins.cri.containerd.default_runtime.options]
      Runtime = "/usr/bin/runc"
"""


def test_f25_version_1_with_a_default_runtime_table(host: HostFolder) -> None:
    config = host.engine("containerd", V1)
    assert host.configure("containerd").code == 0
    document = tomllib.loads(config.read_text())
    assert "version" not in document
    assert list(document["plugins"]) == ["cri"]
    assert "nvidia" in document["plugins"]["cri"]["containerd"]["runtimes"]
    _assert_old_lines_stand(V1, config.read_text())
    _assert_cycle_is_clean(host, config, V1)


def test_f25_the_default_runtime_table_is_reported_and_stays(host: HostFolder) -> None:
    config = host.engine("containerd", V1)
    answer = host.configure("containerd", "--set-as-default")
    assert answer.code == 0
    assert any("default_runtime" in line for line in answer.warnings())
    _assert_old_lines_stand(V1, config.read_text())
    assert tomllib.loads(config.read_text())["plugins"]["cri"]["containerd"]["default_runtime_name"] == "nvidia"
    _assert_cycle_is_clean(host, config, V1, "--set-as-default")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [('version = "2"\n', 1, "version = 2"), ("# x\nversion = 9\n", 2, "unsupported config version 9")],
)
def test_f26_version_as_text_or_unknown(host: HostFolder, text: str, line: int, says: str) -> None:
    config = host.engine("containerd", text)
    answer = host.configure("containerd")
    assert (answer.code, config.read_text()) == (3, text)
    assert f"line {line}, " in answer.errors()[0]
    assert says in answer.errors()[0]


def test_f28_an_import_is_added_where_none_matches(host: HostFolder) -> None:
    start = 'version = 3\nimports = ["/etc/containerd/conf.d/*.toml"]\n'
    config = host.engine("containerd", start)
    drop_in = host.path("/etc/containerd/config.d/99-nvidia.toml")

    answer = host.configure("containerd", "--drop-in-config=/etc/containerd/config.d/99-nvidia.toml")

    assert answer.code == 0
    imports = tomllib.loads(config.read_text())["imports"]
    assert imports[0] == "/etc/containerd/conf.d/*.toml"
    assert len(imports) == 2
    assert tomllib.loads(drop_in.read_text())["version"] == 3
    [row] = host.ctk("runtime", "status", "--json").json()["data"]["engines"]
    assert (row["registered"], row["file"]) == (True, str(drop_in))
    undone = host.unconfigure("containerd", "--drop-in-config=/etc/containerd/config.d/99-nvidia.toml")
    assert undone.code == 0
    assert config.read_text() == start
    assert not drop_in.parent.exists()


TEMPLATE = (
    'version = 2\n[plugins."io.containerd.internal.v1.opt"]\n  path = "{{ .NodeConfig.Containerd.Opt }}"\n'
    "{{- if .IsRunningInUserNS }}\n  x = 1\n{{ end }}\n"
)


def test_f34_a_template_with_expressions(host: HostFolder) -> None:
    host.engine("containerd")
    template = host.put(f"{K3S}/config.toml.tmpl", TEMPLATE)
    before = host.everything()
    answer = host.configure("containerd", f"--config={K3S}/config.toml.tmpl")
    assert answer.code == 3
    assert answer.errors() == [f"error: cannot edit {template}: line 3, column 11: this is a Go template, not TOML"]
    assert "Two ways are safe" in answer.err
    assert "--force template" in answer.err
    assert host.everything() == before


def test_f34_k3s_finds_the_runtime_itself(host: HostFolder) -> None:
    host.program(RUNTIME)
    host.put(f"{K3S}/config.toml", "version = 2\n")
    before = host.everything()
    answer = host.configure("containerd")
    assert answer.code == 0
    assert "nothing to do" in answer.out
    assert "It is taken up with: systemctl restart k3s\n" in answer.out
    assert "k3s finds and registers the runtime 'nvidia' itself" in answer.err
    assert host.everything() == before
    assert host.configure("containerd", "--set-as-default").code == 2, "k3s has a flag of its own for that"


@pytest.mark.parametrize("name", ["config.toml.tmpl", "config-v3.toml.tmpl"])
def test_f35_a_template_that_is_not_there_yet(host: HostFolder, name: str) -> None:
    host.engine("containerd")
    host.put(f"{K3S}/config.toml", "version = 2\n")
    template = host.path(f"{K3S}/{name}")

    refused = host.configure("containerd", f"--config={K3S}/{name}")
    assert refused.code == 3
    assert "--force template" in refused.err
    assert not template.exists()

    forced = host.configure("containerd", f"--config={K3S}/{name}", "--force=template")
    assert forced.code == 0
    lines = template.read_text().splitlines()
    assert lines[0] == '{{ template "base" . }}'
    assert all("nvidia" in line for line in lines if line.startswith("["))
    assert host.unconfigure("containerd", f"--config={K3S}/{name}").code == 0
    assert not template.exists()


@pytest.mark.parametrize(
    ("generated", "source"),
    [
        (f"{MICROK8S}/containerd.toml", f"{MICROK8S}/containerd-template.toml"),
        (
            "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
            "/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl",
        ),
    ],
)
def test_f37_a_generated_file_is_refused_with_its_source(host: HostFolder, generated: str, source: str) -> None:
    host.engine("containerd")
    host.put(generated, CONTAINERD_V2)
    host.put(source, CONTAINERD_V2)
    before = host.everything()

    answer = host.configure("containerd", f"--config={generated}")

    assert answer.code == 3
    assert f"--config={source}" in answer.err
    assert host.everything() == before
    assert "--force generated-file" in host.configure("containerd", f"--config={generated}", "--dry-run").err
    assert host.configure("containerd", f"--config={generated}", "--force=generated-file").code == 0


def test_f37_microk8s_is_configured_by_its_template(host: HostFolder) -> None:
    host.program(RUNTIME)
    host.program("/snap/microk8s/current/bin/containerd")
    generated = host.put(f"{MICROK8S}/containerd.toml", CONTAINERD_V2)
    template = host.put(f"{MICROK8S}/containerd-template.toml", CONTAINERD_V2)
    answer = host.configure("containerd")
    assert answer.code == 0
    assert "nvidia" in template.read_text()
    assert generated.read_text() == CONTAINERD_V2
    assert host.unconfigure("containerd").code == 0
    assert template.read_text() == CONTAINERD_V2


def test_f39_the_earlier_default_comes_back(host: HostFolder) -> None:
    start = (
        f'version = 2\n[plugins."{CRI_V2}".containerd]\n  default_runtime_name = "crun"\n'
        f'  [plugins."{CRI_V2}".containerd.runtimes.crun]\n    runtime_type = "io.containerd.runc.v2"\n'
        f'    [plugins."{CRI_V2}".containerd.runtimes.crun.options]\n      BinaryName = "/usr/bin/crun"\n'
    )
    config = host.engine("containerd", start)
    assert host.configure("containerd", "--set-as-default").code == 0
    assert _cri(config)["default_runtime_name"] == "nvidia"
    config.write_text(config.read_text() + "# changed by hand since\n")
    assert host.unconfigure("containerd").code == 0
    assert config.read_text() == start + "# changed by hand since\n"


def test_f39_an_unknown_earlier_default_is_deleted_and_said(host: HostFolder) -> None:
    config = host.engine("containerd", CONTAINERD_V2)
    assert host.configure("containerd", "--set-as-default", "--no-journal").code == 0
    answer = host.unconfigure("containerd")
    assert answer.code == 0
    assert "default_runtime_name" not in config.read_text()
    assert "default_runtime_name" in answer.err


def test_f40_a_program_that_is_not_there(host: HostFolder) -> None:
    config = host.engine("containerd", CONTAINERD_V2)
    answer = host.configure("containerd", "--nvidia-runtime-path=/opt/gone/rt", "--set-as-default")
    assert (answer.code, config.read_text()) == (3, CONTAINERD_V2)
    assert "/opt/gone/rt does not exist" in answer.errors()[0]
    host.put("/opt/gone/rt", "not executable", 0o644)
    assert "not executable" in host.configure("containerd", "--nvidia-runtime-path=/opt/gone/rt").errors()[0]
    forced = host.configure("containerd", "--nvidia-runtime-path=/opt/gone/rt", "--force=missing-binary")
    assert forced.code == 0
    assert len(forced.warnings()) == 1
    status = host.ctk("runtime", "status")
    assert status.code == 0
    assert "/opt/gone/rt is not executable" in status.warnings()[0]


def test_f42_a_default_without_an_entry(host: HostFolder) -> None:
    start = f'version = 2\n[plugins."{CRI_V2}".containerd]\n  default_runtime_name = "kata"\n'
    config = host.engine("containerd", start)
    answer = host.configure("containerd")
    assert answer.code == 0
    assert any("kata" in line for line in answer.warnings())
    assert _cri(config)["default_runtime_name"] == "kata"
    _assert_cycle_is_clean(host, config, start)


def test_f42_never_made_by_ctk(host: HostFolder) -> None:
    config = host.engine(
        "containerd", f'version = 2\n[plugins."{CRI_V2}".containerd]\n  default_runtime_name = "runc"\n'
    )
    assert host.configure("containerd").code == 0
    assert set(_cri(config)["runtimes"]) == {"nvidia", "runc"}


def test_f43_a_folder_without_write_permission(
    host: HostFolder, as_nobody: AsNobody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine("containerd", CONTAINERD_V2).parent.chmod(0o555)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("CTK_STATE_DIR", str(tmp_path / "open/ctk"))
    before = host.everything()
    answer = as_nobody(host.configure, "containerd")
    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert host.everything() == before
    assert as_nobody(host.configure, "containerd", "--dry-run").code == 0


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="a mount needs root")
def test_f43_a_read_only_etc(host: HostFolder) -> None:
    config = host.engine("containerd", CONTAINERD_V2)
    etc = str(host.path("/etc"))
    subprocess.run(["mount", "--bind", etc, etc], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", etc], check=True)
        before = host.everything()
        answer = host.configure("containerd")
        dry_run = host.configure("containerd", "--dry-run")
        after = host.everything()
    finally:
        subprocess.run(["umount", etc], check=True)
    assert answer.code == 3
    assert len(answer.errors()) == 1
    assert "file system is read-only" in answer.errors()[0].lower()
    assert str(config.parent) in answer.errors()[0]
    assert answer.err.count("Nothing was changed") + answer.err.count("nothing was changed") == 1
    assert dry_run.code == 0
    assert after == before
    assert host.entries() == []


def test_f44_comments_and_odd_headers(host: HostFolder) -> None:
    start = (
        f'version = 2 # keep\n\n# --- runtimes ---\n[plugins."{CRI_V2}".containerd.runtimes.nvidia] # managed by hand\n'
        'runtime_type = "io.containerd.runc.v2"\noptions = { BinaryName = "/opt/old/rt", SystemdCgroup = true }\n'
    )
    config = host.engine("containerd", start)
    assert host.configure("containerd").code == 0
    new = config.read_text()
    _assert_old_lines_stand(start.replace("/opt/old/rt", RUNTIME), new)
    assert new.count("containerd.runtimes.nvidia]") == 1
    assert _cri(config)["runtimes"]["nvidia"]["options"] == {"BinaryName": RUNTIME, "SystemdCgroup": True}
    before = host.everything()
    assert host.configure("containerd").code == 0
    assert host.everything() == before
    assert host.unconfigure("containerd").code == 0
    assert config.read_text() == start, "the entry was there before"


def test_two_containerds_only_the_named_file_is_touched(host: HostFolder) -> None:
    system = host.engine("containerd", CONTAINERD_V2)
    other = host.put("/etc/other/config.toml", "version = 3\n")
    assert host.configure("containerd", "--config=/etc/other/config.toml").code == 0
    assert system.read_text() == CONTAINERD_V2
    assert CRI_V3 in other.read_text()
    assert ctk("--root", str(host.folder), "runtime", "history").out.count("other/config.toml") == 1
