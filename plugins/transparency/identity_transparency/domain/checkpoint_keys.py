"""The successive keys of one log's checkpoints, and how a reader follows from one to the next.

Each replacement is stated in a succession: a signed note (C2SP signed-note) of five lines, `identity-ledger-key-succession/v1`,
origin, old multikey, new multikey, and the number of entries in the log. Both keys sign it, or the new one alone if the old one was
compromised. No checkpoint can have such a text, because a multikey is not a root.

The signature of the new key shows that the old one came before it. The signature of the old key alone proves nothing, because a
thief of it can sign for another key. A reader with only the old key needs the service log of a known DID, or the new key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from identity_did_ids import service_log
from identity_did_ids.service_keys import CHECKPOINT, Replacement, of_use
from identity_did_ids.service_log import LogKeyHistory
from msgspec import Struct

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_tlog.leaf import LogLeaf, Recorded, check_recorded
from identity_tlog.note import Checkpoint, Note, SignedCheckpoint, VerifierKey, open_checkpoint
from identity_tlog.proofs import verify_consistency
from identity_tlog.tree import Malformed, Refuted

FIRST_LINE: Final = "identity-ledger-key-succession/v1"


class SignedByAnother(Refuted):
    """A checkpoint of the log that no known key of it signed, but another key under its name did."""


class EarlierKey(Struct, frozen=True):
    """A key that was replaced at the time ``replaced_at``.

    - ``number``: its place in the series of keys, from 1.
    - ``tree_size``: the most entries of a checkpoint that it signed alone.
    - ``succession``: the note about the replacement; None if there is none.
    """

    key: VerifierKey
    number: int
    tree_size: int
    replaced_at: datetime
    is_compromised: bool
    succession: bytes | None = None


class CheckpointKeys(Struct, frozen=True):
    """The key that signs the checkpoints of a log, with its ``number``, and the earlier keys, newest first."""

    present: VerifierKey
    earlier: tuple[EarlierKey, ...] = ()
    number: int = 1

    def counting(self, size: int) -> tuple[VerifierKey, ...]:
        """Return the keys of which one must have signed a checkpoint of this size, the current one first."""
        return (self.present, *(one.key for one in self.earlier if size <= one.tree_size))

    def is_signer(self, data: bytes) -> bool:
        """Return whether a note has a signature line of the present key; ``open`` verifies it. Raises ``Malformed``."""
        return Note.parse(data).find_signature(self.present) is not None

    def open(self, data: bytes, witnesses: Iterable[VerifierKey] = (), *, cosignatures: int = 0) -> SignedCheckpoint:
        """Open a checkpoint as ``note.open_checkpoint`` does, under the keys that are valid for its size. Each signature of these
        keys must be valid. Raises as that function, and ``SignedByAnother``.

        A thief of a replaced key can sign any tree up to its size, so a verifier calls ``history.TrustedLog.open`` instead.
        """
        note, known = Note.parse(data), [*witnesses]
        keys = self.counting(Checkpoint.parse(note.text).size)
        signing = [key for key in keys if note.find_signature(key) is not None] or keys[:1]
        if not any(note.find_signature(key) for key in (self.present, *(one.key for one in self.earlier))):
            self._refuse_another(note)
        opened = [open_checkpoint(data, key, known, cosignatures=cosignatures) for key in signing]
        return opened[0]

    def _refuse_another(self, note: Note) -> None:
        origin = self.present.name
        if Checkpoint.parse(note.text).origin == origin and any(one.name == origin for one in note.signatures):
            raise SignedByAnother("the checkpoint is not signed by the key of the log, but by an unknown one")

    def renamed(self, origin: str) -> CheckpointKeys:
        """Return these keys for a log of this name."""
        earlier = tuple(replace(one, key=VerifierKey(origin, one.key.public)) for one in self.earlier)
        return CheckpointKeys(VerifierKey(origin, self.present.public), earlier, self.number)


def succession_text(origin: str, old: str, new: str, size: int) -> str:
    """Return the text of a succession: ``old`` and ``new`` are multikeys, ``size`` entries the log had."""
    return f"{FIRST_LINE}\n{origin}\n{old}\n{new}\n{size}\n"


def says_succession(said: Replacement, by: VerifierKey) -> bool:
    """Return whether ``by`` signed the note of ``said``, and the note is its succession in the log that ``by`` names."""
    try:
        note = Note.parse(said.succession or b"")
        found = note.find_signature(by)
        if found is None or note.text != succession_text(by.name, said.replaces, said.multikey, said.tree_size):
            return False
        ed25519.verify(by.public, note.text.encode(), found.signature)
    except (Malformed, ed25519.Ed25519SignatureInvalid):
        return False
    return True


def verifier_key(origin: str, public: str) -> VerifierKey:
    """Return the key of the log of this name from a multikey."""
    return VerifierKey(origin, multikey.decode_public(public)[1])


def keys_listed(origin: str, replaced: Sequence[Replacement], sizes: Sequence[int] = ()) -> CheckpointKeys | None:
    """Return the keys that a trusted service log lists; None if no key of checkpoints was replaced.

    ``sizes`` has, by entry of that log, the proven number of earlier entries in the ledger's log. Without it, the size that the
    keys signed counts.
    """
    mine = of_use(replaced, CHECKPOINT)
    return keys_followed(verifier_key(origin, mine[-1].multikey), replaced, sizes, is_believed=True) if mine else None


def keys_followed(
    given: VerifierKey, replaced: Sequence[Replacement], sizes: Sequence[int] = (), *, is_believed: bool = False
) -> CheckpointKeys:
    """Return the keys that a reader of ``given`` may trust, out of those that a service log lists.

    These are ``given``, and earlier ones as long as each signed for the one before. If the list ``is_believed``, because it is the
    log of a known DID, all of them are trusted. ``sizes`` as in ``keys_listed``; it must not contain a size that an untrusted party
    states. Raises ``Refuted``: when such a list has another key.
    """
    mine = of_use(replaced, CHECKPOINT)
    publics = [verifier_key(given.name, one.replaces) for one in mine[:1]]
    publics += [verifier_key(given.name, one.multikey) for one in mine]
    if given not in publics:
        if is_believed and mine:
            raise Refuted("the service log lists other keys of checkpoints than the one that is known")
        return CheckpointKeys(given)
    first = at = publics.index(given)
    last = len(mine) if is_believed else at
    while first > 0 and (is_believed or says_succession(mine[first - 1], publics[first])):
        first -= 1
    earlier = tuple(_earlier(given.name, one, sizes) for one in reversed(mine[first:last]))
    return CheckpointKeys(publics[last], earlier, mine[last - 1].number if last else mine[0].number - 1)


def _earlier(origin: str, one: Replacement, sizes: Sequence[int]) -> EarlierKey:
    # An entry stands behind those that the log had when the keys signed; between the two the old key signed alone.
    size = max(one.tree_size, sizes[one.version - 1] if 0 < one.version <= len(sizes) else 0)
    return EarlierKey(verifier_key(origin, one.replaces), one.number - 1, size, one.at, one.compromised, one.succession)


def read_service_log(did: str | None, leaves: Sequence[LogLeaf]) -> LogKeyHistory:
    """Return the content of the ``leaves`` as the log of the service's own DID. Raises ``Refuted``: for the log of another DID.
    Raises ``LogInvalid``."""
    entries = [leaf.entry for leaf in leaves]
    history = service_log.read(entries)
    if history.did != did:
        raise Refuted(f"the service log is one of {history.did}")
    return history


Growth = Callable[[int, int], Sequence[bytes]]
"""Returns the consistency proof from a tree of the first size to one of the second (RFC 9162 §2.1.4). Raises ``Refuted`` without one."""


class ReplacedKeyAlone(Refuted):
    """A checkpoint that a replaced key signed alone, without a proof that a checkpoint of the current key includes it."""


class KeyReplaced(Refuted):
    """A key that the service log replaced, when the reader knows neither the DID of that log nor the next key."""


def no_growth(first: int, second: int) -> Sequence[bytes]:
    """Return no proof, because nothing can be fetched."""
    raise ReplacedKeyAlone(
        f"a replaced key alone signed the checkpoint, and nothing proves that {first} entries grew to the {second}"
    )


def check_growth(growth: Growth, one: Checkpoint, other: Checkpoint) -> None:
    """Raise ``Refuted`` unless the log of the larger checkpoint grew from that of the smaller."""
    first, second = sorted((one, other), key=lambda each: each.size)
    hashes = growth(first.size, second.size) if first.size != second.size else ()
    try:
        verify_consistency(first.size, first.root, second.size, second.root, hashes)
    except Refuted as error:
        raise Refuted(f"the log does not continue a kept checkpoint: {error}") from error


class TrustedLog(Struct, frozen=True):
    """The keys of a log, and its ``newest`` known checkpoint that the current key signed."""

    keys: CheckpointKeys
    newest: Checkpoint | None
    growth: Growth

    @classmethod
    def follow(
        cls,
        given: VerifierKey,
        did: str | None,
        leaves: Sequence[LogLeaf],
        evidence: Iterable[tuple[bytes, Sequence[Recorded]]],
        growth: Growth,
        *,
        is_believed: bool = False,
    ) -> TrustedLog:
        """Return the keys that the log of the service's own ``did``, whose entries are the ``leaves``, lists beside the ``given``
        one. ``is_believed``: the caller knows that DID; only then keys after the given one are trusted.

        A replaced key counts up to the size that was signed with its replacement. The first checkpoint of ``evidence`` that the
        present key signed is the newest. If the entries of the service log beside it are proven in it, a replaced key counts up to
        the place of its replacement. The places that the ``leaves`` state are not used. Raises ``Refuted``, ``LogInvalid``, and
        ``KeyReplaced``: when the log replaces the given key and is not trusted.
        """
        if did is None or not leaves:
            return cls(CheckpointKeys(given), None, growth)
        replaced = read_service_log(did, leaves).replaced
        keys = keys_followed(given, replaced, is_believed=is_believed)
        if any(verifier_key(given.name, one.replaces) == keys.present for one in of_use(replaced, CHECKPOINT)):
            raise KeyReplaced("the key of the log was replaced, and only the log of a known DID leads to the next one")
        for note, recorded in evidence if keys.earlier else ():
            if keys.is_signer(note):
                signed = keys.open(note)
                if recorded:
                    check_recorded(did, recorded, signed)
                places = {one.leaf.entry: one.leaf.index for one in recorded}
                sizes = [places.get(leaf.entry, 0) for leaf in leaves]
                return cls(keys_followed(given, replaced, sizes, is_believed=is_believed), signed.checkpoint, growth)
        return cls(keys, None, growth)

    def open(self, data: bytes, witnesses: Iterable[VerifierKey] = (), *, cosignatures: int = 0) -> SignedCheckpoint:
        """Open a checkpoint as ``CheckpointKeys.open`` does. One that a replaced key signed alone must be a part of the newest.
        Raises ``ReplacedKeyAlone``: without a proof of that."""
        signed = self.keys.open(data, witnesses, cosignatures=cosignatures)
        if not self.keys.is_signer(data):
            if self.newest is None:
                raise ReplacedKeyAlone(
                    "a replaced key alone signed the checkpoint, and none of the present key is at hand"
                )
            check_growth(self.growth, signed.checkpoint, self.newest)
        return signed
