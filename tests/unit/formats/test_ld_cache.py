"""The machine's own ldconfig writes what is read here, and a damaged or hostile cache is told as such."""

import struct
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.formats.ld_cache import LdCache, LdCacheEntry, parse_ld_cache
from tests.ld_caches import make_ld_cache, make_old_ld_cache

ROWS = (
    ("libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", 0x0303),
    ("libnvidia-ml.so.1", "/usr/lib/i386-linux-gnu/libnvidia-ml.so.1", 0x0003),
    ("libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1", 0x0A03),
)


def test_entries_with_their_machine() -> None:
    cache = parse_ld_cache(make_ld_cache(*ROWS))
    assert (cache.format, cache.total) == ("1.1", 3)
    assert [(entry.name, entry.path, entry.flags) for entry in cache.entries] == list(ROWS)
    assert [(entry.architecture, entry.bits) for entry in cache.entries] == [
        ("x86_64", 64),
        ("i386", 32),
        ("aarch64", 64),
    ]


def test_only_what_was_asked_for() -> None:
    cache = parse_ld_cache(make_ld_cache(*ROWS), ("libcuda", "libnvcuvid"))
    assert [entry.name for entry in cache.entries] == ["libcuda.so.1"]
    assert cache.total == 3


@pytest.mark.parametrize("rows", [ROWS, ROWS[:2], ()])
def test_old_block_in_front_is_passed_over(rows: tuple[tuple[str, str, int], ...]) -> None:
    assert parse_ld_cache(make_old_ld_cache(*ROWS[:1]) + make_ld_cache(*rows), ()) == LdCache("1.1", len(rows), ())


def test_old_block_alone() -> None:
    cache = parse_ld_cache(make_old_ld_cache(*ROWS, texts=True))
    assert cache.format == "1.7.0"
    assert [entry.path for entry in cache.entries] == [path for _, path, _ in ROWS]


def test_architecture_that_is_not_known_is_a_number() -> None:
    entry = LdCacheEntry("libx.so", "/libx.so", 0x4200)
    assert (entry.architecture, entry.bits, entry.is_elf) == ("0x4200", 64, False)


@pytest.mark.real
@pytest.mark.parametrize(("form", "format_"), [("new", "1.1"), ("compat", "1.1"), ("old", "1.7.0")])
def test_cache_of_the_machines_own_ldconfig(tmp_path: Path, form: str, format_: str) -> None:
    libraries = tmp_path / "usr/lib/nvidia"
    libraries.mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.conf").write_text("/usr/lib/nvidia\n")
    (tmp_path / "x.c").write_text("int x;\n")
    for name in ("libcuda.so", "libnvidia-ml.so"):
        flags = ["-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{name}.1"]
        command = ["gcc", *flags, "-o", str(libraries / f"{name}.580.95.05"), str(tmp_path / "x.c")]
        subprocess.run(command, check=True)
    subprocess.run(["/sbin/ldconfig", "-r", str(tmp_path), "-c", form], check=True, capture_output=True)
    cache = parse_ld_cache((tmp_path / "etc/ld.so.cache").read_bytes())
    assert cache.format == format_
    assert sorted((entry.name, entry.path, entry.bits, entry.is_elf) for entry in cache.entries) == [
        ("libcuda.so.1", "/usr/lib/nvidia/libcuda.so.1", 64, True),
        ("libnvidia-ml.so.1", "/usr/lib/nvidia/libnvidia-ml.so.1", 64, True),
    ]


@pytest.mark.real
def test_cache_of_this_machine() -> None:
    printed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    wanted = [line.rpartition(" => ")[2] for line in printed.splitlines() if " => " in line]
    assert [entry.path for entry in parse_ld_cache(Path("/etc/ld.so.cache").read_bytes()).entries] == wanted


SOUND = make_ld_cache(*ROWS)


def with_count(count: bytes) -> bytes:
    return SOUND[:20] + count + SOUND[24:]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"\x7fELF" + bytes(100), "no cache", id="other"),
        pytest.param(b"glibc-ld.so.cache1.2" + SOUND[20:], "no cache", id="another-version"),
        pytest.param(SOUND[:30], "cut short", id="head"),
        pytest.param(SOUND[:100], "cut short: 3 entries", id="entries"),
        pytest.param(SOUND[:120], "behind the end", id="names"),
        pytest.param(SOUND[:-1], "no end", id="last-byte"),
        pytest.param(with_count(b"\xff" * 4), "cut short", id="count"),
        pytest.param(with_count(b"\0\0\0\3"), "big-endian", id="turned-count"),
        pytest.param(SOUND[:28] + b"\3" + SOUND[29:], "big-endian", id="big-endian"),
        pytest.param(SOUND[:28] + b"\1" + SOUND[29:], "invalid", id="invalid"),
        pytest.param(b"ld.so-1.7.0\0", "cut short", id="old-head"),
        pytest.param(make_old_ld_cache(*ROWS)[:40], "cut short", id="old-entries"),
        pytest.param(b"ld.so-1.7.0\0\0\0\0\1" + bytes(64), "big-endian", id="old-turned"),
    ],
)
def test_damaged_cache_says_so(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_ld_cache(data)


@given(st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4))
def test_damage_is_told_and_nothing_else_is_raised(damages: list[tuple[int, bytes]]) -> None:
    data = bytearray(SOUND)
    for place, damage in damages:
        data[place : place + len(damage)] = damage
    try:
        cache = parse_ld_cache(bytes(data[: len(SOUND)]))
    except ValueError:
        return
    assert len(cache.entries) <= cache.total


def test_offsets_into_one_long_text_cost_little() -> None:
    count = 50000
    start = 48 + 24 * count
    head = b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", count, 8192, 2, 0)
    rows = b"".join(struct.pack("<4IQ", 0x303, start + n % 4000, start + n % 4000, 0, 0) for n in range(count))
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"overlap"):
        parse_ld_cache(head + rows + b"a" * 4000 + b"\0" * 4192)
    assert time.monotonic() - began < 2
