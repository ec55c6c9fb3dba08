"""daemon.json beyond the case folders: dockerd's flags, its verdict, what a reload takes up, Docker Desktop."""

import pytest

from ctk.engines.base import Layer, RuntimeSpec
from ctk.engines.docker import (
    can_validate,
    configure,
    desktop_warning,
    is_desktop_context,
    judge_validate,
    view,
)
from ctk.engines.docker_flags import find_flag_conflicts
from ctk.engines.docker_remove import unconfigure
from ctk.errors import ParseFault, Refused
from ctk.facts.command import CommandOutput
from ctk.facts.engines import EngineFlag

FILE = "/etc/docker/daemon.json"
UNIT = "/etc/systemd/system/docker.service.d/gpu.conf"
SPEC = RuntimeSpec("nvidia", "/usr/bin/nvidia-container-runtime")
OURS = '{"runtimes": {"nvidia": {"args": [], "path": "/usr/bin/nvidia-container-runtime"}}}'


def layers(text: str | None) -> tuple[Layer, ...]:
    return (Layer(FILE, text),)


def flag(name: str, value: str = "", line: int | None = None) -> EngineFlag:
    return EngineFlag(name=name, value=value, origin=UNIT, line=line)


REGISTERED = flag("add-runtime", "nvidia=/usr/bin/nvidia-container-runtime", 3)


def test_a_runtime_that_a_flag_registers_needs_no_entry() -> None:
    outcome = configure(layers('{"debug": true}'), SPEC, flags=(REGISTERED,))
    assert outcome.texts == {}
    assert outcome.warnings == ()
    assert len(outcome.notes) == 1
    assert "--add-runtime=nvidia=/usr/bin/nvidia-container-runtime" in outcome.notes[0]
    assert f"{UNIT} (line 3)" in outcome.notes[0]


def test_what_flags_say_is_left_to_them_and_the_rest_is_written() -> None:
    flags = (REGISTERED, flag("default-runtime", "nvidia"))
    spec = SPEC._replace(set_as_default=True, enable_cdi=True)
    outcome = configure(layers("{}\n"), spec, flags=flags)
    assert outcome.texts == {FILE: '{\n    "features": {\n        "cdi": true\n    }\n}\n'}
    assert len(outcome.notes) == 2


@pytest.mark.parametrize(
    ("flags", "text", "spec", "parts"),
    [
        ((REGISTERED,), OURS, SPEC, [["--add-runtime=nvidia", "'runtimes'", "(line 3)", UNIT]]),
        ((REGISTERED,), '{"runtimes": {}}', SPEC, [["--add-runtime"]]),
        ((REGISTERED,), "{}", SPEC, []),
        ((REGISTERED,), "{}", SPEC._replace(path="/opt/nvidia"), [["--add-runtime"]]),
        ((flag("add-runtime", "kata=/k"),), "", SPEC, [["--add-runtime=kata=/k"]]),
        ((flag("default-runtime", "kata"),), "{}", SPEC, []),
        ((flag("default-runtime", "kata"),), "{}", SPEC._replace(set_as_default=True), [["'default-runtime'"]]),
        ((flag("default-runtime", "kata"),), '{"default-runtime": "kata"}', SPEC, [["does not start with both"]]),
        ((flag("feature", "cdi=true"),), "{}", SPEC._replace(enable_cdi=True), []),
        ((flag("feature", "cdi=false"),), "{}", SPEC._replace(enable_cdi=True), [["'features'"]]),
        ((flag("feature", "x"),), '{"features": {}}', SPEC, [["--feature=x", "'features'"]]),
        ((flag("debug"), flag("host", "fd://")), OURS, SPEC, []),
        (
            (flag("add-runtime", "kata=/k"), flag("default-runtime", "kata")),
            OURS,
            SPEC._replace(set_as_default=True),
            [["--add-runtime"], ["--default-runtime"]],
        ),
    ],
)
def test_flag_conflicts_name_flag_directive_file_and_line(
    flags: tuple[EngineFlag, ...], text: str, spec: RuntimeSpec, parts: list[list[str]]
) -> None:
    sentences = find_flag_conflicts(flags, text, spec, path=FILE)
    assert len(sentences) == len(parts)
    for sentence, wanted in zip(sentences, parts, strict=True):
        assert all(part in sentence for part in [*wanted, UNIT, FILE])


def test_a_flag_conflict_is_refused_by_name_and_says_what_to_do() -> None:
    with pytest.raises(Refused) as caught:
        configure(layers(OURS), SPEC, flags=(REGISTERED,))
    refusal = caught.value
    assert (refusal.force, refusal.path, refusal.line) == ("flag-conflict", UNIT, 3)
    assert f"Take --add-runtime out of {UNIT}" in refusal.hint
    assert "Nothing was changed" in refusal.hint


def output(returncode: int | None, stderr: str = "") -> CommandOutput:
    return CommandOutput(("dockerd",), returncode, "", stderr)


TOO_OLD = output(125, "Status: unknown flag: --validate\nSee 'dockerd --help'., Code: 125\n")
REFUSED = output(1, "unable to configure the Docker daemon with file /x: invalid JSON\n")


@pytest.mark.parametrize(
    ("before", "after", "problems"),
    [
        (None, output(0, "configuration OK\n"), ()),
        (None, TOO_OLD, ()),
        (None, output(None, ""), ()),
        (
            None,
            REFUSED,
            ("dockerd refuses the file: unable to configure the Docker daemon with file /x: invalid JSON",),
        ),
        (REFUSED, REFUSED, ("dockerd refuses the file, as it did the earlier one: " + REFUSED.stderr.strip(),)),
        (TOO_OLD, REFUSED, ("dockerd refuses the file: " + REFUSED.stderr.strip(),)),
        (None, output(2), ("dockerd refuses the file: it ended with status 2",)),
    ],
)
def test_dockerds_last_word_is_the_problem(
    before: CommandOutput | None, after: CommandOutput, problems: tuple[str, ...]
) -> None:
    assert judge_validate(before, after) == problems


def test_a_dockerd_without_validate_gives_no_verdict() -> None:
    assert can_validate(output(0))
    assert can_validate(REFUSED)
    assert not can_validate(TOO_OLD)
    assert not can_validate(output(None))


@pytest.mark.parametrize("context", ["desktop-linux", "unix:///home/u/.docker/desktop/docker.sock"])
def test_docker_desktop_is_told_that_it_does_not_read_the_file(context: str) -> None:
    assert is_desktop_context(context)
    warning = desktop_warning(context)
    assert warning is not None
    assert context in warning
    assert "does not read this host's daemon.json" in warning


@pytest.mark.parametrize("context", [None, "", "default", "unix:///var/run/docker.sock", "rootless"])
def test_other_contexts_give_no_warning(context: str | None) -> None:
    assert not is_desktop_context(context)
    assert desktop_warning(context) is None


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        (SPEC, "{}", False),
        (SPEC._replace(set_as_default=True), "{}", False),
        (SPEC._replace(enable_cdi=True), "{}", True),
        (SPEC._replace(enable_cdi=True), '{"features": {"cdi": true}}', False),
    ],
)
def test_only_the_cdi_switch_needs_a_restart(spec: RuntimeSpec, text: str, expected: bool) -> None:
    assert configure(layers(text), spec).needs_restart is expected


@pytest.mark.parametrize(
    ("today", "original", "expected"),
    [
        # dockerd 20.10 keeps the list when the key is gone, and crashes when its default is not in the list
        ('{"runtimes": {"nvidia": {"path": "/n"}}}', "{}", True),
        ('{"runtimes": {"nvidia": {"path": "/n"}}}', '{"runtimes": {}}', False),
        ('{"runtimes": {"nvidia": {"path": "/n"}}, "default-runtime": "nvidia"}', '{"runtimes": {}}', True),
        (
            '{"runtimes": {"nvidia": {"path": "/n"}}, "default-runtime": "nvidia"}',
            '{"runtimes": {}, "default-runtime": "runc"}',
            False,
        ),
        ('{"runtimes": {"nvidia": {"path": "/n"}}, "features": {"cdi": true}}', '{"runtimes": {}}', True),
    ],
)
def test_removal_needs_a_restart_where_a_reload_keeps_the_old_value(today: str, original: str, expected: bool) -> None:
    assert unconfigure(layers(today), "nvidia", {FILE: original}).needs_restart is expected


def test_view_tells_what_the_file_says() -> None:
    text = '{"runtimes": {"nvidia": {"path": "/n", "runtimeArgs": ["-x"]}}, "default-runtime": "nvidia"}'
    seen = view(layers(text), "nvidia")
    assert (seen.registered, seen.path, seen.file, seen.is_default) == (True, "/n", FILE, True)
    assert (seen.default_runtime, seen.cdi_enabled) == ("nvidia", None)
    assert seen.options == {"path": "/n", "runtimeArgs": ["-x"]}
    assert view(layers('{"features": {"cdi": false}}'), "nvidia").cdi_enabled is False
    absent = view(layers(None), "nvidia")
    assert (absent.registered, absent.path, absent.file, absent.is_default) == (False, None, None, False)


def test_view_of_a_broken_file_has_the_place() -> None:
    with pytest.raises(ParseFault) as caught:
        view(layers('{"runtimes": [}'), "nvidia")
    assert (caught.value.path, caught.value.line) == (FILE, 1)
