"""The keys of one log's checkpoints, one after the other, and how a stranger follows from one to the next.

Each replacement is said in a succession: a signed note (C2SP signed-note) of five lines, `identity-ledger-key-succession/v1`, origin, old
multikey, new multikey, and how many entries the log had. Both keys sign it; where the old one was compromised, the new one alone. No
checkpoint has such a text: a verifier key or a multikey is no root.

What the old key signed says that the new one is its successor, and what the new key signed that the old one came before it. A compromised
key names no successor: who knows that key alone needs the service log of a DID that he knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from identity_tlog.note import Checkpoint, Note, SignedCheckpoint, VerifierKey, open_checkpoint
from identity_tlog.tree import Malformed, Refuted

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain.dids.log.service_keys import CHECKPOINT, Replacement, of_use
from identity_core.values import value_class

FIRST_LINE: Final = "identity-ledger-key-succession/v1"
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class SignedByAnother(Refuted):
    """A checkpoint of the log that none of the keys known of it has signed, and some other key under its name has."""


@value_class
class EarlierKey:
    """A key that was replaced at the time ``replaced_at``; ``number`` is its place in the row of keys, from 1. A checkpoint that it signed
    alone counts where it has at most ``tree_size`` entries. ``succession``: the note about it, None where there is none."""

    key: VerifierKey
    number: int
    tree_size: int
    replaced_at: datetime
    is_compromised: bool
    succession: bytes | None = None


@value_class
class CheckpointKeys:
    """The key that signs the checkpoints of a log, which has this ``number``, and those that it came after, the newest first."""

    present: VerifierKey
    earlier: tuple[EarlierKey, ...] = ()
    number: int = 1

    def counting(self, size: int) -> tuple[VerifierKey, ...]:
        """The keys of which one has to have signed a checkpoint of this size, the present first."""
        return (self.present, *(one.key for one in self.earlier if size <= one.tree_size))

    def open(self, octets: bytes, witnesses: Iterable[VerifierKey] = (), *, cosignatures: int = 0) -> SignedCheckpoint:
        """As ``note.open_checkpoint``, under the keys that count for the size of the checkpoint. Whichever of them has signed it has to
        have signed it well. Raises as that, and ``SignedByAnother``."""
        note, known = Note.parse(octets), [*witnesses]
        keys = self.counting(Checkpoint.parse(note.text).size)
        signing = [key for key in keys if note.by(key) is not None] or keys[:1]
        if not any(note.by(key) for key in (self.present, *(one.key for one in self.earlier))):
            self._refuse_another(note)
        opened = [open_checkpoint(octets, key, known, cosignatures=cosignatures) for key in signing]
        return opened[0]

    def _refuse_another(self, note: Note) -> None:
        origin = self.present.name
        if Checkpoint.parse(note.text).origin == origin and any(one.name == origin for one in note.signatures):
            raise SignedByAnother(
                "the checkpoint is not signed by the key of the log, but by one that is not known here"
            )

    def renamed(self, origin: str) -> CheckpointKeys:
        """The same keys of a log of this name."""
        earlier = tuple(replace(one, key=VerifierKey(origin, one.key.public)) for one in self.earlier)
        return CheckpointKeys(VerifierKey(origin, self.present.public), earlier, self.number)


def succession_text(origin: str, old: str, new: str, size: int) -> str:
    """The text of a succession: ``old`` and ``new`` are multikeys, ``size`` entries the log had."""
    return f"{FIRST_LINE}\n{origin}\n{old}\n{new}\n{size}\n"


def size_said(octets: bytes) -> int:
    """How many entries a succession says that the log had; it is not looked at who has signed it. Raises ``Malformed``."""
    lines = Note.parse(octets).text.split("\n")
    if len(lines) != 6 or lines[0] != FIRST_LINE or _SIZE.fullmatch(lines[4]) is None:
        raise Malformed("the note is no succession")
    return int(lines[4])


def says_succession(octets: bytes, by: VerifierKey, said: Replacement) -> bool:
    """Whether a note is the succession of ``said`` in the log that ``by`` names, and ``by`` has signed it."""
    try:
        note = Note.parse(octets)
        found = note.by(by)
        if found is None or note.text != succession_text(by.name, said.replaces, said.multikey, said.tree_size):
            return False
        ed25519.verify(by.public, note.text.encode(), found.signature)
    except (Malformed, ed25519.Ed25519SignatureInvalid):
        return False
    return True


def verifier_key(origin: str, public: str) -> VerifierKey:
    """The key of the log of this name from a multikey."""
    return VerifierKey(origin, multikey.decode_public(public)[1])


def keys_listed(origin: str, replaced: Sequence[Replacement], sizes: Sequence[int] = ()) -> CheckpointKeys | None:
    """What a service log that is believed lists; None where no key of checkpoints was replaced. ``sizes`` has, by entry of that log, how
    many entries the ledger's log had before it; without, what the replacements say counts."""
    mine = of_use(replaced, CHECKPOINT)
    if not mine:
        return None
    earlier = tuple(_earlier(origin, one, sizes) for one in reversed(mine))
    return CheckpointKeys(verifier_key(origin, mine[-1].multikey), earlier, mine[-1].number)


def keys_followed(
    given: VerifierKey, replaced: Sequence[Replacement], sizes: Sequence[int] = (), *, is_believed: bool = False
) -> CheckpointKeys:
    """The keys that one who knows ``given`` may believe, of those that a service log or a stranger lists: after it as long as each key
    has signed for the next, and before it as long as each has signed for the one before. All of them where the list ``is_believed``,
    because it is the log of a DID that he knows. Raises ``Refuted`` where such a list has another key."""
    mine = of_use(replaced, CHECKPOINT)
    publics = [verifier_key(given.name, one.replaces) for one in mine[:1]]
    publics += [verifier_key(given.name, one.multikey) for one in mine]
    if given not in publics:
        if is_believed and mine:
            raise Refuted("the service log lists other keys of checkpoints than the one that is known")
        return CheckpointKeys(given)
    at = publics.index(given)
    first = last = at
    while last < len(mine) and (is_believed or _is_said(mine[last], publics[last])):
        last += 1
    while first > 0 and (is_believed or _is_said(mine[first - 1], publics[first])):
        first -= 1
    earlier = tuple(_earlier(given.name, one, sizes) for one in reversed(mine[first:last]))
    return CheckpointKeys(publics[last], earlier, mine[last - 1].number if last else mine[0].number - 1)


def _is_said(one: Replacement, by: VerifierKey) -> bool:
    return one.succession is not None and says_succession(one.succession, by, one)


def _earlier(origin: str, one: Replacement, sizes: Sequence[int]) -> EarlierKey:
    size = sizes[one.version - 1] if 0 < one.version <= len(sizes) else one.tree_size
    return EarlierKey(verifier_key(origin, one.replaces), one.number - 1, size, one.at, one.compromised, one.succession)
