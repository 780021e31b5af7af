"""The checks of generateDelegatedProof, and the proof itself: each a function that takes an attempt and gives it further on.

Identity before content, and the signature before any look-up that could tell something: anyone who holds no token that the holder signed
learns nothing about delegations and credentials. Everything here but ``PreparedProof.holds`` is decided by what is public of the
credential. Whether the predicate holds is a comparison: it opens the values only in the transaction that counts the answer, after every
limit (``ports/proofs.py``), so that a refusal costs no proof and a limit tells nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from identity_core.codec import jcs, multikey
from identity_core.codec.structs import UNSET, given, plain
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.bound_credential import BoundHeader
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.delegations.action import Action
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.ibct import Capability, invalid
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.normal_form import normal_form
from identity_core.domain.proofs.predicate import NOT_EQUAL, Predicate, normalise
from identity_core.domain.proofs.proof import (
    MAX_NONCE_OCTETS,
    Context,
    IssuerKey,
    Statement,
    ZkProof,
)
from identity_core.domain.proofs.question import Asked, AskedCredential, Question, parse_asked
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
from identity_core.values import value_class
from identity_core.wire import AskedPredicate, DelegatedProofRequest, ZKPredicate

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


@value_class
class PreparedProof:
    """Predicates of a usable credential, which has not been opened."""

    credential: Credential
    predicates: tuple[Asked, ...]
    seal: CredentialSeal

    def holds(self, sealed: bytes) -> bool:
        """The port's ``Holds``. Raises ``InternalError`` for a box that is not this credential's."""
        values = self.seal.open(self.credential, sealed).attributes
        read = self.credential.schema.read
        # All are looked at: which one fails is a secret.
        found = [predicate.holds(read(predicate.attribute, values)) for predicate in self.predicates]
        return sum(found) == len(found)


@value_class
class ProofAttempt:
    """A request on its way. ``digest`` is the SHA-256 of the JCS of the whole body, to which nonce and id of the IBCT are bound; ``asked``
    are its predicates.

    Each step sets the members that later ones read: ``capability`` and ``invocation`` are those of a genuine token, ``chain`` its
    delegation, ``credential`` the holder's or None; of each predicate ``values`` has the request's value or the pin's, and ``pinned``
    whether the holder fixed it."""

    request: DelegatedProofRequest
    asked: tuple[ZKPredicate | AskedPredicate, ...]
    holder: Did
    agent: Did
    anchor: bool
    digest: bytes
    now: datetime
    capability: Capability = _LATER
    invocation: Invocation = _LATER
    chain: DelegationChain = _LATER
    credential: Credential | None = None
    values: tuple[JsonValue, ...] = ()
    pinned: tuple[bool, ...] = ()
    prepared: PreparedProof = _LATER

    @classmethod
    def of(cls, request: DelegatedProofRequest, reader: DidReader, now: datetime) -> ProofAttempt:
        """Step 3: what the document's schema lets through and has no one meaning is refused. Raises ``InvalidRequest``, ``InvalidDid``."""
        if (request.predicate is UNSET) == (request.predicates is UNSET):
            raise InvalidRequest("Send either predicate or predicates.", details={"member": "predicates"})
        asked = given(request.predicates, ()) if request.predicate is UNSET else (request.predicate,)
        for one in asked:
            if one.value is not UNSET:
                read_value(one.value)
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
        return cls(request, asked, holder, agent, given(request.anchor, False), digest, now)


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
    """Step 12: each action is its predicate, the grants cover each, credential and verifier are allowed. Raises ``ScopeMismatch``, and
    ``InvalidRequest`` where a value is left out and no pin supplies it. That there is no credential is for a later step to say."""
    request, chain = attempt.request, attempt.chain
    try:
        actions = Action.parse_all(attempt.capability.action)
    except ValueError as error:
        raise ScopeMismatch(details={"reason": str(error)}) from error
    if len(actions) != len(attempt.asked):
        raise ScopeMismatch(details={"reason": "the IBCT names another number of predicates"})
    values = []
    for action, asked in zip(actions, attempt.asked, strict=True):
        value = chain.only_value(action) if asked.value is UNSET else asked.value
        action.check_names(asked.attribute_name, asked.type, value)
        chain.check_covers(action, value, request.credential_id)
        values.append(value)
    if attempt.credential is not None:
        chain.check_schema(attempt.credential.schema.id)
    chain.check_verifier(given(request.domain, None))
    return replace(attempt, values=tuple(values), pinned=tuple(map(chain.is_pinned, actions)))


async def prepare(attempt: ProofAttempt, sealed_credentials: SealedCredentials, provers: ProofWorkers) -> ProofAttempt:
    """Steps 14 to 16. Raises ``CredentialNotFound``; ``CredentialRevoked``, ``CredentialExpired``; ``PredicateUnsupported``,
    ``PluginUnavailable``."""
    credential = attempt.credential
    if credential is None:
        raise CredentialNotFound
    credential.check_usable(attempt.now)
    schema = credential.schema
    members = (
        {"attributeName": asked.attribute_name, "type": asked.type, "value": value}
        for asked, value in zip(attempt.asked, attempt.values, strict=True)
    )
    predicates = tuple(parse_asked(schema, one) for one in members)
    policy = await sealed_credentials.policy(credential)
    for predicate in predicates:
        policy.check_predicate(predicate)
    if len(predicates) > 1:
        # One alone is possible as it was read; several may contradict each other, which the prover would say after the use.
        _check_possible(credential, predicates)
    supported = provers.predicate_types
    if not supported:
        # Before anything is spent on a prover that is not there.
        raise PluginUnavailable("No prover is available.")
    # What a prover of suite 2 knows besides it knows with all of suite 2.
    known = supported if credential.binding is None else supported | {NOT_EQUAL}
    is_supported = all(predicate.type in known for predicate in predicates)
    if not is_supported or (credential.binding is not None and not provers.presents):
        raise PredicateUnsupported(details={"reason": "the prover does not know this predicate of this credential"})
    return replace(attempt, prepared=PreparedProof(credential, predicates, sealed_credentials.seal))


def _check_possible(credential: Credential, predicates: tuple[Asked, ...]) -> None:
    """Raises ``PredicateUnsupported`` for what contradicts itself in public."""
    if credential.binding is None:
        normalise(credential.schema, [one for one in predicates if isinstance(one, Predicate)])
    else:
        normal_form(Question((AskedCredential(BoundHeader.from_octets(credential.binding.header), predicates),)))


def consumption(attempt: ProofAttempt, policy: ProofPolicy) -> Consumption:
    """What will be counted for the answer."""
    since = None if policy.disclosure_window is None else attempt.now - policy.disclosure_window
    # Two ways to write one value are one question.
    questions = dict.fromkeys(
        Disclosure(
            predicate.attribute,
            hashlib.sha256(jcs.canonicalize(predicate.json)).digest(),
            policy.disclosures,
            since,
        )
        for predicate, is_pinned in zip(attempt.prepared.predicates, attempt.pinned, strict=True)
        if not is_pinned
    )
    chain = tuple(record.id for record in attempt.chain.records)
    return Consumption(chain, attempt.prepared.credential.id, tuple(questions))


async def prove(
    attempt: ProofAttempt, sealed_credentials: SealedCredentials, present: PresentBound, context: Context
) -> ZkProof:
    """The prover's work. Raises ``PluginUnavailable``, ``PluginTimeout``, ``Overloaded``, ``InternalError``."""
    credential, predicates = attempt.prepared.credential, attempt.prepared.predicates
    witness = await sealed_credentials.witness(credential)
    try:
        if credential.binding is not None:
            return await present(credential, credential.binding, predicates, witness, context)
        issuer = IssuerKey(credential.verification_method, credential.issuer_public_key)
        plain = tuple(one for one in predicates if isinstance(one, Predicate))
        return await present.provers.prove(Statement(issuer, credential.schema, plain), witness, context=context)
    except PredicateNotSatisfied as error:
        # The predicate was found to hold; a prover that says otherwise must not be heard as a refusal that counts.
        raise PluginUnavailable("The prover disagrees about the predicate.") from error
