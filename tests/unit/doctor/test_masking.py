"""The chains of causes that people meet: for each root, what its failure explains, over the real rows."""

from fnmatch import fnmatchcase

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import FAIL, PASS, UNKNOWN, WARN, Check, Finding, Outcome

GPU, OTHER_GPU = "0000:3b:00.0", "0000:af:00.0"
ROWS = {check.id: check for check in ALL_CHECKS}
LOADED_CHAIN = (
    "driver.module-loaded",
    "device.gpu-nodes",
    "device.control-node",
    "device.uvm-nodes",
    "device.mig-caps",
    "nvml.*",
    "cdi.spec-present",
    "cdi.stale-*",
    "container.devices",
    "cuda.init",
    "k8s.allocatable",
)
ABOVE_THE_BUS = ("driver.*", "device.*", "lib.*", "nvml.*", "fabric.*", "nvlink.*", "imex.*", "cuda.*", "vgpu.*")
CHAINS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pci.gpus-present", (*ABOVE_THE_BUS, "cdi.spec-present", "cdi.stale-*")),
    ("host.nouveau-loaded", ("driver.load-errors", "lib.nvml-loadable", *LOADED_CHAIN)),
    ("host.competing-drivers", ("driver.load-errors", "lib.nvml-loadable", *LOADED_CHAIN)),
    ("pci.vfio-bound", ("driver.load-errors", "device.gpu-nodes", "nvml.device-count", "cdi.stale-devices")),
    ("host.module-signature", LOADED_CHAIN),
    ("host.kernel-headers", ("host.dkms-status", "driver.module-available", *LOADED_CHAIN)),
    ("host.dkms-status", ("driver.module-available", *LOADED_CHAIN)),
    ("driver.module-available", LOADED_CHAIN),
    ("driver.module-loaded", LOADED_CHAIN[1:]),
    (
        "driver.version-mismatch",
        ("lib.nvml-loadable", "nvml.init", "driver.smi", "cuda.init", "toolkit.cdi-refresh-result", "cdi.stale-driver"),
    ),
    ("pci.fell-off-bus", ("nvml.device-count", "nvml.gpu-lost", "driver.rm-init-failed", "collect.probe-hang")),
    ("driver.gsp-firmware-files", ("driver.rm-init-failed", "nvml.device-count")),
    ("driver.uvm-loaded", ("device.uvm-nodes", "cuda.init", "container.devices")),
    ("fabric.manager-version", ("fabric.manager-running", "fabric.gpu-state", "cuda.init", "nvlink.links-up")),
    ("fabric.manager-running", ("fabric.gpu-state", "cuda.init", "nvlink.links-up")),
    ("nvml.mig-pending", ("nvml.mig-instances", "cdi.stale-mig", "container.mig")),
    (
        "toolkit.installed",
        ("toolkit.*", "runtime.*.registered", "runtime.*.binary", "runtime.docker.gpus-flag", "cdi.hook-binary"),
    ),
    ("toolkit.config-parse", ("toolkit.config-*", "toolkit.mode", "container.hooks-ran")),
    (
        "runtime.docker.config-parse",
        ("runtime.docker.running", "runtime.docker.registered", "runtime.docker.default"),
    ),
    ("runtime.docker.restart-needed", ("runtime.docker.cdi",)),
    ("runtime.containerd.restart-needed", ("runtime.containerd.registered",)),
    ("toolkit.cdi-refresh-result", ("cdi.spec-present", "cdi.stale-*")),
    ("cdi.parse", ("cdi.spec-present", "container.visible-devices")),
    ("cdi.conflicts", ("cdi.spec-present", "container.visible-devices")),
    ("cgroup.reload-happened", ("cgroup.container-rules", "container.cgroup")),
    ("k8s.operator-driver-mount", ("k8s.operator-toolkit-dir", "k8s.device-plugin-socket", "k8s.allocatable")),
    ("vm.passthrough", ("pci.bars", "driver.rm-init-failed", "nvml.device-count")),
    ("vgpu.guest-driver", ("driver.rm-init-failed", "nvml.init", "vgpu.license")),
    ("xid.repeat", ("xid.hardware", "xid.driver")),
    ("wsl.dxg", ("wsl.driver-store",)),
    ("jetson.csv-files", ("jetson.csv-paths",)),
)
# What a chain's pattern takes in although it judges something else than what the root takes away.
INDEPENDENT = frozenset(
    {
        ("toolkit.installed", "toolkit.installed"),
        ("toolkit.config-parse", "toolkit.config-parse"),
        ("driver.module-loaded", "driver.module-loaded"),
        ("toolkit.installed", "toolkit.legacy-packages"),
        ("toolkit.config-parse", "toolkit.config-present"),
        ("pci.gpus-present", "device.not-a-device"),
        ("pci.gpus-present", "device.dev-mount"),
        ("pci.gpus-present", "lib.daemon-environment"),
        ("pci.gpus-present", "lib.ldcache"),
        ("pci.gpus-present", "lib.stubs-on-path"),
        ("pci.gpus-present", "cuda.host-toolkit"),
    }
)


def members(root: str, patterns: tuple[str, ...]) -> list[str]:
    """The rows that the patterns name, without the root."""
    names = [name for name in ROWS if any(fnmatchcase(name, pattern) for pattern in patterns)]
    return [name for name in names if name != root and (root, name) not in INDEPENDENT]


PAIRS = [(root, name) for root, patterns in CHAINS if root in ROWS for name in members(root, patterns)]


def finding(name: str, status: str = FAIL, subject: str = "") -> Finding:
    return Finding(ROWS[name], Outcome(status, "made up", subject=subject))


def judge(*findings: Finding) -> dict[str, tuple[str, ...]]:
    """caused_by of what fails, while every other check passes."""
    named = {item.check.id for item in findings}
    others = [finding(name, PASS) for name in ROWS if name not in named]
    return {item.key: item.caused_by for item in find_causes((*findings, *others)) if item.status == FAIL}


ROOTS = tuple(dict.fromkeys(root for root, _ in PAIRS))
each_root = pytest.mark.parametrize("root", ROOTS)


def masked_by(root: str) -> list[str]:
    return [name for above, name in PAIRS if above == root]


@each_root
def test_root_explains(root: str) -> None:
    for name in masked_by(root):
        assert judge(finding(root), finding(name)) == {root: (), name: (root,)}


@each_root
@pytest.mark.parametrize("status", [UNKNOWN, WARN])
def test_what_is_not_a_failure_explains_nothing(root: str, status: str) -> None:
    for name in masked_by(root)[::7]:
        assert judge(finding(root, status), finding(name)) == {name: ()}


@each_root
def test_a_broken_gpu_hides_no_healthy_one(root: str) -> None:
    for name in masked_by(root)[::7]:
        found = judge(finding(root, subject=GPU), finding(name, subject=GPU), finding(name, subject=OTHER_GPU))
        assert found[f"{name}[{OTHER_GPU}]"] == ()
        assert found[f"{name}[{GPU}]"] == (f"{root}[{GPU}]",)


def depth(check: Check) -> int:
    return 1 + max((depth(ROWS[name]) for name in check.needs if name in ROWS), default=0)


def test_when_everything_fails_only_the_lowest_are_roots() -> None:
    found = find_causes([finding(name) for name in ROWS])
    roots = {item.check.id for item in found if item.is_root}
    assert roots == {name for name, check in ROWS.items() if not any(need in ROWS for need in check.needs)}
    assert all(not ROWS[root.partition("[")[0]].needs or depth(ROWS[root]) == 1 for root in roots)


def ancestors(name: str) -> set[str]:
    direct = {need for need in ROWS[name].needs if need in ROWS} if name in ROWS else set()
    return direct | {above for need in direct for above in ancestors(need)}


@pytest.mark.parametrize("name", ["xid.hardware", "xid.driver", "xid.recovery-action", "sxid.fatal"])
def test_what_the_log_tells_is_not_explained_by_libraries_or_nvml(name: str) -> None:
    """A fault of the hardware stays a root of its own while the library cannot be asked for another reason."""
    assert [above for above in ancestors(name) if above.startswith(("nvml.", "lib.", "driver.version-mismatch"))] == []
