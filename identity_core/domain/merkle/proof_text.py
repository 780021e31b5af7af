"""A proof that can be kept and checked offline, as text: C2SP tlog-proof.

``extra`` is ours to fill: the lines of the leaf that its reader cannot know from elsewhere. It is not authenticated by
itself; the inclusion proof authenticates the leaf that is made with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from identity_core.domain.merkle.note import MAX_NOTE, base64_decode, base64_encode
from identity_core.domain.merkle.refusals import Malformed
from identity_core.domain.merkle.tree import HASH_BYTES

FIRST_LINE: Final = "c2sp.org/tlog-proof@v1"
MAX_HASHES: Final = 63

_INDEX: Final = re.compile(r"index (0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TlogProof:
    """The place of an entry, the hashes that lead from it to the root, and the signed checkpoint with that root."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def encode(self) -> bytes:
        """The text in UTF-8."""
        extra = [] if self.extra is None else [f"extra {base64_encode(self.extra)}"]
        lines = [FIRST_LINE, *extra, f"index {self.index}", *map(base64_encode, self.hashes), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, octets: bytes) -> TlogProof:
        """Raises ``Malformed``. The checkpoint in it is not yet looked at."""
        if len(octets) > 2 * MAX_NOTE:
            raise Malformed("the proof is too large")
        head, blank, checkpoint = octets.partition(b"\n\n")
        try:
            lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise Malformed("the proof is not text") from error
        if not blank or lines.pop(0) != FIRST_LINE:
            raise Malformed(f"a proof begins with {FIRST_LINE} and ends with a checkpoint")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = base64_decode(lines.pop(0).removeprefix("extra "))
        index = _INDEX.fullmatch(lines.pop(0)) if lines else None
        hashes = tuple(base64_decode(line) for line in lines)
        if index is None or len(hashes) > MAX_HASHES or any(len(one) != HASH_BYTES for one in hashes):
            raise Malformed("the proof has no index, or what follows it are no hashes")
        return cls(int(index[1]), hashes, checkpoint, extra)
