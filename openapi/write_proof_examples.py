"""Writes the examples of delegated proofs: Aki has it proved that Hana is of age, with a token of hers.

    python -m openapi.write_proof_examples            writes examples/proofs.yaml and some of verification

Hana's credential is that of ``write_credential_examples``; her token is signed and the proof is one of identity-prover-bbs, both from
a fixed random source, so that they verify. Run it when the form of an answer changes, and review the difference.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from identity_prover_bbs import BbsProver
from identity_verification.handlers import checked
from identity_verification.use_cases.dry_run import DryRun, UsableDelegation

from identity_bbs.bls12381 import select
from identity_client import Signer, ibct
from identity_client.capability import Capability
from identity_codec import ed25519
from identity_codec.structs import plain
from identity_core.api.proofs import result
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.dids.changes import Create
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, IssuerKey, Statement, Witness, ZkProof, capability_digest
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, DelegatedProof
from identity_core.errors import ScopeMismatch
from openapi.joint_proof_examples import AT_HOME, QUESTION, JointTelling
from openapi.joint_proof_examples import CHALLENGE as JOINT_CHALLENGE
from openapi.story import START, Json, Story, dice
from openapi.write_credential_examples import CredentialTelling
from openapi.write_examples import write, write_into

VERIFICATION: Final = "checkDelegatedProof"
"""The operation whose examples are those of an extension."""
DELEGATION: Final = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
PROOF: Final = "4f0c1b8e-6f1a-4c52-9a0e-3d3a1d7c9b21"
AGE: Final = {"attributeName": "age", "type": "gte", "value": 18}
OVER_18: Final = ibct.action_text("age", "gte", pin=18)
SHOP: Final = "https://shop.example"
MISMATCH: Final = ScopeMismatch(details={"reason": "the action is about another attribute"})
CHALLENGE: Final = "vc1_qL9mJ4hR2sT6uV8wX0yZ1aB3cD5eF7gH9iJ0kL2mN4o"


class ProofTelling:
    """Hana, her credential, Aki."""

    def __init__(self) -> None:
        issued = CredentialTelling().issued()
        if issued.witness is None:
            raise ValueError("the example shows its values")
        self.credential: Credential = issued.credential
        self.witness: Witness = issued.witness
        self.hana = Signer(str(self.credential.holder), Story(dice("hana")).key().secret or "")
        aki = Story(dice("aki"))
        aki.record(Create((aki.key("Ed25519", "authentication"),), (aki.log_key,), (), (), None), START)
        self.aki = aki.did

    def tell(self) -> Json:
        """operationId → examples."""
        token = self.token()
        pinned = self.request(token, predicate={name: AGE[name] for name in ("attributeName", "type")})
        anchored = self.request(token, anchor=True, syncWaitMs=2000, challenge=CHALLENGE, domain=SHOP)
        pending = Anchor(AnchorStatus.PENDING, None, None, None)
        proof = self.proof(token)
        joint, jointly = JointTelling(), self.token(ibct.question_action(QUESTION))
        shown = joint.proof(jointly)
        several = ibct.proof_request(
            self.token(f"{OVER_18} zkp.prove.country.eq"),
            self.credential.id,
            values=[18, "CZ"],
            anchor=True,
            syncWaitMs=2000,
        )
        together = ibct.question_request(jointly, QUESTION, challenge=JOINT_CHALLENGE, domain=SHOP)
        at_home = ibct.question_request(
            self.token(ibct.question_action(AT_HOME)),
            AT_HOME,
            challenge=JOINT_CHALLENGE,
            domain=SHOP,
            holderConsent=joint.agreed_at_home(),
        )
        return {
            "generateDelegatedProof": {
                "request": {
                    "overEighteen": self.request(token),
                    "valueOfThePin": pinned,
                    "forAShopAndAnchored": anchored,
                },
                "201": {
                    "anchored": plain(result(DelegatedProof(DELEGATION, proof, pending))),
                    "notAnchored": plain(result(DelegatedProof(DELEGATION, proof, None))),
                },
            },
            "createDelegatedPresentation": {
                "request": {
                    "severalPredicates": several,
                    "twoCredentialsTogether": together,
                    "withTheWalletsConsent": at_home,
                    "consentedToInAdvance": ibct.question_request(
                        self.token(ibct.question_action(AT_HOME)),
                        AT_HOME,
                        challenge=JOINT_CHALLENGE,
                        domain=SHOP,
                        holderConsent=joint.agreed_at_home(ed25519.generate(dice("aki's key for hana")(32)).public),
                    ),
                },
                "201": {"ofTwoCredentials": plain(result(DelegatedProof(DELEGATION, shown, None)))},
            },
            VERIFICATION: {
                "request": {
                    "overEighteen": self.request(token),
                    "severalPredicates": several,
                    "twoCredentialsTogether": together,
                    "withTheWalletsConsent": at_home,
                },
                "200": {
                    "usable": plain(
                        checked(DryRun(None, UsableDelegation(DELEGATION, "active", 4, START + timedelta(days=30))))
                    ),
                    "anotherPredicate": plain(checked(DryRun(MISMATCH, None))),
                },
            },
        }

    def token(self, action: str = OVER_18) -> dict[str, str]:
        """Hana's, for one proof within the hour."""
        wish = ibct.IbctTemplate(self.aki, action, f"urn:uuid:{DELEGATION}", timedelta(hours=1))
        id = "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e"
        unsigned = ibct.build(self.hana.did, wish, now=START, id=id, nonce="lG5q8Zl3uT0yWm7r2vXc1A")
        return ibct.sign(unsigned, self.hana)

    def request(self, token: dict[str, str], **more: Any) -> Json:
        """The body that the token is for."""
        return ibct.proof_request(token, self.credential.id, value=18) | more

    def proof(self, token: dict[str, str]) -> ZkProof:
        """The answer to the request for the shop."""
        credential = self.credential
        predicate = Predicate.parse(credential.schema, "age", "gte", 18)
        issuer = IssuerKey(credential.verification_method, credential.issuer_public_key)
        nonce = CHALLENGE.encode()
        capability = Capability.parse(token, places=())
        context = Context(
            audience=SHOP,
            nonce=nonce,
            issued_at=START,
            expires_at=START + timedelta(days=1),
            proof_id=PROOF,
            capability=capability_digest(nonce, capability.encoded),
            agent=None,
        )
        prover = BbsProver(select(), dice("prover"))
        statement = Statement(issuer, credential.schema, (predicate,))
        proof = prover.prove(statement, self.witness, context=context)
        prover.verify(statement, proof, context=context, now=START)
        return proof


def main() -> None:
    """Writes the files."""
    told = ProofTelling().tell()
    write_into("verification", {VERIFICATION: told.pop(VERIFICATION)})
    write("proofs", told, "openapi.write_proof_examples")


if __name__ == "__main__":
    main()
