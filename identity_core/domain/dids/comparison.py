"""Comparison of two versions of a DID, as the public strings of its history."""

from __future__ import annotations

from identity_codec import times
from identity_core.domain.dids.state import KEY_EXPIRED, DidState


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
