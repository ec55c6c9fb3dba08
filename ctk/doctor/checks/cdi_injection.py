"""Whether a container that gets its GPUs by a CDI spec gets them a second time by the runtime or a hook."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.cdi_applies import SpecFile, cdi_of, regenerate, specs_in_force, without_specs
from ctk.doctor.checks.engine_applies import subject_of
from ctk.doctor.checks.toolkit_applies import engines_of
from ctk.doctor.model import Evidence, Outcome, noted, passed, warned
from ctk.engines.reading import is_nvidia_runtime
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

VOID = "NVIDIA_VISIBLE_DEVICES=void"
"""What tells NVIDIA's runtime and hook to leave a container alone."""


def check_double_injection(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Where nothing injects besides CDI, a spec without the word does no harm."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return (cdi,)
    specs = specs_in_force(cdi)
    if not specs:
        return (without_specs(cdi),)
    other = _other_injector(snapshot)
    return tuple(_judge(snapshot, item, other) for item in specs)


def _judge(snapshot: "Snapshot", item: SpecFile, other: Evidence | None) -> Outcome:
    path = item.file.path
    spec = item.spec
    if VOID in spec.edits.env or all(VOID in device.edits.env for device in spec.devices):
        return passed(f"{path} tells NVIDIA's runtime to keep out", Evidence(VOID, path), subject=path)
    evidence = Evidence(f"no {VOID}", path)
    if other is None:
        return noted(f"{path} does not tell NVIDIA's runtime to keep out; nothing here injects besides it", evidence)
    return warned(
        f"{path} does not tell NVIDIA's runtime to keep out, and {other.value}: containers get the GPUs twice",
        evidence,
        other,
        subject=path,
        remedy=regenerate(snapshot, path),
    )


def _other_injector(snapshot: "Snapshot") -> Evidence | None:
    """NVIDIA's runtime as some engine's default, or a hook file."""
    for engine in engines_of(snapshot):
        files = engine.files
        if isinstance(files, Unknown) or files.default_runtime is None:
            continue
        paths = [runtime.path for runtime in files.runtimes if runtime.name == files.default_runtime]
        if is_nvidia_runtime(files.default_runtime, paths[0] if paths else None):
            return Evidence(
                f"{files.default_runtime} is the default runtime of {subject_of(engine)}", engine.config_path
            )
    setup = snapshot.toolkit_setup
    if isinstance(setup, Unknown) or isinstance(setup.hooks, Unknown) or not setup.hooks:
        return None
    return Evidence("a hook file of NVIDIA's is there", setup.hooks[0].file)
