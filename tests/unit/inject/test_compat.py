"""enable-cuda-compat: which image's libraries are put in front of which driver, and what is left when they are not."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.formats import elf
from ctk.inject.compat import COMPAT_FILE, NOTE_SECTION, CompatNote, is_wanted, parse_note, parse_version
from ctk.inject.elf_note import read_notes
from ctk.inject.options import CUDA_VERSION, DRIVER_VERSION, Options
from tests.unit.inject.container import Container

pytestmark = pytest.mark.real

HOOK = "enable-cuda-compat"
DRIVERS = [535, 550, 560, 565, 570, 575]
NOTE = '{"format":1,"CUDA version":"12.9","driver":[535,550,560,565,570,575],"device":[1]}'
COMPAT = "/usr/local/cuda/compat"


def make_library(note: str | None, owner: bytes = b"NVIDIA Corporation\0") -> bytes:
    """A 64-bit ELF file that has nothing but its note section."""
    names = b"\0.note.cuda.fwd_compatibility\0.shstrtab\0"
    owner_padded = owner + bytes(-len(owner) % 4)
    content = (note or "").encode()
    body = struct.pack("<III", len(owner), len(content), 1) + owner_padded + content + bytes(-len(content) % 4)
    sections = [(0, 0, b""), (1, 7, body), (30, 3, names)] if note is not None else [(0, 0, b""), (30, 3, names)]
    table, data, offset = b"", b"", 64
    for name, kind, part in sections:
        table += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset if part else 0, len(part), 0, 0, 1, 0)
        data += part
        offset += len(part)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, offset, 0, 64, 56, 0, 64, len(sections), len(sections) - 1)
    return head + data + table


def options(driver: str = "", cuda: str = "") -> Options:
    return Options({DRIVER_VERSION: [driver], CUDA_VERSION: [cuda]})


NOTED = CompatNote((12, 9), frozenset(DRIVERS))
DECISIONS = [
    ("neither version is known", "575.57.08", NOTED, "", "", False),
    ("an older listed driver", "575.57.08", NOTED, "550.1", "", True),
    ("a listed driver of last month", "575.57.08", NOTED, "570.1", "", True),
    ("the same series, older", "575.57.08", NOTED, "575.1", "", True),
    ("the same version", "575.57.08", NOTED, "575.57.08", "", False),
    ("a newer driver", "575.57.08", NOTED, "580.1", "", False),
    ("a driver that is not listed", "575.57.08", NOTED, "545.1", "", False),
    ("by number, not as text", "1000.1", CompatNote(None, frozenset({999})), "999.1", "", True),
    ("only CUDA is known, older", "575.57.08", NOTED, "", "12.8", True),
    ("only CUDA is known, the same", "575.57.08", NOTED, "", "12.9", False),
    ("only CUDA is known, by number", "575.57.08", NOTED, "", "12.10", False),
    ("a driver that is no version, CUDA older", "575.57.08", NOTED, "unknown", "12.8", False),
    ("no note, an older driver", "560.10", None, "550.54.15", "", True),
    ("no note, the same series", "560.10", None, "560.10.1", "", False),
    ("no note, the same series, older", "560.30", None, "560.10.1", "", False),
    ("no note, CUDA is given", "560.10", None, "550.54.15", "12.4", False),
    ("no note, a newer driver", "560.10", None, "570.1", "", False),
    ("no note, a driver that is no version", "560.10", None, "what", "", False),
    ("no note, a library that is no version", "x.y", None, "550.1", "", False),
]


@pytest.mark.parametrize(
    ("version", "note", "driver", "cuda", "wanted"), [row[1:] for row in DECISIONS], ids=[row[0] for row in DECISIONS]
)
def test_who_wins(version: str, note: CompatNote | None, driver: str, cuda: str, wanted: bool) -> None:
    given = options(driver, cuda)
    assert (bool(driver or cuda) and is_wanted(parse_version(version), note, given)) is wanted


def read_of(content: bytes) -> CompatNote | None:
    return parse_note(lambda offset, count: content[offset : offset + count])


def test_the_note_is_read_whatever_the_case_of_its_keys() -> None:
    for text in (NOTE, NOTE.replace("CUDA version", "cuda VERSION").replace("driver", "Driver")):
        note = read_of(make_library(text))
        assert note is not None
        assert (note.cuda_version, note.drivers) == ((12, 9), frozenset(DRIVERS))


def test_a_library_without_a_note_of_nvidias_has_none() -> None:
    assert read_of(make_library(None)) is None
    assert read_of(make_library(NOTE, owner=b"somebody else\0")) is None


@pytest.mark.parametrize("text", ["", "[1]", '{"driver":5}', "{", '{"driver":' + "[" * 100_000, "nan"])
def test_a_damaged_note_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_of(make_library(text))


def test_the_folder_becomes_a_search_path(container: Container) -> None:
    container.write(f"{COMPAT}/libcuda.so.575.57.08", make_library(NOTE))
    container.link(f"{COMPAT}/libcuda.so.1", "libcuda.so.575.57.08")
    container.write(f"{COMPAT}/libnvidia-nvvm.so.575.57.08")
    assert container.done(HOOK, "--host-driver-version=550.54.15") == ""
    assert container.read(COMPAT_FILE) == f"{COMPAT}\n"
    assert (container.root / COMPAT_FILE.lstrip("/")).stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize("no_openat2", [False, True], ids=["openat2", "walk"])
def test_the_resolved_folder_is_written(container: Container, no_openat2: bool) -> None:
    container.write("/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", make_library(None))
    container.link("/usr/local/cuda", "/etc/alternatives/cuda")
    container.link("/etc/alternatives/cuda", "../../usr/local/cuda-12.9")
    container.done(HOOK, "--host-driver-version=550.54.15", no_openat2=no_openat2)
    assert container.read(COMPAT_FILE) == "/usr/local/cuda-12.9/compat\n"


def test_another_folder_can_be_named(container: Container) -> None:
    container.write("/orin/libcuda.so.1.1", make_library(NOTE))
    container.done(HOOK, "--host-cuda-version=12.2", "--cuda-compat-container-root=/orin")
    assert container.read(COMPAT_FILE) == "/orin\n"


def test_what_an_earlier_start_left_is_taken_away_when_the_driver_is_new_enough(container: Container) -> None:
    container.write(f"{COMPAT}/libcuda.so.575.57.08", make_library(NOTE))
    container.done(HOOK, "--host-driver-version=550.54.15")
    container.done(HOOK, "--host-driver-version=580.65.06")
    assert os.listdir(container.root / "etc/ld.so.conf.d") == []


@pytest.mark.parametrize("names", [(), ("libcuda.so.575.1", "libcuda.so.560.1"), ("libcuda.so.575",), ("libcuda.so",)])
def test_with_none_or_several_libraries_nothing_is_decided(container: Container, names: tuple[str, ...]) -> None:
    container.folder_at(COMPAT)
    for name in names:
        container.write(f"{COMPAT}/{name}", make_library(None))
    container.done(HOOK, "--host-driver-version=550.54.15")
    assert not os.path.lexists(container.root / "etc")


def test_a_damaged_library_is_one_without_a_note(container: Container) -> None:
    container.write(f"{COMPAT}/libcuda.so.575.57.08", make_library(NOTE)[:200])
    assert "taken as one without a note" in container.done(HOOK, "--host-driver-version=550.54.15")
    assert container.read(COMPAT_FILE) == f"{COMPAT}\n"


def test_a_fifo_in_place_of_the_library_is_not_opened(container: Container) -> None:
    os.mkfifo(container.path(f"{COMPAT}/libcuda.so.575.57.08"))
    container.done(HOOK, "--host-driver-version=550.54.15")
    assert not os.path.lexists(container.root / "etc")


def test_a_folder_whose_name_would_be_more_than_one_word_is_not_used(container: Container) -> None:
    container.write("/a\ninclude /x/compat/libcuda.so.575.57.08", make_library(None))
    container.link("/usr/local/cuda", "/a\ninclude /x")
    assert "cannot be a search path" in container.done(HOOK, "--host-driver-version=550.54.15")
    assert not os.path.lexists(container.root / "etc")


@given(st.sampled_from([NOTE, "", "{}", None]), st.sampled_from([b"NVIDIA Corporation\0", b"", b"x\0\0"]), st.data())
def test_the_short_reader_of_notes_says_what_the_long_one_says(
    note: str | None, owner: bytes, data: st.DataObject
) -> None:
    """Whole libraries, and such as a hostile image has: with any bytes in them exchanged, and cut anywhere."""
    content = bytearray(make_library(note, owner))
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3)):
        content[position] = data.draw(st.integers(0, 255))
    library = bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])

    def read(offset: int, count: int) -> bytes:
        return library[offset : offset + count]

    try:
        short = read_notes(read, NOTE_SECTION)
        long = elf.read_notes(read, NOTE_SECTION.decode())
    except ValueError:  # the long one also looks at tables that the short one has no use for
        return
    assert [(owner.decode("utf-8", "replace"), body) for owner, body in short] == [(n.name, n.content) for n in long]


def test_the_short_reader_of_notes_reads_a_real_program() -> None:
    content = Path("/proc/self/exe").read_bytes()

    def read(offset: int, count: int) -> bytes:
        return content[offset : offset + count]

    notes = read_notes(read, b".note.ABI-tag")
    assert notes
    assert [(owner.decode(), body) for owner, body in notes] == [
        (note.name, note.content) for note in elf.read_notes(read, ".note.ABI-tag")
    ]


@pytest.mark.parametrize("target", ["/../../../", "/../../..{host}", "{host}", "/proc/1/root{host}"])
def test_f94_a_folder_that_leads_out_is_not_looked_into(container: Container, target: str) -> None:
    """The host has a library there that would be used, were it found."""
    (container.folder / "libcuda.so.575.57.08").write_bytes(make_library(NOTE))
    container.link(COMPAT, target.format(host=container.folder))
    container.done(HOOK, "--host-driver-version=550.54.15")
    assert not os.path.lexists(container.root / "etc")


def test_f94_an_ordinary_link_keeps_working(container: Container) -> None:
    container.write("/opt/compat/libcuda.so.575.57.08", make_library(NOTE))
    container.link(COMPAT, "../../../opt/compat")
    container.done(HOOK, "--host-driver-version=550.54.15")
    assert container.read(COMPAT_FILE) == "/opt/compat\n"
