"""A spec becomes the mapping of the specification, and text that an independent parser reads back the same."""

import json

import yaml

from ctk.cdi.document import render_json, render_yaml, spec_to_document
from ctk.facts.cdi_spec import CdiSpec, SpecAnnotation, SpecDevice, SpecDeviceNode, SpecEdits, SpecHook, SpecMount

NODE = SpecDeviceNode("/dev/nvidia0", "/host/dev/nvidia0", None, 195, 0, 438, "rwm", None, 44)
HOOK = SpecHook("createContainer", "/usr/bin/ctk", ("ctk", "hook", "apply"), ("A=b",))
SPEC = CdiSpec(
    "0.7.0",
    "nvidia.com/gpu",
    (SpecDevice("0", SpecEdits(device_nodes=(NODE,), additional_gids=(44,)), (SpecAnnotation("a.b/c", "é: #"),)),),
    SpecEdits(env=("NVIDIA_VISIBLE_DEVICES=void",), mounts=(SpecMount("/a", "/b", ("ro",)),), hooks=(HOOK,)),
)
DOCUMENT = {
    "cdiVersion": "0.7.0",
    "kind": "nvidia.com/gpu",
    "devices": [
        {
            "name": "0",
            "annotations": {"a.b/c": "é: #"},
            "containerEdits": {
                "deviceNodes": [
                    {
                        "path": "/dev/nvidia0",
                        "hostPath": "/host/dev/nvidia0",
                        "major": 195,
                        "minor": 0,
                        "fileMode": 438,
                        "permissions": "rwm",
                        "gid": 44,
                    }
                ],
                "additionalGids": [44],
            },
        }
    ],
    "containerEdits": {
        "env": ["NVIDIA_VISIBLE_DEVICES=void"],
        "hooks": [
            {
                "hookName": "createContainer",
                "path": "/usr/bin/ctk",
                "args": ["ctk", "hook", "apply"],
                "env": ["A=b"],
            }
        ],
        "mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"]}],
    },
}


def test_spec_becomes_the_mapping_of_the_specification() -> None:
    assert spec_to_document(SPEC) == DOCUMENT


def test_both_formats_are_read_back_the_same() -> None:
    assert yaml.safe_load(render_yaml(SPEC)) == json.loads(render_json(SPEC)) == DOCUMENT


def test_yaml_keeps_names_that_look_like_numbers_as_text() -> None:
    assert "name: '0'" in render_yaml(SPEC)
    assert render_yaml(SPEC).startswith("---\n")


def test_yaml_quotes_what_engines_take_for_a_number_or_a_switch() -> None:
    words = ("1e3", "0o17", "y", "no", "~", "0E0", "1_000")
    spec = CdiSpec("0.5.0", "a.com/b", tuple(SpecDevice(word, SpecEdits(env=("A=b",))) for word in words))
    for word in words:
        assert f"name: '{word}'\n" in render_yaml(spec)
