"""A prover without cryptography, for tests: it evaluates the predicates in the clear and writes a MAC.

It keeps every promise of the port towards those who share its key, and proves nothing to others.
"""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime
from typing import Any

from identity_bbs import interface
from identity_bbs.bls12381 import select
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.suite import BbsSignatureInvalid, ciphersuite
from identity_client.action import PredicateType
from identity_codec import jcs, strict_json
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate, check_satisfied, normalise
from identity_core.domain.proofs.proof import (
    Context,
    PresentedProof,
    Statement,
    Witness,
    WitnessInvalid,
    ZkProof,
    public_signals,
)
from identity_core.errors import PredicateUnsupported, ProofInvalid


class TransparentProver:
    """``ports.prover.Prover`` for tests. Provers with the same ``key`` accept each other's proofs."""

    suite = "transparent-1"
    predicate_types = frozenset(kind.value for kind in PredicateType)

    def __init__(self, key: bytes = b"known to everybody") -> None:
        self._key = key

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        self._check(statement, witness)
        body = self._body(statement, context)
        salt = secrets.token_bytes(16)
        body |= {"salt": base64url_encode(salt), "mac": base64url_encode(self._mac(statement, context, salt))}
        return ZkProof(
            base64url_encode(jcs.canonicalize(body)),
            public_signals(self.suite, statement, context),
            ",".join(predicate.type.value for predicate in statement.predicates),
            context.proof_id,
        )

    def read(self, proof: str) -> PresentedProof:
        return self._read(proof)[0]

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        presented, salt, mac = self._read(proof.proof)
        expected = ZkProof(
            proof.proof,
            public_signals(self.suite, statement, context),
            ",".join(predicate.type.value for predicate in statement.predicates),
            context.proof_id,
        )
        asked = PresentedProof(statement.issuer.verification_method, statement.schema, statement.predicates, context)
        if (proof, presented) != (expected, asked):
            raise ProofInvalid
        context.check_time(now)
        try:
            normalise(statement.schema, statement.predicates)
        except PredicateUnsupported:
            raise ProofInvalid from None
        if not hmac.compare_digest(mac, self._mac(statement, context, salt)):
            raise ProofInvalid

    def _check(self, statement: Statement, witness: Witness) -> None:
        goals = normalise(statement.schema, statement.predicates)
        try:
            messages = statement.schema.messages(witness.attributes)
            check_satisfied(goals, messages)
            key, header = statement.issuer.public_key, statement.schema.header
            interface.verify(ciphersuite(select()), key, witness.signature, header, messages)
        except (ValueRefused, BbsSignatureInvalid, InvalidBlsKey):
            raise WitnessInvalid from None

    def _body(self, statement: Statement, context: Context) -> dict[str, Any]:
        return {
            "context": context.json,
            "header": base64url_encode(statement.schema.header),
            "method": statement.issuer.verification_method,
            "predicates": [predicate.json for predicate in statement.predicates],
        }

    def _mac(self, statement: Statement, context: Context, salt: bytes) -> bytes:
        said = jcs.canonicalize(self._body(statement, context))
        return hmac.digest(self._key, statement.issuer.public_key + salt + said, "sha256")

    def _read(self, text: str) -> tuple[PresentedProof, bytes, bytes]:
        try:
            value = strict_json.loads(base64url_decode(text))
            if value.keys() != {"context", "header", "method", "predicates", "salt", "mac"}:
                raise ProofInvalid
            schema = Schema.from_header(base64url_decode(value["header"]))
            predicates = tuple(
                Predicate.parse(schema, asked["attributeName"], asked["type"], asked["value"])
                for asked in value["predicates"]
            )
            presented = PresentedProof(value["method"], schema, predicates, Context.from_json(value["context"]))
            if jcs.canonicalize(value) != base64url_decode(text):
                raise ProofInvalid
            return presented, base64url_decode(value["salt"]), base64url_decode(value["mac"])
        except (ValueError, TypeError, KeyError, AttributeError, PredicateUnsupported):
            raise ProofInvalid from None
