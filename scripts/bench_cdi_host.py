"""A host for the benchmark: fifty CDI specs of 150 lines each, all true; it measures nothing."""

from pathlib import Path

SPECS, LINES = 50, 150
LIBRARIES = tuple(f"/usr/lib/x86_64-linux-gnu/libdevice-{number:02}.so.1" for number in range(11))


def spec_text(number: int) -> str:
    """One spec of LINES lines, in the shape that nvidia-ctk writes: eight devices, libraries, hooks."""
    lines = ["---", "cdiVersion: 0.5.0", f"kind: vendor-{number:02}.example/gpu", "devices:"]
    for index in range(8):
        lines += [f'    - name: "{index}"', "      containerEdits:", "        env:", f"            - DEVICE={index}"]
    lines += ["containerEdits:", "    env:", "        - NVIDIA_VISIBLE_DEVICES=void", "    hooks:"]
    lines += ["        - hookName: createContainer", "          path: /usr/bin/device-hook", "          args:"]
    lines += ["            - device-hook", "            - update-ldcache", "            - --folder"]
    lines += ["            - /usr/lib/x86_64-linux-gnu", "    mounts:"]
    for path in LIBRARIES:
        lines += [f"        - hostPath: {path}", f"          containerPath: {path}", "          options:"]
        lines += [f"            - {option}" for option in ("ro", "nosuid", "nodev", "rbind", "rprivate")]
    padding = LINES - len(lines)
    return "\n".join([*lines, *["# the end"] * padding]) + "\n"


def make_cdi_host(folder: Path) -> None:
    """The specs lie in both folders, half of them in each; everything they name is there."""
    for path in (*LIBRARIES, "/usr/bin/device-hook"):
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("", encoding="utf-8")
        place.chmod(0o755)
    for number in range(SPECS):
        place = folder / ("etc/cdi" if number % 2 else "var/run/cdi") / f"vendor-{number:02}.yaml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(spec_text(number), encoding="utf-8")
