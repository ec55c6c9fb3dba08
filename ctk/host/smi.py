"""Runs NVIDIA's own command-line tool: in an active probe, because it may wake GPUs, and for an unlicensed vGPU."""

from ctk.facts import Unknown
from ctk.facts.nvml import Nvml, VgpuLicence
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


def collect_licence_status(host: Host, nvml: object) -> str | None | Unknown:
    """What the tool says of a vGPU's licence, which NVML does not tell: asked only where NVML says there is none."""
    if not isinstance(nvml, Nvml) or not isinstance(nvml.gpus, tuple):
        return None
    licences = [gpu.licence for gpu in nvml.gpus if isinstance(gpu.licence, VgpuLicence)]
    if all(licence.licensed for licence in licences):
        return None
    path = find_program(host, (NAME,), FOLDERS)
    if not isinstance(path, str):
        return path
    distrust = why_not_trusted(host, path) if host.is_live else ""
    if distrust:
        return Unknown(f"not run: {distrust}")
    output = host.run((path, "-q"), DEADLINE_SECONDS)
    return parse_licence_status(output.stdout) if output.returncode == 0 else Unknown(output.reason or "it failed")


def parse_licence_status(text: str) -> str | None:
    """The first "License Status : Unlicensed (Restricted)"."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "License Status":
            return value.strip() or None
    return None
