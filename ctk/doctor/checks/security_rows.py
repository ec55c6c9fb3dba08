"""The rows of the checks of posture; it evaluates nothing.

Known weaknesses of a release are no fault that keeps a GPU from a container, so only --profile security asks for them;
what opens this very host is told by every run.
"""

from ctk.doctor.checks.security import (
    check_config_writable,
    check_envvar_unprivileged,
    check_ldconfig_from_container,
)
from ctk.doctor.checks.security_versions import (
    check_containerd_cve,
    check_docker_cve,
    check_driver_cve,
    check_toolkit_cve,
)
from ctk.doctor.model import CRITICAL, HIGH, MEDIUM, SECURITY, TRIAGE, Check, Command, Remedy

GROUP = "Security posture"

SECURITY_CHECKS = (
    Check(
        id="security.config-writable",
        title="only root may change what hooks and runtimes trust",
        group=GROUP,
        layer="L7",
        severity=CRITICAL,
        evaluate=check_config_writable,
        reads="mode and owner of the configuration of toolkit and engines, of CDI and hook folders, the programs "
        "they start, ldconfig and its files, NVIDIA's module options and udev rules, and of every folder above them",
        rule="fail when a group other than root's or everybody may change one, or it is not root's; sticky folders "
        "and Debian's group staff below /usr/local are excepted",
        source="ctk; Debian policy 9.1.2",
        explains=("any user of the host can become root",),
        remedy=Remedy("Let root alone change them"),
        fix="safe",
        profiles=(SECURITY, TRIAGE),
    ),
    Check(
        id="security.ldconfig-from-container",
        title="the host never runs a container's ldconfig",
        group=GROUP,
        layer="L7",
        severity=HIGH,
        evaluate=check_ldconfig_from_container,
        reads="features.allow-ldconfig-from-container, nvidia-container-cli.ldconfig, the toolkit's version",
        rule="fail when the switch is on, or the @ is missing and the toolkit does not refuse that",
        source="NVIDIA security bulletin 5599 (CVE-2024-0136, CVE-2024-0137)",
        needs=("toolkit.config-parse",),
        explains=("a container gets out of its box",),
        remedy=Remedy(
            "Run the host's own ldconfig",
            (
                Command("ctk config unset features.allow-ldconfig-from-container"),
                Command("ctk config set nvidia-container-cli.ldconfig=@/sbin/ldconfig"),
            ),
        ),
        fix="guarded",
        profiles=(SECURITY, TRIAGE),
    ),
    Check(
        id="security.envvar-unprivileged",
        title="a pod cannot take GPUs by an environment variable",
        group=GROUP,
        layer="L7",
        severity=MEDIUM,
        evaluate=check_envvar_unprivileged,
        reads="accept-nvidia-visible-devices-envvar-when-unprivileged, the kubelet, the engines' runtimes",
        rule="warn when it is true on a Kubernetes node whose engine has the toolkit's runtime; a note elsewhere",
        source="NVIDIA's container toolkit; NVIDIA's device plugin for Kubernetes",
        needs=("toolkit.config-parse",),
        explains=(
            "a pod without a request for GPUs sees all of them",
            "a privileged container sees every GPU whatever list it names: no setting changes that",
        ),
        remedy=Remedy(
            "Switch it off, and let the device plugin hand GPUs out by CDI or by volume mounts",
            (Command("ctk config set accept-nvidia-visible-devices-envvar-when-unprivileged=false"),),
        ),
        fix="guarded",
        profiles=(SECURITY, TRIAGE),
    ),
    Check(
        id="security.toolkit-cve",
        title="the toolkit has no known weakness",
        group=GROUP,
        layer="L7",
        severity=CRITICAL,
        evaluate=check_toolkit_cve,
        reads="the toolkit's version, its mode and switches",
        rule="fail when a high or critical one is open in this set-up; warn for others",
        source="NVIDIA security bulletins 5582, 5585, 5599, 5616, 5659, 5850",
        needs=("toolkit.installed",),
        explains=("a container gets out of its box",),
        remedy=Remedy(
            "Update the toolkit; for CVE-2025-23266 alone, leaving the hook out helps until then",
            (
                Command("apt-get install --only-upgrade nvidia-container-toolkit"),
                Command("ctk config set features.disable-cuda-compat-lib-hook=true"),
            ),
        ),
        fix="guarded",
        profiles=(SECURITY,),
    ),
    Check(
        id="security.driver-cve",
        title="the driver has what the bulletins of its branch mend",
        group=GROUP,
        layer="L3",
        severity=HIGH,
        evaluate=check_driver_cve,
        reads="the loaded driver's version",
        rule="fail below the last mended release of the branch; warn when the newest bulletin leaves the branch out",
        source="NVIDIA security bulletins 5551, 5630, 5747 (2026-01-28) and 5821 (2026-05-21)",
        needs=("driver.installed",),
        remedy=Remedy("Update the driver within its branch, or to one that is still mended"),
        fix="manual",
        profiles=(SECURITY,),
    ),
    Check(
        id="security.docker-cve",
        title="Docker has no known weakness",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_docker_cve,
        reads="the daemon's version, its package",
        rule="fail below the mended release; a note when a distribution's build may have the mend without the number",
        source="ClusterMAX, minimum versions",
        needs=("runtime.docker.version",),
        remedy=Remedy("Update Docker"),
        fix="manual",
        profiles=(SECURITY,),
    ),
    Check(
        id="security.containerd-cve",
        title="containerd has no known weakness",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_containerd_cve,
        reads="the version of every containerd, its package",
        rule="fail below the mended release of its branch; a note when a distribution's build may have the mend",
        source="Flatcar advisory 1943; moby pull request 53589",
        needs=("runtime.containerd.running",),
        remedy=Remedy("Update containerd"),
        fix="manual",
        profiles=(SECURITY,),
    ),
)
