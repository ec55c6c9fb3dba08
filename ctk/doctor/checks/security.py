"""Who could misuse what is set up here: files that others may change, switches that open the host; no CVE is here."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import is_debian_like
from ctk.doctor.checks.collector import SYSTEM_CONTAINERS
from ctk.doctor.checks.toolkit_applies import config_of, toolkit_runtimes, toolkit_version
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.toolkit.values import ALLOW_CONTAINER_LDCONFIG

if TYPE_CHECKING:
    from ctk.facts.rights import Place
    from ctk.facts.snapshot import Snapshot

LDCONFIG = "nvidia-container-cli.ldconfig"
ENVVAR = "accept-nvidia-visible-devices-envvar-when-unprivileged"
COMPAT_FROM_CONTAINER = "features.allow-cuda-compat-libs-from-container"
UNKNOWN_FIELDS = "features.allow-unknown-oci-spec-fields"
OTHERS_WRITE, GROUP_WRITES, STICKY = 0o002, 0o020, 0o1000
NOBODY = 65534
"""In an unprivileged system container: the host's own files, which nobody in there may change."""
DEBIAN_STAFF = 50
"""Debian's group staff may change /usr/local, and is trusted like root (Debian policy, 9.1.2)."""
MICROK8S = "/var/snap/microk8s/"
"""Its scripts give args/ to the group microk8s, which rules the cluster anyway (canonical/microk8s)."""


def check_config_writable(snapshot: "Snapshot") -> Outcome:
    """Whoever may change one of these files, or put another in its place, gets root's rights by it."""
    rights = snapshot.rights
    if isinstance(rights, Unknown):
        return unseen(rights)
    loose = [(place, why) for place in rights.places if (why := _why_loose(snapshot, place))]
    if loose:
        place, why = loose[0]
        more = f", and {len(loose) - 1} more" if len(loose) > 1 else ""
        used = f", on the way to {place.used_for}" if place.used_for != place.path else ""
        evidence = (Evidence(f"{one.mode:04o} {one.uid}:{one.gid}", one.path) for one, _ in loose)
        return failed(
            f"{place.path}{used} {why}{more}: root's hooks and runtimes trust it", *evidence, remedy=_tighten(loose)
        )
    if rights.hidden is not None:
        return unseen(rights.hidden)
    return passed(f"root alone may change the {len(rights.places)} files and folders that hooks and runtimes trust")


def _why_loose(snapshot: "Snapshot", place: "Place") -> str:
    if place.uid == NOBODY and snapshot.system.container in SYSTEM_CONTAINERS:
        return ""
    if place.uid != 0:
        return f"belongs to user {place.uid}"
    if place.is_directory and place.mode & STICKY:
        return ""
    if place.mode & OTHERS_WRITE:
        return f"can be changed by everybody (mode {place.mode:04o})"
    if place.mode & GROUP_WRITES and place.gid != 0 and not _is_admins(snapshot, place):
        return f"can be changed by the group {place.gid} (mode {place.mode:04o})"
    return ""


def _is_admins(snapshot: "Snapshot", place: "Place") -> bool:
    """A group that is trusted like root where it stands."""
    if place.path.startswith(MICROK8S):
        return True
    return place.gid == DEBIAN_STAFF and is_debian_like(snapshot) and place.path.startswith("/usr/local")


def _tighten(loose: "list[tuple[Place, str]]") -> Remedy:
    paths = " ".join(place.path for place, _ in loose)
    owned = " ".join(place.path for place, _ in loose if place.uid != 0)
    commands = (Command(f"chown root:root {owned}"),) if owned else ()
    return Remedy("Let root alone change them", (*commands, Command(f"chmod go-w {paths}")))


def check_ldconfig_from_container(snapshot: "Snapshot") -> Outcome:
    """A program of the image would run with the rights of the host."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    value = config.text(LDCONFIG)
    evidence = (
        Evidence(f"{ALLOW_CONTAINER_LDCONFIG} = {str(config.is_true(ALLOW_CONTAINER_LDCONFIG)).lower()}", config.path),
        Evidence(f"{LDCONFIG} = {value}", config.path),
    )
    if config.is_true(ALLOW_CONTAINER_LDCONFIG):
        return failed("a container's own ldconfig may be run with the host's rights", *evidence)
    if value.startswith("@") or not value:
        return passed("the host's own ldconfig is run", *evidence)
    from ctk.doctor.data.cves import REFUSED_SINCE

    version = toolkit_version(snapshot)
    if version is None:
        return noted("the ldconfig of the container is named; whether this toolkit refuses it is not known", *evidence)
    if version.numbers < REFUSED_SINCE:
        return failed(f"the toolkit {version.text} runs the container's own ldconfig with the host's rights", *evidence)
    return passed(f"the toolkit {version.text} refuses to run the container's own ldconfig", *evidence)


def check_envvar_unprivileged(snapshot: "Snapshot") -> Outcome:
    """An image that sets NVIDIA_VISIBLE_DEVICES takes GPUs past the device plugin."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    row = config.find(ENVVAR)
    if row is None or not isinstance(row.value, bool):
        return skipped(f"{ENVVAR} has no value that could be used")
    evidence = Evidence(f"{ENVVAR} = {str(row.value).lower()}", config.path)
    if row.value is False:
        return passed("unprivileged containers cannot take GPUs by an environment variable", evidence)
    kubelet = snapshot.kubelet
    if isinstance(kubelet, Unknown) or isinstance(snapshot.engines, Unknown):
        return unseen(kubelet if isinstance(kubelet, Unknown) else Unknown("the engines were not looked at"))
    runtimes = toolkit_runtimes(snapshot)
    if kubelet is None or not runtimes:
        return noted(
            "a container can take GPUs by an environment variable; on a host of one user that is meant", evidence
        )
    engine, runtime = runtimes[0]
    return warned(
        "this is a Kubernetes node, and any pod can take GPUs by NVIDIA_VISIBLE_DEVICES, past the device plugin",
        evidence,
        Evidence(f"runtime {runtime.name} of {engine.engine}", runtime.file or engine.config_path),
    )


def check_compat_from_container(snapshot: "Snapshot") -> Outcome:
    """Code of the image would stand in the place of the driver's libraries."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    if not config.is_true(COMPAT_FROM_CONTAINER):
        return passed("no library of an image is mounted over the host's")
    evidence = Evidence(f"{COMPAT_FROM_CONTAINER} = true", config.path)
    return warned("an image's CUDA compatibility libraries may be mounted over the host's", evidence)


def check_unknown_oci_fields(snapshot: "Snapshot") -> Outcome:
    """A field that the runtime drops may be one that shuts the container in."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    if not config.is_true(UNKNOWN_FIELDS):
        return passed("the switch that drops unknown fields is off")
    evidence = Evidence(f"{UNKNOWN_FIELDS} = true", config.path)
    return noted("fields of a container's configuration that the toolkit does not know are dropped", evidence)
