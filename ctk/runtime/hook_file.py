"""The OCI hook file of --config-mode=oci-hook, which Podman and CRI-O read (oci-hooks(5)); writes nothing."""

from typing import TYPE_CHECKING

from ctk.change.plan import FileChange, Plan
from ctk.errors import UsageFault
from ctk.host.paths import display_path
from ctk.runtime.planned import Planned
from ctk.runtime.request import check_text
from ctk.runtime.sources import read_source
from ctk.runtime.targets import Target

if TYPE_CHECKING:
    from ctk.change.journal import Journal
    from ctk.host import Host

DEPRECATED = "--config-mode=oci-hook is deprecated: an OCI hook acts on every container; prefer CDI"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def hook_document(hook_path: str) -> str:
    """The hook as oci-hooks(5) version 1.0.0 has it. Raises UsageFault for a path that is not absolute."""
    import json

    if not hook_path.startswith("/"):
        raise UsageFault(f"--nvidia-runtime-hook-path must be an absolute path, not {hook_path!r}")
    check_text("--nvidia-runtime-hook-path", hook_path)
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
    return Planned(target, plan, warnings=(DEPRECATED,), files=(file,))


def plan_hook_removal(host: "Host", file: str, hook_path: str, journal: "Journal") -> Planned:
    """The plan that takes the hook file away, or gives back what the journal shows; a changed file stays."""
    source = read_source(host, file)
    baseline = journal.baseline(source.target)
    target = Target("oci-hook", "system", file, None)
    plan = Plan("unconfigure", "oci-hook", (), facts=(("engine", "oci-hook"),))
    is_restored = baseline is not None and baseline.holds_only_ours(source.data)
    if source.data is None or not (is_restored or source.data == hook_document(hook_path).encode()):
        changed = () if source.data is None else (f"{file} is not as ctk writes it: it is left as it is",)
        return Planned(target, plan, warnings=changed, method="none", files=(file,))
    before = baseline.before if baseline is not None and is_restored else None
    folders = tuple(reversed(baseline.created_folders)) if baseline is not None and before is None else ()
    change = FileChange(display_path(host, file), source.target, source.data, before, remove_folders=folders)
    return Planned(target, plan._replace(changes=(change,)), method="none", files=(file,))
