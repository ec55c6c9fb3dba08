"""Hosts with the stand-ins for NVIDIA's libraries; a test marked real compiles them."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ctk.host.local import LocalHost

SOURCES = Path(__file__).parent / "nvml_stand_in"
NVML, CUDA = ("nvml.c", "libnvidia-ml.so.1"), ("cuda.c", "libcuda.so.1")
HIDING = {"CUDA_VISIBLE_DEVICES": "none"}
MODULES = "nvidia_uvm 1540096 0 - Live 0x0\nnvidia 54566912 2 nvidia_uvm, Live 0x0\n"


def compile_stand_in(folder: Path, which: tuple[str, str] = NVML) -> Path:
    """The library, in the folder."""
    library = folder / which[1]
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCES / which[0])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return library


def plant_library(root: Path, library: Path, behaviour: str, files: Mapping[str, str] | None = None) -> LocalHost:
    """A host whose library behaves as the words say (see the source)."""
    texts = {"proc/modules": MODULES, **(files or {})}
    for name, text in texts.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    place = root / "usr" / "lib64"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, place)
    return LocalHost(str(root), environment={"NVML_STAND_IN": behaviour, "STAND_IN_CUDA": behaviour, **HIDING})
