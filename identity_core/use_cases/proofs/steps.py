"""The checks of generateDelegatedProof, the proof and its record. Each check is a function of an attempt.

Identity is checked before content, and the signature before any query whose result could leak. So a client without a token signed by the
holder learns nothing about delegations and credentials. All checks but ``PreparedProof.holds`` depend only on the public part of the
credential. The evaluation of the predicate opens the values. It runs only in the transaction that counts the answer, after every limit
(``ports/proofs.py``), so that a refusal needs no proof and a limit discloses nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_client.action import CREDENTIAL, SAME, Action
from identity_client.capability import Capability, CapabilityExpired, CapabilityInvalid
from identity_codec import jcs, multikey
from identity_codec.strict_json import JsonValue
from identity_codec.structs import plain, value_or
from identity_codec.values import replace
from identity_core.domain.activity import REFUSED, Event, Parties, ProofMade, Refused
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import no_delegation
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.proof import MAX_NONCE_OCTETS, ZkProof
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, StoredProof
from identity_core.errors import (
    DidNotFound,
    Forbidden,
    IbctExpired,
    IbctInvalid,
    IbctRevoked,
    InvalidRequest,
    RequestInProgress,
    ScopeMismatch,
)
from identity_core.ports.proofs import Consumption, Disclosure, Invocation, Precedent
from identity_core.use_cases.background import CLOCK_SET_BACK
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.proofs.prepare import AskedOfAttribute, AskedProof, Claim, PreparedProof, ProofRequest

PROVE_SCOPE: Final = "zkp:prove"
VERIFY_SCOPE: Final = "zkp:verify"
_LATER: Any = None
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+", re.ASCII | re.IGNORECASE)
_REMEDY: Final = "Send the origin of domain as pseudonym, or a token of the holder with the action zkp.pseudonym.<pin>."


class ProofPolicy(Struct, frozen=True):
    """Settings of the installation for proofs.

    ``audience``: the audience of a proof if the request has no ``domain``. ``lifetime``: the validity of a proof. ``shows_agent``:
    whether proofs name the agent, which links all of its proofs. ``disclosures``: the maximum number of different questions about one
    attribute of a credential, ever or within ``disclosure_window``. ``leeway``: the time by which a holder's clock may be ahead.
    ``longest``: the maximum validity of a token. ``places``: the URLs below which this service has its delegations."""

    audience: str
    lifetime: timedelta
    shows_agent: bool
    disclosures: int
    disclosure_window: timedelta | None
    leeway: timedelta
    longest: timedelta
    places: tuple[str, ...]


class ProofAttempt(Struct, eq=False):
    """A request between the steps. ``digest`` is the SHA-256 of the JCS of the whole body, to which nonce and id of the IBCT are bound.
    ``asked`` is the question of the request.

    Each successful step sets members that later steps read. ``capability`` and ``invocation`` are those of a genuine token, ``chain`` is
    its delegation. ``credentials`` are the holder's or None, in the order of ``asked``. ``claims`` are the subjects of the IBCT's
    actions, each with the value of the request or of the pin; ``pinned`` states for each whether the holder fixed it."""

    request: ProofRequest
    asked: AskedProof
    holder: Did
    agent: Did
    anchor: bool
    digest: bytes
    now: datetime
    capability: Capability = _LATER
    invocation: Invocation = _LATER
    chain: DelegationChain = _LATER
    credentials: tuple[Credential | None, ...] = ()
    claims: tuple[Claim, ...] = ()
    pinned: tuple[bool, ...] = ()
    prepared: PreparedProof = _LATER

    @classmethod
    def from_request(cls, request: ProofRequest, reader: DidReader, now: datetime) -> ProofAttempt:
        """Step 3: refuse ambiguous input that the schema of the OpenAPI document allows. Raises ``InvalidRequest``, ``InvalidDid``."""
        asked = AskedProof.from_request(request)
        holder, agent = reader.parse(request.holder_did), reader.parse(request.agent_did)
        if len(value_or(request.challenge, "").encode()) > MAX_NONCE_OCTETS:
            raise InvalidRequest(
                f"challenge has at most {MAX_NONCE_OCTETS} bytes in UTF-8.", details={"member": "challenge"}
            )
        if not value_or(request.domain, "").isprintable():
            raise InvalidRequest("domain is of printable characters.", details={"member": "domain"})
        try:
            digest = hashlib.sha256(jcs.canonicalize(plain(request))).digest()
        except ValueError as error:
            # An integer above 2^53 - 1, for which two parsers may return different values; as a string it has one value.
            raise InvalidRequest("The body has no canonical form: send integers past 2^53 - 1 as strings.") from error
        return cls(request, asked, holder, agent, value_or(request.anchor, False), digest, now)


async def check_capability(attempt: ProofAttempt, caller: Caller, reader: DidReader, policy: ProofPolicy) -> None:
    """Run steps 5 to 9: require a genuine, unexpired token. Raises ``Forbidden``, ``IbctInvalid``, ``DidDeactivated``, ``IbctExpired``,
    in this order."""
    now = attempt.now
    _check_caller(caller, attempt)
    # Its signature covers the object exactly as it was received.
    try:
        capability = Capability.parse(plain(attempt.request.ibct), places=policy.places)
        capability.check_parties(str(attempt.holder), str(attempt.agent))
        capability.check_times(now, leeway=policy.leeway, longest=policy.longest)
        holder = await _active(reader, attempt.holder, "invoker")
        await _active(reader, attempt.agent, "target")
        # A key in its grace period may still sign for the holder.
        decoded = map(multikey.decode_public, history.authentication_keys(holder, now))
        capability.check_signature(raw for kind, raw in decoded if kind == multikey.ED25519)
        capability.check_unexpired(now)
    except CapabilityInvalid as refused:
        raise IbctInvalid(details=refused.details) from refused
    except CapabilityExpired as expired:
        raise IbctExpired(details=expired.details) from expired
    attempt.capability = capability
    attempt.invocation = Invocation(
        capability.invoker,
        capability.nonce_digest,
        capability.id_digest,
        attempt.digest,
        capability.expires_at + policy.leeway + CLOCK_SET_BACK,
    )


def _check_caller(caller: Caller, attempt: ProofAttempt) -> None:
    """Check the caller. Raises ``Forbidden``: when it is neither the agent nor an operator that may act for the holder. A token that an
    operator obtained for the agent counts as the agent's, while the operator may act for the agent."""
    caller.require_scope(PROVE_SCOPE)
    if caller.api_key is not None:
        caller.api_key.require_target(attempt.holder)
        return
    if attempt.agent not in (caller.did, caller.subject):
        raise Forbidden("The caller is not the agent of the request.")
    if caller.operator is not None:
        caller.operator.require_target(attempt.agent)


async def _active(reader: DidReader, did: Did, member: str) -> DidState:
    try:
        return (await reader.active(did)).head.state
    except DidNotFound:
        raise CapabilityInvalid(f"the DID of {member} does not resolve") from None


def check_delegation(attempt: ProofAttempt, found: Precedent) -> None:
    """Run step 11; an identical repetition of a proven request runs it again. Raises ``IbctRevoked``; ``DelegationInvalid``,
    the same for every reason; then ``DelegationRevoked``, ``DelegationExpired``, ``DelegationNotActive``."""
    if found.is_revoked:
        raise IbctRevoked
    chain = found.chain
    if chain is None:
        raise no_delegation()
    chain.check_sound(attempt.holder, attempt.agent)
    chain.check_state(attempt.now)
    attempt.chain = chain


def check_scope(attempt: ProofAttempt, credentials: Sequence[Credential | None]) -> None:
    """Run step 12: the actions match the question, the grants cover each, credentials and verifier are allowed. Raises ``ScopeMismatch``.
    Raises ``InvalidRequest``: when a value is omitted and no pin supplies it. A later step reports a missing credential."""
    chain, asked = attempt.chain, attempt.asked
    try:
        actions = Action.parse_all(attempt.capability.action)
    except ValueError as error:
        raise ScopeMismatch(details={"reason": str(error)}) from error
    claims = tuple(asked.claims)
    if len(actions) != len(claims):
        raise ScopeMismatch(details={"reason": "the IBCT names another number of actions"})
    named = []
    for action, claim in zip(actions, claims, strict=True):
        value = chain.only_value(action) if claim.value is None else claim.value
        try:
            action.check_names(claim.attribute, claim.type, value)
        except ValueError as error:
            raise ScopeMismatch(details={"reason": str(error)}) from error
        chain.check_covers(action, value)
        named.append(claim if claim.value is value else replace(claim, value=value))
    for part, credential in zip(asked.parts, credentials, strict=True):
        chain.check_credential(part.credential_id)
        if credential is not None:
            chain.check_schema(credential.schema.id)
    chain.check_verifier(value_or(attempt.request.domain, None))
    attempt.claims, attempt.pinned = tuple(named), tuple(map(chain.is_pinned, actions))
    # The last action is the pseudonym's. Only the holder may choose a context that is not the verifier's own.
    if asked.pseudonym is not None and not attempt.pinned[-1]:
        check_context(asked.pseudonym, value_or(attempt.request.domain, ""))


def check_context(pseudonym: str, audience: str) -> None:
    """Check that a pseudonym's context is the origin of the audience (RFC 6454 §4), or the audience itself if it is not a URL. So a
    verifier cannot obtain pseudonyms of another verifier's context. Raises ``ScopeMismatch``."""
    origin = _ORIGIN.match(audience)
    if pseudonym != (audience if origin is None else origin[0].lower()):
        reason = "the pseudonym's context is not the origin of domain"
        raise ScopeMismatch(details={"reason": reason, "remedy": _REMEDY})


def consumption(attempt: ProofAttempt, policy: ProofPolicy) -> Consumption:
    """Return the counters of the answer."""
    since = None if policy.disclosure_window is None else attempt.now - policy.disclosure_window
    asked = [*zip(attempt.prepared.disclosures(attempt.claims), attempt.claims, attempt.pinned, strict=True)]
    # The number of `same` fixes no value: the choice of the credentials decides what is compared.
    are_chosen = all(is_pinned for _, claim, is_pinned in asked if claim.type == CREDENTIAL)
    # Different forms of one value are one question.
    questions = dict.fromkeys(
        _disclosure(attempt.prepared.credentials[one.part].id, one, policy.disclosures, since)
        for one, claim, is_pinned in asked
        if one is not None and not (is_pinned and (are_chosen or claim.type != SAME))
    )
    chain = tuple(record.id for record in attempt.chain.records)
    return Consumption(chain, tuple(one.id for one in attempt.prepared.credentials), tuple(questions))


def _disclosure(credential_id: str, asked: AskedOfAttribute, most: int, since: datetime | None) -> Disclosure:
    predicate = jcs.canonicalize_plain(asked.json)
    # The JCS of an array with both members.
    of_credential = b"[%b,%b]" % (jcs.canonicalize_plain(credential_id), predicate)
    digests = [hashlib.sha256(data).digest() for data in (predicate, of_credential)]
    return Disclosure(credential_id, asked.attribute, digests[0], most, since, digests[1])


MAX_TARGET: Final = 256
"""The number of characters of a credential id in records."""


def event_of(attempt: ProofAttempt, outcome: str, code: str | None = None, proof: StoredProof | None = None) -> Event:
    """Return the event of an attempt, without values of predicates and without attributes. The timeline belongs to the holder and the
    agent. A refusal appears in it only after the holder's signature was checked, so that a client without a token cannot write to it."""
    asked, holder, agent = attempt.asked, str(attempt.holder), str(attempt.agent)
    credential_ids = [part.credential_id[:MAX_TARGET] for part in asked.parts]
    credential_id = credential_ids[0]
    details: dict[str, JsonValue] = {"agent": agent, "credentialId": credential_id, "anchor": attempt.anchor}
    names: list[JsonValue] = [{"attributeName": one.attribute_name, "type": one.type} for one in asked.predicates]
    details |= names[0] if len(names) == 1 and isinstance(names[0], dict) else {"predicates": names}
    if asked.is_joint:
        # The context of a pseudonym discloses which verifiers the holder uses: the record states only that there is a pseudonym.
        same = sorted({name for together in asked.same for _, name in together})
        details |= {"credentialIds": [*credential_ids], "same": [*same], "pseudonym": asked.pseudonym is not None}
        details["issuers"] = [None if one is None else str(one.issuer) for one in attempt.credentials]
    if proof is not None:
        details |= {"proofId": proof.id, "delegationId": proof.delegation_id}
        return ProofMade("proof.generated", holder, proof.parties, outcome, details=details, stored=proof)
    parties = None
    # A running identical request is not an event.
    if outcome == REFUSED and attempt.capability is not None and code != RequestInProgress.code:
        delegation_id = None if attempt.chain is None else attempt.chain.leaf.id
        parties = Parties(holder, agent, delegation_id=delegation_id, credential_id=credential_id)
    return (Refused if outcome == REFUSED else ProofMade)("proof.refused", holder, parties, outcome, code, details)


def to_keep(
    attempt: ProofAttempt, proof: ZkProof, *, created_at: datetime, expires_at: datetime, salt: bytes, caller: Caller
) -> StoredProof:
    """Return the record of a proof. ``salt`` has ``SALT_OCTETS`` bytes."""
    request, capability, prepared = attempt.request, attempt.capability, attempt.prepared
    credential = prepared.credentials[0]
    return StoredProof(
        proof=proof,
        delegation_id=attempt.chain.leaf.id,
        holder=str(attempt.holder),
        agent=str(attempt.agent),
        credential_id=credential.id,
        issuer=str(credential.issuer),
        schema_id=credential.schema.id,
        predicate={} if attempt.asked.is_joint else prepared.predicates[0][0].json,
        salt=salt,
        ibct_id=capability.id,
        nonce=capability.nonce,
        created_at=created_at,
        expires_at=expires_at,
        caller=caller.identity,
        challenge=value_or(request.challenge, None),
        domain=value_or(request.domain, None),
        anchor=Anchor(AnchorStatus.PENDING) if attempt.anchor else None,
        question=prepared.joint,
    )
