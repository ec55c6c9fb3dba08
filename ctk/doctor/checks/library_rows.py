"""The rows of the checks of user-space libraries; what they say is decided beside it."""

from ctk.doctor.checks.daemon_environment import check_daemon_environment
from ctk.doctor.checks.libraries import (
    check_core,
    check_ldcache,
    check_nvml_loadable,
    check_symlink_chain,
    reinstall,
)
from ctk.doctor.checks.library_versions import (
    check_capabilities,
    check_compat,
    check_multiple_folders,
    check_stubs,
    check_version_suffix,
)
from ctk.doctor.model import CRITICAL, DEBIAN, HIGH, INSTALL, MEDIUM, RED_HAT, TRIAGE, UBUNTU, Check, Command, Remedy

GROUP = "User-space libraries"
CACHE = "/etc/ld.so.cache"
NCT = "NVIDIA/nvidia-container-toolkit"

LIBRARY_CHECKS: tuple[Check, ...] = (
    Check(
        id="lib.ldcache",
        title="ld.so.cache exists and parses",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_ldcache,
        reads=f"{CACHE}, the loader and ldconfig",
        rule="fail when it is damaged, or missing on a glibc system with ldconfig; warn about driver libraries in "
        "it that are gone; skip where the loader keeps no cache",
        source="glibc, sysdeps/generic/dl-cache.h; ldconfig(8)",
        explains=(
            "nvidia-container-cli: detection error: open failed: /etc/ld.so.cache",
            "libraries of the driver are not found",
        ),
        remedy=Remedy("Have it written anew", (Command("ldconfig"),)),
        fix="safe",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="lib.core",
        title="libcuda.so.1 and libnvidia-ml.so.1 resolve",
        group=GROUP,
        layer="L5",
        severity=CRITICAL,
        evaluate=check_core,
        reads=f"{CACHE}, the usual library folders",
        rule="fail when the loader has no file for one of them, each cause in its own words: not installed, 32-bit "
        "only, not in the cache, a link that leads nowhere; a driver container's are judged by toolkit.root",
        source=f"ld.so(8); {NCT}#154",
        needs=("driver.installed", "lib.ldcache"),
        explains=(
            "libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            "libcuda.so.1: cannot open shared object file: No such file or directory",
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1",
        ),
        remedy=Remedy(
            "Install the package with the libraries of the module's version, and have the loader's cache written anew",
            (Command("ldconfig"),),
        ),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="lib.symlink-chain",
        title="link chain from soname to versioned file is intact",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_symlink_chain,
        reads="links and files libcuda.so* and libnvidia-ml.so* in the library folders",
        rule="fail for a link that leads nowhere or in a circle; warn about a copy in a link's place, or a file that "
        "has no version in its name; tell when libcuda.so is missing",
        source=f"ldconfig(8); {NCT}, changelog 1.13.1",
        needs=("lib.core",),
        explains=("file too short", "a version mismatch that comes back after a restart"),
        remedy=Remedy(
            "Have the links made anew; if that does not help, reinstall the driver's libraries", (Command("ldconfig"),)
        ),
        fix="safe",
    ),
    Check(
        id="lib.version-suffix",
        title="all driver libraries carry one version",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_version_suffix,
        reads="files lib*.so.<driver version> in the library folders, the loaded module's version",
        rule="fail when a library that some capability needs is there in another version only; warn about left-overs",
        source=f"NVIDIA/libnvidia-container, src/nvc_info.c; {NCT}, pkg/nvcdi",
        needs=("lib.core", "driver.version-mismatch"),
        explains=("libnvidia-encode.so.1: cannot open shared object file in a container",),
        remedy=Remedy("Install the missing packages in the module's version, and remove those of the other one"),
        fix="manual",
    ),
    Check(
        id="lib.multiple-dirs",
        title="one directory provides the driver",
        group=GROUP,
        layer="L5",
        severity=MEDIUM,
        evaluate=check_multiple_folders,
        reads=f"the order of {CACHE}",
        rule="warn about several copies of libcuda.so.1 or libnvidia-ml.so.1; fail when the first is not of the loaded "
        "module's version",
        source="ld.so(8)",
        needs=("lib.core", "driver.version-mismatch"),
        explains=("a version mismatch in some programs only",),
        remedy=Remedy(
            "Remove the file below /etc/ld.so.conf.d that adds the wrong folder, and have the cache written anew",
            (Command("grep -rn . /etc/ld.so.conf.d", needs_root=False), Command("ldconfig")),
        ),
        fix="manual",
    ),
    Check(
        id="lib.stubs-on-path",
        title="CUDA stub libraries are not on the search path",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_stubs,
        reads=f"{CACHE}, /etc/ld.so.conf and what it includes, the caller's LD_LIBRARY_PATH",
        rule="fail when a stub comes first for libcuda.so.1 or libnvidia-ml.so.1; warn when its folder is searched",
        source="CUDA C++ Programming Guide; CUDA runtime API, cudaErrorStubLibrary (34)",
        explains=("CUDA driver is a stub library", "CUDA error 34"),
        remedy=Remedy(
            "Take the folder of stubs out of the loader's configuration, and have the cache written anew",
            (Command("ldconfig"),),
        ),
        fix="safe",
    ),
    Check(
        id="lib.compat-on-host-path",
        title="cuda-compat is not active on a host that must not use it",
        group=GROUP,
        layer="L5",
        severity=HIGH,
        evaluate=check_compat,
        reads=f"{CACHE}, the caller's LD_LIBRARY_PATH, /usr/local/cuda*/compat, the GPUs' names",
        rule="fail when its libcuda.so.1 comes first and the GPU does not support it, or it is not newer than the "
        "driver; tell it otherwise",
        source="CUDA Compatibility guide, forward compatibility",
        needs=("lib.core",),
        explains=("CUDA error 804: forward compatibility was attempted on non supported HW", "CUDA error 803"),
        remedy=Remedy(
            "Take the folder out of the loader's configuration, and have the cache written anew", (Command("ldconfig"),)
        ),
        fix="safe",
    ),
    Check(
        id="lib.capability-complete",
        title="libraries for each driver capability exist on the host",
        group=GROUP,
        layer="L5",
        severity=MEDIUM,
        evaluate=check_capabilities,
        reads="files lib*.so.<driver version> in the library folders; the table of capabilities",
        rule="tell for which of utility, compute, video, graphics and ngx a library is not installed",
        source="NVIDIA/libnvidia-container, src/nvc_info.c",
        needs=("lib.core",),
        explains=(
            "NVENC is not available in a container",
            "libnvcuvid.so.1: cannot open shared object file",
            "Vulkan or OptiX finds no device",
        ),
        remedy=Remedy(
            "Install the packages of the capabilities that containers ask for, in the driver's version",
            (
                Command(
                    "apt-get install libnvidia-encode-<BRANCH>-server libnvidia-decode-<BRANCH>-server # video",
                    only_on=(UBUNTU,),
                ),
                Command("apt-get install libnvidia-gl-<BRANCH>-server # graphics", only_on=(UBUNTU,)),
                Command("apt-get install libnvcuvid1 libnvidia-encode1 nvidia-driver-libs", only_on=(DEBIAN,)),
                Command("dnf install nvidia-driver-libs", only_on=(RED_HAT,)),
            ),
        ),
        fix="manual",
    ),
    Check(
        id="lib.nvml-loadable",
        title="NVML can be loaded",
        group=GROUP,
        layer="L5",
        severity=CRITICAL,
        evaluate=check_nvml_loadable,
        reads="what the loader said when a child loaded libnvidia-ml.so.1",
        rule="fail when it could not be loaded, or lacks nvmlInit; what it answered is judged by nvml.init",
        source="NVML API reference, nvmlReturn_t",
        needs=("lib.core", "driver.module-loaded", "driver.version-mismatch"),
        explains=("every program that uses NVML fails",),
        remedy=Remedy("Read what the loader says, and install the driver's libraries anew", reinstall()),
    ),
    Check(
        id="lib.daemon-environment",
        title="engine daemons do not run with harmful environment",
        group=GROUP,
        layer="L5",
        severity=MEDIUM,
        evaluate=check_daemon_environment,
        reads="the names of variables in /proc/<pid>/environ of the system's engines",
        rule="warn about LD_LIBRARY_PATH, LD_PRELOAD, CUDA_VISIBLE_DEVICES, XDG_CONFIG_HOME and NVIDIA_*; values are "
        "neither kept nor shown",
        source=f"{NCT}, internal/config; ld.so(8)",
        explains=("containers get other libraries or devices than on the next node", "config.toml has no effect"),
        remedy=Remedy("Take the variable out of the engine's unit, by a drop-in; then start the engine anew"),
        fix="guarded",
    ),
)
