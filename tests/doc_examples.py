"""The examples of docs/how-to, run: a page's files make a host, its `$ ctk …` lines run on it, the output is compared.

A fenced block with ` file=/path` after its language is a file of the host; ` host=docker,crio` begins with a new host
that has these engines. `python -m tests.doc_examples` writes today's output into the pages; read the difference.
"""

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.unit.cli.scene import ENGINE_PROGRAMS, RUNTIME, HostFolder

PAGES = Path(__file__).parent.parent / "docs" / "how-to"
ENTRY_ID = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}")
ALL_ENGINES = "docker,containerd,crio"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Runner:
    """One page's hosts, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.code = 0
        self.ids: list[str] = []
        self.new_host(ALL_ENGINES)

    def new_host(self, engines: str) -> None:
        self.count += 1
        place = self.folder / str(self.count)
        place.mkdir()
        self.host = HostFolder(place / "host")
        os.environ["CTK_STATE_DIR"] = str(self.host.state)
        self.host.program(RUNTIME)
        self.host.put("/proc/1/comm", "systemd\n")
        for engine in engines.split(","):
            self.host.program(f"/usr/bin/{ENGINE_PROGRAMS[engine]}")

    def run(self, command: str) -> str:
        """The output of one line as a reader would see it on the host itself."""
        if command == "echo $?":
            return f"{self.code}\n"
        known = {_shown(number): entry for number, entry in enumerate(self.ids)}
        words = [known.get(word, word) for word in shlex.split(command)]
        if words[0] == "cat":
            return self.host.path(words[1]).read_text()
        assert words.pop(0) in ("ctk", "sudo"), command
        answer = self.host.ctk(*(word for word in words if word != "ctk"))
        self.code = answer.code
        text = (answer.out + answer.err).replace(str(self.host.folder), "")
        self.ids = [*dict.fromkeys([*self.ids, *ENTRY_ID.findall(text)])]
        text = ENTRY_ID.sub(lambda found: _shown(self.ids.index(found.group())), text)
        return TIME.sub("2026-03-01T09:00:00Z", text)


def _shown(number: int) -> str:
    """An id of the journal as the pages have it: the same whenever they are written."""
    return f"20260301T0900{number:02d}.000000Z-1a2b3c{number:02d}"


def render(text: str, folder: Path) -> str:
    """The page with today's output in its console blocks."""
    runner = Runner(folder)
    lines: list[str] = []
    for heading, body in blocks(text):
        lines.append(heading)
        settings = dict(word.split("=", 1) for word in heading.split()[1:] if "=" in word)
        if "host" in settings:
            runner.new_host(settings["host"])
        if "file" in settings:
            runner.host.put(settings["file"], "".join(line + "\n" for line in body))
        if heading.startswith("```console"):
            for command in (line.removeprefix("$ ") for line in body if line.startswith("$ ")):
                lines += [f"$ {command}", *runner.run(command).splitlines()]
        else:
            lines += body
    return "\n".join(lines) + "\n"


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """(line, []) for prose, (opening fence, lines of the block) for fenced blocks; the closing fence is prose."""
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        start, index = index, index + 1
        if lines[start].startswith("```") and lines[start] != "```":
            while lines[index] != "```":
                index += 1
        yield lines[start], lines[start + 1 : index]


def main() -> None:
    for page in sorted(PAGES.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(render(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
