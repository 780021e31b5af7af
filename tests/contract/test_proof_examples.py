"""The examples of delegated proofs are fresh, and as real as they look: the token verifies, and so does the proof."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from identity_bound_credentials.checks import BoundChecks
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import ProofVerification
from identity_verification.expectation import expectation_of
from identity_verification.offline import GivenKeys, check_offline
from identity_verification.wire import VerifyProofRequest

from identity_bbs.bls12381 import select
from identity_client import ibct
from identity_client.capability import Capability
from identity_codec import multikey
from identity_codec.multibase import base64url_encode
from identity_codec.structs import convert
from identity_core.domain.dids import state as history
from identity_core.domain.proofs.proof import capability_digest
from openapi.did_examples import Telling
from openapi.story import START
from openapi.write_examples import EXAMPLES, path_of
from openapi.write_proof_examples import VERIFICATION

bbs = pytest.importorskip("identity_prover_bbs")
MEMBERS = ("proof", "publicSignals", "predicateType", "proofId")


@pytest.fixture(scope="module")
def written() -> Any:
    checks = yaml.safe_load(path_of("verification").read_text(encoding="utf-8"))
    own = yaml.safe_load((EXAMPLES / "proofs.yaml").read_text(encoding="utf-8"))
    return own | {VERIFICATION: checks[VERIFICATION]}


def test_the_examples_are_those_that_the_script_writes(written: Any) -> None:
    from openapi.write_proof_examples import ProofTelling

    assert written == ProofTelling().tell(), "run python -m openapi.write_proof_examples"


def test_the_token_is_one_of_hanas_key(written: Any) -> None:
    hana = Telling()
    state = hana.create().state
    keys = [multikey.decode_public(key)[1] for key in history.authentication_keys(state, START)]
    shown = [written[name]["request"] for name in ("generateDelegatedProof", "createDelegatedPresentation")]
    for request in (one for each in shown for one in each.values()):
        capability = ibct.verify(request["ibct"], keys, START)
        assert capability.invoker == request["holderDid"] == str(state.did)


def test_the_proof_is_bound_to_the_token_of_the_request(written: Any) -> None:
    shown = written["generateDelegatedProof"]
    request = shown["request"]["forAShopAndAnchored"]
    presented = bbs.BbsProver(select(), bytes).read(shown["201"]["anchored"]["proof"]["proof"])
    token = Capability.parse(request["ibct"], places=())
    nonce = request["challenge"].encode()
    assert presented.context.nonce == nonce
    assert presented.context.audience == request["domain"]
    assert presented.context.capability == capability_digest(nonce, token.encoded)


def test_verified_statement_is_the_proven_one(written: Any) -> None:
    proven = written["generateDelegatedProof"]["201"]["anchored"]["proof"]
    request = written["generateDelegatedProof"]["request"]["forAShopAndAnchored"]
    checks = yaml.safe_load(path_of("verification").read_text(encoding="utf-8"))
    asked, record = checks["verifyProof"]["request"]["whatTheVerifierAsked"], checks["getProof"]["200"]["anchored"]
    assert {name: asked[name] for name in proven} == proven == record["proof"]
    same = ("predicate", "challenge", "domain")
    assert (
        {name: asked[name] for name in same}
        == {name: request[name] for name in same}
        == {name: record[name] for name in same}
    )
    parties = ("holderDid", "agentDid", "credentialId")
    assert {name: record[name] for name in parties} == {name: request[name] for name in parties}
    assert proven["publicSignals"][1].startswith(asked["issuerDid"] + "#")
    assert proven["publicSignals"][2] == asked["schemaId"]


def test_proof_of_two_credentials_says_what_its_verifier_asked() -> None:
    """Under the key that the issuer's verification method is named after."""
    checks = yaml.safe_load(path_of("verification").read_text(encoding="utf-8"))
    asked = checks["verifyProof"]["request"]["ofTwoCredentialsTogether"]
    method = asked["publicSignals"][1]
    keys = GivenKeys({method: multikey.decode_public(method.partition("#")[2])[1]}.__getitem__)
    prover = bbs.BbsProver(select(), bytes)

    def verified(**change: Any) -> ProofVerification:
        request = convert(asked | change, VerifyProofRequest)
        received = ReceivedProof.parse({name: (asked | change)[name] for name in MEMBERS})
        suites, expectation = (BoundChecks(),), expectation_of(request)
        return check_offline(received, prover, keys, suites=suites, expectation=expectation, now=START)

    assert (verified().verdict, verified().unchecked) == ("valid", ("maxAge", "revocation", "schemaHeader"))
    answer = checks["verifyProof"]["200"]["ofTwoCredentialsTogether"]["question"]
    presented: Any = verified().presented
    assert answer["pseudonymValue"] == base64url_encode(presented.pseudonym)
    for change in ({"same": []}, {"either": []}, {"pseudonym": "https://shop.example"}, {"challenge": "0" * 16}):
        assert verified(**change).verdict == "invalid"
    proof = asked["proof"]
    for place in range(0, len(proof), len(proof) // 8):
        other = proof[:place] + ("A" if proof[place] != "A" else "B") + proof[place + 1 :]
        assert verified(proof=other).verdict == "invalid"
