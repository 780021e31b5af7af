"""What is left behind: no attribute value, no refused threshold, no token, no key in a file, a log line, an error, or a row that
people read (openapi/DECISIONS.md §5.1)."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import PREFIX, Answer, base58
from tests.fault import service_process
from tests.fault.service_process import API_KEY


def number() -> int:
    """An income that stands nowhere by chance."""
    return 10**14 + secrets.randbelow(9 * 10**14)


@dataclass
class Life:
    """Whose secrets to look for, and where."""

    scene: Scene
    log: Path
    secret: dict[str, bytes] = field(default_factory=dict)
    # What a holder agreed to have proved is told; it may stand in the proof, and in the row that keeps it.
    told: dict[str, bytes] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)

    def find_secrets(self, place: str, content: bytes, *, also_told: bool = False) -> list[str]:
        looked_for = self.secret | (self.told if also_told else {})
        return [f"{name} in {place}" for name, text in looked_for.items() if text in content]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("traces")
    environment = {"IDENTITY_LOG_LEVEL": "debug", "IDENTITY_LOG_FORMAT": "json"}
    with service_process.service(folder / "data", environment=environment) as running:
        people = People.create(Target(running.wire, running.stranger, folder / "data", 1))
        scene = Scene.create(people)
        life = Life(scene, running.log)
        lived(life)
        yield life


def lived(life: Life) -> None:
    """Proofs, refusals of every kind, verifications, revocations."""
    scene, people = life.scene, life.scene.people
    income, country = number(), "canary-" + secrets.token_hex(8)
    scene.credential_id = people.issue(people.hana, income=income, country=country)
    life.secret |= {"the income": str(income).encode(), "the country": country.encode()}
    asked, refused, pinned, guess = (
        number() // 10**6,
        income + 1 + number(),
        number() + income,
        "guess-" + secrets.token_hex(8),
    )
    life.told["a threshold that was proved"] = str(asked).encode()
    for name, value in (("a refused threshold", refused), ("a refused pin", pinned), ("a guess", guess)):
        life.secret[name] = str(value).encode()
    bodies = [
        scene.body(about=("income", "gte", asked)),
        scene.body(about=("income", "gte", refused)),
        scene.body(about=("income", "gte", pinned), ibct=scene.token(action="zkp.prove.income.gte")),
        scene.body(about=("country", "eq", guess)),
        scene.body(about=("age", "gte", guess)),
        scene.body(about=("income", "gte", refused), ibct=scene.token(action="zkp.prove.age.gte")),
        scene.body(about=("income", "gte", refused), ibct=scene.token(key=people.mallory.key)),
        scene.body(about=("income", "gte", refused), credentialId="urn:uuid:none"),
    ]
    for body in [*bodies, *bodies[:2]]:
        life.answers.append(scene.ask(body))
        life.secret[f"signature {len(life.answers)}"] = body["ibct"]["proofValue"].encode()
    assert [answer.status for answer in life.answers[:4]] == [201, 422, 422, 422]
    proof = life.answers[0].json
    stored = f"/zkp/proofs/{proof['proofId']}"
    for expected in ({}, {"predicate": {"attributeName": "income", "type": "gte", "value": refused}}):
        for headers in (scene.authorize(people.mallory), {"X-API-Key": API_KEY}):
            scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proof["proof"] | expected, headers)
            scene.target.wire.call("POST", f"{PREFIX}{stored}/verify", expected, headers)
    scene.act(people.hana, "POST", f"{stored}/revoke", "prove", {})
    scene.revoke()
    people.operate("POST", f"/credentials/{scene.credential_id}/status", {"purpose": "revocation", "value": True})
    for who in (people.hana, people.aki, people.ivo, people.mallory):
        life.secret[f"access token of {who.did[-6:]}"] = people.bearer(who).rpartition(".")[2].encode()
        seed = bytes(who.key)
        life.secret[f"key of {who.did[-6:]}"] = seed
        life.secret[f"key of {who.did[-6:]} as text"] = base58(b"\x80\x26" + seed).encode()
    life.secret["the API key"] = API_KEY.encode()


def test_the_search_finds_what_is_there(life: Life) -> None:
    assert life.find_secrets("x", b"..." + life.secret["the country"] + b"...") == ["the country in x"]
    shown = life.scene.act(life.scene.holder, "GET", f"/credentials/{life.scene.credential_id}", "read")
    assert set(life.find_secrets("the holder's own", shown.body)) == {
        "the income in the holder's own",
        "the country in the holder's own",
    }
    assert len(life.secret) > 20


def test_no_file_of_the_data_directory(life: Life) -> None:
    files = [path for path in life.scene.target.data_dir.rglob("*") if path.is_file()]
    assert {"ledger.sqlite", "identity.sqlite", "identity.sqlite-wal"} <= {path.name for path in files}
    assert [hit for path in files for hit in life.find_secrets(path.name, path.read_bytes())] == []
    index = b"".join(path.read_bytes() for path in files)
    assert life.answers[0].json["proofId"].encode() in index


def test_no_line_of_the_log(life: Life) -> None:
    log = life.log.read_bytes()
    assert b"uvicorn" in log
    assert life.find_secrets("the log", log, also_told=True) == []


def test_no_answer(life: Life) -> None:
    assert [hit for answer in life.answers for hit in life.find_secrets(str(answer.outcome), answer.body)] == []


@pytest.mark.parametrize(
    "path",
    ["/dashboard/timeline?limit=200", "/verifications/history?limit=200", "/audit?limit=1000", "/verifications/stats"],
)
def test_no_row_that_people_read(life: Life, path: str) -> None:
    scene = life.scene
    everybody = [scene.authorize(who) for who in (scene.people.aki, scene.people.ivo, scene.people.mallory)]
    readers = [{"X-API-Key": API_KEY}, *(everybody if path != "/audit?limit=1000" else [])]
    for headers in readers:
        answer = scene.target.wire.call("GET", PREFIX + path, None, headers)
        assert answer.status == 200, answer.body
        assert life.find_secrets(path, answer.body, also_told=True) == []


def test_the_timeline_tells_refusals_without_numbers(life: Life) -> None:
    scene = life.scene
    mine = scene.act(scene.holder, "GET", "/dashboard/timeline?limit=200", "read")
    if mine.status != 200:
        mine = scene.target.wire.call(
            "GET", f"{PREFIX}/dashboard/timeline?limit=200", None, scene.authorize(scene.holder)
        )
    rows: list[dict[str, Any]] = mine.json["items"]
    assert {"proof.generated", "proof.refused", "proof.revoked", "delegation.revoked"} <= {row["kind"] for row in rows}
    assert {"PREDICATE_NOT_SATISFIED", "SCOPE_MISMATCH"} <= {row["code"] for row in rows}
    assert life.find_secrets("the timeline", json.dumps(rows).encode(), also_told=True) == []


def test_the_audit_names_the_key_and_the_target(life: Life) -> None:
    unkeyed = hashlib.sha256(API_KEY.encode()).hexdigest()[:12]
    lines = life.scene.people.operate("GET", "/audit?limit=1000")["items"]
    read = [json.loads(line["line"]) for line in lines]
    (fingerprint,) = {line["fingerprint"] for line in read if line["operation"] == "issueCredential"}
    assert len(bytes.fromhex(fingerprint)) == 6
    assert unkeyed not in json.dumps(lines)
    assert any(line["operation"] == "generateDelegatedProof" for line in read)
