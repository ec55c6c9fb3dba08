"""The OCI hook file of --config-mode=oci-hook, which Podman and CRI-O read (oci-hooks(5)); writes nothing."""

from typing import TYPE_CHECKING

from ctk.change.plan import FileChange, Plan
from ctk.errors import UsageFault
from ctk.runtime.planned import Planned, display_path
from ctk.runtime.sources import read_source
from ctk.runtime.targets import Target

if TYPE_CHECKING:
    from ctk.host import Host

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def hook_document(hook_path: str) -> str:
    """The hook as oci-hooks(5) version 1.0.0 has it. Raises UsageFault for a path that is not absolute."""
    import json

    if not hook_path.startswith("/"):
        raise UsageFault(f"--nvidia-runtime-hook-path must be an absolute path, not {hook_path!r}")
    folder, _, name = hook_path.rpartition("/")
    path = SEARCH_PATH if folder in SEARCH_PATH.split(":") else f"{SEARCH_PATH}:{folder}"
    document = {
        "version": "1.0.0",
        "hook": {"path": hook_path, "args": [name, "prestart"], "env": [f"PATH={path}"]},
        "when": {"always": True, "commands": [".*"]},
        "stages": ["prestart"],
    }
    return json.dumps(document, indent=2) + "\n"


def plan_hook(host: "Host", file: str, hook_path: str) -> Planned:
    """The plan that writes the hook file; nothing to do if it holds exactly that."""
    source = read_source(host, file)
    after = hook_document(hook_path).encode()
    change = FileChange(display_path(host, file), source.target, source.data, after)
    plan = Plan("configure", "oci-hook", (change,) if change.action != "none" else (), facts=(("engine", "oci-hook"),))
    target = Target("oci-hook", "system", file, None)
    warning = "--config-mode=oci-hook is deprecated: an OCI hook acts on every container; prefer CDI"
    return Planned(target, plan, warnings=(warning,), files=(file,))
