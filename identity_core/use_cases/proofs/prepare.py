"""Steps 14 to 16 of generateDelegatedProof: what is asked, of credentials that can answer it, before any of them is opened.

With credentials of suite 2 it is a ``Question``, whatever the request looked like. Of several credentials each is in force, all are bound
to one secret of the holder's, and the proof is about their status if every one of them can be revoked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hmac import compare_digest

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.credentials.attributes import TypedValue
from identity_core.domain.credentials.bound_credential import BoundHeader
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.delegations.action import CREDENTIAL, PSEUDONYM, SAME
from identity_core.domain.proofs.normal_form import check_size
from identity_core.domain.proofs.predicate import NOT_EQUAL, Predicate, normalise
from identity_core.domain.proofs.proof import Witness
from identity_core.domain.proofs.question import Asked, AskedCredential, Question, parse_asked, refused
from identity_core.errors import CredentialNotFound, PluginUnavailable
from identity_core.ports.prover import ProofWorkers
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
    """Usable credentials, which have not been opened, and the predicates of each. ``question`` is None with a credential of suite 1,
    which is alone."""

    credentials: tuple[Credential, ...]
    predicates: tuple[tuple[Asked, ...], ...]
    question: Question | None
    seal: CredentialSeal

    @property
    def plain(self) -> tuple[Predicate, ...]:
        """Those of a credential of suite 1."""
        return tuple(one for one in self.predicates[0] if isinstance(one, Predicate))

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
        question = self.question
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
            elif claim.type == SAME and self.question is not None and isinstance(claim.value, int):
                together = self.question.same[claim.value]
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
    provers: ProofWorkers,
) -> PreparedProof:
    """Step 16. ``claims`` have all values. Raises ``PredicateUnsupported``, ``PluginUnavailable``."""
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
    question = _question(asked, credentials, predicates)
    known = provers.predicate_types
    if not known:
        # Before anything is spent on a prover that is not there.
        raise PluginUnavailable("No prover is available.")
    if question is not None:
        # What a prover of suite 2 knows besides it knows with all of suite 2.
        known |= {NOT_EQUAL}
    is_supported = all(predicate.type in known for each in predicates for predicate in each)
    if not is_supported or (question is not None and not provers.presents):
        raise refused("the prover does not know this predicate of this credential")
    return PreparedProof(tuple(credentials), predicates, question, sealed_credentials.seal)


def _question(
    asked: AskedProof, credentials: Sequence[Credential], predicates: Sequence[tuple[Asked, ...]]
) -> Question | None:
    """What contradicts itself in public, or is too large, is refused here: the prover would say it after the use. Raises
    ``PredicateUnsupported``."""
    bindings = [credential.binding for credential in credentials if credential.binding is not None]
    if not bindings and not asked.is_joint:
        plain = [one for one in predicates[0] if isinstance(one, Predicate)]
        if len(plain) > 1:
            normalise(credentials[0].schema, plain)
        return None
    if len(bindings) < len(credentials):
        raise refused("only credentials that are bound to their holder are shown together, or with a pseudonym")
    if len({binding.secret for binding in bindings}) > 1:
        raise refused("the credentials are bound to different secrets of the holder")
    headers = [BoundHeader.from_octets(binding.header) for binding in bindings]
    question = Question(
        tuple(map(AskedCredential, headers, predicates)),
        asked.same,
        asked.either,
        status=all(header.status is not None for header in headers),
        pseudonym=asked.pseudonym,
    )
    check_size(question)
    return question


def required(credentials: Sequence[Credential | None]) -> tuple[Credential, ...]:
    """Step 14: they are all there. Raises ``CredentialNotFound``."""
    there = tuple(credential for credential in credentials if credential is not None)
    if len(there) < len(credentials):
        raise CredentialNotFound
    return there
