"""What a witness decides: C2SP tlog-witness, ``add-checkpoint``.

It cosigns a checkpoint only if the log grew from the one that it cosigned last. The refusals are classes, in the order in
which the specification checks; their HTTP status is the server's. Left out: ``sign-subtree``.

What an installation remembers of itself apart from its databases: the last checkpoint that it signed, and the end of its audit log.

Anyone who puts older databases in place, or others, cannot make them agree with it: the log must hold the tree of the checkpoint,
and the audit log the line. The file is JSON; the checkpoint in it is signed, the rest is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from identity_core.domain.ledger.note import (
    Checkpoint,
    Note,
    VerifierKey,
    base64_decode,
    base64_encode,
    open_checkpoint,
)
from identity_core.domain.ledger.proofs import verify_consistency
from identity_core.domain.ledger.tree import EMPTY_ROOT, HASH_BYTES, Malformed, Refuted
from identity_core.values import value_class

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


@value_class
class Submission:
    """A checkpoint, and the proof that it grew from the tree of ``old`` leaves."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def encode(self) -> bytes:
        """The body of the request."""
        lines = [f"old {self.old}", *map(base64_encode, self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, octets: bytes) -> Submission:
        """Raises ``Malformed``. The checkpoint in it is not yet looked at."""
        head, blank, checkpoint = octets.partition(b"\n\n")
        try:
            first, *lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise Malformed("the request is not text") from error
        old = _OLD.fullmatch(first)
        if not blank or old is None or len(lines) > MAX_HASHES:
            raise Malformed("the request is not an old size, a proof, a blank line and a checkpoint")
        proof = tuple(base64_decode(line) for line in lines)
        if any(len(one) != HASH_BYTES for one in proof):
            raise Malformed("a line of the proof is no hash")
        return cls(int(old[1]), proof, checkpoint)


def accept(submission: Submission, logs: Sequence[VerifierKey], latest: Mapping[str, Checkpoint]) -> Checkpoint:
    """The checkpoint to cosign, which is then the log's latest; ``latest`` are those that were cosigned last, by origin.

    Raises ``Malformed``, ``UnknownLog``, ``NotSigned``, ``Stale``, ``Inconsistent``.
    """
    checkpoint = Checkpoint.parse(Note.parse(submission.checkpoint).text)
    keys = [key for key in logs if key.name == checkpoint.origin]
    if not keys:
        raise UnknownLog(f"no log is called {checkpoint.origin}")
    _verify_signature(submission.checkpoint, keys)
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


def _verify_signature(octets: bytes, keys: Sequence[VerifierKey]) -> None:
    refusal = NotSigned("nobody has signed the checkpoint")
    for key in keys:
        try:
            open_checkpoint(octets, key)
            return
        except Refuted as error:
            refusal = NotSigned(str(error))
    raise refusal


LINK_BYTES = 32


@value_class
class Remembered:
    """``note`` is the signed checkpoint; ``audit_lines`` is the number of the last audit line, 0 when there was none, and
    ``audit_link`` its place in the chain, 32 octets. ``is_published``: others hold the checkpoint, as an operator said who put a backup
    back; a shorter log goes on under a new name or not at all."""

    note: bytes
    audit_lines: int
    audit_link: bytes
    is_published: bool = False

    @classmethod
    def parse(cls, octets: bytes) -> Remembered:
        """From the octets of ``encode``. Raises ``Malformed``."""
        try:
            read = json.loads(octets)
            note, lines, link = str(read["checkpoint"]).encode(), read["auditLines"], bytes.fromhex(read["auditLink"])
            is_published = read.get("published", False)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Malformed("it is not what was remembered") from error
        if (
            type(lines) is not int
            or not 0 <= lines < 2**63
            or len(link) != LINK_BYTES
            or type(is_published) is not bool
        ):
            raise Malformed("it is not what was remembered")
        remembered = cls(note, lines, link, is_published)
        Checkpoint.parse(Note.parse(remembered.note).text)
        return remembered

    def encode(self) -> bytes:
        """The file."""
        read: dict[str, object] = {"checkpoint": self.note.decode(), "auditLines": self.audit_lines}
        read |= {"auditLink": self.audit_link.hex()} | ({"published": True} if self.is_published else {})
        return json.dumps(read, indent=2).encode() + b"\n"

    @property
    def checkpoint(self) -> Checkpoint:
        """What was signed; the signature is not looked at."""
        return Checkpoint.parse(Note.parse(self.note).text)

    def covers(self, other: Remembered) -> bool:
        """Whether this one is of the same time as ``other`` or later."""
        return self.checkpoint.size >= other.checkpoint.size and self.audit_lines >= other.audit_lines
