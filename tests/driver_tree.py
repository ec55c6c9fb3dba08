"""A driver's files in a folder: libraries with SONAME and links, nodes as rows, GPUs as NVML answers for them."""

import os
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctk.cdi.generate import Generated, GenerateRequest, generate
from ctk.cdi.request import HookRequest
from ctk.facts.driver_root import DriverRoot
from ctk.host import Host
from ctk.host.driver_root import RootQuery, collect_driver_root
from ctk.host.root_gpus import FoundGpus, NvmlQuery, build_gpus
from tests.fake_host import FakeHost
from tests.ld_caches import make_ld_cache

VERSION = "550.54.15"
FOLDER = "/usr/lib/x86_64-linux-gnu"
X86_64 = 0x0303
SCRIPT = "/usr/lib/python3/dist-packages/ctk/inject/hook_main.py"
HOOKS = HookRequest(interpreter="/usr/bin/python3.11", script=SCRIPT)
GPUS = ("GPU-5a1e0000-0000-4000-8000-000000000000", "GPU-5a1e0000-0000-4000-8000-000000000001")
CONTROL_NODES = (
    ("nvidiactl", 195, 255),
    ("nvidia-modeset", 195, 254),
    ("nvidia-uvm", 508, 0),
    ("nvidia-uvm-tools", 508, 1),
)


def make_library(soname: str) -> bytes:
    """The smallest 64-bit library with a SONAME."""
    texts_at = 64 + 2 * 56 + 48
    dynamic = struct.pack("<6Q", 14, 1, 5, 0x1000 + texts_at, 0, 0)
    texts = b"\0" + soname.encode() + b"\0"
    total = texts_at + len(texts)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0x1000, 0x1000, total, total, 8)
    table = struct.pack("<IIQQQQQQ", 2, 4, 176, 0x1000 + 176, 0x1000 + 176, 48, 48, 8)
    return head + load + table + dynamic + texts


class DriverTree:
    """A host below a folder, with a driver below a driver root of it."""

    def __init__(self, folder: Path, driver_root: str = "/") -> None:
        self.folder = folder
        self.driver_root = driver_root
        self.rows: list[dict[str, Any]] = []
        self.cache: list[tuple[str, str, int]] = []
        self.gpus: dict[int, dict[str, Mapping[str, object]]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.put("/proc/sys/kernel/arch", "x86_64\n")
        self.put("/proc/sys/kernel/osrelease", "6.1.0-21-amd64\n")

    def put(self, path: str, content: str | bytes = "") -> Path:
        """A file of the host."""
        place = self.folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return place

    def put_below(self, path: str, content: str | bytes = "") -> Path:
        """A file of the driver root."""
        return self.put(self.driver_root.rstrip("/") + path, content)

    def link(self, path: str, target: str) -> None:
        """A link in the driver root."""
        place = self.folder / (self.driver_root.rstrip("/") + path).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def library(
        self, stem: str, soname: str = "", *, version: str = VERSION, folder: str = FOLDER, plain: bool = False
    ) -> str:
        """lib*.so.VERSION with the link of its SONAME, and with plain also lib*.so."""
        name = f"{stem}.so.{version}"
        own = soname or f"{stem}.so.1"
        self.put_below(f"{folder}/{name}", make_library(own))
        if own != name:
            self.link(f"{folder}/{own}", name)
        if plain:
            self.link(f"{folder}/{stem}.so", own)
        return f"{folder}/{name}"

    def node(self, path: str, major: int, minor: int, **more: Any) -> None:
        """A device node below the dev root, which is the driver root here; path without /dev."""
        place = self.driver_root.rstrip("/") + "/dev/" + path
        self.rows.append({"path": place, "major": major, "minor": minor, **more})

    def control_nodes(self) -> None:
        for name, major, minor in CONTROL_NODES:
            self.node(name, major, minor)

    def gpu(self, index: int, minor: int, address: str, *, name: str = "NVIDIA A100", drm: int | None = None) -> None:
        """A GPU that NVML answers for, with its node; drm: the number of its card."""
        values = {"pci_bus_id": f"0000{address.upper()}", "uuid": f"GPU-{index}", "minor": minor, "name": name}
        self.gpus[index] = {fact: {"fact": fact, "value": value} for fact, value in values.items()}
        self.node(f"nvidia{minor}", 195, minor)
        if drm is not None:
            for kind, number in (("card", drm), ("renderD", 128 + drm)):
                self.put(f"/sys/bus/pci/devices/{address}/drm/{kind}{number}/uevent")
                self.node(f"dri/{kind}{number}", 226, number, gid=44, mode="0660")
            self.link(f"/dev/dri/by-path/pci-{address}-card", f"../card{drm}")
            self.link(f"/dev/dri/by-path/pci-{address}-render", f"../renderD{128 + drm}")

    def mig(self, index: int, *slots: tuple[int, int, int], nodes: bool = True, profile: str = "1g.5gb") -> None:
        """MIG devices of a GPU: slot, GPU instance, compute instance; the nodes are 10 * instance + 2 and + 3."""
        self.gpus[index]["mig_current"] = {"fact": "mig_current", "value": True}
        self.gpus[index]["mig_slots"] = {
            "fact": "mig_slots",
            "value": [
                {"index": slot, "uuid": f"MIG-{index}-{slot}", "name": f"NVIDIA A100 MIG {profile}"}
                | {"gpu_instance": instance, "compute_instance": compute}
                for slot, instance, compute in slots
            ],
        }
        minor = self.gpus[index]["minor"]["value"]
        place = self.folder / "proc/driver/nvidia-caps/mig-minors"
        lines = [place.read_text()] if place.is_file() else ["config 1\nmonitor 2\n"]
        for _, instance, compute in slots:
            number = 10 * instance + 2
            lines.append(
                f"gpu{minor}/gi{instance}/access {number}\ngpu{minor}/gi{instance}/ci{compute}/access {number + 1}\n"
            )
            if nodes:
                self.node(f"nvidia-caps/nvidia-cap{number}", 235, number, mode="0444")
                self.node(f"nvidia-caps/nvidia-cap{number + 1}", 235, number + 1, mode="0444")
        self.put("/proc/driver/nvidia-caps/mig-minors", "".join(lines))

    def ask(self, host: Host, query: NvmlQuery) -> FoundGpus | str:
        """What NVML says: about these GPUs, or, without any, nothing."""
        if not self.gpus:
            return "there is no libnvidia-ml.so.1 here"
        host_lines = {"driver_version": VERSION, "cuda_version": 12040, "count": len(self.gpus)}
        return build_gpus({fact: {"fact": fact, "value": value} for fact, value in host_lines.items()}, self.gpus)

    def host(self) -> FakeHost:
        if self.cache:
            self.put_below("/etc/ld.so.cache", make_ld_cache(*self.cache))
        return FakeHost(str(self.folder), {"device": self.rows})

    def make_nodes(self) -> None:
        """The rows as real nodes, for a command line that gets no rows; a test that does so is marked real."""
        for row in self.rows:
            place = self.folder / row["path"].lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            os.mknod(place, stat.S_IFCHR, os.makedev(row["major"], row["minor"]))
            place.chmod(int(row.get("mode", "0666"), 8))
            os.chown(place, row.get("uid", 0), row.get("gid", 0))

    def facts(self, **query: Any) -> DriverRoot:
        """What is read of the host."""
        roots = {"driver_root": self.driver_root, "dev_root": self.driver_root}
        return collect_driver_root(self.host(), RootQuery(**{**roots, **query}), self.ask)

    def generate(self, query: Mapping[str, Any] | None = None, **request: Any) -> Generated:
        """The spec of this host; the hooks are those of a fixed installation."""
        settings = dict(query or {})
        if "mode" in request:
            settings.setdefault("mode", request["mode"])
        return generate(self.facts(**settings), GenerateRequest(**{"hooks": HOOKS, **request}))


def make_plain_driver(tree: DriverTree) -> DriverTree:
    """The libraries that every driver has, one GPU, and the control nodes."""
    tree.library("libcuda", plain=True)
    tree.library("libnvidia-ml")
    tree.library("libnvidia-glcore", f"libnvidia-glcore.so.{VERSION}")
    tree.control_nodes()
    tree.gpu(0, 0, "0000:1b:00.0")
    return tree
