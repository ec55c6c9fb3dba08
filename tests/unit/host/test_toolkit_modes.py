"""What hosts of each kind say of the runtime's mode, from their files to the answer."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host.toolkit_modes import ENGINE_FOLDERS, collect_engine_folders, collect_mode_facts, collect_spec_kinds
from ctk.toolkit.document import HostDefaults, effective
from ctk.toolkit.modes import check_mode, resolve
from tests.conftest import AsNobody
from tests.unit.host.trees import Program, plant

LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
TEGRA_LIBRARY = "/usr/lib/aarch64-linux-gnu/tegra/libnvidia-ml.so.1"
VALUES = {row.setting.key: row.value for row in effective({}, HostDefaults())}
CSV = "/etc/nvidia-container-runtime/host-files-for-container.d"
GPU = {"/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n", "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n"}
NETWORK = {
    "/sys/bus/pci/devices/0001:01:00.0/vendor": "0x10de\n",
    "/sys/bus/pci/devices/0001:01:00.0/class": "0x020000\n",
}
JETSON = {"/etc/nv_tegra_release": "# R35\n"}
HOOK = {"/usr/bin/nvidia-container-runtime-hook": Program(), "/usr/bin/nvidia-container-cli": Program()}
YAML = "cdiVersion: 0.5.0\n# kind: none/none\nkind: nvidia.com/gpu\ndevices: []\n"
JSON = '{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": []}'
HOSTS: dict[str, dict[str, str]] = {
    "bare": {},
    "server": {LIBRARY: "", **GPU, **HOOK, "/usr/bin/nvidia-ctk": Program()},
    "server with ctk's own hook": {LIBRARY: "", **GPU, "/usr/bin/ctk-container-runtime-hook": Program()},
    "yaml spec": {LIBRARY: "", **GPU, "/etc/cdi/nvidia.yaml": YAML},
    "json spec": {LIBRARY: "", **GPU, "/var/run/cdi/nvidia.json": JSON},
    "another vendor's spec": {"/etc/cdi/net.yml": "kind: 'vendor.example/net'\n", "/etc/cdi/broken.json": "{"},
    "Jetson": {**JETSON, **NETWORK, f"{CSV}/l4t.csv": "lib, /usr/lib/x\n", f"{CSV}/README": ""},
    "Jetson with NVML": {**JETSON, **NETWORK, TEGRA_LIBRARY: "", f"{CSV}/l4t.csv": ""},
    "Jetson with a PCI GPU": {**JETSON, **GPU, TEGRA_LIBRARY: "", f"{CSV}/l4t.csv": ""},
    "Jetson without its files": {**JETSON},
    "WSL": {
        "/proc/sys/kernel/osrelease": "5.15.133.1-microsoft-standard-WSL2\n",
        "/usr/lib/wsl/lib/libnvidia-ml.so.1": "",
        **HOOK,
    },
}


@pytest.mark.parametrize(
    ("name", "auto", "works"),
    [
        ("bare", "jit-cdi", {"legacy": False, "csv": False, "cdi": False, "jit-cdi": False}),
        ("server", "jit-cdi", {"legacy": True, "csv": False, "cdi": False, "jit-cdi": True}),
        ("server with ctk's own hook", "jit-cdi", {"legacy": True, "csv": False, "cdi": False, "jit-cdi": False}),
        ("yaml spec", "jit-cdi", {"legacy": False, "cdi": True}),
        ("json spec", "jit-cdi", {"legacy": False, "cdi": True}),
        ("another vendor's spec", "jit-cdi", {"cdi": False}),
        ("Jetson", "csv", {"csv": True, "cdi": False}),
        ("Jetson with NVML", "csv", {"csv": True}),
        ("Jetson with a PCI GPU", "jit-cdi", {"csv": True}),
        ("Jetson without its files", "csv", {"csv": False}),
        ("WSL", "jit-cdi", {"legacy": True, "csv": False, "jit-cdi": True}),
    ],
)
def test_a_host(tmp_path: Path, name: str, auto: str, works: dict[str, bool]) -> None:
    host = plant(tmp_path, HOSTS[name])
    assert resolve(collect_mode_facts(host, VALUES, "auto")).mode == auto
    for mode, answer in works.items():
        steps = check_mode(mode, collect_mode_facts(host, VALUES, mode))
        assert all(step.holds for step in steps) is answer, (mode, steps)


def test_the_configured_places_are_looked_at(tmp_path: Path) -> None:
    files = {"/opt/cdi/a.yml": "kind: site.example/gpu\n", "/opt/driver" + LIBRARY: "", "/opt/hook": Program()}
    values = {
        **VALUES,
        "nvidia-container-runtime.modes.cdi.spec-dirs": ["/opt/cdi/"],
        "nvidia-container-runtime.modes.cdi.default-kind": "site.example/gpu",
        "nvidia-container-cli.root": "/opt/driver",
        "nvidia-container-cli.path": "/opt/hook",
        "nvidia-container-runtime-hook.path": "/opt/hook",
    }
    facts = collect_mode_facts(plant(tmp_path, files), values, "cdi")
    assert facts.driver_library == "/opt/driver" + LIBRARY
    assert (facts.hook, facts.injector) == ("/opt/hook", "/opt/hook")
    assert facts.specs == (("/opt/cdi/a.yml", "site.example/gpu"),)
    assert [step.holds for step in check_mode("cdi", facts)] == [True, False]


@pytest.mark.parametrize(
    ("path", "text", "folders"),
    [
        ("/etc/docker/daemon.json", '{"cdi-spec-dirs": ["/opt/cdi"]}', ("/opt/cdi",)),
        ("/etc/docker/daemon.json", "{", ()),
        (
            "/etc/containerd/config.toml",
            'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\ncdi_spec_dirs = ["/opt/cdi", "/etc/cdi"]\n',
            ("/opt/cdi",),
        ),
        ("/etc/containerd/config.toml", "cdi_spec_dirs = [", ()),
        ("/etc/crio/crio.conf", '[crio.runtime]\ncdi_spec_dirs = ["/srv/cdi"]\n', ("/srv/cdi",)),
    ],
)
def test_the_folders_engines_look_in(tmp_path: Path, path: str, text: str, folders: tuple[str, ...]) -> None:
    assert collect_engine_folders(plant(tmp_path, {path: text})) == (*ENGINE_FOLDERS, *folders)


def test_a_folder_that_is_closed_is_unknown(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path / "host", {"/etc/cdi/nvidia.yaml": YAML})
    (tmp_path / "host/etc/cdi").chmod(0o700)
    assert as_nobody(collect_spec_kinds, host, ("/etc/cdi",)) == Unknown("/etc/cdi: permission denied")
