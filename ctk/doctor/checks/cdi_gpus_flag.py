"""Which way `docker run --gpus` takes, and whether the specs are true where it takes them."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import loaded_version
from ctk.doctor.checks.cdi_applies import SpecFile, cdi_of, regenerate, specs_in_force, states_of
from ctk.doctor.checks.cdi_stale import judge_driver, judge_paths
from ctk.doctor.checks.docker_gpus import GPUS_BY_CDI_SINCE
from ctk.doctor.checks.engine_applies import each_of, has_device, version_of, visible_specs
from ctk.doctor.model import FAIL, Evidence, Outcome, failed, noted, skipped, unseen
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot


def check_gpus_flag_path(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Since 29.2 CDI devices come first: a spec that is out of date then breaks what worked by the hook."""
    return each_of(snapshot, "docker", _judge)


def _judge(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    gpu = has_device(snapshot)
    if gpu is not True:
        return unseen(gpu) if isinstance(gpu, Unknown) else skipped("there is no NVIDIA GPU here")
    version = version_of(item)
    if version is None:
        return unseen(Unknown("Docker's version is not known"))
    seen = visible_specs(snapshot, item)
    if isinstance(seen, Unknown):
        return unseen(seen)
    told = Evidence(".".join(str(number) for number in version), "Docker's version")
    if version < GPUS_BY_CDI_SINCE:
        later = " (from 29.2 on, CDI devices come first)" if seen else ""
        return noted(f"`docker run --gpus` takes the hook{later}", told)
    if not seen:
        return noted("`docker run --gpus` takes the hook: there is no CDI spec that Docker sees", told)
    stale = _stale(snapshot, {file.path for file in seen})
    if stale is not None:
        return failed(
            f"`docker run --gpus` takes CDI devices, and the spec is not true any more: {stale.message}",
            told,
            *stale.evidence,
            remedy=stale.remedy or regenerate(snapshot, seen[0].path),
        )
    return noted(f"`docker run --gpus` takes CDI devices, by {seen[0].path}", told, Evidence("a spec", seen[0].path))


def _stale(snapshot: "Snapshot", paths: set[str]) -> Outcome | None:
    """The first failure of one of these specs."""
    cdi = cdi_of(snapshot)
    if isinstance(cdi, Outcome):
        return None
    states = states_of(cdi)
    mine: list[SpecFile] = [found for found in specs_in_force(cdi) if found.file.path in paths]
    loaded = loaded_version(snapshot)
    outcomes = [judge_driver(snapshot, found, loaded, states) for found in mine if isinstance(loaded, str)]
    outcomes += [judge_paths(snapshot, found, states) for found in mine]
    return next((outcome for outcome in outcomes if outcome.status == FAIL), None)
