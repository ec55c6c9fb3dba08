"""Who may open the device nodes, and whether container managers find them by their numbers; not whether they exist."""

import errno
import shlex
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import has_driver_container, loaded_version, version_tuple
from ctk.doctor.checks.device_nodes import CONTROL, MODESET, UVM, UVM_TOOLS, driver_and_nodes, gpu_paths, where
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.facts.device_nodes import CAPABILITY_FOLDER, DeviceNode, DeviceNodes, OpenAttempt
from ctk.facts.services import PERSISTENCE

if TYPE_CHECKING:
    from ctk.facts.driver import Driver
    from ctk.facts.snapshot import Snapshot

EVERYBODY = 0o666
SYSTEMD, CGROUPFS = "systemd", "cgroupfs"
BAD_RUNC = ((1, 1, 3), (1, 1, 7))
"""From the first to before the second, rules of devices whose path is missing are left out (runc 1.1.7, changelog)."""
OLD_SYSTEMD = 240
"""Before it systemd dropped the rule of a device whose /dev/char link is not there (systemd NEWS, 240)."""
LINKING_MODPROBE, LINKING_BRANCH = (525, 105, 17), (515, 105, 1)
"""The first nvidia-modprobe, and the first of an older branch, that makes the links together with the nodes; the
persistence daemon uses the same code (NVIDIA/nvidia-modprobe, the commits of these releases)."""
PARAMETERS = "/proc/driver/nvidia/params"
BLOCKED = Remedy(
    "Look at what stands between the caller and the device: its own control group, or a security module",
    (Command("cat /proc/self/cgroup", needs_root=False), Command("ausearch -m avc -ts recent | grep nvidia")),
)


def _shared_nodes(snapshot: "Snapshot", nodes: DeviceNodes) -> list[DeviceNode]:
    """The nodes whose mode the driver's parameters set: the GPUs', control, unified memory and modeset."""
    paths = [*(path for _, path in gpu_paths(snapshot)), CONTROL, UVM, UVM_TOOLS, MODESET]
    found = (nodes.find(path) for path in paths)
    return [node for node in found if node is not None and node.is_device and node.mode is not None]


def check_permissions(snapshot: "Snapshot") -> Outcome:
    """Root in a container passes every mode; a rootless engine, or a container's user, does not."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    shared = _shared_nodes(snapshot, nodes)
    if not shared:
        return skipped("there is no device node to look at")
    if isinstance(driver.parameters, Unknown):
        return unseen(driver.parameters)
    wanted = _wanted_mode(driver)
    narrower = [node for node in shared if wanted is not None and wanted & ~_mode(node) & EVERYBODY]
    if narrower:
        return _judge_narrower(nodes, narrower, wanted or 0)
    closed = [node for node in shared if _mode(node) & EVERYBODY != EVERYBODY]
    if closed:
        return _judge_closed(nodes, closed)
    return passed(f"{len(shared)} device nodes may be opened by every user")


def _mode(node: DeviceNode) -> int:
    return node.mode or 0


def _wanted_mode(driver: "Driver") -> int | None:
    """What the driver gives the nodes it makes; None where it was told to leave them alone."""
    if driver.find_parameter("ModifyDeviceFiles") == "0":
        return None
    value = driver.find_parameter("DeviceFileMode") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else None


def _describe(nodes: DeviceNodes, node: DeviceNode) -> Evidence:
    caller = "" if node.accessible is None else f", the caller {'may' if node.accessible else 'may not'} open it"
    return Evidence(f"mode {_mode(node):04o}, owner {node.uid}:{node.gid}{caller}", where(nodes, node.path))


def _judge_narrower(nodes: DeviceNodes, narrower: list[DeviceNode], wanted: int) -> Outcome:
    names = ", ".join(where(nodes, node.path) for node in narrower[:3]) + (" and others" if len(narrower) > 3 else "")
    paths = shlex.join(where(nodes, node.path) for node in narrower[:8])
    return failed(
        f"fewer users may open {names} than the driver was told, and it will set the mode back",
        *(_describe(nodes, node) for node in narrower[:4]),
        Evidence(f"DeviceFileMode: {wanted} ({wanted:04o})", PARAMETERS),
        remedy=Remedy(
            "Decide it in one place: set the mode back, or write it as an option of the module "
            "(options nvidia NVreg_DeviceFileMode=… in /etc/modprobe.d) and take the udev rule or script away that "
            "changes it",
            (Command(f"chmod {wanted:04o} {paths}"), Command("grep -rs nvidia /etc/udev/rules.d", needs_root=False)),
        ),
    )


def _judge_closed(nodes: DeviceNodes, closed: list[DeviceNode]) -> Outcome:
    first = closed[0]
    who = f"group {first.gid} and root" if _mode(first) & 0o060 == 0o060 else f"user {first.uid} and root"
    rootless = "" if first.accessible is None or first.accessible else ", and the caller is not among them"
    path = shlex.quote(where(nodes, first.path))
    return warned(
        f"only {who} may open {len(closed)} of the device nodes{rootless}: containers of other users fail",
        *(_describe(nodes, node) for node in closed[:4]),
        remedy=Remedy(
            "Give the container the group, or let every user in by an option of the module",
            (
                Command(f"docker run --group-add $(stat -c %g {path}) IMAGE # one container", needs_root=False),
                Command("podman run --group-add keep-groups IMAGE # rootless Podman", needs_root=False),
                Command("echo options nvidia NVreg_DeviceFileMode=0666 > /etc/modprobe.d/nvidia-mode.conf # all"),
            ),
        ),
    )


def check_open(snapshot: "Snapshot") -> Outcome:
    """What access(2) said, which opens nothing; with --probe the control node has been opened, too."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    nodes = known[1]
    if isinstance(nodes.attempts, Unknown):
        return unseen(nodes.attempts)
    if nodes.attempts:
        return _judge_attempt(nodes, nodes.attempts[0])
    control = nodes.find(CONTROL)
    if control is None or not control.is_device:
        return skipped(f"there is no {where(nodes, CONTROL)}")
    if control.accessible is None:
        return unseen(Unknown("only a running machine tells"))
    return _judge_access(nodes, control)


def _judge_access(nodes: DeviceNodes, control: DeviceNode) -> Outcome:
    evidence = _describe(nodes, control)
    if control.accessible:
        return passed(f"the caller may open {where(nodes, CONTROL)}", evidence)
    if _mode(control) & 0o006 == 0o006:
        message = f"every user may open {where(nodes, CONTROL)} by its mode, and the kernel still refuses the caller"
        return failed(message, evidence, remedy=BLOCKED)
    return noted(f"the caller may not open {where(nodes, CONTROL)}: its mode leaves him out", evidence)


def _judge_attempt(nodes: DeviceNodes, attempt: OpenAttempt) -> Outcome:
    evidence = Evidence(f"open: {attempt.text or 'done'} (errno {attempt.code})", where(nodes, attempt.path))
    if not attempt.code:
        return passed(f"{where(nodes, attempt.path)} can be opened", evidence)
    if attempt.code == errno.ENOENT:
        return skipped(f"there is no {where(nodes, attempt.path)}")
    node = nodes.find(attempt.path)
    if attempt.code == errno.EACCES and node is not None and _mode(node) & 0o006 != 0o006:
        return noted(f"the caller may not open {where(nodes, attempt.path)}: its mode leaves him out", evidence)
    cause, remedy = _explain(attempt.code)
    return failed(f"{where(nodes, attempt.path)} cannot be opened: {cause}", evidence, remedy=remedy)


def _explain(code: int) -> tuple[str, Remedy]:
    """The cause, by the errno of open(2)."""
    log = Remedy("Look at what the driver says", (Command("journalctl -k | grep NVRM | tail"),))
    if code in (errno.ENXIO, errno.ENODEV):
        text = "no driver stands behind its number"
        return text, Remedy("Make the node anew", (Command(f"rm {CONTROL}"), Command("nvidia-modprobe -c=255")))
    if code == errno.EIO:
        return "the driver could not set the device up", log
    if code == errno.EPERM:
        return "the device rules of the caller's control group forbid it", BLOCKED
    if code == errno.EACCES:
        return "a security module, or a mount with nodev, forbids it", BLOCKED
    return "the kernel gives another reason", log


def check_char_links(snapshot: "Snapshot") -> Outcome:
    """A systemd that reloads rewrites the device rules of containers, and finds the devices by these links alone."""
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    nodes = known[1]
    if isinstance(nodes.links, Unknown):
        return unseen(nodes.links)
    missing = _missing_links(snapshot, nodes)
    if not missing:
        return passed("every node has its link below /dev/char")
    evidence = tuple(
        Evidence(f"no link to {where(nodes, node.path)}", f"{nodes.root}/dev/char/{node.major}:{node.minor}")
        for node in missing
    )
    user = _systemd_user(snapshot)
    if isinstance(user, Unknown):
        return unseen(user)
    if user is None:
        return noted("links below /dev/char are missing; no engine here has systemd rule its groups", *evidence[:4])
    if _names_devices(snapshot):
        return noted("links below /dev/char are missing; containers get their devices by name here", *evidence[:4])
    shown = (*evidence[:6], user)
    message = f"{len(missing)} links below /dev/char are missing: containers lose their GPUs when systemd reloads"
    culprit = _dropping_program(snapshot)
    return failed(message, *shown, culprit) if culprit is not None else warned(message, *shown)


def _missing_links(snapshot: "Snapshot", nodes: DeviceNodes) -> list[DeviceNode]:
    """The nodes of the driver's whose number has no link that leads to their name."""
    links = {link.path: link.target.rpartition("/dev/")[2].removeprefix("../") for link in nodes.links or ()}  # type: ignore[union-attr] # the caller has looked
    caps = [node for node in nodes.below(CAPABILITY_FOLDER) if node.is_device]
    wanted = [*_shared_nodes(snapshot, nodes), *caps]
    return [node for node in wanted if links.get(f"/dev/char/{node.major}:{node.minor}") != node.path[len("/dev/") :]]


def _systemd_user(snapshot: "Snapshot") -> Evidence | None | Unknown:
    """An engine, or the kubelet, that has systemd rule the groups of its containers."""
    if isinstance(snapshot.engines, Unknown):
        return snapshot.engines
    for engine in snapshot.engines:
        daemon = engine.daemon.cgroup_driver if engine.daemon and not isinstance(engine.daemon, Unknown) else None
        files = engine.files if not isinstance(engine.files, Unknown) else None
        said = daemon or (files.cgroup_driver if files is not None else None)
        if files is not None and any(runtime.systemd_cgroup for runtime in files.runtimes):
            said = said or SYSTEMD
        if said == SYSTEMD or (said is None and engine.engine in BY_DEFAULT and _defaults_to_systemd(snapshot)):
            return Evidence(f"{engine.engine}: cgroup driver {said or 'systemd by default'}", engine.config_path)
    kubelet = snapshot.kubelet
    if kubelet is not None and not isinstance(kubelet, Unknown) and kubelet.cgroup_driver == SYSTEMD:
        return Evidence("kubelet: cgroup driver systemd", kubelet.endpoint_origin or "kubelet")
    return None


BY_DEFAULT = ("docker", "crio", "podman")
"""They take systemd where nobody says otherwise (Docker on version 2 of the control groups, dockerd(8))."""


def _defaults_to_systemd(snapshot: "Snapshot") -> bool:
    cgroups = snapshot.cgroups
    return snapshot.system.init == "systemd" and not isinstance(cgroups, Unknown) and cgroups.mode == "v2"


def _names_devices(snapshot: "Snapshot") -> bool:
    """The toolkit's runtime was told to work with CDI, which puts every device into the container's own rules."""
    setup = snapshot.toolkit_setup
    if isinstance(setup, Unknown) or isinstance(setup.config, Unknown):
        return False
    return setup.config.text("nvidia-container-runtime.mode") == "cdi"


def _dropping_program(snapshot: "Snapshot") -> Evidence | None:
    """A runc or a systemd that leaves out the rule of a device whose link is missing."""
    packages, cgroups = snapshot.packages, snapshot.cgroups
    runc = None if packages is None or isinstance(packages, Unknown) else packages.find("runc", "moby-runc")
    if runc is not None and BAD_RUNC[0] <= version_tuple(_upstream(runc.version))[:3] < BAD_RUNC[1]:
        return Evidence(f"runc {runc.version}", "the package")
    version = None if isinstance(cgroups, Unknown) else cgroups.systemd_version
    if isinstance(version, int) and version < OLD_SYSTEMD:
        return Evidence(f"systemd {version}", "systemd --version")
    return None


def _upstream(version: str) -> str:
    """A package's version without its epoch and what the distribution has added: 1:1.1.4+ds1-1 is 1.1.4."""
    text = version.rpartition(":")[2]
    length = next((index for index, letter in enumerate(text) if letter not in "0123456789."), len(text))
    return text[:length].strip(".")


def check_links_persistent(snapshot: "Snapshot") -> Outcome:
    """/dev is new at each boot: a link that somebody made by hand is gone then."""
    if has_driver_container(snapshot):
        return skipped("the GPU Operator makes the links each time it starts the driver")
    known = driver_and_nodes(snapshot)
    if isinstance(known, Outcome):
        return known
    driver, nodes = known
    user = _systemd_user(snapshot)
    if isinstance(nodes.rules, Unknown) or isinstance(user, Unknown):
        return unseen(user if isinstance(user, Unknown) else Unknown("the udev rules could not be read"))
    rule = next((rule for rule in nodes.rules if rule.makes_links), None)
    if rule is not None:
        return passed("a udev rule makes the links at boot", Evidence("udev rule", rule.path))
    loaded = loaded_version(snapshot)
    version = version_tuple(loaded) if isinstance(loaded, str) else LINKING_MODPROBE
    makes_links = version >= LINKING_MODPROBE or LINKING_BRANCH <= version < (516,)
    if isinstance(driver.modprobe_path, str) and makes_links:
        return passed("nvidia-modprobe makes the links with the nodes", Evidence("program", driver.modprobe_path))
    if isinstance(driver.modprobe_path, Unknown):
        return unseen(driver.modprobe_path)
    services = snapshot.services
    daemon = None if isinstance(services, Unknown) else services.find(PERSISTENCE)
    if daemon is not None and makes_links and (daemon.running is True or daemon.enabled is True):
        return passed("the persistence daemon makes the links with the nodes", Evidence("enabled", str(daemon.unit)))
    if isinstance(services, Unknown):
        return unseen(services)
    if user is None or _names_devices(snapshot):
        return skipped("no container here depends on the links")
    return warned(
        "nothing makes the links below /dev/char at boot: containers lose their GPUs again after a restart", user
    )
