"""What the engines' library said of 220 texts (container-device-interface 0.5.2, Debian 12's package) is what ctk says.

The texts are a sound spec with one to three lines spoilt at random; a row without a spec was refused. Recorded once
with a program of ten lines around cdi.ReadSpec; zero values and absent fields are the same.
"""

import json
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("row", ROWS, ids=[f"row-{number}" for number in range(len(ROWS))])
def test_the_library_and_ctk_agree(row: dict[str, object]) -> None:
    found = load_spec(str(row["text"]).encode())
    faults = (*found.faults, *(validate_spec(found.spec) if found.spec is not None else ()))
    refused = any(fault.level == REFUSED for fault in faults)
    assert refused == (row["spec"] is None), [fault.message for fault in faults]
    if found.spec is not None and not refused:
        assert without_zeros(spec_to_document(found.spec)) == row["spec"]
