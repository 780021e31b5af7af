"""The method object: drafting and reading entries in exactly the did:webvh 1.0 form
(https://identity.foundation/didwebvh/v1.0/, "Create (Register)", "Update (Rotate)", "Deactivate (Revoke)").

A log key of the service signs every entry. Left out on purpose: watchers, portability, and resolving the DIDs of other hosts.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from importlib.resources import files
from math import ceil
from typing import Any, Final

import orjson
from identity_did_ids import entry as entries
from identity_did_ids import evidence, evolution, past
from identity_did_ids.chain import MAX_ENTRY, DraftedEntry, apply_entry
from identity_did_ids.entry import PLACEHOLDER, Entry, EntryBody
from identity_did_ids.evolution import Rules

from identity_codec import times
from identity_codec.values import replace
from identity_core.domain.dids.changes import (
    Change,
    Create,
    Expire,
    RetireLogKey,
    Rotate,
    RotateLogKey,
    SetStrictEvidence,
    Update,
    has_step,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import UPDATE_KEYS, LogKeys, multihash
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDocument, RateLimited
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import MOST_AHEAD_SECONDS
from identity_did_webvh import fold
from identity_did_webvh import log as webvh

_PROOF_ROOM: Final = 640


TRAITS: Final[dict[str, bool]] = json.loads(files(__package__).joinpath("traits.json").read_bytes())


class DidWebvh:
    """``PublishingDidMethod``: pure, deterministic. ``location`` is what follows the SCID in new DIDs; logs of other hosts and
    paths are read all the same, so that a change of settings orphans no DID. By ``clock`` new entries are at most
    ``MOST_AHEAD_SECONDS`` ahead; without one they may be any time ahead."""

    name = "webvh"
    mutable = True
    pre_rotates = True
    traits = TRAITS
    test_identifiers = ()

    def __init__(self, location: str, rules: Rules, clock: Clock | None = None) -> None:
        self._clock = clock
        identifier = f"{PLACEHOLDER}:{location}"
        self._unborn = Did(f"did:webvh:{identifier}", self.name, identifier)
        self._rules = replace(rules, witnesses=True)

    def check(self, did: Did) -> None:
        """Raise ``InvalidDid`` for what no did:webvh can be; one of another host is merely unknown."""
        webvh.parse_did(str(did))

    @property
    def log_path(self) -> str | None:
        """Return the path from which readers fetch the logs of new DIDs. None if the path names no DID."""
        path = self._unborn.identifier.split(":")[2:]
        return (
            "/" + "/".join([*path, "did.jsonl"]).replace(PLACEHOLDER, "{did}") if path.count(PLACEHOLDER) == 1 else None
        )

    def published(self, name: str) -> Did | None:
        """Return the DID with this SCID, at the host and path of new ones."""
        return webvh.parse_did(str(self._unborn).replace(PLACEHOLDER, name)) if entries.HASH.fullmatch(name) else None

    def expand(self, did: Did) -> DidState | None:
        """Nothing: without its log, this identifier is just a hash and a place."""
        self.check(did)
        return None

    def draft(
        self, state: DidState | None, change: Change, at: datetime, *, signer: str, next_keys: LogKeys | None = None
    ) -> DraftedEntry:
        """Return the next entry. The controller's signature is checked here, because no entry will show it to any reader."""
        if isinstance(change, Create) and len(change.update_keys) != 1:
            raise InvalidDocument("One key signs the log; the recovery key is the only other one in updateKeys.")
        if isinstance(change, RetireLogKey):
            raise InvalidDocument("An entry of did:webvh has no place for the retirement of a key.")
        _require_place(change)
        at = _moment(state, at)
        if self._clock is not None and isinstance(change, Update | Rotate):
            _require_near(at, self._clock.now())
        before_did = self._unborn if state is None else state.did
        evolved = evolution.evolve(state, change, at, rules=self._rules, did=before_did)
        if not isinstance(change, Create | Expire | RotateLogKey):
            evidence.verify(change.authorization)
        parameters, document = fold.parameters(state, change, next_keys), evolved.document
        if signer not in _signers(state, parameters, evolved.update_keys):
            raise InvalidDocument("This key may not sign entries of the DID.", details={"key": signer[:64]})
        body = EntryBody.from_json(parameters, document.to_json(), times.printed(at))
        before = PLACEHOLDER if state is None else f"{state.version_id}-{state.entry_hash}"
        if state is None:
            before = multihash(body.encode(PLACEHOLDER))
            body = body.named(before)
            parameters, document = orjson.loads(body.parameters), document.named(PLACEHOLDER, before)
        # Checked here like the controller's signature: an entry of this method has no place for it either.
        known = None if state is None else past.known_before(state, evolved)
        evidence.require_possession(document.did, known, document, evidence.possessions(change))
        data = body.encode(before)
        if len(data) > MAX_ENTRY - _PROOF_ROOM:
            raise InvalidDocument("The entry would be too large.", details={"bytes": len(data), "max": MAX_ENTRY})
        named = fold.recovery_key_of(change, parameters)
        after = replace(_fold(state, document, parameters, at, named), entry_hash=multihash(data))
        return DraftedEntry.from_body(body, after, _config(signer, body.version_time, named))

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """Return the state after the entry: its form, hash, proof and documents. Raises ``LogInvalid``."""
        return apply_entry(state, entry, _read)


def _require_place(change: Change) -> None:
    """Raise ``InvalidDocument`` for what entries of did:webvh have no place for."""
    created = change if isinstance(change, Create) else None
    member = None
    if has_step(change, SetStrictEvidence) or (created is not None and created.strict_evidence):
        member = "strictEvidence"
    elif created is not None and created.recovery_window is not None:
        member = "recoveryWindow"
    if member is not None:
        raise InvalidDocument(f"Entries of did:webvh have no place for {member}.", details={"member": member})


def _moment(state: DidState | None, at: datetime) -> datetime:
    """Return the time that the entry records: whole seconds, because one reader takes no microseconds and another hashes no
    milliseconds. A second change within a second is recorded in the next; readers allow for five minutes."""
    second = at.replace(microsecond=0)
    if state is None or second > state.updated_at:
        return second
    # A time that is not later is left as it is, for the rules to refuse.
    return state.updated_at + timedelta(seconds=1) if at > state.updated_at else at


def _require_near(at: datetime, now: datetime) -> None:
    """Raise ``RateLimited`` where an entry would be too far ahead: readers refuse one that is five minutes ahead of their clock.

    Recoveries and deactivations are not bounded, so that a thief of a key cannot keep them away by changes of their own."""
    ahead = (at - now).total_seconds()
    if ahead > MOST_AHEAD_SECONDS:
        message = (
            "Entries of did:webvh have whole seconds, and the DID was changed more than once a second. Try again later."
        )
        raise RateLimited(message, details={"retryAfter": ceil(ahead - MOST_AHEAD_SECONDS)})


def _config(signer: str, created: str, recovery_key: str | None) -> dict[str, Any]:
    """Return the proof without its value, with the recovery key that the entry brings where its parameters only have the hash."""
    config = entries.proof_config(signer, created)
    return config if recovery_key is None else config | {fold.RECOVERY_KEY: recovery_key}


def _signers(before: DidState | None, said: fold.Parameters, update_keys: Collection[str]) -> Collection[str]:
    """Return the keys of which one signs an entry with the parameters ``said``; ``update_keys`` are those of the state after a
    first entry."""
    if before is None:
        return update_keys
    return said[UPDATE_KEYS] if before.next_key_hashes else before.update_keys


def _fold(
    before: DidState | None, document: DidDocument, parameters: fold.Parameters, at: datetime, named: str | None
) -> DidState:
    if before is None:
        return fold.begin(Did.parse(document.did), parameters, document, at, named)
    return fold.proceed(before, parameters, document, at, named)


def _read(before: DidState | None, entry: Entry) -> DidState:
    document = DidDocument.parse(entry.state)
    did = webvh.parse_did(document.did)
    named = entry.proofs[0].get(fold.RECOVERY_KEY)
    if named is not None and type(named) is not str:
        raise LogInvalid("The recovery key is not text.")
    after = _fold(before, document, entry.parameters, entry.time, named)
    if entry.number != after.version_id:
        raise LogInvalid("The entry does not have the next number.")
    if before is None:
        entries.check_first_hash(entry, did.identifier.partition(":")[0])
    else:
        entries.check_next_hash(entry, f"{before.version_id}-{before.entry_hash}")
    if len(entry.proofs) != 1 or entry.version_time != times.printed(entry.time):
        raise LogInvalid("The entry has another form of time, or not one proof.")
    signers = _signers(before, entry.parameters, after.update_keys)
    signer = entries.check_proof(entry.proofs[0], entry.body, signers)
    expected = _config(signer, entry.version_time, named) | {"proofValue": entry.proofs[0]["proofValue"]}
    if entry.proofs[0] != expected:
        raise LogInvalid("The proof says something else than the entry.")
    return replace(after, entry_hash=entry.hash)
