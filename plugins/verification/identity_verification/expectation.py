"""The expectation of a verifier, from the members of a request."""

from __future__ import annotations

from datetime import timedelta

from identity_client.issuer_key import agent_key_of
from identity_codec.structs import UNSET, plain, value_or
from identity_core.domain.proofs.proof import MAX_NONCE_OCTETS, MIN_NONCE_OCTETS
from identity_core.domain.proofs.stored import read_value
from identity_core.errors import InvalidRequest
from identity_verification.domain.expected import ExpectedCredential, ExpectedQuestion
from identity_verification.domain.verification import Expectation
from identity_verification.wire import VerifyProofRequest, VerifyStoredProofRequest


def expectation_of(wish: VerifyProofRequest | VerifyStoredProofRequest) -> Expectation:
    """Return the expectation of the verifier. Raises ``InvalidRequest``: when no proof can have a value or the challenge, or a member is
    repeated."""
    if wish.predicate is not UNSET and wish.predicates is not UNSET:
        raise InvalidRequest("Send predicate or predicates, not both.", details={"member": "predicates"})
    expected = value_or(wish.predicates, ()) if wish.predicate is UNSET else (wish.predicate,)
    question = _question_of(wish)
    try:
        agent_key = None if wish.agent_key is UNSET else agent_key_of(wish.agent_key)
    except ValueError:
        raise InvalidRequest("agentKey is an Ed25519 multikey.", details={"member": "agentKey"}) from None
    for part in (*expected, *(each for one in value_or(wish.credentials, ()) for each in value_or(one.predicates, ()))):
        read_value(part.value)
    return Expectation(
        predicates=tuple(map(plain, expected)) or None,
        nonce=None if wish.challenge is UNSET else nonce_of(wish.challenge),
        audience=value_or(wish.domain, None),
        issuer=value_or(wish.issuer_did, None),
        schema_id=value_or(wish.schema_id, None),
        max_age=None if wish.max_age is UNSET else timedelta(seconds=wish.max_age),
        status_max_age=None if wish.status_max_age is UNSET else timedelta(seconds=wish.status_max_age),
        requires=frozenset(value_or(wish.requires, ())),
        question=question,
        agent_key=agent_key,
        consent_cover=value_or(wish.consent_cover, None),
    )


def _question_of(wish: VerifyProofRequest | VerifyStoredProofRequest) -> ExpectedQuestion | None:
    """Return the expected question, or None. Raises ``InvalidRequest``: when members exclude each other."""
    if wish.credentials is UNSET:
        for name in ("same", "either", "pseudonym"):
            if getattr(wish, name) is not UNSET:
                raise InvalidRequest(f"{name} stands beside credentials.", details={"member": name})
        return None
    for name, member in (
        ("predicate", wish.predicate),
        ("predicates", wish.predicates),
        ("issuerDid", wish.issuer_did),
        ("schemaId", wish.schema_id),
    ):
        if member is not UNSET:
            raise InvalidRequest(f"credentials says it of each: leave {name} out.", details={"member": name})
    return ExpectedQuestion(
        tuple(
            ExpectedCredential(one.issuer_did, one.schema_id, tuple(map(plain, value_or(one.predicates, ()))))
            for one in wish.credentials
        ),
        tuple(tuple((one.credential, one.attribute_name) for one in together) for together in value_or(wish.same, ())),
        value_or(wish.either, ()),
        value_or(wish.pseudonym, None),
    )


def nonce_of(challenge: str) -> bytes:
    """Return the nonce that binds a proof to a challenge. Raises ``InvalidRequest``: when no proof can be bound to the challenge."""
    nonce = challenge.encode()
    if not MIN_NONCE_OCTETS <= len(nonce) <= MAX_NONCE_OCTETS:
        raise InvalidRequest(
            f"A challenge has {MIN_NONCE_OCTETS} to {MAX_NONCE_OCTETS} bytes of UTF-8.", details={"member": "challenge"}
        )
    return nonce
