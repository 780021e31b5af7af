"""A wallet encrypts what it presents to the key of the request, by raw bytes; what is not encrypted so is refused.

OpenID4VP 1.0 §8.3, RFC 7516, RFC 7518 §4.6 and §5.3. The wallet encrypts with ``cryptography`` alone.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash

from plugins.wallets.tests.test_http_presentations import ADULT, Asked, Story
from plugins.wallets.tests.test_http_wallets import DROP, decoded, member, refusal
from tests.attack.conftest import Target
from tests.attack.stranger import Answer, base64url

REFUSED = (400, "invalid_request")
BITS = {"A128GCM": 128, "A256GCM": 256}


@pytest.fixture(scope="module")
def story(targets: Callable[[int], Target]) -> Story:
    return Story.open(targets(1))


def key_of(asked: Asked) -> dict[str, str]:
    (key,) = asked.said["client_metadata"]["jwks"]["keys"]
    found: dict[str, str] = key
    return found


def point(key: ec.EllipticCurvePrivateKey) -> dict[str, str]:
    numbers = key.public_key().public_numbers()
    x, y = (base64url(one.to_bytes(32)) for one in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def public(jwk: dict[str, str]) -> ec.EllipticCurvePublicKey:
    x, y = (int.from_bytes(decoded(jwk[name])) for name in "xy")
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def counted(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def encrypted(to: dict[str, str], said: Any, *, enc: str = "A256GCM", **head: Any) -> str:
    """A compact JWE to the key; ``said`` is JSON, or bytes as they are. ``head`` changes the header, ``DROP`` leaves out."""
    mine = ec.generate_private_key(ec.SECP256R1())
    header = {"alg": "ECDH-ES", "enc": enc, "kid": to["kid"], "epk": point(mine)} | head
    header = {name: value for name, value in header.items() if value is not DROP}
    apu, apv = (decoded(header[name]) if name in header else b"" for name in ("apu", "apv"))
    size = BITS[enc]
    info = counted(enc.encode()) + counted(apu) + counted(apv) + size.to_bytes(4)
    shared = mine.exchange(ec.ECDH(), public(to))
    secret = ConcatKDFHash(hashes.SHA256(), size // 8, info).derive(shared)
    first, nonce = member(header), os.urandom(12)
    box = AESGCM(secret).encrypt(nonce, said if isinstance(said, bytes) else json.dumps(said).encode(), first.encode())
    return ".".join((first, "", base64url(nonce), base64url(box[:-16]), base64url(box[-16:])))


def send(story: Story, asked: Asked, response: str) -> Answer:
    return story.present(asked, DROP, state=DROP, response=response)


def answering(story: Story, asked: Asked, **change: Any) -> dict[str, Any]:
    said = {"vp_token": story.build_presentation(asked), "state": asked.said["state"]} | change
    return {name: value for name, value in said.items() if value is not DROP}


@pytest.mark.parametrize("enc", BITS)
def test_encrypted_answer_is_accepted_once(story: Story, enc: str) -> None:
    asked = story.ask_for(encrypted=True)
    assert asked.said["response_mode"] == "direct_post.jwt"
    assert enc in asked.said["client_metadata"]["encrypted_response_enc_values_supported"]
    key = key_of(asked)
    assert (key["use"], key["alg"], set(key)) == ("enc", "ECDH-ES", {"kty", "crv", "x", "y", "use", "alg", "kid"})
    parties = {"apu": base64url(os.urandom(16)), "apv": base64url(asked.said["nonce"].encode())}
    response = encrypted(key, answering(story, asked), enc=enc, **parties)
    assert send(story, asked, response).status == 200
    (one,) = story.result(asked.id).json["credentials"]
    assert one["claims"]["age_equal_or_over"] == {"18": True}
    assert refusal(send(story, asked, response)) == (404, "invalid_request")


def test_each_request_has_key_of_its_own_that_is_not_in_database(story: Story) -> None:
    first, second = story.ask_for(encrypted=True), story.ask_for(encrypted=True)
    assert key_of(first)["x"] != key_of(second)["x"]
    assert refusal(send(story, second, encrypted(key_of(first), answering(story, second)))) == REFUSED
    assert refusal(send(story, second, encrypted(key_of(first), answering(story, first)))) == REFUSED
    # A plain request has none, and takes nothing that is encrypted.
    plain = story.ask_for()
    assert plain.said["response_mode"] == "direct_post"
    assert plain.said["client_metadata"].keys() == {"vp_formats_supported"}
    assert refusal(send(story, plain, encrypted(key_of(first), answering(story, plain)))) == REFUSED
    found = b"".join(path.read_bytes() for path in story.issuer.target.data_dir.rglob("*") if path.is_file())
    assert key_of(first)["x"].encode() not in found


def test_a_request_that_asks_for_encryption_takes_nothing_else(story: Story) -> None:
    asked = story.ask_for(encrypted=True)
    assert refusal(story.present(asked, story.build_presentation(asked))) == REFUSED
    assert refusal(send(story, asked, json.dumps(answering(story, asked)))) == REFUSED
    assert story.result(asked.id).json["state"] == "pending"


Made = Callable[[Story, Asked], str]


def changed(text: str, place: int) -> str:
    parts = text.split(".")
    data = bytearray(decoded(parts[place]))
    data[0] ^= 1
    parts[place] = base64url(bytes(data))
    return ".".join(parts)


def elsewhere(curve: ec.EllipticCurve, name: str, size: int) -> dict[str, str]:
    numbers = ec.generate_private_key(curve).public_key().public_numbers()
    x, y = (base64url(one.to_bytes(size)) for one in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": name, "x": x, "y": y}


def headed(**head: Any) -> Made:
    return lambda story, asked: encrypted(key_of(asked), answering(story, asked), **head)


def saying(made: Callable[[Story, Asked], Any]) -> Made:
    return lambda story, asked: encrypted(key_of(asked), made(story, asked))


HOSTILE: dict[str, Made] = {
    "nothing": lambda story, asked: "x",
    "four dots": lambda story, asked: "....",
    "no header": lambda story, asked: "." + headed()(story, asked).partition(".")[2],
    "a header of no object": lambda story, asked: member([]) + "." + headed()(story, asked).partition(".")[2],
    "another header": lambda story, asked: changed(headed()(story, asked), 0),
    "another nonce": lambda story, asked: changed(headed()(story, asked), 2),
    "other bytes": lambda story, asked: changed(headed()(story, asked), 3),
    "another tag": lambda story, asked: changed(headed()(story, asked), 4),
    "a short tag": lambda story, asked: headed()(story, asked)[:-8],
    "an encrypted key": lambda story, asked: headed()(story, asked).replace("..", ".AAAA.", 1),
    "six parts": lambda story, asked: headed()(story, asked) + ".x",
    "not ASCII": lambda story, asked: headed()(story, asked) + "é",
    "alg dir": headed(alg="dir"),
    "alg ECDH-ES+A256KW": headed(alg="ECDH-ES+A256KW"),
    "alg RSA1_5": headed(alg="RSA1_5"),
    "alg none": headed(alg="none"),
    "no alg": headed(alg=DROP),
    "alg as a list": headed(alg=["ECDH-ES"]),
    "enc A128CBC-HS256": lambda story, asked: relabelled(headed()(story, asked), enc="A128CBC-HS256"),
    "no epk": headed(epk=DROP),
    "no kid": headed(kid=DROP),
    "another kid": headed(kid="2"),
    "compressed": lambda story, asked: encrypted(
        key_of(asked), zlib.compress(json.dumps(answering(story, asked)).encode())[2:-4], zip="DEF"
    ),
    "crit": headed(crit=["exp"], exp=1),
    "a key from elsewhere": headed(jku="https://evil.example/keys"),
    "epk as a text": headed(epk="x"),
    "epk with its secret": headed(epk=elsewhere(ec.SECP256R1(), "P-256", 32) | {"d": "AAAA"}),
    "epk of another curve": headed(epk=elsewhere(ec.SECP384R1(), "P-384", 48)),
    "epk of another curve by our name": headed(epk=elsewhere(ec.SECP384R1(), "P-256", 48)),
    "epk off the curve": headed(
        epk={"kty": "EC", "crv": "P-256", "x": base64url(bytes(32)), "y": base64url(bytes(32))}
    ),
    "epk of numbers": headed(epk={"kty": "EC", "crv": "P-256", "x": 1, "y": 2}),
    "apu as a number": lambda story, asked: relabelled(headed()(story, asked), apu=1),
    "bytes": saying(lambda story, asked: b"\xff\xfe"),
    "a list": saying(lambda story, asked: []),
    "two meanings": saying(lambda story, asked: b'{"state":"a","state":"b"}'),
    "no token": saying(lambda story, asked: answering(story, asked, vp_token=DROP)),
    "a token as text": saying(
        lambda story, asked: answering(story, asked, vp_token=json.dumps(story.build_presentation(asked)))
    ),
    "no state": saying(lambda story, asked: answering(story, asked, state=DROP)),
    "another state": saying(lambda story, asked: answering(story, asked, state="x")),
    "a state as a list": saying(lambda story, asked: answering(story, asked, state=[asked.said["state"]])),
    "of another wallet's": saying(
        lambda story, asked: answering(story, asked, vp_token=story.build_presentation(story.ask_for()))
    ),
    "not what was asked for": saying(
        lambda story, asked: answering(story, asked, vp_token=story.build_presentation(asked, "age"))
    ),
    "no without the state": saying(lambda story, asked: {"error": "access_denied"}),
}


def relabelled(text: str, **head: Any) -> str:
    """The same under a header that says something else."""
    first, _, rest = text.partition(".")
    return f"{member(json.loads(decoded(first)) | head)}.{rest}"


@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE.keys())
def test_other_encryption_is_refused(story: Story, made: Made) -> None:
    asked = story.ask_for(encrypted=True)
    assert refusal(send(story, asked, made(story, asked))) == REFUSED
    assert story.result(asked.id).json["state"] == "pending"


def test_a_wallet_says_no_encrypted_or_not(story: Story) -> None:
    for secretly in (True, False):
        asked = story.ask_for(encrypted=True)
        said = {"error": "access_denied", "state": asked.said["state"]}
        answer = send(story, asked, encrypted(key_of(asked), said)) if secretly else story.present(asked, DROP, **said)
        assert answer.status == 200, answer.body
        assert story.result(asked.id).json["state"] == "declined"


def test_a_large_presentation_is_read(story: Story) -> None:
    """joserfc's own limit would be 64 KiB."""
    asked = story.ask_for(encrypted=True)
    said = answering(story, asked, padding="x" * 100_000)
    assert send(story, asked, encrypted(key_of(asked), said)).status == 200
    assert ADULT[0] in story.result(asked.id).json["credentials"][0]["claims"]
