"""Copies of the toolkit, hook files, refresh units and bundles, as found below a root."""

import json
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.toolkit_setup import OPERATOR, SYSTEM, OciHook
from ctk.host.cdi_refresh import PROPERTIES, collect_cdi_refresh
from ctk.host.oci_hooks import collect_oci_hooks
from ctk.host.system import collect_system
from ctk.host.toolkit_setup import collect_copies, collect_newest_bundle, collect_toolkit_setup, parse_oci_version
from tests.conftest import AsNobody
from tests.fake_host import FakeHost
from tests.unit.host.trees import Link, Program, plant

HOOKS = "/usr/share/containers/oci/hooks.d"
UNITS = "/usr/lib/systemd/system"
BUNDLES = "/run/containerd/io.containerd.runtime.v2.task"
ASK = ("systemctl", "show", f"--property={','.join(PROPERTIES)}", "nvidia-cdi-refresh.service")


def hook(program: object = "/usr/bin/nvidia-container-toolkit", **changes: object) -> str:
    document = {"version": "1.0.0", "hook": {"path": program, "env": ["TOKEN=secret"]}, "stages": ["prestart"]}
    return json.dumps({**document, "when": {"always": True, "commands": [".*"]}, **changes})


def test_each_folder_with_programs_is_a_copy(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/usr/bin/nvidia-ctk": Program(""),
            "/usr/bin/nvidia-container-runtime": Program(""),
            "/bin": Link("usr/bin"),
            "/usr/local/nvidia/toolkit/nvidia-container-runtime": Program(""),
        },
    )
    found = collect_copies(host)
    assert isinstance(found, tuple)
    assert [(copy.kind, copy.folder, copy.programs) for copy in found] == [
        (SYSTEM, "/usr/bin", ("nvidia-container-runtime", "nvidia-ctk")),
        (OPERATOR, "/usr/local/nvidia/toolkit", ("nvidia-container-runtime",)),
    ]
    assert found[0].version == Unknown("not run: --root")


def test_one_copy_is_not_asked_for_its_version(tmp_path: Path) -> None:
    (copy,) = collect_copies(plant(tmp_path, {"/usr/bin/nvidia-ctk": Program("")})) or ()  # type: ignore[misc] # a tuple here
    assert copy.version is None


def test_hook_files_of_nvidia_are_found_by_name_and_by_program(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            f"{HOOKS}/oci-nvidia-hook.json": hook(),
            f"{HOOKS}/site.json": hook("/opt/nvidia-container-runtime-hook"),
            f"{HOOKS}/other.json": hook("/usr/bin/oci-systemd-hook"),
            f"{HOOKS}/readme.txt": "no JSON",
            "/opt/nvidia-container-runtime-hook": Program(""),
        },
    )
    found = collect_oci_hooks(host)
    assert found == (
        OciHook(
            f"{HOOKS}/oci-nvidia-hook.json",
            "/usr/bin/nvidia-container-toolkit",
            "/usr/bin/nvidia-container-toolkit does not exist",
            ("always", "commands"),
            ("prestart",),
        ),
        OciHook(f"{HOOKS}/site.json", "/opt/nvidia-container-runtime-hook", "", ("always", "commands"), ("prestart",)),
    )
    assert "secret" not in repr(found)


def test_a_file_of_a_later_folder_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    late = "/etc/containers/oci/hooks.d/oci-nvidia-hook.json"
    host = plant(tmp_path, {f"{HOOKS}/oci-nvidia-hook.json": hook(), late: hook("/bin/true", when={"always": False})})
    (found,) = collect_oci_hooks(host) or ()  # type: ignore[misc] # a tuple here
    assert (found.file, found.program, found.conditions) == (late, "/bin/true", ())


@pytest.mark.parametrize("text", ["{", "[]", "{}", hook(None), hook(stages="x"), hook(when=[])])
def test_a_hook_file_that_cannot_be_used_is_told(tmp_path: Path, text: str) -> None:
    (found,) = collect_oci_hooks(plant(tmp_path, {f"{HOOKS}/nvidia.json": text})) or ()  # type: ignore[misc] # a tuple here
    assert found.program is None
    assert found.fault


def test_hook_folders_that_may_not_be_read(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {f"{HOOKS}/nvidia.json": hook()})
    (tmp_path / HOOKS.lstrip("/")).chmod(0)
    assert as_nobody(collect_oci_hooks, host) == Unknown("permission denied")


def units(*, enabled: bool = True) -> dict[str, str]:
    files = {f"{UNITS}/nvidia-cdi-refresh.{kind}": "[Unit]\n" for kind in ("path", "service")}
    wants = "/etc/systemd/system/multi-user.target.wants"
    links = {f"{wants}/nvidia-cdi-refresh.path": Link(f"{UNITS}/nvidia-cdi-refresh.path")} if enabled else {}
    return {**files, **links, "/usr/lib/udev/rules.d/99-nvidia-cdi-refresh.rules": ""}


def answer(**values: object) -> str:
    """What systemd says of a unit that has run."""
    said: dict[str, object] = {
        "Result": "success",
        "ExecMainStatus": 0,
        "ConditionResult": "yes",
        "ConditionTimestampMonotonic": 31000000,
        "InactiveEnterTimestampMonotonic": 33500000,
        **values,
    }
    return "".join(f"{name}={value}\n" for name, value in said.items())


def ask(tmp_path: Path, text: str, **row: object) -> object:
    plant(tmp_path, units())
    host = FakeHost(str(tmp_path), {"command": [{"argv": list(ASK), "stdout": text, **row}]})
    (found,) = collect_cdi_refresh(host) or ()  # type: ignore[misc] # a tuple here
    return found


def test_the_units_and_how_they_ended(tmp_path: Path) -> None:
    found = ask(tmp_path, answer())
    assert found == (
        "nvidia",
        f"{UNITS}/nvidia-cdi-refresh.service",
        f"{UNITS}/nvidia-cdi-refresh.path",
        False,
        True,
        False,
        "/usr/lib/udev/rules.d/99-nvidia-cdi-refresh.rules",
        "success",
        0,
        True,
        33.5,
    )


def test_a_unit_that_failed_and_one_that_did_not_run(tmp_path: Path) -> None:
    failed = ask(tmp_path / "a", answer(Result="exit-code", ExecMainStatus=1))
    assert failed[7:9] == ("exit-code", 1)  # type: ignore[index] # a NamedTuple
    never = ask(tmp_path / "b", answer(ConditionTimestampMonotonic=0, InactiveEnterTimestampMonotonic=0))
    assert never[7:] == (None, None, None, None)  # type: ignore[index] # a NamedTuple
    refused = ask(tmp_path / "c", "", returncode=1)
    assert refused[7] == Unknown("systemctl ended with 1")  # type: ignore[index] # a NamedTuple


def test_units_that_are_not_enabled_or_masked(tmp_path: Path) -> None:
    (off,) = collect_cdi_refresh(plant(tmp_path / "a", units(enabled=False))) or ()  # type: ignore[misc] # a tuple here
    assert (off.path_enabled, off.masked, off.result) == (False, False, Unknown("not run: --root"))
    mask = {"/etc/systemd/system/nvidia-cdi-refresh.path": Link("/dev/null")}
    (masked,) = collect_cdi_refresh(plant(tmp_path / "b", {**units(), **mask})) or ()  # type: ignore[misc] # a tuple here
    assert masked.masked


def test_no_units(tmp_path: Path) -> None:
    assert collect_cdi_refresh(plant(tmp_path, {})) == ()


def test_the_newest_bundle_tells_its_version(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            f"{BUNDLES}/moby/a/config.json": '{"ociVersion":"1.2.1","process":{"env":["TOKEN=secret"]}}',
            f"{BUNDLES}/k8s.io/b/config.json": '{\n  "ociVersion": "1.3.0+dev"}',
        },
    )
    assert collect_newest_bundle(host) in ("1.2.1", "1.3.0+dev")
    assert collect_newest_bundle(plant(tmp_path / "none", {})) is None


@pytest.mark.parametrize("head", [b"", b"{}", b'{"ociVersion":', b'{"ociVersion":"1.2'])
def test_a_bundle_without_a_version(head: bytes) -> None:
    assert parse_oci_version(head) is None


def test_everything_at_once_on_a_bare_host(tmp_path: Path) -> None:
    host = plant(tmp_path, {})
    found = collect_toolkit_setup(host, collect_system(host), None, ())
    assert (found.copies, found.hooks, found.refresh, found.newest_bundle) == ((), (), (), None)
    assert not isinstance(found.config, Unknown)
    assert found.config.exists is False
