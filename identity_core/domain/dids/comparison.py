"""Comparison of the versions of a DID: public strings of its history, and the versions that a recovery may restore."""

from __future__ import annotations

from datetime import datetime

from identity_codec import times
from identity_codec.values import replace
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.revision import Revision
from identity_core.domain.dids.state import KEY_EXPIRED, DidState, HistoryNeeded, PastVersion
from identity_core.errors import DidNotFound, InvalidDocument


def changes(before: DidState | None, after: DidState) -> tuple[str, ...]:
    """Return the differences as public strings such as ``keyAdded #z6Mk…``."""
    if before is None:
        return _beginning(after)
    old, new = before.document, after.document
    removed = "keyExpired" if after.operation == KEY_EXPIRED else "keyRemoved"
    found = [f"{removed} {_name(m.id)}" for m in old.methods if new.method(m.id) is None]
    for method in new.methods:
        known = old.method(method.id)
        if known is None:
            found.append(f"keyAdded {_name(method.id)}")
        elif known.revoked != method.revoked and method.revoked is not None:
            found.append(f"keyRevoked {_name(method.id)} at {times.printed(method.revoked)}")
    old_services = {service.id: service for service in old.services}
    new_services = {service.id: service for service in new.services}
    found += [f"serviceRemoved {_name(name)}" for name in old_services if name not in new_services]
    for name, service in new_services.items():
        if name not in old_services:
            found.append(f"serviceAdded {_name(name)}")
        elif old_services[name] != service:
            found.append(f"serviceUpdated {_name(name)}")
    if after.restored is not None:
        found.insert(0, f"versionRestored {after.restored}")
    if set(old.also_known_as) != set(new.also_known_as):
        found.append("alsoKnownAsChanged")
    if after.witness_version == after.version_id:
        found.append("witnessesChanged")
    if after.strict_evidence and not before.strict_evidence:
        found.append("strictEvidenceBegun")
    if after.deactivated:
        found.append("deactivated")
    elif before.recovery_key != after.recovery_key:
        found.append("recoveryKeyChanged")
    return tuple(found)


def _beginning(first: DidState) -> tuple[str, ...]:
    """The same for a first version, which has all that there is, and nothing else."""
    document = first.document
    found = [f"keyAdded {_name(method.id)}" for method in document.methods]
    found += [f"serviceAdded {_name(service.id)}" for service in document.services]
    if document.also_known_as:
        found.append("alsoKnownAsChanged")
    if first.recovery_key is not None:
        found.append("recoveryKeyChanged")
    return tuple(found)


def _name(did_url: str) -> str:
    return "#" + did_url.partition("#")[2]


def restorable(state: DidState, version_id: int, at: datetime) -> PastVersion:
    """The version that a recovery at ``at`` restores, without the keys whose grace has ended since. Raises ``DidNotFound`` for a version
    that there is not, ``InvalidDocument`` for one that is out of reach, ``HistoryNeeded``."""
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
    revision = Revision.of(found.document, ())
    for method in found.document.methods:
        if method.revoked is not None and method.revoked <= at:
            revision.remove_key(method.id)
    return replace(found, document=revision.document())


def known_before(before: DidState, after: DidState) -> DidDocument:
    """Return the document whose keys did not join with ``after``: the one before it, or the one that it restores."""
    if after.restored in (None, before.version_id):
        return before.document
    return next(known.document for known in before.past or () if known.version_id == after.restored)
