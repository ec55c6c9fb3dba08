"""What state the host is in: stuck processes, kernel faults, full disks, SELinux, two installations of the driver."""

import re
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import no_gpu_here, nothing_to_judge
from ctk.doctor.checks.log_lines import find_log, none_seen, quote
from ctk.doctor.model import (
    CRITICAL,
    DEBIAN,
    HIGH,
    INSTALL,
    RED_HAT,
    TRIAGE,
    UBUNTU,
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
    from ctk.facts.conditions import Conditions, FileSystem
    from ctk.facts.snapshot import Snapshot

GROUP = "Host and kernel"
TROUBLE = (
    ("Oops: ", "the kernel made a fault"),
    (" soft lockup - ", "a processor was stuck"),
    ("blocked for more than", "a task was blocked"),
    ("Hardware Error]", "the processor reported a hardware error"),
    ("Remounting filesystem read-only", "a file system was closed for writing"),
    ("Out of memory: ", "the machine ran out of memory"),
)
OUR_TASKS = re.compile(r"\b(nvidia|nv_|nv-|dockerd|containerd|crio)")
FULL, NEARLY_FULL = 0.995, 0.90
SPEC_PLACES = ("/run", "/var", "/")


def check_kernel_trouble(snapshot: "Snapshot") -> Outcome:
    """Anything at all is a risk; what names the driver or an engine explains a GPU that does not work."""
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    lines = [(line, meaning) for line in log.lines for words, meaning in TROUBLE if words in line.text]
    if not lines:
        return passed(none_seen(log, "the kernel logged no fault of its own"))
    ours = [(line, meaning) for line, meaning in lines if OUR_TASKS.search(line.text)]
    evidence = [quote(line, log) for line, _ in (ours or lines)[:3]]
    if ours:
        return failed(f"{ours[0][1]}, and it concerns the driver or an engine", *evidence)
    return warned(f"{lines[0][1]} since boot", *evidence)


def check_dstate(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Seen twice in a tenth of a second is a suspicion; the kernel's own two minutes are proof."""
    conditions = _conditions(snapshot)
    if isinstance(conditions, Outcome):
        return conditions
    if isinstance(conditions.stuck, Unknown):
        return unseen(conditions.stuck)
    if not conditions.stuck:
        return passed("no process is stuck in the driver")
    log = find_log(snapshot)
    blocked = () if isinstance(log, Unknown) else log.matching("blocked for more than")
    outcomes = []
    for process in conditions.stuck:
        where = f" in {process.wait_channel}" if process.wait_channel else ""
        evidence = Evidence(f"{process.name} sleeps uninterruptibly{where}", f"/proc/{process.pid}/stat")
        proof = [line for line in blocked if f":{process.pid} " in line.text]
        message = f"process {process.pid} ({process.name}) is stuck in the driver"
        if proof and not isinstance(log, Unknown):
            outcomes.append(failed(message, evidence, quote(proof[0], log)))
        else:
            outcomes.append(warned(f"{message}, or waits for it right now", evidence))
    return outcomes[0] if len(outcomes) == 1 else _worst(outcomes)


def _worst(outcomes: list[Outcome]) -> Outcome:
    """One sentence for all: they are stuck in the same place."""
    worst = next((outcome for outcome in outcomes if outcome.status == "fail"), outcomes[0])
    return worst._replace(message=f"{worst.message}, and {len(outcomes) - 1} more")


def check_disk_space(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """CDI specs, logs and images lie on them."""
    conditions = _conditions(snapshot)
    if isinstance(conditions, Outcome):
        return conditions
    systems = conditions.file_systems
    if isinstance(systems, Unknown):
        return unseen(systems)
    outcomes = [outcome for system in systems if (outcome := _judge_file_system(system)) is not None]
    return tuple(outcomes) or passed("the file systems that matter have room")


def _judge_file_system(system: "FileSystem") -> Outcome | None:
    used = max(_share(system.size_bytes, system.free_bytes), _share(system.inodes, system.free_inodes))
    evidence = Evidence(f"{used:.0%} used", system.path)
    if system.read_only and system.path in ("/run", "/var"):
        return failed(f"{system.path} is read-only", Evidence("read-only", system.path), subject=system.path)
    if system.read_only:  # image-based systems are so on purpose
        return None
    if used >= FULL and system.path in SPEC_PLACES:
        return failed(f"{system.path} is full", evidence, subject=system.path)
    if used >= NEARLY_FULL:
        return warned(f"{system.path} is {used:.0%} full", evidence, subject=system.path)
    return None


def _share(total: int, free: int) -> float:
    return 1 - free / total if total > 0 else 0.0


def check_selinux(snapshot: "Snapshot") -> Outcome:
    """Denials are proof; without one, a closed switch is a risk for engines that label their containers."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    conditions = _conditions(snapshot)
    if isinstance(conditions, Outcome):
        return conditions
    mode = conditions.selinux
    if isinstance(mode, Unknown):
        return unseen(mode)
    if mode is None:
        return skipped("SELinux is off")
    if isinstance(conditions.denials, tuple):
        denied = [line for line in conditions.denials if "container_t" in line]
        if denied and mode == "enforcing":
            source = "/var/log/audit/audit.log"
            return failed("SELinux denied a container access to the GPU", Evidence(denied[-1][:160], source))
    if mode == "permissive":
        return noted("SELinux is permissive: it would tell, not forbid", Evidence("0", "/sys/fs/selinux/enforce"))
    if conditions.selinux_devices is False and _has_labelling_engine(snapshot):
        return warned(
            "SELinux enforces, and container_use_devices is off: labelled containers get no GPU",
            Evidence("0", "/sys/fs/selinux/booleans/container_use_devices"),
            *_label(conditions),
        )
    if isinstance(conditions.denials, Unknown):
        return unseen(conditions.denials)
    return passed("SELinux denied no container the GPU")


def _label(conditions: "Conditions") -> tuple[Evidence, ...]:
    label = conditions.device_label
    return (Evidence(label, "label of /dev/nvidiactl"),) if isinstance(label, str) else ()


def _has_labelling_engine(snapshot: "Snapshot") -> bool:
    """Podman and CRI-O label containers by themselves where SELinux is on; Docker and containerd only when told to."""
    engines = snapshot.engines if isinstance(snapshot.engines, tuple) else ()
    return any(engine.engine in LABELLING_ENGINES for engine in engines)


def _conditions(snapshot: "Snapshot") -> "Conditions | Outcome":
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    return unseen(snapshot.conditions) if isinstance(snapshot.conditions, Unknown) else snapshot.conditions


def check_install_mix(snapshot: "Snapshot") -> Outcome:
    """NVIDIA's installer beside packages: the next update of either breaks the other."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    driver = snapshot.driver
    if isinstance(driver, Unknown):
        return unseen(driver)
    if isinstance(driver.traces, Unknown):
        return unseen(driver.traces)
    installer = next((trace for trace in driver.traces if trace.path == "/usr/bin/nvidia-uninstall"), None)
    if installer is None:
        return passed("NVIDIA's installer left no uninstaller here")
    if isinstance(driver.packages, Unknown):
        return unseen(driver.packages)
    here = Evidence("NVIDIA's installer", installer.path)
    if not driver.packages:
        return passed("the driver comes from NVIDIA's installer alone", here)
    package = driver.packages[0]
    there = Evidence(f"package {package.name} {package.version}", package.source)
    versions = _installed_versions(snapshot)
    message = f"the driver comes from NVIDIA's installer and from the package {package.name} {package.version}"
    if versions and any(version not in package.version for version in versions):
        return failed(f"{message}; versions {', '.join(versions)} are on disk", here, there)
    return warned(message, here, there)


def _installed_versions(snapshot: "Snapshot") -> tuple[str, ...]:
    driver = snapshot.driver
    if isinstance(driver, Unknown) or isinstance(driver.libraries, Unknown):
        return ()
    return tuple(dict.fromkeys(library.version for library in driver.libraries))


LABELLING_ENGINES = frozenset({"podman", "crio"})

HOST_STATE_CHECKS: tuple[Check, ...] = (
    Check(
        id="host.dstate-nvidia",
        title="no process is stuck in the driver",
        group=GROUP,
        layer="L1",
        severity=CRITICAL,
        evaluate=check_dstate,
        reads="state, wait channel and open files of processes in /proc, twice; the kernel log's blocked tasks",
        rule="fail when the kernel also says that the process has been blocked for minutes, else warn",
        source="leptonai/gpud; Linux, the hung task detector",
        explains=("nvidia-smi hangs", "a container cannot be killed", "the module's use count never drops"),
        remedy=Remedy(
            "Drain the node and start it anew; no signal ends such a process",
            (Command("systemctl reboot", stops_containers=True, reboots=True),),
        ),
        fix="disruptive",
    ),
    Check(
        id="host.kernel-trouble",
        title="no oops, hung task, soft lockup, machine check or OOM that explains GPU symptoms",
        group=GROUP,
        layer="L1",
        severity=HIGH,
        evaluate=check_kernel_trouble,
        reads="faults, blocked tasks, stuck processors, hardware errors and killed processes in the kernel log",
        rule="fail when one names the driver or an engine, else warn",
        source="kubernetes/node-problem-detector, kernel-monitor",
        needs=("collect.kernel-log",),
        explains=("a container ends with 137", "the node does not answer"),
        remedy=Remedy(
            "Keep the log, then start the machine anew; look at memory and hardware",
            (
                Command("journalctl -k -b > kernel.log"),
                Command("systemctl reboot", stops_containers=True, reboots=True),
            ),
        ),
    ),
    Check(
        id="host.disk-space",
        title="the file systems that hold specs, logs and images have space and are writable",
        group=GROUP,
        layer="L1",
        severity=HIGH,
        evaluate=check_disk_space,
        reads="statvfs of the folders with CDI specs, logs and images",
        rule="fail when /, /run or /var is full, or /run or /var read-only; warn from 90 % on",
        source="statvfs(3); kubernetes/node-problem-detector",
        explains=("no space left on device", "an empty CDI spec"),
        remedy=Remedy(
            "Make room: these say where the space is, without removing anything",
            (Command("df -h", needs_root=False), Command("docker system df"), Command("journalctl --disk-usage")),
        ),
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="host.selinux",
        title="SELinux lets confined containers use the GPU",
        group=GROUP,
        layer="L1",
        severity=HIGH,
        evaluate=check_selinux,
        reads="SELinux's mode, its switch container_use_devices, the audit log's newest denials, the engines",
        rule="fail on a denial between a container and NVIDIA's files; warn when the switch is off and Podman or CRI-O "
        "is here; tell permissive mode",
        source="container-selinux, container_use_devices; NVIDIA's container toolkit, troubleshooting",
        explains=("Failed to initialize NVML: Insufficient Permissions, only inside containers",),
        remedy=Remedy(
            "Let containers use devices, or switch labels off for one container (--security-opt label=disable), or "
            "load NVIDIA's policy module",
            (Command("setsebool -P container_use_devices 1"),),
        ),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="host.install-method-mix",
        title="driver comes from exactly one installation method",
        group=GROUP,
        layer="L1",
        severity=HIGH,
        evaluate=check_install_mix,
        reads="/usr/bin/nvidia-uninstall, the driver's packages as dpkg or rpm lists them, the libraries' versions",
        rule="fail when both are there and the versions on disk differ from the package's, else warn about both",
        source="NVIDIA's driver installation guide; nvidia-bug-report.sh",
        explains=("a version mismatch after each update",),
        remedy=Remedy(
            "Take the installer's driver away, then reinstall the packages",
            (
                Command("nvidia-uninstall", stops_containers=True),
                Command("apt-get install --reinstall nvidia-driver-<BRANCH>-server", only_on=(UBUNTU,)),
                Command("apt-get install --reinstall nvidia-driver", only_on=(DEBIAN,)),
                Command("dnf reinstall 'nvidia-driver*' 'kmod-nvidia*'", only_on=(RED_HAT,)),
            ),
        ),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
)
