"""The people and requests of the design: Hana, the agents Aki, Bo and Cy, an issuer, a verifier, and what happened between them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import pytest

from identity_client import Client, ServiceError, Session, ibct
from tests.ui.visiting import Site, signer

SHOP: Final = "https://shop.example"
LABELS: Final = (
    ("hana", "aki", "Aki"),
    ("hana", "cy", "Cy"),
    ("hana", "city", "City registry"),
    ("city", "hana", "Hana Sato"),
    ("vera", "city", "City registry"),
)
"""Nicknames: who gives them, to whom."""

AGE: Final = {"attributeName": "age", "type": "gte", "value": 18}


class Scene:
    """A site with the people of the design. ``named`` has the parts of paths: DIDs, ids and links by their names."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.named: dict[str, str] = {}
        self.client = Session(site.url, api_key=site.api_key)
        self._make_issuer()
        self._give_names()
        self._issue()
        self._give_permissions()
        self._ask()

    def ends(self, **after: float) -> str:
        """Return the time after now, as the API takes it."""
        return (datetime.now(UTC) + timedelta(**after)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def act(self, name: str, operation: str, body: Any = None, **parameters: Any) -> Any:
        """Call an operation, signed by a person."""
        with Client(self.site.url).as_(signer(self.site, name)) as person:
            return person.call(operation, body, **parameters)

    def _make_issuer(self) -> None:
        key = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        options = {"additionalKeys": [key], "storeSecrets": True}
        made = self.client.call("POST", "/dids", body={"method": "ids", "options": options})
        (self.site.folder / "city.json").write_text(json.dumps(made))
        for name in ("hana", "aki", "bo", "cy", "vera", "city"):
            self.named[name] = self.site.did(name)

    def _give_names(self) -> None:
        service = {"id": "#name", "type": "ProfileName", "serviceEndpoint": "urn:identity-service:name:" + quote("Bo")}
        self.act("bo", "updateDid", {"operation": "addService", "service": service}, did=self.site.did("bo"))
        for owner, did, label in LABELS:
            self.act(owner, "setLabel", {"label": label}, named_did=self.site.did(did))

    def _issue(self) -> None:
        attributes = [
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
            {"name": "country", "type": "string"},
            {"name": "name", "type": "string"},
        ]
        schema = self.act("city", "createCredentialSchema", {"title": "Person", "attributes": attributes})
        self.named["type"] = schema["id"]
        for holder, days in (("hana", 365), ("bo", 12), ("cy", 300), ("aki", 365)):
            values = {"age": 37, "country": "Japan", "name": "Hana"}
            wish = {
                "issuerDid": self.site.did("city"),
                "holderDid": self.site.did(holder),
                "schemaId": self.named["type"],
            }
            wish |= {"attributes": values, "validUntil": self.ends(days=days)}
            made = self.act("city", "issueCredential", wish)
            self.named[f"credential-{holder}"] = made["id"]
        revoked = {"purpose": "revocation", "value": True, "reason": "Lost"}
        self.act("city", "setCredentialStatus", revoked, credential_id=self.named["credential-aki"])

    def let(self, agent: str, **terms: Any) -> str:
        """Return the id of a new permission by Hana."""
        body = {"holderDid": self.site.did("hana"), "agentDid": self.site.did(agent), "expiresAt": self.ends(days=30)}
        return str(self.act("hana", "createDelegation", body | terms)["id"])

    def prove(self, agent: str, delegation: str, value: int, **more: str) -> Any:
        """Return the proof that an agent obtains with an approval of Hana."""
        wish = ibct.IbctTemplate(self.site.did(agent), "zkp.prove.age.gte", delegation, timedelta(hours=1))
        approval = ibct.sign_token(signer(self.site, "hana"), wish)
        asked = ibct.proof_request(approval, self.named["credential-hana"], value=value)
        bearer = {"Authorization": f"Bearer {self.client.token(signer(self.site, agent))['access_token']}"}
        return self.client.call("POST", "/zkp/delegated-proofs", body=asked | more, headers=bearer)

    def _give_permissions(self) -> None:
        pin = {"predicates": [{"attributeName": "age", "type": "gte", "values": [18]}]}
        scope = {
            "schemaIds": [self.named["type"]],
            "credentialIds": [self.named["credential-hana"]],
            "verifiers": [SHOP],
        }
        used = self.let("aki", **pin, **scope, autonomyLevel=2, maxUses=3, purpose="Buying at the shop")
        free = {"actions": ["zkp.prove.age.gte", "zkp.prove.country.set_member"], "autonomyLevel": 4}
        guesses = self.let("bo", **free, maxRefusals=1, purpose="Booking travel")
        country = {"predicates": [{"attributeName": "country", "type": "eq", "values": ["Japan"]}]}
        later = {"notBefore": self.ends(days=2), "expiresAt": self.ends(days=6), "verifiers": ["https://bank.example"]}
        self.let("cy", **country, **later, autonomyLevel=2, maxUses=1)
        challenge = self.act("vera", "createVerifierChallenge", {"domain": SHOP})["challenge"]
        self.named["challenge"] = challenge
        made = self.prove("aki", used, 18, domain=SHOP, challenge=challenge)
        self.named["proof"] = made["proofId"]
        self.named["proof-text"] = json.dumps(made["proof"])
        asked = {"predicates": [AGE], "domain": SHOP, "challenge": challenge, "issuerDid": self.site.did("city")}
        self.act("vera", "verifyProof", made["proof"] | asked)
        with pytest.raises(ServiceError, match="PREDICATE_NOT_SATISFIED"):
            self.prove("bo", guesses, 65, domain="https://travel.example")

    def _ask(self) -> None:
        wish = {"holderDid": self.site.did("hana"), "predicates": [AGE], "domain": SHOP, "purpose": "To buy wine"}
        self.named["consent"] = self.act("bo", "createConsentRequest", wish)["id"]
        for reference in ("4710", "4711", "4712"):
            asked = {"domain": SHOP, "predicates": [AGE], "reference": reference, "purpose": "To buy wine"}
            self.named["request"] = self.act("vera", "createVerifierRequest", asked)["id"]
