"""An edit of containerd's files under way: texts so far, keys touched; proves nothing, opens no file."""

from collections.abc import Mapping

from ctk.edit import toml
from ctk.edit.compare import is_equal, lookup
from ctk.engines.containerd_layout import Layout
from ctk.engines.layers import Path, Table
from ctk.record import Record


class Workspace(Record):
    """An edit under way: the texts so far and the keys that were touched, both by file.

    contents: the texts as far as they were parsed; parsing is what a run with nothing to do spends its time on.
    copied: the tables that were copied from other files, which must not change what is in force.
    """

    layout: Layout
    texts: dict[str, str]
    contents: dict[str, Table]
    owned: dict[str, list[Path]]
    copied: list[Path]

    def edit(self, document_path: str, key: Path, value: object) -> None:
        """Set one key."""
        self.owned[document_path].append(key)
        if not is_equal(lookup(self.content(document_path), key), value):
            self.put(document_path, toml.set_value(self.texts[document_path], key, value))

    def add(self, document_path: str, table: Path, values: Mapping[str, object], after: Path | None) -> None:
        """Add one table."""
        self.put(document_path, toml.add_table(self.texts[document_path], table, values, after))
        self.owned[document_path].append(table)

    def put(self, document_path: str, text: str) -> None:
        """Take a new text for a file."""
        self.texts[document_path] = text
        self.contents.pop(document_path, None)

    def content(self, document_path: str) -> Table:
        """A file as it is so far."""
        if document_path not in self.contents:
            self.contents[document_path] = toml.load(self.texts[document_path], document_path)
        return self.contents[document_path]
