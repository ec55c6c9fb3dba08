"""WSL: what Windows shares with it, and what of a Linux driver stands in the way; Windows itself is not looked at."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import expects_containers
from ctk.doctor.checks.jetson import GROUP
from ctk.doctor.model import (
    APT,
    CRITICAL,
    HIGH,
    INSTALL,
    NOTE,
    RED_HAT,
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
    from ctk.facts.platform import Wsl
    from ctk.facts.snapshot import Snapshot

NODE = "/dev/dxg"
FOLDER, LIBRARIES, STORES = "/usr/lib/wsl/", "/usr/lib/wsl/lib", "/usr/lib/wsl/drivers"
CORE_LIBRARIES = ("libcuda.so.1", "libdxcore.so", "libnvidia-ml.so.1")
MARK = "libcuda.so.1.1"
"""Which of several stores is NVIDIA's."""
CORE_STORE = (MARK, "libcuda_loader.so", "libnvidia-ml.so.1")
GUIDE = "CUDA on WSL user guide"


def _find_wsl(snapshot: "Snapshot") -> "Wsl | Outcome":
    if isinstance(snapshot.system.wsl, Unknown):
        return unseen(snapshot.system.wsl)
    if snapshot.system.wsl is None:
        return skipped("this is not WSL")
    if isinstance(snapshot.platform, Unknown):
        return unseen(snapshot.platform)
    return snapshot.platform.wsl or unseen(Unknown("what Windows shares was not looked at"))


def _wanted(snapshot: "Snapshot") -> "Wsl | Outcome":
    """A PC without an NVIDIA GPU has no such driver, and needs none."""
    wsl = _find_wsl(snapshot)
    if isinstance(wsl, Outcome) or wsl.stores or expects_containers(snapshot):
        return wsl
    return skipped("neither NVIDIA's Windows driver nor its container toolkit is here")


def check_detect(snapshot: "Snapshot") -> Outcome:
    """What the others go by."""
    wsl = _find_wsl(snapshot)
    if isinstance(wsl, Outcome):
        return wsl
    kernel = snapshot.system.kernel if isinstance(snapshot.system.kernel, str) else "not known"
    return noted(f"WSL {snapshot.system.wsl}", Evidence(kernel, "/proc/sys/kernel/osrelease"))


def check_dxg(snapshot: "Snapshot") -> Outcome:
    """The one device by which Linux programs reach the GPU."""
    wsl = _wanted(snapshot)
    if isinstance(wsl, Outcome):
        return wsl
    if isinstance(wsl.dxg, Unknown):
        return unseen(wsl.dxg)
    if wsl.dxg:
        return passed("the GPU's device is there", Evidence("there", NODE))
    kernel = Evidence(str(snapshot.system.kernel), "/proc/sys/kernel/osrelease")
    if snapshot.system.wsl == 1:
        return failed("WSL 1 has no access to GPUs", Evidence("not there", NODE), kernel, remedy=_CONVERT)
    return failed("/dev/dxg is missing: WSL's kernel is too old, or Windows gives it no GPU", _absent(NODE), kernel)


def _absent(path: str) -> Evidence:
    return Evidence("not there", path)


def check_driver_store(snapshot: "Snapshot") -> Outcome:
    """Newer drivers have more files than the core ones; what an older one lacks is no fault."""
    wsl = _wanted(snapshot)
    if isinstance(wsl, Outcome):
        return wsl
    for fact in (wsl.libraries, wsl.stores):
        if isinstance(fact, Unknown):
            return unseen(fact)
    lacking = [f"{LIBRARIES}/{name}" for name in CORE_LIBRARIES if name not in (wsl.libraries or ())]  # type: ignore[operator] # Unknown was answered above
    stores = wsl.stores if isinstance(wsl.stores, tuple) else ()
    store = next((store for store in stores if MARK in store.files), None)
    if store is None:
        lacking.append(f"{STORES}/nv*/{MARK}")
    else:
        lacking += [f"{store.path}/{name}" for name in CORE_STORE if name not in store.files]
    if lacking:
        return failed(
            f"the Windows driver's files are not complete: {lacking[0]} is missing", *map(_absent, lacking[:5])
        )
    others = [Evidence("a store without NVIDIA's CUDA", other.path) for other in stores if MARK not in other.files]
    return passed("the Windows driver's files are there", *([Evidence(MARK, store.path)] if store else []), *others)


def check_linux_driver(snapshot: "Snapshot") -> Outcome:
    """The Windows driver is the only one; a Linux driver's libcuda knows no GPU here."""
    wsl = _find_wsl(snapshot)
    if isinstance(wsl, Outcome):
        return wsl
    packages = wsl.packages if isinstance(wsl.packages, tuple) else ()
    evidence = [Evidence(f"{package.name} {package.version}", package.source) for package in packages[:3]]
    first = wsl.first_cuda
    if isinstance(first, str) and not first.startswith(FOLDER):
        message = f"programs get a Linux driver's library instead of the one of Windows: {first}"
        return failed(message, Evidence(first, "/etc/ld.so.cache"), *evidence)
    if packages:
        names = ", ".join(package.name for package in packages[:3])
        return warned(f"a Linux driver is installed inside WSL, where it has no place: {names}", *evidence)
    for fact in (wsl.packages, first):
        if isinstance(fact, Unknown):
            return unseen(fact)
    return passed("no Linux driver is installed inside WSL")


_CONVERT = Remedy(
    "Convert the distribution, in a terminal of Windows",
    (Command("wsl.exe --set-version DISTRIBUTION 2", needs_root=False, stops_containers=True),),
)
_WINDOWS = Remedy(
    "In Windows: install the current NVIDIA driver, update WSL and start it anew",
    (
        Command("wsl.exe --update", needs_root=False),
        Command("wsl.exe --shutdown", needs_root=False, stops_containers=True, reboots=True),
    ),
)

WSL_CHECKS: tuple[Check, ...] = (
    Check(
        id="wsl.detect",
        title="WSL2",
        group=GROUP,
        layer="L1",
        severity=NOTE,
        evaluate=check_detect,
        reads="the running kernel's release",
        rule="info",
        source="WSL's kernel configuration",
    ),
    Check(
        id="wsl.dxg",
        title="/dev/dxg exists",
        group=GROUP,
        layer="L4",
        severity=CRITICAL,
        evaluate=check_dxg,
        reads="/dev/dxg",
        rule="fail when it is missing, unless nothing asks for an NVIDIA GPU",
        source=f"NVIDIA Container Toolkit, internal/dxcore; {GUIDE}; microsoft/WSL issues 9938, 11865",
        needs=("wsl.detect",),
        explains=("Failed to initialize NVML: GPU access blocked by the operating system",),
        remedy=_WINDOWS,
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="wsl.driver-store",
        title="driver store is complete",
        group=GROUP,
        layer="L5",
        severity=CRITICAL,
        evaluate=check_driver_store,
        reads="/usr/lib/wsl/lib and NVIDIA's folders below /usr/lib/wsl/drivers",
        rule="fail when a core file is missing; of several stores the one with libcuda.so.1.1 counts",
        source="NVIDIA Container Toolkit, pkg/nvcdi/driver-wsl.go",
        needs=("wsl.detect", "wsl.dxg"),
        explains=("libcuda.so.1: cannot open shared object file",),
        remedy=_WINDOWS,
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="wsl.linux-driver",
        title="no Linux driver is installed inside WSL",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_linux_driver,
        reads="packages of a driver, the first libcuda.so.1 in the loader's cache",
        rule="fail when programs get another libcuda than that of Windows, warn for packages",
        source=GUIDE,
        needs=("wsl.detect",),
        explains=("CUDA error 100 or 803 in WSL",),
        remedy=Remedy(
            "Remove the driver's packages and keep the toolkit's; NVIDIA's wsl-ubuntu repository has no driver in it",
            (
                Command("apt-get purge 'nvidia-driver-*' 'libnvidia-compute-*' cuda-drivers", only_on=APT),
                Command("dnf remove 'nvidia-driver*' 'kmod-nvidia*' cuda-drivers", only_on=(RED_HAT,)),
                Command("ldconfig"),
            ),
        ),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
)
