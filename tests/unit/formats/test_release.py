"""Version numbers of engines and toolkit: what is older, and what may be mended without another number."""

import pytest

from ctk.formats.release import is_below, is_rebuilt, parse_release

MENDED = ("1.2.8", "1.3.3", "1.4.0-rc.3")


@pytest.mark.parametrize(
    ("text", "numbers", "suffix"),
    [
        ("1.20.0", (1, 20, 0), ""),
        ("v1.7.23-k3s2", (1, 7, 23), "-k3s2"),
        ("5:29.1.3-1~debian.12~bookworm", (29, 1, 3), "-1~debian.12~bookworm"),
        ("1.1.5+ds1-1+deb12u1", (1, 1, 5), "+ds1-1+deb12u1"),
        ("1.17.0~rc.1-1", (1, 17, 0), "-1"),
        (" 580.95.05\n", (580, 95, 5), ""),
    ],
)
def test_the_numbers_stand_in_front(text: str, numbers: tuple[int, ...], suffix: str) -> None:
    found = parse_release(text)
    assert found is not None
    assert (found.numbers, found.suffix) == (numbers, suffix)


@pytest.mark.parametrize("text", ["", "none", "1", "version 1.2"])
def test_what_is_no_version(text: str) -> None:
    assert parse_release(text) is None


def test_candidates_come_before_their_release() -> None:
    texts = ["1.3.9", "1.4.0-alpha.1", "1.4.0-beta.2", "1.4.0-rc.1", "1.4.0~rc.2-1", "1.4.0-rc.10", "1.4.0", "1.4.0.1"]
    releases = [release for release in map(parse_release, texts) if release is not None]
    assert len(releases) == len(texts)
    assert sorted(releases, key=lambda release: release.key) == releases
    one, other = parse_release("1.2"), parse_release("1.2.0")
    assert one is not None
    assert other is not None
    assert one.key == other.key


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.1.15", True),
        ("1.2.7", True),
        ("1.2.8", False),
        ("1.3.2", True),
        ("1.3.4", False),
        ("1.4.0-rc.2", True),
        ("1.4.0", False),
        ("1.5.0", False),
        ("0.1.0", True),
    ],
)
def test_each_branch_has_a_mended_release_of_its_own(version: str, expected: bool) -> None:
    found = parse_release(version)
    assert found is not None
    assert is_below(found, MENDED) is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.1.12", False),
        ("1.17.8-1", False),
        ("1.7.23-k3s2", False),
        ("1.1.5+ds1", True),
        ("1.1.12-0ubuntu2~22.04.1", True),
        ("1.1.12-4.el9", True),
        ("26.1.5+dfsg1", True),
    ],
)
def test_a_distribution_mends_without_another_number(version: str, expected: bool) -> None:
    found = parse_release(version)
    assert found is not None
    assert is_rebuilt(found) is expected
