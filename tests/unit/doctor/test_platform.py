"""The checks of Jetsons, WSL, virtual machines and vGPUs: one row for each status they can give."""

import dataclasses
from typing import Any

import pytest

from ctk.doctor.checks.jetson import JETSON_CHECKS
from ctk.doctor.checks.scope import has_gpus_or_traces
from ctk.doctor.checks.virtual_machines import VIRTUAL_MACHINE_CHECKS
from ctk.doctor.checks.wsl import WSL_CHECKS
from ctk.doctor.model import ERROR, FAIL
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.driver import DriverPackage
from ctk.facts.nvml import VgpuLicence
from ctk.facts.platform import Jetson, MountFault, MountFile, Platform, Vgpu, Wsl, WslStore
from ctk.facts.services import LICENCE, VGPU_MANAGER
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import FIRST, SECOND, make_driver, make_function, make_modules, make_pci
from tests.nvml_builders import make_nvml, make_nvml_gpu, make_service, make_services
from tests.unit.doctor.mutations import find_mutations, mutate
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

CHECKS = (*JETSON_CHECKS, *WSL_CHECKS, *VIRTUAL_MACHINE_CHECKS)
CLOSED = Unknown("permission denied")
SERVER = make_snapshot(platform=Platform())
MOUNTS = "/etc/nvidia-container-runtime/host-files-for-container.d"
STORE_FILES = (
    *("libcuda.so.1.1", "libcuda_loader.so", "libnvidia-ptxjitcompiler.so.1", "libnvidia-ml.so.1"),
    *("libnvidia-ml_loader.so", "libnvdxgdmal.so.1", "nvcubins.bin", "nvidia-smi"),
)
STORE = WslStore("/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1", STORE_FILES)


def fault(text: str, line: int = 3, reason: str = "not there") -> MountFault:
    return MountFault(f"{MOUNTS}/l4t.csv", line, text, reason)


def mounts(**changes: Any) -> MountFile:
    """One of the base files, all well."""
    return MountFile(f"{MOUNTS}/l4t.csv", True, 200)._replace(**changes)


def orin(**changes: Any) -> Snapshot:
    """A Jetson Orin whose containers are made from the mount files."""
    values: dict[str, Any] = {
        "release": "36.4.0",
        "model": "NVIDIA Jetson AGX Orin Developer Kit",
        "nodes": ("/dev/nvmap", "/dev/nvgpu/igpu0/ctrl"),
        "mode": "auto",
        "mount_folder": MOUNTS,
        "mount_files": (mounts(),),
    }
    snapshot: dict[str, Any] = {
        name: changes.pop(name) for name in ("toolkit", "system", "platform") if name in changes
    }
    jetson = Jetson(**{**values, **changes})
    return make_snapshot(
        **{"system": make_system(jetson=True), "pci": None, "platform": Platform(jetson=jetson), **snapshot}
    )


def wsl(version: int = 2, **changes: Any) -> Snapshot:
    """WSL on a PC with NVIDIA's driver in Windows."""
    values: dict[str, Any] = {
        "dxg": True,
        "libraries": ("libcuda.so.1", "libdxcore.so", "libnvidia-ml.so.1", "nvidia-smi"),
        "stores": (STORE,),
        "first_cuda": "/usr/lib/wsl/lib/libcuda.so.1",
        "packages": (),
    }
    snapshot: dict[str, Any] = {name: changes.pop(name) for name in ("toolkit", "platform") if name in changes}
    return make_snapshot(
        **{
            "system": make_system(wsl=version, kernel="5.15.153.1-microsoft-standard-WSL2"),
            "pci": None,
            "modules": make_modules(loaded=(), files=()),
            "driver": make_driver(version=None, libraries=(), traces=(), gpus=None),
            "platform": Platform(wsl=Wsl(**{**values, **changes})),
            **snapshot,
        }
    )


def guest(**changes: Any) -> Snapshot:
    """A virtual machine with one whole GPU."""
    values = {"platform": Platform(hypervisor="kvm", vgpus=()), "pci": make_pci(make_function(FIRST)), **changes}
    return make_snapshot(**values)


def vgpu(host: str = "580.95.02", licence: VgpuLicence | None | Unknown = None, **changes: Any) -> Snapshot:
    """A virtual machine with a vGPU of a host of the same branch."""
    gpu = make_nvml_gpu(FIRST, virtualization=2, name="NVIDIA A40-48Q", licence=licence)
    values = {
        "platform": Platform(hypervisor="kvm", vgpus=(Vgpu(FIRST, host, "r580_00"),)),
        "nvml": make_nvml(gpu),
        "services": make_services(make_service(LICENCE, binary="/usr/bin/nvidia-gridd")),
        **changes,
    }
    return guest(**values)


def manager(**changes: Any) -> Snapshot:
    service = make_service(VGPU_MANAGER, **{"binary": "/usr/bin/nvidia-vgpu-mgr", **changes})
    return make_snapshot(platform=Platform(), services=make_services(service))


LICENSED = VgpuLicence("NVIDIA RTX Virtual Workstation", True, "2024-05-03T06:51:17Z")
UNLICENSED = LICENSED._replace(licensed=False, expires=None)
NO_REGIONS = make_function(FIRST, regions=None)
BARE_REGION = make_function(FIRST)
assert isinstance(BARE_REGION.regions, tuple)
BARE_REGION = dataclasses.replace(
    BARE_REGION, regions=(BARE_REGION.regions[0], BARE_REGION.regions[1]._replace(start=0, end=(1 << 33) - 1))
)
NO_DAEMON = make_services(make_service(LICENCE, binary=None, running=False))
NO_TOOLKIT: dict[str, Any] = {"toolkit": ()}
LINUX = DriverPackage("libnvidia-compute-550", "550.120-0ubuntu1", "/var/lib/dpkg/status")
HALF_STORE = WslStore("/usr/lib/wsl/drivers/nvlt.inf_amd64_0", ("nvidia-smi",))

JETSON_ROWS = [
    Row("jetson.detect", "orin", orin(), "info", "Orin Developer Kit with L4T 36.4.0"),
    Row("jetson.detect", "server", SERVER, "skip", "no Jetson"),
    Row("jetson.detect", "closed", orin(system=make_system(jetson=CLOSED)), "unknown"),
    Row("jetson.detect", "not-looked", orin(platform=CLOSED), "unknown"),
    Row("jetson.nodes", "new-names", orin(), "pass"),
    Row("jetson.nodes", "old-names", orin(nodes=("/dev/nvmap", "/dev/nvhost-ctrl-gpu")), "pass"),
    Row("jetson.nodes", "thor", orin(nodes=("/dev/nvmap", "/dev/nvidia0", "/dev/nvidiactl")), "pass"),
    Row("jetson.nodes", "no-memory", orin(nodes=("/dev/nvgpu/igpu0/ctrl",)), "fail", "/dev/nvmap"),
    Row("jetson.nodes", "no-gpu", orin(nodes=("/dev/nvmap", "/dev/nvidiactl")), "fail", "/dev/nvhost-ctrl-gpu or"),
    Row("jetson.nodes", "closed", orin(nodes=CLOSED), "unknown"),
    Row("jetson.nodes", "server", SERVER, "skip"),
    Row("jetson.mode", "auto", orin(), "pass", "auto"),
    Row("jetson.mode", "csv", orin(mode="csv"), "pass", "csv"),
    Row("jetson.mode", "legacy", orin(mode="legacy"), "fail", "legacy"),
    Row("jetson.mode", "legacy-on-thor", orin(mode="legacy", release="38.2.0"), "info", "legacy"),
    Row("jetson.mode", "broken-file", orin(mode=CLOSED), "unknown"),
    Row("jetson.mode", "no-toolkit", orin(**NO_TOOLKIT), "skip", "not installed"),
    Row("jetson.mode", "server", SERVER, "skip"),
    Row("jetson.version-match", "no-image", orin(), "skip", "r36"),
    Row("jetson.version-match", "closed", orin(release=CLOSED), "unknown"),
    Row("jetson.version-match", "server", SERVER, "skip"),
    Row("jetson.csv-files", "base", orin(), "pass", "l4t.csv"),
    Row(
        "jetson.csv-files",
        "f145-extra-file",
        orin(mount_files=(mounts(), mounts(path=f"{MOUNTS}/cudnn.csv", in_force=False))),
        "pass",
        "only with NVIDIA_REQUIRE_JETPACK=csv-mounts=all: cudnn.csv",
    ),
    Row("jetson.csv-files", "none", orin(mount_files=None), "fail", "no mount file"),
    Row("jetson.csv-files", "thor", orin(mount_files=None, release="38.2.0"), "skip", "from release 38"),
    Row("jetson.csv-files", "thor-told-to", orin(mount_files=None, release="38.2.0", mode="csv"), "fail"),
    Row("jetson.csv-files", "empty", orin(mount_files=()), "fail"),
    Row("jetson.csv-files", "only-others", orin(mount_files=(mounts(in_force=False),)), "fail", "in force"),
    Row(
        "jetson.csv-files",
        "f145-bad-rows",
        orin(mount_files=(mounts(faults=(fault("lib /no", reason="there is no comma"),)),)),
        "warn",
        "passed over (1, the first: there is no comma)",
    ),
    Row("jetson.csv-files", "other-mode", orin(mode="cdi", mount_files=None), "skip", "cdi"),
    Row("jetson.csv-files", "closed", orin(mount_files=CLOSED), "unknown"),
    Row("jetson.csv-files", "no-toolkit", orin(mount_files=None, **NO_TOOLKIT), "skip"),
    Row("jetson.csv-files", "server", SERVER, "skip"),
    Row("jetson.csv-paths", "all", orin(), "pass"),
    Row(
        "jetson.csv-paths",
        "f145-some",
        orin(mount_files=(mounts(missing=(fault("dev, /dev/nvidiactl"), fault("lib, /usr/lib/x.so"))),)),
        "warn",
        "2 of 200 paths",
    ),
    Row(
        "jetson.csv-paths",
        "cuda",
        orin(mount_files=(mounts(missing=(fault("lib, /usr/lib/tegra/libcuda.so.1.1"),)),)),
        "fail",
        "/usr/lib/tegra/libcuda.so.1.1",
    ),
    Row(
        "jetson.csv-paths",
        "not-in-force",
        orin(mount_files=(mounts(), mounts(in_force=False, missing=(fault("lib, /x"),)))),
        "pass",
    ),
    Row("jetson.csv-paths", "no-files", orin(mount_files=()), "skip"),
    Row("jetson.csv-paths", "closed", orin(mount_files=CLOSED), "unknown"),
]

WSL_ROWS = [
    Row("wsl.detect", "two", wsl(), "info", "WSL 2"),
    Row("wsl.detect", "server", SERVER, "skip"),
    Row("wsl.detect", "closed", make_snapshot(system=make_system(wsl=CLOSED)), "unknown"),
    Row("wsl.detect", "not-looked", wsl(platform=CLOSED), "unknown"),
    Row("wsl.dxg", "there", wsl(), "pass"),
    Row("wsl.dxg", "absent", wsl(dxg=False), "fail", "/dev/dxg is missing"),
    Row("wsl.dxg", "wsl-one", wsl(1, dxg=False), "fail", "WSL 1"),
    Row("wsl.dxg", "closed", wsl(dxg=CLOSED), "unknown"),
    Row("wsl.dxg", "no-nvidia", wsl(dxg=False, stores=(), **NO_TOOLKIT), "skip", "neither"),
    Row("wsl.dxg", "server", SERVER, "skip"),
    Row("wsl.driver-store", "whole", wsl(), "pass"),
    Row("wsl.driver-store", "f77-two-stores", wsl(stores=(HALF_STORE, STORE)), "pass"),
    Row("wsl.driver-store", "f77-no-nvidia-store", wsl(stores=(HALF_STORE,)), "fail", "libcuda.so.1.1"),
    Row("wsl.driver-store", "no-store", wsl(stores=()), "fail", "libcuda.so.1.1"),
    Row("wsl.driver-store", "no-folder", wsl(libraries=None), "fail", "/usr/lib/wsl/lib/libcuda.so.1"),
    Row("wsl.driver-store", "f77-no-dxcore", wsl(libraries=("libcuda.so.1", "libnvidia-ml.so.1")), "fail", "libdxcore"),
    Row(
        "wsl.driver-store",
        "half",
        wsl(stores=(STORE._replace(files=("libcuda.so.1.1", "libcuda_loader.so")),)),
        "fail",
        "libnvidia-ml.so.1",
    ),
    Row("wsl.driver-store", "older-driver", wsl(stores=(STORE._replace(files=STORE_FILES[:4]),)), "pass"),
    Row("wsl.driver-store", "closed", wsl(stores=CLOSED), "unknown"),
    Row("wsl.driver-store", "no-nvidia", wsl(stores=(), **NO_TOOLKIT), "skip"),
    Row("wsl.linux-driver", "none", wsl(), "pass"),
    Row("wsl.linux-driver", "no-cache", wsl(first_cuda=None), "pass"),
    Row("wsl.linux-driver", "packages", wsl(packages=(LINUX,)), "warn", "libnvidia-compute-550"),
    Row(
        "wsl.linux-driver",
        "shadowed",
        wsl(first_cuda="/usr/lib/x86_64-linux-gnu/libcuda.so.1", packages=(LINUX,)),
        "fail",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    ),
    Row("wsl.linux-driver", "closed", wsl(packages=CLOSED), "unknown"),
    Row("wsl.linux-driver", "server", SERVER, "skip"),
]

VIRTUAL_ROWS = [
    Row("vm.hypervisor", "kvm", guest(), "info", "kvm"),
    Row("vm.hypervisor", "bare-metal", SERVER, "skip", "no virtual machine"),
    Row("vm.hypervisor", "closed", guest(platform=Platform(hypervisor=CLOSED)), "unknown"),
    Row("vm.hypervisor", "container", guest(system=make_system(container="lxc")), "skip", "lxc"),
    Row("vm.passthrough", "healthy", guest(), "pass", "kvm"),
    Row("vm.passthrough", "no-address", guest(pci=make_pci(BARE_REGION)), "fail", "no addresses", FIRST),
    Row("vm.passthrough", "closed", guest(pci=CLOSED), "unknown"),
    Row("vm.passthrough", "no-regions", guest(pci=make_pci(NO_REGIONS)), "unknown"),
    Row("vm.passthrough", "vgpu", vgpu(), "skip", "no whole GPU"),
    Row("vm.passthrough", "bare-metal", SERVER, "skip"),
    Row("vgpu.guest-driver", "same-branch", vgpu(), "pass", "fits"),
    Row("vgpu.guest-driver", "older-branch", vgpu("595.10.01"), "pass"),
    Row("vgpu.guest-driver", "newer-branch", vgpu("570.10.01"), "fail", "newer branch", FIRST),
    Row("vgpu.guest-driver", "host-not-told", vgpu(""), "pass"),
    Row(
        "vgpu.guest-driver",
        "server-driver",
        vgpu(nvml=make_nvml(gpus=(), count=0), services=NO_DAEMON),
        "fail",
        "not the one of NVIDIA's vGPU software",
    ),
    Row("vgpu.guest-driver", "not-asked", vgpu(nvml=CLOSED), "pass"),
    Row("vgpu.guest-driver", "not-asked-and-no-daemon", vgpu(nvml=CLOSED, services=NO_DAEMON), "unknown"),
    Row(
        "vgpu.guest-driver",
        "services-closed",
        vgpu(nvml=make_nvml(gpus=(), count=0), services=CLOSED),
        "unknown",
        "denied",
    ),
    Row("vgpu.guest-driver", "not-loaded", vgpu(modules=make_modules(loaded=())), "skip"),
    Row("vgpu.guest-driver", "closed", vgpu(platform=Platform(hypervisor="kvm", vgpus=CLOSED)), "unknown"),
    Row("vgpu.guest-driver", "whole-gpu", guest(), "skip"),
    Row("vgpu.license", "licensed", vgpu(licence=LICENSED), "pass", "Virtual Workstation"),
    Row("vgpu.license", "ran-out", vgpu(licence=LICENSED._replace(expires="2024-05-01T06:51:17Z")), "warn", "ran out"),
    Row("vgpu.license", "f141-unlicensed", vgpu(licence=UNLICENSED), "warn", "no licence (NVIDIA RTX"),
    Row(
        "vgpu.license",
        "f141-unrestricted",
        vgpu(licence=UNLICENSED, licence_status="Unlicensed (Unrestricted)"),
        "warn",
    ),
    Row(
        "vgpu.license",
        "f141-restricted",
        vgpu(licence=UNLICENSED, licence_status="Unlicensed (Restricted)"),
        "fail",
        "held down: Unlicensed (Restricted)",
        FIRST,
    ),
    Row("vgpu.license", "not-told", vgpu(licence=CLOSED), "unknown"),
    Row("vgpu.license", "no-licence-needed-to-tell", vgpu(licence=None), "unknown", "tells nothing"),
    Row("vgpu.license", "nvml-closed", vgpu(nvml=CLOSED), "unknown"),
    Row("vgpu.license", "server-without-nvml", make_snapshot(platform=Platform(), nvml=CLOSED), "skip"),
    Row("vgpu.license", "whole-gpu", guest(), "skip"),
    Row("vgpu.host-manager", "runs", manager(), "pass"),
    Row("vgpu.host-manager", "stopped", manager(running=False), "fail", "does not run"),
    Row("vgpu.host-manager", "off", manager(running=False, enabled=False), "info"),
    Row("vgpu.host-manager", "closed", manager(running=CLOSED), "unknown"),
    Row("vgpu.host-manager", "none", SERVER, "skip"),
    Row("vgpu.host-manager", "not-looked", make_snapshot(services=CLOSED), "unknown"),
]


@pytest.mark.parametrize("row", params((*JETSON_ROWS, *WSL_ROWS, *VIRTUAL_ROWS)))
def test_check(row: Row) -> None:
    assert_row(CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in (*JETSON_ROWS, *WSL_ROWS, *VIRTUAL_ROWS)} == {check.id for check in CHECKS}


def test_f141_remedy_names_the_journal_of_the_licence_daemon() -> None:
    check = next(check for check in CHECKS if check.id == "vgpu.license")
    assert check.remedy is not None
    assert "journalctl -b -u nvidia-gridd.service" in [command.text for command in check.remedy.commands]


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (wsl(), True),
        (wsl(stores=(), **NO_TOOLKIT), False),
        (wsl(stores=()), True),
        (wsl(stores=CLOSED, **NO_TOOLKIT), True),
        (wsl(platform=CLOSED, **NO_TOOLKIT), True),
        (orin(), True),
    ],
)
def test_whether_there_is_anything_to_judge(snapshot: Snapshot, expected: bool) -> None:
    assert has_gpus_or_traces(snapshot) is expected


def test_a_second_gpu_of_a_guest_is_judged_by_itself() -> None:
    snapshot = guest(pci=make_pci(BARE_REGION, make_function(SECOND)))
    found = outcomes_of(CHECKS, "vm.passthrough", snapshot)
    assert [(outcome.subject, outcome.status) for outcome in found] == [(FIRST, "fail"), (SECOND, "pass")]


@pytest.mark.parametrize(
    "snapshot", [wsl(), orin(), vgpu(licence=LICENSED), manager()], ids=["wsl", "orin", "vgpu", "host"]
)
def test_no_fact_that_is_missing_or_absurd_makes_a_failure_of_a_healthy_platform(snapshot: Snapshot) -> None:
    mutations = [
        found for found in find_mutations(snapshot) if found.place[0] in ("platform", "system", "nvml", "services")
    ]
    assert mutations
    for mutation in mutations:
        findings = run_checks(CHECKS, mutate(snapshot, mutation))
        wrong = {ERROR, FAIL} if isinstance(mutation.value, Unknown) else {ERROR}
        assert [(item.key, item.outcome.message) for item in findings if item.status in wrong] == [], mutation.name
