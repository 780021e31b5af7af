"""Sentences about events for the command line."""

from __future__ import annotations

from identity_client.presentation import words_of

ITEM = {
    "kind": "delegation.suspended",
    "outcome": "done",
    "code": None,
    "actor": "did:did:ids:hana",
    "holderDid": "did:ids:hana",
    "agentDid": "did:ids:aki",
    "issuerDid": None,
}


def test_event_is_one_sentence() -> None:
    assert words_of(ITEM) == "did:ids:hana stopped did:ids:aki."


def test_unknown_kind_has_words() -> None:
    assert words_of(ITEM | {"kind": "later.invented"})
