"""Presentations: the options of their proofs (VC Data Integrity 1.0, "Proofs") and their form."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from identity_vcalm.presentation import PresentationRefused, SignedPresentation
from identity_vcalm.verify import PresentationFindings, VerifyVcalmPresentation
from identity_vcalm.wire import VcalmPresentationOptions, VerifyVcalmPresentationRequest

from identity_client import data_integrity
from tests.unit.domain.test_proof_options import BAD, DID, METHOD, NOW, VC, holder_document, signed


def present(expected: str | None = None, **options: Any) -> None:
    unsigned = {"@context": [VC], "type": ["VerifiablePresentation"], "holder": DID}
    proof = signed(unsigned, "authentication", METHOD, **options)
    SignedPresentation.parse(unsigned | {"proof": proof}).check(holder_document(), NOW, challenge=None, domain=expected)


@pytest.mark.parametrize("options", BAD)
def test_presentation_with_an_invalid_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PresentationRefused):
        present(**options)


def test_presentation_with_a_valid_proof_is_accepted() -> None:
    present()
    present("https://a.example", domain="https://a.example")
    present("https://a.example", domain=["https://a.example"])


@pytest.mark.parametrize("domain", [["https://a.example", "https://b.example"], [], "https://b.example"])
def test_presentation_for_more_domains_is_refused(domain: Any) -> None:
    """The set has to be exactly the expected one."""
    with pytest.raises(PresentationRefused) as refused:
        present("https://a.example", domain=domain)
    assert refused.value.kind == "INVALID_DOMAIN_ERROR"


@pytest.mark.parametrize("context", [None, [], [VC.replace("v2", "v1")], [{"a": "urn:a"}, VC]])
def test_presentation_without_the_base_context_is_refused(context: Any) -> None:
    """VC 2.0 §4.3: the first context is that of the data model."""
    value = {"@context": context, "type": ["VerifiablePresentation"], "holder": DID}
    if context is None:
        del value["@context"]
    proof = {"type": data_integrity.PROOF_TYPE, "cryptosuite": data_integrity.CRYPTOSUITE, "verificationMethod": METHOD}
    with pytest.raises(PresentationRefused) as refused:
        SignedPresentation.parse(value | {"proof": proof})
    assert refused.value.kind == "PARSING_ERROR"


class Reader:
    """The holder's document."""

    def parse(self, text: str) -> str:
        return text

    async def active(self, did: str) -> Any:
        return SimpleNamespace(head=SimpleNamespace(state=SimpleNamespace(document=holder_document())))


def findings(contexts: list[Any], **bound: str) -> PresentationFindings:
    """Return the findings of an empty presentation that its holder signed for exactly ``bound``."""
    unsigned = {"@context": contexts, "type": ["VerifiablePresentation"], "holder": DID}
    shown = unsigned | {"proof": signed(unsigned, "authentication", METHOD, **bound)}
    clock: Any = SimpleNamespace(now=lambda: NOW)
    verify = VerifyVcalmPresentation(None, Reader(), None, None, clock)  # type: ignore[arg-type]
    options = VcalmPresentationOptions(**bound)
    wish = VerifyVcalmPresentationRequest(verifiable_presentation=shown, options=options)
    return asyncio.run(verify(wish))[0]


@pytest.mark.parametrize(
    ("bound", "warning"),
    [
        ({"challenge": "c", "domain": "https://a.example"}, None),
        ({"domain": "https://a.example"}, "INVALID_CHALLENGE_ERROR"),
        ({"challenge": "c"}, "INVALID_DOMAIN_ERROR"),
        ({}, "INVALID_CHALLENGE_ERROR"),
    ],
)
def test_unbound_presentation_has_a_warning(bound: dict[str, str], warning: str | None) -> None:
    """Without a challenge and a domain of the verifier, a recorded presentation verifies again, for any verifier."""
    found = findings([VC], **bound)
    assert found.verified
    assert [one.title for one in found.warnings] == ([] if warning is None else [warning])
    assert all("replay" in one.detail for one in found.warnings)
    assert all(name in found.warnings[0].detail for name in ("challenge", "domain") if name not in bound)


def test_inline_context_of_a_presentation_has_a_warning() -> None:
    bound = {"challenge": "c", "domain": "https://a.example"}
    found = findings([VC, {"role": "https://eve.example/terms#nickname"}], **bound)
    assert found.verified
    assert [one.title for one in found.warnings] == ["MALFORMED_VALUE_ERROR"]
