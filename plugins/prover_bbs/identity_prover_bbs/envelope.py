"""The proof as it travels: base64url of one canonical JSON text (PROTOCOL.md §7).

Reading is strict: caps before anything else, no duplicate or unknown members, no fractions, base64url in its one form; what was
read is written anew and compared, so that a proof has exactly one text. Nothing that is hashed is taken from here but the
typed context, which the verifier compares with its own. Left out on purpose: the issuer's key, and the presentation header,
which the verifier computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from identity_codec import jcs
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import MAX_PREDICATES, Predicate, check_elements
from identity_core.domain.proofs.proof import MAX_METHOD, Context, PresentedProof
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_prover_bbs import labels
from identity_prover_bbs.envelope_text import decode_text, encode_text, read_members, refusal

MAX_SUB_PROOFS: Final = MAX_PREDICATES + 1
_MEMBERS: Final = frozenset(
    [
        "bbsProof",
        "context",
        "disclosed",
        "header",
        "predicateProofs",
        "predicates",
        "suite",
        "verificationMethod",
        "version",
    ]
)


class Envelope(Struct, frozen=True):
    """A parsed envelope. ``disclosed`` maps hashed slots to bytes."""

    presented: PresentedProof
    disclosed: Mapping[int, bytes]
    bbs_proof: bytes
    predicate_proofs: tuple[bytes, ...]

    def encode(self) -> str:
        """Return the text of ``ZkProof.proof``. Raises ``PredicateUnsupported`` when it is longer than a verifier reads."""
        presented = self.presented
        return encode_text(
            jcs.canonicalize(
                {
                    "bbsProof": base64url_encode(self.bbs_proof),
                    "context": presented.context.json,
                    "disclosed": [[slot, base64url_encode(data)] for slot, data in self.disclosed.items()],
                    "header": base64url_encode(presented.schema.header),
                    "predicateProofs": [base64url_encode(proof) for proof in self.predicate_proofs],
                    "predicates": [predicate.json for predicate in presented.predicates],
                    "suite": labels.SUITE,
                    "verificationMethod": presented.verification_method,
                    "version": labels.ENVELOPE_VERSION,
                }
            )
        )

    @classmethod
    def decode(cls, text: str) -> Envelope:
        """Return the content of an untrusted envelope. Raises ``ProofInvalid``; no curve operation is done."""
        return decode_text(text, _MEMBERS, cls._parsed, (ValueRefused,))

    @classmethod
    def decode_expected(cls, text: str, presented: PresentedProof, disclosed: Mapping[int, bytes]) -> Envelope:
        """Return an envelope that must contain exactly this. Only the proofs are read from it; all the rest is written anew from what the
        verifier asked and must give the same text. Raises ``ProofInvalid``."""
        value = read_members(text, _MEMBERS)
        try:
            envelope = cls(presented, disclosed, base64url_decode(value["bbsProof"]), _proofs(value["predicateProofs"]))
            if envelope.encode() == text:
                return envelope
        except (ValueError, TypeError, KeyError):
            raise refusal("the envelope has not the shape of one") from None
        except PredicateUnsupported as unsupported:
            raise ProofInvalid(details=unsupported.details) from None
        found = cls.decode(text)
        for name, there, asked in (
            ("issuer", found.presented.verification_method, presented.verification_method),
            ("schema", found.presented.schema.header, presented.schema.header),
            ("predicates", found.presented.predicates, presented.predicates),
            ("context", found.presented.context, presented.context),
        ):
            if there != asked:
                raise refusal(f"the proof is not bound to the expected {name}")
        raise refusal("the proof discloses something else than the predicates say")

    @classmethod
    def _parsed(cls, value: dict[str, Any]) -> Envelope:
        if value["suite"] != labels.SUITE or value["version"] != labels.ENVELOPE_VERSION:
            raise refusal("the envelope is of another suite or version")
        method = value["verificationMethod"]
        if not isinstance(method, str) or not 1 <= len(method) <= MAX_METHOD or not method.isprintable():
            raise ValueError("verificationMethod is a string")
        schema = Schema.from_header(base64url_decode(value["header"]))
        presented = PresentedProof(
            method, schema, _predicates(schema, value["predicates"]), Context.from_json(value["context"])
        )
        return cls(
            presented,
            _disclosed(schema, value["disclosed"]),
            base64url_decode(value["bbsProof"]),
            _proofs(value["predicateProofs"]),
        )


def _proofs(value: Any) -> tuple[bytes, ...]:
    if not isinstance(value, list) or len(value) > MAX_SUB_PROOFS:
        raise ValueError("predicateProofs is a list")
    return tuple(base64url_decode(proof) for proof in value)


def _predicates(schema: Schema, value: Any) -> tuple[Predicate, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_PREDICATES:
        raise ValueError("predicates is a list")
    predicates = []
    # Before any of them is read: a stranger may put sixteen large sets into one envelope.
    check_elements(sum(len(member["value"]) for member in value if isinstance(member["value"], list)))
    for member in value:
        if member.keys() != {"attributeName", "type", "value"}:
            raise ValueError("a predicate has exactly three members")
        name, kind = member["attributeName"], member["type"]
        if not isinstance(name, str) or not isinstance(kind, str):
            raise ValueError("attributeName and type are strings")
        predicates.append(Predicate.parse(schema, name, kind, member["value"]))
    return tuple(predicates)


def _disclosed(schema: Schema, value: Any) -> dict[int, bytes]:
    if not isinstance(value, list):
        raise ValueError("disclosed is a list")
    disclosed: dict[int, bytes] = {}
    previous = -1
    for slot, data in value:
        # Only hashed slots, so that a number is never shown by itself.
        if type(slot) is not int or not previous < slot < len(schema.attributes):
            raise refusal("disclosed slots are hashed ones and strictly ascending")
        disclosed[slot] = base64url_decode(data)
        previous = slot
    return disclosed
