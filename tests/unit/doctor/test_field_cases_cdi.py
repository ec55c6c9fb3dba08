"""Faults of CDI specs that people reported, by the number of the case, on whole hosts: what the doctor says of them."""

from pathlib import Path

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import FAIL, WARN, Finding
from ctk.doctor.report import Report, judge
from ctk.doctor.run import select_checks
from tests.memory_host import snapshot_in_memory

CHECKS = select_checks(ALL_CHECKS)


def report_of(name: str, folder: Path) -> Report:
    return judge(snapshot_in_memory(name, folder / "host"), CHECKS, ALL_CHECKS)


def finding(report: Report, identity: str) -> Finding:
    """The worst of a check."""
    found = [item for item in report.findings if item.check.id == identity]
    return min(found, key=lambda item: (item.status != FAIL, item.status != WARN))


def words(found: Finding) -> str:
    """All that is said of it."""
    texts = [value for item in found.outcome.evidence for value in item]
    commands = [command.text for command in found.remedy.commands] if found.remedy else []
    return "\n".join([found.outcome.message, *texts, *commands])


def test_f65_a_spec_of_the_old_driver_with_its_first_missing_path(tmp_path: Path) -> None:
    found = finding(report_of("cdi-driver-updated", tmp_path), "cdi.stale-driver")
    assert found.is_root
    for part in ("570.124.06", "580.95.05 is loaded", "libcuda.so.570.124.06 is not there", "/etc/cdi/nvidia.yaml"):
        assert part in words(found)
    assert words(found).endswith("ctk cdi generate --output=/etc/cdi/nvidia.yaml")


def test_f67_a_spec_without_libraries_was_made_where_none_were_found(tmp_path: Path) -> None:
    found = finding(report_of("cdi-without-libraries", tmp_path), "cdi.stale-driver")
    assert found.status == WARN
    assert "mounts no driver library" in words(found)


def test_f70_two_folders_are_a_warning_and_one_folder_is_a_conflict(tmp_path: Path) -> None:
    hidden = finding(report_of("cdi-static-hidden", tmp_path / "a"), "cdi.shadowed")
    assert hidden.status == WARN
    assert "/etc/cdi/nvidia.yaml has no effect" in words(hidden)
    assert "/var/run/cdi/nvidia.yaml is in a later folder" in words(hidden)
    clash = finding(report_of("cdi-conflict", tmp_path / "b"), "cdi.conflicts")
    assert clash.is_root
    assert "/etc/cdi/nvidia-gpu.yaml and /etc/cdi/nvidia.yaml both define nvidia.com/gpu=0" in words(clash)


def test_f72_a_version_that_does_not_have_the_fields(tmp_path: Path) -> None:
    found = finding(report_of("cdi-version-too-low", tmp_path), "cdi.version-declared")
    assert found.is_root
    assert "cdiVersion is 0.4.0, but the spec needs 0.5.0: it uses a device name that begins with a digit" in words(
        found
    )


def test_f74_a_spec_in_a_folder_that_the_engine_does_not_scan(tmp_path: Path) -> None:
    report = report_of("cdi-other-folder", tmp_path)
    found = finding(report, "cdi.spec-dirs")
    assert found.status == WARN
    assert "/run/cdi/nvidia.yaml is in no folder that podman (system) reads: /etc/cdi, /var/run/cdi" in words(found)
    assert "/run/cdi/nvidia.yaml is not used" in words(finding(report, "cdi.spec-present"))


def test_f75_both_sets_of_mig_instances(tmp_path: Path) -> None:
    found = finding(report_of("cdi-mig-changed", tmp_path), "cdi.stale-mig")
    assert found.is_root
    assert "missing: gpu0/mig/gi2/access (nvidia-cap21), gpu0/mig/gi2/ci0/access (nvidia-cap22)" in words(found)
    assert "stale: nvidia-cap30, nvidia-cap31" in words(found)


def test_f79_a_good_spec_of_the_last_boot_is_no_fault_of_its_own(tmp_path: Path) -> None:
    report = report_of("cdi-driver-not-loaded", tmp_path)
    assert [item.key for item in report.roots] == ["host.cmdline"]
    assert finding(report, "cdi.stale-driver").status == "skip"


def test_f81_a_hook_program_that_is_gone(tmp_path: Path) -> None:
    found = finding(report_of("cdi-hook-gone", tmp_path), "cdi.hook-binary")
    assert found.is_root
    for part in ("/usr/local/bin/nvidia-cdi-hook is not there", "containerEdits.hooks[0]", "/usr/bin/nvidia-cdi-hook"):
        assert part in words(found)


def test_f83_a_node_for_a_group_that_the_spec_does_not_hand_on(tmp_path: Path) -> None:
    found = finding(report_of("cdi-group-owned", tmp_path), "cdi.gids")
    assert found.status == WARN
    assert "/dev/dri/renderD128 is for group 44 (mode 0660), the spec does not say so" in words(found)
