"""Bitstring Status List: ids, bits and their order."""

from __future__ import annotations

import random

import pytest

from identity_client.status_list import ENTRIES
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import StatusPurpose
from identity_core.domain.dids.did import Did
from tests.credentials import HOLDER, ISSUER, NOW, bits_of, set_in

REVOCATION, SUSPENSION = StatusPurpose


def test_the_first_place_is_the_leftmost_bit() -> None:
    bits = bits_of(status_list.encoded([0, 9, ENTRIES - 1]))
    assert len(bits) * 8 == ENTRIES == 131_072
    assert (bits[0], bits[1], bits[-1]) == (0x80, 0x40, 0x01)
    assert sum(bits) == 0x80 + 0x40 + 0x01


def test_every_place_that_is_set() -> None:
    places = frozenset(random.Random(1).sample(range(ENTRIES), 5000))
    text = status_list.encoded(places)
    assert text.startswith("uH4sI")
    assert set_in(text) == places
    assert status_list.encoded(sorted(places)) == text


def test_the_place_follows_from_the_index() -> None:
    first, second = status_list.entries(ISSUER, 5 * ENTRIES + 77, "https://id.example/api/v1")
    name = status_list.list_id(ISSUER, 5)
    assert first["statusListCredential"] == f"https://id.example/api/v1/status-lists/{name}-revocation"
    assert (first["statusListIndex"], second["statusListIndex"]) == ("77", "77")
    assert (first["statusPurpose"], second["statusPurpose"]) == ("revocation", "suspension")
    assert len({one["id"] for one in (first, second)}) == 2


def test_every_issuer_has_lists_of_its_own() -> None:
    names = {status_list.list_id(did, number) for did in (ISSUER, HOLDER) for number in (0, 1, 11)}
    assert len(names) == 6
    for name in names:
        assert status_list.parse_public_id(status_list.public_id(name, SUSPENSION)) == (name, SUSPENSION)


@pytest.mark.parametrize("text", ["", "-revocation", "a" * 22, "a" * 22 + "-message", "é" * 22 + "-revocation"])
def test_malformed_list_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no status list"):
        status_list.parse_public_id(text)


def test_the_credential_of_a_list_is_the_same_every_time() -> None:
    made = [
        status_list.unsigned(
            "l" * 22, REVOCATION, [3], issuer="did:key:z", base_url="https://id.example", valid_from=NOW
        )
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert made[0]["type"] == ["VerifiableCredential", "BitstringStatusListCredential"]
    assert made[0]["validFrom"] == "2026-01-01T00:00:00Z"
    assert Did.parse("did:key:z").text == made[0]["issuer"]
