"""The cryptosuite bbs-2023 (VC Data Integrity BBS 1.0 §3.3, §3.4; candidate recommendation): base proofs, derived proofs, and
their verification. A document is one without its proof; ``proof`` is a proof's members without ``proofValue``.

What is signed are statements: the hash of the proof's own and of the mandatory ones as the header, and each other statement as a message.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from identity_bbs import disclosure, interface
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.encoding import octets_to_proof
from identity_bbs.suite import MAX_MESSAGES, BbsProofInvalid, BbsSignatureInvalid, Ciphersuite
from identity_codec.multibase import base64url_encode
from identity_securing_bbs2023.pointers import select
from identity_securing_bbs2023.proof_values import BaseProofValue, DerivedProofValue
from identity_securing_bbs2023.refused import Unverified, malformed
from identity_securing_bbs2023.statements import Labels, Statements, canonical_labels, lines, skolemized
from identity_securing_bbs2023.tree import Quad

Json = Mapping[str, Any]


class SignData(Struct, frozen=True):
    """The content of a base proof: the header, and each statement that is not mandatory."""

    header: bytes
    messages: list[bytes]


class Disclosure(Struct, frozen=True):
    """Verified statements, compacted with the contexts of the wheel: the credential, and the options of its proof."""

    document: dict[str, Any]
    proof: dict[str, Any]


class _Shuffled(Struct, frozen=True):
    """A document whose blank nodes have shuffled labels: its statements in order, the compact form to select from, and the labels."""

    lines: list[str]
    compact: Json
    labels: Labels

    def selected(self, statements: Statements, pointers: Sequence[str]) -> tuple[list[Quad], set[str]]:
        """Return the statements that the pointers select: as quads with the labels of the document, and as lines with shuffled ones."""
        if not pointers:
            return [], set()
        quads = statements.quads(statements.expand(select(self.compact, pointers), skolems=True))
        return quads, set(lines(quads, self.labels))


def sign_data(
    statements: Statements, document: Json, proof: Json, hmac_key: bytes, mandatory: Sequence[str]
) -> SignData:
    """Return the content that the issuer's key signs. Raises ``Malformed``."""
    shuffled = _shuffled(statements, document, hmac_key)
    _, chosen = shuffled.selected(statements, mandatory)
    return _sign_data(statements, document, proof, shuffled, chosen)


def derive(
    statements: Statements,
    ciphersuite: Ciphersuite,
    document: Json,
    proof: Json,
    base: BaseProofValue,
    pointers: Sequence[str],
    presentation_header: bytes = b"",
) -> tuple[dict[str, Any], DerivedProofValue]:
    """Return the document with what is mandatory or selected by the pointers, and the value of its proof. Raises ``Malformed``, and
    ``Unverified`` where the base proof is not one of this document."""
    shuffled = _shuffled(statements, document, base.hmac_key)
    _, mandatory = shuffled.selected(statements, base.mandatory)
    _, selective = shuffled.selected(statements, pointers)
    both = [*base.mandatory, *pointers]
    if not both:
        malformed("nothing is disclosed")
    revealed, combined = shuffled.selected(statements, both)
    signed = _sign_data(statements, document, proof, shuffled, mandatory)
    _check_signature(ciphersuite, base, signed)
    seen = [line for line in shuffled.lines if line in combined]
    messages = [line for line in shuffled.lines if line not in mandatory]
    disclosed = [index for index, line in enumerate(messages) if line in selective]
    value = DerivedProofValue(
        proof=disclosure.proof_gen(
            ciphersuite, base.public_key, base.signature, signed.header, presentation_header, signed.messages, disclosed
        ),
        labels={
            int(canonical.removeprefix("c14n")): int(shuffled.labels[name].removeprefix("b"))
            for name, canonical in canonical_labels(revealed).items()
        },
        mandatory=[index for index, line in enumerate(seen) if line in mandatory],
        selective=disclosed,
        presentation_header=presentation_header,
    )
    return select(document, both), value


def verify(
    statements: Statements,
    ciphersuite: Ciphersuite,
    document: Json,
    proof: Json,
    value: DerivedProofValue,
    public_key: bytes,
) -> Disclosure:
    """Return the content of the verified statements. Raises ``Malformed`` or ``Unverified``."""
    try:
        # Before the document is expanded, which takes the longest of all.
        octets_to_proof(ciphersuite, value.proof)
    except BbsProofInvalid:
        raise Unverified("the proof is malformed: it is not the bytes of a BBS proof") from None
    expanded = statements.expand(document)
    quads = statements.quads(expanded)
    canonical = canonical_labels(quads)
    try:
        numbers = {name: value.labels[int(label.removeprefix("c14n"))] for name, label in canonical.items()}
    except KeyError:
        raise Unverified("a blank node has no label in the proof") from None
    found = lines(quads, {name: f"b{number}" for name, number in numbers.items()})
    if value.mandatory and value.mandatory[-1] >= len(found):
        raise Unverified("the proof has an index of no statement")
    indexes = frozenset(value.mandatory)
    mandatory = [line for index, line in enumerate(found) if index in indexes]
    messages = [line.encode() for index, line in enumerate(found) if index not in indexes]
    if len(messages) != len(value.selective):
        raise Unverified("the proof discloses more or fewer statements than there are")
    name, options = _options(statements, document, proof)
    try:
        disclosure.proof_verify(
            ciphersuite,
            public_key,
            value.proof,
            _header(options, mandatory),
            value.presentation_header,
            messages,
            value.selective,
        )
    except (BbsProofInvalid, InvalidBlsKey):
        raise Unverified("the proof does not match") from None
    contexts = document["@context"]
    shown = statements.pinned(quads, expanded[0].get("@id"), contexts)
    return Disclosure(shown, statements.pinned(options, name, contexts))


def _check_signature(ciphersuite: Ciphersuite, base: BaseProofValue, signed: SignData) -> None:
    if signed.header != base.header:
        raise Unverified("the proof or a mandatory claim was changed")
    try:
        interface.verify(ciphersuite, base.public_key, base.signature, signed.header, signed.messages)
    except (BbsSignatureInvalid, InvalidBlsKey):
        raise Unverified("the signature does not match") from None


def _sign_data(
    statements: Statements, document: Json, proof: Json, shuffled: _Shuffled, mandatory: set[str]
) -> SignData:
    messages = [line.encode() for line in shuffled.lines if line not in mandatory]
    if len(messages) > MAX_MESSAGES:
        malformed(f"more than {MAX_MESSAGES} statements are not mandatory")
    chosen = [line for line in shuffled.lines if line in mandatory]
    _, options = _options(statements, document, proof)
    return SignData(_header(options, chosen), messages)


def _options(statements: Statements, document: Json, proof: Json) -> tuple[str | None, list[Quad]]:
    """Return the id of the proof, if it has one, and the statements of its options."""
    expanded = statements.expand({**proof, "@context": document["@context"]})
    return expanded[0].get("@id"), statements.quads(expanded)


def _header(quads: list[Quad], mandatory: Sequence[str]) -> bytes:
    """proofHash || mandatoryHash."""
    own = "".join(lines(quads, canonical_labels(quads)))
    return hashlib.sha256(own.encode()).digest() + hashlib.sha256("".join(mandatory).encode()).digest()


def _shuffled(statements: Statements, document: Json, hmac_key: bytes) -> _Shuffled:
    expanded = skolemized(statements.expand(document), _names())
    quads = statements.quads(expanded)
    canonical = canonical_labels(quads)
    hidden = {name: _hidden(hmac_key, label) for name, label in canonical.items()}
    order = {label: f"b{number}" for number, label in enumerate(sorted(hidden.values()))}
    labels = {name: order[label] for name, label in hidden.items()}
    return _Shuffled(lines(quads, labels), statements.compact(expanded, document["@context"]), labels)


def _hidden(hmac_key: bytes, label: str) -> str:
    return "u" + base64url_encode(hmac.digest(hmac_key, label.encode(), "sha256"))


def _names() -> Iterator[str]:
    """Names of blank nodes that no document can have guessed."""
    random, number = secrets.token_hex(16), 0
    while True:
        yield f"_{random}_{number}"
        number += 1
