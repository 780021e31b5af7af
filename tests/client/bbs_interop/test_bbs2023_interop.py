"""Digital Bazaar's bbs-2023 takes ours, and ours takes theirs: base proofs that they derive from, and derived proofs both ways. What they
derive, a served instance verifies by VCALM, and they by the key that it resolves.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from identity_kit.conformance.securing_keys import KitIssuer
from identity_securing_bbs2023 import Bbs2023
from identity_securing_bbs2023.statements import documents

from identity_codec import multikey
from identity_core.errors import ProofInvalid
from identity_core.ports.securing import UnsecuredCredential
from tests import securing
from tests.attack.stranger import GENEROUS, Stranger, Wire
from tests.servers import local_server

ISSUER = "did:web:issuer.example"
CLAIMS = {
    "@context": ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/undefined-terms/v2"],
    "type": ["VerifiableCredential"],
    "issuer": {"id": ISSUER, "name": {"@value": "Rowers' club", "@language": "en", "@direction": "ltr"}},
    "validFrom": "2026-01-01T00:00:00Z",
    "credentialSubject": {
        "id": "did:web:hana.example",
        # Without "_:", which their relabelling replaces within texts too.
        "name": 'Nováková "🚣"\n<urn:x> .',
        "age": 41,
        "ratio": 0.1,
        "large": 1e30,
        "member": True,
        "boats": [{"label": "Vltava", "seats": [1, 2]}, {"label": "Labe"}, {"label": "Labe"}],
    },
}
POINTERS = [
    "/credentialSubject/age",
    "/credentialSubject/boats/1",
    "/credentialSubject/name",
    "/credentialSubject/large",
]


def test_each_takes_what_the_other_made(independent: Callable[[str, Any], Any]) -> None:
    key, other = (KitIssuer(multikey.BLS12381G2, bytes([seed]) * 32) for seed in (1, 2))
    ours = Bbs2023()
    draft = ours.draft(
        UnsecuredCredential(CLAIMS, f"{ISSUER}#key-2", key.public_key, datetime(2026, 1, 1, tzinfo=UTC), ("/issuer",))
    )
    issued = ours.secure(draft, asyncio.run(key.sign(draft)))
    shown = ours.derive(issued, key.public_key, pointers=POINTERS)
    assert isinstance(shown, dict)
    tampered = json.loads(json.dumps(shown).replace('"age": 41', '"age": 42'))
    assert tampered != shown
    cases = [
        {"credential": issued, "publicKey": key.public_key, "pointers": POINTERS},
        {"credential": shown, "publicKey": key.public_key},
        {"credential": shown, "publicKey": other.public_key},
        {"credential": tampered, "publicKey": key.public_key},
    ]
    theirs, *verified = independent("bbs2023.mjs", {"contexts": documents(), "cases": cases})
    assert verified == [True, False, False]
    disclosed = ours.verify(theirs, key.public_key)
    assert disclosed.claims["credentialSubject"] == ours.verify(shown, key.public_key).claims["credentialSubject"]
    with pytest.raises(ProofInvalid):
        ours.verify(theirs, other.public_key)


def test_foreign_derived_proof_is_verified_by_vcalm(independent: Callable[[str, Any], Any]) -> None:
    """The issuer's key comes from its DID document."""
    with local_server(environment=GENEROUS) as server:
        wire = Wire(server.url)
        bls = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        issuer = Stranger(wire, server.api_key).holder(additionalKeys=[bls])
        key = issuer.created["keys"]["assertionMethod"]
        issued = securing.issued(CLAIMS | {"issuer": issuer.did}, key, mandatory=["/issuer"])
        case = {"credential": issued, "publicKey": key["publicKey"], "pointers": POINTERS}
        (theirs,) = independent("bbs2023.mjs", {"contexts": documents(), "cases": [case]})

        def verdict(credential: Any) -> tuple[bool, list[str], Any]:
            body = {"verifiableCredential": credential, "options": {"returnCredential": True, "checks": ["proof"]}}
            answer = wire.call("POST", "/vcalm/credentials/verify", body)
            assert answer.status == 200, answer.body
            said = answer.json
            return said["verified"], [one["title"] for one in said["problemDetails"]], said.get("credential")

        verified, problems, shown = verdict(theirs)
        assert (verified, problems) == (True, [])
        assert shown["credentialSubject"]["age"] == 41
        assert "member" not in shown["credentialSubject"]
        changed = json.loads(json.dumps(theirs).replace('"age": 41', '"age": 42'))
        assert verdict(changed)[:2] == (False, ["PROOF_VERIFICATION_ERROR"])
        # And they verify it themselves, by the issuer's key as the service resolves it.
        resolver = f"{server.url}/1.0/identifiers/"
        other = Stranger(wire, server.api_key).holder(additionalKeys=[bls]).created["keys"]["assertionMethod"]["keyId"]
        moved = json.loads(json.dumps(theirs).replace(key["keyId"], other))
        cases = [{"credential": one, "resolver": resolver} for one in (theirs, changed, moved)]
        assert independent("bbs2023.mjs", {"contexts": documents(), "cases": cases}) == [True, False, False]
        # What the issuer signed is not a presentation.
        assert verdict(issued)[0] is False
        wire.close()
