"""A published list of signed gaps and its entry of the transparency log (``GapRecord``)."""

from __future__ import annotations

from collections.abc import Sequence

from identity_transparency.domain.gap_record import GapRecord, subject

from identity_bound_credentials.domain.gap_shards import Manifest
from identity_client.status_list import StatusListRefused
from identity_tlog.leaf import ProvenEntry, verify_entry
from identity_tlog.note import VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import TlogProof
from identity_tlog.tree import Malformed, Refuted


def record_of(manifest: Manifest) -> GapRecord:
    """Return the record of a manifest."""
    epoch = manifest.epoch
    return GapRecord(epoch.issuer, epoch.list_id, epoch.period, epoch.epoch, manifest.edition, manifest.digest)


def verify_recorded(
    manifest: Manifest, proof: bytes, policy: WitnessPolicy, *, logs: Sequence[VerifierKey] = ()
) -> ProvenEntry:
    """Verify that a log of the policy, or one of ``logs``, contains exactly this manifest: by a tlog-proof whose ``extra`` is the
    leaf.

    Raises ``StatusListRefused``. It does not cover other editions: ``identity ledger audit`` finds two lists of one edition.
    """
    try:
        proven = verify_entry(TlogProof.parse(proof), policy, logs=logs)
    except (Malformed, Refuted) as error:
        raise StatusListRefused(f"the list is not proven to be in the log: {error}") from error
    if proven.leaf.did != subject(manifest.epoch.list_id) or proven.leaf.entry != record_of(manifest).encoded:
        raise StatusListRefused("the proof is of another entry of the log, and not of this list")
    return proven
