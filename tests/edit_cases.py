"""Case folders of engine edits as values: files before and after, what is asked, what is expected; runs no engine.

tests/cases/engines/<engine>/<operation>/<case>/ holds

    spec.toml     why (a sentence) and what is asked; see Asked
    before        the main file, absent = there is none; or a folder that mirrors the host's paths
    after         the main file afterwards, absent = it stays as it is; or a folder with the files that change
    original      for unconfigure: the file or files from before the first configure
    error.toml    for what is refused: code, and phrases, line, column, path as far as they matter
    dump          a configuration dump to inherit from
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ctk.edit.text import ConfigText, decode_config
from ctk.engines.base import Layer, RuntimeSpec
from ctk.facts.engines import EngineFlag

CASES = Path(__file__).parent / "cases" / "engines"
MAIN_FILES = {
    "docker": "/etc/docker/daemon.json",
    "containerd": "/etc/containerd/config.toml",
    "crio": "/etc/crio/crio.conf",
}
DEFAULT_PATH = "/usr/bin/nvidia-container-runtime"


class Expected(NamedTuple):
    """The error that is to be raised; None where the case does not care."""

    code: str
    phrases: tuple[str, ...] = ()
    line: int | None = None
    column: int | None = None
    path: str | None = None


class Asked(NamedTuple):
    """spec.toml: the runtime, and what an engine needs besides.

    layers: the files in load order, default the main file and then those of before/ by name. warnings, notes: phrases,
    one for each sentence that must come; none but them may come unless talkative is set. created: files that were
    not there before the first configure.
    """

    why: str
    spec: RuntimeSpec
    layers: tuple[str, ...]
    destination: Mapping[str, object]
    engine_version: tuple[int, int] | None
    flags: tuple[EngineFlag, ...]
    forced: frozenset[str]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    talkative: bool
    needs_restart: bool | None
    original_absent: bool
    removed: tuple[str, ...]
    created: tuple[str, ...]


class Case(NamedTuple):
    """One folder."""

    folder: Path
    engine: str
    operation: str
    asked: Asked

    @property
    def main(self) -> str:
        """The main file's path on the host."""
        return MAIN_FILES[self.engine]

    def files(self, name: str) -> dict[str, bytes]:
        """The contents below `name`, by path on the host."""
        place = self.folder / name
        if place.is_dir():
            found = (each for each in sorted(place.rglob("*")) if each.is_file())
            return {"/" + each.relative_to(place).as_posix(): each.read_bytes() for each in found}
        return {self.main: place.read_bytes()} if place.is_file() else {}

    def before(self) -> dict[str, ConfigText | None]:
        """The decoded files in load order. Raises ParseFault."""
        contents = self.files("before")
        paths = self.asked.layers or (self.main, *(path for path in contents if path != self.main))
        return {path: decode_config(contents[path], path) if path in contents else None for path in paths}

    def originals(self) -> dict[str, str | None]:
        """The texts from before the first configure; empty where there is no known past."""
        if self.asked.original_absent:
            return {self.main: None}
        known = {path: decode_config(data, path).text for path, data in self.files("original").items()}
        return {**known, **dict.fromkeys(self.asked.created)}

    def dump(self) -> Mapping[str, object] | None:
        """The dump to inherit from."""
        place = self.folder / "dump"
        return tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else None

    def expected_error(self) -> Expected | None:
        """What error.toml says."""
        place = self.folder / "error.toml"
        if not place.is_file():
            return None
        values = tomllib.loads(place.read_text(encoding="utf-8"))
        return Expected(**{**values, "phrases": tuple(values.get("phrases", ()))})


def as_layers(texts: Mapping[str, ConfigText | None]) -> tuple[Layer, ...]:
    """The files as the engines take them."""
    return tuple(Layer(path, text.text if text else None) for path, text in texts.items())


def load_cases() -> list[Case]:
    """Every case folder, in the order of its name."""
    return [_load(each.parent) for each in sorted(CASES.glob("*/*/*/spec.toml"))]


def _load(folder: Path) -> Case:
    values = tomllib.loads((folder / "spec.toml").read_text(encoding="utf-8"))
    engine, operation = folder.parts[-3:-1]
    asked = Asked(
        why=values.pop("why"),
        spec=_spec(values.pop("spec", {})),
        layers=tuple(values.pop("layers", ())),
        destination=values.pop("destination", {}),
        engine_version=_version(values.pop("engine_version", None)),
        flags=tuple(EngineFlag(**flag) for flag in values.pop("flags", ())),
        forced=frozenset(values.pop("forced", ())),
        warnings=tuple(values.pop("warnings", ())),
        notes=tuple(values.pop("notes", ())),
        talkative=values.pop("talkative", False),
        needs_restart=values.pop("needs_restart", None),
        original_absent=values.pop("original_absent", False),
        removed=tuple(values.pop("removed", ())),
        created=tuple(values.pop("created", ())),
    )
    if values:
        raise ValueError(f"{folder}/spec.toml: unknown keys {sorted(values)}")
    return Case(folder, engine, operation, asked)


def _spec(values: dict[str, object]) -> RuntimeSpec:
    return RuntimeSpec(**{"name": "nvidia", "path": DEFAULT_PATH, **values})  # type: ignore[arg-type] # from the file


def _version(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    major, minor = text.split(".")[:2]
    return int(major), int(minor)
