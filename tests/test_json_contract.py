"""What --json prints of every command holds to the JSON Schemas that are published in docs/reference/schemas."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # its types are a package of their own, which is not needed
import pytest
from referencing import Registry, Resource

from ctk.facts.codec import snapshot_to_document
from tests.memory_host import snapshot_in_memory
from tests.unit.cli.scene import CONTAINERD_V2, HostFolder, ctk

SCHEMAS = Path(__file__).parent.parent / "docs" / "reference" / "schemas"
COMMANDS = {
    "runtime configure": "runtime-configure",
    "runtime unconfigure": "runtime-configure",
    "runtime rollback": "runtime-configure",
    "runtime status": "runtime-status",
    "runtime history": "runtime-history",
    "info": "info",
    "doctor": "doctor",
    **{f"cdi {word}": "cdi" for word in ("list", "validate", "generate", "diff", "refresh", "transform root")},
    **dict.fromkeys(
        [
            f"config{word}"
            for word in ("", " get", " set", " unset", " default", " mode", " validate", " diff", " explain")
        ],
        "config",
    ),
}


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def registry() -> Any:
    names = [path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")]
    resources = [(f"{name}.schema.json", Resource.from_contents(schema(name))) for name in names]
    empty: Any = Registry()
    return empty.with_resources(resources)


def assert_valid(document: Any) -> None:
    """Against the envelope, and against the command's own schema where it has one."""
    for name in ("envelope", COMMANDS.get(document["command"], "envelope")):
        validator = jsonschema.Draft202012Validator(schema(name), registry=registry())
        errors = [f"{name}: {error.json_path}: {error.message}" for error in validator.iter_errors(document)]
        assert errors == []


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostFolder:
    """A host with all three engines."""
    folder = HostFolder(tmp_path / "host")
    monkeypatch.setenv("CTK_STATE_DIR", str(folder.state))
    folder.engine("docker", "{}\n")
    folder.engine("containerd", CONTAINERD_V2)
    folder.engine("crio", "")
    folder.put(
        "/specs/a.yaml", "cdiVersion: 0.5.0\nkind: a.com/b\ndevices: [{name: c, containerEdits: {env: [D=1]}}]\n"
    )
    folder.put("/etc/cdi/bad.yaml", "x")
    folder.unit("docker.service", "/usr/bin/dockerd -H fd:// --add-runtime other=/usr/bin/other")
    return folder


CONFIGURE = ("runtime", "configure", "--force=flag-conflict")
SUCCESSES = [
    ("runtime", "configure", "--runtime=auto", "--dry-run"),
    ("runtime", "configure", "--runtime=docker", "--check"),
    (*CONFIGURE, "--runtime=docker", "--set-as-default", "--enable-cdi"),
    (*CONFIGURE, "--runtime=docker", "--no-journal", "--print"),
    (*CONFIGURE, "--runtime=containerd", "--drop-in-config=/etc/containerd/conf.d/99-nvidia.toml"),
    (*CONFIGURE, "--runtime=crio"),
    ("runtime", "configure", "--config-mode=oci-hook"),
    ("runtime", "configure", "--config-mode=oci-hook", "--oci-hook-path=/etc/hooks/x.json"),
    ("runtime", "unconfigure", "--config-mode=oci-hook", "--oci-hook-path=/etc/hooks/x.json"),
    ("runtime", "unconfigure", "--runtime=auto"),
    ("runtime", "status"),
    ("runtime", "status", "--runtime=crio", "--nvidia-runtime-name=other"),
    ("runtime", "history"),
    ("info",),
    ("config",),
    ("config", "--set", "disable-require"),
    ("config", "--set", "disable-require", "--in-place"),
    ("config", "--set", "disable-require", "--output=/out.toml", "--no-journal"),
    ("config", "get", "nvidia-container-runtime.runtimes"),
    ("config", "set", "swarm-resource=A,B"),
    ("config", "set", "swarm-resource=A,B", "--check"),
    ("config", "unset", "swarm-resource"),
    ("config", "default"),
    ("config", "default", "--if-missing", "--in-place"),
    ("config", "mode"),
    ("config", "mode", "cdi"),
    ("config", "mode", "--check"),
    ("config", "mode", "--no-host-checks"),
    ("config", "validate"),
    ("config", "diff"),
    ("config", "explain"),
    ("config", "explain", "nvidia-container-cli"),
    ("cdi", "list"),
    ("cdi", "validate", "--spec-dir=/specs"),
    ("cdi", "refresh", "--install-units"),
    ("cdi", "refresh", "--install-units", "--dry-run"),
    ("completion", "bash"),
    (),
    ("runtime",),
    ("--version",),
]
FAILURES = [
    (("runtime", "configure", "--runtime=docker"), 3),
    (("runtime", "configure", "--bogus"), 2),
    (("runtime", "configure", "--runtime=podman"), 2),
    (("runtime", "configure", "--config=/etc"), 3),
    (("runtime", "configure", "--restart"), 2),
    (("runtime", "unconfigure", "--config=/etc"), 3),
    (("runtime", "unconfigure", "--snapshot=x"), 2),
    (("runtime", "rollback", "nothing"), 3),
    (("runtime", "rollback"), 2),
    (("runtime", "status", "--config=/etc"), 3),
    (("runtime", "status", "--snapshot=x"), 3),
    (("runtime", "history", "--snapshot=x"), 2),
    (("info", "--snapshot=/nowhere"), 3),
    (("config", "get", "bogus"), 2),
    (("config", "set", "nvidia-container-runtime.mode=bogus"), 2),
    (("config", "mode", "bogus"), 2),
    (("config", "diff", "/none.toml"), 3),
    (("config", "--config-file=/etc", "--set", "disable-require"), 3),
    (("config", "validate", "--snapshot=x"), 2),
    (("cdi", "list", "--spec-dir=/etc/docker/daemon.json"), 3),
    (("cdi", "validate", "/none.yaml"), 3),
    (("bogus",), 2),
]


@pytest.mark.parametrize("command", SUCCESSES, ids=" ".join)
def test_success(host: HostFolder, command: tuple[str, ...]) -> None:
    answer = host.ctk(*command, "--json")
    document = answer.json()
    assert_valid(document)
    assert answer.code == document["exit_code"] == (1 if "--check" in command else 0)
    assert document["status"] == ("negative" if "--check" in command else "ok")


@pytest.mark.parametrize(
    ("command", "code"), FAILURES, ids=lambda value: str(value) if isinstance(value, int) else " ".join(value)
)
def test_failure(host: HostFolder, command: tuple[str, ...], code: int) -> None:
    answer = host.ctk("--json", *command)
    document = answer.json()
    assert_valid(document)
    assert answer.code == document["exit_code"] == code
    assert document["status"] == "error"


def test_the_life_of_a_runtime(host: HostFolder) -> None:
    """History, status and rollback with something to tell."""
    config = host.path("/etc/docker/daemon.json")
    done = host.ctk(*CONFIGURE, "--runtime=docker", "--json").json()
    entry = done["data"]["engines"][0]["journal_id"]
    moved = config.read_text()
    documents = [done, *(host.ctk("runtime", word, "--json").json() for word in ("history", "status"))]
    config.write_text(moved + "\n")
    documents.append(host.ctk("runtime", "rollback", entry, "--json").json())
    assert documents[-1]["errors"][0]["code"] == "moved"
    config.write_text(moved)
    documents += [host.ctk("runtime", "rollback", entry, *words, "--json").json() for words in (("--check",), (), ())]
    (host.state / "journal" / entry / "entry.json").write_text("{")
    documents.append(host.ctk("runtime", "history", "--json").json())
    assert documents[-1]["data"]["damaged"]
    config.write_text("{,}\n")
    documents.append(host.ctk("runtime", "status", "--json").json())
    documents.append(host.ctk("runtime", "configure", "--runtime=auto", "--json").json())
    for document in documents:
        assert_valid(document)


def test_a_configuration_with_something_to_tell(host: HostFolder) -> None:
    path = host.put(
        "/etc/nvidia-container-runtime/config.toml",
        'when = 2024-05-01\n[nvidia-container-runtime]\nmod = "x"\nlog-level = "loud"\n'
        "[site]\nx = [nan, { y = 07:32:00 }]\n",
    )
    words = [(), ("get", "when"), ("get", "site.x"), ("get", "nvidia-container-cli.no-pivot"), ("validate",), ("diff",)]
    words += [("set", "disable-require"), ("default", "--if-missing", "-i"), ("unset", "site.x"), ("mode", "legacy")]
    documents = [host.ctk("config", *command, "--json").json() for command in words]
    for document in documents:
        assert_valid(document)
        assert document["status"] in ("ok", "negative")
    assert documents[1]["data"]["value"] == "2024-05-01"
    assert documents[2]["data"]["value"] == ["nan", {"y": "07:32:00"}]
    assert documents[4]["data"]["problems"][0]["level"] == "error"
    path.write_text("disable-require = 1\n")
    for command in (("set", "swarm-resource=A"), ("mode",)):
        assert_valid(host.ctk("config", *command, "--json").json())


def test_nothing_to_do_it_to(tmp_path: Path) -> None:
    for command in (("runtime", "configure", "--runtime=auto"), ("runtime", "status")):
        document = ctk("--root", str(tmp_path), *command, "--json").json()
        assert_valid(document)
        assert (document["status"], document["exit_code"]) == ("not-applicable", 4)


@pytest.mark.long
@pytest.mark.parametrize("name", ["cpu-only", "healthy-one-gpu", "nouveau-bound"])
def test_the_doctor_on_whole_hosts(tmp_path: Path, name: str) -> None:
    saved = tmp_path / "host.json"
    saved.write_text(json.dumps(snapshot_to_document(snapshot_in_memory(name, tmp_path / "host"))))
    assert_valid(ctk("doctor", "--snapshot", str(saved), "--profile=all", "--json").json())
    for words in (("list",), ("explain", "driver.installed"), ("--only=no.such-check",)):
        assert_valid(ctk("doctor", *words, "--json").json())


def test_a_saved_snapshot_is_the_data_of_info(host: HostFolder, tmp_path: Path) -> None:
    saved = tmp_path / "host.json"
    document = host.ctk("info", "--save", str(saved), "--json").json()
    assert_valid(document)
    assert json.loads(saved.read_text()) == document["data"]
    assert_valid(ctk("info", "--snapshot", str(saved), "--json").json())


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_schemas_are_valid_and_closed(path: Path) -> None:
    document = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$id"] == path.name
    is_envelope = path.name == "envelope.schema.json"
    for name, part in {**document.get("$defs", {}), **({"envelope": document} if is_envelope else {})}.items():
        if part.get("type") == "object":
            assert part["additionalProperties"] is False, name


def test_a_key_that_is_not_in_the_schema_is_noticed(host: HostFolder) -> None:
    document = host.ctk("runtime", "status", "--json").json()
    document["data"]["engines"][0]["new"] = 1
    with pytest.raises(AssertionError, match="new"):
        assert_valid(document)
