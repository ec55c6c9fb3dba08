"""Builds the snapshot: one line for each part, each guarded so that its failure hides no other; it looks at nothing."""

from collections.abc import Callable
from typing import TypeVar

from ctk import __version__
from ctk.facts import Unknown
from ctk.facts.snapshot import NOT_COLLECTED, Snapshot
from ctk.facts.system import System
from ctk.host import Host
from ctk.host.cdi import collect_cdi
from ctk.host.cgroups import collect_cgroups
from ctk.host.conditions import collect_conditions
from ctk.host.cuda_watch import collect_cuda_probe
from ctk.host.device_nodes import collect_device_nodes
from ctk.host.driver import collect_driver
from ctk.host.engines import DAEMON_NAMES, collect_docker_context, collect_engines
from ctk.host.kernel import collect_kernel
from ctk.host.kernel_log import collect_kernel_log
from ctk.host.kubelet import PROCESS_NAMES, collect_kubelet
from ctk.host.loader import collect_loader
from ctk.host.modules import collect_modules
from ctk.host.nvml_watch import DEADLINE_SECONDS, collect_nvml
from ctk.host.observer import collect_observer
from ctk.host.other_engines import collect_other_engines
from ctk.host.packages import collect_packages
from ctk.host.pci import collect_pci
from ctk.host.platform import collect_platform
from ctk.host.processes import collect_processes, format_time
from ctk.host.reading import unknown_from
from ctk.host.rights import collect_rights
from ctk.host.services import collect_services
from ctk.host.smi import collect_licence_status, collect_smi
from ctk.host.suppressions import collect_suppressions
from ctk.host.system import collect_host_name, collect_system
from ctk.host.toolkit import collect_toolkit
from ctk.host.toolkit_setup import collect_toolkit_setup

T = TypeVar("T")


def collect(
    host: Host,
    nvml_seconds: float | None = DEADLINE_SECONDS,
    *,
    probe: bool = False,
    parts: frozenset[str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Snapshot:
    """What ctk knows of the host, now. Never raises for what the host is like.

    nvml_seconds: how long NVIDIA's library may take to answer, None = it is not asked. probe: CUDA is started too.
    parts: the fields of the snapshot that are looked for, None = all; the host's kind and name always are. tell: is
    told each field's name before it is looked for.
    """
    import time

    def part(name: str, collector: Callable[[], T]) -> T | Unknown:
        names = name.split()
        if parts is not None and parts.isdisjoint(names):
            return NOT_COLLECTED
        if tell is not None:
            tell(names[0])
        return guard(collector)

    system = _system(guard(lambda: collect_system(host)))
    processes = part("engines kubelet cdi", lambda: collect_processes(host, (*DAEMON_NAMES, *PROCESS_NAMES)))
    return Snapshot(
        taken_at=format_time(time.time()),
        ctk_version=__version__,
        host_name=guard(lambda: collect_host_name(host)),
        system=system,
        engines=(engines := part("engines cdi", lambda: collect_engines(host, processes))),
        kubelet=part("kubelet", lambda: collect_kubelet(host, processes)),
        toolkit=part("toolkit", lambda: collect_toolkit(host)),
        docker_context=part("docker_context", lambda: collect_docker_context(host)),
        suppressions=part("suppressions", lambda: collect_suppressions(host)),
        observer=part("observer", lambda: collect_observer(host)),
        kernel_log=part("kernel_log", lambda: collect_kernel_log(host)),
        kernel=part("kernel", lambda: collect_kernel(host, system.kernel)),
        pci=(pci := part("pci platform", lambda: collect_pci(host))),
        modules=part("modules", lambda: collect_modules(host, system.kernel)),
        driver=part("driver", lambda: collect_driver(host, system.kernel)),
        device_nodes=(nodes := part("device_nodes cgroups", lambda: collect_device_nodes(host, probe=probe))),
        cgroups=part("cgroups", lambda: collect_cgroups(host, nodes)),
        other_engines=part("other_engines", lambda: collect_other_engines(host)),
        loader=part("loader", lambda: collect_loader(host, engines)),
        conditions=part("conditions", lambda: collect_conditions(host)),
        platform=part("platform", lambda: collect_platform(host, system, pci)),
        services=part("services", lambda: collect_services(host)),
        toolkit_setup=(setup := part("toolkit_setup cdi", lambda: collect_toolkit_setup(host, system, pci, engines))),
        cdi=part("cdi", lambda: collect_cdi(host, engines, setup)),
        packages=part("packages", lambda: collect_packages(host)),
        rights=part("rights", lambda: collect_rights(host, engines)),
        nvml=(
            nvml := part("nvml", lambda: collect_nvml(host, nvml_seconds))
        ),  # last: asking may wake GPUs, load modules, make nodes
        cuda_probe=part("cuda_probe", lambda: collect_cuda_probe(host)) if probe else None,
        licence_status=part("platform", lambda: collect_licence_status(host, nvml)),
        smi=part("smi", lambda: collect_smi(host, nvml)) if probe else Unknown("not asked: no --probe"),
    )


def guard(collector: Callable[[], T]) -> T | Unknown:
    """The collector's answer; what it raises becomes the reason why there is none."""
    try:
        return collector()
    except OSError as error:
        return unknown_from(error)
    except Exception as error:  # one collector's bug must not take the others' answers away
        return Unknown(f"a bug in ctk: {type(error).__name__}: {error}")


def _system(found: System | Unknown) -> System:
    """The part that always has its fields, so that readers need no special case."""
    if isinstance(found, System):
        return found
    return System(
        distribution=found,
        distribution_version=found,
        distribution_name=found,
        distribution_like=(),
        kernel=found,
        architecture=found,
        init=found,
        container=found,
        wsl=found,
        jetson=found,
    )
