"""What a vGPU's configuration space says, and that no bytes at all can make the reader loop or crash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.formats.vgpu_capability import VgpuHost, parse_vgpu_capability
from tests.vgpu_config import make_vgpu_config


def test_host_driver_and_branch() -> None:
    assert parse_vgpu_capability(make_vgpu_config("535.161.05", "r535_00")) == VgpuHost("535.161.05", "r535_00")


def test_record_behind_another_one() -> None:
    config = make_vgpu_config("460.16", "r460_00", before=b"\x01\x04ab")
    assert parse_vgpu_capability(config) == VgpuHost("460.16", "r460_00")


def test_vgpu_that_does_not_tell() -> None:
    assert parse_vgpu_capability(make_vgpu_config(None, "")) == VgpuHost()


def test_other_capabilities_are_no_vgpu() -> None:
    config = bytearray(make_vgpu_config("535.161.05", "r535_00"))
    config[0x68 + 3 : 0x68 + 5] = b"\0\0"  # some other vendor-specific capability
    assert parse_vgpu_capability(bytes(config)) is None
    config[0x06] = 0  # no list of capabilities at all
    assert parse_vgpu_capability(bytes(config)) is None


def test_part_of_the_space_is_not_enough() -> None:
    with pytest.raises(ValueError, match="64 bytes"):
        parse_vgpu_capability(bytes(64))


@given(config=st.binary(min_size=256, max_size=256))
def test_no_bytes_make_it_crash(config: bytes) -> None:
    for found in (parse_vgpu_capability(config), parse_vgpu_capability(b"\xff" * 6 + b"\x10" + config[7:])):
        assert found is None or isinstance(found.version, str)
