"""The vectors of suite 2 (PROTOCOL-2.md §10): every intermediate value of an issue, a consent and eight presentations.

    python plugins/prover_bbs/tests/presentation_vectors.py

writes ``presentation_vectors.json`` anew. It never has to: a change of a value is a change of the protocol, and needs another suite.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from identity_kit.conformance.prover_cases import HANA
from identity_prover_bbs.suite2 import PresentationEnvelope, prover
from identity_prover_bbs.suite2.relation import PresentationRelation, context_octets

from identity_bbs import blind
from identity_bbs.bls12381 import Curve
from identity_bbs.encoding import mixed_messages_to_scalars
from identity_bbs.frames import scalar
from identity_bbs.openings import PSEUDONYM_DST
from identity_bbs.suite import ciphersuite
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from tests.curves import curve_on
from tests.presenting import IVO, PLAIN, Holder, Issuer, Scene, ask

FILE = Path(__file__).with_name("presentation_vectors.json")
SMALL = Schema(
    "https://schemas.example/small/1",
    (
        Attribute("country", AttributeType.STRING),
        Attribute("city", AttributeType.STRING),
        Attribute("score", AttributeType.INTEGER, low=0, high=255),
    ),
)
VALUES = {name: HANA[name] for name in ("country", "score")} | {"city": "Kōbe"}
CASES = {
    "plain": ([], {"holder": PLAIN, "validity": False}),
    "valid": ([("score", "gte", 200)], {"holder": PLAIN}),
    "consented": ([("score", "gte", 200)], {"status": True}),
    "pseudonym": ([("score", "eq", 211)], {"pseudonym": "https://shop.example/accounts", "validity": False}),
    "either": (
        [("score", "lte", 9), ("score", "gte", 200), ("country", "eq", "DE")],
        {"either": ((0, 1, 2),), "validity": False},
    ),
    "neq": ([("country", "neq", "DE"), ("score", "neq", 7)], {"holder": PLAIN, "pseudonym": "shop", "validity": False}),
    "set": ([("country", "set_member", ["DE", "JP"]), ("city", "eq", "Kōbe")], {"validity": False}),
    "two": ([("score", "lt", 250)], {"holder": PLAIN, "same": (((0, "country"), (1, "country")),), "status": True}),
}


def scene(name: str, backend: str = "pyblst") -> Scene:
    """One case, with its credentials issued anew."""
    curve = curve_on(backend)
    issuer, holder = Issuer(curve=curve), Holder(curve=curve)
    header = issuer.header(SMALL)
    predicates, options = CASES[name]
    parts = [(header, *predicates)] + ([(header,)] if name == "two" else [])
    held = tuple(
        holder.obtain(issuer, header=header, values=VALUES, handle=3_000_000_000 + n) for n in range(len(parts))
    )
    return Scene(ask(*parts, **options), held, holder, (issuer,), curve=curve, seed=42)


def presentation(name: str, backend: str = "pyblst") -> dict[str, str]:
    """Its values in the order in which they are computed."""
    asked = scene(name, backend)
    seen: dict[str, bytes | int] = {}

    def noted(function, take):
        def call(*given):
            result = function(*given)
            take(given, result)
            return result

        return call

    with (
        patch.object(
            prover, "first_challenge", noted(prover.first_challenge, lambda g, y: seen.update(first=g[0], y=y))
        ),
        patch.object(
            prover, "presentation_header", noted(prover.presentation_header, lambda g, ph: seen.update(ph=ph))
        ),
        patch.object(prover, "calculate_challenge", noted(prover.calculate_challenge, lambda g, c: seen.update(c=c))),
    ):
        text = asked.prove()
    assert asked.verdict(text) is True
    relation = PresentationRelation.from_statement(asked.statement)
    envelope = PresentationEnvelope.decode(text)
    assert (int(seen["c"]), bytes(seen["ph"])[:8]) == (
        int.from_bytes(envelope.credential_proofs[0][-32:], "big"),
        bytes(seen["ph"])[:8],
    )
    return {
        "questionDigest": asked.question.digest.hex(),
        "statement": relation.encoded.hex(),
        "context": context_octets(asked.bound).hex(),
        "first": bytes(seen["first"]).hex(),
        "firstDigest": sha256(bytes(seen["first"])).hexdigest(),
        "y": scalar(int(seen["y"])).hex(),
        "presentationHeader": bytes(seen["ph"]).hex(),
        "c": scalar(int(seen["c"])).hex(),
        "proof": text,
    }


def masked_points(curve: Curve, opening: bytes, base: bytes | None) -> list[str]:
    """R, and R_N where there is a base, of an opening of one credential: what its c is hashed from. Equation (3.1)."""
    own = ciphersuite(curve)
    points = [curve.octets_to_g1(opening[at : at + 48]) for at in range(0, len(opening) - 96, 48)]
    z_0, z_1, c = (int.from_bytes(opening[at : at + 32], "big") for at in range(len(opening) - 96, len(opening), 32))
    masked = [own.combine(0, 0, (0, 1), (z_0, z_1), also=[(points[0], -c)])]
    if base is not None:
        masked.append(curve.g1_msm([curve.hash_to_g1(base, PSEUDONYM_DST), points[1]], [z_0, -c]))
    return [curve.g1_to_octets(point).hex() for point in masked]


def issue(backend: str = "pyblst") -> dict[str, object]:
    """The blind issue of the first credential, a gap, and the consent of one case."""
    asked = scene("consented", backend)
    held, issuer, holder = asked.held[0], asked.issuers[0], asked.holder
    request = blind.IssueRequest(held.header.method, held.header.encoded, holder.did, b"n" * 32)
    known = mixed_messages_to_scalars(held.header.known_messages(VALUES, held.witness.particulars))
    witness = asked.witness
    assert witness.consent is not None
    return {
        "issuerSecret": issuer.secret.hex(),
        "issuerPublic": issuer.public.hex(),
        "issuer": IVO,
        "header": held.header.encoded.decode(),
        "values": VALUES,
        "meta": held.witness.particulars.meta(held.header.status).decode(),
        "messages": [scalar(message).hex() for message in known],
        "holderSecret": scalar(holder.secret.scalar).hex(),
        "holderDid": holder.did,
        "nonce": (b"n" * 32).hex(),
        "blind": scalar(held.blind).hex(),
        "commitment": held.commitment.hex(),
        "commitmentMasked": masked_points(asked.curve, held.commitment, blind.issuer_pseudonym_message(IVO)),
        "holderMessage": blind.holder_message(request, f"{holder.did}#key", held.commitment).hex(),
        "signature": held.witness.signature.hex(),
        "gapHeader": issuer.epoch().header.decode(),
        "gap": [witness.gaps[0].low, witness.gaps[0].high, witness.gaps[0].signature.hex()],
        "consentMessage": asked.terms.message(asked.question, asked.context, None).hex(),
        "consent": witness.consent.encoded.hex(),
        "consentMasked": masked_points(asked.curve, witness.consent.encoded, None),
        "rho": scalar(witness.consent.rhos[0]).hex(),
    }


def main() -> None:
    """Writes the file."""
    vectors = {"issue": issue(), "presentations": {name: presentation(name) for name in CASES}}
    FILE.write_text(json.dumps(vectors, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
