"""Faults that people reported, by the number of the case: kernel, driver, hardware log, NVML, fabric, SELinux.

Those of device nodes, libraries, toolkit, CDI, engines and platforms are beside the tests of their own checks.
"""

from pathlib import Path

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import FAIL, INFO, PASS, UNKNOWN, WARN, Finding
from ctk.doctor.report import Report, judge
from ctk.doctor.run import select_checks
from ctk.facts import Unknown
from ctk.facts.conditions import Conditions
from ctk.facts.kernel_log import KernelLog
from ctk.facts.services import PERSISTENCE
from ctk.facts.snapshot import Snapshot
from ctk.host.kernel_log import parse_ring
from tests.builders import make_engine, make_snapshot
from tests.driver_builders import (
    FIRST,
    make_conditions,
    make_driver,
    make_driver_gpu,
    make_function,
    make_kernel,
    make_library,
    make_loaded,
    make_module_file,
    make_modules,
    make_pci,
)
from tests.memory_host import snapshot_in_memory
from tests.nvml_builders import make_nvml, make_nvml_gpu, make_service, make_services

CHECKS = select_checks(ALL_CHECKS)


def judged(snapshot: Snapshot) -> Report:
    return judge(snapshot, CHECKS, ALL_CHECKS)


def of_host(name: str, folder: Path) -> Report:
    return judged(snapshot_in_memory(name, folder / "host"))


def finding(report: Report, identity: str, subject: str = "") -> Finding:
    return next(
        item
        for item in report.findings
        if item.check.id == identity and (not subject or item.outcome.subject == subject)
    )


def words(found: Finding) -> str:
    """All that is said of it."""
    remedy = found.remedy
    commands = [command.text for command in remedy.commands] if remedy else []
    texts = [value for item in found.outcome.evidence for value in item]
    return "\n".join([found.outcome.message, *texts, *((remedy.summary,) if remedy else ()), *commands])


def roots(report: Report) -> set[str]:
    return {item.key for item in report.roots}


def test_f98_versions_of_module_libraries_and_disk_and_whether_a_reload_will_do(tmp_path: Path) -> None:
    report = of_host("driver-updated", tmp_path)
    assert roots(report) == {"driver.version-mismatch"}
    text = words(finding(report, "driver.version-mismatch"))
    for part in ("loaded 580.95.05", "library 580.105.08", "module on disk 580.105.08", "reloaded", "apt-mark hold"):
        assert part in text
    assert finding(judged(make_snapshot()), "driver.version-mismatch").status == PASS


def test_f98_a_driver_that_is_held_needs_a_reboot() -> None:
    held = make_modules(loaded=(make_loaded("nvidia", use_count=5), make_loaded("nvidia_uvm", use_count=2)))
    newer = (make_library(version="580.105.08"), make_library("libcuda.so", version="580.105.08"))
    text = words(
        finding(judged(make_snapshot(modules=held, driver=make_driver(libraries=newer))), "driver.version-mismatch")
    )
    assert "systemctl reboot" in text


def test_f100_every_module_is_listed_with_its_version(tmp_path: Path) -> None:
    report = of_host("driver-modules-mixed", tmp_path)
    assert roots(report) == {"driver.modules-consistent"}
    message = finding(report, "driver.modules-consistent").outcome.message
    assert "nvidia_uvm 575.57.08" in message
    assert "nvidia_modeset 580.95.05" in message


def test_f101_firmware_by_expected_path_and_the_versions_that_are_there(tmp_path: Path) -> None:
    report = of_host("driver-firmware-gone", tmp_path)
    assert roots(report) == {"driver.gsp-firmware-files"}
    text = words(finding(report, "driver.gsp-firmware-files"))
    assert "/lib/firmware/nvidia/580.95.05" in text
    assert "570.153.02" in text


def test_f103_a_failed_build_is_told_from_missing_headers(tmp_path: Path) -> None:
    failed = of_host("dkms-build-failed", tmp_path / "failed")
    assert roots(failed) == {"host.dkms-status"}
    assert "build/make.log" in words(finding(failed, "host.dkms-status"))
    headless = of_host("dkms-no-headers", tmp_path / "headless")
    assert roots(headless) == {"host.kernel-headers"}


def test_f104_nouveau_with_the_driver_of_each_gpu(tmp_path: Path) -> None:
    report = of_host("nouveau-bound", tmp_path)
    assert roots(report) == {"host.nouveau-loaded[0000:3b:00.0]"}
    found = finding(report, "host.nouveau-loaded")
    assert found.outcome.evidence[0] == ("nouveau", "/sys/bus/pci/devices/0000:3b:00.0/driver")


def test_f106_secure_boot_names_the_signature_and_both_ways_out(tmp_path: Path) -> None:
    unsigned = words(finding(of_host("secure-boot-unsigned", tmp_path / "a"), "host.module-signature"))
    for part in ("Secure Boot is on", "not signed", "mokutil --import", "signed module packages"):
        assert part in unsigned
    unknown_key = finding(of_host("secure-boot-unknown-key", tmp_path / "b"), "host.module-signature")
    assert unknown_key.status == FAIL


def test_f106_variables_that_cannot_be_read_are_no_all_clear() -> None:
    kernel = make_kernel(secure_boot=Unknown("permission denied"), efi=True)
    snapshot = make_snapshot(
        kernel=kernel,
        modules=make_modules(loaded=(), files=(make_module_file(signed=False),)),
        pci=make_pci(make_function(FIRST, driver=None)),
    )
    report = judged(snapshot)
    assert finding(report, "host.secure-boot").status == UNKNOWN
    assert finding(report, "host.module-signature").status != PASS


def test_f107_the_flavour_the_address_and_what_the_gpu_needs(tmp_path: Path) -> None:
    report = of_host("open-modules-old-gpu", tmp_path)
    (root,) = report.roots
    assert root.check.id == "pci.gpu-supported"
    assert root.outcome.subject
    text = words(root)
    for part in (root.outcome.subject, "0x1", "needs the proprietary module"):
        assert part in text


def test_f109_one_gpu_of_several_waits_for_a_reset(tmp_path: Path) -> None:
    report = of_host("gsp-stuck", tmp_path)
    (root,) = report.roots
    assert root.key == "driver.rm-init-failed[0000:3b:00.0]"
    assert "reset or a power cycle" in root.outcome.message
    assert report.exit_code(strict=False) == 1


def test_f109_xid_119_is_the_same_fault_of_a_gpu_that_ran(tmp_path: Path) -> None:
    report = of_host("xid-119", tmp_path)
    assert roots(report) == {"driver.gsp-state[0000:3b:00.0]"}


def test_f110_with_a_number(tmp_path: Path) -> None:
    report = of_host("xid-79", tmp_path)
    assert roots(report) == {"pci.fell-off-bus[0000:3b:00.0]"}
    assert "hardware or power" in finding(report, "pci.fell-off-bus").outcome.message


def ring(*texts: str) -> KernelLog:
    """Records of one boot, as /dev/kmsg gives them."""
    return parse_ring(f"6,{number},{number * 1000},-;{text}\n".encode() for number, text in enumerate(texts))


def test_f110_without_a_number_over_three_records() -> None:
    log = ring(
        "Linux version 6.1.0-21-amd64",
        f"NVRM: The NVIDIA GPU {FIRST}",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    report = judged(make_snapshot(kernel_log=log))
    assert finding(report, "pci.fell-off-bus").key == f"pci.fell-off-bus[{FIRST}]"
    assert finding(report, "pci.fell-off-bus").status == FAIL


def test_f112_wide_and_short_addresses_are_one_gpu() -> None:
    """A virtual machine of Hyper-V: sysfs has 32 bits of domain, /proc/driver/nvidia the lower 16."""
    short = "cfdd:00:00.0"
    snapshot = make_snapshot(
        pci=make_pci(make_function(short, folder="/sys/bus/pci/devices/3f8cfdd:00:00.0")),
        driver=make_driver(gpus=(make_driver_gpu(short),)),
        nvml=make_nvml(make_nvml_gpu(short)),
    )
    report = judged(snapshot)
    wrong = [item.key for item in report.findings if item.status in (FAIL, WARN) and item.outcome.subject == short]
    assert wrong == []
    assert finding(report, "nvml.device-count").status == PASS
    assert finding(report, "driver.proc-gpu-count").status == PASS


@pytest.mark.parametrize(
    ("path", "setuid", "rules", "status"),
    [
        (None, False, (), WARN),
        ("/usr/bin/nvidia-modprobe", False, (), WARN),
        (None, False, ("/usr/lib/udev/rules.d/71-nvidia.rules",), PASS),
        ("/usr/bin/nvidia-modprobe", True, (), PASS),
    ],
)
def test_f115_nvidia_modprobe(path: str | None, setuid: bool, rules: tuple[str, ...], status: str) -> None:
    driver = make_driver(modprobe_path=path, modprobe_setuid=setuid, udev_rules=rules)
    found = finding(judged(make_snapshot(driver=driver)), "driver.nvidia-modprobe")
    assert found.status == status
    if status == WARN:
        assert "nvidia-modprobe" in found.outcome.message


def selinux(**changes: object) -> Finding:
    conditions: Conditions = make_conditions(**{"selinux": "enforcing", "selinux_devices": False, **changes})
    podman = make_engine(engine="podman", binary="/usr/bin/podman", unit=None, flags=(), running=None, pid=None)
    return finding(judged(make_snapshot(conditions=conditions, engines=(podman,))), "host.selinux")


def test_f134_an_enforcing_selinux_whose_switch_is_off_is_a_warning_with_the_ways_out() -> None:
    found = selinux(device_label="system_u:object_r:xserver_misc_device_t:s0")
    assert found.status == WARN
    for part in ("container_use_devices", "xserver_misc_device_t", "label=disable", "policy module", "setsebool -P"):
        assert part in words(found)
    assert selinux(selinux="permissive").status == INFO
    assert selinux(selinux_devices=True).status == PASS


def test_f135_a_stopped_fabric_manager_is_named_with_error_802(tmp_path: Path) -> None:
    report = of_host("fabric-manager-stopped", tmp_path)
    assert roots(report) == {"fabric.manager-running"}
    text = words(finding(report, "fabric.manager-running"))
    assert "802" in text
    assert "nvidia-fabricmanager" in text


def test_f137_a_fabric_manager_that_nobody_needs_does_no_harm(tmp_path: Path) -> None:
    report = of_host("fabric-manager-not-needed", tmp_path)
    assert finding(report, "fabric.manager-running").status == INFO
    assert "not needed" in finding(report, "fabric.manager-running").outcome.message
    assert report.exit_code(strict=True) == 0


def test_f138_mig_that_waits_for_a_reset(tmp_path: Path) -> None:
    report = of_host("mig-pending", tmp_path)
    (root,) = report.roots
    assert root.key == "nvml.mig-pending[0000:3b:00.0]"
    text = words(root)
    for part in ("current off, pending on", "reset", "virtual machine"):
        assert part in text


@pytest.mark.parametrize(
    ("running", "socket", "status", "text"),
    [
        (True, "/run/nvidia-persistenced/socket", PASS, "runs"),
        (True, "/var/run/nvidia-persistenced/socket", WARN, "/var/run/nvidia-persistenced/socket"),
        (True, None, PASS, "its socket was not found"),
        (False, None, WARN, "does not run"),
    ],
)
def test_f146_the_persistence_socket_by_its_path_and_never_as_a_failure(
    running: bool, socket: str | None, status: str, text: str
) -> None:
    service = make_service(
        PERSISTENCE, unit="nvidia-persistenced.service", binary="/usr/bin/nvidia-persistenced", running=running
    )
    services = make_services(service, persistence_socket=socket)
    found = finding(judged(make_snapshot(services=services)), "driver.persistence-daemon")
    assert found.status == status
    assert text in found.outcome.message


def test_f143_docker_in_an_lxc_container_is_told_two_settings_and_nothing_of_the_host(tmp_path: Path) -> None:
    report = of_host("lxc-cgroups", tmp_path)
    (found,) = report.with_status(WARN)
    assert report.roots == ()
    text = words(found)
    for part in ("no-cgroups=true", "load-kmods=false"):
        assert part in text
    for part in ("modprobe", "reboot"):
        assert part not in text


def test_f96_what_a_privileged_container_sees_is_explained() -> None:
    """No check of the host can know which containers will be privileged."""
    page = Path(__file__).parents[3] / "docs/how-to/find-out-why.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "A privileged container sees every GPU of the host, whatever list of devices it was given" in text
