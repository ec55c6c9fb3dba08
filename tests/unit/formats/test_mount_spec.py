"""Lines of a Jetson's mount files: what is read, and what is passed over and why."""

import pytest

from ctk.formats.mount_spec import MountLine, parse_mount_spec


def test_kinds_paths_and_empty_lines() -> None:
    text = "dev, /dev/nvmap\n\nlib,/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1\n  sym , /etc/vulkan/icd.d/a.json \n"
    assert parse_mount_spec(text) == (
        MountLine(1, "dev, /dev/nvmap", "dev", "/dev/nvmap"),
        MountLine(
            3,
            "lib,/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1",
            "lib",
            "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1",
        ),
        MountLine(4, "sym , /etc/vulkan/icd.d/a.json", "sym", "/etc/vulkan/icd.d/a.json"),
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("dev /dev/nvmap", "no comma"),
        ("file, /etc/passwd", "'file' is none of dev, dir, lib, sym"),
        ("lib, libcuda.so", "no absolute path"),
        ("# a comment", "no comma"),
    ],
)
def test_lines_that_are_passed_over(line: str, words: str) -> None:
    (found,) = parse_mount_spec(line)
    assert (found.number, found.text, found.kind, found.path) == (1, line, "", "")
    assert words in found.fault
