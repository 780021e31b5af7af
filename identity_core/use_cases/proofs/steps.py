"""The checks of generateDelegatedProof, and the proof itself: each a function that takes an attempt and gives it further on.

Identity before content, and the signature before any look-up that could tell something: anyone who holds no token that the holder signed
learns nothing about delegations and credentials. Everything here but ``PreparedProof.holds`` is decided by what is public of the
credential. Whether the predicate holds is a comparison: it opens the values only in the transaction that counts the answer, after every
limit (``ports/proofs.py``), so that a refusal costs no proof and a limit tells nothing.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from identity_core.codec import jcs, multikey
from identity_core.codec.structs import UNSET, given, plain
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.delegations.action import Action
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.ibct import Capability, invalid
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.presentation import last_expiry, proof_day
from identity_core.domain.proofs.proof import (
    MAX_NONCE_OCTETS,
    Context,
    IssuerKey,
    Statement,
    ZkProof,
    capability_digest,
)
from identity_core.domain.proofs.stored import read_value
from identity_core.errors import (
    CredentialNotFound,
    DelegationInvalid,
    DidNotFound,
    Forbidden,
    IbctRevoked,
    InvalidRequest,
    JsonValue,
    PluginUnavailable,
    PredicateNotSatisfied,
    PredicateUnsupported,
    ScopeMismatch,
)
from identity_core.ports.delegations import Delegations
from identity_core.ports.proofs import Consumption, Disclosure, Invocation
from identity_core.ports.prover import ProofWorkers
from identity_core.use_cases.credentials.sealed import CredentialSeal, SealedCredentials
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.proofs.presenting import PresentBound
from identity_core.wire import DelegatedProofRequest

PROVE_SCOPE: Final = "zkp:prove"
MARGIN: Final = timedelta(seconds=120)
"""An invocation is remembered past the expiry of its token: longer than any clock here may be behind."""
_LATER: Any = None


@dataclass(frozen=True, slots=True)
class ProofPolicy:
    """The installation's choices. ``audience`` is whom a proof is for when the request names no ``domain``; ``lifetime`` how long a
    proof is good; ``shows_agent`` whether proofs name the agent, which links all of its proofs. At most ``disclosures``
    different questions about one attribute of a credential, ever or within ``disclosure_window``; ``leeway`` is how far ahead a holder's
    clock may be, ``longest`` how long a token may be good; ``places`` are the URLs below which this service has its delegations."""

    audience: str
    lifetime: timedelta
    shows_agent: bool
    disclosures: int
    disclosure_window: timedelta | None
    leeway: timedelta
    longest: timedelta
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreparedProof:
    """A predicate of a usable credential, which has not been opened."""

    credential: Credential
    predicate: Predicate
    seal: CredentialSeal

    def holds(self, sealed: bytes) -> bool:
        """The port's ``Holds``. Raises ``InternalError`` for a box that is not this credential's."""
        values = self.seal.open(self.credential, sealed).attributes
        return self.predicate.holds(self.credential.schema.read(self.predicate.attribute, values))


@dataclass(frozen=True, slots=True)
class ProofAttempt:
    """A request on its way. ``digest`` is the SHA-256 of the JCS of the whole body, to which nonce and id of the IBCT are bound.

    Each step sets the members that later ones read: ``capability`` and ``invocation`` are those of a genuine token, ``chain`` its
    delegation, ``credential`` the holder's or None, ``value`` the request's or the pin's, and ``is_pinned`` whether the holder fixed it."""

    request: DelegatedProofRequest
    holder: Did
    agent: Did
    anchor: bool
    digest: bytes
    now: datetime
    capability: Capability = _LATER
    invocation: Invocation = _LATER
    chain: DelegationChain = _LATER
    credential: Credential | None = None
    value: JsonValue = None
    is_pinned: bool = False
    prepared: PreparedProof = _LATER

    @classmethod
    def of(cls, request: DelegatedProofRequest, reader: DidReader, now: datetime) -> ProofAttempt:
        """Step 3: what the document's schema lets through and has no one meaning is refused. Raises ``InvalidRequest``, ``InvalidDid``."""
        if request.predicate.value is not UNSET:
            read_value(request.predicate.value)
        holder, agent = reader.parse(request.holder_did), reader.parse(request.agent_did)
        if len(given(request.challenge, "").encode()) > MAX_NONCE_OCTETS:
            raise InvalidRequest(
                f"challenge has at most {MAX_NONCE_OCTETS} octets in UTF-8.", details={"member": "challenge"}
            )
        if not given(request.domain, "").isprintable():
            raise InvalidRequest("domain is of printable characters.", details={"member": "domain"})
        try:
            digest = hashlib.sha256(jcs.canonicalize(plain(request))).digest()
        except ValueError as error:
            # An integer past 2^53 - 1, which two readers may take for two; as a string it is one.
            raise InvalidRequest("The body has no canonical form: send integers past 2^53 - 1 as strings.") from error
        return cls(request, holder, agent, given(request.anchor, False), digest, now)


async def check_capability(
    attempt: ProofAttempt, caller: Caller, reader: DidReader, policy: ProofPolicy
) -> ProofAttempt:
    """Steps 5 to 9: a genuine, unexpired token. Raises ``Forbidden``, ``IbctInvalid``, ``DidDeactivated``, ``IbctExpired``; in this
    order."""
    now = attempt.now
    _check_caller(caller, attempt)
    # Its signature covers the object just as it was received.
    capability = Capability.parse(plain(attempt.request.ibct), places=policy.places)
    capability.check_parties(str(attempt.holder), str(attempt.agent))
    capability.check_times(now, leeway=policy.leeway, longest=policy.longest)
    holder = await _active(reader, attempt.holder, "invoker")
    await _active(reader, attempt.agent, "target")
    # A key in its grace is one of those that may sign in the holder's name.
    decoded = map(multikey.decode_public, history.authentication_keys(holder, now))
    capability.check_signature(raw for kind, raw in decoded if kind == multikey.ED25519)
    capability.check_unexpired(now)
    invocation = Invocation(
        capability.invoker,
        capability.nonce_digest,
        capability.id_digest,
        attempt.digest,
        capability.expires_at + policy.leeway + MARGIN,
    )
    return replace(attempt, capability=capability, invocation=invocation)


def _check_caller(caller: Caller, attempt: ProofAttempt) -> None:
    """Raises ``Forbidden`` unless the caller is the agent, or an operator who may act for the holder. A token that an operator obtained
    for the agent counts as the agent's, as long as the operator may act for the agent."""
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
        raise invalid(f"the DID of {member} does not resolve") from None


async def find_delegation(attempt: ProofAttempt, delegations: Delegations) -> ProofAttempt:
    """Step 11, which an identical repetition of a request that was proven passes anew. Raises ``IbctRevoked``; ``DelegationInvalid``,
    the same for every reason; then ``DelegationRevoked``, ``DelegationExpired``, ``DelegationNotActive``."""
    capability = attempt.capability
    if await delegations.ibct_revoked(attempt.holder, capability.id, capability.nonce):
        raise IbctRevoked
    delegation_id = capability.delegation_id
    chain = None if delegation_id is None else await delegations.chain(delegation_id)
    if chain is None:
        raise DelegationInvalid
    chain.check_sound(attempt.holder, attempt.agent)
    chain.check_state(attempt.now)
    return replace(attempt, chain=chain)


def check_scope(attempt: ProofAttempt) -> ProofAttempt:
    """Step 12: the action is this predicate, every grant covers it, credential and verifier are allowed. Raises ``ScopeMismatch``, and
    ``InvalidRequest`` where the value is left out and no pin supplies it. That there is no credential is for a later step to say."""
    request, chain, asked = attempt.request, attempt.chain, attempt.request.predicate
    try:
        action = Action.parse(attempt.capability.action)
    except ValueError as error:
        raise ScopeMismatch(details={"reason": str(error)}) from error
    value = chain.only_value(action) if asked.value is UNSET else asked.value
    action.check_names(asked.attribute_name, asked.type, value)
    chain.check_covers(action, value, request.credential_id)
    if attempt.credential is not None:
        chain.check_schema(attempt.credential.schema.id)
    chain.check_verifier(given(request.domain, None))
    return replace(attempt, value=value, is_pinned=chain.is_pinned(action))


async def prepare(attempt: ProofAttempt, sealed_credentials: SealedCredentials, provers: ProofWorkers) -> ProofAttempt:
    """Steps 14 to 16. Raises ``CredentialNotFound``; ``CredentialRevoked``, ``CredentialExpired``; ``PredicateUnsupported``,
    ``PluginUnavailable``."""
    credential, asked = attempt.credential, attempt.request.predicate
    if credential is None:
        raise CredentialNotFound
    credential.check_usable(attempt.now)
    predicate = Predicate.parse(credential.schema, asked.attribute_name, asked.type, attempt.value)
    (await sealed_credentials.policy(credential)).check_predicate(predicate)
    supported = provers.predicate_types
    if not supported:
        # Before anything is spent on a prover that is not there.
        raise PluginUnavailable("No prover is available.")
    if predicate.type.value not in supported or (credential.binding is not None and not provers.presents):
        raise PredicateUnsupported(details={"reason": "the prover does not know this predicate of this credential"})
    return replace(attempt, prepared=PreparedProof(credential, predicate, sealed_credentials.seal))


def consumption(attempt: ProofAttempt, policy: ProofPolicy) -> Consumption:
    """What will be counted for the answer."""
    predicate, question = attempt.prepared.predicate, None
    if not attempt.is_pinned:
        since = None if policy.disclosure_window is None else attempt.now - policy.disclosure_window
        # Two ways to write one value are one question.
        digest = hashlib.sha256(jcs.canonicalize(predicate.json)).digest()
        question = Disclosure(predicate.attribute, digest, policy.disclosures, since)
    chain = tuple(record.id for record in attempt.chain.records)
    return Consumption(chain, attempt.prepared.credential.id, question)


async def prove(
    attempt: ProofAttempt, sealed_credentials: SealedCredentials, present: PresentBound, context: Context
) -> ZkProof:
    """The prover's work. Raises ``PluginUnavailable``, ``PluginTimeout``, ``Overloaded``, ``InternalError``."""
    credential, predicate = attempt.prepared.credential, attempt.prepared.predicate
    witness = await sealed_credentials.witness(credential)
    try:
        if credential.binding is not None:
            return await present(credential, credential.binding, predicate, witness, context)
        issuer = IssuerKey(credential.verification_method, credential.issuer_public_key)
        return await present.provers.prove(Statement(issuer, credential.schema, (predicate,)), witness, context=context)
    except PredicateNotSatisfied as error:
        # The predicate was found to hold; a prover that says otherwise must not be heard as a refusal that counts.
        raise PluginUnavailable("The prover disagrees about the predicate.") from error


def context_of(attempt: ProofAttempt, now: datetime, random: Callable[[int], bytes], policy: ProofPolicy) -> Context:
    """What the proof is bound to: the verifier's own challenge where the request carries it, else the nonce that the holder picked."""
    request, capability = attempt.request, attempt.capability
    nonce = given(request.challenge, capability.nonce).encode()
    issued_at = now.replace(microsecond=0)
    expires_at = issued_at + policy.lifetime
    if attempt.prepared.credential.binding is not None:
        # What it says of the credential's validity is said of one day.
        expires_at = min(expires_at, last_expiry(proof_day(issued_at)))
    return Context(
        audience=given(request.domain, policy.audience),
        nonce=nonce,
        issued_at=issued_at,
        expires_at=expires_at,
        proof_id=str(uuid.UUID(bytes=random(16), version=4)),
        capability=capability_digest(nonce, capability.octets),
        agent=str(attempt.agent) if policy.shows_agent else None,
    )
