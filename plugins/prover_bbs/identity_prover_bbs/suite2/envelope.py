"""The presentation as it travels: base64url of one canonical JSON text (PROTOCOL-2.md §8).

Reading is strict: caps before anything else, no duplicate or unknown members, base64url in its one form; what was read is written anew
and compared, so that a proof has exactly one text. Issuers' keys are not in it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from identity_bound_credentials.domain.bound_credential import BoundHeader
from identity_bound_credentials.domain.presentation import ConsentTerms, Cover, PresentationContext
from identity_bound_credentials.domain.question import MAX_CREDENTIALS, Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from msgspec import Struct

from identity_bbs.bls12381.backend import G1_OCTETS
from identity_codec import jcs
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden, replace
from identity_core.domain.proofs.proof import Context
from identity_prover_bbs.envelope_text import decode_text, encode_text, refusal
from identity_prover_bbs.suite2 import labels

_MEMBERS: Final = frozenset(
    [
        "agent",
        "argument",
        "consent",
        "context",
        "day",
        "disclosed",
        "parts",
        "pseudonym",
        "question",
        "sets",
        "status",
        "suite",
        "version",
    ]
)


class PresentationEnvelope(Hidden, Struct, frozen=True):
    """A parsed envelope. ``epochs`` and ``gap_proofs`` are aligned to the credentials where status is asked; ``disclosed`` are (part, slot,
    bytes)."""

    question: Question
    day: int | None
    epochs: tuple[StatusEpoch, ...]
    bound: PresentationContext
    disclosed: tuple[tuple[int, int, bytes], ...]
    credential_proofs: tuple[bytes, ...]
    gap_proofs: tuple[bytes, ...]
    argument: bytes
    sets: tuple[bytes, ...]
    pseudonym: bytes | None = None
    consent: bytes | None = None
    agent_signature: bytes | None = None

    @property
    def canonical(self) -> bytes:
        """The JCS of the envelope."""
        terms, bound = self.bound.consent, self.bound
        agent: dict[str, JsonValue] | None = None
        if bound.agent_key is not None:
            agent = {"key": base64url_encode(bound.agent_key), "signature": _text(self.agent_signature)}
        consent: dict[str, JsonValue] | None = None
        if terms is not None:
            consent = {
                "cover": int(terms.cover),
                "notAfter": terms.not_after,
                "notBefore": terms.not_before,
                "value": _text(self.consent),
            }
        credentials = zip(self.question.credentials, self.credential_proofs, strict=True)
        gaps = zip(self.epochs, self.gap_proofs, strict=True)
        return jcs.canonicalize(
            {
                "agent": agent,
                "argument": base64url_encode(self.argument),
                "consent": consent,
                "context": bound.context.json,
                "day": self.day,
                "disclosed": [[part, slot, base64url_encode(data)] for part, slot, data in self.disclosed],
                "parts": [_part(credential.header.encoded, proof) for credential, proof in credentials],
                "pseudonym": _text(self.pseudonym),
                "question": self.question.json,
                "sets": [base64url_encode(proof) for proof in self.sets],
                "status": [_part(epoch.header, proof) for epoch, proof in gaps],
                "suite": labels.SUITE,
                "version": labels.ENVELOPE_VERSION,
            }
        )

    @property
    def shown_pseudonym(self) -> bytes | None:
        """The point of the pseudonym, which stands in a consent behind those of the credentials; None where none was asked for, or where
        what is there has not the length of one."""
        found = None if self.question.pseudonym is None else self.pseudonym
        if self.question.pseudonym is not None and self.consent is not None:
            count = len(self.question.credentials)
            found = self.consent[G1_OCTETS * count : G1_OCTETS * (count + 1)]
        return found if found is not None and len(found) == G1_OCTETS else None

    def encode(self) -> str:
        """Return the text. Raises ``PredicateUnsupported`` when it is longer than a verifier reads."""
        return encode_text(self.canonical)

    @property
    def agent_message(self) -> bytes:
        """Return the message that the agent signs: audience, challenge, and all of the envelope but the signature."""
        unsigned = replace(self, agent_signature=None).canonical
        return self.bound.agent_message(sha256(unsigned).digest())

    @classmethod
    def decode(cls, text: str) -> PresentationEnvelope:
        """Return the content of an untrusted envelope. Raises ``ProofInvalid``; no curve operation is done."""
        return decode_text(text, _MEMBERS, cls._parsed)

    @classmethod
    def _parsed(cls, value: dict[str, Any]) -> PresentationEnvelope:
        if value["suite"] != labels.SUITE or value["version"] != labels.ENVELOPE_VERSION:
            raise refusal("the envelope is of another suite or version")
        parts, status, sets = value["parts"], value["status"], value["sets"]
        if max(len(parts), len(status)) > MAX_CREDENTIALS:
            raise ValueError("there are too many parts")
        headers = [BoundHeader.from_octets(base64url_decode(part["header"])) for part in parts]
        agent, consent = value["agent"], value["consent"]
        terms = consent and ConsentTerms(Cover(consent["cover"]), consent["notBefore"], consent["notAfter"])
        bound = PresentationContext(
            Context.from_json(value["context"]), agent and base64url_decode(agent["key"]), terms
        )
        return cls(
            Question.from_json(value["question"], headers),
            None if value["day"] is None else _number(value["day"]),
            tuple(StatusEpoch.from_header(base64url_decode(part["header"])) for part in status),
            bound,
            tuple((_number(part), _number(slot), base64url_decode(data)) for part, slot, data in value["disclosed"]),
            tuple(base64url_decode(part["proof"]) for part in parts),
            tuple(base64url_decode(part["proof"]) for part in status),
            base64url_decode(value["argument"]),
            tuple(map(base64url_decode, sets)),
            _octets(value["pseudonym"]),
            None if consent is None else base64url_decode(consent["value"]),
            None if agent is None else _octets(agent["signature"]),
        )


def _part(header: bytes, proof: bytes) -> dict[str, JsonValue]:
    return {"header": base64url_encode(header), "proof": base64url_encode(proof)}


def _number(value: Any) -> int:
    # True is 1 to Python, and would be a second text of one proof.
    if type(value) is not int:
        raise TypeError("a number is an integer")
    return value


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64url_encode(data)


def _octets(text: str | None) -> bytes | None:
    return None if text is None else base64url_decode(text)
