"""Who reads specs, from which folders, and whether now: by daemon, flag, file and version."""

import pytest

from ctk.cdi.readers import Reader, readers_of, version_numbers
from ctk.facts import Unknown
from ctk.facts.cdi import DEFAULT_FOLDERS
from ctk.facts.engines import EngineDaemon, EngineFiles, EngineFlag, EngineInstallation
from tests.builders import make_engine
from tests.toolkit_builders import make_config, make_toolkit_setup, make_value

NO = Unknown("no")
OWN = ("/opt/cdi",)
SPEC_FOLDERS = "nvidia-container-runtime.modes.cdi.spec-dirs"


def engine(name: str, version: str | None = None, **changes: object) -> EngineInstallation:
    values: dict[str, object] = {"engine": name, "version": version, "flags": (), "daemon": None}
    return make_engine(**{**values, "files": EngineFiles((), None, None), **changes})


def files(**changes: object) -> EngineFiles:
    return EngineFiles((), None, None)._replace(**changes)


def reader_of(item: EngineInstallation) -> Reader:
    (reader,) = readers_of((item,), NO)
    return reader


FOLDERS = {
    "default": (engine("docker"), DEFAULT_FOLDERS, "default"),
    "file": (engine("docker", files=files(cdi_directories=OWN)), OWN, "/etc/docker/daemon.json"),
    "flag": (engine("docker", flags=(EngineFlag("cdi-spec-dir", "/opt/cdi", "unit"),)), OWN, "unit"),
    "joined flag": (engine("crio", flags=(EngineFlag("cdi-spec-dirs", "/a,/b", "unit"),)), ("/a", "/b"), "unit"),
    "daemon": (engine("docker", daemon=EngineDaemon((), "", cdi_directories=OWN)), OWN, "/run/docker.sock"),
    "daemon that is off": (
        engine("docker", daemon=EngineDaemon((), "", cdi_directories=())),
        DEFAULT_FOLDERS,
        "default",
    ),
    "no folder at all": (engine("crio", files=files(cdi_directories=())), (), "/etc/docker/daemon.json"),
    "unread file": (engine("docker", files=NO), DEFAULT_FOLDERS, "default"),
}


@pytest.mark.parametrize(("item", "folders", "origin"), FOLDERS.values(), ids=FOLDERS)
def test_folders_and_who_names_them(item: EngineInstallation, folders: tuple[str, ...], origin: str) -> None:
    reader = reader_of(item)
    assert (reader.folders, reader.origin) == (folders, origin)


READS = {
    "Docker without CDI": (engine("docker", "24.0.7"), False),
    "Docker with CDI off": (engine("docker", "27.5.1"), False),
    "Docker with CDI switched on": (engine("docker", "27.5.1", files=files(cdi_enabled=True)), True),
    "Docker with CDI on by default": (engine("docker", "28.2.0"), True),
    "Docker with CDI switched off": (engine("docker", "29.0.0", files=files(cdi_enabled=False)), False),
    "Docker that says so itself": (engine("docker", "29.0.0", daemon=EngineDaemon((), "", cdi_directories=())), False),
    "an old daemon that says nothing": (engine("docker", "24.0.7", daemon=EngineDaemon((), "")), False),
    "containerd 1.6": (engine("containerd", "1.6.20", files=files(cdi_enabled=True)), False),
    "containerd 1.7": (engine("containerd", "1.7.20"), False),
    "containerd 2": (engine("containerd", "2.1.0"), True),
    "Docker's containerd": (engine("containerd", "2.1.0", used_by=("docker",)), False),
    "CRI-O": (engine("crio", "1.31.0"), True),
    "Podman": (engine("podman", "5.2.2"), True),
    "Podman before CDI": (engine("podman", "4.0.2"), False),
    "an engine that nobody uses": (engine("crio", "1.31.0", running=False, enabled=False), False),
    "an engine that starts at boot": (engine("crio", "1.31.0", running=False, enabled=True), True),
    "unknown version": (engine("docker", None), None),
    "unread file": (engine("docker", "28.3.0", files=NO), None),
}


@pytest.mark.parametrize(("item", "reads"), READS.values(), ids=READS)
def test_whether_it_reads_specs_now(item: EngineInstallation, reads: bool | None) -> None:
    assert reader_of(item).reads is reads


@pytest.mark.parametrize(("mode", "reads"), [("cdi", True), ("auto", False), ("legacy", False)])
def test_the_toolkit_reads_them_in_mode_cdi(mode: str, reads: bool) -> None:
    setup = make_toolkit_setup(config=make_config(make_value("nvidia-container-runtime.mode", mode)))
    (reader,) = readers_of(NO, setup)
    assert (reader.name, reader.folders, reader.reads) == ("the toolkit's runtime", DEFAULT_FOLDERS, reads)


def test_the_toolkits_own_folders_count() -> None:
    config = make_config(make_value(SPEC_FOLDERS, OWN))
    (reader,) = readers_of((), make_toolkit_setup(config=config))
    assert (reader.folders, reader.origin) == (OWN, config.path)


def test_a_toolkit_that_could_not_be_read_is_no_reader() -> None:
    assert readers_of((), make_toolkit_setup(config=NO)) == ()
    assert readers_of((), make_toolkit_setup(config=make_config(values=()))) == ()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("28.2.1", (28, 2, 1)), ("1.7.16~rc1", (1, 7, 16)), ("v1", ()), ("", ()), (None, ()), (NO, ())],
)
def test_leading_numbers_of_a_version(text: str | None | Unknown, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers
