"""A file of JSON that one command after another goes on with: durable, whole, readable for its owner only."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from identity_core.cli.output import fail
from identity_core.cli.secret_input import read_private
from identity_core.codec import strict_json
from identity_core.database.files import FileLock
from identity_core.files import durable_draft


@contextlib.contextmanager
def private_record(path: Path, what: str, new: Mapping[str, Any], did: str) -> Iterator[dict[str, Any]]:
    """The record at ``path``, or ``new`` where there is none; on disk again at the end, unless something is raised. Two commands at once
    take turns. A file that is no such record, or not of this ``did``, ends the command: its members are those of ``new``, and the DID."""
    with contextlib.closing(FileLock(path.with_name(f".{path.name}.lock"))) as lock:
        lock.acquire()
        record = copy.deepcopy({"did": did, **new})
        if path.exists():
            record = read_record(path, what, new, did)
        yield record
        with durable_draft(path, (json.dumps(record, indent=2) + "\n").encode()) as draft:
            draft.replace(path)


def read_record(path: Path, what: str, new: Mapping[str, Any], did: str | None = None) -> dict[str, Any]:
    """The record at ``path``, as ``private_record`` has it. One that is not there ends the command too. Without a
    ``did`` it may be anybody's."""
    new = {"did": did or "", **new}
    try:
        value = strict_json.loads(read_private(path, what))
    except strict_json.JsonRefused as refused:
        fail(f"the {what} cannot be read: {refused}", str(path), "bring it back from your copy")
    if not isinstance(value, dict) or value.keys() != new.keys():
        fail(f"the file is no {what}", str(path), f"name the {what}, or a file that is not there yet")
    if any(type(value[name]) is not type(new[name]) for name in new):
        fail(f"the {what} has a member of another type", str(path), "bring it back from your copy")
    if did is not None and value["did"] != did:
        fail(f"the {what} is another DID's", str(path), "name the file of this DID")
    return value
