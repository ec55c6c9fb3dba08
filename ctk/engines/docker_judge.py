"""What dockerd says about a daemon.json, and which dockerd reads it at all; runs no program."""

from ctk.facts.command import CommandOutput

UNKNOWN_FLAG = "unknown flag: --validate"  # dockerd before 23
DESKTOP_CONTEXT = "desktop-linux"
DESKTOP_SOCKET = "/.docker/desktop/"  # unix:///home/USER/.docker/desktop/docker.sock


def can_validate(output: CommandOutput) -> bool:
    """Whether this dockerd knows `--validate` and could be asked; if not, it was only parsed."""
    return output.returncode is not None and UNKNOWN_FLAG not in output.stderr + output.stdout


def judge_validate(before: CommandOutput | None, after: CommandOutput) -> tuple[str, ...]:
    """What `dockerd --validate --config-file FILE` has against the new file; nothing if it cannot be asked."""
    if after.returncode == 0 or not can_validate(after):
        return ()
    cause = _last_line(after)
    if before is not None and can_validate(before) and before.returncode != 0:
        return (f"dockerd refuses the file, as it did the earlier one: {cause}",)
    return (f"dockerd refuses the file: {cause}",)


def _last_line(output: CommandOutput) -> str:
    lines = [line.strip() for line in output.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"it ended with status {output.returncode}"


def is_desktop_context(docker_context: str | None) -> bool:
    """Whether a docker context, by name or endpoint, is Docker Desktop's virtual machine.

    https://docs.docker.com/desktop/setup/install/linux/#context
    """
    return docker_context is not None and (docker_context == DESKTOP_CONTEXT or DESKTOP_SOCKET in docker_context)


def desktop_warning(docker_context: str | None, config_path: str) -> str | None:
    """The sentence to show where the docker command talks to Docker Desktop, None elsewhere."""
    if not is_desktop_context(docker_context):
        return None
    return (
        f"the docker context in use ({docker_context}) is Docker Desktop's virtual machine, which does not read "
        f"{config_path}: change Desktop's own settings, or use the host's engine with 'docker context use default'"
    )
