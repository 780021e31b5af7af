"""Documents of DIDs under jsonld.js in safe mode: every type of service is defined by a context that the document lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import BIRTH, Controller, WalletSigner
from pyld.documentloader.frozen import BUNDLED_CONTEXTS

from identity_core.domain.dids.changes import Create, NewService

DIDCOMM: Final = "https://didcomm.org/messaging/contexts/v2"
DOMAINS: Final = "https://identity.foundation/.well-known/did-configuration/v1"
PRESENTATIONS: Final = "https://identity.foundation/linked-vp/contexts/v1"
# What the contexts say of the terms that are used here; each protects its terms, as those of the keys do.
TERMS: Final = {
    DIDCOMM: {"DIDCommMessaging": "https://didcomm.org/messaging/v2/#DIDCommMessaging"},
    DOMAINS: {"LinkedDomains": f"{DOMAINS}#DomainLinkageCredential"},
    PRESENTATIONS: {
        "LinkedVerifiablePresentation": "https://identity.foundation/contexts/linked-vp/v1#LinkedVerifiablePresentation"
    },
}
REFUSED: Final = "relative @type reference"
OWN: Final = "https://hana.example/types#Lighthouse"


def document(*types: str, rules: Rules | None = None) -> Mapping[str, Any]:
    """Of a DID that begins with services of these types."""
    controller, signer = Controller("documents"), WalletSigner("documents")
    services = tuple(NewService(name, "https://hana.example/") for name in types)
    keys = (controller.new_key(), controller.new_key())
    drafted = Chain("ids", rules or Rules()).draft(
        None, Create(keys, (signer.multikey,), services=services), BIRTH, signer=signer.multikey
    )
    return drafted.state.document.to_json()


@pytest.fixture(scope="module")
def expanded(independent: Callable[[str, Any], Any]) -> Callable[..., Any]:
    known = {address: json.loads(path.read_bytes()) for address, path in BUNDLED_CONTEXTS.items()}
    known |= {name: {"@context": {"@version": 1.1, "@protected": True, **said}} for name, said in TERMS.items()}
    return lambda *shown: independent("did_documents.mjs", {"contexts": known, "documents": shown})


def test_a_type_whose_context_is_published_is_defined(expanded: Callable[..., Any]) -> None:
    types = ("LinkedVerifiablePresentation", "DIDCommMessaging", "LinkedDomains", "LinkedDomains")
    shown = document(*types)
    assert shown["@context"][-3:] == [DIDCOMM, DOMAINS, PRESENTATIONS]
    defined = {name: meaning for said in TERMS.values() for name, meaning in said.items()}
    assert expanded(shown) == [[defined[name] for name in types]]
    (single,) = expanded(document("LinkedDomains"))
    assert single == [defined["LinkedDomains"]]


def test_any_other_type_is_an_address_or_refused(expanded: Callable[..., Any]) -> None:
    assert expanded(document(OWN), document("Lighthouse")) == [[OWN], REFUSED]


def test_documents_of_before_are_refused_as_before(expanded: Callable[..., Any]) -> None:
    """They stay as they are until their controller changes them."""
    assert expanded(document("LinkedDomains", rules=Rules(contexts=()))) == [REFUSED]
