"""Versions of a DID that a recovery may restore."""

from __future__ import annotations

from datetime import datetime

from identity_codec.values import replace
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.state import DidState, HistoryNeeded, PastVersion
from identity_core.errors import DidNotFound, InvalidDocument


def restorable(state: DidState, version_id: int, at: datetime) -> PastVersion:
    """Return the version that a recovery at ``at`` restores, without the keys whose grace has ended since.

    Raises ``DidNotFound``: for an unknown version. Raises ``InvalidDocument``: for one that is out of reach. Raises
    ``HistoryNeeded``.
    """
    did = str(state.did)
    if not 0 < version_id <= state.version_id:
        raise DidNotFound("The DID has no such version.", details={"did": did, "versionId": min(version_id, 2**53)})
    if version_id == state.version_id:
        return PastVersion(version_id, at, state.document, state.proven_keys)
    if state.past is None:
        raise HistoryNeeded
    reach = [known for known in state.past if at - known.until <= state.recovery_window]
    found = next((known for known in reach if known.version_id == version_id), None)
    if found is None:
        raise InvalidDocument(
            "The version was replaced before the recovery window: restore a newer one, or recover without restoreVersion.",
            details={
                "did": did,
                "versionId": version_id,
                "oldest": reach[0].version_id if reach else state.version_id,
                "recoveryWindow": int(state.recovery_window.total_seconds()),
            },
        )
    gone = {method.id for method in found.document.methods if method.revoked is not None and method.revoked <= at}
    return replace(found, document=found.document.remove_keys(gone))


def known_before(before: DidState, after: DidState) -> DidDocument:
    """Return the document with the keys that were known before ``after``: the one before it, or the one that it restores."""
    if after.restored in (None, before.version_id):
        return before.document
    return next(known.document for known in before.past or () if known.version_id == after.restored)
