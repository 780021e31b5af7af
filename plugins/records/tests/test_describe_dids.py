"""Websites of DIDs: real HTTPS on loopback, and credentials that link too little."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_did_web.fetch import read_object
from identity_records.linked_domains import PATH, is_linked
from identity_records.use_cases.names import DescribeDids, claim_of
from identity_records.wire import DescribeDidsRequest

from identity_client.data_integrity import proof_input
from identity_codec import ed25519, multibase, multikey
from identity_codec.jose import signing_input
from identity_codec.times import printed
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import ServiceEntry
from identity_core.errors import DidNotFound
from plugins.did_web.tests.web_host import NAME, Clock, hosting, http, method

DID = "did:ids:QmSQdE7kRbgMzsSxPyKgUq7tgwJKmocZUDn5UyUHVFAY94"
OTHER = "did:ids:QmV6sao3juytzeHcFrNrP4apWMCzNdsVmQwq7dWGDfVBFb"
SHOP = "https://shop.example"
SEED = bytes(range(32))
KEY = multikey.encode_public(multikey.ED25519, ed25519.generate(SEED).public)
KEY_ID = f"{DID}#{KEY}"
NOW = Clock().now()
TOMORROW = printed(NOW + timedelta(days=1))


def document(relationship: str = "assertionMethod", **method_members: str) -> dict[str, Any]:
    key = {"id": KEY_ID, "type": "Multikey", "controller": DID, "publicKeyMultibase": KEY} | method_members
    return {"id": DID, "verificationMethod": [key], relationship: [KEY_ID]}


def subject(origin: str = SHOP, did: str = DID, kind: str = "DomainLinkageCredential") -> dict[str, Any]:
    return {"type": ["VerifiableCredential", kind], "credentialSubject": {"id": did, "origin": origin}}


def jwt(vc: dict[str, Any], **claims: Any) -> str:
    ends = int((NOW + timedelta(days=1)).timestamp())
    text = signing_input({"alg": "EdDSA", "kid": KEY_ID}, {"iss": DID, "sub": DID, "exp": ends, "vc": vc} | claims)
    return f"{text}.{multibase.base64url_encode(ed25519.sign(SEED, text.encode()))}"


def sign_credential(credential: dict[str, Any], **options: Any) -> dict[str, Any]:
    unsigned = {"issuer": DID, "validUntil": printed(NOW + timedelta(days=1))} | credential
    config = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "proofPurpose": "assertionMethod",
        "verificationMethod": KEY_ID,
    } | options
    value = multibase.base58btc_encode(ed25519.sign(SEED, proof_input(config, unsigned)))
    return unsigned | {"proof": config | {"proofValue": value}}


@pytest.mark.parametrize("credential", [jwt(subject()), sign_credential(subject())], ids=["jwt", "data integrity"])
def test_credential_links_website_and_did(credential: Any) -> None:
    assert is_linked({"linked_dids": ["no.jwt", 7, credential]}, SHOP, document(), NOW)


LESS: dict[str, Callable[[], Any]] = {
    "JWT about another origin": lambda: jwt(subject(origin="https://shop.example.evil")),
    "JWT about another DID": lambda: jwt(subject(did=OTHER)),
    "JWT of another type": lambda: jwt(subject(kind="Other")),
    "JWT by another issuer": lambda: jwt(subject(), iss=OTHER),
    "JWT about another subject": lambda: jwt(subject(), sub=OTHER),
    "JWT that has expired": lambda: jwt(subject(), exp=int(NOW.timestamp())),
    "JWT without an end": lambda: jwt(subject(), exp=None),
    "JWT whose credential has expired": lambda: jwt(subject() | {"expirationDate": printed(NOW)}),
    "JWT whose credential is not valid yet": lambda: jwt(subject() | {"issuanceDate": TOMORROW}),
    "JWT whose type contains the name": lambda: jwt(subject() | {"type": "NoDomainLinkageCredential"}),
    "JWT with a changed signature": lambda: jwt(subject())[:-8] + "AAAAAAAA",
    "JWT that is too long": lambda: jwt(subject(), more="x" * 20_000),
    "credential about another origin": lambda: sign_credential(subject(origin="http://shop.example")),
    "credential about another DID": lambda: sign_credential(subject(did=OTHER)),
    "credential by another issuer": lambda: sign_credential(subject() | {"issuer": OTHER}),
    "credential that has expired": lambda: sign_credential(subject() | {"validUntil": printed(NOW)}),
    "credential with an earlier second end": lambda: sign_credential(subject() | {"expirationDate": printed(NOW)}),
    "credential without an end": lambda: sign_credential(subject() | {"validUntil": None}),
    "credential that is not valid yet": lambda: sign_credential(subject() | {"validFrom": TOMORROW}),
    "credential with a later issuance": lambda: sign_credential(subject() | {"issuanceDate": TOMORROW}),
    "credential whose type contains the name": lambda: sign_credential(
        subject() | {"type": "NoDomainLinkageCredential"}
    ),
    "credential for another purpose": lambda: sign_credential(subject(), proofPurpose="authentication"),
    "credential of another suite": lambda: sign_credential(subject(), cryptosuite="eddsa-rdfc-2022"),
    "changed credential": lambda: sign_credential(subject()) | {"name": "more"},
    "credential without a proof": lambda: subject() | {"issuer": DID},
    "null": lambda: None,
    "nested lists": lambda: [[[]]],
}


@pytest.mark.parametrize("name", LESS)
def test_credential_that_states_less_links_nothing(name: str) -> None:
    assert not is_linked({"linked_dids": [LESS[name]()]}, SHOP, document(), NOW)


@pytest.mark.parametrize(
    "known", [document("authentication"), document(revoked=printed(NOW)), document(controller=OTHER)]
)
def test_key_that_may_not_assert_links_nothing(known: dict[str, Any]) -> None:
    assert not is_linked({"linked_dids": [jwt(subject()), sign_credential(subject())]}, SHOP, known, NOW)


@pytest.mark.parametrize("configuration", [{}, {"linked_dids": None}, {"linked_dids": {"0": jwt(subject())}}])
def test_configuration_of_another_form_links_nothing(configuration: dict[str, Any]) -> None:
    assert not is_linked(configuration, SHOP, document(), NOW)


def test_only_the_first_credentials_are_tried() -> None:
    assert not is_linked({"linked_dids": ["a.b.c"] * 16 + [jwt(subject())]}, SHOP, document(), NOW)


@pytest.mark.parametrize(
    ("endpoint", "claim"),
    [
        ("urn:identity-service:name:Corner%20Shop", "Corner Shop"),
        ("urn:identity-service:name:L%C3%A4den", "Läden"),
        ("urn:identity-service:name:", None),
        ("urn:identity-service:name:%E2%80%AEpohS", None),
        ("urn:identity-service:name:%20Shop", None),
        ("urn:identity-service:name:" + "a" * 81, None),
        ("urn:identity-service:name:%E3%85%A4", None),
        ("urn:identity-service:name:Sh%CD%8Fop", None),
        ("urn:identity-service:name:%E2%A0%80", None),
        ("urn:identity-service:name:%FF", None),
        ("urn:identity-service:name:Shop%E2%80%9D", None),
        ("urn:identity-service:name:a" + "%CC%80" * 79, None),
        ("urn:identity-service:name:C%CC%A7%CC%81", "C\u0327\u0301"),
        ("urn:identity-service:id:Shop", None),
        ("https://shop.example", None),
    ],
)
def test_claim_is_a_short_printable_text(endpoint: str, claim: str | None) -> None:
    assert claim_of(endpoint) == claim


@dataclass
class Reader:
    """One DID with its services; every other one is unknown."""

    clock: Clock
    services: list[ServiceEntry] = field(default_factory=list)

    def parse(self, text: str) -> Did:
        return Did.parse(text)

    async def active(self, did: Did) -> Any:
        if str(did) != DID:
            raise DidNotFound
        found = SimpleNamespace(services=self.services, to_json=document)
        return SimpleNamespace(head=SimpleNamespace(state=SimpleNamespace(document=found)))


async def describe(described: DescribeDids, *dids: str) -> list[tuple[str, str | None, str | None]]:
    found = await described(DescribeDidsRequest(dids=dids), Caller(subject=Did.parse(DID)))
    return [(one.did, one.website and one.website.origin, one.claim) for one in found]


def test_website_is_read_once_a_day_or_an_hour(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = Clock()
        async with hosting() as host:
            origin = f"https://{NAME}:{host.port}"
            services = [
                ServiceEntry(f"{DID}#web", "LinkedDomains", origin + "/"),
                ServiceEntry(f"{DID}#name", "ProfileName", "urn:identity-service:name:Corner%20Shop"),
            ]
            fetch = method(tmp_path, clock=clock)._fetch
            assert fetch is not None
            described = DescribeDids(Reader(clock, services), partial(fetch, read=read_object))  # type: ignore[arg-type]
            assert await describe(described, DID) == [(DID, None, "Corner Shop")]
            linked = {"linked_dids": [jwt(subject(origin))]}
            host.answers[PATH] = http(json.dumps(linked).encode(), media="application/json")
            assert await describe(described, DID) == [(DID, None, "Corner Shop")]
            clock.seconds += 3_601
            assert await describe(described, DID, OTHER, DID) == [(DID, origin, "Corner Shop"), (OTHER, None, None)]
            del host.answers[PATH]
            clock.seconds += 86_399
            assert await describe(described, DID) == [(DID, origin, "Corner Shop")]
            assert len(host.requests) == 2
            clock.seconds += 2
            assert await describe(described, DID) == [(DID, None, "Corner Shop")]
            assert len(host.requests) == 3

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "origin",
    ["http://web.example", "https://127.0.0.1", "https://web.example/path", "https://[::1]", "https://a@b.example"],
)
def test_service_that_is_no_https_origin_is_never_fetched(origin: str) -> None:
    async def fetch(*_: Any) -> None:
        raise AssertionError(origin)

    services = [ServiceEntry(f"{DID}#web", "LinkedDomains", origin)]
    described = DescribeDids(Reader(Clock(), services), fetch)  # type: ignore[arg-type]
    assert asyncio.run(describe(described, DID)) == [(DID, None, None)]


def test_no_website_is_read_while_the_setting_is_off() -> None:
    services = [ServiceEntry(f"{DID}#web", "LinkedDomains", SHOP)]
    assert asyncio.run(describe(DescribeDids(Reader(Clock(), services), None), DID)) == [(DID, None, None)]  # type: ignore[arg-type]
