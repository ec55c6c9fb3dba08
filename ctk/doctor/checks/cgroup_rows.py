"""The rows of the checks of control groups; what they evaluate is beside them."""

from ctk.doctor.checks.cgroups import (
    GROUP,
    check_device_programs,
    check_driver_agreement,
    check_mode,
    check_reload_happened,
    check_reload_risk,
)
from ctk.doctor.model import APT, CRITICAL, HIGH, INSTALL, NOTE, RED_HAT, SUSE, TRIAGE, Check, Command, Remedy

LINKS = Command("nvidia-ctk system create-dev-char-symlinks --create-all")
SPEC = Command("ctk cdi generate --output=/etc/cdi/nvidia.yaml")
CDI_MODE = Command("ctk config set nvidia-container-runtime.mode=cdi")

CGROUP_CHECKS: tuple[Check, ...] = (
    Check(
        id="cgroup.mode",
        title="v1, v2 or hybrid",
        group=GROUP,
        layer="L10",
        severity=NOTE,
        evaluate=check_mode,
        reads="the hierarchies below /sys/fs/cgroup and their controllers",
        rule="tells it",
        source="cgroups(7)",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="cgroup.v2-bpf",
        title="BPF device programs can be attached and queried",
        group=GROUP,
        layer="L10",
        severity=HIGH,
        evaluate=check_device_programs,
        reads="the kernel's answer to BPF_PROG_QUERY, its option CGROUP_BPF, the version of libnvidia-container",
        rule="on version 2, fail when the kernel has no such programs, or the library is older than 1.8; in a user "
        "namespace, judge the settings no-cgroups and load-kmods instead",
        source="linux/bpf.h; libnvidia-container, changelog 1.8.0; NVIDIA/nvidia-docker 1660",
        needs=("cgroup.mode", "host.kernel-config"),
        explains=(
            "bpf_prog_query(BPF_CGROUP_DEVICE) failed: invalid argument",
            "cgroup subsystem devices not found",
        ),
        remedy=Remedy(
            "Use a kernel of the distribution, and a current toolkit",
            (
                Command("apt-get install nvidia-container-toolkit libnvidia-container1", only_on=APT),
                Command("dnf upgrade nvidia-container-toolkit libnvidia-container1", only_on=(RED_HAT,)),
                Command("zypper update nvidia-container-toolkit libnvidia-container1", only_on=(SUSE,)),
            ),
        ),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="cgroup.driver-agreement",
        title="kubelet and engine use the same cgroup driver",
        group=GROUP,
        layer="L10",
        severity=CRITICAL,
        evaluate=check_driver_agreement,
        reads="cgroupDriver of the kubelet; Docker's CgroupDriver, containerd's SystemdCgroup, CRI-O's cgroup_manager",
        rule="fail when they differ; warn about cgroupfs on version 2 with systemd",
        source="kubernetes.io, container runtimes, cgroup drivers",
        needs=("cgroup.mode", "runtime.containerd.systemd-cgroup"),
        explains=('kubelet cgroup driver: "systemd" is different from docker cgroup driver: "cgroupfs"',),
        remedy=Remedy(
            "Set both to systemd (Docker: exec-opts native.cgroupdriver=systemd; containerd: SystemdCgroup = true for "
            "every runtime; CRI-O: cgroup_manager); drain the node, then restart the engine and after it the kubelet",
            (Command("systemctl restart kubelet", restarts=("kubelet",)),),
        ),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="cgroup.daemon-reload-risk",
        title="running GPU containers survive `systemctl daemon-reload`",
        group=GROUP,
        layer="L10",
        severity=HIGH,
        evaluate=check_reload_risk,
        reads="links below /dev/char, the toolkit's mode, how Docker serves --gpus, containers' scopes, GPU processes",
        rule="warn, with the containers, when devices come by the hook and links are missing",
        source="NVIDIA's container toolkit, troubleshooting; opencontainers/runc, CHANGELOG 1.1.7",
        needs=("cgroup.mode", "toolkit.mode", "device.char-symlinks"),
        explains=("hours later, in a running container: Failed to initialize NVML: Unknown Error",),
        remedy=Remedy(
            "Make the links; let devices come by CDI; then start those containers anew",
            (LINKS, SPEC, CDI_MODE),
        ),
        fix="safe",
    ),
    Check(
        id="cgroup.reload-happened",
        title="a reload after container start explains lost GPUs",
        group=GROUP,
        layer="L10",
        severity=HIGH,
        evaluate=check_reload_happened,
        reads="systemd's reloads in the journal, when the containers at risk were started",
        rule="fail when a reload is later than the start of one",
        source="systemd[1]: Reload requested from client PID …",
        needs=("cgroup.daemon-reload-risk", "collect.kernel-log"),
        explains=("Failed to initialize NVML: Unknown Error, since a known minute",),
        remedy=Remedy(
            "Make the links, let devices come by CDI, and start those containers anew: they do not recover otherwise",
            (LINKS, SPEC, CDI_MODE),
        ),
        fix="guarded",
    ),
)
