"""What the engines' library said of 220 texts (container-device-interface 0.5.2, Debian 12's package) is what ctk says.

The texts are a sound spec with one to three lines spoilt at random; a row without a spec was refused. Recorded once
with a program of ten lines around cdi.ReadSpec; zero values and absent fields are the same.
"""

import json
from pathlib import Path

from ctk.cdi.document import spec_to_document
from ctk.cdi.load import load_spec
from ctk.cdi.validate import validate_spec
from ctk.facts.cdi import REFUSED

ROWS = json.loads((Path(__file__).parents[2] / "corpus" / "cdi" / "library-verdicts.json").read_text(encoding="utf-8"))


def without_zeros(value: object) -> object:
    if isinstance(value, dict):
        kept = {key: without_zeros(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, [], {}, "", 0)}
    return [without_zeros(item) for item in value] if isinstance(value, list) else value


def read(text: str) -> object:
    """The spec as a document, None where engines refuse it."""
    found = load_spec(text.encode())
    if found.spec is None or any(fault.level == REFUSED for fault in validate_spec(found.spec)):
        return None
    return without_zeros(spec_to_document(found.spec))


def test_the_library_and_ctk_agree() -> None:
    assert len(ROWS) == 220
    assert [row["text"] for row in ROWS if read(row["text"]) != row["spec"]] == []


def test_both_verdicts_are_there() -> None:
    assert {row["spec"] is None for row in ROWS} == {True, False}
