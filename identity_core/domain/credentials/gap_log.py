"""A published list of signed gaps as an entry of the transparency log, so that an issuer cannot show two holders two lists in silence.

Each list has a log of its own among the entries of the ledger, under a subject that no DID method writes. Every edition is one entry, in
the order in which they were recorded: JCS of ``digest`` (SHA-256 of the manifest's octets, base64url), ``edition``, ``epoch``, ``format``,
``issuer``, ``list`` and ``period``. Within an epoch the editions of a list ascend; two entries of one edition are two lists, which whoever
audits the log is told (the extension ``transparency``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from identity_codec import jcs, multibase, strict_json
from identity_codec.values import value_class
from identity_core.domain.credentials.gap_shards import Manifest
from identity_core.domain.credentials.status_gaps import StatusListRefused
from identity_tlog.leaf import ProvenEntry, verify_entry
from identity_tlog.note import VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import TlogProof
from identity_tlog.tree import Malformed, Refuted

FORMAT: Final = "identity-status-gaps-record-1"
SUBJECT: Final = "did:statusgaps:"
"""The beginning of what stands in the place of a DID. There is no such method; a plugin that had one could not write before the
service, which alone appends to the ledger."""

_MAX_OCTETS: Final = 2_048


@value_class
class GapRecord:
    """What the log has of one edition; ``digest`` is ``Manifest.digest``, ``period`` the seconds of an epoch."""

    issuer: str
    list_id: str
    period: int
    epoch: int
    edition: int
    digest: bytes

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """What is to be recorded of a manifest."""
        epoch = manifest.epoch
        return cls(epoch.issuer, epoch.list_id, epoch.period, epoch.epoch, manifest.edition, manifest.digest)

    @property
    def octets(self) -> bytes:
        """The entry."""
        return jcs.canonicalize(
            {
                "digest": multibase.base64url_encode(self.digest),
                "edition": self.edition,
                "epoch": self.epoch,
                "format": FORMAT,
                "issuer": self.issuer,
                "list": self.list_id,
                "period": self.period,
            }
        )

    @classmethod
    def parse(cls, octets: bytes) -> Self:
        """From an entry. Raises ``StatusListRefused`` for anything that ``octets`` would not write."""
        try:
            if len(octets) > _MAX_OCTETS:
                raise ValueError
            value = strict_json.loads(octets)
            texts, numbers = (value["issuer"], value["list"]), (value["period"], value["epoch"], value["edition"])
            if not all(type(one) is str for one in texts) or not all(type(one) is int for one in numbers):
                raise ValueError
            read = cls(*texts, *numbers, multibase.base64url_decode(value["digest"]))
        except (ValueError, KeyError, TypeError, IndexError):
            raise StatusListRefused("the entry of the log is no record of a list") from None
        if read.octets != octets:
            raise StatusListRefused("the entry of the log is not in its canonical form")
        return read


def subject(list_id: str) -> str:
    """What stands in the place of the DID of a list's entries."""
    return f"{SUBJECT}{list_id}"


def verify_recorded(
    manifest: Manifest, proof: bytes, policy: WitnessPolicy, *, logs: Sequence[VerifierKey] = ()
) -> ProvenEntry:
    """That exactly this manifest stands in a log of the policy, or in one of ``logs``: by a tlog-proof whose ``extra`` is the leaf.

    Raises ``StatusListRefused``. It says nothing of other editions: ``identity ledger audit`` finds two lists of one edition.
    """
    try:
        proven = verify_entry(TlogProof.parse(proof), policy, logs=logs)
    except (Malformed, Refuted) as error:
        raise StatusListRefused(f"the list is not proven to be in the log: {error}") from error
    if proven.leaf.did != subject(manifest.epoch.list_id) or proven.leaf.entry != GapRecord.of(manifest).octets:
        raise StatusListRefused("the proof is of another entry of the log, and not of this list")
    return proven
