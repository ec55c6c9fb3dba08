"""The checks of spec files: where they lie, whether engines take them, which wins; one row for each status."""

import pytest

from ctk.doctor.checks.cdi_injection import VOID
from ctk.doctor.checks.cdi_rows import CDI_CHECKS
from ctk.doctor.model import Outcome
from ctk.facts import Unknown
from ctk.facts.cdi import INVALID, TEXT, VERSION, WARNING, Cdi, CdiFile, CdiFolder, SpecFault
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecEdits
from ctk.facts.engines import EngineDaemon, EngineFiles, EngineInstallation, EngineRuntime
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit_setup import OciHook
from tests.builders import make_engine, make_snapshot, make_system, make_tool
from tests.cdi_builders import (
    FILE,
    STATIC_FILE,
    make_cdi,
    make_cdi_file,
    make_common,
    make_device,
    make_folders,
    make_gpu_spec,
)
from tests.toolkit_builders import make_config, make_toolkit_setup, make_value
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
DIRS, PRESENT, PARSE, SCHEMA = "cdi.spec-dirs", "cdi.spec-present", "cdi.parse", "cdi.schema"
DECLARED, ENGINE, CONFLICTS = "cdi.version-declared", "cdi.version-engine", "cdi.conflicts"
INJECTION = "cdi.double-injection"
SHADOWED, EXTENSION, PERMISSIONS = "cdi.shadowed", "cdi.extension", "cdi.permissions"
MODE = "nvidia-container-runtime.mode"
NOTHING = Cdi(make_folders(), (), ())
HIDDEN = Cdi(make_folders(CdiFolder("/etc/cdi", DENIED)), (), ())
IN_BOX = make_system(container="docker")


def engine_files(**changes: object) -> EngineFiles:
    return EngineFiles((), None, None)._replace(**changes)


def docker(version: str | Unknown = "28.3.0", **changes: object) -> EngineInstallation:
    return make_engine(**{"version": version, "files": engine_files(), "daemon": None, **changes})


def podman(**changes: object) -> EngineInstallation:
    return make_engine(engine="podman", version="5.2.0", files=engine_files(cdi_enabled=True), daemon=None, **changes)


def host(cdi: Cdi | Unknown, *engines: EngineInstallation, mode: str = "auto", **changes: object) -> Snapshot:
    """A host with these engines, a Docker that reads specs without any, and the toolkit in this mode."""
    setup = make_toolkit_setup(config=make_config(make_value(MODE, mode)))
    values: dict[str, object] = {"cdi": cdi, "engines": engines or (docker(),), "toolkit_setup": setup}
    return make_snapshot(**{**values, **changes})


def faulty(*faults: SpecFault, path: str = FILE, spec: CdiSpec | None = None) -> CdiFile:
    return CdiFile(path, "/run/cdi", spec, faults, 0o644, 0)


OUTSIDE = make_cdi(make_cdi_file(path="/run/cdi/nvidia.yaml", folder="/srv/run/cdi"))
BROKEN = faulty(SpecFault("it is no YAML: here", line=3, column=1, part=TEXT))
UNREAD = CdiFile(FILE, "/run/cdi", DENIED)
OLD_VERSION = SpecFault("cdiVersion is 0.4.0, but the spec needs 0.5.0", "cdiVersion", part=VERSION)
STATIC = make_cdi_file(make_gpu_spec(version="570.1.1"), STATIC_FILE)
SAME = make_cdi_file(path=STATIC_FILE)
OTHER = make_cdi_file(path="/etc/cdi/nvidia-gpu.yaml", modified_at="2023-01-01T00:00:00Z")
NEWER_SPEC = make_gpu_spec()._replace(version="0.7.0")
NEWEST_SPEC = make_gpu_spec()._replace(version="1.0.0")

NO_VOID = make_cdi_file(make_gpu_spec(edits=make_common()._replace(env=())))
VOID_IN_DEVICES = make_cdi_file(
    make_gpu_spec(SpecDevice("0", SpecEdits(env=(VOID,))), SpecDevice("1", SpecEdits(env=(VOID,))), edits=SpecEdits())
)
NVIDIA_DEFAULT = docker(
    files=engine_files(
        default_runtime="nvidia", runtimes=(EngineRuntime("nvidia", "/usr/bin/nvidia-container-runtime", None),)
    )
)

ROWS = [
    Row(DIRS, "read", host(make_cdi()), "pass", "reads /var/run/cdi/nvidia.yaml", "docker (system)"),
    Row(DIRS, "elsewhere", host(OUTSIDE), "warn", "in no folder that docker (system) reads: /etc/cdi, /var/run/cdi"),
    Row(
        DIRS,
        "other-folders",
        host(make_cdi(), docker(flags=(), files=engine_files(cdi_directories=("/opt/cdi",)))),
        "fail",
        "in no folder that docker (system) reads: /opt/cdi",
    ),
    Row(DIRS, "toolkit", host(OUTSIDE, docker("20.10.0"), mode="cdi"), "fail", "the toolkit's runtime reads"),
    Row(DIRS, "nobody-reads", host(make_cdi(), docker("24.0.7")), "skip", "no program here"),
    Row(DIRS, "none", host(NOTHING), "skip", "no CDI spec of NVIDIA's"),
    Row(DIRS, "folder-closed", host(HIDDEN), "unknown", "/etc/cdi: permission denied"),
    Row(DIRS, "closed", host(DENIED), "unknown"),
    Row(DIRS, "container", host(make_cdi(), system=IN_BOX), "skip", "inside a container"),
    Row(PRESENT, "there", host(make_cdi()), "pass", "/var/run/cdi/nvidia.yaml has 3 devices of nvidia.com/gpu"),
    Row(PRESENT, "legacy", host(NOTHING), "skip", "no spec is needed"),
    Row(PRESENT, "mode-cdi", host(NOTHING, mode="cdi"), "fail", "the toolkit's runtime is set to mode cdi"),
    Row(PRESENT, "podman-alone", host(NOTHING, podman()), "fail", "Podman, the only engine here"),
    Row(PRESENT, "podman-beside-docker", host(NOTHING, podman(), docker()), "skip"),
    Row(
        PRESENT,
        "podman-with-hook",
        host(NOTHING, podman(), toolkit_setup=make_toolkit_setup(hooks=(OciHook("/x.json", "/usr/bin/x"),))),
        "skip",
    ),
    Row(PRESENT, "podman-without-toolkit", host(NOTHING, podman(), toolkit=(make_tool(path=None),)), "skip"),
    Row(PRESENT, "only-broken", host(make_cdi(BROKEN), mode="cdi"), "fail"),
    Row(PRESENT, "folder-closed", host(HIDDEN, mode="cdi"), "unknown"),
    Row(PRESENT, "no-gpu", host(NOTHING, mode="cdi", pci=Pci()), "skip"),
    Row(PRESENT, "closed", host(DENIED), "unknown"),
    Row(PARSE, "good", host(make_cdi()), "pass", "the CDI spec can be read"),
    Row(PARSE, "two", host(make_cdi(make_cdi_file(), STATIC)), "pass", "all 2 CDI specs can be read"),
    Row(PARSE, "bad", host(make_cdi(BROKEN)), "fail", "engines cannot read it: it is no YAML: here", FILE),
    Row(PARSE, "one-of-two", host(make_cdi(BROKEN, STATIC)), "fail", subject=FILE),
    Row(PARSE, "second-document", host(make_cdi(faulty(SpecFault("more", level=WARNING, part=TEXT)))), "warn", "more"),
    Row(PARSE, "unread", host(make_cdi(UNREAD)), "unknown", subject=FILE),
    Row(PARSE, "none", host(NOTHING), "skip"),
    Row(PARSE, "folder-closed", host(HIDDEN), "unknown"),
    Row(PARSE, "closed", host(DENIED), "unknown"),
    Row(SCHEMA, "good", host(make_cdi()), "pass", "holds to the schema"),
    Row(SCHEMA, "bad", host(make_cdi(faulty(SpecFault("no field", "foo")))), "fail", "breaks the specification"),
    Row(SCHEMA, "fatal-at-start", host(make_cdi(faulty(SpecFault("no path", "x", level=INVALID)))), "fail", "no path"),
    Row(SCHEMA, "odd", host(make_cdi(faulty(SpecFault("odd", "x", level=WARNING), spec=make_gpu_spec()))), "warn"),
    Row(SCHEMA, "not-the-text", host(make_cdi(BROKEN)), "pass"),
    Row(SCHEMA, "closed", host(DENIED), "unknown"),
    Row(DECLARED, "good", host(make_cdi()), "pass", "states a version that has its fields"),
    Row(DECLARED, "too-old", host(make_cdi(faulty(OLD_VERSION))), "fail", "the spec needs 0.5.0"),
    Row(DECLARED, "closed", host(DENIED), "unknown"),
    Row(ENGINE, "old-version", host(make_cdi()), "pass", "reads cdiVersion 0.5.0", "docker (system)"),
    Row(ENGINE, "new-enough", host(make_cdi(make_cdi_file(NEWER_SPEC))), "pass", "reads cdiVersion 0.7.0"),
    Row(
        ENGINE,
        "too-old",
        host(make_cdi(make_cdi_file(NEWER_SPEC)), docker("25.0.5", files=engine_files(cdi_enabled=True))),
        "fail",
        "is 25.0.5, and a spec of version 0.7.0 needs 26.1.0",
    ),
    Row(ENGINE, "newest", host(make_cdi(make_cdi_file(NEWEST_SPEC))), "info", "whether it reads 1.0.0 is not told"),
    Row(
        ENGINE,
        "version-closed",
        host(make_cdi(make_cdi_file(NEWER_SPEC)), docker(version=DENIED, files=engine_files(cdi_enabled=True))),
        "unknown",
    ),
    Row(ENGINE, "nobody-reads", host(make_cdi(), docker("24.0.7")), "skip"),
    Row(ENGINE, "none", host(NOTHING), "skip"),
    Row(ENGINE, "closed", host(DENIED), "unknown"),
    Row(CONFLICTS, "none", host(make_cdi()), "pass"),
    Row(CONFLICTS, "two-folders", host(make_cdi(STATIC, make_cdi_file())), "pass"),
    Row(CONFLICTS, "one-folder", host(make_cdi(STATIC, OTHER)), "fail", "both define nvidia.com/gpu=0", STATIC_FILE),
    Row(CONFLICTS, "no-specs", host(NOTHING), "skip"),
    Row(CONFLICTS, "closed", host(DENIED), "unknown"),
    Row(SHADOWED, "one", host(make_cdi()), "pass"),
    Row(SHADOWED, "the-same", host(make_cdi(SAME, make_cdi_file())), "pass"),
    Row(SHADOWED, "differs", host(make_cdi(STATIC, make_cdi_file())), "warn", "has no effect for", STATIC_FILE),
    Row(SHADOWED, "no-specs", host(NOTHING), "skip"),
    Row(SHADOWED, "closed", host(DENIED), "unknown"),
    Row(EXTENSION, "good", host(make_cdi()), "pass"),
    Row(
        EXTENSION,
        "yml",
        host(make_cdi(folders=make_folders(CdiFolder("/etc/cdi", "/etc/cdi", ignored=("nvidia.yml",))))),
        "warn",
        "/etc/cdi/nvidia.yml is read by no engine",
        "/etc/cdi/nvidia.yml",
    ),
    Row(
        EXTENSION,
        "backup",
        host(make_cdi(folders=make_folders(CdiFolder("/etc/cdi", "/etc/cdi", ignored=("nvidia.yaml.bak",))))),
        "info",
    ),
    Row(EXTENSION, "none", host(NOTHING), "skip"),
    Row(EXTENSION, "closed", host(DENIED), "unknown"),
    Row(PERMISSIONS, "as-root", host(make_cdi(make_cdi_file(mode=0o600))), "pass", "as root"),
    Row(PERMISSIONS, "open", host(make_cdi(), podman()), "pass", "rootless Podman too"),
    Row(PERMISSIONS, "file", host(make_cdi(make_cdi_file(mode=0o600)), podman()), "warn", "rootless Podman", FILE),
    Row(
        PERMISSIONS,
        "folder",
        host(make_cdi(folders=make_folders(CdiFolder("/etc/cdi", "/etc/cdi", 0o700, 0))), docker(user="alice")),
        "warn",
        "docker of alice",
        "/etc/cdi",
    ),
    Row(PERMISSIONS, "none", host(NOTHING), "skip"),
    Row(INJECTION, "void", host(make_cdi()), "pass", "to keep out", FILE),
    Row(INJECTION, "void-in-each-device", host(make_cdi(VOID_IN_DEVICES)), "pass"),
    Row(INJECTION, "alone", host(make_cdi(NO_VOID)), "info", "nothing here injects besides it"),
    Row(
        INJECTION,
        "default-runtime",
        host(make_cdi(NO_VOID), NVIDIA_DEFAULT),
        "warn",
        "nvidia is the default runtime of docker",
    ),
    Row(
        INJECTION,
        "hook-file",
        host(make_cdi(NO_VOID), toolkit_setup=make_toolkit_setup(hooks=(OciHook("/x.json", "/usr/bin/x"),))),
        "warn",
        "a hook file of NVIDIA's is there",
    ),
    Row(INJECTION, "none", host(NOTHING), "skip"),
    Row(INJECTION, "closed", host(DENIED), "unknown"),
    Row(PERMISSIONS, "closed", host(DENIED), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_status(row: Row) -> None:
    assert_row(CDI_CHECKS, row)


def commands(outcome: Outcome) -> list[str]:
    assert outcome.remedy is not None
    return [command.text for command in outcome.remedy.commands]


def test_the_older_of_two_files_is_taken_out_of_the_way() -> None:
    (outcome,) = outcomes_of(CDI_CHECKS, CONFLICTS, host(make_cdi(STATIC, OTHER)))
    assert commands(outcome) == ["mv /etc/cdi/nvidia-gpu.yaml /etc/cdi/nvidia-gpu.yaml.disabled"]
    assert "and nvidia.com/gpu" not in outcome.message


def test_many_devices_are_counted() -> None:
    spec = make_gpu_spec(*(make_device(str(number), number) for number in range(9)))
    files = (make_cdi_file(spec, STATIC_FILE), make_cdi_file(spec, "/etc/cdi/b.yaml"))
    (outcome,) = outcomes_of(CDI_CHECKS, CONFLICTS, host(make_cdi(*files)))
    assert "nvidia.com/gpu=3 and 5 more" in outcome.message


def test_another_vendors_file_is_not_written_anew_by_us() -> None:
    spec = CdiSpec("0.5.0", "vendor.example/net", (SpecDevice("a", SpecEdits()),))
    file = faulty(SpecFault("bad", "x", line=4, column=1), path="/etc/cdi/net.yaml", spec=spec)
    (outcome,) = outcomes_of(CDI_CHECKS, SCHEMA, host(make_cdi(file)))
    assert commands(outcome) == []
    assert outcome.remedy is not None
    assert "Let the program of vendor.example write the spec anew" in outcome.remedy.summary
    unknown = faulty(SpecFault("bad", "x", line=4, column=1, part=TEXT), path="/etc/cdi/net.yaml")
    (outcome,) = outcomes_of(CDI_CHECKS, PARSE, host(make_cdi(unknown)))
    assert outcome.remedy is not None
    assert "Correct line 4" in outcome.remedy.summary


def test_a_misnamed_file_gets_the_right_ending() -> None:
    folders = make_folders(CdiFolder("/etc/cdi", "/etc/cdi", ignored=("nvidia.yml", "x.JSON")))
    outcomes = outcomes_of(CDI_CHECKS, EXTENSION, host(make_cdi(folders=folders)))
    assert [commands(outcome) for outcome in outcomes] == [
        ["mv /etc/cdi/nvidia.yml /etc/cdi/nvidia.yaml"],
        ["mv /etc/cdi/x.JSON /etc/cdi/x.json"],
    ]


def test_a_daemons_own_word_on_its_folders_counts() -> None:
    daemon = EngineDaemon((), "runc", cdi_directories=("/opt/cdi",))
    (outcome,) = outcomes_of(CDI_CHECKS, DIRS, host(make_cdi(), docker(daemon=daemon)))
    assert outcome.status == "fail"
    assert "/opt/cdi" in outcome.message
