#!/usr/bin/env python3
"""Fetches the user-space files of a real NVIDIA driver for the engine suite; installs no package and loads no module.

Usage: scripts/driver_files.py [--refresh]     as root, on Debian; prints the folder, a driver root

The packages come from the non-free section of Debian 13 on this machine's own mirror, unpacked below .cache/driver/.
They are proprietary: they stay there and are never part of the project. What the packages' scripts would do is done
here for that folder alone: Debian's alternatives links, and ldconfig.

Exit codes: 0 done, 3 a step failed.
"""

import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RELEASE = "trixie"
PACKAGES = (
    "libcuda1",
    "libnvidia-ml1",
    "libnvidia-ptxjitcompiler1",
    "libnvidia-nvvm4",
    "libnvcuvid1",
    "libnvidia-encode1",
    "libnvidia-cfg1",
    "libnvidia-allocator1",
    "libegl-nvidia0",
    "libglx-nvidia0",
    "libnvidia-glcore",
    "libnvidia-eglcore",
    "nvidia-smi",
    "nvidia-persistenced",
    "nvidia-cuda-mps",
    "firmware-nvidia-gsp",
)
LIBRARIES = "usr/lib/x86_64-linux-gnu"
ALTERNATIVES = "etc/alternatives"
BEHIND_ALTERNATIVES = ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvidia-ml.so", "libnvidia-cfg.so.1")


def load_engines() -> Any:
    """scripts/engines, which knows this machine's mirror and how to have an apt of its own."""
    loader = importlib.machinery.SourceFileLoader("engines_script", str(HERE / "engines"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


ENGINES = load_engines()
ROOT = ENGINES.ROOT / ".cache" / "driver" / "root"


def fetch(refresh: bool) -> Path:
    """The driver root, from an earlier run or made now. Raises StepFailed of scripts/engines."""
    if ROOT.is_dir() and not refresh:
        return Path(ROOT)
    fresh, packages = ROOT.with_name("root.new"), ROOT.with_name("packages")
    for folder in (fresh, packages):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    address, _ = ENGINES.find_mirror(ENGINES.read_os_release())
    ENGINES.CACHE = ROOT.parent  # an apt of its own, beside that of the engines
    options = ENGINES.write_apt_files(address, "main contrib non-free non-free-firmware", [RELEASE])
    ENGINES.run(["apt-get", *options, "update", "-q"], "read the package lists", attempts=3)
    command = ["apt-get", *options, "-q", "download", *PACKAGES]
    ENGINES.run(command, "download the driver's packages", attempts=3, cwd=packages)
    for package in sorted(packages.glob("*.deb")):
        ENGINES.run(["dpkg", "-x", str(package), str(fresh)], f"unpack {package.name}")
    shutil.rmtree(packages)
    link_alternatives(fresh)
    subprocess.run(["/sbin/ldconfig", "-r", str(fresh)], check=True)
    shutil.rmtree(ROOT, ignore_errors=True)
    fresh.rename(ROOT)
    return Path(ROOT)


def link_alternatives(root: Path) -> None:
    """What glx-alternative-nvidia's script does: usual name -> /etc/alternatives -> nvidia/current, all absolute."""
    etc, usual = root / ALTERNATIVES, root / LIBRARIES
    etc.mkdir(parents=True, exist_ok=True)
    current = usual / "nvidia" / "current"
    for name in BEHIND_ALTERNATIVES:
        if not (current / name).exists() and not (current / name).is_symlink():
            continue
        alternative = etc / f"nvidia--{name}-x86_64-linux-gnu"
        place = usual / name
        for link, target in (
            (alternative, f"/{LIBRARIES}/nvidia/current/{name}"),
            (place, f"/{ALTERNATIVES}/{alternative.name}"),
        ):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    (root / "etc" / "ld.so.conf").write_text(f"/{LIBRARIES}\n/{LIBRARIES}/nvidia/current\n")


def main() -> int:
    """Does it all; returns the exit code."""
    try:
        print(fetch("--refresh" in sys.argv[1:]))
    except ENGINES.StepFailed as failure:
        print(f"scripts/driver_files.py: {failure}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
