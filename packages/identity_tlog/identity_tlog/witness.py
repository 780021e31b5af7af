"""The decision of a witness: C2SP tlog-witness, ``add-checkpoint``.

It cosigns a checkpoint only if the log grew from the one that it cosigned last. The refusals are classes, in the order in
which the specification checks; their HTTP status is the server's. Left out: ``sign-subtree``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from identity_tlog.note import Checkpoint, Note, VerifierKey, base64_decode, base64_encode, open_checkpoint
from identity_tlog.proofs import verify_consistency
from identity_tlog.tree import EMPTY_ROOT, HASH_BYTES, Malformed, Refuted

MAX_HASHES: Final = 63

_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})", re.ASCII)


class UnknownLog(Refuted):
    """The witness does not watch this log."""


class NotSigned(Refuted):
    """The checkpoint is not signed by the key that the witness knows for the log."""


class Stale(Refuted):
    """The old size is not that of the last checkpoint that was cosigned; ``size`` is."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the last checkpoint that was cosigned has {size} entries")
        self.size = size


class Inconsistent(Refuted):
    """The log did not grow from the last checkpoint that was cosigned: it forked."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A checkpoint, and the proof that it grew from the tree of ``old`` leaves."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def encode(self) -> bytes:
        """Return the body of the request."""
        lines = [f"old {self.old}", *map(base64_encode, self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> Submission:
        """Raise ``Malformed``. The checkpoint in it is not yet looked at."""
        head, blank, checkpoint = data.partition(b"\n\n")
        try:
            first, *lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise Malformed("the request is not text") from error
        old = _OLD.fullmatch(first)
        if not blank or old is None or len(lines) > MAX_HASHES:
            raise Malformed("the request is not an old size, a proof, a blank line and a checkpoint")
        proof = tuple(base64_decode(line) for line in lines)
        if any(len(one) != HASH_BYTES for one in proof):
            raise Malformed("a line of the proof is not a hash")
        return cls(int(old[1]), proof, checkpoint)


def accept(submission: Submission, logs: Sequence[VerifierKey], latest: Mapping[str, Checkpoint]) -> Checkpoint:
    """Return the checkpoint to cosign, which is then the log's latest; ``latest`` are those that were cosigned last, by origin.

    Raises ``Malformed``, ``UnknownLog``, ``NotSigned``, ``Stale``, ``Inconsistent``.
    """
    checkpoint = Checkpoint.parse(Note.parse(submission.checkpoint).text)
    if all(key.name != checkpoint.origin for key in logs):
        raise UnknownLog(f"no log is called {checkpoint.origin}")
    _verify_signatures(submission.checkpoint, logs)
    if submission.old > checkpoint.size:
        raise Malformed("the old size is larger than that of the checkpoint")
    before = latest.get(checkpoint.origin, Checkpoint(checkpoint.origin, 0, EMPTY_ROOT))
    if submission.old != before.size:
        raise Stale(before.size)
    if checkpoint.size == 0 and checkpoint.root != EMPTY_ROOT:
        raise Inconsistent("a log without entries has another root")
    try:
        verify_consistency(before.size, before.root, checkpoint.size, checkpoint.root, submission.proof)
    except Refuted as error:
        raise Inconsistent(str(error)) from error
    return checkpoint


def _verify_signatures(data: bytes, logs: Sequence[VerifierKey]) -> None:
    """Verify the signature of each watched log, because readers refuse a checkpoint with a wrong line of a key that they know."""
    note = Note.parse(data)
    signing = [key for key in logs if note.find_signature(key) is not None]
    if not signing:
        raise NotSigned("the checkpoint has no signature")
    try:
        for key in signing:
            open_checkpoint(data, key)
    except Refuted as error:
        raise NotSigned(str(error)) from error
