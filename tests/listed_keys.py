"""Keys as the service lists or generates them, read by tests without its code."""

from __future__ import annotations

import base64
import re
import zlib
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


def is_minted(text: str) -> bool:
    """Return whether ``text`` has the form and the checksum of a generated API key."""
    checksum = base64.urlsafe_b64encode(zlib.crc32(text[:-6].encode()).to_bytes(4, "big")).decode().rstrip("=")
    return re.fullmatch(r"idk_live_[A-Za-z0-9_-]{49}", text, re.ASCII) is not None and text[-6:] == checksum
