"""A Jetson: its GPU's nodes, the runtime's mode, and the files that say what a container gets; no server is judged."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import expects_containers, version_tuple
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    INSTALL,
    MEDIUM,
    NOTE,
    TRIAGE,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctk.facts.platform import Jetson, MountFault, MountFile
    from ctk.facts.snapshot import Snapshot

GROUP = "Jetson, WSL2, virtual machines, vGPU"
TEGRA_RELEASE = "/etc/nv_tegra_release"
CONFIG = "/etc/nvidia-container-runtime/config.toml"
MEMORY_NODE = "/dev/nvmap"
GPU_NODES = ("/dev/nvhost-ctrl-gpu", "/dev/nvgpu/igpu0/ctrl")
SERVER_NODES = ("/dev/nvidia0", "/dev/nvidiactl")
"""From release 38 on (Thor) the GPU has the nodes of a server's driver."""
FIRST_WITH_SERVER_DRIVER = 38
CSV_MODES = ("auto", "csv")
INDISPENSABLE = ("libcuda.so", "/dev/nvmap")
MOUNT_SOURCE = "NVIDIA Container Toolkit, internal/platform-support/tegra/csv"


def _find_jetson(snapshot: "Snapshot") -> "Jetson | Outcome":
    if isinstance(snapshot.system.jetson, Unknown):
        return unseen(snapshot.system.jetson)
    if not snapshot.system.jetson:
        return skipped("this is no Jetson")
    if isinstance(snapshot.platform, Unknown):
        return unseen(snapshot.platform)
    return snapshot.platform.jetson or unseen(Unknown("the Jetson's own files were not looked at"))


def check_detect(snapshot: "Snapshot") -> Outcome:
    """What the others go by."""
    jetson = _find_jetson(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    release = jetson.release if isinstance(jetson.release, str) else "of a release that is not known"
    model = jetson.model if isinstance(jetson.model, str) else "a Jetson"
    return noted(f"{model} with L4T {release}", Evidence(release, TEGRA_RELEASE))


def check_nodes(snapshot: "Snapshot") -> Outcome:
    """Which GPU nodes there are depends on the board; nobody needs all of them."""
    jetson = _find_jetson(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    if isinstance(jetson.nodes, Unknown):
        return unseen(jetson.nodes)
    found = [node for node in GPU_NODES if node in jetson.nodes]
    found += SERVER_NODES if set(SERVER_NODES) <= set(jetson.nodes) else ()
    if MEMORY_NODE in jetson.nodes and found:
        return passed("the GPU's device nodes are there", Evidence(", ".join(found), "/dev"))
    lacking = [] if MEMORY_NODE in jetson.nodes else [MEMORY_NODE]
    lacking += [] if found else [" or ".join(GPU_NODES)]
    evidence = (Evidence("not there", node) for node in lacking)
    return failed(f"{' and '.join(lacking)} are missing: no program can use the GPU", *evidence)


def check_mode(snapshot: "Snapshot") -> Outcome:
    """The legacy mode asks a library that knows no integrated GPU."""
    jetson = _find_jetson(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    if not expects_containers(snapshot):
        return skipped("NVIDIA's container toolkit is not installed")
    if not isinstance(jetson.mode, str):
        return unseen(jetson.mode or Unknown("the runtime's mode is not known"))
    evidence = Evidence(f"mode = {jetson.mode}", CONFIG)
    if jetson.mode != "legacy":
        return passed(f"the runtime's mode is {jetson.mode}", evidence)
    if _major(jetson) >= FIRST_WITH_SERVER_DRIVER:
        return noted("the runtime's mode is legacy, which knows this board's GPU as a server's", evidence)
    return failed("the runtime's mode is legacy, which finds no integrated GPU: containers get nothing", evidence)


def _major(jetson: "Jetson") -> int:
    numbers = version_tuple(jetson.release) if isinstance(jetson.release, str) else ()
    return numbers[0] if numbers else 0


def check_version_match(snapshot: "Snapshot") -> Outcome:
    """Only an image can fit or not; what it has to fit is told."""
    jetson = _find_jetson(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    if not isinstance(jetson.release, str):
        return unseen(jetson.release or Unknown(f"no {TEGRA_RELEASE}"))
    return skipped(f"no image was named; those for this host have tags that begin with r{_major(jetson)}")


def _mounts(snapshot: "Snapshot") -> "Jetson | Outcome":
    """The Jetson, where the files are what containers are made from."""
    jetson = _find_jetson(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    if not expects_containers(snapshot):
        return skipped("NVIDIA's container toolkit is not installed")
    if isinstance(jetson.mode, str) and jetson.mode not in CSV_MODES:
        return skipped(f"the runtime's mode is {jetson.mode}: no mount files are read")
    return unseen(jetson.mount_files) if isinstance(jetson.mount_files, Unknown) else jetson


def check_csv_files(snapshot: "Snapshot") -> Outcome:
    """Lines that cannot be read are passed over without a word; so are files beyond the three base ones."""
    jetson = _mounts(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    files = _listed(jetson)
    used = [file for file in files if file.in_force]
    if not used and jetson.mode != "csv" and _major(jetson) >= FIRST_WITH_SERVER_DRIVER:
        return skipped("no mount files: from release 38 on containers can be made from the driver itself")
    if not used:
        return failed(
            f"no mount file is in force in {jetson.mount_folder}: containers get no GPU libraries",
            Evidence(f"{len(files)} CSV files" if files else "no CSV file", jetson.mount_folder),
        )
    faults = [fault for file in files for fault in file.faults]
    if faults:
        message = f"lines of the mount files are passed over ({len(faults)}, the first: {faults[0].reason})"
        return warned(message, *_quotes(faults), remedy=_CORRECT)
    words = ", ".join(_base_name(file) for file in used)
    others = [_base_name(file) for file in files if not file.in_force]
    more = f"; only with NVIDIA_REQUIRE_JETPACK=csv-mounts=all: {', '.join(others)}" if others else ""
    return passed(f"in force: {words}{more}", Evidence(f"{sum(file.paths for file in used)} paths", used[0].path))


def _listed(jetson: "Jetson") -> "tuple[MountFile, ...]":
    return jetson.mount_files if isinstance(jetson.mount_files, tuple) else ()


def _base_name(file: "MountFile") -> str:
    return file.path.rpartition("/")[2]


def _quotes(faults: "Iterable[MountFault]") -> tuple[Evidence, ...]:
    return tuple(Evidence(fault.text, f"{fault.file}:{fault.line}") for fault in faults)


def check_csv_paths(snapshot: "Snapshot") -> Outcome:
    """A board has not all that its release knows; without CUDA's library or memory nothing runs."""
    jetson = _mounts(snapshot)
    if isinstance(jetson, Outcome):
        return jetson
    files = [file for file in _listed(jetson) if file.in_force]
    if not files:
        return skipped("no mount file is in force")
    missing = [fault for file in files for fault in file.missing]
    if not missing:
        return passed("everything that the mount files name is there")
    grave = [fault for fault in missing if any(word in fault.text for word in INDISPENSABLE)]
    if grave:
        message = f"{grave[0].text.partition(',')[2].strip()}, which every GPU container needs, is not there"
        return failed(message, *_quotes((*grave, *(fault for fault in missing if fault not in grave))))
    total = sum(file.paths for file in files)
    message = f"{len(missing)} of {total} paths of the mount files are not there"
    return warned(message, *_quotes(missing), remedy=_LEAVE)


_CORRECT = Remedy("Write each line as KIND, PATH, with one of the kinds dev, dir, lib and sym")
_LEAVE = Remedy("Nothing, if this board does not have them; else install what they belong to, of the same release")
_REINSTALL = Remedy(
    "Install the packages of the same release again",
    (Command("apt-get install --reinstall nvidia-container nvidia-l4t-cuda nvidia-l4t-core"),),
)

JETSON_CHECKS: tuple[Check, ...] = (
    Check(
        id="jetson.detect",
        title="Tegra/Jetson platform",
        group=GROUP,
        layer="L1",
        severity=NOTE,
        evaluate=check_detect,
        reads="/etc/nv_tegra_release, /sys/devices/soc0/family, /proc/device-tree/model",
        rule="info",
        source="NVIDIA/go-nvlib, pkg/nvlib/info",
    ),
    Check(
        id="jetson.nodes",
        title="the device nodes of a Jetson's GPU",
        group=GROUP,
        layer="L4",
        severity=HIGH,
        evaluate=check_nodes,
        reads="/dev/nvmap, the GPU's control node by its old or new name, /dev/nvidia0 and /dev/nvidiactl",
        rule="fail without /dev/nvmap, or without any of the GPU's nodes",
        source="include/uapi/linux/nvgpu-ctrl.h of NVIDIA's linux-nvgpu",
        needs=("jetson.detect",),
        explains=("NvRmMemInitNvmap failed", "cudaErrorNoDevice on a Jetson"),
        remedy=Remedy("Load the module and look at what it says", (Command("modprobe nvgpu"), Command("dmesg | tail"))),
        fix="safe",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="jetson.version-match",
        title="image release fits the host's L4T",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_version_match,
        reads="/etc/nv_tegra_release",
        rule="skip: it takes an image to judge",
        source="Jetson Linux, container documentation",
        needs=("jetson.detect",),
        explains=("CUDA driver version is insufficient for CUDA runtime version, on a Jetson",),
        remedy=Remedy("Take an image of the host's release"),
        fix="manual",
    ),
    Check(
        id="jetson.mode",
        title="runtime mode on Jetson",
        group=GROUP,
        layer="L7",
        severity=HIGH,
        evaluate=check_mode,
        reads="nvidia-container-runtime.mode in the toolkit's configuration, the release",
        rule="fail for legacy before release 38",
        source="NVIDIA Container Toolkit, internal/info/auto.go",
        needs=("jetson.detect", "toolkit.mode"),
        explains=("unknown device, or nothing is injected, on a Jetson",),
        remedy=Remedy("Let the runtime find the mode", (Command("ctk config mode auto"),)),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="jetson.csv-files",
        title="CSV mount specs exist",
        group=GROUP,
        layer="L7",
        severity=CRITICAL,
        evaluate=check_csv_files,
        reads="the CSV files in the toolkit's mount-spec-path",
        rule="fail when none is in force, warn for lines that are passed over; from release 38 on only in mode csv",
        source=MOUNT_SOURCE,
        needs=("jetson.detect",),
        explains=("a container without GPU libraries on a Jetson",),
        remedy=_REINSTALL,
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="jetson.csv-paths",
        title="paths in CSV exist",
        group=GROUP,
        layer="L7",
        severity=MEDIUM,
        evaluate=check_csv_paths,
        reads="every path and glob of the CSV files in force",
        rule="warn once for all that is missing; fail for CUDA's library and /dev/nvmap",
        source=MOUNT_SOURCE,
        needs=("jetson.csv-files", "jetson.nodes"),
        explains=("no hardware decoder, encoder or DLA in a container",),
        remedy=_REINSTALL,
        fix="manual",
    ),
)
