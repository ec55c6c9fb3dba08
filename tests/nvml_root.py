"""Hosts with the stand-in for NVIDIA's library; it is compiled once for a run, by a test marked real."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ctk.host.local import LocalHost

SOURCE = Path(__file__).parent / "nvml_stand_in" / "nvml.c"
MODULES = "nvidia_uvm 1540096 0 - Live 0x0\nnvidia 54566912 2 nvidia_uvm, Live 0x0\n"


def compile_stand_in(folder: Path) -> Path:
    """The library, in the folder."""
    library = folder / "libnvidia-ml.so.1"
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
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
    return LocalHost(str(root), environment={"NVML_STAND_IN": behaviour})
