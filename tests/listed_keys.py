"""The keys of checkpoints as an answer of getLedgerKey lists them, for tests that read them by the successions alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from identity_did_ids.service_keys import CHECKPOINT, Replacement

from identity_codec import times
from identity_tlog.note import Note


def listed_replacements(answer: Mapping[str, Any]) -> list[Replacement]:
    """Return the replacements of an answer, the first first, each with the size that its succession states."""
    following, found = str(answer["publicKeyMultibase"]), list[Replacement]()
    for one in answer.get("earlierKeys", ()):
        public, succession = str(one["publicKeyMultibase"]), one["succession"]
        note = None if succession is None else str(succession).encode()
        size = int(one["treeSize"]) if note is None else int(Note.parse(note).text.split("\n")[4])
        at = times.parse(one["replacedAt"])
        found.insert(
            0,
            Replacement(
                CHECKPOINT, int(one["number"]) + 1, following, public, size, bool(one["compromised"]), at, note
            ),
        )
        following = public
    return found
