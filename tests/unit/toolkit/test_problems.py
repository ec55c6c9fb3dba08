"""What is wrong in a file: each fault with its place, and which of them keep it from being edited."""

import tomllib

import pytest

from ctk.errors import ParseFault
from ctk.toolkit.document import HostDefaults, effective, render_default
from ctk.toolkit.problems import check_document, refuse_broken
from tests.unit.toolkit.keys import FILES, KEYS, corpus

HOST = HostDefaults()


def told(text: str) -> list[tuple[str, str, bool, bool]]:
    problems = check_document(text, tomllib.loads(text), HOST)
    return [(f"{item.where}{item.key}", item.text, item.is_error, item.blocks) for item in problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("disable-require = 1\n", ("1:1:disable-require", "it must be true or false", True, True)),
        ("swarm-resource = true\n", ("1:1:swarm-resource", "it must be a string", True, True)),
        (
            "\n[nvidia-container-runtime]\n  runtimes = 'runc'\n",
            ("3:3:nvidia-container-runtime.runtimes", "it must be a list of strings", True, True),
        ),
        (
            "nvidia-container-runtime.runtimes = ['a', 1]\n",
            ("1:1:nvidia-container-runtime.runtimes", "it must be a list of strings", True, True),
        ),
        ("nvidia-container-cli = 5\n", ("1:1:nvidia-container-cli", "it must be a table", True, True)),
        ("[[nvidia-ctk]]\npath = 'x'\n", ("1:1:nvidia-ctk", "it must be a table", True, True)),
        ("[disable-require]\nfoo = 1\n", ("1:1:disable-require", "it must be true or false", True, True)),
        (
            "[nvidia-container-runtime]\nmodes.cdi = ''\n",
            ("2:1:nvidia-container-runtime.modes.cdi", "it must be a table", True, True),
        ),
        (
            "[nvidia-container-runtime]\nmode = 'x'\n",
            ("2:1:nvidia-container-runtime.mode", "it must be one of auto, legacy, csv, cdi, jit-cdi", True, False),
        ),
        (
            "[site]\n'a.b' = 1\n",
            ('2:1:site."a.b"', "no setting of the toolkit", False, False),
        ),
        (
            "[features]\nallow-cuda-compat-libs-from-container = true\n",
            (
                "2:1:features.allow-cuda-compat-libs-from-container",
                "security: true runs code of the image in the place of the driver's libraries",
                False,
                False,
            ),
        ),
    ],
)
def test_a_fault(text: str, expected: tuple[str, str, bool, bool]) -> None:
    assert told(text)[0] == expected
    assert len(told(text)) == 1


def test_the_old_release_keeps_its_keys_and_is_told_the_nearest_names() -> None:
    rows = {key.partition(":")[2].partition(":")[2]: text for key, text, *_ in told(corpus("old-release.toml"))}
    assert rows == {
        "nvidia-container-runtime.discover-mode": (
            "no setting of the toolkit; did you mean nvidia-container-runtime.mode?"
        ),
        "nvidia-container-runtime.loglevel": (
            "no setting of the toolkit; did you mean nvidia-container-runtime.log-level?"
        ),
        "nvidia-container-toolkit.log-level": (
            "no setting of the toolkit; did you mean nvidia-container-runtime.log-level?"
        ),
    }


@pytest.mark.parametrize("name", FILES)
def test_no_real_file_has_an_error(name: str) -> None:
    assert [row for row in told(corpus(name)) if row[2]] == []


def test_only_what_is_built_wrongly_is_refused() -> None:
    refuse_broken("f", check_document("mode = 1\n", {"mode": 1}, HOST))
    with pytest.raises(ParseFault, match="cannot use f: line 1, column 1: disable-require: it must be true or false"):
        refuse_broken("f", check_document("disable-require = 1", {"disable-require": 1}, HOST))


def test_the_default_document_is_the_toolkits_own() -> None:
    """F60, F64: ldconfig.real only where it is, root:video only on SUSE; all else as NVIDIA's `config default`."""
    text = render_default(HostDefaults())
    commented = [line for line in text.splitlines() if line.startswith("#")]
    assert commented == [
        "#accept-nvidia-visible-devices-as-volume-mounts = false",
        "#accept-nvidia-visible-devices-envvar-when-unprivileged = true",
        '#swarm-resource = "DOCKER_RESOURCE_GPU"',
        '#debug = "/var/log/nvidia-container-toolkit.log"',
        '#ldcache = "/etc/ld.so.cache"',
        "#no-cgroups = false",
        '#path = "/usr/bin/nvidia-container-cli"',
        '#root = "/run/nvidia/driver"',
        '#user = "root:video"',
        '#debug = "/var/log/nvidia-container-runtime.log"',
    ]
    assert 'ldconfig = "@/sbin/ldconfig"\n' in text
    suse = render_default(HostDefaults("@/sbin/ldconfig.real", "root:video"))
    assert '\nldconfig = "@/sbin/ldconfig.real"\n' in suse
    assert '\nuser = "root:video"\n' in suse
    values = {row.setting.key: row.value for row in effective({}, HOST)}
    written = {row.setting.key: row.value for row in effective(tomllib.loads(text), HOST)}
    assert written == values  # the document sets the defaults and nothing else
    assert set(values) == set(KEYS)
