"""Presentations: the options of their proofs (VC Data Integrity 1.0, "Proofs") and their form."""

from __future__ import annotations

from typing import Any

import pytest
from identity_vcalm.presentation import PresentationRefused, SignedPresentation

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
