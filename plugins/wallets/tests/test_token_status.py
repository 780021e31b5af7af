"""Token Status List: places, bits, and what a copy says of its own."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from identity_wallets.domain import token_status

from identity_client.status_list import ENTRIES
from identity_codec import multibase
from identity_codec.values import replace
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.credentials.status_list import list_id
from tests.credentials import ISSUER, NOW, a_credential

ORIGIN = "https://id.example"
REVOKED, SUSPENDED = CredentialStatus.REVOKED, CredentialStatus.SUSPENDED
LIST = list_id(ISSUER, 0)
URI = f"{ORIGIN}/openid/status/{LIST}"


def encode_list(**places: Any) -> bytes:
    text = token_status.encoded({CredentialStatus(name): listed for name, listed in places.items()})
    return zlib.decompress(multibase.base64url_decode(text))


def test_the_first_place_is_in_the_lowest_bits() -> None:
    """As in the example of the draft, whose values are 1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3 in 0xC9, 0x44, 0xF9."""
    found = encode_list(revoked=[0, 3, 5, 7, 8, 10, 11], suspended=[1, 3, 9, 10, 11])
    assert found[:3] == bytes.fromhex("c944f9")
    assert len(found) == ENTRIES // 4
    assert not any(found[3:])


def test_the_last_place_and_an_empty_list() -> None:
    assert encode_list(revoked=[ENTRIES - 1])[-1] == 0x40
    assert not any(encode_list())
    # zlib with the best level, as the draft has it.
    assert multibase.base64url_decode(token_status.encoded({}))[:2] == b"\x78\xda"


def test_a_copy_names_the_place_of_its_credential() -> None:
    credential = replace(a_credential(), status_index=5 * ENTRIES + 77)
    claims = {"status": token_status.reference(credential, ORIGIN)}
    assert claims["status"] == {"status_list": {"idx": 77, "uri": f"{ORIGIN}/openid/status/{list_id(ISSUER, 5)}"}}
    assert token_status.referred(claims, ORIGIN) == token_status.StatusReference(list_id(ISSUER, 5), 77)
    assert token_status.referred({}, ORIGIN) is None
    with pytest.raises(ValueError, match="not stored here"):
        token_status.referred(claims, "https://id.example.org")


@pytest.mark.parametrize(
    "status",
    [
        None, [], "x", {}, {"status_list": URI}, {"status_list": {"idx": 1}}, {"status_list": {"uri": URI}},
        {"status_list": {"idx": True, "uri": URI}}, {"status_list": {"idx": 1.0, "uri": URI}},
        {"status_list": {"idx": -1, "uri": URI}}, {"status_list": {"idx": ENTRIES, "uri": URI}},
        {"status_list": {"idx": 1, "uri": URI + "/"}}, {"status_list": {"idx": 1, "uri": URI[:-1]}},
        {"status_list": {"idx": 1, "uri": f"{URI}\n"}}, {"status_list": {"idx": 1, "uri": ORIGIN}},
        {"status_list": {"idx": 1, "uri": f"/openid/status/{LIST}"}},
    ],
)  # fmt: skip
def test_foreign_place_is_refused(status: Any) -> None:
    with pytest.raises(ValueError, match="its status"):
        token_status.referred({"status": status}, ORIGIN)


def test_signed_bytes_of_a_status_list() -> None:
    claims = token_status.claims(str(ISSUER), URI, token_status.encoded({}), NOW)
    assert (claims["iss"], claims["sub"], claims["iat"]) == (str(ISSUER), URI, int(NOW.timestamp()))
    assert (claims["exp"], claims["ttl"]) == (int(NOW.timestamp()) + 86_400, 300)
