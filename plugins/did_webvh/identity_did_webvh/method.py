"""The method object: drafting and reading entries in exactly the did:webvh 1.0 form
(https://identity.foundation/didwebvh/v1.0/, "Create (Register)", "Update (Rotate)", "Deactivate (Revoke)").

The service's log key signs every entry. Left out on purpose: pre-rotation, witnesses, watchers, portability, and resolving
the DIDs of other hosts.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import orjson

from identity_core.codec import times
from identity_core.domain.dids import evidence, evolution
from identity_core.domain.dids.changes import Change, Create, Expire
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.evolution import Rules
from identity_core.domain.dids.log import entry as entries
from identity_core.domain.dids.log import webvh
from identity_core.domain.dids.log.chain import MAX_ENTRY, DraftedEntry
from identity_core.domain.dids.log.entry import PLACEHOLDER, Entry, EntryBody
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import IdentityError, InvalidDocument
from identity_did_webvh import fold

_PROOF_ROOM: Final = 640


class DidWebvh:
    """``DidMethod``: pure, deterministic. ``location`` is what follows the SCID in new DIDs; logs of other hosts and
    paths are read all the same, so that a change of settings orphans no DID."""

    name = "webvh"
    mutable = True

    def __init__(self, location: str, rules: Rules) -> None:
        identifier = f"{PLACEHOLDER}:{location}"
        self._unborn = Did(f"did:webvh:{identifier}", self.name, identifier)
        self._rules = rules

    def check(self, did: Did) -> None:
        """Raises ``InvalidDid`` for what no did:webvh can be; one of another host is merely unknown."""
        webvh.parse_did(str(did))

    def expand(self, did: Did) -> DidState | None:
        """Nothing: without its log, this identifier is just a hash and a place."""
        self.check(did)
        return None

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> DraftedEntry:
        """The next entry. The controller's signature is checked here, because no entry will show it to any reader."""
        if isinstance(change, Create) and len(change.update_keys) != 1:
            raise InvalidDocument("One key signs the log; the recovery key is the only other one in updateKeys.")
        at = _moment(state, at)
        before_did = self._unborn if state is None else state.did
        evolved = evolution.evolve(state, change, at, rules=self._rules, did=before_did)
        if not isinstance(change, Create | Expire):
            evidence.verify(change.authorization)
        signers = change.update_keys if isinstance(change, Create) else (state or evolved).update_keys
        if signer not in signers:
            raise InvalidDocument("This key may not sign entries of the DID.", details={"key": signer[:64]})
        parameters, document = fold.parameters(state, change), evolved.document
        body = EntryBody.of(parameters, document.to_json(), times.printed(at))
        before = PLACEHOLDER if state is None else f"{state.version_id}-{state.entry_hash}"
        if state is None:
            before = entries.multihash(body.octets(PLACEHOLDER))
            body = body.named(before)
            parameters, document = orjson.loads(body.parameters), document.named(PLACEHOLDER, before)
        # Checked here like the controller's signature: an entry of this method has no place for it either.
        evidence.require_possession(
            document.did, None if state is None else state.document, document, evidence.possessions(change)
        )
        octets = body.octets(before)
        if len(octets) > MAX_ENTRY - _PROOF_ROOM:
            raise InvalidDocument("The entry would be too large.", details={"bytes": len(octets), "max": MAX_ENTRY})
        after = replace(_fold(state, document, parameters, at), entry_hash=entries.multihash(octets))
        return DraftedEntry.of(body, after, signer)

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """The state after the entry: its form, hash, proof and what the documents tell. Raises ``LogInvalid``."""
        try:
            if len(entry) > MAX_ENTRY:
                raise LogInvalid("The entry is too large.")
            return _read(state, entries.parse_canonical(entry))
        except (IdentityError, ValueError) as error:
            version = 1 if state is None else state.version_id + 1
            reason = str(error) if isinstance(error, IdentityError) else "The entry is malformed."
            raise LogInvalid(reason, details={"version": version}) from error


def _moment(state: DidState | None, at: datetime) -> datetime:
    """The time that the entry records: whole seconds, because one reader takes no microseconds and another hashes no
    milliseconds. A second change within a second is recorded in the next; readers allow for five minutes."""
    second = at.replace(microsecond=0)
    if state is None or second > state.updated_at:
        return second
    # A time that is not later is left as it is, for the rules to refuse.
    return state.updated_at + timedelta(seconds=1) if at > state.updated_at else at


def _fold(before: DidState | None, document: DidDocument, parameters: fold.Parameters, at: datetime) -> DidState:
    if before is None:
        return fold.begin(Did.parse(document.did), parameters, document, at)
    return fold.proceed(before, parameters, document, at)


def _read(before: DidState | None, entry: Entry) -> DidState:
    document = DidDocument.parse(entry.state)
    did = webvh.parse_did(document.did)
    after = _fold(before, document, entry.parameters, entry.time)
    if entry.number != after.version_id:
        raise LogInvalid("The entry does not have the next number.")
    if before is None:
        entries.check_first_hash(entry, did.identifier.partition(":")[0])
    else:
        entries.check_next_hash(entry, f"{before.version_id}-{before.entry_hash}")
    if len(entry.proofs) != 1 or entry.version_time != times.printed(entry.time):
        raise LogInvalid("The entry has another form of time, or not one proof.")
    signer = entries.check_proof(entry.proofs[0], entry.body, (before or after).update_keys)
    expected = entries.proof_config(signer, entry.version_time) | {"proofValue": entry.proofs[0]["proofValue"]}
    if entry.proofs[0] != expected:
        raise LogInvalid("The proof says something else than the entry.")
    return replace(after, entry_hash=entry.hash)
