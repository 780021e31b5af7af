"""Canaries: no private key and no API key of a run shows in a file, a log, a metric or an error; and no log line is forged.

openapi/DECISIONS.md §5.1. The service runs with debug logging and plugins that break, so that failures talk.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.attack.stranger import (
    LEAVE,
    PREFIX,
    Answer,
    Holder,
    add_key,
    base58,
    base64url,
    from_base58,
    header,
    public,
    recovery_body,
    rotation,
    service,
    signing_key,
)
from tests.fault import service_process
from tests.fault.service_process import API_KEY, Running

LONGEST_LINE = 8192
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FORGERY = 'x\r\n{"level":"info","message":"FORGED"}\x1b[2J\u2028\u202eFORGED'


@dataclass
class Story:
    """What happened, what was secret about it, and everything that came out."""

    running: Running
    data_dir: Path
    fault: Path
    spill: str
    secrets: dict[str, bytes] = field(default_factory=dict)
    errors: list[Answer] = field(default_factory=list)

    def keep(self, name: str, private: str) -> None:
        """A private key in multibase: its text and the bytes in it."""
        self.secrets[f"{name}, text"] = private.encode()
        self.secrets[f"{name}, bytes"] = from_base58(private[1:])[2:]

    def refused(self, answer: Answer) -> Answer:
        assert answer.status >= 400, answer.body
        self.errors.append(answer)
        return answer


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("secrets")
    spill = base64url(os.urandom(32))
    environment = {
        "IDENTITY_LOG_LEVEL": "debug",
        "IDENTITY_LOG_FORMAT": "json",
        "IDENTITY_PLUGINS_MODULES": "tests.fault.faulty_plugin",
        "IDENTITY_PLUGINS_DISABLED": "did_ids",
        "IDENTITY_LEDGER_BACKEND": "faulty",
        "IDENTITY_KEY_STORES": "faulty,sql,env",
        "IDENTITY_PLUGINS_RETRY_SECONDS": "0.01",
        "IDENTITY_TEST_FAULT": str(folder / "fault"),
        # A ledger gets no secrets and its words may be logged; a key store's may not. Neither writes lines of its own.
        "IDENTITY_TEST_SPILL_LEDGER": FORGERY,
        "IDENTITY_TEST_SPILL_KEYS": spill + FORGERY,
    }
    with service_process.service(folder / "data", environment=environment) as running:
        found = Story(running, folder / "data", folder / "fault", spill)
        found.secrets["what the plugin spills"] = spill.encode()
        found.secrets["the API key of the environment"] = API_KEY.encode()
        live(found)
        yield found


def live(story: Story) -> None:
    """A life with every way in which a secret comes in or goes out."""
    stranger, wire = story.running.stranger, story.running.wire
    hana = stranger.holder(
        additionalKeys=[
            {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]},
            {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]},
        ],
        storeSecrets=True,
    )
    for purpose, key in hana.created["keys"].items():
        story.keep(purpose, key["privateKey"])
    idempotent = {"X-API-Key": API_KEY, "Idempotency-Key": "canary-" + os.urandom(8).hex()}
    story.secrets["an Idempotency-Key"] = idempotent["Idempotency-Key"].encode()
    made = wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, idempotent)
    story.keep("a key of an idempotent answer", made.json["keys"]["authentication"]["privateKey"])
    assert wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, idempotent).body == made.body
    rotated = hana.act("rotate", rotation(hana.key_id))
    story.keep("a rotated key", rotated.json["newKey"]["privateKey"])
    hana.key = signing_key(rotated.json["newKey"]["privateKey"])
    own = SigningKey.generate()
    story.secrets["a key that never left its owner"] = bytes(own)
    recovered = hana.act("recover", recovery_body(public(own)))
    story.keep("the second recovery key", recovered.json["keys"]["recovery"]["privateKey"])
    hana.key = own
    minted = wire.call("POST", f"{PREFIX}/admin/api-keys", {"name": "canary", "admin": True}, {"X-API-Key": API_KEY})
    story.secrets["a minted API key"] = minted.json["apiKey"].encode()
    successor = wire.call(
        "POST", f"{PREFIX}/admin/api-keys/{minted.json['record']['id']}/rotate", {}, {"X-API-Key": API_KEY}
    )
    story.secrets["a rotated API key"] = successor.json["apiKey"].encode()
    mistakes(story, hana)
    failures(story, hana)
    assert hana.act("deactivate", LEAVE | {"reason": FORGERY}).status == 200


def mistakes(story: Story, hana: Holder) -> None:
    """People put secrets where they do not belong. The refusal must not carry them on."""
    wire, stranger = story.running.wire, story.running.stranger
    private = multibase_secret(hana.key)
    story.secrets["a private key in the wrong place"] = private.encode()
    wrong = "idk_live_" + base64url(os.urandom(32))
    story.secrets["an API key that is none"] = wrong.encode()
    story.refused(wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, {"X-API-Key": wrong}))
    story.refused(wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, {"Authorization": f"Digest {wrong}"}))
    story.refused(hana.act("update", add_key(private)))
    story.refused(hana.act("rotate", rotation(hana.key_id, private)))
    story.refused(hana.act("recover", recovery_body(private), key=hana.key))
    story.refused(stranger.create({"method": "ids", "privateKey": private}))
    own = {"type": "Ed25519", "publicKeyMultibase": private, "purpose": ["authentication"]}
    story.refused(stranger.create({"method": "ids", "options": {"publicKeys": [own]}}))
    story.refused(stranger.create({"method": "ids", "options": {"publicKeys": [{"privateKey": private}]}}))
    story.refused(stranger.create(b'{"method":"ids","privateKey":"' + private.encode() + b'",}'))
    story.refused(wire.call("GET", f"{PREFIX}/nowhere?key={wrong}"))
    story.refused(wire.call("GET", f"{PREFIX}/dids/{hana.did}?api_key={wrong}"))
    story.refused(hana.send("update", service(), f"DIDAuth {private}"))


def failures(story: Story, hana: Holder) -> None:
    """Whatever a plugin says when it breaks."""
    for word in ("ledger:spill", "keys:spill"):
        story.fault.write_text(word)
        for _ in range(3):
            story.refused(hana.act("update", service(), key=None) if word.startswith("ledger") else unknown_key(story))
    story.fault.write_text("")
    service_process.eventually(lambda: story.running.stranger.create({"method": "ids"}).status == 201, "it recovers")


def unknown_key(story: Story) -> Answer:
    return story.running.wire.call("GET", f"{PREFIX}/dids", None, {"X-API-Key": os.urandom(16).hex()})


def multibase_secret(key: SigningKey) -> str:
    return "z" + base58(b"\x80\x26" + bytes(key))


def spellings(secret: bytes) -> dict[str, bytes]:
    """The forms in which a secret may stand somewhere."""
    plain = base64.b64encode(secret)
    return {
        "as it is": secret,
        "hex": secret.hex().encode(),
        "HEX": secret.hex().upper().encode(),
        "base64": plain.rstrip(b"="),
        "base64url": base64.urlsafe_b64encode(secret).rstrip(b"="),
        "base58": base58(secret).encode(),
        "reversed": secret[::-1],
    }


def found_in(story: Story, place: str, content: bytes, *, but: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{name} ({form}) in {place}"
        for name, secret in story.secrets.items()
        if name not in but
        for form, spelled in spellings(secret).items()
        if spelled in content
    ]


def test_the_search_finds_what_is_there(story: Story) -> None:
    secret = story.secrets["a minted API key"]
    assert found_in(story, "x", b"..." + base64.b64encode(secret) + b"...")
    assert found_in(story, "x", b"..." + secret.hex().encode() + b"...")
    assert len(story.secrets) > 20
    assert len(story.errors) > 15


def test_no_file_of_the_data_directory_holds_a_secret(story: Story) -> None:
    files = [path for path in story.data_dir.rglob("*") if path.is_file()]
    assert {"ledger.sqlite", "identity.sqlite"} <= {path.name for path in files}
    found = [hit for path in files for hit in found_in(story, path.name, path.read_bytes())]
    assert found == []


def test_files_that_open_something_are_the_owners_alone(story: Story) -> None:
    for path in story.data_dir.rglob("*"):
        if path.suffix == ".key":
            assert path.stat().st_mode & 0o077 == 0, path
    assert story.data_dir.stat().st_mode & 0o002 == 0


def test_no_log_line_holds_a_secret(story: Story) -> None:
    log = story.running.log.read_bytes()
    assert log
    assert found_in(story, "the log", log) == []


def test_no_metric_and_no_page_holds_a_secret(story: Story) -> None:
    for path in ("/metrics", "/health", "/ready", "/version", "/openapi.json", f"{PREFIX}/events?limit=200"):
        answer = story.running.wire.call("GET", path, None, {"X-API-Key": API_KEY})
        assert answer.status == 200, path
        assert found_in(story, path, answer.body) == []
    listed = story.running.wire.call("GET", f"{PREFIX}/admin/api-keys?limit=200", None, {"X-API-Key": API_KEY})
    assert found_in(story, "the list of API keys", listed.body) == []


def test_no_error_carries_a_secret_on(story: Story) -> None:
    found = [
        hit for answer in story.errors for hit in found_in(story, f"{answer.code}: {answer.body!r:.300}", answer.body)
    ]
    assert found == []


def test_answers_with_keys_are_not_stored_by_caches(story: Story) -> None:
    hana = story.running.stranger.holder()
    rotated = hana.act("rotate", rotation(hana.key_id))
    hana.key = signing_key(rotated.json["newKey"]["privateKey"])
    recovered = hana.act("recover", recovery_body(public(SigningKey.generate())))
    created = story.running.stranger.create({"method": "ids"})
    minted = story.running.wire.call(
        "POST", f"{PREFIX}/admin/api-keys", {"name": "n", "admin": True}, {"X-API-Key": API_KEY}
    )
    for answer in (rotated, recovered, created, minted):
        assert answer.status in (200, 201)
        assert answer.headers["cache-control"] == "no-store"


def test_log_is_one_json_object_per_line(story: Story) -> None:
    hana = story.running.stranger.holder(strictEvidence=False)
    wire = story.running.wire
    for value in ("a\x1b[31m", "FORGED", "x" * 64, "${jndi:ldap://x}", "%0d%0aFORGED", "a b", "{}", "\x7f"):
        wire.call("GET", hana.path(), None, {"X-Request-Id": value, "User-Agent": value})
    wire.call("GET", f"{PREFIX}/dids/did:ids:%0D%0AFORGED%1B%5B2J%E2%80%A8")
    wire.call("POST", f"{PREFIX}/admin/api-keys", {"name": FORGERY, "admin": True}, {"X-API-Key": API_KEY})
    value = header(hana.did, hana.key.sign(hana.challenge().encode()).signature)
    body = json.dumps(LEAVE | {"reason": FORGERY + "y" * 900}).encode()
    wire.call("DELETE", hana.path(), body, {"Authorization": value})
    text = story.running.log.read_text(encoding="utf-8")
    records: list[dict[str, Any]] = []
    for line in text.splitlines():
        assert len(line) <= LONGEST_LINE
        assert CONTROL.search(line) is None, line
        if line.startswith("{"):
            records.append(json.loads(line))
    assert any(record for record in records)
    assert not [record for record in records if record.get("message") == "FORGED"]
    assert not [line for line in text.splitlines() if line.startswith(('{"level":"info","message":"FORGED"', "FORGED"))]


def test_a_request_id_is_a_plain_word_or_ours(story: Story) -> None:
    for value in ("a\x1b[31m", "a b", "x" * 65, "a\x7fb", "", "a,b", "{}", "../x"):
        answer = story.running.wire.call("GET", "/health", None, {"X-Request-Id": value})
        if answer.status == 200:
            assert answer.headers["x-request-id"] != value
            assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", answer.headers["x-request-id"])
    assert (
        story.running.wire.call("GET", "/health", None, {"X-Request-Id": "plain-1"}).headers["x-request-id"]
        == "plain-1"
    )


def test_an_operators_act_is_recorded_by_fingerprint(story: Story) -> None:
    """The audit rows name the key by a keyed fingerprint, and never by itself or its hash, which weak keys could be tried against."""
    import hashlib

    digest = hashlib.sha256(API_KEY.encode())
    content = b"".join(path.read_bytes() for path in story.data_dir.glob("identity.sqlite*"))
    assert b'"fingerprint":"' in content
    assert digest.hexdigest()[:12].encode() not in content
    assert digest.digest()[:6] not in content
