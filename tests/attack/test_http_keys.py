"""Keys that are weak, or that are not what they are said to be, at every entry where a key is registered.

openapi/DECISIONS.md §2.4. Entries: creation, addVerificationMethod, rotation, recovery, and the recovery keys.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from typing import Any

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.stranger import (
    Holder,
    Stranger,
    add_key,
    base58,
    from_base58,
    header,
    multikey,
    public,
    recovery_body,
    remove_key,
    rotation,
    service,
)

INVALID = (422, "INVALID_DOCUMENT")
ED25519, X25519, BLS = "Ed25519VerificationKey2020", "X25519KeyAgreementKey2020", "Bls12381G2Key2020"
ED_PREFIX, X_PREFIX, BLS_PREFIX = b"\xed\x01", b"\xec\x01", b"\xeb\x01"

# Every point of small order with its spellings that are not canonical; then one of mixed order, from the speccheck
# cases of Chalkias, Garillot and Nikolaenko (SSR 2020), and texts that are not a point.
WEAK = {
    "identity": "0100000000000000000000000000000000000000000000000000000000000000",
    "order_2": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order_4": "0000000000000000000000000000000000000000000000000000000000000000",
    "order_4_signed": "0000000000000000000000000000000000000000000000000000000000000080",
    "order_8_a": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "order_8_b": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "order_8_c": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order_8_d": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "identity_signed": "0100000000000000000000000000000000000000000000000000000000000080",
    "identity_plus_p": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "identity_plus_p_signed": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "zero_plus_p": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "zero_plus_p_signed": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "order_2_signed": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "mixed_order": "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
    "not_a_point": "0200000000000000000000000000000000000000000000000000000000000000",
    "all_ones": "ff" * 32,
}


def _create(stranger: Stranger, hana: Holder, key: str) -> Any:
    return stranger.create(_own((ED25519, key, "authentication")))


def _create_recovery(stranger: Stranger, hana: Holder, key: str) -> Any:
    return stranger.create(_own((ED25519, public(SigningKey.generate()), "authentication"), (ED25519, key, "recovery")))


def _add(stranger: Stranger, hana: Holder, key: str) -> Any:
    return hana.act("update", add_key(key))


def _add_with_others(stranger: Stranger, hana: Holder, key: str) -> Any:
    return hana.act("update", {"operations": [service("a"), add_key(key, "assertionMethod")]})


def _rotate(stranger: Stranger, hana: Holder, key: str) -> Any:
    return hana.act("rotate", rotation(hana.key_id, key))


def _recover(stranger: Stranger, hana: Holder, key: str) -> Any:
    return hana.act("recover", recovery_body(key))


def _recover_recovery(stranger: Stranger, hana: Holder, key: str) -> Any:
    successor = {"type": ED25519, "publicKeyMultibase": key}
    return hana.act("recover", recovery_body(public(SigningKey.generate()), newRecoveryKey=successor))


ENTRIES: list[Callable[[Stranger, Holder, str], Any]] = [
    _create, _create_recovery, _add, _add_with_others, _rotate, _recover, _recover_recovery,
]  # fmt: skip


def _own(*keys: tuple[str, str, str]) -> dict[str, Any]:
    own = [{"type": kind, "publicKeyMultibase": key, "purpose": [purpose]} for kind, key, purpose in keys]
    return {"method": "ids", "options": {"publicKeys": own}}


@pytest.fixture(scope="module")
def hana(targets: Callable[[int], Target]) -> Holder:
    """Whose document no refusal may change."""
    return targets(1).stranger.holder()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__.strip("_"))
def test_every_entry_takes_a_good_key(target: Target, entry: Any) -> None:
    """So that the refusals below are for the key."""
    answer = entry(target.stranger, target.stranger.holder(), public(SigningKey.generate()))
    assert answer.status in (200, 201), answer.body


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__.strip("_"))
@pytest.mark.parametrize("weak", ["order_2", "mixed_order", "not_a_point"])
def test_weak_keys_are_refused_at_every_entry(target: Target, hana: Holder, entry: Any, weak: str) -> None:
    """Every entry has the same check, which knows the others (``test_weak_keys_are_refused``)."""
    assert entry(target.stranger, hana, multikey(bytes.fromhex(WEAK[weak]))).outcome == INVALID


@pytest.mark.parametrize("weak", WEAK)
def test_weak_keys_are_refused(target: Target, hana: Holder, weak: str) -> None:
    assert _create(target.stranger, hana, multikey(bytes.fromhex(WEAK[weak]))).outcome == INVALID


def confusions() -> dict[str, str]:
    """Texts that are not an Ed25519 multikey, each made of a good key."""
    key = SigningKey.generate()
    raw = bytes(key.verify_key)
    good = public(key)
    data = ED_PREFIX + raw
    return {
        "ed25519_under_the_x25519_prefix": multikey(raw, X_PREFIX),
        "a_private_key": multikey(bytes(key), b"\x80\x26"),
        "the_public_key_under_the_private_prefix": multikey(raw, b"\x80\x26"),
        "secp256k1": multikey(b"\x02" + raw, b"\xe7\x01"),
        "p256": multikey(b"\x02" + raw, b"\x80\x24"),
        "no_prefix": "z" + base58(raw),
        "overlong_varint": "z" + base58(b"\xed\x81\x00" + raw),
        "the_prefix_twice": "z" + base58(ED_PREFIX + data),
        "31_octets": multikey(raw[:31]),
        "33_octets": multikey(raw + b"\0"),
        "64_octets": multikey(raw + raw),
        "nothing_in_it": multikey(b""),
        "hex": "f" + data.hex(),
        "base64url": "u" + base64.urlsafe_b64encode(data).decode().rstrip("="),
        "base64": "M" + base64.b64encode(data).decode(),
        "base32": "b" + base64.b32encode(data).decode().lower().rstrip("="),
        "base58flickr": "Z" + base58(data).swapcase(),
        "no_multibase": base58(data),
        "a_letter_of_no_alphabet": good[:-1] + "0",
        "leading_ones": "z1" + good[1:],
        "a_blank_before": " " + good,
        "a_newline_after": good + "\n",
        "nul_inside": good[:10] + "\0" + good[10:],
        "another_alphabet": good.replace("z6Mk", "z6\u041ck", 1),
        "zero_width": good + "\u200b",
        "a_key_id": "did:key:" + good + "#" + good,
        "empty": "",
        "z": "z",
        "long": "z" + "1" * 1000,
    }


CONFUSED = confusions()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__.strip("_"))
def test_invalid_ed25519_key_is_refused_at_every_entry(target: Target, hana: Holder, entry: Any) -> None:
    for name, text in CONFUSED.items():
        assert entry(target.stranger, hana, text).outcome == INVALID, name


def test_a_type_that_contradicts_the_prefix(target: Target, hana: Holder) -> None:
    key = SigningKey.generate()
    raw = bytes(key.verify_key)
    x25519 = bytes(key.to_curve25519_private_key().public_key)
    for kind, text, purpose in (
        (X25519, multikey(raw), "keyAgreement"),
        (BLS, multikey(raw), "assertionMethod"),
        (ED25519, multikey(x25519, X_PREFIX), "authentication"),
        (X25519, multikey(x25519, X_PREFIX), "authentication"),
        (X25519, multikey(x25519, X_PREFIX), "assertionMethod"),
        (X25519, multikey(x25519, X_PREFIX), "recovery"),
        (ED25519, multikey(raw), "keyAgreement"),
        (ED25519, multikey(raw), "nonsense"),
        ("Ed25519VerificationKey2018", multikey(raw), "authentication"),
        ("Multikey", multikey(raw), "authentication"),
        ("ed25519", multikey(raw), "authentication"),
        ("", multikey(raw), "authentication"),
    ):
        own = _own((ED25519, public(SigningKey.generate()), "authentication"), (kind, text, purpose))
        assert target.stranger.create(own).outcome == INVALID, (kind, purpose)
        if purpose != "recovery":
            answer = hana.act("update", add_key(text, purpose, kind=kind))
            assert answer.outcome == INVALID, (kind, purpose)


@pytest.mark.parametrize(
    "raw",
    [
        bytes(32),
        b"\x01" + bytes(31),
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        bytes.fromhex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ],
    ids=["zero", "one", "order_8_a", "order_8_b", "minus_one", "p", "p_plus_1"],
)
def test_x25519_keys_with_which_every_secret_is_zero(target: Target, hana: Holder, raw: bytes) -> None:
    text = multikey(raw, X_PREFIX)
    assert hana.act("update", add_key(text, "keyAgreement", kind=X25519)).outcome == INVALID
    own = _own((ED25519, public(SigningKey.generate()), "authentication"), (X25519, text, "keyAgreement"))
    assert target.stranger.create(own).outcome == INVALID


def bls_points() -> dict[str, bytes]:
    """Bytes that are not a public key in G2: built from the curve's arithmetic, not by the code under test."""
    limit = sys.getrecursionlimit()
    from py_ecc.bls.point_compression import compress_G2
    from py_ecc.fields import optimized_bls12_381_FQ2 as FQ2
    from py_ecc.optimized_bls12_381 import G2, b2, curve_order, field_modulus, is_on_curve, multiply

    sys.setrecursionlimit(limit)  # The import raises it to 100,000.

    good = b"".join(part.to_bytes(48, "big") for part in compress_G2(G2))
    # A point of the curve outside the subgroup: the first small x that has a y, with both checked here.
    x = 1
    while True:
        square = FQ2([x, 0]) ** 3 + b2
        root = _root(square, field_modulus, FQ2)
        point = None if root is None else (FQ2([x, 0]), root, FQ2.one())
        if point is not None and is_on_curve(point, b2) and multiply(point, curve_order)[2] != FQ2.zero():
            break
        x += 1
    outside = b"".join(part.to_bytes(48, "big") for part in compress_G2(point))
    return {
        "infinity": b"\xc0" + bytes(95),
        "infinity_signed": b"\xe0" + bytes(95),
        "infinity_with_a_rest": b"\xc0" + bytes(94) + b"\x01",
        "outside_the_subgroup": outside,
        "not_compressed": bytes([good[0] & 0x7F]) + good[1:],
        "x_beyond_the_field": b"\x9f" + b"\xff" * 95,
        "zero": bytes(96),
        "a_point_of_g1": b"\x97" + good[1:48],
        "95_octets": good[:95],
        "97_octets": good + b"\0",
    }


def _root(square: Any, modulus: int, field: Any) -> Any:
    """A square root in the quadratic extension, or None (Adj and Rodríguez-Henríquez, algorithm 9)."""
    first = square ** ((modulus - 3) // 4)
    alpha = first * first * square
    candidate = first * square
    if alpha == field([-1, 0]):
        candidate = field([0, 1]) * candidate
    else:
        candidate = (field.one() + alpha) ** ((modulus - 1) // 2) * candidate
    return candidate if candidate * candidate == square else None


def test_bls_keys_outside_the_group(target: Target, hana: Holder) -> None:
    points = bls_points()
    for name, data in points.items():
        answer = hana.act("update", add_key(multikey(data, BLS_PREFIX), "assertionMethod", kind=BLS))
        assert answer.outcome == INVALID, name
    own = _own(
        (ED25519, public(SigningKey.generate()), "authentication"),
        (BLS, multikey(points["outside_the_subgroup"], BLS_PREFIX), "assertionMethod"),
    )
    assert target.stranger.create(own).outcome == INVALID


def test_no_key_is_authentication_and_recovery_at_once(target: Target) -> None:
    key = public(SigningKey.generate())
    assert target.stranger.create(_own((ED25519, key, "authentication"), (ED25519, key, "recovery"))).outcome == INVALID
    hana = target.stranger.holder()
    successor = {"type": ED25519, "publicKeyMultibase": key}
    assert hana.act("recover", recovery_body(key, newRecoveryKey=successor)).outcome == INVALID
    assert hana.recovery is not None
    assert hana.act("update", add_key(public(hana.recovery))).outcome == INVALID
    assert hana.act("rotate", rotation(hana.key_id, public(hana.recovery))).outcome == INVALID
    assert hana.act("recover", recovery_body(public(hana.recovery))).outcome == INVALID
    assert hana.act("recover", recovery_body(public(hana.key), revoke=True)).outcome == INVALID


def test_key_ids_of_nobody_and_of_others(target: Target) -> None:
    hana, mallory = target.stranger.holder(), target.stranger.holder()
    assert hana.act("update", add_key(public(SigningKey.generate()))).status == 200
    fragment = public(hana.key)
    for key_id in (
        mallory.key_id,
        f"{mallory.did}#{fragment}",
        f"{hana.did}#",
        f"{hana.did}#{fragment[:-1]}",
        f"{hana.did}?versionId=1#{fragment}",
        f"{hana.did}/#{fragment}",
        f"{hana.did}##{fragment}",
        hana.did.upper() + "#" + fragment,
        fragment,
        "#",
        "",
        "#" + fragment + "\n",
        "#" + fragment + " ",
        "#" + fragment + "\0",
    ):
        assert hana.act("update", remove_key(key_id)).outcome == INVALID, key_id
        assert hana.act("rotate", rotation(key_id)).outcome == INVALID, key_id
    assert hana.act("update", remove_key("#" + fragment)).status == 200


def test_the_fragment_of_every_key_is_its_material(target: Target) -> None:
    hana = target.stranger.holder(
        additionalKeys=[
            {"type": X25519, "purpose": ["keyAgreement"]},
            {"type": BLS, "purpose": ["assertionMethod"]},
        ]
    )
    for method in hana.resolve().json["didDocument"]["verificationMethod"]:
        assert method["id"] == f"{hana.did}#{method['publicKeyMultibase']}"
        assert method["controller"] == hana.did
    for key in hana.created["keys"].values():
        assert key["keyId"] == f"{hana.did}#{key['publicKey']}"
        assert from_base58(key["privateKey"][1:])[:2] in (b"\x80\x26", b"\x82\x26", b"\x8a\x26")


def test_small_order_signatures_open_no_door(target: Target) -> None:
    """R and A of small order, S zero: OpenSSL takes that for every message. The key is never registered, and a signature
    with such an R is none under a good key."""
    hana = target.stranger.holder()
    for point in list(WEAK.values())[:14]:
        hana.challenge()
        signature = bytes.fromhex(point) + bytes(32)
        assert hana.send("update", service(), header(hana.did, signature)).outcome == (401, "AUTH_FAILED")


def test_the_refusals_have_changed_nothing(target: Target, hana: Holder) -> None:
    assert verify(hana.log()).versions == 1
