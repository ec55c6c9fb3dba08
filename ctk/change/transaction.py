"""Changes several files as one: all of them or none; journals nothing and asks no engine."""

import contextlib
import os
from collections.abc import Callable, Iterator

from ctk.change.faults import cause_of, read_fault, write_fault
from ctk.change.files import (
    LEFT,
    SAME,
    TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX,
    FolderState,
    Step,
    folder_state,
    make_folder,
    missing_folders,
    observe,
    put_back,
    read_file,
    remove_empty_folders,
    remove_if_there,
    replace,
    require_unmoved,
    stage,
)
from ctk.change.plan import Plan
from ctk.errors import WriteFault
from ctk.record import Record


class Undone(Record):
    """What came of the way back. changed: some file was not as before.

    As sentences: left, what somebody else has changed meanwhile; failed, what the system refused.
    """

    changed: bool
    left: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Transaction:
    """The files of one plan, looked at once, then written, then perhaps put back.

    made: folders that are missing and will be made; removed: folders that will be removed if they are empty. touched:
    the steps whose file may be changed.
    """

    def __init__(self, plan: Plan, run_id: str) -> None:
        """Look at the files. Raises BusyFault (code "changed") if one is not as planned, ReadFault."""
        self.steps = tuple(_observe(plan, run_id))
        created = (missing_folders(step.target) for step in self.steps if step.after is not None)
        self.made = tuple(dict.fromkeys(folder for folders in created for folder in folders))
        wanted = dict.fromkeys(folder for change in plan.pending for folder in change.remove_folders)
        self.removed: tuple[FolderState, ...] = tuple(state for path in wanted if (state := folder_state(path)))
        self.touched: list[Step] = []
        self._in_place: set[str] = set()
        self._staged: dict[str, bool] = {}

    def stage(self) -> None:
        """Make folders and write every new file beside the old one, so that a full disk stops us before any change."""
        made = []
        for folder in self.made:
            with _naming(folder, folder, "make the folder"):
                if make_folder(folder, owner=self._owner_of(folder)):
                    made.append(folder)
        self.made = tuple(made)
        for step in self.steps:
            if step.after is not None:
                with _naming(step.path, step.target):
                    self._staged[step.target] = stage(step, step.after, step.old)

    def _owner_of(self, folder: str) -> tuple[int, int] | None:
        """A folder made for a file belongs to whom the file belongs to (a rootless user's ~/.config)."""
        return next((step.owner for step in self.steps if step.target.startswith(folder + os.sep)), None)

    def commit(self, note_in_place: Callable[[str], None]) -> None:
        """Put every new file in its place. note_in_place is told of a real file before it is written over.

        Raises BusyFault, WriteFault; then some files may be changed, and undo puts them back.
        """
        for step in self.steps:
            with _naming(step.path, step.target):
                require_unmoved(step)
                self.touched.append(step)
                replace(step, self._staged.get(step.target, False), lambda: self._note(step, note_in_place))  # noqa: B023 - called at once
        remove_empty_folders(folder.path for folder in self.removed)
        for step in self.steps:
            with _naming(step.path, step.target, "read back"):
                if read_file(step.target) != step.after:
                    raise WriteFault(
                        f"cannot write {step.path}: it reads back otherwise than it was written",
                        hint="Look for another program that writes this file. The old file was put back.",
                        path=step.path,
                    )

    def _note(self, step: Step, note_in_place: Callable[[str], None]) -> None:
        note_in_place(step.target)
        self._in_place.add(step.target)

    def undo(self) -> Undone:
        """Put everything back that is as we left it. Raises nothing for what files do."""
        left: list[str] = []
        failed: list[str] = []
        changed = False
        for step in self.steps:
            with _collecting(failed, step.temporary, "remove"):
                remove_if_there(step.temporary)
        for folder in sorted(self.removed, key=lambda item: len(item.path)):
            with _collecting(failed, folder.path, "make"):
                make_folder(folder.path, folder.mode, (folder.uid, folder.gid))
        for step in reversed(self.touched):
            with _collecting(failed, step.path, "put back"):
                found = put_back(step, torn=step.target in self._in_place)
                changed = changed or found != SAME
                if found == LEFT:
                    left.append(f"{step.path} was changed by somebody else meanwhile and left as it is")
        remove_empty_folders(reversed(self.made))
        return Undone(changed, tuple(left), tuple(failed))


def _observe(plan: Plan, run_id: str) -> Iterator[Step]:
    for index, change in enumerate(plan.pending):
        name = f"{TEMPORARY_PREFIX}{run_id}-{index}{TEMPORARY_SUFFIX}"
        try:
            yield observe(change, os.path.join(os.path.dirname(change.target), name))
        except OSError as error:
            raise read_fault(error, change.path) from error


@contextlib.contextmanager
def _naming(path: str, target: str, verb: str = "write") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise write_fault(error, path, target=target, verb=verb) from error


@contextlib.contextmanager
def _collecting(failed: list[str], path: str, verb: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        failed.append(f"cannot {verb} {path}: {cause_of(error)}")
