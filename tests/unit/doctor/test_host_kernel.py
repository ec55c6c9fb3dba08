"""The checks of the running kernel and of the driver's lines in its log: one row for each status they can give."""

from dataclasses import replace

import pytest

from ctk.doctor.checks.driver_log import DRIVER_LOG_CHECKS
from ctk.doctor.checks.host_kernel_rows import HOST_KERNEL_CHECKS
from ctk.doctor.model import APT, RED_HAT
from ctk.facts import Unknown
from ctk.facts.kernel import Kernel, KernelOption
from ctk.facts.kernel_log import KernelLog, LogEvent, LogLine
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system, make_tool
from tests.driver_builders import FIRST, SECOND, make_driver, make_kernel, make_library, make_modules
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

CHECKS = (*HOST_KERNEL_CHECKS, *DRIVER_LOG_CHECKS)
DENIED = Unknown("permission denied")
LXC = make_snapshot(system=make_system(container="lxc"))
LEGACY = (make_tool(name="nvidia-container-cli", path="/usr/bin/nvidia-container-cli"),)
CPU_ONLY = {"pci": Pci(), "modules": make_modules(loaded=(), files=()), "driver": make_driver(libraries=())}
STARTED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"
AFTER_BOOT = (make_library(modified_at="2024-05-02T06:12:44Z", version="570.144"),)


def kernel(**changes: object) -> Snapshot:
    return make_snapshot(kernel=make_kernel(**changes))


def release(text: object) -> Snapshot:
    return make_snapshot(system=make_system(kernel=text))


def without(name: str) -> tuple[KernelOption, ...]:
    options: Kernel = make_kernel()
    return tuple(option for option in options.options if option.name != name)


def log(*texts: str, events: tuple[LogEvent, ...] = (), reaches: bool = True) -> Snapshot:
    lines = tuple(LogLine(text, 1, float(at), float(at)) for at, text in enumerate(texts))
    return make_snapshot(kernel_log=KernelLog(source="/dev/kmsg", reaches_boot=reaches, lines=lines, events=events))


GSP_TIMED_OUT = log(
    events=(LogEvent(False, FIRST, 119, "", 3, 1.0, 9.0, "Timeout after 6s of waiting for RPC response"),)
)
ROWS = [
    Row("host.kernel-version", "new", make_snapshot(), "pass"),
    Row("host.kernel-version", "too-old", release("3.10.0-1160.el7.x86_64"), "fail", "older than 4.15"),
    Row("host.kernel-version", "old", release("4.18.0-553.el8_10.x86_64"), "info"),
    Row("host.kernel-version", "odd", release("custom"), "unknown"),
    Row("host.kernel-version", "closed", release(DENIED), "unknown"),
    Row("host.kernel-version", "no-gpu", make_snapshot(pci=Pci()), "skip"),
    Row("host.reboot-pending", "none", make_snapshot(), "pass"),
    Row("host.reboot-pending", "folder-gone", kernel(module_folders=("6.1.0-22-amd64",)), "fail", "are gone"),
    Row(
        "host.reboot-pending",
        "own-kernel-without-gpu",
        make_snapshot(kernel=make_kernel(module_folders=("6.1.0-22-amd64",)), pci=Pci()),
        "info",
    ),
    Row(
        "host.reboot-pending",
        "for-the-driver",
        kernel(reboot_required=True, reboot_packages=("libc6", "nvidia-driver-580")),
        "warn",
        "nvidia-driver-580",
    ),
    Row("host.reboot-pending", "for-another", kernel(reboot_required=True, reboot_packages=("libc6",)), "info"),
    Row("host.reboot-pending", "closed", kernel(reboot_required=DENIED), "unknown"),
    Row("host.reboot-pending", "kernel-closed", make_snapshot(kernel=DENIED), "unknown"),
    Row("host.reboot-pending", "lxc", LXC, "skip"),
    Row("host.driver-package-changed-since-boot", "older", make_snapshot(), "pass"),
    Row(
        "host.driver-package-changed-since-boot",
        "newer-and-different",
        make_snapshot(driver=make_driver(libraries=AFTER_BOOT)),
        "info",
        "updated to 570.144",
    ),
    Row(
        "host.driver-package-changed-since-boot",
        "first-installation",
        make_snapshot(driver=make_driver(libraries=(make_library(modified_at="2024-05-02T06:12:44Z"),))),
        "info",
    ),
    Row("host.driver-package-changed-since-boot", "no-boot-time", kernel(booted_at=None), "unknown"),
    Row("host.driver-package-changed-since-boot", "closed", make_snapshot(driver=DENIED), "unknown"),
    Row("host.driver-package-changed-since-boot", "no-gpu", make_snapshot(pci=Pci()), "skip"),
    Row("host.kernel-config", "complete", make_snapshot(), "pass"),
    Row("host.kernel-config", "no-overlay", kernel(options=without("OVERLAY_FS")), "fail", "OVERLAY_FS"),
    Row("host.kernel-config", "one-of-the-device-options", kernel(options=without("CGROUP_DEVICE")), "pass"),
    Row("host.kernel-config", "not-found", kernel(config_path=None), "unknown"),
    Row("host.kernel-config", "closed", kernel(config_path=DENIED), "unknown"),
    Row("host.kernel-config", "lxc", LXC, "skip"),
    Row("host.kernel-config", "cpu-only-micro-vm", make_snapshot(kernel=make_kernel(options=()), **CPU_ONLY), "skip"),
    Row("host.cmdline", "plain", make_snapshot(), "pass"),
    Row("host.cmdline", "denied", kernel(command_line=("module_blacklist=nouveau,nvidia",)), "fail", "denies"),
    Row("host.cmdline", "nouveau-denied", kernel(command_line=("module_blacklist=nouveau",)), "pass"),
    Row("host.cmdline", "no-msi", kernel(command_line=("pci=nomsi",)), "warn"),
    Row("host.cmdline", "iommu", kernel(command_line=("iommu=pt",)), "info", "iommu=pt"),
    Row("host.cmdline", "closed", kernel(command_line=DENIED), "unknown"),
    Row("host.cmdline", "lxc", LXC, "skip"),
    Row("host.hmm-kaslr", "quiet", log(), "pass"),
    Row(
        "host.hmm-kaslr",
        "no-room",
        log("nvidia-uvm: uvm_pmm_gpu.c:3419 devmem_alloc_pagemap[pid:1] request_free_mem_region() err -34"),
        "fail",
        "no address space",
    ),
    Row("host.hmm-kaslr", "no-uvm", make_snapshot(modules=make_modules(loaded=())), "skip"),
    Row("host.hmm-kaslr", "closed", make_snapshot(kernel_log=DENIED), "unknown"),
    Row("host.bpf-jit-harden", "off", make_snapshot(), "pass"),
    Row("host.bpf-jit-harden", "absent", kernel(bpf_jit_harden=None), "pass"),
    Row(
        "host.bpf-jit-harden",
        "on-with-cdi",
        make_snapshot(kernel=make_kernel(bpf_jit_harden=2), toolkit=(make_tool(),)),
        "info",
    ),
    Row(
        "host.bpf-jit-harden",
        "on-with-legacy",
        make_snapshot(kernel=make_kernel(bpf_jit_harden=2), toolkit=LEGACY),
        "warn",
    ),
    Row("host.bpf-jit-harden", "closed", kernel(bpf_jit_harden=DENIED), "unknown"),
    Row("host.bpf-jit-harden", "lxc", LXC, "skip"),
    Row("driver.load-errors", "quiet", log(STARTED), "pass"),
    Row("driver.load-errors", "failed", log(STARTED, "NVRM: No NVIDIA GPU found."), "fail", "found no GPU"),
    Row("driver.load-errors", "over", log("NVRM: No NVIDIA GPU found.", STARTED), "pass"),
    Row(
        "driver.load-errors", "symbol", log("nvidia_uvm: Unknown symbol nvUvmInterfaceX (err -2)"), "fail", "built for"
    ),
    Row("driver.load-errors", "foreign-symbol", log("other: Unknown symbol nvidia_x (err -2)"), "pass"),
    Row("driver.load-errors", "closed", make_snapshot(kernel_log=DENIED), "unknown"),
    Row("driver.load-errors", "no-gpu", make_snapshot(pci=Pci()), "skip"),
    Row(
        "driver.rm-init-failed",
        "one-of-two",
        log(STARTED, f"NVRM: GPU {SECOND}: RmInitAdapter failed! (0x62:0x40:2350)"),
        "fail",
        f"could not start GPU {SECOND}",
        SECOND,
    ),
    Row(
        "driver.rm-init-failed",
        "left-from-before",
        log(
            STARTED,
            f"NVRM: GPU {FIRST}: kgspBootstrap: WPR2 already up",
            f"NVRM: GPU {FIRST}: RmInitAdapter failed! (0x62:0x0:2000)",
        ),
        "fail",
        "reset or a power cycle",
        FIRST,
    ),
    Row("driver.rm-init-failed", "quiet", log(STARTED), "pass"),
    Row("driver.rm-init-failed", "wrapped", log(reaches=False), "pass", "part of"),
    Row("driver.rm-init-failed", "closed", make_snapshot(kernel_log=None), "unknown"),
    Row("driver.rm-init-failed", "no-gpu", make_snapshot(pci=Pci()), "skip"),
    Row(
        "driver.gsp-state",
        "timeout",
        replace(GSP_TIMED_OUT, nvml=None),
        "fail",
        "does not answer",
        FIRST,
    ),
    Row("driver.gsp-state", "reset-since", GSP_TIMED_OUT, "warn"),
    Row("driver.gsp-state", "quiet", log(), "pass"),
    Row("driver.gsp-state", "closed", make_snapshot(kernel_log=DENIED), "unknown"),
    Row("driver.gsp-state", "no-gpu", make_snapshot(pci=Pci()), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


@pytest.mark.parametrize(
    ("word", "grubby"),
    [
        ("pci=nomsi", "grubby --update-kernel=ALL --remove-args=pci=nomsi"),
        ("module_blacklist=nvidia", "grubby --update-kernel=ALL --remove-args=module_blacklist=nvidia"),
        (
            "module_blacklist=nouveau,nvidia",
            "grubby --update-kernel=ALL --remove-args=module_blacklist=nouveau,nvidia --args=module_blacklist=nouveau",
        ),
    ],
)
def test_a_word_is_taken_out_where_the_next_kernel_reads_it(word: str, grubby: str) -> None:
    (outcome,) = outcomes_of(CHECKS, "host.cmdline", kernel(command_line=(word,)))
    assert outcome.remedy is not None
    by_host = {item.only_on: item.text for item in outcome.remedy.commands}
    assert by_host[APT] == "update-grub"
    assert by_host[RED_HAT,] == grubby
    assert outcome.remedy.commands[-1].reboots
