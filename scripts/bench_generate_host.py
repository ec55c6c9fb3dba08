"""Makes the hosts that scripts/bench measures `cdi generate` on: a whole driver, GPUs, MIG devices, real device nodes.

Nodes take the right to make them: without it the rows are left out.
"""

from pathlib import Path

from bench_driver_files import VERSION, link, make_control_nodes, make_libraries, make_node, write

FILES = (
    *(
        f"usr/bin/{name}"
        for name in ("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control")
    ),
    *("usr/share/glvnd/egl_vendor.d/10_nvidia.json", "etc/OpenCL/vendors/nvidia.icd"),
    *("usr/share/nvidia/nvoptix.bin", "etc/vulkan/icd.d/nvidia_icd.json", "run/nvidia-persistenced/socket"),
    *(f"lib/firmware/nvidia/{VERSION}/gsp_{name}.bin" for name in ("ga10x", "tu10x")),
)
MIG_DEVICES = 7


def make_generate_host(folder: Path) -> None:
    """Eight whole GPUs with DRM nodes."""
    make_driver(folder)
    for number in range(8):
        make_gpu(folder, number, drm=True)


def make_mig_host(folder: Path) -> None:
    """Sixteen GPUs with seven MIG devices each."""
    make_driver(folder)
    minors = []
    for number in range(16):
        make_gpu(folder, number, drm=False)
        for instance in range(MIG_DEVICES):
            minor = 1000 * number + 10 * instance
            place = folder / f"proc/driver/nvidia/capabilities/gpu{number}/mig/gi{instance}"
            write(place / "access", f"DeviceFileMinor: {minor}\n")
            write(place / "ci0/access", f"DeviceFileMinor: {minor + 1}\n")
            minors += [
                f"gpu{number}/gi{instance}/access {minor}\n",
                f"gpu{number}/gi{instance}/ci0/access {minor + 1}\n",
            ]
            for cap in (minor, minor + 1):
                make_node(folder / f"dev/nvidia-caps/nvidia-cap{cap}", 235, cap)
    write(folder / "proc/driver/nvidia-caps/mig-minors", "".join(minors))


def make_driver(folder: Path) -> None:
    write(
        folder / "proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Release\n"
    )
    write(folder / "proc/sys/kernel/arch", "x86_64\n")
    make_libraries(folder)
    for name in FILES:
        write(folder / name, "", 0o755)
    make_control_nodes(folder)


def make_gpu(folder: Path, number: int, *, drm: bool) -> None:
    address = f"0000:{0x1B + number:02x}:00.0"
    text = f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-{number:08x}\nDevice Minor: \t {number}\n"
    write(folder / "proc/driver/nvidia/gpus" / address / "information", text)
    make_node(folder / f"dev/nvidia{number}", 195, number)
    for kind, minor in (("card", number), ("renderD", 128 + number)) if drm else ():
        write(folder / f"sys/bus/pci/devices/{address}/drm/{kind}{minor}/uevent", "")
        make_node(folder / f"dev/dri/{kind}{minor}", 226, minor)
        link(folder / f"dev/dri/by-path/pci-{address}-{kind.removesuffix('D')}", f"../{kind}{minor}")
