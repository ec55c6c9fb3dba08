"""Valid values of CDI: a spec with every field, and a host whose spec is true; override what a test is about."""

from collections.abc import Mapping

from ctk.cdi.host_paths import host_paths_of
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiFile, CdiFolder, CdiHostPath
from ctk.facts.cdi_spec import (
    CdiSpec,
    SpecAnnotation,
    SpecDevice,
    SpecDeviceNode,
    SpecEdits,
    SpecHook,
    SpecIntelRdt,
    SpecMount,
    SpecNetDevice,
)

FULL_SPEC = CdiSpec(
    "1.1.0",
    "nvidia.com/gpu",
    (
        SpecDevice(
            "0",
            SpecEdits(
                env=("A=1", "B=yes"),
                device_nodes=(SpecDeviceNode("/dev/nvidia0", "/drv/dev/nvidia0", "c", 195, 0, 0o660, "rwm", 1, 44),),
                net_devices=(SpecNetDevice("eth1", "net0"),),
                mounts=(SpecMount("/a", "/b", ("ro", "rbind"), "bind"),),
                hooks=(
                    SpecHook("createContainer", "/usr/bin/nvidia-cdi-hook", ("nvidia-cdi-hook", "755"), ("X=",), 5),
                ),
                additional_gids=(44,),
                intel_rdt=SpecIntelRdt("clos", "L3:0=f", "MB:0=20", None, None, ("L2:0=1",), True),
            ),
            (SpecAnnotation("a.example/b", "12"),),
        ),
        SpecDevice("all", SpecEdits(env=("A=n",))),
    ),
    SpecEdits(env=("NVIDIA_VISIBLE_DEVICES=void",)),
    (SpecAnnotation("note", "no"),),
)

VERSION = "580.95.05"
FILE = "/var/run/cdi/nvidia.yaml"
STATIC_FILE = "/etc/cdi/nvidia.yaml"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
HOOK = "/usr/bin/nvidia-cdi-hook"
NVIDIA_MAJOR = 195


def make_gpu_node(minor: int = 0, **changes: object) -> SpecDeviceNode:
    """The node of one GPU, with its numbers."""
    return SpecDeviceNode(f"/dev/nvidia{minor}", major=NVIDIA_MAJOR, minor=minor)._replace(**changes)


def make_device(name: str, *minors: int) -> SpecDevice:
    """A device of one GPU, or several."""
    return SpecDevice(name, SpecEdits(device_nodes=tuple(make_gpu_node(minor) for minor in minors)))


def make_common(version: str = VERSION) -> SpecEdits:
    """A control node, one library and a hook, as nvidia-ctk writes them."""
    library = f"{LIBRARIES}/libcuda.so.{version}"
    return SpecEdits(
        env=("NVIDIA_VISIBLE_DEVICES=void",),
        device_nodes=(SpecDeviceNode("/dev/nvidiactl", major=NVIDIA_MAJOR, minor=255),),
        mounts=(SpecMount(library, library, ("ro", "nosuid", "nodev", "rbind", "rprivate")),),
        hooks=(SpecHook("createContainer", HOOK, ("nvidia-cdi-hook", "update-ldcache", "--folder", LIBRARIES)),),
    )


def make_gpu_spec(*devices: SpecDevice, version: str = VERSION, **changes: object) -> CdiSpec:
    """The two GPUs of tests.driver_builders by index, and all."""
    listed = devices or (make_device("0", 0), make_device("1", 1), make_device("all", 0, 1))
    return CdiSpec("0.5.0", "nvidia.com/gpu", listed, make_common(version))._replace(**changes)


def make_cdi_file(spec: CdiSpec | None | Unknown = None, path: str = FILE, **changes: object) -> CdiFile:
    """A file that everybody may read, in the folder of its path."""
    folder = path.rpartition("/")[0].replace("/var/run", "/run")
    file = CdiFile(path, folder, make_gpu_spec() if spec is None else spec, (), 0o644, 0, "2024-05-01T08:00:20Z")
    return file._replace(**changes)


def make_states(*files: CdiFile) -> tuple[CdiHostPath, ...]:
    """Everything that the files name is there, with the numbers they say."""
    found: dict[str, CdiHostPath] = {}
    for file in files:
        if not isinstance(file.spec, CdiSpec):
            continue
        for named in host_paths_of(file.spec):
            found[named.path] = CdiHostPath(named.path, "file", 0o755, 0, 0)
        for node in (node for edits in file.spec.all_edits for node in edits.device_nodes):
            numbers = (node.major or NVIDIA_MAJOR, node.minor or 0)
            found[node.source] = CdiHostPath(node.source, "char", 0o666, 0, 0, *numbers)
    return tuple(found.values())


def make_folders(*changed: CdiFolder) -> tuple[CdiFolder, ...]:
    """The usual ones, /var/run being a link to /run; others replace those of the same name, or come behind."""
    names = ("docker (system)",)
    usual = (
        CdiFolder("/etc/cdi", "/etc/cdi", 0o755, 0, names),
        CdiFolder("/var/run/cdi", "/run/cdi", 0o755, 0, names),
        CdiFolder("/run/cdi", "/run/cdi", 0o755, 0),
    )
    return tuple({folder.path: folder for folder in (*usual, *changed)}.values())


def make_cdi(
    *files: CdiFile,
    folders: tuple[CdiFolder, ...] | None = None,
    states: Mapping[str, CdiHostPath | Unknown | None] | None = None,
) -> Cdi:
    """One true spec in /var/run/cdi, or these files. states: paths of the host by name, None = it is not there."""
    listed = files or (make_cdi_file(),)
    known = {state.path: state for state in make_states(*listed)}
    for path, state in (states or {}).items():
        known[path] = state if isinstance(state, CdiHostPath) else CdiHostPath(path, state)
    return Cdi(make_folders() if folders is None else folders, listed, tuple(known.values()))
