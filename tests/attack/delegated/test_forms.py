"""Bytes, JSON and members: what a parser might read in two ways, what no honest signer writes (openapi/DECISIONS.md §4.4)."""

from __future__ import annotations

import hashlib
import json
import random
import time
import unicodedata
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.attack.delegated.scene import PROOFS, Scene, canonical, signed
from tests.attack.stranger import base58, from_base58, rounds

INVALID = (403, "IBCT_INVALID")
INVALID_REQUEST = (400, "INVALID_REQUEST")
TOO_LARGE = (413, "PAYLOAD_TOO_LARGE")
MEMBERS = ("id", "type", "invoker", "target", "action", "delegationRef", "nonce", "issuedAt", "expiresAt")
LIMIT = 65_536


def octets_of(body: Any) -> bytes:
    return json.dumps(body).encode()


def replace_once(data: bytes, before: str, after: str) -> bytes:
    """``data`` with a text in them replaced, which must be there once."""
    if data.count(before.encode()) != 1:
        raise ValueError(f"{before!r} is there {data.count(before.encode())} times")
    return data.replace(before.encode(), after.encode())


def quickly(scene: Scene, body: Any) -> tuple[int, str | None]:
    """The outcome, and no matter what is sent it takes no half second; the best of some tries, on a machine with other work."""
    took: list[float] = []
    while len(took) < 50:
        began = time.monotonic()
        outcome = scene.ask(body).outcome
        took.append(time.monotonic() - began)
        if took[-1] < 0.5:
            return outcome
    raise AssertionError(f"{outcome} took {took}")


@pytest.mark.parametrize("member", [*MEMBERS, "proofValue"])
def test_every_member_altered_by_one_character(scene: Scene, member: str) -> None:
    """Anywhere in it, and one more or one less; an altered reference would be another delegation if it were read first."""
    token = scene.token()
    text = token[member]
    places = {0, len(text) // 2, len(text) - 1}
    altered = {text[:place] + ("2" if text[place] != "2" else "3") + text[place + 1 :] for place in places}
    for change in altered | {text + "2", text[:-1], text + " ", text.swapcase()}:
        assert scene.ask(scene.body(ibct=token | {member: change})).outcome == INVALID, change
    assert scene.uses == 0
    assert scene.ask(scene.body(ibct=token)).status == 201


@pytest.mark.parametrize("member", [*MEMBERS, "proofValue"])
def test_a_member_that_is_missing_empty_or_no_string(scene: Scene, member: str) -> None:
    token = scene.token()
    without = {name: token[name] for name in token if name != member}
    assert scene.ask(scene.body(ibct=without)).outcome == INVALID_REQUEST
    for value in (None, 1, True, [token[member]], {"x": token[member]}):
        assert scene.ask(scene.body(ibct=token | {member: value})).outcome == INVALID_REQUEST
    if member != "proofValue":
        for text in ("", "x" * 2049):
            resigned = signed(without | {member: text}, scene.holder.key)
            assert scene.ask(scene.body(ibct=resigned)).outcome == INVALID
    assert scene.uses == 0


def test_a_member_more_even_if_it_was_signed(scene: Scene) -> None:
    """A restriction that an old service does not know would be a hole."""
    for extra in ({"aud": "x"}, {"": ""}, {"Nonce": "n" * 16}, {"proofvalue": "x"}, {"type ": "x"}):
        token = signed(scene.unsigned() | extra, scene.holder.key)
        assert scene.ask(scene.body(ibct=token)).outcome == INVALID_REQUEST
    for name in ("holder", "ibcts", "debug"):
        assert scene.ask(scene.body() | {name: True}).outcome == INVALID_REQUEST
    assert scene.uses == 0


@pytest.mark.parametrize(
    "kind", ["", "invocationBoundCapabilityToken", "InvocationBoundCapabilityToken ", "VerifiableCredential", "IBCT"]
)
def test_another_type(scene: Scene, kind: str) -> None:
    assert scene.ask(scene.body(ibct=scene.token(type=kind))).outcome == INVALID


def test_a_name_twice(scene: Scene) -> None:
    """At every depth, in plain text and escaped: which of the two was signed would be the parser's choice."""
    data = octets_of(scene.body())
    holder, agent = (json.dumps(who.did) for who in (scene.holder, scene.agent))
    for before, after in (
        ('{"holderDid"', f'{{"holderDid": {holder}, "holderDid"'),
        ('{"holderDid"', f'{{"\\u0068olderDid": {holder}, "holderDid"'),
        ('"value": 18', '"value": 18, "value": 19'),
        ('"value": 18', '"v\\u0061lue": 19, "value": 18'),
        (f'"target": {agent}', f'"target": {agent}, "target": {agent}'),
        (f'"target": {agent}', f'"t\\u0061rget": {agent}, "target": {agent}'),
        (f'"target": {agent}', f'"target": {agent}, "proofValue": "x"'),
    ):
        assert quickly(scene, replace_once(data, before, after)) == INVALID_REQUEST
    assert scene.uses == 0


@pytest.mark.parametrize(
    "value",
    [
        "18.000000000000004", "1e300", "9007199254740992.0", "1e400", "NaN", "Infinity", "-Infinity", "9007199254740992", "9" * 5000,
        "0x12", "018", "+18", "18,", "null", "{}", '{"v": 18}', "[[18]]", "[18.000000000000004]",
        "tru", '"\\ud800"', "[" * 5000, "[" * 40 + "]" * 40,
    ],
    ids=lambda value: value[:12],
)  # fmt: skip
def test_values_that_two_readers_take_for_two(scene: Scene, value: str) -> None:
    data = replace_once(octets_of(scene.body()), '"value": 18', f'"value": {value}')
    assert quickly(scene, data) == INVALID_REQUEST
    assert scene.uses == 0


@pytest.mark.parametrize("value", ["18.0", "1.8e1", "180E-1"])
def test_whole_number_is_an_integer(scene: Scene, value: str) -> None:
    """JSON Schema 2020-12, 4.2.3: a number with a zero fraction is an integer; Python floats, R and Lua write it so."""
    data = replace_once(octets_of(scene.body()), '"value": 18', f'"value": {value}')
    made = scene.ask(data)
    assert made.status == 201, made.body
    assert made.json["proof"]["publicSignals"][5] == "18"
    again = scene.ask(replace_once(octets_of(scene.body()), '"value": 18', '"value": 18.5'))
    assert again.outcome == (422, "PREDICATE_UNSUPPORTED")


def test_octets_that_are_no_json(scene: Scene) -> None:
    good = octets_of(scene.body())
    for data in (
        b"", b"null", b"[]", b'""', b"{", good[:-1], good + b"x", b"\xef\xbb\xbf" + good, good + good, b"\x00" + good,
        good.decode().encode("utf-16"), good.replace(b"age", b"ag\xff"), good.replace(b"age", b"ag\xc0\xa5"),
        b"[" * 5000 + b"]" * 5000, b'{"a":' * 5000, b'{"a":' * 40 + b"1" + b"}" * 40,
    ):  # fmt: skip
        assert quickly(scene, data) == INVALID_REQUEST, data[:40]
    assert scene.uses == 0


def test_64_kib_and_not_an_octet_more(scene: Scene) -> None:
    good = octets_of(scene.body())
    assert quickly(scene, good + b" " * (LIMIT + 1 - len(good))) == TOO_LARGE
    assert quickly(scene, b"9" * (LIMIT + 1)) == TOO_LARGE
    assert scene.uses == 0
    assert scene.ask(good + b" " * (LIMIT - len(good))).status == 201


def test_another_media_type(scene: Scene) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jose", "application/cbor"):
        headers = scene.authorize(scene.agent) | {"Content-Type": kind}
        assert scene.ask(headers=headers).outcome == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_one_token_in_many_spellings(scene: Scene) -> None:
    """White space, order and escapes are no part of the signed form."""
    body = scene.body()
    body["ibct"] = dict(reversed(body["ibct"].items()))
    spelled = (
        json.dumps(body, indent=1, ensure_ascii=True).replace('"nonce"', '"\\u006eonce"').replace("urn:", "\\u0075rn:")
    )
    assert scene.ask(spelled.encode()).status == 201


def test_two_forms_of_one_text_are_two_tokens(scene: Scene) -> None:
    """JCS does not normalise; a signature over the composed form is none over the decomposed."""
    nonce = "caf\u00e9-" + "n" * 16
    token = scene.token(nonce=nonce)
    other = unicodedata.normalize("NFD", nonce)
    assert other != nonce
    assert scene.ask(scene.body(ibct=token | {"nonce": other})).outcome == INVALID
    assert scene.ask(scene.body(ibct=token)).status == 201
    assert scene.ask(scene.body(ibct=scene.token(nonce=other))).status == 201


def test_lengths_of_a_nonce(scene: Scene) -> None:
    for nonce, outcome in (
        ("n" * 15, INVALID),
        ("n" * 257, INVALID),
        ("\u00e9" * 129, INVALID),
        ("n" * 16, (201, None)),
        ("m" * 256, (201, None)),
    ):
        assert scene.ask(scene.body(ibct=scene.token(nonce=nonce))).outcome == outcome


# What a lax parser would take for a time; the first is the seconds of now.
TIMES = [
    "{:.0f}", "2026-W02-1T00:00:00Z", "2026-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-05T24:00:00Z",
    "2026-01-05T09:00:60Z", "2026-01-05T09:00:00", "2026-01-05 09:00:00Z", "2026-01-05", "20260105T090000Z", "2026-1-5T9:0:0Z",
    "2026-01-05T09:00:00+25:00", "2026-01-05T09:00:00+0000", "2026-01-05T09:00:00 Z", " 2026-01-05T09:00:00Z", "2026-01-05T09:00:00Z\n",
    "\uff12026-01-05T09:00:00Z", "2026-005T09:00:00Z", "now", "0", "1767603600", "-1", "1e9", "99999-01-01T00:00:00Z",
]  # fmt: skip


@pytest.mark.parametrize("text", TIMES, ids=repr)
@pytest.mark.parametrize("member", ["issuedAt", "expiresAt"])
def test_times_that_are_none(scene: Scene, member: str, text: str) -> None:
    token = scene.signed(scene.unsigned() | {member: text.format(time.time())})
    assert scene.ask(scene.body(ibct=token)).outcome == INVALID


def test_a_signature_that_is_none(scene: Scene) -> None:
    token = scene.token()
    good = token["proofValue"]
    raw = from_base58(good)
    for text in (
        "1", "z", good[:-1], good + "1", "1" + good, "m" + good, "u" + good, "f" + raw.hex(), raw.hex(), "zz" + good,
        good[:60] + "0" + good[61:], good + "\n", " " + good, good[:40] + " " + good[40:], base58(bytes(64)),
        base58(b"\xff" * 64), base58(raw[:63]), base58(raw + b"\0"), "1" * 64, "z" * 90, "2" * 91, "2" * 60_000,
    ):  # fmt: skip
        assert quickly(scene, scene.body(ibct=token | {"proofValue": text})) == INVALID, text[:20]
    assert scene.uses == 0
    assert scene.ask(scene.body(ibct=token)).status == 201


def test_a_signature_bare_and_as_multibase(scene: Scene) -> None:
    """Also where a bare one begins with z, as one in 300 does, or with zero bytes."""
    for form in ("{}", "z{}"):
        token = scene.token()
        assert scene.ask(scene.body(ibct=token | {"proofValue": form.format(token["proofValue"])})).status == 201
    token = like(scene, lambda text: text.startswith("z"))
    assert scene.ask(scene.body(ibct=token)).status == 201
    token = like(scene, lambda text: text.startswith("z"))
    assert scene.ask(scene.body(ibct=token | {"proofValue": "z" + token["proofValue"]})).status == 201
    for form in ("{}", "z{}"):
        token = like(scene, lambda text: text.startswith("1"))
        assert scene.ask(scene.body(ibct=token | {"proofValue": form.format(token["proofValue"])})).status == 201


def like(scene: Scene, wanted: Any) -> dict[str, str]:
    """A token whose signature happens to look as wanted."""
    for _ in range(100_000):
        token = scene.token()
        if wanted(token["proofValue"]):
            return token
    raise RuntimeError("no such signature")


def test_s_plus_l(scene: Scene) -> None:
    """The malleated signature is the same for a lax verifier, and another request for anyone who counts them."""
    order = 2**252 + 27742317777372353535851937790883648493
    token = scene.token()
    raw = from_base58(token["proofValue"])
    scalar = int.from_bytes(raw[32:], "little") + order
    malleated = raw[:32] + scalar.to_bytes(32, "little")
    assert scene.ask(scene.body(ibct=token | {"proofValue": base58(malleated)})).outcome == INVALID
    assert scene.ask(scene.body(ibct=token)).status == 201


def test_signed_by_anybody_else_or_over_anything_else(scene: Scene) -> None:
    people, unsigned = scene.people, scene.unsigned()
    strangers = [SigningKey.generate(), people.aki.key, people.ivo.key, people.mallory.key]
    if scene.holder.recovery is not None:
        strangers.append(scene.holder.recovery)
    for key in strangers:
        assert scene.ask(scene.body(ibct=signed(unsigned, key))).outcome == INVALID
    over = {
        "with an empty proofValue": canonical(unsigned | {"proofValue": ""}),
        "not canonical": json.dumps(unsigned).encode(),
        "prefixed": b"didauth:v1 " + canonical(unsigned),
        "hashed": hashlib.sha256(canonical(unsigned)).digest(),
        "nothing": b"",
    }
    for name, data in over.items():
        text = base58(scene.holder.key.sign(data).signature)
        assert scene.ask(scene.body(ibct=unsigned | {"proofValue": text})).outcome == INVALID, name
    assert scene.uses == 0


def test_a_challenge_that_is_a_token_is_not_offered(scene: Scene) -> None:
    """A naive client signs what it is given; so no challenge of this service can be read as a token, whatever is asked for."""
    for query in ("", "&purpose=prove", "&bodyHash=" + "A" * 43):
        answer = scene.target.wire.call("GET", f"/auth/challenge?did={scene.holder.did}{query}")
        assert answer.status == 200
        assert answer.json["challenge"].startswith("didauth:v1 ")
    for purpose in ("%7B", "InvocationBoundCapabilityToken", "x%20y"):
        answer = scene.target.wire.call("GET", f"/auth/challenge?did={scene.holder.did}&purpose={purpose}")
        assert answer.status == 400


WAITS = {
    "-1": 400,
    "1.5": 400,
    "1.0": 201,
    "true": 400,
    '"5"': 400,
    "null": 400,
    "[]": 400,
    "1e3": 201,
    "0": 201,
    "1000000000": 201,
}


@pytest.mark.parametrize("wait", WAITS, ids=repr)
def test_how_long_to_wait(scene: Scene, wait: str) -> None:
    data = replace_once(octets_of(scene.body(syncWaitMs=77)), '"syncWaitMs": 77', f'"syncWaitMs": {wait}')
    began = time.monotonic()
    assert scene.ask(data).status == WAITS[wait]
    # The longest wait is thirty seconds.
    assert time.monotonic() - began < 25


@pytest.mark.parametrize("flag", ['"true"', "1", "0", "null", "[]"])
def test_whether_to_anchor(scene: Scene, flag: str) -> None:
    data = replace_once(octets_of(scene.body(anchor=True)), '"anchor": true', f'"anchor": {flag}')
    assert scene.ask(data).outcome == INVALID_REQUEST


def test_random_edits_of_a_good_request(scene: Scene) -> None:
    """Whatever single byte is changed: a refusal in the one shape, or exactly the request that was meant."""
    dice = random.Random(20260105)
    good = octets_of(scene.body())
    for _ in range(max(60, rounds(60))):
        data = bytearray(good)
        data[dice.randrange(len(data))] = dice.randrange(256)
        answer = scene.ask(bytes(data))
        assert answer.status in (201, 400, 403, 404, 409, 422), answer.body
        assert answer.status == 201 or answer.code
    headers = scene.authorize(scene.agent)
    assert scene.target.wire.call("GET", PROOFS, headers=headers).outcome == (405, "METHOD_NOT_ALLOWED")
