"""containerd's edits over the whole corpus, for every release, default or not, CDI or not, main file or drop-in."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ctk.edit.compare import edited_only
from ctk.edit.text import decode_config
from ctk.engines import containerd, containerd_remove, containerd_view
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.engines.containerd import Destination
from ctk.errors import Refused

CORPUS = sorted((Path(__file__).parents[2] / "corpus" / "containerd").glob("*.toml"))
MAIN = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"
CRI2 = 'plugins."io.containerd.grpc.v1.cri"'
ENGINES = (None, (1, 6), (1, 7), (2, 1))
DESTINATIONS = (Destination(DROP_IN), Destination(in_main=True), Destination(DROP_IN, explicit=True))
Layers = tuple[Layer, ...]


class Run(NamedTuple):
    """One way to configure one file."""

    spec: RuntimeSpec
    destination: Destination
    engine: tuple[int, int] | None

    def layers(self, text: str) -> Layers:
        return (Layer(MAIN, text), *((Layer(DROP_IN, None),) if self.destination.drop_in else ()))

    def configure(self, layers: Layers) -> EditOutcome:
        return containerd.configure(layers, self.spec, self.destination, engine=self.engine)

    def unconfigure(self, layers: Layers, start: Layers) -> EditOutcome:
        originals = {layer.path: layer.text for layer in start}
        return containerd_remove.unconfigure(layers, self.spec.name, originals, engine=self.engine)


def some_runs() -> tuple[Run, ...]:
    """One for each place the keys can go to."""
    plain = RuntimeSpec("nvidia", "/usr/bin/nvidia-container-runtime", systemd_cgroup=True)
    everything = plain._replace(set_as_default=True, enable_cdi=True)
    return (
        Run(plain, Destination(DROP_IN), None),
        Run(everything, Destination(DROP_IN), (1, 7)),
        Run(everything, Destination(DROP_IN), (2, 1)),
        Run(everything, Destination(DROP_IN, explicit=True), (1, 6)),
    )


def all_runs() -> Iterator[Run]:
    """Every combination."""
    for engine in ENGINES:
        for destination in DESTINATIONS:
            for default in (False, True):
                for cdi in (False, True):
                    spec = RuntimeSpec("nvidia", "/usr/bin/nvidia-container-runtime", default, cdi, True)
                    yield Run(spec, destination, engine)


def after(layers: Layers, outcome: EditOutcome) -> Layers:
    """The files after an edit."""
    return tuple(Layer(layer.path, outcome.texts.get(layer.path, layer.text)) for layer in layers)


def read(path: Path) -> str:
    """A corpus file's text."""
    return decode_config(path.read_bytes(), str(path)).text


def is_refused_rightly(run: Run, text: str, refusal: Refused) -> bool:
    """CRI is off in that file, or this release does not read its version."""
    version = tomllib.loads(text).get("version", 1)
    if refusal.force == "cri-disabled":
        return "cri" in str(tomllib.loads(text)["disabled_plugins"])
    is_new = run.engine is not None and run.engine >= (2, 0)
    return refusal.force == "config-version" and version != 2 and is_new != (version > 2)


def test_the_corpus_is_there() -> None:
    assert len(CORPUS) > 20


def check_cycle(run: Run, text: str) -> bool:
    """Twice is once, and back is the start; False where it is refused, rightly."""
    layers = run.layers(text)
    try:
        new = after(layers, run.configure(layers))
    except Refused as refusal:
        if not is_refused_rightly(run, text, refusal):
            raise
        return False
    assert run.configure(new).texts == {}
    assert run._replace(engine=None).configure(new).texts == {}, "who it is is asked only if something is to be done"
    end = after(new, run.unconfigure(new, layers))
    assert end[0].text == text
    assert all(set(tomllib.loads(layer.text or "")) <= {"version"} for layer in end[1:])
    return True


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_configured_twice_is_configured_once_and_unconfigured_is_the_start(path: Path) -> None:
    done = [check_cycle(run, read(path)) for run in some_runs()]
    assert any(done) or "disabled" in path.stem or "docker-package" in path.stem


@pytest.mark.long
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_way_to_configure_a_file_can_be_taken_back(path: Path) -> None:
    done = [check_cycle(run, read(path)) for run in all_runs()]
    assert any(done) or "disabled" in path.stem or "docker-package" in path.stem


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_hand_edits_in_between_survive_the_removal(path: Path) -> None:
    """An admin adds a table and a comment in between: exactly those stay beside the starting text."""
    text = read(path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = ("", "# added by hand", "[proxy_plugins.by-hand]", '  address = "/run/x.sock"')
    added = ("" if text.endswith("\n") else newline) + "".join(line + newline for line in lines)
    for run in some_runs():
        layers = run.layers(text)
        try:
            new = after(layers, run.configure(layers))
        except Refused:
            continue
        edited = (new[0]._replace(text=(new[0].text or "") + added), *new[1:])
        end = after(edited, run.unconfigure(edited, layers))
        # A text without a final newline gets one from the hand, so that the first of our lines may be its neighbour.
        assert (end[0].text or "").split() == (text + added).split()
        assert edited_only(tomllib.loads(text), tomllib.loads(end[0].text or ""), [("proxy_plugins", "by-hand")]) == ()


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
@pytest.mark.parametrize("first", ["nvidia", "nvidia-b"])
def test_of_two_names_the_other_stays_whole(path: Path, first: str) -> None:
    text = read(path)
    second = "nvidia-b" if first == "nvidia" else "nvidia"
    for engine in ((1, 7), (2, 1)):
        run = Run(RuntimeSpec(first, "/usr/bin/a"), Destination(DROP_IN), engine)
        other = run._replace(spec=RuntimeSpec(second, "/usr/bin/b"))
        layers = run.layers(text)
        try:
            one = after(layers, run.configure(layers))
        except Refused:
            continue
        both = after(one, other.configure(one))
        left = after(both, run.unconfigure(both, layers))
        assert not containerd_view.view(left, first, engine).registered
        view = containerd_view.view(left, second, engine)
        assert (view.registered, view.path) == (True, "/usr/bin/b")
        alone = after(layers, other.configure(layers))
        assert [tomllib.loads(layer.text or "") for layer in left] == [
            tomllib.loads(layer.text or "") for layer in alone
        ]
        assert after(left, other.unconfigure(left, layers))[0].text == text


def test_a_default_that_was_given_by_hand_since_is_not_ours_to_give_back() -> None:
    text = f'version = 2\n[{CRI2}.containerd]\ndefault_runtime_name = "runc"\n'
    run = Run(RuntimeSpec("nvidia", "/n", set_as_default=True), Destination(DROP_IN), (1, 7))
    layers = run.layers(text)
    new = after(layers, run.configure(layers))
    by_hand = (new[0]._replace(text=(new[0].text or "").replace('= "nvidia"', '= "kata"')), *new[1:])
    end = after(by_hand, run.unconfigure(by_hand, layers))
    assert (end[0].text or "") == text.replace('"runc"', '"kata"')


def test_a_fault_of_the_editor_is_caught_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from ctk.edit import toml
    from ctk.errors import SelfCheckFault

    right = toml.set_value
    monkeypatch.setattr(toml, "set_value", lambda text, key, value: right(text, key, value) + "\n[stray]\nx = 1\n")
    run = Run(RuntimeSpec("nvidia", "/n", set_as_default=True), Destination(DROP_IN), (1, 7))
    with pytest.raises(SelfCheckFault, match="would also change stray"):
        run.configure(run.layers("version = 2\n"))
