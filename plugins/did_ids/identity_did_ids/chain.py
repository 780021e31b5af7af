"""The logs of this service's own DID methods: drafts of the next entry, and the application of entries to states.

Such a method is self-certifying: the identifier is the hash of the first entry (the did:webvh SCID rule). Each entry is hashed over
its predecessor and signed by one of ``updateKeys``, to which the entry before committed (``log_keys``). ``parameters.change``
states the change and its authorization. A reader runs the rules that made the entry, and compares the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_client.data_integrity import check_signature, signer_of_proof
from identity_codec import times
from identity_codec.multibase import base58btc_encode
from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Change, Create, Deactivate, SetStrictEvidence, has_step
from identity_core.domain.dids.did import SERVICE_CONTEXTS, Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import LogKeys, multihash
from identity_core.domain.dids.state import MAX_RECOVERY_WINDOW, RECOVERY_WINDOW, DidState, LogInvalid
from identity_core.errors import IdentityError, InvalidDid, InvalidDocument
from identity_did_ids import change_json, evidence, evolution, log_keys, past
from identity_did_ids import entry as entries
from identity_did_ids.entry import PLACEHOLDER, Entry, EntryBody
from identity_did_ids.evolution import Rules

_STRICT_GRACE: Final = "strictGrace"
STRICT_EVIDENCE: Final = "strictEvidence"
_RECOVERY_WINDOW: Final = "recoveryWindow"
MEMBERS: Final = frozenset({_STRICT_GRACE, STRICT_EVIDENCE, _RECOVERY_WINDOW})
_SECOND: Final = timedelta(seconds=1)


def initial_rules(rules: Rules, change: Change) -> Rules:
    """Return the rules for the DID that ``change`` creates: those of the method, unless the change states its own."""
    if not isinstance(change, Create):
        return rules
    evidence, window = change.strict_evidence, change.recovery_window
    if evidence is None and window is None:
        return rules
    return replace(
        rules,
        strict_evidence=rules.strict_evidence if evidence is None else evidence,
        recovery_window=rules.recovery_window if window is None else window,
    )


def rule_members(born: Rules | DidState) -> dict[str, Any]:
    """Return the members that state these rules."""
    members: dict[str, Any] = {}
    if not born.strict_grace:
        members[_STRICT_GRACE] = False
    if born.strict_evidence:
        members[STRICT_EVIDENCE] = True
    if born.recovery_window != RECOVERY_WINDOW:
        members[_RECOVERY_WINDOW] = born.recovery_window // _SECOND
    return members


def begun_members(change: Change) -> dict[str, Any]:
    """Return the members of a later entry that state a rule: ``strictEvidence: true`` in the entry that begins it."""
    return {STRICT_EVIDENCE: True} if has_step(change, SetStrictEvidence) else {}


def check_begun(members: Mapping[str, Any], change: Change) -> None:
    """Require that a later entry states exactly the rules of ``begun_members``. Raises ``LogInvalid``."""
    found = {name: members[name] for name in MEMBERS if name in members}
    # JSON's 1 is no true, which Python's == does not tell.
    if found != begun_members(change) or any(value is not True for value in found.values()):
        raise LogInvalid("An entry after the first states no rule of its log, but that strictEvidence begins.")


def read_rules(members: Mapping[str, Any], contexts: Collection[str] = SERVICE_CONTEXTS) -> Rules:
    """Return the rules that the members of a first entry state, whose document lists ``contexts``.

    The grace period has no limit here, because it was checked when the entry was drafted and settings may change later. Raises
    ``LogInvalid``: for members that ``rule_members`` would not have written.
    """
    seconds = members.get(_RECOVERY_WINDOW, RECOVERY_WINDOW // _SECOND)
    if type(seconds) is not int or not 0 <= seconds <= MAX_RECOVERY_WINDOW // _SECOND:
        raise LogInvalid("recoveryWindow is not a number of seconds, of 30 days at most.")
    window = seconds * _SECOND
    strict_grace, strict_evidence = _STRICT_GRACE not in members, STRICT_EVIDENCE in members
    found = Rules(timedelta.max, strict_grace, strict_evidence, window, contexts=contexts)
    if rule_members(found) != {name: members[name] for name in MEMBERS if name in members}:
        raise LogInvalid("The first entry says the rules of its log in another form.")
    return found


MAX_ENTRY: Final = 16 * 1024
_PROOF_ROOM: Final = 640
_POSSESSION_ROOM: Final = 256

CONTROLLER: Final = "controller"
SERVICE: Final = "service"
_POSSESSION: Final = "possession"
_OURS: Final = MEMBERS | {"proofBy", _POSSESSION}


class DraftedEntry(Struct, frozen=True):
    """An entry without its signature (the port's ``UnsignedEntry``)."""

    did: Did
    signing_input: bytes
    body: EntryBody
    version_id: str
    config: dict[str, Any]
    state: DidState

    @classmethod
    def from_body(cls, body: EntryBody, after: DidState, config: dict[str, Any]) -> DraftedEntry:
        """Return the entry of ``body`` that leads to the state ``after``; ``config`` is its proof without the value."""
        version_id = f"{after.version_id}-{after.entry_hash}"
        return cls(after.did, entries.signing_input(config, body.encode(version_id)), body, version_id, config, after)

    def after(self, signature: bytes) -> DidState:
        """Return the state after the sealed entry without reading it again, because draft and apply run the same rules. Raises
        ``LogInvalid``: when the signature is not the signer's."""
        try:
            check_signature(signer_of_proof(self.config), self.signing_input, signature)
        except ValueError as error:
            raise LogInvalid(str(error)) from error
        return self.state

    def sealed(self, signature: bytes) -> bytes:
        """Return the finished entry as JCS, its only form."""
        proof = self.config | {"proofValue": base58btc_encode(signature)}
        return self.body.encode(self.version_id, entries.canonical_plain(proof))


def apply_entry(state: DidState | None, entry: bytes, read: Callable[[DidState | None, Entry], DidState]) -> DidState:
    """Return the state that ``read`` makes of the entry. Raises ``LogInvalid`` with the ``version`` in its details, ``HistoryNeeded``."""
    try:
        if len(entry) > MAX_ENTRY:
            raise LogInvalid("The entry is too large.")
        return read(state, entries.parse_canonical(entry))
    except history.HistoryNeeded:
        raise
    except (IdentityError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error) if isinstance(error, IdentityError) else "The entry is malformed."
        raise LogInvalid(reason, details={"version": 1 if state is None else state.version_id + 1}) from error


@dataclass(slots=True, unsafe_hash=True)
class Chain:
    """The logs of the DID method ``method`` under ``rules``."""

    method: str
    rules: Rules

    def check(self, did: Did) -> None:
        """Require an identifier that can be the hash of a first entry. Raises ``InvalidDid``."""
        if did.method != self.method or entries.HASH.fullmatch(did.identifier) is None:
            raise InvalidDid(details={"did": did.safe_text})

    def draft(
        self, state: DidState | None, change: Change, at: datetime, *, signer: str, next_keys: LogKeys | None = None
    ) -> DraftedEntry:
        """Draft the next entry; ``next_keys`` as for ``ports.did_method.PreRotatingDidMethod``.

        Raises what ``evolution.evolve`` raises. Raises ``InvalidDocument``: for a ``signer`` that may not sign, or an entry above
        16 KiB.
        """
        did = Did(f"did:{self.method}:{PLACEHOLDER}", self.method, PLACEHOLDER) if state is None else state.did
        change = evidence.strip_body(state, change)
        after = evolution.evolve(state, change, at, rules=initial_rules(self.rules, change), did=did)
        before, said_keys = state or after, log_keys.drafted(state, change, next_keys)
        after = log_keys.keyed(state, change, after, said_keys)
        if signer not in log_keys.may_sign(state, said_keys or log_keys.read_current_keys(before)):
            raise InvalidDocument("This key may not sign entries of the DID.", details={"key": signer[:64]})
        said = change_json.write(change) | {"proofBy": _proof_by(before, signer, at)}
        said |= rule_members(after) if state is None else begun_members(change)
        if before.proven_keys is None:
            said[_POSSESSION] = True
        parameters = self._parameters(change, said_keys) | {"change": said}
        document = after.document
        # Only a body that the controller signed may hold anything, and a first entry has none.
        body = EntryBody.from_json(
            parameters, document.to_json(), times.printed_exactly(at), has_body=state is not None
        )
        if state is None:
            scid = multihash(body.encode(PLACEHOLDER))
            body = body.named(scid)
            did, document = Did(f"did:{self.method}:{scid}", self.method, scid), document.named(PLACEHOLDER, scid)
        data = body.encode(did.identifier if state is None else f"{state.version_id}-{state.entry_hash}")
        offered = evidence.possessions(change)
        if len(data) > MAX_ENTRY - _PROOF_ROOM - _POSSESSION_ROOM * len(offered):
            raise InvalidDocument("The entry would be too large.", details={"bytes": len(data), "max": MAX_ENTRY})
        known = None if state is None else past.known_before(state, after)
        proofs = evidence.require_possession(str(did), known, document, offered)
        proven = _proven(after, document, proofs)
        after = replace(after, did=did, document=document, entry_hash=multihash(data), proven_keys=proven)
        return DraftedEntry.from_body(body, after, entries.proof_config(signer, body.version_time, proofs))

    def _parameters(self, change: Change, said: LogKeys | None) -> dict[str, Any]:
        keys = {} if said is None else said.parameters()
        match change:
            case Create():
                keys = keys if keys["nextKeyHashes"] else {"updateKeys": keys["updateKeys"]}
                return {"method": f"did:{self.method}:1.0", "scid": PLACEHOLDER} | keys
            case Deactivate():
                return {"deactivated": True, "updateKeys": []} | keys
            case _:
                return keys

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """Return the state after the entry. Raises as ``apply_entry``."""
        return apply_entry(state, entry, self._read)

    def _read(self, state: DidState | None, entry: Entry) -> DidState:
        return self._first(entry) if state is None else self._next(state, entry)

    def _first(self, entry: Entry) -> DidState:
        scid, said_keys = entry.parameters.get("scid"), log_keys.read(None, entry.parameters)
        document = DidDocument.read(entry.state)
        did = Did.parse(document.did)
        self.check(did)
        if scid != did.identifier or entry.number != 1:
            raise LogInvalid("The first entry does not name its own DID and keys.")
        change = self._change(entry, document.did, document, said_keys)
        rules = read_rules(entry.parameters["change"], document.contexts)
        after = evolution.evolve(None, change, entry.time, rules=rules, did=did)
        after = log_keys.keyed(None, change, after, said_keys)
        entries.check_first_hash(entry, scid)
        return self._checked(entry, None, after, said_keys)

    def _next(self, state: DidState, entry: Entry) -> DidState:
        if entry.number != state.version_id + 1:
            raise LogInvalid("The entry does not have the next number.")
        said_keys = log_keys.read_stated_keys(state, entry.parameters)
        change = self._change(entry, str(state.did), None, said_keys)
        if evidence.strip_body(state, change) != change:
            raise LogInvalid("The entry keeps a body that its log does not ask for.")
        # How long a grace period may be was decided when the entry was drafted; settings change, logs do not.
        rules = Rules(timedelta.max, state.strict_grace, contexts=entry.state["@context"])
        after = evolution.evolve(state, change, entry.time, rules=rules)
        if isinstance(change, evidence.Authorized):
            evidence.verify(change.authorization)
        after = log_keys.keyed(state, change, after, said_keys)
        entries.check_next_hash(entry, f"{state.version_id}-{state.entry_hash}")
        return self._checked(entry, state, after, said_keys)

    def _change(self, entry: Entry, did: str, document: DidDocument | None, said_keys: LogKeys | None) -> Change:
        """Return the change that the entry states, after a check that its parameters are exactly those of the change."""
        said = entry.parameters.get("change")
        if type(said) is not dict or said.get("proofBy") not in (CONTROLLER, SERVICE):
            raise LogInvalid("The entry does not say what has changed, or whose its proof is.")
        told = {name: said[name] for name in said if name not in _OURS}
        change = change_json.read(told, did, document, () if said_keys is None else said_keys.update_keys)
        if not isinstance(change, Create):
            check_begun(said, change)
        expected = self._parameters(change, said_keys) | {"change": said}
        if isinstance(change, Create):
            expected["scid"] = entry.parameters["scid"]
        # JSON's 1 is no true, which Python's == does not tell.
        if entry.parameters != expected or entry.parameters.get("deactivated", True) is not True:
            raise LogInvalid("The parameters of the entry are not those of its change.")
        if said.get(_POSSESSION, True) is not True:
            raise LogInvalid("An entry says that it begins to ask for proofs of possession, or nothing about them.")
        return change

    def _checked(self, entry: Entry, state: DidState | None, after: DidState, said_keys: LogKeys | None) -> DidState:
        """Return the new state after checking document, time and proof."""
        before = state or after
        if after.document.to_json() != entry.state:
            raise LogInvalid("The document is not what the change makes of the one before.")
        if len(entry.proofs) != 1 or entry.version_time != times.printed_exactly(entry.time):
            raise LogInvalid("The entry has another form of time, or not one proof.")
        proof = entry.proofs[0]
        signers = log_keys.may_sign(state, said_keys or log_keys.read_current_keys(before))
        signer = entries.check_proof(proof, entry.body, signers)
        begins, proofs = _POSSESSION in entry.parameters["change"], entries.read_possessions(proof)
        if begins or before.proven_keys is not None:
            known = None if state is None else past.known_before(state, after)
            evidence.require_possession(str(after.did), known, after.document, proofs)
            after = replace(after, proven_keys=_proven(after, after.document, proofs))
        if (begins and before.proven_keys is not None) or (proofs and after.proven_keys is None):
            raise LogInvalid("Proofs of possession are asked for from one entry of the log on, and not before.")
        expected = entries.proof_config(signer, entry.version_time, proofs) | {"proofValue": proof["proofValue"]}
        if proof != expected or entry.parameters["change"]["proofBy"] != _proof_by(before, signer, entry.time):
            raise LogInvalid("The proof says something else than the entry.")
        return replace(after, entry_hash=entry.hash)


def _proof_by(before: DidState, signer: str, at: datetime) -> str:
    """Return the role of the signer of a proof: that of the controller if it is also an authentication key."""
    return CONTROLLER if signer in history.authentication_keys(before, at) else SERVICE


def _proven(after: DidState, document: DidDocument, proofs: Iterable[str]) -> tuple[str, ...]:
    """Return the BBS keys of ``document`` with proven possession, sorted, so that writer and reader of an entry have the same
    state."""
    known = {*(after.proven_keys or ()), *proofs}
    return tuple(sorted(known.intersection([method.multibase for method in document.methods]))) if known else ()
