"""Who may change what root's hooks trust: every folder above, behind links too."""

import os
from pathlib import Path

from ctk.facts import Unknown
from ctk.facts.engines import EngineFiles, EngineRuntime
from ctk.facts.rights import Place, Rights
from ctk.host.rights import collect_rights
from tests.builders import make_engine
from tests.conftest import AsNobody
from tests.unit.host.trees import Link, Program, plant

CONFIG = "/etc/nvidia-container-runtime/config.toml"


def collect(tmp_path: Path, tree: dict[str, str], **engine: object) -> dict[str, Place]:
    host = plant(tmp_path, tree)
    found = collect_rights(host, (make_engine(**engine),) if engine else ())
    assert isinstance(found, Rights)
    assert found.hidden is None
    return {place.path: place for place in found.places}


def test_the_file_and_all_folders_above_it(tmp_path: Path) -> None:
    places = collect(tmp_path, {CONFIG: ""})
    assert set(places) == {"/etc", "/etc/nvidia-container-runtime", CONFIG}
    assert places[CONFIG] == Place(CONFIG, 0o644, 0, 0, CONFIG)
    assert places["/etc"].is_directory


def test_modes_are_told_as_they_are(tmp_path: Path) -> None:
    plant(tmp_path, {CONFIG: ""})
    (tmp_path / "etc/nvidia-container-runtime").chmod(0o777)
    assert collect(tmp_path, {})["/etc/nvidia-container-runtime"].mode == 0o777


def test_the_owner_of_the_roots_top_stands_for_root(tmp_path: Path) -> None:
    """A tree that was unpacked by a user is his from top to bottom."""
    plant(tmp_path, {CONFIG: ""})
    if os.geteuid() == 0:
        for path in (tmp_path, *tmp_path.rglob("*")):
            os.chown(path, 1234, 1234)
        os.chown(tmp_path / "etc", 1235, 1235)
        places = collect(tmp_path, {})
        assert (places[CONFIG].uid, places[CONFIG].gid) == (0, 0)
        assert (places["/etc"].uid, places["/etc"].gid) == (1235, 1235)
    else:
        assert {place.uid for place in collect(tmp_path, {}).values()} == {0}


def test_what_a_link_leads_to_is_looked_at_too(tmp_path: Path) -> None:
    places = collect(tmp_path, {CONFIG: Link("/srv/site/toolkit.toml"), "/srv/site/toolkit.toml": ""})
    assert {"/srv", "/srv/site", "/srv/site/toolkit.toml", CONFIG} <= set(places)


def test_files_and_runtimes_of_engines(tmp_path: Path) -> None:
    runtime = "/opt/site/nvidia-container-runtime"
    files = {"/srv/daemon.json": "", "/srv/x.d/a.toml": "", runtime: Program(""), "/home/alice/daemon.json": ""}
    told = EngineFiles((EngineRuntime("nvidia", runtime, None), EngineRuntime("x", "by-name", None)), None, None)
    places = collect(tmp_path, files, config_path="/srv/daemon.json", drop_ins=("/srv/x.d/a.toml",), files=told)
    assert {"/srv/daemon.json", "/srv/x.d/a.toml", runtime, "/opt/site"} <= set(places)
    rootless = collect(tmp_path, {}, config_path="/home/alice/daemon.json", user="alice")
    assert "/home/alice" not in rootless


def test_what_is_hidden_is_said(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {CONFIG: "", "/etc/cdi/nvidia.yaml": ""})
    (tmp_path / "etc/cdi").chmod(0)
    found = as_nobody(collect_rights, host, ())
    assert isinstance(found, Rights)
    assert found.hidden == Unknown("/etc/cdi/*: permission denied")
    assert CONFIG in {place.path for place in found.places}
