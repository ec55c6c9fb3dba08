"""The table of settings: whole, well formed, and with the nearest name for a wrong one."""

import pytest

from ctk.toolkit.document import HostDefaults, effective
from ctk.toolkit.settings import BOOLEAN, LIST, SETTINGS, STRING, find_setting, nearest_key
from ctk.toolkit.values import RULES, value_fault
from tests.unit.toolkit.keys import KEYS


def test_every_key_of_the_toolkit_is_in_the_table_once() -> None:
    """The keys are those of NVIDIA Container Toolkit 1.20."""
    assert sorted(row.key for row in SETTINGS) == sorted(KEYS)
    assert len(SETTINGS) == len(KEYS) == 37


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.key)
def test_a_row_is_well_formed(row: object) -> None:
    setting = find_setting(getattr(row, "key", ""))
    assert setting is not None
    assert setting.kind in (STRING, BOOLEAN, LIST)
    assert setting.meaning.endswith(".")
    assert len(setting.meaning) > 20
    assert setting.check in ("", *RULES)
    values = {effect.setting.key: effect.value for effect in effective({}, HostDefaults())}
    for value in (setting.default, setting.shown):
        assert value is None or value_fault(setting, value, values) == ""
    assert set(setting.allowed) >= ({setting.default} if setting.allowed else set())


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("nvidia-container-runtime.mod", "nvidia-container-runtime.mode"),
        ("nvidia-container-runtime.loglevel", "nvidia-container-runtime.log-level"),
        ("nvidia-container-runtime.discover-mode", "nvidia-container-runtime.mode"),
        ("nvidia-container-cli.no_cgroups", "nvidia-container-cli.no-cgroups"),
        ("no-cgroups", "nvidia-container-cli.no-cgroups"),
        ("nvidia-container-runtimes.log-level", "nvidia-container-runtime.log-level"),
        ("swarm-resources", "swarm-resource"),
        ("disable-require.foo", "disable-require"),
        ("nvidia-container-runtime.experimental", None),
        ("site.owner", None),
        ("", None),
    ],
)
def test_the_nearest_key(wrong: str, near: str | None) -> None:
    assert nearest_key(wrong) == near
