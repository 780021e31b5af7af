"""Fragments of services, derived from their types."""

from __future__ import annotations

from identity_did_ids.revision import derive_fragment

from identity_core.domain.dids.did import check_fragment


def test_fragments_are_derived_from_the_type_and_a_count() -> None:
    assert derive_fragment("DIDCommMessaging", ()) == "didcommmessaging-1"
    assert derive_fragment("DIDCommMessaging", {"didcommmessaging-1", "didcommmessaging-2"}) == "didcommmessaging-3"
    assert derive_fragment("https://example.org/ns#Thing", ()) == "https-example-org-ns-thing-1"
    for name in ("x" * 256, "::::", "A"):
        check_fragment(derive_fragment(name, ()))
