"""A list of signed gaps as files: shards of up to 1,024 gaps, which never change, and the manifest of an epoch, which names them.

A shard is a chain: a tag, the lower end of its first gap in 4 bytes, and for each gap the signature (80 bytes) and the upper end
(4), which is the lower end of the next. This form cannot express overlapping gaps, or a missing one between two others.

The manifest is JCS: the members of the epoch's header, ``format``, ``edition`` (1, 2 … when the list is published again within the
epoch), ``gaps`` (how many in all), ``firsts`` (the lower end of each shard), ``shards`` (the SHA-256 of each, base64url). Its
digest is for a transparency log, so an issuer cannot show two holders different lists undetected.

A fetch reveals the shard to the server, so all shards are large. Their number follows from ``gaps``, their sizes differ by one gap
at most, and readers refuse any other division. If there are several, each has at least 512 gaps.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from msgspec import Struct

from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.status_gaps import FIRST_END, LAST_END, MAX_GAPS, Gap, HandleListed, StatusEpoch
from identity_client.status_list import StatusListRefused
from identity_codec import jcs, multibase, strict_json
from identity_codec.values import Hidden

SHARD_GAPS: Final = 1_024
SHARD_TAG: Final = b"IDENTITY-SERVICE-STATUS-SHARD-V2:"
FORMAT: Final = "identity-status-gaps-2"

_END_OCTETS: Final = 4
_SIGNATURE_OCTETS: Final = 80
_GAP_OCTETS: Final = _SIGNATURE_OCTETS + _END_OCTETS
_HEAD_OCTETS: Final = len(SHARD_TAG) + _END_OCTETS
MAX_SHARD_OCTETS: Final = _HEAD_OCTETS + SHARD_GAPS * _GAP_OCTETS
MAX_MANIFEST_OCTETS: Final = 1 << 17
_MAX_EDITION: Final = 1 << 31
_DIGEST_OCTETS: Final = 32


class SignedGap(Hidden, Struct, frozen=True):
    """A gap, its 80-byte BBS signature, and the epoch under whose header it was made. It is unverified until ``check``."""

    epoch: StatusEpoch
    gap: Gap
    signature: bytes

    def check(self, public_key: bytes, handle: int) -> None:
        """Verify with the raw 96-byte key that the handle is not in the list.

        Raises ``StatusListRefused``: when the key did not sign this gap for this epoch, or the handle is outside of it. Raises
        ``HandleListed``: when the handle is the lower end. The signature is verified first, so no server can make a credential
        appear revoked.
        """
        from identity_bbs import interface
        from identity_bbs.bls12381 import select
        from identity_bbs.suite import BbsSignatureInvalid, ciphersuite

        try:
            interface.verify(ciphersuite(select()), public_key, self.signature, self.epoch.header, self.gap)
        except BbsSignatureInvalid:
            raise StatusListRefused("the gap is not signed by the key of the list") from None
        if handle == self.gap.low:
            raise HandleListed
        if not self.gap.low < handle < self.gap.high:
            raise StatusListRefused("the handle lies outside of this gap")


class Shard(Hidden, Struct, frozen=True):
    """Gaps that follow one another: ``ends[i]`` and ``ends[i + 1]`` are those of ``signatures[i]``."""

    ends: tuple[int, ...]
    signatures: tuple[bytes, ...]

    @property
    def encoded(self) -> bytes:
        """Return the file."""
        first, *highs = [end.to_bytes(_END_OCTETS, "big") for end in self.ends]
        gaps = zip(self.signatures, highs, strict=True)
        return b"".join((SHARD_TAG, first, *(part for gap in gaps for part in gap)))

    @classmethod
    def from_octets(cls, data: bytes) -> Shard:
        """Return the gaps of a file. Raises ``StatusListRefused`` for anything that ``data`` would not write."""
        gaps, odd = divmod(len(data) - _HEAD_OCTETS, _GAP_OCTETS)
        if odd or not 1 <= gaps <= SHARD_GAPS or not data.startswith(SHARD_TAG):
            raise StatusListRefused("not a shard of a status list")
        starts = range(_HEAD_OCTETS, len(data), _GAP_OCTETS)
        ends = tuple(
            int.from_bytes(data[behind - _END_OCTETS : behind], "big")
            for behind in range(_HEAD_OCTETS, len(data) + 1, _GAP_OCTETS)
        )
        status_gaps.check_ascending(ends)
        return cls(ends, tuple(data[start : start + _SIGNATURE_OCTETS] for start in starts))


class Manifest(Struct, frozen=True):
    """The publication of a list at an epoch. Raises ``StatusListRefused``: for an incomplete list."""

    epoch: StatusEpoch
    edition: int
    gaps: int
    firsts: tuple[int, ...]
    digests: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.edition < _MAX_EDITION:
            raise StatusListRefused("editions count from 1")
        if not 1 <= self.gaps <= MAX_GAPS:
            raise StatusListRefused(f"a list has 1 to {MAX_GAPS} gaps")
        if not len(self.firsts) == len(self.digests) == len(sizes(self.gaps)):
            raise StatusListRefused("the shards are not as many as the gaps ask for")
        if any(len(digest) != _DIGEST_OCTETS for digest in self.digests):
            raise StatusListRefused("a digest of a shard has the wrong length")
        if self.firsts[0] != FIRST_END:
            raise StatusListRefused("the first gap does not begin at 0")
        status_gaps.check_ascending((*self.firsts, LAST_END))

    @property
    def encoded(self) -> bytes:
        """Return the canonical bytes."""
        return jcs.canonicalize(
            {
                **self.epoch.members,
                "edition": self.edition,
                "firsts": list(self.firsts),
                "format": FORMAT,
                "gaps": self.gaps,
                "shards": [multibase.base64url_encode(digest) for digest in self.digests],
            }
        )

    @property
    def digest(self) -> bytes:
        """Return the digest for a transparency log: the SHA-256 of the bytes, which contain the digests of all shards."""
        return hashlib.sha256(self.encoded).digest()

    @classmethod
    def from_octets(cls, data: bytes) -> Manifest:
        """Return the manifest of a file. Raises ``StatusListRefused`` for anything that ``data`` would not write."""
        if len(data) > MAX_MANIFEST_OCTETS:
            raise StatusListRefused("the manifest is too long")
        try:
            read = cls._read(strict_json.loads(data))
        except StatusListRefused:
            raise
        except (ValueError, KeyError, TypeError, OverflowError):
            raise StatusListRefused("not the manifest of a status list") from None
        if read.encoded != data:
            raise StatusListRefused("the manifest is not in its canonical form")
        return read

    @classmethod
    def _read(cls, value: Any) -> Manifest:
        numbers = (value["edition"], value["gaps"], *value["firsts"])
        if not all(type(number) is int for number in numbers):
            raise StatusListRefused("a number of the manifest is malformed")
        return cls(
            StatusEpoch.from_members(value),
            value["edition"],
            value["gaps"],
            tuple(value["firsts"]),
            tuple(multibase.base64url_decode(text) for text in value["shards"]),
        )

    def shard_of(self, handle: int) -> int:
        """Return the number of the shard to fetch for this handle. Raises ``StatusListRefused`` for an invalid handle."""
        status_gaps.check_handle(handle)
        return bisect_right(self.firsts, handle) - 1

    def open(self, number: int, data: bytes) -> Shard:
        """Return the shard of this number. Raises ``StatusListRefused`` unless the bytes are the published ones and fit into the
        chain."""
        if len(data) > MAX_SHARD_OCTETS or hashlib.sha256(data).digest() != self.digests[number]:
            raise StatusListRefused("the shard is not the one that was published")
        shard = Shard.from_octets(data)
        behind = (*self.firsts, LAST_END)[number + 1]
        if (shard.ends[0], shard.ends[-1], len(shard.signatures)) != (
            self.firsts[number],
            behind,
            sizes(self.gaps)[number],
        ):
            raise StatusListRefused("the shard does not follow from the one before")
        return shard

    def find(self, handle: int, number: int, data: bytes) -> SignedGap:
        """Return the gap that contains the handle or has it as its lower end, from the shard of this number. The caller must verify
        it with ``check``.

        Raises ``StatusListRefused``.
        """
        return self.gap_in(self.open(number, data), handle)

    def gap_in(self, shard: Shard, handle: int) -> SignedGap:
        """Return the gap of the handle, from an open shard of this list. Raises ``StatusListRefused``."""
        index = status_gaps.place(shard.ends, handle)
        return SignedGap(self.epoch, Gap(shard.ends[index], shard.ends[index + 1]), shard.signatures[index])


def manifest_place(epoch: StatusEpoch) -> str:
    """Return the path of an epoch's manifest below the base URL of lists. The file changes when the list is published again."""
    return f"status-gaps/{epoch.list_id}/{epoch.epoch}"


def shard_place(manifest: Manifest, number: int) -> str:
    """Return the path of a shard. Its name is its digest, so it never changes and caches may store it forever."""
    return f"status-gaps/{manifest.epoch.list_id}/shards/{multibase.base64url_encode(manifest.digests[number])}"


def proof_place(manifest: Manifest) -> str:
    """Return the path of the proof that a log contains the manifest with this digest."""
    return f"status-gaps/{manifest.epoch.list_id}/proofs/{multibase.base64url_encode(manifest.digest)}"


def sizes(gaps: int) -> list[int]:
    """Return the number of gaps of each shard: as few shards as possible, with sizes that differ by one at most."""
    shards = -(-gaps // SHARD_GAPS)
    each, more = divmod(gaps, shards)
    return [each + (number < more) for number in range(shards)]


def publish(
    epoch: StatusEpoch, edition: int, ends: Sequence[int], signatures: Sequence[bytes]
) -> tuple[Manifest, list[bytes]]:
    """Return manifest and shards of a whole list: ``ends`` as ``status_gaps.chain`` returns them, ``signatures[i]`` on ends i and i
    + 1."""
    shards = [
        Shard(tuple(ends[start : behind + 1]), tuple(signatures[start:behind])).encoded
        for start, behind in pairwise(accumulate(sizes(len(signatures)), initial=0))
    ]
    firsts = [ends[start] for start in accumulate(sizes(len(signatures))[:-1], initial=0)]
    digests = [hashlib.sha256(data).digest() for data in shards]
    return Manifest(epoch, edition, len(signatures), tuple(firsts), tuple(digests)), shards
