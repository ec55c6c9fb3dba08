"""Renders what a plan changes as a unified diff, secrets hidden; knows bytes and lines, opens and prints nothing."""

from collections.abc import Iterator, Sequence

from ctk.change.mask import mask_secrets
from ctk.change.plan import FileChange
from ctk.record import Record

CONTEXT_LINES = 3
_EFFORT = 400  # edits after which the search for the shortest difference stops; then the middle is shown as replaced

_BOLD, _RED, _GREEN, _CYAN, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"


class _Edit(Record):
    """Old lines [old_start, old_end) become new lines [new_start, new_end)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def unified_diff(change: FileChange, mask: bool = True) -> str:
    """The change as a unified diff, "" if nothing changes.

    Line ends stay as they are, so a CRLF file gives CRLF lines; bytes that are not UTF-8 are shown as \\xNN.
    """
    if change.action == "none":
        return ""
    old_name = "/dev/null" if change.before is None else change.path
    new_name = "/dev/null" if change.after is None else change.path
    return diff_texts(_text(change.before), _text(change.after), old_name, new_name, mask)


def diff_texts(before: str, after: str, old_name: str, new_name: str, mask: bool = True) -> str:
    """A unified diff of two texts under the names given; the headers alone if the texts are equal."""
    old, new = _lines(before), _lines(after)
    shown_old, shown_new = (_lines(mask_secrets(before)), _lines(mask_secrets(after))) if mask else (old, new)
    out = [f"--- {_quoted(old_name)}\n", f"+++ {_quoted(new_name)}\n"]
    for hunk in _hunks(_edits(old, new)):
        out.extend(_render_hunk(hunk, shown_old, shown_new, len(old)))
    return "".join(out)


def render_coloured_diff(text: str) -> str:
    """The diff with ANSI colours for a terminal; the line ends stay outside the colours."""
    return "".join(_coloured(text))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "backslashreplace")


def _lines(text: str) -> list[str]:
    """Lines with their ends, split at \\n only: \\r, \\f and U+2028 are content."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _quoted(name: str) -> str:
    """A path that cannot break the header line."""
    return name if name.isprintable() else '"' + name.encode("unicode_escape", "backslashreplace").decode("ascii") + '"'


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    """The differing ranges in order, from the shortest edit script of the part between the equal ends."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < min(len(old), len(new)) - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[start : len(old) - tail], new[start : len(new) - tail]
    if not middle_old and not middle_new:
        return []
    matches = _matches(middle_old, middle_new)
    return _gaps(matches, len(middle_old), len(middle_new), start)


def _gaps(matches: list[tuple[int, int]], old_length: int, new_length: int, shift: int) -> list[_Edit]:
    edits, old_at, new_at = [], 0, 0
    for old_index, new_index in [*matches, (old_length, new_length)]:
        if old_index > old_at or new_index > new_at:
            edits.append(_Edit(shift + old_at, shift + old_index, shift + new_at, shift + new_index))
        old_at, new_at = old_index + 1, new_index + 1
    return edits


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of equal lines of a longest common subsequence, by the greedy O(ND) search of E. Myers (1986)."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(len(old) + len(new), _EFFORT) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(furthest, diagonal, edits)
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _walk_back(trace, len(old), len(new))
    return []


def _step(furthest: dict[int, int], diagonal: int, edits: int) -> int:
    """The old line to go on from: an insertion keeps it, a removal takes one more."""
    down = furthest.get(diagonal + 1, -1)
    right = furthest.get(diagonal - 1, -1)
    if diagonal == -edits or (diagonal != edits and right < down):
        return down
    return right + 1


def _walk_back(trace: list[dict[int, int]], old_length: int, new_length: int) -> list[tuple[int, int]]:
    matches: list[tuple[int, int]] = []
    x, y = old_length, new_length
    for edits in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[edits], x - y
        start_x = _step(furthest, diagonal, edits) if edits else 0
        while x > start_x and y > 0 and x > 0:
            x, y = x - 1, y - 1
            matches.append((x, y))
        if edits:
            came_down = diagonal == -edits or (
                diagonal != edits and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            x, y = (start_x, start_x - diagonal - 1) if came_down else (start_x - 1, start_x - diagonal)
    matches.reverse()
    return matches


def _hunks(edits: list[_Edit]) -> Iterator[list[_Edit]]:
    """Edits whose contexts touch go into one hunk."""
    hunk: list[_Edit] = []
    for edit in edits:
        if hunk and edit.old_start - hunk[-1].old_end > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(edit)
    if hunk:
        yield hunk


def _render_hunk(hunk: list[_Edit], old: Sequence[str], new: Sequence[str], old_length: int) -> Iterator[str]:
    lead = min(CONTEXT_LINES, hunk[0].old_start)
    trail = min(CONTEXT_LINES, old_length - hunk[-1].old_end)
    old_start, old_end = hunk[0].old_start - lead, hunk[-1].old_end + trail
    new_start, new_end = hunk[0].new_start - lead, hunk[-1].new_end + trail
    yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n"
    at = old_start
    for edit in hunk:
        yield from _marked(" ", old[at : edit.old_start])
        yield from _marked("-", old[edit.old_start : edit.old_end])
        yield from _marked("+", new[edit.new_start : edit.new_end])
        at = edit.old_end
    yield from _marked(" ", old[at:old_end])


def _range(start: int, end: int) -> str:
    """A hunk's range: 1-based, the length left out when it is 1, and the line before when it is 0."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _coloured(text: str) -> Iterator[str]:
    old_left = new_left = 0  # lines of the hunk still to come: only outside a hunk is "--- x" a header
    for line in _lines(text):
        colour = ""
        if old_left <= 0 and new_left <= 0 and line.startswith("@@ "):
            old_left, new_left = _hunk_lengths(line)
            colour = _CYAN
        elif old_left <= 0 and new_left <= 0:
            colour = _BOLD if line.startswith(("--- ", "+++ ")) else ""
        elif line[:1] in "+-":
            colour = _GREEN if line[0] == "+" else _RED
        if colour != _CYAN:
            old_left -= line[:1] in " -"
            new_left -= line[:1] in " +"
        body = line.rstrip("\r\n")
        yield f"{colour}{body}{_RESET}{line[len(body) :]}" if colour and body else line


def _hunk_lengths(header: str) -> tuple[int, int]:
    old, new = (part.partition(",")[2] or "1" for part in header.split(" ")[1:3])
    return int(old), int(new)
