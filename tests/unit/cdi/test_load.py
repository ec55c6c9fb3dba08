"""The text of a spec file becomes its value, or a fault with its place: as strict and as lenient as the engines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.cdi.document import render_json, render_yaml
from ctk.cdi.load import Loaded, load_spec
from ctk.cdi.nodes import NODE_LIMIT, SIZE_LIMIT_BYTES, add_places
from ctk.facts.cdi import REFUSED, WARNING, SpecFault
from ctk.facts.cdi_spec import CdiSpec, SpecAnnotation, SpecDevice, SpecDeviceNode, SpecEdits
from tests.cdi_builders import FULL_SPEC

HEAD = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
BODY = "devices:\n- name: gpu0\n  containerEdits:\n    env: [A=1]\n"


def load(text: str) -> Loaded:
    return load_spec(text.encode())


def device_of(text: str) -> SpecDevice:
    found = load(HEAD + text)
    assert found.spec is not None, found.faults
    return found.spec.devices[0]


@pytest.mark.parametrize("render", [render_yaml, render_json], ids=["yaml", "json"])
def test_what_ctk_writes_is_read_back_without_a_word(render: object) -> None:
    assert callable(render)
    assert load(render(FULL_SPEC)) == Loaded(FULL_SPEC)


def test_json_on_one_line_with_tabs_is_read() -> None:
    text = json.dumps(json.loads(render_json(FULL_SPEC)))
    assert load(text).spec == FULL_SPEC
    assert load(json.dumps(json.loads(text), indent="\t")).spec == FULL_SPEC


REFUSALS = {
    "empty": ("", "the file is empty", "", None),
    "only a comment": ("# nothing\n", "the file is empty", "", None),
    "only dashes": ("---\n", "the file is empty", "", None),
    "null": ("null\n", "the file is empty", "", None),
    "web page": ("<html><body>404</body></html>\n", "here must be a mapping, and not a single value", "", 1),
    "list": ("- a\n", "here must be a mapping, and not a list", "", 1),
    "tab": ("kind: a/b\n\tdevices: []\n", "it is no YAML", "", 2),
    "half a file": ('{"cdiVersion": "0.5.0", "kind": "a.com/b", "dev', "it is no YAML", "", 1),
    "control character": ("kind: \x00\n", "it is no YAML", "", None),
    "unknown field": (HEAD + BODY + "container: {}\n", "'container' is no field", "container", 7),
    "unknown field deep": (
        HEAD + BODY + "    device: []\n",
        "'device' is no field",
        "devices[0].containerEdits.device",
        7,
    ),
    "field twice": (HEAD + "kind: a.com/b\n" + BODY, "kind stands here twice", "kind", 3),
    "field twice in JSON": ('{"kind": "a/b", "kind": "a/b"}', "kind stands here twice", "kind", 1),
    "devices as a mapping": (HEAD + "devices:\n  name: a\n", "here must be a list, and not a mapping", "devices", 4),
    "name as a list": (HEAD + "devices:\n- name: [a]\n", "here must be text, and not a list", "devices[0].name", 4),
    "null node": (
        HEAD + "devices:\n- name: a\n  containerEdits:\n    mounts:\n    -\n",
        "an empty item",
        "devices[0].containerEdits.mounts[0]",
        None,
    ),
    "key that is a list": ("[a]: b\n", "a key must be text, and not a list", "", 1),
}


@pytest.mark.parametrize(("text", "message", "where", "line"), REFUSALS.values(), ids=REFUSALS)
def test_what_engines_refuse_has_its_place(text: str, message: str, where: str, line: int | None) -> None:
    found = load(text)
    assert found.spec is None
    refused = [fault for fault in found.faults if fault.level == REFUSED]
    assert message in refused[0].message
    assert refused[0].where == where
    assert line is None or refused[0].line == line
    assert refused[0].column is None or refused[0].column >= 1


NUMBERS = {
    "decimal": ("438", 438),
    "octal of YAML 1.1": ("0666", 438),
    "octal of YAML 1.2": ("0o666", 438),
    "hexadecimal": ("0x1b6", 438),
    "with a line": ("4_38", 438),
    "whole fraction": ("438.0", 438),
    "null": ("null", None),
}


@pytest.mark.parametrize(("text", "value"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_read_as_engines_read_them(text: str, value: int | None) -> None:
    node = f"devices:\n- name: a\n  containerEdits:\n    deviceNodes:\n    - path: /dev/a\n      fileMode: {text}\n"
    assert device_of(node).edits.device_nodes == (SpecDeviceNode("/dev/a", file_mode=value),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'195'", "must be a whole number, and not '195' in quotes"),
        ("rw", "must be a whole number, and not rw"),
        ("1.5", "must be a whole number, and not 1.5"),
        ("yes", "must be a whole number, and not yes"),
        ("[1]", "must be a whole number, and not a list"),
        ("-1", "-1 is out of range"),
        ("4294967296", "out of range"),
        ("9" * 200, "must be a whole number"),
    ],
)
def test_what_is_no_number_is_refused(text: str, message: str) -> None:
    found = load(
        HEAD + "devices:\n- name: a\n  containerEdits:\n    deviceNodes:\n    - {path: /dev/a, uid: " + text + "}\n"
    )
    assert [message in fault.message for fault in found.faults] == [True]
    assert found.faults[0].where == "devices[0].containerEdits.deviceNodes[0].uid"


NAMES = {
    "text": ("gpu0", "gpu0", None),
    "quoted number": ("'0'", "0", None),
    "number": ("0", "0", None),
    "yes": ("yes", "true", "yes without quotes is read as 'true'"),
    "n": ("n", "false", "n without quotes is read as 'false'"),
    "octal": ("010", "8", "010 without quotes is read as '8'"),
    "MIG name": ("1:0", "1:0", None),
    "a date": ("2001-01-01", "2001-01-01", None),
    "explicit text": ("!!str 010", "010", None),
    "null": ("~", "", None),
    "capital": ("GPU-0b1c", "GPU-0b1c", None),
}


@pytest.mark.parametrize(("text", "name", "warning"), NAMES.values(), ids=NAMES)
def test_text_without_quotes_is_read_as_engines_read_it(text: str, name: str, warning: str | None) -> None:
    found = load(HEAD + f"devices:\n- name: {text}\n")
    assert found.spec is not None
    assert found.spec.devices[0].name == name
    messages = [(fault.level, fault.message) for fault in found.faults]
    assert messages == [] if warning is None else messages[0][0] == WARNING and warning in messages[0][1]


def test_a_version_without_quotes_keeps_its_two_dots_and_loses_a_lone_zero() -> None:
    assert load("cdiVersion: 0.5.0\n").spec == CdiSpec("0.5.0", "", ())
    assert load("cdiVersion: 1.0\n").spec == CdiSpec("1", "", ())


def test_a_field_in_another_case_counts_and_is_told() -> None:
    found = load("CDIVersion: 0.5.0\nkind: a.com/b\n" + BODY)
    assert found.spec is not None
    assert found.spec.version == "0.5.0"
    assert [(fault.level, fault.line) for fault in found.faults] == [(WARNING, 1)]


@pytest.mark.parametrize("rest", ["---\nkind: other.com/gpu\n", "---\n[broken\n"], ids=["document", "rubbish"])
def test_only_the_first_document_counts(rest: str) -> None:
    found = load(HEAD + BODY + rest)
    assert found.spec is not None
    assert found.spec.kind == "nvidia.com/gpu"
    assert ["only the first document" in fault.message for fault in found.faults] == [True]
    assert found.faults[0].level == WARNING


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_fault(encoding: str) -> None:
    assert load_spec((HEAD + BODY).encode(encoding)) == load(HEAD + BODY)


def test_aliases_and_merges_are_written_out() -> None:
    text = (
        "devices:\n- name: a\n  containerEdits: &edits\n    deviceNodes:\n"
        "    - &node {path: /dev/a}\n    - {<<: *node, major: 1}\n"
        "- name: b\n  containerEdits: *edits\n"
    )
    found = load(HEAD + text)
    assert found.spec is not None, found.faults
    assert found.spec.devices[0].edits == found.spec.devices[1].edits
    assert found.spec.devices[0].edits.device_nodes[1] == SpecDeviceNode("/dev/a", major=1)


HOSTILE = {
    "aliases of aliases": HEAD
    + "devices:\n- &d {name: a, containerEdits: {env: ["
    + "A=1," * 2000
    + "]}}\n"
    + "- *d\n" * 2000,
    "a mapping merged into itself": "&a\n<<: *a\n",
    "brackets": "[" * 100_000,
    "nested mappings": "\n".join(" " * depth + "a:" for depth in range(200)),
    "very many values": "- a\n" * (NODE_LIMIT + 10),
    "too large": "#" * (SIZE_LIMIT_BYTES + 1),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused_soon(text: str) -> None:
    found = load(text)
    assert found.spec is None
    assert any(fault.level == REFUSED for fault in found.faults)
    assert len(found.faults) < 30


def test_thousand_faults_are_not_all_told() -> None:
    found = load("".join(f"field{number}: 1\n" for number in range(1000)))
    assert len(found.faults) == 20


def test_a_refusal_behind_many_warnings_is_told() -> None:
    names = "".join(f"- name: yes\n  annotations: {{a{number}: no}}\n" for number in range(30))
    found = load(HEAD + "devices:\n" + names + "foo: 1\n")
    assert found.spec is None
    assert found.faults[-1].level == REFUSED


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("", (1, 1)),
        ("kind", (2, 7)),
        ("devices[0].name", (4, 9)),
        ("devices[0].containerEdits.env[0]", (6, 11)),
        ("devices[0].containerEdits.mounts", (6, 5)),
        ("devices[7].name", (4, 1)),
    ],
)
def test_a_place_has_its_line(where: str, place: tuple[int, int]) -> None:
    (fault,) = add_places((HEAD + BODY).encode(), [SpecFault("x", where)])
    assert (fault.line, fault.column) == (place if where else (None, None))


def test_a_place_in_what_is_no_yaml_has_no_line() -> None:
    assert add_places(b"[", [SpecFault("x", "kind")]) == (SpecFault("x", "kind"),)


WORDS = st.sampled_from(
    [
        *"{}[],:-&*!|>'\"%@`#\n\t ",
        "kind",
        "devices",
        "name",
        "containerEdits",
        "env",
        "<<",
        "0666",
        "yes",
        "~",
        "A=1",
        "- ",
    ]
)


@given(st.binary(max_size=200) | st.lists(WORDS, max_size=60).map(lambda words: "".join(words).encode()))
def test_no_bytes_raise_anything(data: bytes) -> None:
    found = load_spec(data)
    assert (found.spec is None) == any(fault.level == REFUSED for fault in found.faults)


TEXTS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f\x85\xa0"), min_size=1, max_size=8
)


@given(TEXTS, TEXTS)
def test_any_text_that_ctk_writes_is_read_back(name: str, value: str) -> None:
    spec = CdiSpec(
        "0.6.0", "a.com/b", (SpecDevice(name, SpecEdits(env=(value,))),), annotations=(SpecAnnotation(name, value),)
    )
    assert load(render_yaml(spec)).spec == spec
