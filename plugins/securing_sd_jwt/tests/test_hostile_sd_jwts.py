"""SD-JWTs by an adversary who writes bytes with a library of his own: each text differs from a good one in one thing."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from identity_securing_sd_jwt import SdJwtVc

from identity_codec import multikey
from identity_core.errors import InvalidCredential, ProofInvalid
from identity_core.ports.securing import Disclosed, KeyBinding, UnsecuredCredential

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
AUDIENCE, NONCE = "decentralized_identifier:did:web:verifier.example", "n-0S6_WzA2Mj"
WANTED = KeyBinding(AUDIENCE, NONCE, NOW)
ISSUER = "did:web:issuer.example"
DROP: Any = object()


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def packed(value: Any) -> str:
    return b64(value if isinstance(value, bytes) else json.dumps(value).encode())


class Pair:
    """A key on P-256 of the adversary's library."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        numbers = self.key.public_key().public_numbers()
        self.jwk = {"kty": "EC", "crv": "P-256", "x": b64(numbers.x.to_bytes(32)), "y": b64(numbers.y.to_bytes(32))}
        raw = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
        self.multikey = multikey.encode_public(multikey.P256, raw)

    def sign(self, data: bytes) -> bytes:
        r, s = decode_dss_signature(self.key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)

    def jws(self, header: Any, claims: Any) -> str:
        text = f"{packed(header)}.{packed(claims)}"
        return f"{text}.{b64(self.sign(text.encode()))}"


IVO, HANA, MALLORY = Pair(), Pair(), Pair()


def digest(disclosure: str) -> str:
    return b64(hashlib.sha256(disclosure.encode()).digest())


NAME = packed(["c2FsdHNhbHQ", "given_name", "Hana"])
INCOME = packed(["c2FsdHNhbHR", "income", "41250.00"])
ADULT = packed(["c2FsdHNhbHS", "18", True])
AGES = packed(["c2FsdHNhbHT", "age_equal_or_over", {"_sd": [digest(ADULT), digest("another")]}])
FRENCH = packed(["c2FsdHNhbHU", "FR"])


def claims(**changes: Any) -> dict[str, Any]:
    said: dict[str, Any] = {
        "iss": ISSUER,
        "vct": "https://issuer.example/person/1",
        "iat": 1_700_000_000,
        "exp": 4_000_000_000,
        "cnf": {"jwk": HANA.jwk},
        "_sd_alg": "sha-256",
        "_sd": [digest(NAME), digest(INCOME), digest(AGES), digest("a decoy")],
        "nationalities": [{"...": digest(FRENCH)}, {"...": digest("another decoy")}, "DE"],
    } | changes
    return {name: value for name, value in said.items() if value is not DROP}


def header(**changes: Any) -> dict[str, Any]:
    said = {"alg": "ES256", "typ": "dc+sd-jwt", "kid": f"{ISSUER}#key"} | changes
    return {name: value for name, value in said.items() if value is not DROP}


def bound_to(base: str, *, by: Pair = HANA, head: dict[str, Any] | None = None, **changes: Any) -> str:
    said: dict[str, Any] = {"iat": int(NOW.timestamp()), "aud": AUDIENCE, "nonce": NONCE, "sd_hash": digest(base)}
    said |= changes
    kept = {name: value for name, value in said.items() if value is not DROP}
    return base + by.jws({"typ": "kb+jwt", "alg": "ES256"} | (head or {}), kept)


def issued(*disclosures: str, by: Pair = IVO, head: dict[str, Any] | None = None, **changes: Any) -> str:
    return "~".join((by.jws(head or header(), claims(**changes)), *disclosures, ""))


def verified(text: str, *, binding: KeyBinding | None = WANTED) -> Disclosed:
    return asyncio.run(SdJwtVc().verify(text, IVO.multikey, binding=binding))


def refused(text: str, *, binding: KeyBinding | None = WANTED) -> None:
    with pytest.raises((InvalidCredential, ProofInvalid)) as refusal:
        verified(text, binding=binding)
    shown = f"{refusal.value!r} {refusal.value.details}"
    assert not [value for value in ("Hana", "41250", "FR") if value in shown], "the refusal quotes a claim"


def test_the_good_one_is_accepted_with_what_it_discloses() -> None:
    found = verified(bound_to(issued(NAME, AGES, ADULT, FRENCH)))
    assert found.head.issuer == ISSUER
    assert found.head.verification_method == f"{ISSUER}#key"
    assert found.holder_key == HANA.jwk
    assert found.claims == {
        "iss": ISSUER,
        "vct": "https://issuer.example/person/1",
        "iat": 1_700_000_000,
        "exp": 4_000_000_000,
        "cnf": {"jwk": HANA.jwk},
        "given_name": "Hana",
        "age_equal_or_over": {"18": True},
        "nationalities": ["FR", "DE"],
    }


def test_nothing_disclosed_shows_nothing() -> None:
    found = verified(bound_to(issued()))
    assert "given_name" not in found.claims
    assert found.claims["nationalities"] == ["DE"]


ALG_NONE = f"{packed(header(alg='none'))}.{packed(claims())}.~"
HMAC_WITH_THE_PUBLIC_KEY = f"{packed(header(alg='HS256'))}.{packed(claims())}.{b64(bytes(32))}~"


@pytest.mark.parametrize(
    "text",
    {
        "alg none": ALG_NONE,
        "alg none with a signature": issued(head=header(alg="none")),
        "an HMAC": HMAC_WITH_THE_PUBLIC_KEY,
        "EdDSA over a P-256 key": issued(head=header(alg="EdDSA")),
        "no alg": issued(head=header(alg=DROP)),
        "a JWT of another kind": issued(head=header(typ="at+jwt")),
        "no typ": issued(head=header(typ=DROP)),
        "a crit": issued(head=header(crit=["b64"], b64=True)),
        "another's key": issued(by=MALLORY),
        "another's key, brought along": issued(by=MALLORY, head=header(jwk=MALLORY.jwk)),
        "a kid of another issuer": issued(head=header(kid="did:web:mallory.example#key")),
        "a kid that only begins like the issuer": issued(head=header(kid=f"{ISSUER}.mallory.example#key")),
        "no issuer": issued(iss=DROP),
        "an issuer that is not text": issued(iss=["did:web:issuer.example"]),
        "no type": issued(vct=DROP),
        "times that are not integers": issued(exp="4000000000"),
        "a time that is a text": issued(exp="4000000000"),
        "an iat that is none": issued(iat="yesterday"),
        "an end that is null": issued(exp=None),
        "an audience that is not the verifier": issued(aud="https://elsewhere.example"),
        "a boolean as a time": issued(exp=True),
        "a time past every calendar": issued(exp=10**18),
        "another hash": issued(NAME, _sd_alg="md5"),
        "a hash that is not text": issued(NAME, _sd_alg=["sha-256"]),
    }.items(),
    ids=lambda item: item[0],
)
def test_claims_without_issuer_signature_are_refused(text: tuple[str, str]) -> None:
    base = text[1]
    refused(bound_to(base))
    refused(base, binding=None)


def test_a_signature_in_another_form_is_refused() -> None:
    text = f"{packed(header())}.{packed(claims())}"
    der = IVO.key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))
    raw = IVO.sign(text.encode())
    for signature in (der, raw + b"\0", raw[:-1], b"", bytes(64), raw[32:] + raw[:32]):
        refused(f"{text}.{b64(signature)}~", binding=None)
    verified(f"{text}.{b64(raw)}~", binding=None)
    refused(f"{text}.{base64.urlsafe_b64encode(raw).decode()}~", binding=None)


def test_a_payload_of_two_meanings_is_refused() -> None:
    twice = json.dumps(claims())[:-1] + ', "vct": "https://mallory.example"}'
    text = IVO.jws(header(), twice.encode())
    refused(f"{text}~", binding=None)


DISCLOSURES = {
    "a disclosure of no digest": packed(["c2FsdA", "given_name", "Mallory"]),
    "a digest of the issuer's as a disclosure": digest(NAME),
    "the same disclosure twice": f"{NAME}~{NAME}",
    "one within another that is kept back": ADULT,
    "an element where a member belongs": packed(["c2FsdA", "x"]),
    "no array": packed({"given_name": "Hana"}),
    "one element": packed(["c2FsdA"]),
    "four elements": packed(["c2FsdA", "given_name", "Hana", 1]),
    "a salt that is not text": packed([1, "given_name", "Hana"]),
    "a name that is not text": packed(["c2FsdA", 1, "Hana"]),
    "padding": NAME + "==",
    "an empty disclosure": "",
    "junk": "%%%",
    "not ASCII": "é",
    "a blank": " ",
}


@pytest.mark.parametrize("disclosure", DISCLOSURES.values(), ids=DISCLOSURES.keys())
def test_a_disclosure_that_the_issuer_did_not_sign_is_refused(disclosure: str) -> None:
    base = "~".join((IVO.jws(header(), claims()), disclosure, ""))
    refused(base, binding=None)


def signed_with(disclosure: Any, **changes: Any) -> str:
    """A credential whose issuer did sign the digest of this disclosure."""
    text = packed(disclosure)
    return issued(text, **({"_sd": [digest(text)], "nationalities": DROP} | changes))


EVIL = packed(["c2FsdA", "given_name", "Mallory"])
FORBIDDEN = {
    "_sd as a name": signed_with(["c2FsdA", "_sd", ["x"]]),
    "... as a name": signed_with(["c2FsdA", "...", "x"]),
    "_sd_alg as a name": signed_with(["c2FsdA", "_sd_alg", "sha-256"]),
    "_sd_alg within a value": signed_with(["c2FsdA", "x", {"_sd_alg": "sha-256"}]),
    "a name that is in the open": signed_with(["c2FsdA", "iat", 1]),
    "the issuer, disclosed": signed_with(["c2FsdA", "iss", ISSUER], iss=DROP),
    "the type, disclosed": signed_with(["c2FsdA", "vct", "x"], vct=DROP),
    "the end, disclosed": signed_with(["c2FsdA", "exp", 4_000_000_000], exp=DROP),
    "the beginning, disclosed": signed_with(["c2FsdA", "nbf", 1]),
    "the holder's key, disclosed": signed_with(["c2FsdA", "cnf", {"jwk": HANA.jwk}], cnf=DROP),
    "the status, disclosed": signed_with(["c2FsdA", "status", {}]),
    "an element among members": signed_with(["c2FsdA", "x"]),
    "a member among elements": signed_with(
        ["c2FsdA", "a", "x"], _sd=[], nationalities=[{"...": digest(packed(["c2FsdA", "a", "x"]))}]
    ),
    "one digest in two places": issued(NAME, _sd=[digest(NAME), digest(NAME)]),
    "one digest in two objects": issued(NAME, address={"_sd": [digest(NAME)]}),
    "a digest that is a member and an element": issued(NAME, nationalities=[{"...": digest(NAME)}]),
    "a decoy in two places": issued(_sd=[digest("a decoy"), digest("a decoy")]),
    "two disclosures of one name": issued(NAME, EVIL, _sd=[digest(NAME), digest(EVIL)]),
    "digests that are not an array": issued(_sd="x"),
    "digests that are not texts": issued(_sd=[1]),
    "digests that are objects": issued(_sd=[{}]),
    "a digest with members beside it": issued(FRENCH, nationalities=[{"...": digest(FRENCH), "x": 1}]),
    "a digest of an element that is not text": issued(nationalities=[{"...": 7}]),
    "a digest of an element in an object": issued(x={"...": digest(FRENCH)}),
}


@pytest.mark.parametrize("text", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_claims_forbidden_to_issuers_are_refused(text: str) -> None:
    refused(text, binding=None)


def test_a_disclosure_that_holds_its_own_digest_ends() -> None:
    # Such a text cannot be found; digests in a ring of two stand in for it, as a table of digests would show them.
    nested = packed(["c2FsdA", "a", "end"])
    for _ in range(60):
        nested_next = packed(["c2FsdA", "a", {"_sd": [digest(nested)]}])
        nested = nested_next
    refused(issued(nested, _sd=[digest(nested)], nationalities=DROP, x={"_sd": [digest(nested)]}), binding=None)


def test_deep_nesting_is_refused_and_not_followed() -> None:
    chain = [packed(["c2FsdA", "a", "end"])]
    for _ in range(60):
        chain.append(packed(["c2FsdA", "a", {"_sd": [digest(chain[-1])]}]))
    refused(issued(*chain, _sd=[digest(chain[-1])], nationalities=DROP), binding=None)


def test_too_much_is_refused() -> None:
    many = [packed([f"c2FsdA{n}", f"n{n}", n]) for n in range(257)]
    refused(issued(*many, _sd=[digest(one) for one in many], nationalities=DROP), binding=None)
    refused(issued("A" * 70_000), binding=None)
    refused("~" * 70_000, binding=None)
    refused(issued() + "~" * 300, binding=None)


BINDINGS = {
    "none": lambda base: base,
    "that of another": lambda base: bound_to(base, by=MALLORY),
    "that of another, whose key it brings": lambda base: bound_to(base, by=MALLORY, head={"jwk": MALLORY.jwk}),
    "another audience": lambda base: bound_to(base, aud="decentralized_identifier:did:web:mallory.example"),
    "an array of other audiences": lambda base: bound_to(base, aud=["https://elsewhere.example", f"{AUDIENCE}x"]),
    "an end in the past": lambda base: bound_to(base, exp=int(NOW.timestamp())),
    "an end that is null": lambda base: bound_to(base, exp=None),
    "a begin in the future": lambda base: bound_to(base, nbf=int(NOW.timestamp()) + 61),
    "no audience": lambda base: bound_to(base, aud=DROP),
    "another nonce": lambda base: bound_to(base, nonce="n-0S6_WzA2Mk"),
    "no nonce": lambda base: bound_to(base, nonce=DROP),
    "no hash": lambda base: bound_to(base, sd_hash=DROP),
    "the hash of another presentation": lambda base: bound_to(base, sd_hash=digest(issued())),
    "the hash without the last tilde": lambda base: bound_to(base, sd_hash=digest(base[:-1])),
    "an old one": lambda base: bound_to(base, iat=int((NOW - timedelta(minutes=11)).timestamp())),
    "one of later": lambda base: bound_to(base, iat=int((NOW + timedelta(minutes=2)).timestamp())),
    "no time": lambda base: bound_to(base, iat=DROP),
    "a text as time": lambda base: bound_to(base, iat=str(int(NOW.timestamp()))),
    "a JWT of another kind": lambda base: bound_to(base, head={"typ": "JWT"}),
    "alg none": lambda base: bound_to(base, head={"alg": "none"}),
    "an unknown extension": lambda base: bound_to(base, head={"crit": ["x"], "x": 1}),
    "junk": lambda base: base + "x",
}


@pytest.mark.parametrize("bind", BINDINGS.values(), ids=BINDINGS.keys())
def test_binding_that_holder_did_not_make_for_this_is_refused(bind: Any) -> None:
    base = issued(NAME)
    verified(bound_to(base))
    refused(bind(base))


def test_a_binding_does_not_move_to_what_discloses_more_or_less() -> None:
    less, more = issued(NAME), None
    jwt = less.split("~")[0]
    more = f"{jwt}~{NAME}~{INCOME}~"
    binding = bound_to(less)[len(less) :]
    verified(less + binding)
    refused(more + binding)
    refused(f"{jwt}~" + binding)


def test_a_binding_of_a_credential_without_a_key_is_refused() -> None:
    for confirmation in (
        DROP,
        {},
        {"kid": "x"},
        {"jwk": {}},
        {"jwk": {**HANA.jwk, "d": "AA"}},
        "x",
        {"jwk": [HANA.jwk]},
    ):
        refused(bound_to(issued(cnf=confirmation)))


def test_a_key_off_the_curve_is_refused() -> None:
    for y in (b64(bytes(32)), b64(b"\xff" * 32), HANA.jwk["x"], b64(b"\0" + bytes(32)), ""):
        refused(bound_to(issued(cnf={"jwk": {**HANA.jwk, "y": y}})))


def test_a_holder_may_have_a_key_on_ed25519() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))}
    base = issued(NAME, cnf={"jwk": jwk})
    said = {"iat": int(NOW.timestamp()), "aud": AUDIENCE, "nonce": NONCE, "sd_hash": digest(base)}
    for alg, good in (("EdDSA", True), ("Ed25519", True), ("ES256", False)):
        text = f"{packed({'typ': 'kb+jwt', 'alg': alg})}.{packed(said)}"
        whole = f"{base}{text}.{b64(key.sign(text.encode()))}"
        if good:
            assert verified(whole).holder_key == jwk
        else:
            refused(whole)


def test_disclosure_includes_its_parents() -> None:
    whole = issued(NAME, INCOME, AGES, ADULT, FRENCH)
    derived = asyncio.run(SdJwtVc().derive(whole, IVO.multikey, pointers=["/age_equal_or_over/18"]))
    assert isinstance(derived, str)
    assert set(derived.split("~")[1:-1]) == {AGES, ADULT}
    assert verified(bound_to(derived)).claims["age_equal_or_over"] == {"18": True}


def test_audience_cannot_be_disclosed_selectively() -> None:
    """RFC 9901 §9.7: the claim must be open; single elements of an array may be concealed."""
    hidden = packed(["c2FsdA", "aud", AUDIENCE])
    refused(bound_to(issued(hidden, _sd=[digest(hidden)])))
    element = packed(["c2FsdA", AUDIENCE])
    assert verified(bound_to(issued(element, aud=[{"...": digest(element)}]))).claims["aud"] == [AUDIENCE]


def test_drafts_never_conceal_the_audience() -> None:
    unsecured = UnsecuredCredential({"iss": ISSUER, "vct": "x", "aud": AUDIENCE, "a": 1}, "x", "x", NOW)
    text = asyncio.run(SdJwtVc().draft(unsecured)).messages[0].decode()
    payload = json.loads(base64.urlsafe_b64decode(text.split(".")[1] + "=="))
    assert payload["aud"] == AUDIENCE
    assert "a" not in payload


@pytest.mark.parametrize(("ahead", "is_accepted"), [(60, True), (61, False), (10**9, False)])
def test_issue_time_is_ahead_by_the_leeway_at_most(ahead: int, is_accepted: bool) -> None:
    time = int(NOW.timestamp()) + ahead
    hidden = packed(["c2FsdA", "iat", time])
    for text in (issued(iat=time), issued(hidden, iat=DROP, _sd=[digest(hidden)])):
        begins = verified(text, binding=None).head.valid_from
        assert begins is not None
        assert (begins <= NOW) is is_accepted
        if is_accepted:
            verified(bound_to(text))
        else:
            refused(bound_to(text))


def test_validity_begins_at_the_later_of_two_times() -> None:
    later = int(NOW.timestamp()) + 100
    head = verified(issued(nbf=later), binding=None).head
    assert head.valid_from == NOW + timedelta(seconds=100)
