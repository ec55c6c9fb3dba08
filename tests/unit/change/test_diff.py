"""unified_diff: the same answer as diff -u, whatever the bytes."""

import random
import re

from ctk.change.diff import diff_texts, render_coloured_diff, unified_diff
from ctk.change.plan import FileChange


def change(before: bytes | None, after: bytes | None) -> FileChange:
    return FileChange("/etc/a", "/etc/a", before, after)


def apply_diff(before: str, text: str) -> str:
    """A strict reading of a unified diff: every context and removed line must be where the hunk says."""
    old = before.splitlines(keepends=True)
    out: list[str] = []
    at, mark = 0, ""
    for line in text.splitlines(keepends=True)[2:]:
        if header := re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            start = int(header[1]) - (header[2] != "0")
            out += old[at:start]
            at = start
            assert len(out) + (header[4] != "0") == int(header[3])
        elif line[0] == "\\":
            if mark in " -":
                assert not old[at - 1].endswith("\n")
            if mark in " +":
                out[-1] = out[-1].rstrip("\n")
        else:
            mark = line[0]
            if mark in " -":
                assert old[at].rstrip("\n") == line[1:].rstrip("\n")
                at += 1
            if mark in " +":
                out.append(line[1:])
    return "".join(out + old[at:])


def test_diff_of_an_edit_has_headers_hunk_and_context() -> None:
    before = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    assert unified_diff(change(before, before.replace(b"5\n", b"five\n"))) == (
        "--- /etc/a\n+++ /etc/a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_far_edits_are_two_hunks_and_near_edits_one() -> None:
    lines = [f"{number}\n" for number in range(30)]
    near, far = list(lines), list(lines)
    near[3], near[10] = "x\n", "y\n"
    far[3], far[11] = "x\n", "y\n"
    assert unified_diff(change("".join(lines).encode(), "".join(near).encode())).count("@@ ") == 1
    assert unified_diff(change("".join(lines).encode(), "".join(far).encode())).count("@@ -") == 2


def test_created_and_removed_files_are_against_dev_null() -> None:
    assert unified_diff(change(None, b"a\n")) == "--- /dev/null\n+++ /etc/a\n@@ -0,0 +1 @@\n+a\n"
    assert unified_diff(change(b"a\n", None)) == "--- /etc/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert unified_diff(change(None, b"")) == "--- /dev/null\n+++ /etc/a\n"
    assert unified_diff(change(b"a", b"a")) == ""


def test_missing_final_newline_is_said_on_the_side_that_lacks_it() -> None:
    marker = "\\ No newline at end of file\n"
    assert unified_diff(change(b"a\nb", b"a\nb\n")).endswith(f" a\n-b\n{marker}+b\n")
    assert unified_diff(change(b"a\nb\n", b"a\nb")).endswith(f" a\n-b\n+b\n{marker}")
    assert unified_diff(change(b"a\nb", b"x\nb")).endswith(f"-a\n+x\n b\n{marker}")


def test_crlf_and_bom_stay_in_the_lines() -> None:
    text = unified_diff(change(b"\xef\xbb\xbfa\r\nb\r\n", b"\xef\xbb\xbfa\r\nc\r\n"))
    assert " \ufeffa\r\n-b\r\n+c\r\n" in text


def test_only_line_feeds_part_lines() -> None:
    text = unified_diff(change("a\u2028b\x0cc\n".encode(), "a\u2028b\x0cd\n".encode()))
    assert "-a\u2028b\x0cc\n+a\u2028b\x0cd\n" in text


def test_bytes_that_are_not_utf8_are_shown_and_never_raise() -> None:
    text = unified_diff(change(b"a\xff\n", b"b\xfe\n"))
    assert "-a\\xff\n+b\\xfe\n" in text
    text.encode("utf-8")


def test_secrets_in_context_are_masked_and_equal_lines_stay_context() -> None:
    before = b'{\n  "auth": "c2VjcmV0",\n  "x": 1\n}\n'
    text = unified_diff(change(before, before.replace(b"1", b"2")))
    assert "c2VjcmV0" not in text
    assert '   "auth": "********",\n-  "x": 1\n' in text
    assert "c2VjcmV0" in unified_diff(change(before, before.replace(b"1", b"2")), mask=False)


def test_a_changed_secret_is_shown_as_changed_without_its_value() -> None:
    text = unified_diff(change(b'password = "aaa"\n', b'password = "bbb"\n'))
    assert '-password = "********"\n+password = "********"\n' in text


def test_a_path_with_a_line_feed_cannot_forge_a_header() -> None:
    text = unified_diff(FileChange("/etc/a\n+++ x", "/etc/a", b"1\n", b"2\n"))
    assert text.startswith('--- "/etc/a\\n+++ x"\n')


def test_random_diffs_lead_from_old_to_new() -> None:
    for seed in range(200):
        assert_leads_to_new(seed)


def assert_leads_to_new(seed: int) -> None:
    source = random.Random(seed)
    old = [source.choice("abc") for _ in range(source.randint(0, 14))]
    new = list(old)
    for _ in range(source.randint(1, 5)):
        if new and source.random() < 0.5:
            new.pop(source.randrange(len(new)))
        else:
            new.insert(source.randint(0, len(new)), source.choice("abcd"))
    before = "\n".join(old) + source.choice(["", "\n"])
    after = "\n".join(new) + source.choice(["", "\n"])
    assert apply_diff(before, diff_texts(before, after, "a", "a")) == after


def test_a_large_file_with_two_far_edits_is_quick_and_minimal() -> None:
    lines = [f'key{number % 7} = "{number % 5}"\n' for number in range(20_000)]
    new = [*lines[:10], "first\n", *lines[10:-10], "second\n", *lines[-10:]]
    text = unified_diff(change("".join(lines).encode(), "".join(new).encode()))
    assert [line for line in text.split("\n")[2:] if line[:1] in "+-"] == ["+first", "+second"] or text.count(
        "\n+"
    ) == 3


def test_wholly_different_large_files_are_shown_as_replaced() -> None:
    before = "".join(f"a{number}\n" for number in range(3000))
    after = "".join(f"b{number}\n" for number in range(3000))
    text = diff_texts(before, after, "x", "x")
    assert text.count("\n-a") == 3000
    assert text.count("\n+b") == 3000


def test_colour_marks_lines_by_their_meaning_and_keeps_the_text() -> None:
    text = unified_diff(change(b"-- x\r\nb\n", b"++ y\r\nb\n"))
    coloured = render_coloured_diff(text)
    assert "\x1b[31m--- x\x1b[0m\r\n" in coloured
    assert "\x1b[32m+++ y\x1b[0m\r\n" in coloured
    assert "\x1b[1m--- /etc/a\x1b[0m\n" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == text
