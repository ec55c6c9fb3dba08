"""The checks of CRI-O, Podman, low-level runtimes, and engines together: one row for each status they can give."""

from typing import Any

import pytest

from ctk.doctor.checks.crio import CRIO_CHECKS
from ctk.doctor.checks.engines import ANY_CHECKS, PODMAN_CHECKS
from ctk.doctor.model import FAIL, PASS, SKIP
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiFolder
from ctk.facts.engines import OTHER_FOLDER, FileFault, UnreadRuntime
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit import ToolBinary
from tests.cdi_builders import make_cdi, make_cdi_file, make_folders
from tests.driver_builders import make_driver, make_modules
from tests.engine_builders import (
    AFTER,
    NO_SPEC,
    docker_host,
    make_cgroups,
    make_crio,
    make_docker,
    make_files,
    make_podman,
    make_runtime,
    no_runtimes,
    pod_host,
)
from tests.toolkit_builders import make_hook, make_toolkit_setup, no_tools
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

CHECKS = (*ANY_CHECKS, *CRIO_CHECKS, *PODMAN_CHECKS)
DENIED = Unknown("permission denied")
NOWHERE = Unknown("no processes in /proc")
BROKEN = FileFault("/etc/crio/crio.conf.d/99-nvidia.conf", "a table twice", 4, 1)
ASIDE = UnreadRuntime("nvidia", "/etc/crio/conf.d/99-nvidia.conf", OTHER_FOLDER)
NOTHING: dict[str, Any] = {
    "pci": Pci(),
    "driver": make_driver(version=None, libraries=(), firmware=(), traces=()),
    "modules": make_modules(loaded=(), files=()),
    "toolkit": no_tools(),
}
OWN_FOLDER = Cdi(make_folders(CdiFolder("/srv/cdi", "/srv/cdi")), (make_cdi_file(),))
HOOKS = make_toolkit_setup(hooks=(make_hook(),))


def crio(cdi: Cdi | Unknown | None = None, **changes: Any) -> Snapshot:
    return pod_host(make_crio(**changes), **({} if cdi is None else {"cdi": cdi}))


def entry(**changes: Any) -> Snapshot:
    return crio(files=make_files(make_runtime(**changes)))


def without(cdi: Cdi | Unknown = NO_SPEC, used_by: tuple[str, ...] = ("kubelet",), **changes: Any) -> Snapshot:
    """CRI-O has no runtime of NVIDIA's."""
    return pod_host(make_crio(files=no_runtimes(keys=()), used_by=used_by), cdi=cdi, **changes)


def podman(cdi: Cdi | Unknown = NO_SPEC, changes: Any = None, **others: Any) -> Snapshot:
    return docker_host(make_podman(**(changes or {})), cdi=cdi, **others)


def runc(version: object, systemd: object = 252, path: object = "/usr/bin/runc") -> Snapshot:
    tool = ToolBinary(name="runc", path=path, version=version)  # type: ignore[arg-type] # tests hand in any of its types
    return docker_host(cgroups=make_cgroups(runtimes=(tool,), systemd_version=systemd))


ROWS = [
    # -- any
    Row("runtime.any", "runs", docker_host(), "pass", "docker"),
    Row("runtime.any", "podman", podman(), "pass", "podman"),
    Row("runtime.any", "none", docker_host(engines=()), "fail", "no container engine"),
    Row("runtime.any", "others", docker_host(engines=(), other_engines=("/usr/bin/apptainer",)), "info", "apptainer"),
    Row("runtime.any", "others-hidden", docker_host(engines=(), other_engines=DENIED), "unknown"),
    Row("runtime.any", "nobody", docker_host(engines=(), toolkit=no_tools()), "skip", "nobody"),
    Row("runtime.any", "stopped", docker_host(make_docker(running=False)), "info", "none of it runs"),
    Row("runtime.any", "at-rest", docker_host(make_docker(running=False, enabled=False)), "warn", "none of it runs"),
    Row("runtime.any", "processes-hidden", docker_host(make_docker(running=NOWHERE)), "unknown"),
    Row("runtime.any", "hidden", docker_host(engines=DENIED), "unknown"),
    Row("runtime.any", "nothing-here", docker_host(engines=(), **NOTHING), "skip", "no NVIDIA GPU"),
    # -- CRI-O
    Row("runtime.crio.running", "runs", crio(), "pass"),
    Row("runtime.crio.running", "stopped", crio(running=False), "fail", "does not run", "crio"),
    Row("runtime.crio.running", "at-rest", crio(running=False, enabled=False), "info"),
    Row("runtime.crio.running", "hidden", crio(running=NOWHERE), "unknown"),
    Row("runtime.crio.running", "none", docker_host(), "skip"),
    Row("runtime.crio.config", "good", crio(), "pass"),
    Row("runtime.crio.config", "broken", crio(files=Unknown("x"), faults=(BROKEN,)), "fail", "a table twice"),
    Row("runtime.crio.config", "dangling", crio(files=make_files(dangling_default="kata")), "fail", "'kata'"),
    Row("runtime.crio.config", "gone", entry(fault="/x does not exist"), "fail", "/x does not exist", "crio"),
    Row(
        "runtime.crio.config",
        "monitor-gone",
        entry(monitor="/usr/bin/crio-conmon", monitor_fault="gone"),
        "fail",
        "monitor_path",
    ),
    Row("runtime.crio.config", "aside", crio(unread=(ASIDE,)), "warn", "/etc/crio/crio.conf.d only"),
    Row("runtime.crio.config", "missing", without(), "fail", "handler nvidia"),
    Row("runtime.crio.config", "cdi", without(make_cdi()), "info", "CDI serves"),
    Row("runtime.crio.config", "hook", without(toolkit_setup=HOOKS), "info", "hook file"),
    Row("runtime.crio.config", "hooks-hidden", without(toolkit_setup=DENIED), "unknown"),
    Row("runtime.crio.config", "cdi-hidden", without(DENIED), "unknown"),
    Row("runtime.crio.config", "no-pods", without(used_by=()), "pass", "none is needed"),
    Row("runtime.crio.config", "no-gpu", without(pci=Pci()), "pass"),
    Row("runtime.crio.config", "bus-hidden", without(pci=DENIED), "unknown"),
    Row("runtime.crio.config", "closed", crio(files=DENIED), "unknown"),
    Row("runtime.crio.restart-needed", "older", crio(), "pass"),
    Row(
        "runtime.crio.restart-needed",
        "newer",
        crio(files=make_files(changed_at=AFTER, runtime_changed_at=AFTER)),
        "warn",
        "reloaded",
    ),
    Row("runtime.crio.restart-needed", "other-file", crio(files=make_files(changed_at=AFTER)), "info"),
    Row("runtime.crio.restart-needed", "at-rest", crio(running=False), "skip"),
    Row("runtime.crio.restart-needed", "no-start", crio(running_since=None), "unknown"),
    # -- Podman
    Row("runtime.podman.version", "new", podman(), "pass"),
    Row("runtime.podman.version", "old", podman(make_cdi(), {"version": "3.4.4"}), "fail", "4.1"),
    Row("runtime.podman.version", "old-unused", podman(NO_SPEC, {"version": "3.4.4"}), "info", "4.1"),
    Row("runtime.podman.version", "not-run", podman(NO_SPEC, {"version": DENIED}), "unknown"),
    Row("runtime.podman.version", "none", docker_host(), "skip"),
    Row("runtime.podman.cdi", "found", podman(make_cdi()), "pass"),
    Row(
        "runtime.podman.cdi",
        "elsewhere",
        podman(OWN_FOLDER, {"files": no_runtimes(cdi_directories=("/srv/cdi",))}),
        "fail",
        "/srv/cdi only",
    ),
    Row("runtime.podman.cdi", "for-root", podman(make_cdi(make_cdi_file(mode=0o600))), "warn", "only root"),
    Row("runtime.podman.cdi", "no-spec", podman(), "skip", "no CDI spec"),
    Row("runtime.podman.cdi", "no-gpu", podman(make_cdi(), pci=Pci()), "skip", "no NVIDIA GPU"),
    Row("runtime.podman.cdi", "hidden", podman(DENIED), "unknown"),
    Row("runtime.podman.cdi", "closed", podman(make_cdi(), {"files": DENIED}), "unknown"),
    Row("runtime.podman.hooks", "none", podman(make_cdi()), "pass"),
    Row("runtime.podman.hooks", "both", podman(make_cdi(), toolkit_setup=HOOKS), "fail", "twice"),
    Row("runtime.podman.hooks", "alone", podman(toolkit_setup=HOOKS), "warn", "deprecated"),
    Row("runtime.podman.hooks", "hidden", podman(toolkit_setup=make_toolkit_setup(hooks=DENIED)), "unknown"),
    Row("runtime.podman.hooks", "specs-hidden", podman(DENIED, toolkit_setup=HOOKS), "unknown"),
    # -- runc
    Row("runtime.runc.version", "new", runc("1.2.5"), "pass", "1.2.5", "runc"),
    Row("runtime.runc.version", "skips-rules", runc("1.1.5+ds1"), "warn", "/dev/char"),
    Row("runtime.runc.version", "older", runc("1.1.2"), "pass"),
    Row("runtime.runc.version", "old-systemd", runc("1.1.12", 239), "warn", "systemd 239"),
    Row("runtime.runc.version", "no-systemd", runc("1.1.12", None), "pass"),
    Row("runtime.runc.version", "not-run", runc(DENIED), "unknown"),
    Row("runtime.runc.version", "folder-hidden", runc(DENIED, path=DENIED), "unknown"),
    Row("runtime.runc.version", "none", runc(None, path=None), "skip"),
    Row("runtime.runc.version", "hidden", docker_host(cgroups=DENIED), "unknown"),
    Row("runtime.runc.version", "nothing-here", docker_host(**NOTHING), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in CHECKS}


def test_podman_has_no_name_of_its_own_because_there_is_one() -> None:
    """What explains a failure has another subject (a file, a folder's reader) or none."""
    (found,) = outcomes_of(CHECKS, "runtime.podman.cdi", podman(make_cdi()))
    assert found.subject == ""


def test_a_repaired_monitor_is_written_by_our_own_command() -> None:
    (found,) = outcomes_of(
        CHECKS, "runtime.crio.config", entry(monitor="/x", monitor_fault="/x does not exist; /y does")
    )
    assert found.status == FAIL
    assert "/y does" in found.message
    assert found.remedy is not None
    assert [command.text for command in found.remedy.commands] == [
        "ctk runtime configure --runtime=crio",
        "systemctl restart crio",
    ]


def test_healthy_crio_and_podman_are_healthy() -> None:
    for host in (crio(), podman(make_cdi())):
        found = [outcome for check in CHECKS for outcome in outcomes_of(CHECKS, check.id, host)]
        assert {outcome.status for outcome in found} <= {PASS, SKIP}
