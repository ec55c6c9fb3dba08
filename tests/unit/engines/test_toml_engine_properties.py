"""Properties of containerd's and CRI-O's edits over random files: idempotent, undone exactly, foreign keys equal."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctk.edit.compare import edited_only
from ctk.engines import containerd, containerd_remove, containerd_view, crio, crio_remove
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.engines.containerd import Destination
from ctk.engines.containerd_layout import read_layout
from ctk.errors import CtkError, ParseFault, Refused, SelfCheckFault
from tests.unit.engines.engine_texts import (
    CRIO_DROP_IN,
    CRIO_MAIN,
    DROP_IN,
    PLUGINS,
    Files,
    containerd_files,
    crio_files,
)

Layers = tuple[Layer, ...]
SPECS = st.builds(
    RuntimeSpec,
    st.sampled_from(("nvidia", "nvidia", "gpu.x")),
    st.just("/usr/bin/nvidia-container-runtime"),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
DESTINATIONS = st.sampled_from((Destination(DROP_IN), Destination(in_main=True), Destination(DROP_IN, explicit=True)))
ENGINES = st.sampled_from((None, (1, 6), (1, 7), (2, 1), (2, 3)))
DUMP = {
    "plugins": {
        plugin: {
            "sandbox_image": "leak/pause:1",
            "cni": {"bin_dir": "/leak/bin"},
            "containerd": {
                "default_runtime_name": "runc",
                "runtimes": {"runc": {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}},
                "snapshotter": "leak",
            },
        }
        for plugin in ("io.containerd.grpc.v1.cri",)
    },
    "root": "/leak",
}


def after(layers: Layers, outcome: EditOutcome) -> Layers:
    return tuple(Layer(layer.path, outcome.texts.get(layer.path, layer.text)) for layer in layers)


def originals(layers: Layers) -> dict[str, str | None]:
    return {layer.path: layer.text for layer in layers}


def check_back(start: Layers, end: Layers) -> None:
    """Every file as it was; one that was made may keep its version line (the planner removes such a file)."""
    for old, new in zip(start, end, strict=True):
        if old.text is None:
            assert new.text is None or set(tomllib.loads(new.text)) <= {"version"}
        else:
            assert new.text == old.text


def check_containerd(
    files: Files, spec: RuntimeSpec, destination: Destination, engine: tuple[int, int] | None, with_dump: bool
) -> bool:
    """One configuration there and back; False where it is refused."""
    start = files.layers
    there = tuple(layer.path for layer in start[1:] if layer.text is not None)
    destination = destination._replace(folder_files=there)
    dump = DUMP if with_dump else None
    try:
        outcome = containerd.configure(start, spec, destination, engine=engine, dump=dump)
    except SelfCheckFault:
        raise
    except CtkError:
        return False
    new = after(start, outcome)
    assert containerd.configure(new, spec, destination, engine=engine, dump=dump).texts == {}
    assert containerd_view.view(new, spec.name, engine).path == spec.path
    assert not any("leak" in (layer.text or "") for layer in new), "a dump only gives the default runtime's own keys"
    check_foreign(start, new, outcome, spec, engine)
    back = containerd_remove.unconfigure(new, spec.name, originals(start), engine=engine)
    check_back(start, after(new, back))
    blind = after(new, containerd_remove.unconfigure(new, spec.name, {}, engine=engine))
    assert not containerd_remove.holds(blind, spec.name)
    return True


def check_foreign(
    start: Layers, new: Layers, outcome: EditOutcome, spec: RuntimeSpec, engine: tuple[int, int] | None
) -> None:
    """Foreign keys are equal in every file, and in what containerd sees, however it merges."""
    for old, now in zip(start, new, strict=True):
        assert edited_only(tomllib.loads(old.text or ""), tomllib.loads(now.text or ""), outcome.owned) == ()
    before, result = read_layout(start, engine), read_layout(new, engine)
    plugin = ("plugins", PLUGINS[before.version])
    ours = (
        ("imports",),
        ("version",),
        (*plugin, "enable_cdi"),
        (*plugin, "containerd", "default_runtime_name"),
        (*plugin, "containerd", "runtimes", spec.name),
        (*plugin, "containerd", "runtimes", "runc"),
    )
    for merges in (True, False) if before.merges is None else (before.merges,):
        assert edited_only(before.merged(merges), result.merged(merges), ours) == ()


def check_crio(files: Files, spec: RuntimeSpec, in_main: bool) -> bool:
    """One configuration there and back; False where it is refused."""
    start = files.layers
    destination = crio.Destination(CRIO_MAIN if in_main else CRIO_DROP_IN, in_main)
    try:
        outcome = crio.configure(start, spec, destination)
    except (Refused, ParseFault):
        return False
    new = after(start, outcome)
    assert set(outcome.texts) <= {destination.target}, "other people's files are only read"
    assert crio.configure(new, spec, destination).texts == {}
    assert crio.view(new, spec.name).path == spec.path
    owned = (crio.DEFAULT, crio.entry_path(spec.name))
    for old, now in zip(start, new, strict=True):
        assert edited_only(tomllib.loads(old.text or ""), tomllib.loads(now.text or ""), owned) == ()
    seen = crio.view(start, spec.name)
    if seen.registered or not seen.is_default:  # else a default of others pointed at nothing, and goes with ours
        back = crio_remove.unconfigure(new, spec.name, {destination.target: originals(start)[destination.target]})
        check_back(start, after(new, back))
    blind = after(new, crio_remove.unconfigure(new, spec.name, {}))
    assert not crio_remove.holds(blind, spec.name)
    assert crio.view(blind, spec.name).default_runtime != spec.name
    return True


@settings(max_examples=30)
@given(containerd_files(), SPECS, DESTINATIONS, ENGINES, st.booleans())
def test_containerd(
    files: Files, spec: RuntimeSpec, destination: Destination, engine: tuple[int, int] | None, with_dump: bool
) -> None:
    check_containerd(files, spec, destination, engine, with_dump)


@pytest.mark.long
@settings(settings.get_profile("long"))
@given(containerd_files(), SPECS, DESTINATIONS, ENGINES, st.booleans())
def test_containerd_long(
    files: Files, spec: RuntimeSpec, destination: Destination, engine: tuple[int, int] | None, with_dump: bool
) -> None:
    check_containerd(files, spec, destination, engine, with_dump)


@settings(max_examples=30)
@given(crio_files(), SPECS, st.booleans())
def test_crio(files: Files, spec: RuntimeSpec, in_main: bool) -> None:
    check_crio(files, spec, in_main)


@pytest.mark.long
@settings(settings.get_profile("long"))
@given(crio_files(), SPECS, st.booleans())
def test_crio_long(files: Files, spec: RuntimeSpec, in_main: bool) -> None:
    check_crio(files, spec, in_main)
