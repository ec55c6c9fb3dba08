"""Runs NVIDIA's own command-line tool once; only an active probe does that, because it may wake GPUs."""

from ctk.facts import Unknown
from ctk.facts.nvml import Nvml
from ctk.facts.smi import Smi
from ctk.host import Host
from ctk.host.programs import find_program, why_not_trusted

NAME = "nvidia-smi"
FOLDERS = ("/run/nvidia/driver/usr/bin", "/home/kubernetes/bin/nvidia/bin", "/opt/bin")
DEADLINE_SECONDS = 30.0


def collect_smi(host: Host, nvml: object) -> Smi | None | Unknown:
    """None: there is no such tool. nvml: what the library answered; after a hang the tool would hang too."""
    path = find_program(host, (NAME,), FOLDERS)
    if not isinstance(path, str):
        return path
    if not host.is_live:
        return Unknown("not run: --root")
    if isinstance(nvml, Nvml) and nvml.hang is not None:
        return Unknown("not run: NVML did not answer")
    distrust = why_not_trusted(host, path)
    if distrust:
        return Unknown(f"not run: {distrust}")
    output = host.run((path, "-L"), DEADLINE_SECONDS)
    if output.returncode == 0:
        return Smi(path, 0)
    lines = (output.stdout.strip() or output.stderr.strip()).splitlines()
    return Smi(path, output.returncode, output.reason, lines[0][:200] if lines else "")
