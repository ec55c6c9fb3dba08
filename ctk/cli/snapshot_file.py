"""Snapshots as files: reading one in place of the machine, and saving one; judges nothing."""

from ctk.errors import CtkError, ReadFault
from ctk.facts.snapshot import Snapshot


def read_snapshot(path: str) -> Snapshot:
    """The snapshot in a file. Raises ReadFault if it cannot be read or is not a snapshot, CtkError if it is too new."""
    import json

    from ctk.facts.codec import snapshot_from_document

    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        return snapshot_from_document(document)
    except OSError as error:
        raise ReadFault(f"cannot read {path}: {error.strerror}", path=path, hint="Name a readable snapshot.") from error
    except CtkError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        hint = "Make one with: ctk info --save FILE"
        raise ReadFault(f"cannot read {path}: not a snapshot of ctk ({error})", path=path, hint=hint) from error
