"""Verification of a log of a DID without the service, from its lines.

No signature of its controller names the keys that a rotation or recovery left to the service to make. The entry has the
controller's bound signature like every other, and yet anyone who holds the log key can write it with a key of their own. So
``unnamed_keys`` returns them. A key of a first entry is not among them: it is in the hash that is the DID. Nor is one that an
update adds, because the body of that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from identity_did_ids import chain
from identity_did_ids import entry as entries
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_did_webvh import log as webvh
from msgspec import Struct

from identity_codec import times
from identity_codec.strict_json import JsonValue
from identity_core.domain.dids.logs import fold
from identity_core.domain.dids.state import DidState, LogInvalid, UnknownLogMethod


class Verified(Struct, frozen=True):
    """A valid log. It proves nothing about newer entries that were withheld.

    ``head`` is the versionId of the last entry, ``updated_at`` its time, ``document`` the DID document as JSON, ``unbound_changes``
    that of ``evidence.unbound_changes``, None for did:webvh. ``update_keys`` are the
    multikeys that may sign the next entry and status lists.
    """

    did: str
    versions: int
    head: str
    updated_at: datetime
    deactivated: bool
    document: Mapping[str, JsonValue]
    unbound_changes: int | None
    update_keys: tuple[str, ...]

    def summary(self) -> dict[str, JsonValue]:
        """Return the result as JSON."""
        return {
            "did": self.did,
            "versions": self.versions,
            "versionId": self.head,
            "updated": times.printed(self.updated_at),
            "deactivated": self.deactivated,
            "unboundChanges": self.unbound_changes,
        }


def verify(
    data: bytes, *, now: datetime | None = None, witness_file: bytes | None = None, approved: bool = True
) -> Verified:
    """Verify a log: JSON lines of a method based on ``chain``, or of did:webvh 1.0.

    With ``now``, later entries are refused. ``witness_file`` is the did-witness.json of a did:webvh log with witnesses.
    ``approved`` False requires no approvals, for a log that is compared with its ledger. Raises ``LogInvalid`` with the ``line`` in
    its details, and ``UnknownLogMethod`` for another method and for did:key, whose one entry is not a log.
    """
    lines = data.removesuffix(b"\n").split(b"\n")
    first = entries.parse(lines[0]).parameters
    if str(first.get("method")).startswith("did:webvh:"):
        return _verify_webvh(lines, now, witness_file, approved=approved)
    method = entries.method_of(first)
    if method in (None, "key"):
        raise UnknownLogMethod("A log of this method cannot be checked alone.", details={"line": 1})
    state: DidState | None = None
    for state in fold(Chain(method, Rules()).apply, lines):
        if now is not None and state.updated_at > now:
            raise LogInvalid("The entry is of the future.", details={"line": state.version_id})
    if state is None:
        raise LogInvalid("The log is empty.")
    head = f"{state.version_id}-{state.entry_hash}"
    document, facts = state.document.to_json(), (state.unbound_changes, state.update_keys)
    return Verified(str(state.did), state.version_id, head, state.updated_at, state.deactivated, document, *facts)


def _verify_webvh(lines: list[bytes], now: datetime | None, witness_file: bytes | None, *, approved: bool) -> Verified:
    states = webvh.verify_entries(lines, now=now, witness_file=witness_file, approved=approved)
    head = states[-1]
    facts = (head.deactivated, head.document, None, head.update_keys)
    return Verified(str(head.did), len(states), head.version_id, head.time, *facts)


class UnnamedKey(Struct, frozen=True):
    """A multikey of a version that the controller's request did not name."""

    version: int
    multikey: str


def unnamed_keys(lines: Sequence[bytes]) -> tuple[UnnamedKey, ...] | None:
    """Return the unnamed keys of a valid log; None for a log without ``strictEvidence``, whose entries do not show the requests."""
    first = entries.parse(lines[0]).parameters.get("change")
    if not isinstance(first, dict) or not chain.read_rules(first).strict_evidence:
        return None
    changes = (entries.parse(line).parameters["change"] for line in lines)
    return tuple(
        UnnamedKey(version, key)
        for version, said in enumerate(changes, 1)
        if said is not None
        for key in _unnamed(said)
    )


def _unnamed(said: dict[str, Any]) -> Iterable[str]:
    if "newKey" not in said:
        return
    body = said["authorization"]["body"]
    named = {body.get("newPublicKeyMultibase")}
    # A member that is null names nothing, as where the entry is checked.
    keys = (body.get(name) for name in ("newAuthenticationKey", "newRecoveryKey"))
    named |= {key["publicKeyMultibase"] for key in keys if key is not None}
    for key in (said["newKey"]["publicKeyMultibase"], said.get("recoveryKey")):
        if key is not None and key not in named:
            yield key
