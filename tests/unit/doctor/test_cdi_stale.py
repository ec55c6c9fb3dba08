"""The checks of what specs name: paths, driver, GPUs, MIG, numbers, groups, hooks, --gpus; one row for each status."""

from typing import Any

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.checks.cdi_rows import CDI_CHECKS
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiFile, CdiHostPath
from ctk.facts.cdi_spec import SpecDevice, SpecDeviceNode, SpecEdits, SpecHook
from ctk.facts.driver import DriverCapability
from ctk.facts.engines import EngineFiles, EngineInstallation
from ctk.facts.nvml import MigDevice
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_engine, make_snapshot, make_system, make_tool
from tests.cdi_builders import (
    FILE,
    HOOK,
    LIBRARIES,
    STATIC_FILE,
    VERSION,
    make_cdi,
    make_cdi_file,
    make_common,
    make_device,
    make_folders,
    make_gpu_node,
    make_gpu_spec,
)
from tests.driver_builders import FIRST, SECOND, make_driver, make_driver_gpu, make_loaded, make_modules
from tests.nvml_builders import make_nvml, make_nvml_gpu
from tests.toolkit_builders import make_refresh, make_toolkit_setup, make_tools
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
PATHS, DRIVER, DEVICES, MIG = "cdi.stale-paths", "cdi.stale-driver", "cdi.stale-devices", "cdi.stale-mig"
MAJORS, GIDS, HOOKS, FLAG = "cdi.stale-majors", "cdi.gids", "cdi.hook-binary", "cdi.gpus-flag-path"
LIBRARY = f"{LIBRARIES}/libcuda.so.{VERSION}"
NEWER = "590.10.02"
NOTHING = Cdi(make_folders(), (), ())
UUIDS = ("GPU-5a1e0000-0000-4000-8000-000000000000", "GPU-5a1e0000-0000-4000-8000-000000000001")
CONTROL = (DriverCapability("mig/config", 1, 256), DriverCapability("mig/monitor", 2, 292))
INSTANCE = (
    *CONTROL,
    DriverCapability("gpu0/mig/gi1/access", 12, 292),
    DriverCapability("gpu0/mig/gi1/ci0/access", 13, 292),
)
MIG_UUID = "MIG-0b1c0000-0000-4000-8000-000000000000"
MIG_GPU = make_nvml_gpu(FIRST, 0, mig_current=True, mig_devices=(MigDevice(MIG_UUID, "1g.10gb", 1, 0),))
RENDER = "/dev/dri/renderD128"
VIDEO = CdiHostPath(RENDER, "char", 0o660, 0, 44, 226, 128)


def host(*files: CdiFile, **changes: Any) -> Snapshot:
    """paths: what is other than the specs say. cdi: all of it."""
    paths = changes.pop("paths", {})
    found = make_cdi(*files, states=paths)
    return make_snapshot(**{"cdi": found, "toolkit_setup": make_toolkit_setup(), **changes})


def spec_file(*devices: SpecDevice, path: str = FILE, **changes: Any) -> CdiFile:
    return make_cdi_file(make_gpu_spec(*devices, **changes), path)


def with_common(**changes: object) -> CdiFile:
    return make_cdi_file(make_gpu_spec(edits=make_common()._replace(**changes)))


def mig_file(name: str = "0:0", *caps: int) -> CdiFile:
    nodes = [SpecDeviceNode(f"/dev/nvidia-caps/nvidia-cap{number}") for number in caps or (12, 13)]
    return spec_file(SpecDevice(name, SpecEdits(device_nodes=(make_gpu_node(0), *nodes))), make_device("1", 1))


def mig_host(*files: CdiFile, capabilities: object = INSTANCE, **changes: object) -> Snapshot:
    nvml = make_nvml(MIG_GPU, make_nvml_gpu(SECOND, 1))
    return host(*files, driver=make_driver(capabilities=capabilities), **{"nvml": nvml, **changes})


def hook(*words: str, path: str = HOOK, stage: str = "createContainer") -> CdiFile:
    return with_common(hooks=(SpecHook(stage, path, words),))


def docker(version: str) -> EngineInstallation:
    return make_engine(version=version, files=EngineFiles((), None, None), daemon=None)


def loaded(version: str | None | Unknown) -> dict[str, object]:
    modules = make_modules(loaded=(make_loaded(version=version),)) if version is not None else make_modules(loaded=())
    return {"modules": modules, "driver": make_driver(version=version)}


RENDER_NODE = SpecDevice("0", SpecEdits(device_nodes=(SpecDeviceNode(RENDER),)))
OWN_HOOK = SpecHook("createContainer", "/opt/ctk/bin/python3", ("/opt/ctk/bin/python3", "-I", "-S", "/opt/ctk/hook.py"))
NO_GPU = {"pci": Pci()}
OTHER_VENDOR = make_cdi_file(make_gpu_spec(kind="vendor.example/net"), "/etc/cdi/net.yaml")

ROWS = [
    Row(PATHS, "true", host(), "pass", "every node and mount", FILE),
    Row(PATHS, "library", host(paths={LIBRARY: None}), "fail", f"{LIBRARY} is not there", FILE),
    Row(PATHS, "node", host(paths={"/dev/nvidia1": None, "/dev/nvidia0": None}), "fail", "and 1 more"),
    Row(
        PATHS,
        "folder-in-its-place",
        host(paths={"/dev/nvidia1": CdiHostPath("/dev/nvidia1", "folder")}),
        "fail",
        "no device node",
    ),
    Row(PATHS, "hook-is-anothers-business", host(paths={HOOK: None}), "pass"),
    Row(PATHS, "hidden-path", host(paths={LIBRARY: DENIED}), "unknown", LIBRARY),
    Row(PATHS, "other-vendor", host(OTHER_VENDOR, paths={LIBRARY: None}), "skip", "no CDI spec of NVIDIA's"),
    Row(
        PATHS,
        "wholly-shadowed",
        host(
            spec_file(path=STATIC_FILE, version="535.1.1"),
            make_cdi_file(),
            paths={LIBRARY.replace(VERSION, "535.1.1"): None},
        ),
        "pass",
        subject=FILE,
    ),
    Row(PATHS, "wsl", host(paths={LIBRARY: None}, system=make_system(wsl=2)), "fail"),
    Row(PATHS, "no-gpu-now", host(paths={LIBRARY: None}, **NO_GPU), "skip", "no NVIDIA GPU"),
    Row(PATHS, "not-looked-at", host(cdi=make_cdi()._replace(host_paths=None)), "unknown"),
    Row(PATHS, "paths-closed", host(cdi=make_cdi()._replace(host_paths=DENIED)), "unknown"),
    Row(PATHS, "none", host(cdi=NOTHING), "skip"),
    Row(PATHS, "closed", host(cdi=DENIED), "unknown"),
    Row(DRIVER, "same", host(), "pass", f"made for the loaded driver, {VERSION}"),
    Row(DRIVER, "updated", host(**loaded(NEWER)), "fail", f"made for driver {VERSION}, and {NEWER} is loaded", FILE),
    Row(
        DRIVER,
        "by-the-hook-alone",
        host(
            with_common(
                mounts=(),
                hooks=(
                    SpecHook("createContainer", HOOK, ("x", "enable-cuda-compat", "--host-driver-version=535.1.1")),
                ),
            )
        ),
        "fail",
        "made for driver 535.1.1",
    ),
    Row(DRIVER, "no-libraries", host(with_common(mounts=(), hooks=())), "warn", "mounts no driver library"),
    Row(DRIVER, "gds", host(make_cdi_file(make_gpu_spec(kind="nvidia.com/gds", edits=SpecEdits()))), "skip"),
    Row(DRIVER, "not-loaded", host(**loaded(None)), "skip", "no driver is loaded"),
    Row(DRIVER, "version-closed", host(**loaded(DENIED)), "unknown"),
    Row(DRIVER, "wsl", host(system=make_system(wsl=2)), "skip", "WSL"),
    Row(DRIVER, "none", host(cdi=NOTHING), "skip"),
    Row(DRIVER, "closed", host(cdi=DENIED), "unknown"),
    Row(DEVICES, "same", host(), "pass", "has the 2 GPUs"),
    Row(
        DEVICES,
        "one-lacks",
        host(spec_file(make_device("0", 0), make_device("all", 0))),
        "fail",
        "it lacks /dev/nvidia1, 1",
    ),
    Row(
        DEVICES,
        "one-gone",
        host(nvml=make_nvml(make_nvml_gpu(FIRST, 0)), driver=make_driver(gpus=(make_driver_gpu(),))),
        "fail",
        "it has /dev/nvidia1, 1, which this host does not have",
    ),
    Row(
        DEVICES,
        "exchanged",
        host(spec_file(make_device(UUIDS[0], 0), make_device("GPU-gone", 1))),
        "fail",
        f"it lacks {UUIDS[1]}; it has GPU-gone",
    ),
    Row(DEVICES, "by-type", host(spec_file(make_device("gpu0", 0), make_device("gpu1", 1))), "pass"),
    Row(
        DEVICES,
        "two-files",
        host(spec_file(make_device("0", 0)), spec_file(make_device("1", 1), path=STATIC_FILE)),
        "pass",
    ),
    Row(DEVICES, "divided-gpu-has-no-entry", mig_host(mig_file()), "pass"),
    Row(
        DEVICES,
        "without-nvml",
        host(spec_file(make_device("all", 0)), nvml=DENIED),
        "fail",
        "it lacks /dev/nvidia1",
    ),
    Row(DEVICES, "other-kind", host(make_cdi_file(make_gpu_spec(kind="management.nvidia.com/gpu"))), "skip"),
    Row(DEVICES, "list-closed", host(nvml=DENIED, driver=make_driver(gpus=DENIED)), "unknown"),
    Row(DEVICES, "driver-closed", host(nvml=DENIED, driver=DENIED), "unknown"),
    Row(DEVICES, "no-gpu", host(**NO_GPU), "skip"),
    Row(DEVICES, "not-loaded", host(**loaded(None)), "skip", "not loaded"),
    Row(DEVICES, "closed", host(cdi=DENIED), "unknown"),
    Row(MIG, "not-divided", host(), "skip", "no GPU is divided"),
    Row(MIG, "same", mig_host(mig_file()), "pass"),
    Row(MIG, "same-by-uuid", mig_host(mig_file(MIG_UUID)), "pass"),
    Row(MIG, "new-instance", mig_host(mig_file("0:0", 12)), "fail", "it lacks gpu0/mig/gi1/ci0/access (nvidia-cap13)"),
    Row(MIG, "instance-gone", mig_host(mig_file("0:0", 12, 13, 21)), "fail", "it has nvidia-cap21"),
    Row(MIG, "other-uuid", mig_host(mig_file("MIG-gone")), "fail", f"it lacks {MIG_UUID}; it has MIG-gone"),
    Row(MIG, "switched-off", host(mig_file(), driver=make_driver(capabilities=CONTROL)), "fail", "it has nvidia-cap12"),
    Row(MIG, "control-nodes-are-none", mig_host(mig_file("0:0", 1, 2, 12, 13)), "pass"),
    Row(MIG, "tree-closed", mig_host(mig_file(), capabilities=DENIED), "unknown"),
    Row(MIG, "other-kind", host(make_cdi_file(make_gpu_spec(kind="nvidia.com/imex-channel"))), "skip"),
    Row(MIG, "no-gpu", host(**NO_GPU), "skip"),
    Row(MIG, "not-loaded", mig_host(mig_file(), modules=make_modules(loaded=())), "skip", "not loaded"),
    Row(MIG, "closed", host(cdi=DENIED), "unknown"),
    Row(MAJORS, "same", host(), "pass"),
    Row(
        MAJORS,
        "other",
        host(paths={"/dev/nvidia0": CdiHostPath("/dev/nvidia0", "char", 0o666, 0, 0, 196, 0)}),
        "fail",
        "/dev/nvidia0 is 196:0 now, the spec says 195:0",
        FILE,
    ),
    Row(MAJORS, "gone-is-anothers-business", host(paths={"/dev/nvidia0": None}), "pass"),
    Row(MAJORS, "without-numbers", host(make_cdi_file(make_gpu_spec(RENDER_NODE, edits=SpecEdits()))), "skip"),
    Row(MAJORS, "closed", host(cdi=DENIED), "unknown"),
    Row(GIDS, "for-all", host(), "pass"),
    Row(GIDS, "group", host(spec_file(RENDER_NODE), paths={RENDER: VIDEO}), "warn", "is for group 44", FILE),
    Row(
        GIDS,
        "handed-on",
        host(
            spec_file(SpecDevice("0", SpecEdits(device_nodes=(SpecDeviceNode(RENDER, gid=44),)))), paths={RENDER: VIDEO}
        ),
        "pass",
    ),
    Row(
        GIDS,
        "additional",
        host(
            spec_file(SpecDevice("0", SpecEdits(device_nodes=(SpecDeviceNode(RENDER),), additional_gids=(44,)))),
            paths={RENDER: VIDEO},
        ),
        "pass",
    ),
    Row(GIDS, "closed", host(cdi=DENIED), "unknown"),
    Row(HOOKS, "good", host(), "pass", subject=FILE),
    Row(HOOKS, "gone", host(paths={HOOK: None}), "fail", f"{HOOK} is not there", FILE),
    Row(HOOKS, "not-executable", host(paths={HOOK: CdiHostPath(HOOK, "file", 0o644)}), "fail", "is not executable"),
    Row(
        HOOKS,
        "own-script",
        host(with_common(hooks=(OWN_HOOK,)), paths={"/opt/ctk/hook.py": None}),
        "fail",
        "hook.py is not there",
    ),
    Row(HOOKS, "other-vendor", host(OTHER_VENDOR, paths={HOOK: None}), "fail", subject="/etc/cdi/net.yaml"),
    Row(HOOKS, "unknown-word", host(hook("nvidia-cdi-hook", "frobnicate")), "warn", "not known: frobnicate"),
    Row(HOOKS, "chmod", host(hook("nvidia-cdi-hook", "chmod", "--mode", "755")), "warn", "the hook chmod"),
    Row(
        HOOKS,
        "newer-than-the-toolkit",
        host(
            hook("nvidia-ctk", "hook", "update-application-profile", path="/usr/bin/nvidia-ctk"),
            toolkit=make_tools("1.17.4"),
        ),
        "fail",
        "came with 1.20.0: the installed toolkit is older",
    ),
    Row(
        HOOKS, "new-toolkit", host(hook("nvidia-cdi-hook", "enable-cuda-compat"), toolkit=make_tools("1.17.5")), "pass"
    ),
    Row(HOOKS, "in-the-container", host(hook("x", stage="startContainer", path="/nowhere")), "skip"),
    Row(HOOKS, "hidden", host(paths={HOOK: DENIED}), "unknown", HOOK),
    Row(HOOKS, "none", host(cdi=NOTHING), "skip"),
    Row(HOOKS, "closed", host(cdi=DENIED), "unknown"),
    Row(FLAG, "hook", host(engines=(docker("28.3.0"),)), "info", "takes the hook (from 29.2 on", "docker"),
    Row(
        FLAG, "no-spec", host(cdi=NOTHING, engines=(docker("29.3.0"),)), "info", "takes the hook: there is no CDI spec"
    ),
    Row(FLAG, "cdi", host(engines=(docker("29.3.0"),)), "info", "takes CDI devices"),
    Row(FLAG, "cdi-stale", host(engines=(docker("29.3.0"),), **loaded(NEWER)), "fail", "not true any more"),
    Row(FLAG, "cdi-missing", host(engines=(docker("29.3.0"),), paths={LIBRARY: None}), "fail", "not true any more"),
    Row(FLAG, "no-docker", host(engines=()), "skip"),
    Row(FLAG, "no-gpu", host(engines=(docker("29.3.0"),), **NO_GPU), "skip"),
    Row(FLAG, "version-closed", host(engines=(make_engine(version=DENIED),)), "unknown"),
    Row(FLAG, "closed", host(cdi=DENIED, engines=(docker("29.3.0"),)), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_status(row: Row) -> None:
    assert_row(CDI_CHECKS, row)


def test_a_stale_driver_names_the_first_missing_path_and_the_command() -> None:
    """Field case F65."""
    snapshot = host(paths={LIBRARY: None}, **loaded(NEWER))
    (outcome,) = outcomes_of(CDI_CHECKS, DRIVER, snapshot)
    values = [evidence.value for evidence in outcome.evidence]
    assert values == [VERSION, NEWER, "written 2024-05-01T08:00:20Z", f"{LIBRARY} is not there"]
    assert outcome.remedy is not None
    assert [command.text for command in outcome.remedy.commands] == [f"ctk cdi generate --output={FILE}"]


def test_a_refresh_unit_makes_its_own_file_anew() -> None:
    setup = make_toolkit_setup(refresh=(make_refresh(),))
    for path, text in (
        (FILE, "systemctl restart nvidia-cdi-refresh.service"),
        (STATIC_FILE, f"ctk cdi generate --output={STATIC_FILE}"),
    ):
        snapshot = host(spec_file(path=path), toolkit_setup=setup, **loaded(NEWER))
        (outcome,) = outcomes_of(CDI_CHECKS, DRIVER, snapshot)
        assert outcome.remedy is not None
        assert [command.text for command in outcome.remedy.commands] == [text]


def test_a_missing_hook_names_what_is_installed_instead() -> None:
    """Field case F81."""
    tools = (make_tool(name="nvidia-ctk", path="/usr/bin/nvidia-ctk"),)
    (outcome,) = outcomes_of(CDI_CHECKS, HOOKS, host(paths={HOOK: None}, toolkit=tools))
    assert outcome.evidence[-1].source == "/usr/bin/nvidia-ctk"


def test_both_sets_of_mig_devices_are_told() -> None:
    """Field case F75."""
    (outcome,) = outcomes_of(CDI_CHECKS, MIG, mig_host(mig_file("MIG-gone", 21)))
    assert [evidence.value for evidence in outcome.evidence] == [
        f"missing: gpu0/mig/gi1/access (nvidia-cap12), gpu0/mig/gi1/ci0/access (nvidia-cap13), {MIG_UUID}",
        "stale: nvidia-cap21, MIG-gone",
    ]


@pytest.mark.parametrize(
    ("snapshot", "root"),
    [
        (host(paths={LIBRARY: None}, **loaded(NEWER)), "cdi.stale-driver[/var/run/cdi/nvidia.yaml]"),
        (
            host(nvml=make_nvml(make_nvml_gpu(FIRST, 0)), paths={"/dev/nvidia1": None}),
            "cdi.stale-devices",
        ),
        (mig_host(mig_file("0:0", 12, 13, 21), paths={"/dev/nvidia-caps/nvidia-cap21": None}), "cdi.stale-mig"),
    ],
    ids=["driver", "gpu", "mig"],
)
def test_missing_paths_are_explained_by_what_changed(snapshot: Snapshot, root: str) -> None:
    findings = find_causes(run_checks(CDI_CHECKS, snapshot), ALL_CHECKS)
    assert [finding.key for finding in findings if finding.is_root] == [root]
    (missing,) = [finding for finding in findings if finding.check.id == PATHS]
    assert missing.caused_by == (root,)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nvidia.com/gds", "ctk cdi generate --mode=gds --output=/etc/cdi/x.yaml"),
        ("nvidia.com/imex-channel", "ctk cdi generate --mode=imex --output=/etc/cdi/x.yaml"),
        ("management.nvidia.com/gpu", "ctk cdi generate --mode=management --output=/etc/cdi/x.yaml"),
        ("k8s.device-plugin.nvidia.com/gpu", "Restart the device plugin"),
    ],
)
def test_each_kind_is_made_anew_by_whoever_makes_it(kind: str, words: str) -> None:
    snapshot = host(make_cdi_file(make_gpu_spec(kind=kind), "/etc/cdi/x.yaml"), paths={LIBRARY: None})
    (outcome,) = outcomes_of(CDI_CHECKS, PATHS, snapshot)
    assert outcome.remedy is not None
    assert words in [outcome.remedy.summary.partition(" on this")[0], *(row.text for row in outcome.remedy.commands)]
