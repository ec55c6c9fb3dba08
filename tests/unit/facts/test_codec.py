"""A snapshot survives JSON unchanged, and a document from another ctk is read or refused with a clear word."""

import json
from dataclasses import fields
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.errors import EXIT_FAILED, CtkError
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiFile, CdiFolder, CdiHostPath, SpecFault
from ctk.facts.cdi_spec import CdiSpec
from ctk.facts.codec import NOT_RECORDED, VERSION_KEY, snapshot_from_document, snapshot_to_document
from ctk.facts.engines import (
    EngineDaemon,
    EngineFiles,
    EngineFlag,
    EngineInstallation,
    EngineRuntime,
    FileFault,
    UnreadRuntime,
)
from ctk.facts.snapshot import Snapshot
from tests.builders import make_engine, make_kubelet, make_snapshot
from tests.cdi_builders import FULL_SPEC

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=12) | st.just("a\udcff")
st.register_type_strategy(Unknown, st.builds(Unknown, reason=TEXT))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))  # JSON has no others
st.register_type_strategy(CdiSpec, st.sampled_from((CdiSpec("", "", ()), FULL_SPEC)))
for record in (
    EngineFlag,
    EngineRuntime,
    FileFault,
    UnreadRuntime,
    EngineFiles,
    EngineDaemon,
    EngineInstallation,
    SpecFault,
    CdiFolder,
    CdiFile,
    CdiHostPath,
    Cdi,
):  # a Record's fields are no parameters that hypothesis could see
    strategies = {name: st.from_type(hint) for name, hint in get_type_hints(record).items() if name in record._fields}
    st.register_type_strategy(record, st.builds(record, **strategies))
SNAPSHOTS = st.from_type(Snapshot)


@given(SNAPSHOTS)
def test_any_snapshot_survives_json(snapshot: Snapshot) -> None:
    assert snapshot_from_document(json.loads(json.dumps(snapshot_to_document(snapshot)))) == snapshot


def test_document_has_every_field_and_a_version() -> None:
    document = snapshot_to_document(make_snapshot())
    assert set(document) == {VERSION_KEY, *(field.name for field in fields(Snapshot))}
    assert document[VERSION_KEY] == "1.0"


def test_the_three_states_look_different() -> None:
    snapshot = make_snapshot(host_name=None, engines=Unknown("no"), kubelet=make_kubelet(cgroup_driver=Unknown("why")))
    document = snapshot_to_document(snapshot)
    assert document["host_name"] is None
    assert document["engines"] == {"unknown": "no"}
    assert document["toolkit"] != {"unknown": "no"}
    assert snapshot_from_document(document) == snapshot


def test_unknown_keys_are_passed_over() -> None:
    document = snapshot_to_document(make_snapshot())
    document["gpus"] = [{"index": 0}]
    document["system"] = {**document["system"], "secure_boot": True}  # type: ignore[dict-item] # a record is an object
    assert snapshot_from_document({**document, VERSION_KEY: "1.9"}) == make_snapshot()


def test_keys_of_a_later_ctk_are_unknown_or_default() -> None:
    document = snapshot_to_document(make_snapshot())
    del document["host_name"], document["docker_context"]
    found = snapshot_from_document(document)
    assert found.host_name == NOT_RECORDED
    assert found.docker_context is None


@pytest.mark.parametrize("version", ["2.0", "11.3", "2"])
def test_newer_major_version_is_refused(version: str) -> None:
    document = {**snapshot_to_document(make_snapshot()), VERSION_KEY: version}
    with pytest.raises(CtkError, match=f"cannot read the snapshot: it has version {version}") as caught:
        snapshot_from_document(document)
    assert caught.value.code == "snapshot-too-new"
    assert caught.value.exit_code == EXIT_FAILED
    assert "newer" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({VERSION_KEY: "one"}, "snapshot_version is 'one'"),
        ({VERSION_KEY: "0.9"}, "snapshot_version is '0.9'"),
        ({VERSION_KEY: None}, "it has no snapshot_version"),
        ({"taken_at": 5}, "snapshot.taken_at is int, not str"),
        ({"engines": {}}, "snapshot.engines is no list"),
        ({"engines": {"unknown": 1}}, "snapshot.engines is no reason"),
        ({"engines": [5]}, r"snapshot.engines\[0\] is no object"),
        ({"engines": [{}]}, r"snapshot.engines\[0\] has no engine"),
        ({"system": None}, "snapshot.system is no object"),
    ],
)
def test_what_is_no_snapshot_says_where(change: dict[str, object], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        snapshot_from_document({**snapshot_to_document(make_snapshot()), **change})


@pytest.mark.parametrize("document", [None, [], "x", {}, {"engines": []}])
def test_other_documents_are_no_snapshots(document: object) -> None:
    with pytest.raises(ValueError, match="no snapshot_version"):
        snapshot_from_document(document)


def test_number_is_not_taken_for_a_switch() -> None:
    document = snapshot_to_document(make_snapshot(engines=(make_engine(running=True),)))
    engines = document["engines"]
    assert isinstance(engines, list)
    engines[0]["running"] = 1
    with pytest.raises(ValueError, match="running is int, not bool"):
        snapshot_from_document(document)
