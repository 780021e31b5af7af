"""Steps 14 to 16 of generateDelegatedProof: what is asked, of credentials that can answer it, before any of them is opened.

The suite of the credentials checks the rest (``ports/suites.py``): all that is asked with ``credentials`` is of suite 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hmac import compare_digest

from identity_client.action import CREDENTIAL, PSEUDONYM, SAME
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.credentials.attributes import TypedValue
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.proofs.asked import Asked, parse_asked
from identity_core.domain.proofs.expected import KeptCredential, KeptQuestion
from identity_core.domain.proofs.proof import Context, Witness
from identity_core.errors import CredentialNotFound
from identity_core.ports.suites import ProofPlan, ProofSuites
from identity_core.use_cases.credentials.sealed import CredentialSeal, SealedCredentials
from identity_core.use_cases.proofs.asked import AskedProof, Claim


@value_class
class AskedOfAttribute:
    """What is found out about one attribute of a credential, by its number; ``json`` is in the one canonical form."""

    part: int
    attribute: str
    json: JsonValue


@value_class
class PreparedProof:
    """Usable credentials, which have not been opened, and the predicates of each. ``joint`` is what is asked of several together, None
    where the request has one credential."""

    credentials: tuple[Credential, ...]
    predicates: tuple[tuple[Asked, ...], ...]
    joint: KeptQuestion | None
    plan: ProofPlan
    seal: CredentialSeal

    def opened(self, sealed: Sequence[bytes]) -> list[Witness]:
        """What is in the boxes of the credentials. Raises ``InternalError`` for one that is not its credential's."""
        return [self.seal.open(*pair) for pair in zip(self.credentials, sealed, strict=True)]

    def holds(self, witnesses: Sequence[Witness]) -> bool:
        """Whether all predicates hold of the credentials' values."""

        def value(part: int, name: str) -> TypedValue | None:
            return self.credentials[part].schema.read(name, witnesses[part].attributes)

        # All are looked at: which one fails is a secret.
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
        """For each claim what it finds out about an attribute, or None."""
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
    """Whether all are one value, in one canonical form as they have one type; null is none."""
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
    """Step 16. ``claims`` have all values; ``context`` returns what the proof would be bound to. Raises what ``ProofSuite.prepare``
    does."""
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
    """What the record of a proof says of several credentials."""
    kept = tuple(
        KeptCredential(one.id, str(one.issuer), one.schema.id, tuple(predicate.json for predicate in each))
        for one, each in zip(credentials, predicates, strict=True)
    )
    return KeptQuestion(kept, asked.same, asked.either, asked.pseudonym)


def required(credentials: Sequence[Credential | None]) -> tuple[Credential, ...]:
    """Step 14: they are all there. Raises ``CredentialNotFound``."""
    there = tuple(credential for credential in credentials if credential is not None)
    if len(there) < len(credentials):
        raise CredentialNotFound
    return there
