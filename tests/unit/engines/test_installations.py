"""Each row of INSTALLATIONS is well formed, so that no reader of the table needs a check of its own."""

import pytest

from ctk.engines.installations import (
    DAEMONS,
    DROP_IN,
    GENERATED,
    INSTALLATIONS,
    MAIN,
    TEMPLATE,
    Installation,
    get_daemon,
    get_installation,
)

USER_VARIABLES = ("$XDG_CONFIG_HOME/", "$XDG_RUNTIME_DIR/", "$HOME/")
ROWS = [pytest.param(row, id=f"{row.engine}-{row.name}") for row in INSTALLATIONS]


def test_rows_are_unique_and_of_known_engines() -> None:
    keys = [(row.engine, row.name) for row in INSTALLATIONS]
    assert len(set(keys)) == len(keys)
    assert {row.engine for row in INSTALLATIONS} == {daemon.engine for daemon in DAEMONS}
    assert all(get_installation(*key) in INSTALLATIONS for key in keys)


@pytest.mark.parametrize("row", ROWS)
def test_paths_of_a_row_are_absolute_and_clean(row: Installation) -> None:
    paths = [row.config, row.socket, *row.markers, *row.templates, *(path for path in row.binaries if "/" in path)]
    paths += [path for path in (row.drop_in_directory, row.arguments_file) if path]
    starts = ("/", *USER_VARIABLES) if row.per_user else ("/",)
    assert all(path.startswith(starts) for path in paths)
    assert not [path for path in paths if "//" in path or path.endswith("/") or "/../" in path]
    assert all(unit.endswith(".service") for unit in row.units)


@pytest.mark.parametrize("row", ROWS)
def test_treatment_goes_with_what_the_row_has(row: Installation) -> None:
    assert row.treatment in (MAIN, DROP_IN, TEMPLATE, GENERATED)
    assert bool(row.templates) is (row.treatment == TEMPLATE or row.name in ("k3s", "rke2"))
    if row.treatment == DROP_IN:
        assert row.drop_in_directory
    if row.treatment != MAIN:
        assert row.used_by


@pytest.mark.parametrize("row", ROWS)
def test_installation_leaves_a_sign_that_can_be_looked_for(row: Installation) -> None:
    assert row.markers or row.binaries or row.units


def test_unknown_names_are_errors() -> None:
    with pytest.raises(KeyError):
        get_installation("docker", "k3s")
    with pytest.raises(KeyError):
        get_daemon("lxd")
