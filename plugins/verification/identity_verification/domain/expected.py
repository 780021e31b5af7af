"""The joint content of a proof about several credentials, and the verifier's expectations, part by part.

A proof of suite 1 is about predicates of one credential (``PresentedProof``). A proof of another suite may have the additional content
of a ``PresentedQuestion``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from identity_codec import jcs
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.asked import Asked, parse_asked
from identity_core.domain.proofs.proof import Context, PresentedProof
from identity_core.domain.proofs.stored import AttributeOf, KeptQuestion
from identity_core.errors import PredicateUnsupported, ProofInvalid

Parts = dict[str, tuple[object, object]]
"""The expected content and the content of the proof, by the name of the part."""


class ExpectedCredential(Struct, frozen=True):
    """The verifier's expectation of one credential. ``predicates`` are JSON ``ZKPredicate`` (or ``neq``), all of its predicates."""

    issuer: str
    schema_id: str
    predicates: tuple[Mapping[str, JsonValue], ...] = ()


class ExpectedQuestion(Struct, frozen=True):
    """The verifier's expectation of a proof about several credentials together: exactly its own question, part by part.
    ``same``, ``either`` and ``pseudonym`` are as in ``KeptQuestion``."""

    credentials: tuple[ExpectedCredential, ...]
    same: tuple[tuple[AttributeOf, ...], ...] = ()
    either: tuple[tuple[int, ...], ...] = ()
    pseudonym: str | None = None

    def parts(
        self, issuers: Sequence[str] = (), schemas: Sequence[Schema] = (), found: KeptQuestion | None = None
    ) -> Parts:
        """Compare with the question of a proof, which is None for a proof of suite 1.

        ``issuers`` and ``schemas``: of its credentials, in order. Raises ``ProofInvalid``: when no such proof can have a predicate."""
        return {
            "issuer": (tuple(one.issuer for one in self.credentials), tuple(issuers)),
            "schema": (tuple(one.schema_id for one in self.credentials), tuple(schema.id for schema in schemas)),
            "predicates": self._predicates(schemas, found),
        }

    def _predicates(self, schemas: Sequence[Schema], found: KeptQuestion | None) -> tuple[object, object]:
        if found is None or len(schemas) != len(self.credentials):
            return True, False
        pairs = zip(self.credentials, schemas, strict=True)
        expected = [[canonical(schema, each) for each in own.predicates] for own, schema in pairs]
        asked = [[jcs.canonicalize(each) for each in one.predicates] for one in found.credentials]
        own = (expected, self.same, self.either, self.pseudonym)
        return own, (asked, found.same, found.either, found.pseudonym)


def canonical(schema: Schema, asked: Mapping[str, JsonValue]) -> bytes:
    """Return an expected predicate in the canonical form of this schema: 1.5 at scale 2 is 1.50. Raises ``ProofInvalid``."""
    if asked.keys() != {"attributeName", "type", "value"}:
        raise ProofInvalid(details={"reason": "an expected predicate has attributeName, type and value"})
    try:
        predicate = parse_asked(schema, asked)
    except PredicateUnsupported:
        raise ProofInvalid(details={"reason": "the proof's schema has no such predicate as expected"}) from None
    return jcs.canonicalize(predicate.json)


class PresentedQuestion(Protocol):
    """The claims of a proof with its holder's authorisation, without the keys. They are unverified until its suite has accepted the proof.

    The members that ``PresentedProof`` also has are those of the first credential. ``joint`` is the part about several credentials, or
    about alternatives, equal attributes or a pseudonym, else None. ``pseudonym`` is the holder's for the verifier's context.
    ``epochs`` are those of its status lists, with ``list_id``, ``epoch``, ``begins`` and ``ends``.
    ``agent_key`` is the raw Ed25519 key of the agent that presents the proof. ``cover`` are the fields of the holder's consent, None
    without a consent; ``consent_ends`` is its end.
    """

    @property
    def verification_method(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def predicates(self) -> tuple[Asked, ...]: ...
    @property
    def context(self) -> Context: ...
    @property
    def methods(self) -> tuple[str, ...]: ...
    @property
    def proven(self) -> frozenset[str]: ...
    @property
    def epochs(self) -> Sequence[Any]: ...
    @property
    def joint(self) -> KeptQuestion | None: ...
    @property
    def pseudonym(self) -> bytes | None: ...
    @property
    def agent_key(self) -> bytes | None: ...
    @property
    def cover(self) -> int | None: ...
    @property
    def consent_ends(self) -> datetime | None: ...
    @property
    def schema_ids(self) -> tuple[str, ...]: ...

    def is_of(self, definitions: Sequence[CredentialSchema]) -> bool:
        """Return whether its signed headers match the registered schemas, which are in the order of ``schema_ids``."""

    def is_status_recent(self, now: datetime, max_age: timedelta) -> bool | None:
        """Return whether the epochs of its status lists ended at most ``max_age`` ago; None if it contains no status."""

    def parts(self, expected: ExpectedQuestion) -> Parts:
        """Compare the whole question. Raises ``ProofInvalid``."""

    def as_made(self, text: str) -> str:
        """Return the proof ``text`` without the signature of the presenting agent."""


AnyPresented: TypeAlias = PresentedProof | PresentedQuestion
"""Unverified claims of a proof of any suite."""
