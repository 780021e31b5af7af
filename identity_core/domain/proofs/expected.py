"""What a verifier expects of a proof about several credentials together: exactly its own question, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from identity_codec import jcs
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.question import AttributeOf, Question, parse_asked
from identity_core.errors import PredicateUnsupported, ProofInvalid

Parts = dict[str, tuple[object, object]]
"""What is expected, and what the proof says, by the name of the part."""


@value_class
class ExpectedCredential:
    """``predicates`` are JSON ``ZKPredicate`` (or ``neq``), all that are shown of it."""

    issuer: str
    schema_id: str
    predicates: tuple[Mapping[str, JsonValue], ...] = ()


@value_class
class ExpectedQuestion:
    """``same``, ``either`` and ``pseudonym`` are as ``Question`` has them."""

    credentials: tuple[ExpectedCredential, ...]
    same: tuple[tuple[AttributeOf, ...], ...] = ()
    either: tuple[tuple[int, ...], ...] = ()
    pseudonym: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ExpectedQuestion:
        """Of the members that ``verifyProof`` takes. Raises ``ValueError``."""
        if not value.keys() <= {"credentials", "same", "either", "pseudonym"}:
            raise ValueError("a question has credentials, same, either and pseudonym")
        try:
            return cls(
                tuple(
                    ExpectedCredential(str(one["issuerDid"]), str(one["schemaId"]), tuple(one.get("predicates", ())))
                    for one in value["credentials"]
                ),
                tuple(
                    tuple((int(one["credential"]), str(one["attributeName"])) for one in together)
                    for together in value.get("same", ())
                ),
                tuple(map(tuple, value.get("either", ()))),
                value.get("pseudonym"),
            )
        except (KeyError, TypeError, AttributeError):
            raise ValueError("a question names issuerDid, schemaId and predicates of each of its credentials") from None

    def parts(self, question: Question | None) -> Parts:
        """Against what a proof asks; None for one of suite 1, which asks no question. Raises ``ProofInvalid`` for a predicate that no such
        proof can have."""
        credentials = () if question is None else question.credentials
        issuers = tuple(credential.header.issuer for credential in credentials)
        schemas = tuple(credential.header.schema.id for credential in credentials)
        return {
            "issuer": (tuple(one.issuer for one in self.credentials), issuers),
            "schema": (tuple(one.schema_id for one in self.credentials), schemas),
            "predicates": self._predicates(question),
        }

    def _predicates(self, question: Question | None) -> tuple[object, object]:
        if question is None or len(question.credentials) != len(self.credentials):
            return True, False
        pairs = zip(self.credentials, question.credentials, strict=True)
        expected = [[canonical(asked.header.schema, each) for each in own.predicates] for own, asked in pairs]
        found = [[jcs.canonicalize(each.json) for each in asked.predicates] for asked in question.credentials]
        own = (expected, self.same, self.either, self.pseudonym)
        return own, (found, question.same, question.either, question.pseudonym)


def canonical(schema: Schema, asked: Mapping[str, JsonValue]) -> bytes:
    """An expected predicate as this schema writes it: 1.5 at scale 2 is 1.50. Raises ``ProofInvalid``."""
    if asked.keys() != {"attributeName", "type", "value"}:
        raise ProofInvalid(details={"reason": "an expected predicate has attributeName, type and value"})
    try:
        predicate = parse_asked(schema, asked)
    except PredicateUnsupported:
        raise ProofInvalid(details={"reason": "the proof's schema has no such predicate as expected"}) from None
    return jcs.canonicalize(predicate.json)
