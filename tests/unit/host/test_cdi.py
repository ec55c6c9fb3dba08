"""Spec folders, their files and what those name are told as they are; nothing is judged, nothing hangs or raises."""

import os
from pathlib import Path
from typing import Any

import pytest

from ctk.cdi.document import render_yaml
from ctk.facts import Unknown
from ctk.facts.cdi import REFUSED, Cdi, CdiFile, CdiFolder, CdiHostPath
from ctk.facts.cdi_spec import SpecDevice, SpecDeviceNode, SpecEdits
from ctk.facts.engines import EngineFiles
from ctk.host import LocalHost
from ctk.host.cdi import collect_cdi, collect_host_paths, collect_specs
from tests.builders import make_engine
from tests.cdi_builders import HOOK, LIBRARIES, VERSION, make_gpu_spec
from tests.conftest import AsNobody
from tests.fake_host import FakeHost
from tests.toolkit_builders import make_toolkit_setup
from tests.unit.host.trees import Link, Program, plant

SPEC = make_gpu_spec()
TEXT = render_yaml(SPEC)
USUAL = {"/etc/cdi": (), "/var/run/cdi": ()}
LIBRARY = f"{LIBRARIES}/libcuda.so.{VERSION}"


def specs(tmp_path: Path, files: dict[str, str], folders: Any = None) -> Cdi:
    return collect_specs(plant(tmp_path, files), USUAL if folders is None else folders)


def paths_of(cdi: Cdi) -> list[str]:
    assert isinstance(cdi.files, tuple)
    return [file.path for file in cdi.files]


def only_file(cdi: Cdi) -> CdiFile:
    assert isinstance(cdi.files, tuple)
    (file,) = cdi.files
    return file


def test_folders_and_files_with_their_rights(tmp_path: Path) -> None:
    cdi = specs(tmp_path, {"/etc/cdi/nvidia.yaml": TEXT})
    assert cdi.folders == (CdiFolder("/etc/cdi", "/etc/cdi", 0o755, 0), CdiFolder("/var/run/cdi", None))
    file = only_file(cdi)
    assert (file.path, file.folder, file.spec, file.faults) == ("/etc/cdi/nvidia.yaml", "/etc/cdi", SPEC, ())
    assert (file.mode, file.uid, file.is_loaded) == (0o644, 0, True)
    assert file.modified_at is not None
    assert file.modified_at.endswith("Z")


def test_only_two_endings_are_read_and_the_others_are_named(tmp_path: Path) -> None:
    names = ("a.yaml", "b.json", "c.yml", "d.yaml.bak", "README", "e.yaml.d/x.yaml")
    cdi = specs(tmp_path, {f"/etc/cdi/{name}": TEXT for name in names})
    assert paths_of(cdi) == ["/etc/cdi/a.yaml", "/etc/cdi/b.json"]
    assert isinstance(cdi.folders, tuple)
    assert cdi.folders[0].ignored == ("README", "c.yml", "d.yaml.bak", "e.yaml.d")


def test_a_folder_of_such_a_name_is_passed_over(tmp_path: Path) -> None:
    assert paths_of(specs(tmp_path, {"/etc/cdi/x.yaml/y.yaml": TEXT})) == []


def test_one_place_by_two_names_is_read_once(tmp_path: Path) -> None:
    """Field case F74."""
    folders = {"/var/run/cdi": ("docker",), "/run/cdi": ()}
    cdi = specs(tmp_path, {"/run/cdi/a.yaml": TEXT, "/var/run": Link("/run")}, folders)
    assert paths_of(cdi) == ["/var/run/cdi/a.yaml"]
    assert only_file(cdi).folder == "/run/cdi"
    assert isinstance(cdi.folders, tuple)
    assert [folder.real_path for folder in cdi.folders] == ["/run/cdi", "/run/cdi"]
    assert cdi.folders[0].named_by == ("docker",)


def test_links_are_followed_below_the_root(tmp_path: Path) -> None:
    files = {"/etc/cdi/a.yaml": Link("/opt/a.yaml"), "/opt/a.yaml": TEXT, "/etc/cdi/b.yaml": Link("/gone")}
    cdi = specs(tmp_path, files)
    assert isinstance(cdi.files, tuple)
    assert cdi.files[0].spec == SPEC
    assert cdi.files[1].spec is None
    assert [fault.message for fault in cdi.files[1].faults] == ["it is a link that leads to no file"]


def test_a_bad_file_has_its_faults_with_lines(tmp_path: Path) -> None:
    file = only_file(specs(tmp_path, {"/etc/cdi/a.yaml": TEXT.replace("0.5.0", "0.4.0").replace("void", "x")}))
    assert [(fault.where, fault.line, fault.level) for fault in file.faults] == [("cdiVersion", 2, REFUSED)]
    assert not file.is_loaded


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/etc/cdi/.keep": ""})
    os.mkfifo(tmp_path / "etc/cdi/a.yaml")
    file = only_file(collect_specs(host, USUAL))
    assert file.spec == Unknown("not a regular file")


def test_a_file_where_a_folder_should_be_could_not_be_looked_into(tmp_path: Path) -> None:
    cdi = specs(tmp_path, {"/etc/cdi": "a file"})
    assert isinstance(cdi.folders, tuple)
    assert cdi.folders[0].real_path == Unknown("it is no folder")


def test_what_may_not_be_read_is_unknown(tmp_path: Path, as_nobody: AsNobody) -> None:
    files = {"/etc/cdi/a.yaml": TEXT, "/var/run/cdi/b.yaml": TEXT}
    host = plant(tmp_path, files)
    (tmp_path / "etc/cdi/a.yaml").chmod(0)
    (tmp_path / "var/run/cdi").chmod(0o711)
    cdi = as_nobody(lambda: collect_specs(host, USUAL))
    assert only_file(cdi).spec == Unknown("permission denied")
    assert isinstance(cdi.folders, tuple)
    assert cdi.folders[1].real_path == Unknown("permission denied")


def test_every_named_path_is_looked_at_once(tmp_path: Path) -> None:
    node = SpecEdits(device_nodes=(SpecDeviceNode("/dev/x", "/dev/nvidia7"),))
    spec = SPEC._replace(devices=(*SPEC.devices, SpecDevice("7", node)))
    plant(
        tmp_path, {"/etc/cdi/a.yaml": render_yaml(spec), LIBRARY: "", HOOK: Program("#!/bin/sh\n"), "/dev/nvidia7": ""}
    )
    rows = {"device": [{"path": "/dev/nvidia0", "major": 195, "minor": 0, "gid": 44, "mode": "0660"}]}
    host = FakeHost(str(tmp_path), rows)
    found = collect_host_paths(host, collect_specs(host, USUAL).files)
    assert isinstance(found, tuple)
    assert {state.path: (state.kind, state.is_executable) for state in found} == {
        "/dev/nvidiactl": (None, False),
        LIBRARY: ("file", False),
        HOOK: ("file", True),
        "/dev/nvidia0": ("char", False),
        "/dev/nvidia1": (None, False),
        "/dev/nvidia7": ("file", False),
    }
    assert next(state for state in found if state.kind == "char") == CdiHostPath(
        "/dev/nvidia0", "char", 0o660, 0, 44, 195, 0
    )


def test_a_relative_path_is_not_looked_for(tmp_path: Path) -> None:
    edits = SpecEdits(device_nodes=(SpecDeviceNode("nvidia0"),))
    host = plant(
        tmp_path, {"/etc/cdi/a.yaml": render_yaml(SPEC._replace(devices=(SpecDevice("0", edits),), edits=SpecEdits()))}
    )
    found = collect_host_paths(host, collect_specs(host, USUAL).files)
    assert found == (CdiHostPath("nvidia0", Unknown("it is no absolute path")),)


def test_folders_of_engines_and_toolkit_are_looked_at_too(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/opt/cdi/a.yaml": TEXT})
    engine = make_engine(
        version="28.3.0", daemon=None, files=EngineFiles((), None, None, cdi_directories=("/opt/cdi",))
    )
    cdi = collect_cdi(host, (engine,), make_toolkit_setup())
    assert isinstance(cdi.folders, tuple)
    assert [(folder.path, folder.named_by) for folder in cdi.folders] == [
        ("/etc/cdi", ("the toolkit's runtime",)),
        ("/var/run/cdi", ("the toolkit's runtime",)),
        ("/run/cdi", ()),
        ("/opt/cdi", ("docker (system)",)),
    ]
    assert paths_of(cdi) == ["/opt/cdi/a.yaml"]
    assert isinstance(cdi.host_paths, tuple)
    assert len(cdi.host_paths) == 5


def test_unknown_engines_leave_the_usual_folders(tmp_path: Path) -> None:
    cdi = collect_cdi(plant(tmp_path, {"/etc/cdi/a.yaml": TEXT}), Unknown("no"), Unknown("no"))
    assert paths_of(cdi) == ["/etc/cdi/a.yaml"]


@pytest.mark.real
def test_on_the_live_root_nothing_is_put_in_front(tmp_path: Path) -> None:
    plant(tmp_path, {"/cdi/a.yaml": TEXT})
    cdi = collect_specs(LocalHost(), {f"{tmp_path}/cdi": ()})
    assert only_file(cdi).folder == f"{tmp_path}/cdi"
