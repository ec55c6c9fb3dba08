"""Whatever GPUs, MIG devices and nodes a host has: an error with its reason, or a spec that every engine takes."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ctk.cdi.generate import Generated, GenerateRequest, generate
from ctk.cdi.modes import MODES
from ctk.cdi.request import FEATURE_FLAGS, HOOK_FORMS, HOOKS, NAME_STRATEGIES, HookRequest
from ctk.cdi.validate import validate_spec
from ctk.cdi.version import VERSIONS
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.cdi_spec import CdiSpec
from ctk.facts.driver_root import DeviceFile, DriverRoot, GpuSource, LibraryFile, MigInstance, RootGpu, Wsl, WslStore

PATHS = (
    *(
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia0",
        "/dev/nvidia1",
        "/dev/nvidia2",
        "/dev/dri/card0",
        "/dev/dxg",
    ),
    *(f"/dev/nvidia-caps/nvidia-cap{number}" for number in range(6)),
    *(f"/dev/nvidia-caps-imex-channels/channel{number}" for number in range(2)),
)
REASON = Unknown("GPU is lost (NVML 15)")


def records() -> st.SearchStrategy[DriverRoot]:
    """Facts of hosts, most of them odd."""
    caps = st.sampled_from([0, 1, 2, 3, 4, 5, None])
    migs = st.builds(
        MigInstance,
        index=st.integers(0, 2),
        gpu_instance=st.integers(0, 3),
        compute_instance=st.just(0),
        uuid=st.sampled_from(["MIG-a", "MIG-b", "MIG-GPU-a/7/0", None, REASON]),
        gpu_cap=caps,
        compute_cap=caps,
        graphics=st.booleans(),
    )
    gpus = st.builds(
        RootGpu,
        index=st.integers(0, 3),
        minor=st.sampled_from([0, 0, 1, 1, 2, 2, None, REASON]),
        uuid=st.sampled_from(["GPU-a", "GPU-b", None, REASON]),
        is_mig=st.booleans(),
        mig_devices=st.lists(migs, max_size=2, unique_by=lambda mig: mig.index).map(tuple),
        drm=st.sampled_from([(), ("card0",)]),
        coherent=st.sampled_from([None, True, False]),
    )
    nodes = st.builds(
        DeviceFile,
        path=st.just(""),
        major=st.integers(1, 300),
        minor=st.integers(0, 300),
        mode=st.sampled_from([0o666, 0o660, 0o440]),
        gid=st.sampled_from([0, 44]),
    )
    there = st.sets(st.sampled_from(PATHS), max_size=3).map(lambda gone: [path for path in PATHS if path not in gone])
    library = LibraryFile("/usr/lib64/libcuda.so.1.2", "libcuda.so.1")
    return st.builds(
        DriverRoot,
        mode=st.sampled_from(MODES[1:]) | st.just("nvml") | st.just("nvml"),
        driver_root=st.sampled_from(["/", "/run/nvidia/driver"]),
        dev_root=st.sampled_from(["/", "/run/nvidia/driver"]),
        version=st.sampled_from(["1.2"] * 8 + [None, REASON]),
        source=st.sampled_from([GpuSource("nvml"), GpuSource("proc", "why")]),
        gpus=st.lists(gpus, min_size=1, max_size=3, unique_by=lambda gpu: gpu.index).map(tuple),
        nodes=st.tuples(there, nodes).map(lambda pair: tuple(pair[1]._replace(path=path) for path in pair[0])),
        libraries=st.sampled_from([(library,)] * 5 + [()]),
        wsl=st.sampled_from([None, Wsl(None), Wsl("/l/libdxcore.so", (WslStore("/s", ("libcuda.so.1.1",)),))]),
    )


def requests() -> st.SearchStrategy[GenerateRequest]:
    """Requests that make sense."""

    def some(*words: str) -> st.SearchStrategy[tuple[str, ...]]:
        return st.lists(st.sampled_from(words), max_size=3).map(tuple)

    hooks = st.builds(HookRequest, form=st.sampled_from(HOOK_FORMS), disabled=some(*HOOKS), enabled=some(*HOOKS))
    return st.builds(
        GenerateRequest,
        name_strategies=some(*NAME_STRATEGIES).filter(bool),
        device_ids=st.sampled_from([("all",)] * 5 + [("none",), ("0",), ("1:0", "GPU-a")]),
        no_all_device=st.booleans(),
        hooks=hooks,
        feature_flags=some(*FEATURE_FLAGS),
        capabilities=some("compute", "utility", "graphics", "all"),
        max_version=st.sampled_from(["", *VERSIONS]),
    )


def outcome(call: Callable[[], Generated]) -> Generated | str:
    try:
        return call()
    except CtkError as error:
        return error.message


@given(records(), requests())
def test_an_error_with_its_reason_or_a_spec_that_engines_take(facts: DriverRoot, request: GenerateRequest) -> None:
    found = outcome(lambda: generate(facts, request))
    assert found == outcome(lambda: generate(facts, request))
    if isinstance(found, str):
        assert len(found) > 20
        return
    for spec in (found.spec, *(other for _, other in found.others)):
        assert validate_spec(spec) == ()
        assert_of_the_host(spec, facts)
    assert not request.max_version or VERSIONS.index(found.spec.version) <= VERSIONS.index(request.max_version)


def assert_of_the_host(spec: CdiSpec, facts: DriverRoot) -> None:
    """Every node is there, with the host's own numbers; every device has one name."""
    there = {(node.path, node.major, node.minor) for node in facts.nodes}
    told = [(node.path, node.major, node.minor) for edits in spec.all_edits for node in edits.device_nodes]
    assert set(told) <= there
    names = [device.name for device in spec.devices]
    assert names == sorted(set(names))
