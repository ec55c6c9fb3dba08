"""What the command line asks for, checked and with the engines' defaults filled in; reads nothing."""

from ctk.errors import UsageFault
from ctk.record import Record

ENGINE_NAMES = ("docker", "containerd", "crio")
DEFAULT_RUNTIME_NAME = "nvidia"
DEFAULT_RUNTIME_PATH = "nvidia-container-runtime"
ABSOLUTE_DEFAULT_PATH = "/usr/bin/nvidia-container-runtime"
DEFAULT_HOOK_PATH = "/usr/bin/nvidia-container-runtime-hook"
HOOK_MODES = ("oci-hook", "hook")
CONFIG_MODES = ("", "config-file", "config")
FORCE_NAMES = (
    "missing-binary",
    "generated-file",
    "template",
    "flag-conflict",
    "reserved-name",
    "default-conflict",
    "runtime-type",
    "cri-disabled",
    "config-version",
    "not-in-force",
)


class Defaults(Record):
    """An engine's files where nothing says otherwise (NVIDIA's toolkit uses the same)."""

    config: str
    drop_in: str | None
    unit: str
    socket: str
    protocol: str


DEFAULTS = {
    "docker": Defaults("/etc/docker/daemon.json", None, "docker", "/var/run/docker.sock", "docker"),
    "containerd": Defaults(
        "/etc/containerd/config.toml",
        "/etc/containerd/conf.d/99-nvidia.toml",
        "containerd",
        "/run/containerd/containerd.sock",
        "grpc",
    ),
    "crio": Defaults(
        "/etc/crio/crio.conf", "/etc/crio/crio.conf.d/99-nvidia.toml", "crio", "/var/run/crio/crio.sock", "grpc"
    ),
}


class Request(Record):
    """One `ctk runtime configure` or `unconfigure`.

    engine None = not said, "auto" = every engine in use. drop_in None = the engine's own, "" = the main file.
    """

    engine: str | None = None
    installation: str | None = None
    config: str | None = None
    drop_in: str | None = None
    config_source: str = "file"
    executable: str = ""
    name: str = DEFAULT_RUNTIME_NAME
    path: str = DEFAULT_RUNTIME_PATH
    set_as_default: bool = False
    enable_cdi: bool = False
    forced: frozenset[str] = frozenset()
    tentative: bool = False  # --dry-run or --check: refusals become warnings
    excused: frozenset[str] = frozenset()  # refusals that were turned into warnings so far
    verify: bool = True
    restart: bool = False


def check_request(request: Request) -> None:
    """Raise UsageFault for what no engine could take."""
    if request.engine is not None and request.engine not in (*ENGINE_NAMES, "auto"):
        known = ", ".join((*ENGINE_NAMES, "auto"))
        raise UsageFault(f"unrecognized runtime {request.engine!r}", hint=f"--runtime takes one of {known}.")
    if not request.name.strip():
        raise UsageFault("the runtime's name is empty", hint="Leave out --nvidia-runtime-name, or give it a name.")
    check_text("--nvidia-runtime-name", request.name)
    check_text("--nvidia-runtime-path", request.path)
    if request.config_source not in ("file", "command"):
        raise UsageFault(
            f"unrecognized config source {request.config_source!r}", hint="--config-source takes file or command."
        )
    if request.engine == "auto" and (request.config or request.drop_in or request.executable or request.installation):
        raise UsageFault(
            "--runtime=auto chooses the files itself",
            hint="Leave out --config, --drop-in-config, --executable-path and --installation, or name one engine.",
        )
    unknown = sorted(request.forced - set(FORCE_NAMES))
    if unknown:
        raise UsageFault(f"--force does not know {unknown[0]!r}", hint=f"It takes: {', '.join(FORCE_NAMES)}.")


def check_text(option: str, value: str) -> None:
    """Raise UsageFault for control characters, and for bytes that are no UTF-8: no engine's file can hold them."""
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise UsageFault(f"{option} must not hold control characters: {value!r}", hint="Nothing was changed.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageFault(f"{option} must be UTF-8, not {value!r}", hint="Nothing was changed.") from error


def check_drop_in(request: Request, engine: str) -> None:
    """Raise UsageFault for a --drop-in-config this engine cannot take."""
    if not request.drop_in:
        return
    if engine == "docker":
        raise UsageFault("Docker has no drop-in files", hint="Leave out --drop-in-config for --runtime=docker.")
    if request.drop_in.endswith("/"):
        raise UsageFault(
            f"--drop-in-config must name a file, not the folder {request.drop_in!r}", hint="Nothing was changed."
        )
    if not request.drop_in.startswith("/"):
        raise UsageFault(
            f"--drop-in-config must be an absolute path, not {request.drop_in!r}", hint="Nothing was changed."
        )


def runtime_path(request: Request, engine: str) -> str:
    """The path for the entry: containerd and CRI-O need an absolute one, Docker takes a name from PATH."""
    if engine == "docker":
        return request.path
    if request.path == DEFAULT_RUNTIME_PATH:
        return ABSOLUTE_DEFAULT_PATH
    if not request.path.startswith("/"):
        raise UsageFault(
            f"--nvidia-runtime-path must be an absolute path for {engine}, not {request.path!r}",
            hint="Nothing was changed.",
        )
    return request.path
