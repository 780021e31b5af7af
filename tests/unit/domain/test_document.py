from __future__ import annotations

import copy
from datetime import UTC, datetime

import orjson
import pytest
from identity_did_ids.revision import Revision
from identity_kit.conformance.controller import Controller

from identity_codec.values import replace
from identity_core.domain.dids import document as documents
from identity_core.domain.dids.changes import NewService
from identity_core.domain.dids.did import DIDCOMM, SERVICE_CONTEXTS
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key
from identity_core.errors import InvalidDocument

DID = "did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7"
HANA = Controller("document")
ED, X, BLS = HANA.new_key(), HANA.new_key("X25519KeyAgreementKey2020"), HANA.new_key("Bls12381G2Key2020")


def build(
    *keys: Key, services: tuple[NewService, ...] = (), aliases: tuple[str, ...] = (), did: str = DID
) -> DidDocument:
    revision = Revision.from_document(DidDocument(did, (), ()))
    for key in keys:
        revision.add_key(key)
    for service in services:
        revision.add_service(service)
    revision.also_known_as = aliases
    return revision.document()


FULL = build(
    ED,
    X,
    BLS,
    services=(
        NewService("DIDCommMessaging", "https://agent.example/didcomm"),
        NewService("LinkedDomains", "https://a.example", "web"),
    ),
    aliases=("https://hana.example/",),
)


def test_the_json_of_a_full_document() -> None:
    shown = FULL.to_json()
    ed, x, bls = (f"{DID}#{key.public}" for key in (ED, X, BLS))
    assert list(shown) == [
        "@context", "id", "controller", "alsoKnownAs", "verificationMethod", "authentication", "assertionMethod",
        "keyAgreement", "capabilityInvocation", "capabilityDelegation", "service",
    ]  # fmt: skip
    assert shown["@context"] == [
        "https://www.w3.org/ns/did/v1",
        "https://w3id.org/security/suites/ed25519-2020/v1",
        "https://w3id.org/security/suites/x25519-2020/v1",
        "https://w3id.org/security/suites/bls12381-2020/v1",
        "https://didcomm.org/messaging/contexts/v2",
        "https://identity.foundation/.well-known/did-configuration/v1",
    ]
    assert (shown["id"], shown["controller"]) == (DID, DID)
    assert shown["verificationMethod"][0] == {
        "id": ed,
        "type": "Ed25519VerificationKey2020",
        "controller": DID,
        "publicKeyMultibase": ED.public,
    }
    assert shown["authentication"] == shown["capabilityInvocation"] == shown["capabilityDelegation"] == [ed]
    assert (shown["assertionMethod"], shown["keyAgreement"]) == ([ed, bls], [x])
    assert [service["id"] for service in shown["service"]] == [f"{DID}#didcommmessaging-1", f"{DID}#web"]


def test_only_what_is_used_has_context() -> None:
    assert build(ED).to_json().keys() == {
        "@context", "id", "controller", "verificationMethod", "authentication", "assertionMethod",
        "capabilityInvocation", "capabilityDelegation",
    }  # fmt: skip
    contexts = [documents.DID_CONTEXT, "https://w3id.org/security/suites/bls12381-2020/v1"]
    assert build(BLS).to_json()["@context"] == contexts
    assert DidDocument(DID, (), ()).to_json() == {"@context": [documents.DID_CONTEXT], "id": DID, "controller": DID}


@pytest.mark.parametrize(
    "document", [FULL, build(ED), build(X, BLS), DidDocument(DID, (), ())], ids=["full", "ed", "x+bls", "none"]
)
def test_a_document_is_parsed_and_loaded_as_it_was_written(document: DidDocument) -> None:
    data = document.encoded
    assert DidDocument.parse(orjson.loads(data)) == document
    assert DidDocument.load(data) == document


def test_a_document_of_before_lists_what_it_listed() -> None:
    before = replace(FULL, contexts=())
    assert before.to_json()["@context"] == FULL.to_json()["@context"][:-1]
    assert before.contexts == (DIDCOMM,)
    assert DidDocument.parse(before.to_json()) == DidDocument.load(before.encoded) == before != FULL
    assert Revision.from_document(before, ()).document() == before.named("{SCID}", "y") == before
    assert Revision.from_document(before).document() == FULL


def test_the_octets_follow_the_fields() -> None:
    fewer = replace(FULL, methods=FULL.methods[:1], relationships=(("authentication", (FULL.methods[0].id,)),))
    assert DidDocument.load(fewer.encoded) == fewer
    assert replace(FULL).encoded == FULL.encoded


def test_new_did_is_equal_as_bytes_and_fields() -> None:
    unborn = build(
        ED, X, services=(NewService("LinkedDomains", "https://a.example/QmZVX"),), did="did:webvh:{SCID}:a:{SCID}"
    )
    named = unborn.named("{SCID}", "QmZVX")
    assert named.did == "did:webvh:QmZVX:a:QmZVX"
    assert DidDocument.load(named.encoded) == replace(named) == named
    documents.check(named)


def test_a_key_in_grace_shows_when_it_ends() -> None:
    revision = Revision.from_document(FULL)
    revision.revoke_key(FULL.methods[0].id, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    document = revision.document()
    assert document.to_json()["verificationMethod"][0]["revoked"] == "2026-01-02T03:04:05Z"
    assert DidDocument.parse(document.to_json()) == document
    assert document.related("authentication") == FULL.related("authentication")


def _set(path: str, value: object):
    def mutate(shown: dict) -> None:
        *way, last = path.split("/")
        for step in way:
            shown = shown[int(step)] if step.isdigit() else shown[step]
        if value is ...:
            del shown[last]
        elif last == "+":
            shown.append(copy.deepcopy(shown[0]) if value is None else value)
        else:
            shown[int(last) if last.isdigit() else last] = value

    return mutate


OTHER = HANA.new_key()
BAD = {
    "no id": _set("id", ...),
    "id no text": _set("id", 1),
    "another id": _set("id", DID[:-1] + "x"),
    "no controller": _set("controller", ...),
    "another controller": _set("controller", "did:x:a"),
    "controllers": _set("controller", [DID]),
    "no context": _set("@context", ...),
    "context of a key missing": _set("@context", FULL.to_json()["@context"][1:]),
    "context of DIDComm missing": _set("@context", [one for one in FULL.to_json()["@context"] if one != DIDCOMM]),
    "context of no service": _set("@context", [*FULL.to_json()["@context"], SERVICE_CONTEXTS[2]]),
    "context twice": _set("@context/+", FULL.to_json()["@context"][-1]),
    "context in another order": _set("@context", FULL.to_json()["@context"][::-1]),
    "context as text": _set("@context", documents.DID_CONTEXT),
    "unknown member": _set("publicKey", []),
    "unknown member of a key": _set("verificationMethod/0/publicKeyJwk", {}),
    "expires": _set("verificationMethod/0/expires", "2026-01-01T00:00:00Z"),
    "unknown member of a service": _set("service/0/accept", []),
    "methods no list": _set("verificationMethod", {}),
    "method no object": _set("verificationMethod/0", "x"),
    "method without type": _set("verificationMethod/0/type", ...),
    "type no text": _set("verificationMethod/0/type", None),
    "type contradicts codec": _set("verificationMethod/0/type", "X25519KeyAgreementKey2020"),
    "unknown type": _set("verificationMethod/0/type", "Multikey"),
    "alias type": _set("verificationMethod/0/type", "Ed25519"),
    "key of another": _set("verificationMethod/0/publicKeyMultibase", OTHER.public),
    "fragment of another": _set("verificationMethod/0/id", f"{DID}#{OTHER.public}"),
    "relative id": _set("verificationMethod/0/id", f"#{ED.public}"),
    "id of another did": _set("verificationMethod/0/id", f"did:x:a#{ED.public}"),
    "revoked no time": _set("verificationMethod/0/revoked", "soon"),
    "revoked with a fraction": _set("verificationMethod/0/revoked", "2026-01-01T00:00:00.5Z"),
    "revoked null": _set("verificationMethod/0/revoked", None),
    "key twice": _set("verificationMethod/+", None),
    "dangling reference": _set("authentication/0", f"{DID}#{OTHER.public}"),
    "embedded method": _set("authentication/0", {"id": "x"}),
    "reference twice": _set("authentication/+", None),
    "empty relationship": _set("authentication", []),
    "key without purpose": _set("keyAgreement", ...),
    "x25519 authenticates": _set("authentication/+", f"{DID}#{X.public}"),
    "ed25519 agrees": _set("keyAgreement/+", f"{DID}#{ED.public}"),
    "bls authenticates": _set("authentication/+", f"{DID}#{BLS.public}"),
    "service id relative": _set("service/0/id", "#a"),
    "service id of another did": _set("service/0/id", "did:x:a#a"),
    "service id twice": _set("service/+", None),
    "service id is a key": _set("service/0/id", f"{DID}#{ED.public}"),
    "service without fragment": _set("service/0/id", DID),
    "endpoint no text": _set("service/0/serviceEndpoint", {"uri": "https://a"}),
    "endpoint runs": _set("service/0/serviceEndpoint", "javascript:alert(1)"),
    "services no list": _set("service", "x"),
    "service gone but its context left": _set("service/0/type", "Other"),
    "alias twice": _set("alsoKnownAs/+", None),
    "alias no uri": _set("alsoKnownAs/0", "hana"),
    "alias no text": _set("alsoKnownAs/0", 1),
    "aliases empty": _set("alsoKnownAs", []),
}


@pytest.mark.parametrize("mutate", BAD.values(), ids=BAD)
def test_a_document_that_breaks_a_rule_is_refused(mutate) -> None:
    shown = copy.deepcopy(FULL.to_json())
    mutate(shown)
    with pytest.raises(InvalidDocument):
        DidDocument.parse(shown)


@pytest.mark.parametrize("value", [None, 1, "x", [], True, {"id": DID}], ids=repr)
def test_malformed_document_is_refused(value: object) -> None:
    with pytest.raises(InvalidDocument):
        DidDocument.parse(value)


def test_the_caps() -> None:
    keys = [HANA.new_key() for _ in range(21)]
    services = tuple(NewService("A", "https://a.example") for _ in range(21))
    aliases = tuple(f"https://a.example/{n}" for n in range(11))
    documents.check(build(*keys[:-1], services=services[:-1], aliases=aliases[:-1]))
    for document in (build(*keys), build(ED, services=services), build(ED, aliases=aliases)):
        with pytest.raises(InvalidDocument, match="too many"):
            documents.check(document)


def test_look_ups() -> None:
    ed = f"{DID}#{ED.public}"
    assert FULL.method(ed) == FULL.methods[0]
    assert FULL.method(f"{DID}#x") is None
    assert FULL.purposes(ed) == ("authentication", "assertionMethod", "capabilityInvocation", "capabilityDelegation")
    assert FULL.purposes("x") == ()
    assert FULL.related("keyAgreement") == (f"{DID}#{X.public}",)
    assert FULL.related("recovery") == ()
    assert FULL.service("web") == FULL.services[1]
    assert FULL.service("#web") is None
    assert not {*SERVICE_CONTEXTS} & {*replace(FULL, services=()).to_json()["@context"]}
