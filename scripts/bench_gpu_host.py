"""Makes the GPU hosts that scripts/bench measures the doctor on: trees of files, with device nodes if allowed."""

from pathlib import Path

from bench_driver_files import (
    CONTROL_NODES,
    VERSION,
    can_make_nodes,
    link,
    make_control_nodes,
    make_libraries,
    make_node,
    write,
)

RELEASE = "6.1.0-21-amd64"
GPU_COUNT = 8
SYSFS = "sys/devices/pci0000:{bus:02x}/0000:{bus:02x}:00.0"
MODULES = (("nvidia_uvm", "-"), ("nvidia_drm", "-"), ("nvidia_modeset", "nvidia_drm,"), ("nvidia", "nvidia_uvm,"))
LARGE_LOG_BYTES = 200 * 1024 * 1024
FILES = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "etc/docker/daemon.json": '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}\n',
    "proc/1/comm": "systemd\n",
    "proc/1/mountinfo": "25 1 0:5 / /dev rw,nosuid - devtmpfs udev rw\n",
    "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz root=UUID=0 ro\n",
    "proc/devices": "Character devices:\n195 nvidia\n235 nvidia-caps\n508 nvidia-uvm\n\nBlock devices:\n",
    "proc/driver/nvidia/params": "ModifyDeviceFiles: 1\nDeviceFileMode: 438\nEnableGpuFirmware: 18\n",
    "proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {VERSION}  Release\n",
    "proc/stat": "btime 1714550400\n",
    "proc/sys/kernel/arch": "x86_64\n",
    "proc/sys/kernel/osrelease": f"{RELEASE}\n",
    "proc/version": f"Linux version {RELEASE} (gcc-12 (Debian 12.2.0-14) 12.2.0)\n",
    "sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
    "sys/module/module/parameters/sig_enforce": "N\n",
    "usr/lib/systemd/system/docker.service": "[Service]\nExecStart=/usr/bin/dockerd -H fd://\n",
    "etc/modprobe.d/nvidia.conf": "blacklist nouveau\n",
    f"lib/modules/{RELEASE}/modules.dep": "updates/dkms/nvidia.ko:\n",
}
PORT = {"vendor": "0x8086", "device": "0x352a", "class": "0x060400"}
GPU = {
    "vendor": "0x10de",
    "device": "0x2330",
    "class": "0x030200",
    "revision": "0xa1",
    "numa_node": "0",
    "power/control": "on",
    "power/runtime_status": "active",
    "resource": "0x00000000b4000000 0x00000000b4ffffff 0x0000000000140204",
}
LINK = {
    "current_link_width": "16",
    "max_link_width": "16",
    "current_link_speed": "32.0 GT/s PCIe",
    "max_link_speed": "32.0 GT/s PCIe",
    "power_state": "D0",
}


def make_gpu_host(folder: Path) -> None:
    """Eight GPUs behind ports of their own, the open modules, libraries, firmware, and Docker with the runtime."""
    for name, text in FILES.items():
        write(folder / name, text)
    programs = (
        "dockerd",
        "runc",
        "nvidia-container-runtime",
        "nvidia-container-runtime-hook",
        "nvidia-ctk",
        "nvidia-smi",
        "nvidia-modprobe",
    )
    for program in programs:
        write(folder / "usr/bin" / program, "#!/bin/sh\n", 0o4755 if program == "nvidia-modprobe" else 0o755)
    make_modules(folder)
    make_driver_files(folder)
    for number in range(GPU_COUNT):
        make_gpu(folder, number)
    if can_make_nodes():
        make_nodes(folder)
    write(folder / "var/log/kern.log", log_line(0, f"Linux version {RELEASE}") + log_line(6, "usb 1-1: new device"))


def make_nodes(folder: Path) -> None:
    """The nodes with their links by number, as a healthy host has them."""
    make_control_nodes(folder)
    for number in range(GPU_COUNT):
        make_node(folder / f"dev/nvidia{number}", 195, number)
        link(folder / f"dev/char/195:{number}", f"../nvidia{number}")
    for name, major, minor in CONTROL_NODES:
        link(folder / f"dev/char/{major}:{minor}", f"../{name}")


def make_modules(folder: Path) -> None:
    lines = []
    for name, users in MODULES:
        lines.append(f"{name} 1724416 2 {users} Live 0x0000000000000000 (OE)\n")
        write(folder / "sys/module" / name / "version", f"{VERSION}\n")
    write(folder / "proc/modules", "".join(lines))


def make_driver_files(folder: Path) -> None:
    make_libraries(folder)
    for name in ("gsp_ga10x.bin", "gsp_tu10x.bin"):
        write(folder / "lib/firmware/nvidia" / VERSION / name, "")


def make_gpu(folder: Path, number: int) -> None:
    bus = 0x1A + 0x10 * number
    port, address = f"0000:{bus:02x}:00.0", f"0000:{bus + 1:02x}:00.0"
    place = SYSFS.format(bus=bus)
    for name, text in {**PORT, **LINK}.items():
        write(folder / place / name, f"{text}\n")
    for name, text in {**GPU, **LINK}.items():
        write(folder / place / address / name, f"{text}\n")
    (folder / place / address / "config").write_bytes(bytes.fromhex("de10302306041000a1000203") + bytes(52))
    link(folder / place / address / "driver", "../../../../bus/pci/drivers/nvidia")
    link(folder / "sys/bus/pci/devices" / port, f"../../../../{place}")
    link(folder / "sys/bus/pci/devices" / address, f"../../../../{place}/{address}")
    text = f"Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t {number}\nGPU Firmware: \t {VERSION}\n"
    write(folder / "proc/driver/nvidia/gpus" / address / "information", text)


def log_line(seconds: float, text: str) -> str:
    return f"May  1 08:00:00 node kernel: [{seconds:12.6f}] {text}\n"


def make_large_log_host(folder: Path) -> None:
    """The same after a long time with much to say: 200 MiB of one boot, with a program's fault now and then."""
    make_gpu_host(folder)
    quiet = log_line(4242, "usb 1-1: new high-speed USB device number 5 using xhci_hcd, as so often before") * 2000
    fault = "NVRM: Xid (PCI:0000:1b:00): 43, pid=77, name=python3, channel 0x00000002"
    with (folder / "var/log/kern.log").open("a", encoding="utf-8") as file:
        for number in range(LARGE_LOG_BYTES // len(quiet) + 1):
            file.write(quiet + log_line(5000 + 60 * number, fault))
