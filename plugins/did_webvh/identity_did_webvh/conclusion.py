"""The kind of change between two documents, for an entry that does not state it."""

from __future__ import annotations

from datetime import datetime

from identity_did_ids import evolution

from identity_core.domain.dids import state as history
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.state import DidState, LogInvalid


def concluded(before: DidState, document: DidDocument, at: datetime) -> str:
    """Return the change, derived from the documents: a rotation is one key for another, and nothing else.

    Keys that are gone never come back, a grace period neither begins without a rotation nor changes, and there is always a key that
    controls the DID.
    """
    evolution.check(document)
    known = {method.id: method for method in before.document.methods}
    added, fading = [], []
    for method in document.methods:
        old = known.get(method.id)
        if old is None and method.revoked is None:
            evolution.require_new(before, method.multibase)
            added.append(method.id)
        elif old is not None and old.revoked is None and method.revoked is not None and method.revoked > at:
            fading.append(method.id)
        elif method != old:
            raise LogInvalid("A grace period begins or ends otherwise than by a rotation.")
    gone = [name for name in known if document.method(name) is None]
    if fading and (len(fading) > 1 or len(added) != 1):
        raise LogInvalid("A grace period begins otherwise than by a rotation.")
    kept = (document.services, document.also_known_as) == (before.document.services, before.document.also_known_as)
    swapped = len(added) == 1 and len(gone) + len(fading) == 1 and all(known[name].revoked is None for name in gone)
    return history.KEY_ROTATED if kept and swapped else history.UPDATE
