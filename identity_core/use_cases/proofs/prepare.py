"""Steps 14 to 16 of generateDelegatedProof: the predicates and their credentials, before any credential is opened.

The suite of the credentials checks the rest (``ports/suites.py``). Every request with ``credentials`` is of suite 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hmac import compare_digest
from typing import Any, Final

from msgspec import Struct

from identity_client.action import CREDENTIAL, PSEUDONYM, SAME
from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET, UnsetType, value_or
from identity_core.domain.credentials.attributes import TypedValue
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.proofs.asked import Asked, parse_asked
from identity_core.domain.proofs.predicate import MAX_PREDICATES
from identity_core.domain.proofs.proof import Context, Witness
from identity_core.domain.proofs.stored import AttributeOf, KeptCredential, KeptQuestion, read_value
from identity_core.errors import CredentialNotFound, InvalidRequest
from identity_core.ports.suites import ProofPlan, ProofSuites
from identity_core.use_cases.credentials.sealed import CredentialSeal, SealedCredentials
from identity_core.wire import (
    AskedPredicate,
    DelegatedPresentationRequest,
    DelegatedProofRequest,
    HolderConsent,
    ZKPredicate,
)

ProofRequest = DelegatedProofRequest | DelegatedPresentationRequest
"""The bodies of generateDelegatedProof and createDelegatedPresentation. No body is valid for both."""

_JOINT: Final = "credentials"


class AskedPart(Struct, frozen=True):
    """One credential of the holder, and the predicates over it as the request has them."""

    credential_id: str
    predicates: tuple[ZKPredicate | AskedPredicate, ...]


class Claim(Struct, frozen=True):
    """The subject of one action of the IBCT. ``attribute`` is empty for a credential and a pseudonym. ``value`` is None
    if the request omits it. ``part`` is the index of the credential; None for a pseudonym."""

    attribute: str
    type: str
    value: JsonValue
    part: int | None


class AskedProof(Struct, frozen=True):
    """The question of a request. ``is_joint``: the request has ``credentials``; only then it may have ``same``, ``either`` and
    ``pseudonym``, as in ``Question``."""

    parts: tuple[AskedPart, ...]
    same: tuple[tuple[AttributeOf, ...], ...] = ()
    either: tuple[tuple[int, ...], ...] = ()
    pseudonym: str | None = None
    is_joint: bool = False
    consent: HolderConsent | UnsetType = UNSET

    @classmethod
    def from_request(cls, request: ProofRequest) -> AskedProof:
        """Read the question of a request. Raises ``InvalidRequest``: when a part is missing, repeated or ambiguous."""
        if isinstance(request, DelegatedProofRequest):
            read_value(value_or(request.predicate.value, ""))
            return cls((AskedPart(request.credential_id, (request.predicate,)),))
        is_joint = request.credentials is not UNSET
        if not (request.predicates is UNSET) == (request.credential_id is UNSET) == is_joint:
            raise _refused("Send either credentialId and predicates, or credentials.", "predicates")
        if request.credentials is UNSET:
            for name in ("same", "either", "pseudonym"):
                if getattr(request, name) is not UNSET:
                    raise _refused(f"{name} stands beside credentials.", name)
            part = AskedPart(value_or(request.credential_id, ""), _readable(value_or(request.predicates, ())))
            return cls((part,), consent=request.holder_consent)
        asked = cls(
            tuple(AskedPart(one.credential_id, _readable(value_or(one.predicates, ()))) for one in request.credentials),
            tuple(tuple((one.credential, one.attribute_name) for one in group) for group in value_or(request.same, ())),
            tuple(map(tuple, value_or(request.either, ()))),
            value_or(request.pseudonym, None),
            is_joint=True,
            consent=request.holder_consent,
        )
        asked._check()
        return asked

    def _check(self) -> None:
        if len({part.credential_id for part in self.parts}) != len(self.parts):
            raise _refused("credentials names each credential once.", _JOINT)
        count = sum(len(part.predicates) for part in self.parts)
        if count > MAX_PREDICATES:
            raise _refused(f"credentials have at most {MAX_PREDICATES} predicates in all.", _JOINT)
        if any(number >= len(self.parts) for together in self.same for number, _ in together):
            raise _refused("same names a credential that is not there.", "same")
        if any(number >= count for group in self.either for number in group):
            raise _refused("either names a predicate that is not there.", "either")
        for name, groups in (("same", self.same), ("either", self.either)):
            listed: list[Any] = [*groups]
            if listed != sorted(set(listed)) or any([*group] != sorted(set(group)) for group in listed):
                raise _refused(f"The groups of {name}, and what is in each, stand in ascending order, each once.", name)
        if self.pseudonym is not None and not self.pseudonym.isprintable():
            raise _refused("pseudonym is of printable characters.", "pseudonym")

    @property
    def predicates(self) -> tuple[ZKPredicate | AskedPredicate, ...]:
        """Return the predicates of all credentials."""
        return tuple(predicate for part in self.parts for predicate in part.predicates)

    @property
    def claims(self) -> Iterator[Claim]:
        """Yield a claim for each action that the IBCT must have, in order."""
        for number, part in enumerate(self.parts):
            if self.is_joint:
                yield Claim("", CREDENTIAL, part.credential_id, number)
            for predicate in part.predicates:
                yield Claim(predicate.attribute_name, predicate.type, value_or(predicate.value, None), number)
            for place, together in enumerate(self.same):
                for owner, name in together:
                    if owner == number:
                        yield Claim(name, SAME, place, number)
        if self.pseudonym is not None:
            yield Claim("", PSEUDONYM, self.pseudonym, None)


def _readable(predicates: tuple[ZKPredicate | AskedPredicate, ...]) -> tuple[ZKPredicate | AskedPredicate, ...]:
    for one in predicates:
        if one.value is not UNSET:
            read_value(one.value)
    return predicates


def _refused(message: str, member: str) -> InvalidRequest:
    return InvalidRequest(message, details={"member": member})


class AskedOfAttribute(Struct, frozen=True):
    """One attribute of a credential, by its number; ``json`` is in the canonical form."""

    part: int
    attribute: str
    json: JsonValue


class PreparedProof(Struct, frozen=True):
    """Usable credentials, which have not been opened, and the predicates of each. ``joint`` is the question about several together;
    None if the request has one credential."""

    credentials: tuple[Credential, ...]
    predicates: tuple[tuple[Asked, ...], ...]
    joint: KeptQuestion | None
    plan: ProofPlan
    seal: CredentialSeal

    def holds(self, witnesses: Sequence[Witness]) -> bool:
        """Return whether the values of the credentials satisfy all predicates."""

        def value(part: int, name: str) -> TypedValue | None:
            return self.credentials[part].schema.read(name, witnesses[part].attributes)

        # All are evaluated: it is a secret which one fails.
        asked = [(part, predicate) for part, each in enumerate(self.predicates) for predicate in each]
        found = [predicate.holds(value(part, predicate.attribute)) for part, predicate in asked]
        question = self.joint
        if question is None:
            return sum(found) == len(found)
        alternatives = {number for group in question.either for number in group}
        required = [one for number, one in enumerate(found) if number not in alternatives]
        required += [sum([found[number] for number in group]) > 0 for group in question.either]
        required += [_are_same([value(*one) for one in together]) for together in question.same]
        return sum(required) == len(required)

    def disclosures(self, claims: Sequence[Claim]) -> Iterator[AskedOfAttribute | None]:
        """Yield for each claim the attribute predicate that its answer discloses, or None."""
        asked = iter([(part, one) for part, each in enumerate(self.predicates) for one in each])
        for claim in claims:
            if claim.part is None or claim.type == CREDENTIAL:
                yield None
            elif claim.type == SAME and self.joint is not None and isinstance(claim.value, int):
                together = self.joint.same[claim.value]
                ids: list[JsonValue] = [[self.credentials[part].id, name] for part, name in together]
                yield AskedOfAttribute(claim.part, claim.attribute, {"attributeName": claim.attribute, "same": ids})
            else:
                part, predicate = next(asked)
                yield AskedOfAttribute(part, predicate.attribute, predicate.json)


def _are_same(values: Sequence[TypedValue | None]) -> bool:
    """Return whether all values are equal in canonical form; they have one type. A null value equals no value."""
    texts = [b"" if one is None else one.text.encode() for one in values]
    equal = sum([compare_digest(text, texts[0]) for text in texts]) == len(texts)
    return (sum([one is None for one in values]) == 0) & equal


async def prepare(
    asked: AskedProof,
    claims: Sequence[Claim],
    credentials: Sequence[Credential],
    sealed_credentials: SealedCredentials,
    suites: ProofSuites,
    context: Callable[[], Context],
) -> PreparedProof:
    """Run step 16. ``claims`` have all values; ``context`` returns the context to which the proof would be bound. Raises the errors of
    ``ProofSuite.prepare``."""
    predicates = tuple(
        tuple(
            parse_asked(credential.schema, {"attributeName": claim.attribute, "type": claim.type, "value": claim.value})
            for claim in claims
            if claim.part == part and claim.type not in (CREDENTIAL, SAME, PSEUDONYM)
        )
        for part, credential in enumerate(credentials)
    )
    for part, (credential, each) in enumerate(zip(credentials, predicates, strict=True)):
        policy = await sealed_credentials.policy(credential)
        for predicate in each:
            policy.check_predicate(predicate)
        for name in (name for together in asked.same for owner, name in together if owner == part):
            policy.check_same(name)
    joint = _joint(asked, credentials, predicates) if asked.is_joint else None
    suite = suites[credentials[0].suite if joint is None else 2]
    plan = await suite.prepare(credentials, predicates, joint, asked.consent, context)
    return PreparedProof(tuple(credentials), predicates, joint, plan, sealed_credentials.seal)


def _joint(
    asked: AskedProof, credentials: Sequence[Credential], predicates: Sequence[tuple[Asked, ...]]
) -> KeptQuestion:
    """Return the joint part of a proof's record."""
    kept = tuple(
        KeptCredential(one.id, str(one.issuer), one.schema.id, tuple(predicate.json for predicate in each))
        for one, each in zip(credentials, predicates, strict=True)
    )
    return KeptQuestion(kept, asked.same, asked.either, asked.pseudonym)


def required(credentials: Sequence[Credential | None]) -> tuple[Credential, ...]:
    """Run step 14: require every credential. Raises ``CredentialNotFound``: when one is missing."""
    there = tuple(credential for credential in credentials if credential is not None)
    if len(there) < len(credentials):
        raise CredentialNotFound
    return there
