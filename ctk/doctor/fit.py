"""Fits remedies to the host they are for: its package manager, its GPU, its driver's branch; it finds no remedy."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctk.doctor.model import BRANCH, DEBIAN, FAIL, GPU, RED_HAT, SUSE, UBUNTU, WARN, Command, Finding, Remedy
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.system import System

KINDS = (
    (UBUNTU, ("ubuntu",)),
    (DEBIAN, ("debian",)),
    (RED_HAT, ("rhel", "fedora", "centos", "rocky", "almalinux", "ol", "amzn")),
    (SUSE, ("suse", "opensuse", "sles", "opensuse-leap", "opensuse-tumbleweed")),
)
"""By ID and ID_LIKE of os-release(5), the narrower before the wider: Ubuntu is like Debian."""
IMAGES = ("bottlerocket", "cos", "flatcar", "rhcos", "talos", "opensuse-microos", "sl-micro", "nixos", "photon-ostree")
IMAGE_WORDS = ("CoreOS", "Silverblue", "Kinoite", "Atomic", "MicroOS", "Ubuntu Core")
"""What the releases that are built as one image call themselves: by ID, and by words of their full name."""
MANAGERS = ("apt-get", "apt-mark", "dnf", "ubuntu-drivers", "zypper", "pacman", "dkms")
IMAGE_NOTE = "This system comes as one image: change the image, or have a driver container bring the driver."


def fit_remedies(findings: Iterable[Finding], snapshot: "Snapshot") -> tuple[Finding, ...]:
    """The same findings; what fails or warns has the commands of this host alone."""
    return tuple(_fit(finding, snapshot) if finding.status in (FAIL, WARN) else finding for finding in findings)


def _fit(finding: Finding, snapshot: "Snapshot") -> Finding:
    remedy = finding.remedy
    if remedy is None or not remedy.commands:
        return finding
    fitted = fit_remedy(remedy, snapshot, finding.outcome.subject)
    return finding if fitted == remedy else finding._replace(outcome=finding.outcome._replace(remedy=fitted))


def fit_remedy(remedy: Remedy, snapshot: "Snapshot", subject: str = "") -> Remedy:
    """Without the commands of other distributions; with the GPU's address and the branch where they are known."""
    system = snapshot.system
    if is_image(system):
        kept = tuple(command for command in remedy.commands if command.text.split()[0] not in MANAGERS)
        summary = remedy.summary if kept == remedy.commands else f"{remedy.summary}. {IMAGE_NOTE}"
        return remedy._replace(summary=summary, commands=tuple(_fill(command, snapshot, subject) for command in kept))
    kind = kind_of(system)
    kept = tuple(command for command in remedy.commands if not kind or not command.only_on or kind in command.only_on)
    return remedy._replace(
        commands=tuple(_fill(item._replace(only_on=()) if kind else item, snapshot, subject) for item in kept)
    )


def kind_of(system: "System") -> str:
    """Which kind of packages this host takes; "" where that is not known."""
    names = {str(system.distribution), *system.distribution_like}
    return next((kind for kind, ids in KINDS if names.intersection(ids)), "")


def is_image(system: "System") -> bool:
    """Its packages are not installed one by one, and the next image takes away what was."""
    name = system.distribution_name if isinstance(system.distribution_name, str) else ""
    return system.distribution in IMAGES or any(word in name for word in IMAGE_WORDS)


def _fill(command: Command, snapshot: "Snapshot", subject: str) -> Command:
    text = command.text.replace(GPU, subject or GPU)
    if BRANCH in text:
        text = text.replace(BRANCH, _branch(snapshot) or BRANCH)
    return command if text == command.text else command._replace(text=text)


def _branch(snapshot: "Snapshot") -> str:
    """Of the running driver, else of its libraries."""
    from ctk.doctor.checks.applies import loaded_version

    version = loaded_version(snapshot)
    if isinstance(version, str):
        return version.partition(".")[0]
    driver = snapshot.driver
    libraries = () if isinstance(driver, Unknown) or isinstance(driver.libraries, Unknown) else driver.libraries
    return libraries[0].version.partition(".")[0] if libraries else ""
