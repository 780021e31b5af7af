"""Issuer substitution: Mallory lists Ivo's key, which every log shows, and Ivo's credentials verify as hers.

At every entry where a key joins a document, with no proof of possession, with those that are to be had without the key (copied from
Ivo's log, made for her own keys, a signature of Ivo's on a credential), and with bytes that are none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from identity_client.possession import proof_of_possession
from identity_codec import multibase
from identity_core.domain.dids import keys
from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Holder, Stranger, base64url, did_path, public

INVALID = (422, "INVALID_DOCUMENT")
BLS = "Bls12381G2Key2020"
ASKED = {"type": BLS, "purpose": ["assertionMethod"]}


def proofs_in_log(log: bytes) -> dict[str, str]:
    """The proofs in a log, by key: everybody can read them."""
    found: dict[str, str] = {}
    for line in log.splitlines():
        found |= json.loads(line)["proof"][0].get("possession", {})
    return found


@pytest.fixture(scope="module")
def ivo(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder(additionalKeys=[ASKED], storeSecrets=True)


@pytest.fixture(scope="module")
def mallory(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder(additionalKeys=[ASKED])


def his_key(ivo: Holder) -> str:
    return str(ivo.created["keys"]["assertionMethod"]["publicKey"])


def adding(key: str, proof: str | None) -> dict[str, Any]:
    method = {"type": BLS, "publicKeyMultibase": key} | ({} if proof is None else {"proofOfPossession": proof})
    return {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": ["assertionMethod"]}


def _add(stranger: Stranger, mallory: Holder, key: str, proof: str | None) -> Any:
    return mallory.act("update", adding(key, proof))


def _add_among_others(stranger: Stranger, mallory: Holder, key: str, proof: str | None) -> Any:
    return mallory.act(
        "update", {"operations": [{"operation": "setAlsoKnownAs", "alsoKnownAs": []}, adding(key, proof)]}
    )


def _rotate(stranger: Stranger, mallory: Holder, key: str, proof: str | None) -> Any:
    own = mallory.created["keys"]["assertionMethod"]["keyId"]
    body = {"oldKeyId": own, "newKeyType": BLS, "newPublicKeyMultibase": key}
    return mallory.act("rotate", body | ({} if proof is None else {"proofOfPossession": proof}))


def _recover(stranger: Stranger, mallory: Holder, key: str, proof: str | None) -> Any:
    return mallory.act("recover", {"newAuthenticationKey": adding(key, proof)["verificationMethod"]})


def _create(stranger: Stranger, mallory: Holder, key: str, proof: str | None) -> Any:
    own = {"type": "Ed25519", "publicKeyMultibase": public(SigningKey.generate()), "purpose": ["authentication"]}
    his = {"type": BLS, "publicKeyMultibase": key, "purpose": ["assertionMethod"]}
    return stranger.create({"method": "ids", "options": {"publicKeys": [own, his]}})


ENTRIES: list[Callable[[Stranger, Holder, str, str | None], Any]] = [
    _add, _add_among_others, _rotate, _recover, _create,
]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__.strip("_"))
def test_anothers_key_joins_nowhere(target: Target, ivo: Holder, mallory: Holder, entry: Any) -> None:
    own = proofs_in_log(mallory.log())
    copied = proofs_in_log(ivo.log())[his_key(ivo)]
    offers = (None, copied, *own.values(), base64url(bytes(80)), base64url(b"\xc0" + bytes(79)), "A", "!", "=" * 107)
    before = mallory.log()
    for offer in offers:
        answer = entry(target.stranger, mallory, his_key(ivo), offer)
        assert answer.outcome == INVALID, offer
        assert "ossession" in answer.json["error"]["message"]
    assert mallory.log() == before


def test_a_key_joins_with_its_proof_and_strangers_check_it(target: Target) -> None:
    """So that the refusals are for the proof. The proof is in the log and not in the document."""
    nina = target.stranger.holder()
    key = keys.generate(BLS, os.urandom)
    proof = proof_of_possession(nina.did, key.secret)
    assert nina.act("update", adding(key.public, proof)).status == 200
    other = keys.generate(BLS, os.urandom)
    body = {"oldKeyId": f"{nina.did}#{key.public}", "newKeyType": BLS, "newPublicKeyMultibase": other.public}
    answer = nina.act("rotate", body | {"proofOfPossession": proof_of_possession(nina.did, other.secret)})
    assert answer.status == 200, answer.body
    made = nina.act("rotate", {"oldKeyId": f"{nina.did}#{other.public}", "newKeyType": BLS})
    assert made.status == 200, made.body
    assert list(proofs_in_log(nina.log())) == [key.public, other.public, made.json["newKey"]["publicKey"]]
    assert verify(nina.log()).versions == 4
    assert b"ossession" not in nina.resolve().body


def test_a_proof_serves_one_did(target: Target) -> None:
    nina, other = target.stranger.holder(), target.stranger.holder()
    key = keys.generate(BLS, os.urandom)
    assert nina.act("update", adding(key.public, proof_of_possession(other.did, key.secret))).outcome == INVALID
    assert other.act("update", adding(key.public, proof_of_possession(other.did, key.secret))).status == 200


def test_a_proof_beside_a_key_of_another_type(target: Target, ivo: Holder) -> None:
    nina = target.stranger.holder()
    body = adding(public(SigningKey.generate()), proofs_in_log(ivo.log())[his_key(ivo)])
    body["verificationMethod"]["type"] = "Ed25519VerificationKey2020"
    assert nina.act("update", body).outcome == INVALID


def test_no_signature_on_a_credential_is_a_proof(target: Target, ivo: Holder, mallory: Holder) -> None:
    """Ivo signs whatever schema and values Mallory can have him sign; the tag of the header keeps it apart."""
    header = json.dumps(
        {"did": mallory.did, "id": f"{mallory.did}#{his_key(ivo)}", "publicKeyMultibase": his_key(ivo)},
        separators=(",", ":"),
    )
    operator = {"X-API-Key": target.stranger.api_key}
    texts = ("urn:IDENTITY-SERVICE-BBS-POP-V1:" + os.urandom(4).hex(), "IDENTITY-SERVICE-BBS-POP-V1:" + header)
    signatures = []
    for schema_id in texts:
        schema = {"id": schema_id, "attributes": [{"name": "publicKeyMultibase", "type": "string"}]}
        made = target.wire.call("POST", f"{PREFIX}/credential-schemas", schema, operator)
        claims = {"issuerDid": ivo.did, "holderDid": mallory.did, "schemaId": schema_id}
        issued = target.wire.call(
            "POST", f"{PREFIX}/credentials", claims | {"attributes": {"publicKeyMultibase": his_key(ivo)}}, operator
        )
        if made.status == issued.status == 201:
            record = target.wire.call("GET", f"{PREFIX}/credentials/{issued.json['id']}", None, reading(mallory))
            signatures.append(multibase.base64url_decode(record.json["credential"]["proof"]["proofValue"][1:]))
    assert signatures
    for signature in signatures:
        assert mallory.act("update", adding(his_key(ivo), base64url(signature))).outcome == INVALID


def reading(who: Holder) -> dict[str, str]:
    from tests.attack.stranger import header

    return {"Authorization": header(who.did, who.key.sign(who.challenge("read").encode()).signature)}


def test_a_did_key_is_its_key(target: Target, ivo: Holder) -> None:
    """A did:key takes no proof of possession, so that nothing can be substituted: the DID of Ivo's key names only Ivo's key."""
    his = {"type": BLS, "publicKeyMultibase": his_key(ivo), "purpose": ["assertionMethod"]}
    made = target.stranger.create({"method": "key", "options": {"publicKeys": [his]}})
    assert made.status == 201, made.body
    assert made.json["did"] == f"did:key:{his_key(ivo)}"
    assert target.wire.call("PATCH", did_path(made.json["did"]), {}).status == 401
