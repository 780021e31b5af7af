"""The result of a verification: the checks with their outcomes, and the verdict.

A check is right, wrong, or could not be made (``ok`` None). A verifier may retry one that could not be made, but not a wrong one.
A proof is verified only if every check is right. Warnings concern the surroundings of the proof and do not change the verdict.
``Expectation`` states the values to which a proof must be bound. Parts without an expectation are reported as unchecked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import filterfalse
from typing import Final

from msgspec import Struct

from identity_codec import jcs
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_codec.values import replace
from identity_core.domain.dids.did import controller_of
from identity_core.domain.proofs.proof import CLOCK_SKEW, Context, PresentedProof
from identity_core.domain.proofs.stored import Anchor
from identity_core.errors import InvalidDid, ProofInvalid
from identity_verification.domain.checks import BOUND, BoundPart, Check, CheckCode, Verdict, right, verdict_of, wrong
from identity_verification.domain.expected import AnyPresented, ExpectedQuestion, Parts, canonical
from identity_verification.domain.received import NEVER_PROVEN

_CHECKS: Final = {
    "predicates": ("predicate", CheckCode.PREDICATE_MISMATCH),
    "nonce": ("challenge", CheckCode.CHALLENGE_MISMATCH),
    "audience": ("domain", CheckCode.DOMAIN_MISMATCH),
    "issuer": ("issuer", CheckCode.ISSUER_MISMATCH),
    "schema": ("schema", CheckCode.SCHEMA_MISMATCH),
    "agentKey": ("agentKey", CheckCode.AGENT_MISMATCH),
    # No request of an operation has these parts.
    "verificationMethod": ("issuer", CheckCode.ISSUER_MISMATCH),
    "header": ("schemaHeader", CheckCode.SCHEMA_MISMATCH),
    "proofId": ("proofId", CheckCode.PUBLIC_SIGNALS_MISMATCH),
    "capability": ("capability", CheckCode.NOT_PROVEN),
}
"""The checks of a verification, in their order: name and code by the part that is compared."""


class Expectation(Struct, frozen=True):
    """The verifier's expectation. None: no expectation, and the part is reported as unchecked. ``predicates`` are JSON
    ``ZKPredicate``; ``header_digest`` is the SHA-256 of the schema's header; ``issuer`` is the DID of the verification
    method. ``max_age`` is the maximum age by the proof's own time; ``status_max_age`` the maximum time since the end of the
    epoch of its status list. ``requires`` names the facts of ``NEVER_PROVEN`` that the proof must contain.
    ``question`` replaces predicates, issuer and schema, for a proof about several credentials, or of alternatives, equal
    attributes or a pseudonym. ``agent_key`` is the Ed25519 key, 32 bytes, of the agent that must have signed the
    presentation. ``consent_cover`` are the minimum fields of the holder's consent, by default audience, challenge and
    question."""

    verification_method: str | None = None
    header_digest: bytes | None = None
    predicates: tuple[Mapping[str, JsonValue], ...] | None = None
    audience: str | None = None
    nonce: bytes | None = None
    proof_id: str | None = None
    capability: bytes | None = None
    issuer: str | None = None
    schema_id: str | None = None
    max_age: timedelta | None = None
    status_max_age: timedelta | None = None
    requires: frozenset[str] = frozenset()
    question: ExpectedQuestion | None = None
    agent_key: bytes | None = None
    consent_cover: int | None = None

    def checks(self, presented: AnyPresented, now: datetime) -> Iterator[Check]:
        """Yield a check for each expectation, at ``now`` (aware UTC)."""
        try:
            parts = self._parts(presented)
        except ProofInvalid:
            parts = replace(self, predicates=None, question=None)._parts(presented) | {"predicates": (True, False)}
        for part, (name, code) in _CHECKS.items():
            expected, found = parts[part]
            if expected is not None:
                yield right(name) if expected == found else wrong(name, code, expected, found)
        for name in filter(self.requires.__contains__, NEVER_PROVEN):
            yield right(name) if name in presented.proven else wrong(name, CheckCode.NOT_PROVEN)
        if self.consent_cover is not None:
            covers = self._covers(presented)
            yield right("consentCover") if covers else wrong("consentCover", CheckCode.NOT_PROVEN)
        if self.max_age is not None:
            yield wrong("age", CheckCode.PROOF_TOO_OLD) if self._is_too_old(presented, now) else right("age")
        if self.status_max_age is not None:
            fault = self._status_fault(presented, now)
            yield right("statusAge") if fault is None else wrong("statusAge", fault)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The names of parts without an expectation to check, and of facts that proofs do not contain. If ``challenge`` or ``domain``
        is among them, a proof for another verifier passes."""
        asked = {
            "predicate": self.predicates or self.question,
            "challenge": self.nonce,
            "domain": self.audience,
            "issuerDid": self.issuer or self.verification_method or self.question,
            "schemaId": self.schema_id or self.header_digest or self.question,
            "maxAge": self.max_age,
        }
        unasked = (name for name, value in asked.items() if value is None)
        return (*unasked, *filterfalse(self.requires.__contains__, NEVER_PROVEN))

    def unchecked_of(self, presented: AnyPresented) -> tuple[str, ...]:
        """Return the additional parts of this proof without an expectation, besides ``unchecked``: the key of an agent in it."""
        return ("agentKey",) if self.agent_key is None and _agent_key(presented) else ()

    def _covers(self, presented: AnyPresented) -> bool:
        """Return whether the holder's consent covers all required fields."""
        cover = None if isinstance(presented, PresentedProof) else presented.cover
        return self.consent_cover is None or (cover is not None and self.consent_cover & cover == self.consent_cover)

    def _parts(self, presented: AnyPresented) -> Parts:
        """Return the expected and the actual value of each part, by name. Raises ``ProofInvalid``: when no such proof can have a
        predicate."""
        schema, context = presented.schema, presented.context
        predicates = None if self.predicates is None else [canonical(schema, asked) for asked in self.predicates]
        return {
            "verificationMethod": (self.verification_method, presented.verification_method),
            "header": (self.header_digest, hashlib.sha256(schema.header).digest()),
            "predicates": (predicates, [jcs.canonicalize(predicate.json) for predicate in presented.predicates]),
            "audience": (self.audience, context.audience),
            "nonce": (self.nonce, context.nonce),
            "proofId": (self.proof_id, context.proof_id),
            "capability": (self.capability, context.capability),
            "issuer": (self.issuer, issuer_of(presented)),
            "schema": (self.schema_id, schema.id),
            "agentKey": (self.agent_key, _agent_key(presented)),
        } | self._question_parts(presented)

    def _question_parts(self, presented: AnyPresented) -> Parts:
        if self.question is None:
            return {}
        return self.question.parts() if isinstance(presented, PresentedProof) else presented.parts(self.question)

    def takes(self, presented: AnyPresented) -> bool:
        """Return whether the verifier expects this kind of proof. A proof with alternatives or several credentials needs a ``question``,
        because the verifier could otherwise take it for a different statement."""
        return self.question is not None or isinstance(presented, PresentedProof) or presented.joint is None

    def _status_fault(self, presented: AnyPresented, now: datetime) -> CheckCode | None:
        """Return the cause why the verifier does not accept the status list, or None; also None if there is no expectation."""
        if self.status_max_age is None:
            return None
        if isinstance(presented, PresentedProof) or "credentialStatus" not in presented.proven:
            return CheckCode.NOT_PROVEN
        is_recent = presented.is_status_recent(now, self.status_max_age)
        return CheckCode.NOT_PROVEN if is_recent is None else None if is_recent else CheckCode.STATUS_TOO_OLD

    def _is_too_old(self, presented: AnyPresented, now: datetime) -> bool:
        return self.max_age is not None and now - presented.context.issued_at > self.max_age


def _agent_key(presented: AnyPresented) -> bytes | None:
    return None if isinstance(presented, PresentedProof) else presented.agent_key


def issuer_of(presented: AnyPresented) -> str | None:
    """Return the DID of the verification method that a proof names, or None if that is not a DID URL."""
    try:
        return str(controller_of(presented.verification_method))
    except InvalidDid:
        return None


def check_time(context: Context, now: datetime) -> Check:
    """Return the check whether ``now`` (aware UTC) is within the proof's validity; expiry has no tolerance."""
    if now >= context.expires_at:
        return wrong("time", CheckCode.PROOF_EXPIRED, found=f"expired {printed(context.expires_at)}")
    if context.issued_at > now + CLOCK_SKEW:
        return wrong("time", CheckCode.PROOF_NOT_YET_VALID, found=f"made {printed(context.issued_at)}")
    return right("time")


class ProofVerification(Struct, frozen=True):
    """The result of a verification. ``presented`` is the content of the proof, None if it is malformed; it is unverified unless
    ``verified``. ``anchor`` is that of a proof that is stored here, for its participants."""

    checks: tuple[Check, ...]
    presented: AnyPresented | None
    unchecked: tuple[str, ...]
    warnings: tuple[CheckCode, ...] = ()
    anchor: Anchor | None = None

    @property
    def verified(self) -> bool:
        """Return whether every check was made and is right."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def missing(self) -> tuple[BoundPart, ...]:
        """Return the parts of ``BOUND`` that the verifier did not name."""
        return tuple(name for name in BOUND if name in self.unchecked)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict: ``unbound`` for a proof that is genuine, but was not compared with all of ``BOUND``."""
        return verdict_of(self.verified, self.missing)

    @property
    def errors(self) -> tuple[CheckCode, ...]:
        """Return the codes of the checks that are not right, each once."""
        return tuple(dict.fromkeys(check.code for check in self.checks if check.code is not None))
