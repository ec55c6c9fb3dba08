"""Random main files and drop-ins, judged by every containerd there is: its own dump before and after our edit."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctk.engines import containerd, containerd_remove
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.engines.containerd import Destination
from ctk.engines.containerd_judge import judge_configured
from ctk.errors import CtkError, SelfCheckFault
from ctk.facts.command import CommandOutput
from tests.e2e.engines import CONTAINERD_GENERATIONS, need_engine
from tests.unit.engines.engine_texts import FOLDER, Files, containerd_files

pytestmark = pytest.mark.e2e

Layers = tuple[Layer, ...]
NEEDED = 10  # examples that must have come to a judgement; others are refused, or containerd cannot read them
SNAPSHOTTER = "io.containerd.cri.v1.images.snapshotter"
"""containerd 2 forgets `snapshotter` of a version 2 file that names no runtime, and obeys it with one (measured on
2.1.9). Adding any runtime changes it, so the judge is right, and ctk gives back the old file."""


class Judged:
    """One containerd, a folder of its own, and how many examples it was asked about."""

    def __init__(self, binary: str, version: str, folder: Path) -> None:
        self.binary = binary
        self.folder = folder
        major, minor = version.split(".")[:2]
        self.version = (int(major), int(minor))
        self.count = 0

    def moved(self, text: str | None) -> str | None:
        return None if text is None else text.replace("/etc/containerd", str(self.folder))

    def dump(self, layers: Layers) -> CommandOutput:
        for layer in layers:
            path = Path(layer.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if layer.text is not None:
                path.write_bytes(layer.text.encode())
        argv = (self.binary, "--config", layers[0].path, "config", "dump")
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
        return CommandOutput(argv, done.returncode, done.stdout, done.stderr)

    def check(self, files: Files, spec: RuntimeSpec, explicit: bool) -> None:
        start = tuple(Layer(str(self.moved(layer.path)), self.moved(layer.text)) for layer in files.layers)
        for path in (self.folder / "conf.d").glob("*"):
            path.unlink()
        before = self.dump(start)
        if before.returncode != 0:
            return
        there = tuple(layer.path for layer in start[1:] if layer.text is not None)
        destination = Destination(start[-1].path, explicit=explicit, folder_files=there)
        try:
            outcome = containerd.configure(start, spec, destination, engine=self.version)
        except SelfCheckFault:
            raise
        except CtkError:
            return
        new = _after(start, outcome)
        base_is_ours = any(key[-1:] == ("runc",) for key in outcome.owned)
        problems = judge_configured(spec, base_is_ours)(before, self.dump(new))
        assert [problem for problem in problems if not self.is_known(problem, files)] == []
        originals = {layer.path: layer.text for layer in start}
        back = _after(new, containerd_remove.unconfigure(new, spec.name, originals, engine=self.version))
        assert _settings(self.dump(back)) == _settings(before)
        self.count += 1

    def is_known(self, problem: str, files: Files) -> bool:
        return SNAPSHOTTER in problem and files.version == 2 and self.version >= (2, 0)


def _after(layers: Layers, outcome: EditOutcome) -> Layers:
    return tuple(Layer(layer.path, outcome.texts.get(layer.path, layer.text)) for layer in layers)


def _settings(answer: CommandOutput) -> list[str]:
    """A dump without the list of files it was read from."""
    return [line for line in answer.stdout.splitlines() if not line.startswith("imports")]


@pytest.mark.parametrize("generation", CONTAINERD_GENERATIONS)
def test_foreign_settings_stay_and_ours_are_in_force(generation: str) -> None:
    engine = need_engine("containerd", generation)
    with tempfile.TemporaryDirectory(prefix="ctk-layers-") as folder:
        judged = Judged(engine.binary, engine.version, Path(folder))
        (Path(folder) / Path(FOLDER).name).mkdir()
        knows_cdi = judged.version >= (1, 7)

        @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(containerd_files(), st.booleans(), st.booleans(), st.booleans())
        def check(files: Files, default: bool, cdi: bool, explicit: bool) -> None:
            spec = RuntimeSpec("nvidia", "/usr/bin/nvidia-container-runtime", default, cdi and knows_cdi, True)
            judged.check(files, spec, explicit)

        check()
        assert judged.count >= NEEDED
