"""Who is a caller, and what he may pile up: strangers with keys of their own making, DIDs that write without end, names of others.

Requests are bytes and plain JSON; nothing of the service's own code signs, names or counts here. The limits are written as
numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from nacl.signing import SigningKey

from tests import servers
from tests.attack.conftest import Target
from tests.attack.stranger import (
    LEAVE,
    PREFIX,
    Answer,
    Holder,
    Stranger,
    Wire,
    at_once,
    base64url,
    body_hash,
    header,
    public,
    recovery_body,
    rounds,
    service,
)
from tests.fault import service_process
from tests.fault.service_process import Running

FAILED = (401, "AUTH_FAILED")
FULL = (429, "QUOTA_EXCEEDED")
MINE: Any = [{"name": "age", "type": "integer"}]


def own_did_key(wire: Wire) -> Holder:
    """Return a did:key that was made locally and is not registered."""
    key = SigningKey.generate()
    return Holder(wire, f"did:key:{public(key)}", key, None, {})


def signed(who: Holder, purpose: str, body: Any) -> dict[str, str]:
    text = who.challenge(purpose, body_hash(body))
    return {"Authorization": header(who.did, who.key.sign(text.encode()).signature)}


def post(who: Holder, path: str, purpose: str, body: Any, **more: str) -> Answer:
    return who.wire.call("POST", f"{PREFIX}{path}", body, signed(who, purpose, body) | more)


def delegation(holder: Holder, agent: str, **more: Any) -> dict[str, Any]:
    return {
        "holderDid": holder.did,
        "agentDid": agent,
        "actions": ["zkp.prove.age.gte"],
        "autonomyLevel": 3,
        "expiresAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600)),
    } | more


# Strangers


def test_unregistered_did_gets_no_challenge_and_no_token(either: Target) -> None:
    mallory = own_did_key(either.wire)
    # It resolves, as every did:key does: what is refused is not told by resolving.
    assert mallory.resolve().status == 200
    for purpose in (None, "token", "delegate", "credential", "read"):
        assert mallory.ask(purpose).outcome == (404, "DID_NOT_FOUND")
    # Anyone who guesses the form of a challenge signs what he likes.
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 200))
    for text in (
        f"didauth:v1 {either.wire.url} {mallory.did} token {body_hash({})} {base64url(bytes(32))} {ends}",
        f"didauth:v1 {either.wire.url} {mallory.did} - - {base64url(bytes(32))} {ends}",
    ):
        signature = mallory.key.sign(text.encode()).signature
        for value in (header(mallory.did, signature), header(text, signature)):
            answer = either.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": value})
            assert answer.outcome == (404, "DID_NOT_FOUND")
            answer = either.wire.call(
                "POST", f"{PREFIX}/delegations", delegation(mallory, mallory.did), {"Authorization": value}
            )
            assert answer.status in (401, 404)


def test_a_did_key_that_was_registered_signs_in(either: Target) -> None:
    """By anyone who has an API key; its holder keeps the private key."""
    mallory = own_did_key(either.wire)
    key = {
        "type": "Ed25519VerificationKey2020",
        "publicKeyMultibase": public(mallory.key),
        "purpose": ["authentication"],
    }
    made = either.stranger.create({"method": "key", "options": {"publicKeys": [key]}})
    assert (made.status, made.json["did"]) == (201, mallory.did)
    answer = post(mallory, "/auth/token", "token", {})
    assert answer.status == 200, answer.body


def test_the_setting_lets_everybody_in_again(tmp_path: Path) -> None:
    with service_process.service(
        tmp_path / "data", environment={"IDENTITY_DID_REGISTERED_CALLERS": "false"}
    ) as running:
        assert post(own_did_key(running.wire), "/auth/token", "token", {}).status == 200


# Challenges


def rows(data_dir: Path, table: str) -> int:
    with closing(sqlite3.connect(f"file:{data_dir}/identity.sqlite?mode=ro", uri=True)) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_fetched_challenges_use_nothing_up(target: Target) -> None:
    hana = target.stranger.holder()
    before = rows(target.data_dir, "spent_challenges")
    for number in range(200):
        assert hana.ask("update", base64url(hashlib.sha256(str(number).encode()).digest())).status == 200
    assert rows(target.data_dir, "spent_challenges") == before
    assert hana.act("update", service()).status == 200
    assert rows(target.data_dir, "spent_challenges") == before + 1


def test_a_challenge_outlives_the_process_and_serves_once(tmp_path: Path) -> None:
    """Handed out before a kill, taken after the restart by one of two workers, spent for all."""
    with service_process.kept_port() as port:
        place = ("--port", str(port))
        running = service_process.start(tmp_path / "data", *place)
        try:
            hana = running.stranger.holder()
            early, other = hana.signed("update", service("early")), hana.signed("update", service("other"))
            running.kill()
            running = service_process.start(tmp_path / "data", *place, "--workers", "2")
            hana.wire = running.wire
            assert hana.send("update", service("early"), early).status == 200
            for _ in range(8):
                hana.wire.close()
                assert hana.send("update", service("early"), early).outcome == FAILED
            running.kill()
            running = service_process.start(tmp_path / "data", *place)
            hana.wire = running.wire
            assert hana.send("update", service("early"), early).outcome == FAILED
            assert hana.send("update", service("other"), other).status == 200
        finally:
            running.kill()


def test_challenge_of_another_installation_is_refused(tmp_path: Path) -> None:
    """Two installations, one name, one did:key that is registered at both."""
    named = {"IDENTITY_SERVER_PUBLIC_URL": "https://id.example"}
    with (
        service_process.kept_port() as first,
        service_process.kept_port() as second,
        service_process.service(tmp_path / "one", "--port", str(first), environment=named) as one,
        service_process.service(tmp_path / "two", "--port", str(second), environment=named) as two,
    ):
        mallory = own_did_key(one.wire)
        key = {
            "type": "Ed25519VerificationKey2020",
            "publicKeyMultibase": public(mallory.key),
            "purpose": ["authentication"],
        }
        for each in (one, two):
            assert each.stranger.create({"method": "key", "options": {"publicKeys": [key]}}).status == 201
        text = mallory.challenge("token", body_hash({}))
        signature = mallory.key.sign(text.encode()).signature
        for value in (header(mallory.did, signature), header(text, signature)):
            there = two.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": value})
            assert there.outcome == FAILED
        here = one.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": header(mallory.did, signature)})
        assert here.status == 200


@pytest.mark.parametrize("place", [0, 20, 42])
def test_a_named_challenge_with_another_nonce_is_none(target: Target, place: int) -> None:
    hana = target.stranger.holder()
    fields = hana.challenge("token", body_hash({})).split(" ")
    nonce = fields[5]
    other = "A" if nonce[place] != "A" else "E"
    fields[5] = nonce[:place] + other + nonce[place + 1 :]
    text = " ".join(fields)
    value = header(text, hana.key.sign(text.encode()).signature)
    assert target.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": value}).outcome == FAILED


def test_one_named_challenge_serves_once_of_32_at_once(either: Target) -> None:
    hana = either.stranger.holder()
    query = f"?did={quote(hana.did, safe='')}&purpose=token&bodyHash={body_hash({})}&named=true"
    offered = either.wire.call("GET", f"{PREFIX}/auth/challenge{query}")
    text = offered.json["challenge"]
    value = header(text, hana.key.sign(text.encode()).signature)

    def ask() -> Answer:
        return either.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": value})

    outcomes = [answer.outcome for answer in at_once(either.wire, [ask] * 32)]
    assert sorted(map(str, outcomes)) == sorted(map(str, [(200, None)] + [FAILED] * 31))


def test_64_open_challenges_work_whatever_others_fetch(either: Target) -> None:
    """The others come from another address of the loopback network. Each fetches all four kinds that a request could be signed over."""
    hana = either.stranger.holder()
    place = f"{PREFIX}/auth/challenge?did={quote(hana.did, safe='')}"
    texts = []
    for _ in range(64):
        texts.append(hana.challenge())
        for query in ("", "&purpose=token", f"&bodyHash={body_hash({})}", f"&purpose=token&bodyHash={body_hash({})}"):
            assert fetched_from("127.0.0.77", either, place + query) == 200
    assert len(set(texts)) == 64
    values = [header(hana.did, hana.key.sign(text.encode()).signature) for text in texts]
    calls = [partial(either.wire.call, "POST", f"{PREFIX}/auth/token", {}, {"Authorization": one}) for one in values]
    assert {answer.status for answer in at_once(either.wire, calls)} == {200}
    again = calls[-1]()
    assert again.outcome == FAILED
    assert "Fetch another" in again.json["error"]["details"]["reason"]


def fetched_from(address: str, target: Target, path: str) -> int:
    host, port = target.wire.address
    connection = http.client.HTTPConnection(host, port, timeout=30, source_address=(address, 0))
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.nightly
def test_the_shipped_commands_work_through_a_flood(tmp_path: Path) -> None:
    """More challenges than there ever was room for (4,096), asked for by a stranger and by one who has an API key; then update,
    recovery and deactivation as the command line does them."""
    with service_process.service(tmp_path / "data") as running:
        wallet = tmp_path / "hana.json"
        made = identity(running, "did", "create", "--recovery-key", "--keys", str(wallet), "--json")
        did = json.loads(made)["did"]
        hana = Holder(running.wire, did, SigningKey.generate(), None, {})
        for number in range(4_200):
            digest = base64url(hashlib.sha256(b"flood %d" % number).digest())
            query = f"?did={quote(did, safe='')}&purpose=update&bodyHash={digest}"
            more = {"X-API-Key": running.stranger.api_key} if number % 2 else {}
            assert running.wire.call("GET", f"{PREFIX}/auth/challenge{query}", None, more).status == 200
        mine = ("--keys", str(wallet))
        identity(running, "did", "update", *mine, "--add-service", "files", "LinkedDomains", "https://hana.example/")
        identity(running, "did", "recover", *mine)
        identity(running, "did", "deactivate", *mine, "--confirm")
        assert hana.resolve().outcome == (410, "DID_DEACTIVATED")


def identity(running: Running, *words: str) -> str:
    environment = os.environ | {"IDENTITY_API_KEY": running.stranger.api_key}
    done = servers.run(*words, "--url", running.wire.url, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Quotas


SMALL = {"IDENTITY_QUOTA_DID_RECORDS": "5", "IDENTITY_QUOTA_DAY_RECORDS": "40"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two processes; a DID keeps five records and writes forty a day."""
    data_dir = tmp_path_factory.mktemp("small") / "data"
    with service_process.service(data_dir, "--workers", "2", environment=SMALL) as running:
        yield running


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same with one process, for tests that leave their address full."""
    with service_process.service(tmp_path_factory.mktemp("filled") / "data", environment=SMALL) as running:
        yield running


def test_at_most_limit_of_24_concurrent_creations_succeeds(small: Running) -> None:
    hana, aki = small.stranger.holder(), small.stranger.holder()
    bodies = [delegation(hana, aki.did, purpose=f"number {number}") for number in range(24)]
    ready = [(body, signed(hana, "delegate", body)) for body in bodies]

    def call(body: Any, headers: dict[str, str]) -> Answer:
        return small.wire.call("POST", f"{PREFIX}/delegations", body, headers)

    answers = at_once(small.wire, [lambda one=one: call(*one) for one in ready])
    outcomes = [answer.outcome for answer in answers]
    assert outcomes.count((201, None)) == 5, outcomes
    assert outcomes.count(FULL) == 19
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.json["error"]["details"]["quota"] == "did in all"
    assert int(refused.headers["retry-after"]) >= 1
    # What is refused for what it says is not kept, and does not count; another DID has a quota of its own, and an API key none.
    for _ in range(6):
        assert post(aki, "/delegations", "delegate", delegation(aki, "absent")).outcome == (400, "INVALID_DID")
    assert post(aki, "/delegations", "delegate", delegation(aki, hana.did)).status == 201
    body = delegation(hana, aki.did, purpose="by the operator")
    made = small.wire.call("POST", f"{PREFIX}/delegations", body, {"X-API-Key": small.stranger.api_key})
    assert made.status == 201, made.body


def test_full_caller_can_delete_its_records(small: Running) -> None:
    hana, aki = small.stranger.holder(), small.stranger.holder()
    made = post(hana, "/delegations", "delegate", delegation(hana, aki.did))
    for number in range(4):
        assert hana.act("update", service(f"s{number}")).status == 200
    assert hana.act("update", service("one more")).outcome == FULL
    revoked = post(hana, f"/delegations/{made.json['id']}/revoke", "delegate", {"reason": "enough"})
    assert revoked.status == 200, revoked.body
    fresh = SigningKey.generate()
    assert hana.act("recover", recovery_body(public(fresh))).status == 200
    hana.key = fresh
    assert hana.act("deactivate", LEAVE).status == 200


def test_tokens_by_assertions_count_as_those_by_signatures(filled: Running) -> None:
    """Each leaves a line in the audit log."""
    hana = filled.stranger.holder()
    times = {"iat": int(time.time()), "exp": int(time.time()) + 60}
    answers = []
    for number in range(60):
        said = {"iss": hana.did, "sub": hana.did, "aud": filled.wire.url, "jti": str(number)} | times
        text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": "EdDSA"}, said))
        fields = {
            "grant_type": "client_credentials",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": f"{text}.{base64url(hana.key.sign(text.encode()).signature)}",
        }
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answers.append(filled.wire.call("POST", "/oauth/token", urlencode(fields).encode(), form))
        if answers[-1].status != 200:
            break
    assert (answers[-1].status, answers[-1].json["code"]) == FULL
    assert answers[-1].json["error"] == "temporarily_unavailable"


def test_a_full_address_locks_no_controller_out(filled: Running) -> None:
    """All of these tests come from one address: others fill it, and the owner of a DID still changes and ends it."""
    outcome: tuple[int, str | None] = (0, None)
    for _ in range(60):
        mallory = filled.stranger.holder()
        outcome = post(mallory, "/auth/token", "token", {}).outcome
        if outcome == FULL:
            break
    assert outcome == FULL
    hana = filled.stranger.holder()
    assert hana.act("update", service()).status == 200
    assert hana.act("deactivate", LEAVE).status == 200


def test_octets_count_and_a_kept_answer_counts_as_well(tmp_path: Path) -> None:
    limits = {"IDENTITY_QUOTA_DID_OCTETS": "40000", "IDENTITY_QUOTA_DAY_OCTETS": "0"}
    with service_process.service(tmp_path / "data", environment=limits) as running:
        hana, ivo = running.stranger.holder(), running.stranger.holder()
        body = {"attributes": [{"name": f"a{number}", "type": "string"} for number in range(60)]}
        size = len(json.dumps(body).encode())
        counts = {}
        for who, more in ((hana, {}), (ivo, {"Idempotency-Key": ""})):
            count = 0
            while (answer := _register(who, body, more)).status == 201:
                count += 1
            assert answer.outcome == FULL
            counts[who.did] = count
        assert counts[hana.did] == 40_000 // (size + 1024)
        assert counts[ivo.did] == 40_000 // (2 * (size + 1024))


def test_reads_use_no_quota(tmp_path: Path) -> None:
    """Malformed requests and answers that are given again. What the handler refuses leaves a line in the audit log, and counts."""
    limits = {"IDENTITY_QUOTA_DAY_RECORDS": "3", "IDENTITY_QUOTA_DID_RECORDS": "2"}
    with service_process.service(tmp_path / "data", environment=limits) as running:
        hana = running.stranger.holder()
        for body in ({}, {"attributes": "none"}, {"attributes": MINE, "more": 1}):
            for _ in range(2):
                assert _register(hana, body, {}).outcome == (400, "INVALID_REQUEST")
        keyed = {"Idempotency-Key": str(uuid.uuid4())}
        answers = [post(hana, "/credential-schemas", "credential", {"attributes": MINE}, **keyed) for _ in range(6)]
        assert {(answer.status, answer.body) for answer in answers} == {(201, answers[0].body)}
        assert post(hana, "/delegations", "delegate", delegation(hana, "absent")).outcome == (400, "INVALID_DID")
        assert _register(hana, {"attributes": MINE}, {}).status == 201
        last = _register(hana, {"attributes": MINE}, {})
        assert (last.outcome, last.json["error"]["details"]["quota"]) == (FULL, "did in a day")
        with closing(sqlite3.connect(f"file:{tmp_path}/data/identity.sqlite?mode=ro", uri=True)) as database:
            (kept,) = database.execute("SELECT records FROM usage WHERE day = 0").fetchone()
            lines = database.execute("SELECT line FROM audit_lines").fetchall()
        assert kept == 2
        refused = [line for (line,) in lines if json.loads(line)["outcome"] == "refused"]
        assert len(refused) == 1, "who is full leaves no line, or there would be no end of them"


def test_no_kill_gets_a_did_past_its_quota(tmp_path: Path) -> None:
    """What is counted is counted before it is stored: killed between the two, a DID has at most less."""
    kills = rounds(3)
    limits = {"IDENTITY_QUOTA_DID_RECORDS": str(100 * kills)}
    people: list[Holder] = []
    with service_process.kept_port() as port:
        for _ in range(kills):
            running = service_process.start(tmp_path / "data", "--port", str(port), environment=limits)
            people = people or [running.stranger.holder(), running.stranger.holder()]
            threads = [Thread(target=_write_on, args=(running, *people)) for _ in range(4)]
            before = rows(tmp_path / "data", "delegations")
            for thread in threads:
                thread.start()
            service_process.eventually(
                lambda before=before: rows(tmp_path / "data", "delegations") >= before + 6, "something is written"
            )
            running.kill()
            for thread in threads:
                thread.join()
            running.wire.close()
        with service_process.service(tmp_path / "data", "--port", str(port), environment=limits) as running:
            hana, aki = people
            while (outcome := post(hana, "/delegations", "delegate", delegation(hana, aki.did)).outcome) != FULL:
                assert outcome == (201, None)
    stored = rows(tmp_path / "data", "delegations")
    # Of each of the four writers a kill may cost one that was counted and not stored.
    assert 100 * kills - 4 * kills <= stored <= 100 * kills


def _write_on(running: Running, hana: Holder, aki: Holder) -> None:
    """Until the service is gone."""
    wire = Wire(running.wire.url)
    mine = Holder(wire, hana.did, hana.key, hana.recovery, hana.created)
    with contextlib.suppress(OSError, EOFError, HTTPException, RuntimeError):
        while post(mine, "/delegations", "delegate", delegation(hana, aki.did)).status in (201, 401):
            pass
    wire.close()


def _register(who: Holder, body: Any, more: dict[str, str]) -> Answer:
    keyed = {name: str(uuid.uuid4()) for name in more}
    return post(who, "/credential-schemas", "credential", body, **keyed)


# Names of schemas


def test_no_client_takes_the_name_of_another(either: Target) -> None:
    mallory, ivo = either.stranger.holder(), either.stranger.holder()
    place = f"{either.wire.url}/api/v1/dids"
    for name in (
        "https://www.w3.org/2018/credentials/v1",
        f"{either.wire.url}/schemas/person",
        f"{place}/{ivo.did}/person",
        f"{place}/{mallory.did}",
        f"{place}/{mallory.did}/../{ivo.did}/person",
        f"{place}/{mallory.did}/%2E%2E/{ivo.did}/person",
        f"{ivo.did}#person",
        mallory.did,
        f"{mallory.did}x#person",
        "urn:uuid:person",
        "urn:uuid:00000000-0000-4000-8000-00000000000G",
        "urn:oid:1.2.3",
        "did:web:w3.org#x",
    ):
        body = {"id": name, "attributes": MINE}
        answer = post(mallory, "/credential-schemas", "credential", body)
        assert answer.outcome == (403, "FORBIDDEN"), name
        # So the name is still there for anyone who has a right to it.
    token = post(mallory, "/auth/token", "token", {}).json["access_token"]
    body = {"id": "https://www.w3.org/2018/credentials/v1", "attributes": MINE}
    answer = either.wire.call("POST", f"{PREFIX}/credential-schemas", body, {"Authorization": f"Bearer {token}"})
    assert answer.outcome == (403, "FORBIDDEN")


def test_own_did_is_registered(either: Target) -> None:
    hana = either.stranger.holder()
    for name in (
        f"{hana.did}#person",
        f"{hana.did}/schemas/person",
        f"{hana.did}?schema=person",
        f"{either.wire.url}/api/v1/dids/{hana.did}/person",
        f"urn:uuid:{uuid.uuid4()}",
    ):
        answer = post(hana, "/credential-schemas", "credential", {"id": name, "attributes": MINE})
        assert answer.status == 201, answer.body
    body = {"id": f"https://schemas.example/{uuid.uuid4()}", "attributes": MINE}
    by_key = either.wire.call("POST", f"{PREFIX}/credential-schemas", body, {"X-API-Key": either.stranger.api_key})
    assert by_key.status == 201, by_key.body


def test_page_of_schemas_is_bounded_in_bytes_and_nothing_is_lost(target: Target) -> None:
    hana = target.stranger.holder()
    wanted = set()
    for _ in range(30):
        body = {"attributes": [{"name": f"attribute{number}", "type": "string"} for number in range(60)]}
        wanted.add(post(hana, "/credential-schemas", "credential", body).json["id"])
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = target.wire.call(
            "GET", f"{PREFIX}/credential-schemas?limit=200" + (f"&cursor={cursor}" if cursor else "")
        )
        assert page.status == 200
        assert len(page.body) <= 65_536, "a page of 200 was 1.1 MB"
        assert page.json["items"]
        seen += [item["id"] for item in page.json["items"]]
        cursor = page.json["nextCursor"]
    assert len(seen) == len(set(seen))
    assert wanted <= set(seen)


# Keys


def test_a_fingerprint_is_for_administrators_and_cannot_be_tried(either: Target) -> None:
    """By nothing that a stranger, a DID or a scoped key reads is an API key known, and no answer has the hash of one."""
    operator = {"X-API-Key": either.stranger.api_key}
    hana, aki = either.stranger.holder(), either.stranger.holder()
    schema = either.wire.call("POST", f"{PREFIX}/credential-schemas", {"attributes": MINE}, operator).json
    made = either.wire.call("POST", f"{PREFIX}/delegations", delegation(hana, aki.did), operator).json
    fingerprint = schema["createdBy"]["fingerprint"]
    assert made["createdBy"] == {"kind": "apiKey", "fingerprint": fingerprint}
    assert fingerprint not in hashlib.sha256(either.stranger.api_key.encode()).hexdigest()
    scoped = {"name": "reads", "scopes": ["delegations:read", "audit:read"], "allowedTargets": None}
    key = either.wire.call("POST", f"{PREFIX}/admin/api-keys", scoped, operator).json["apiKey"]
    unkeyed = hashlib.sha256(either.stranger.api_key.encode()).hexdigest()[:12]
    read = [
        either.wire.call("GET", f"{PREFIX}/credential-schemas/{quote(schema['id'], safe='')}"),
        either.wire.call("GET", f"{PREFIX}/delegations/{made['id']}", None, {"X-API-Key": key}),
        either.wire.call("GET", f"{PREFIX}/delegations/{made['id']}", None, signed_read(hana)),
        either.wire.call("GET", f"{PREFIX}/delegations?limit=50", None, signed_read(hana)),
        either.wire.call("GET", f"{PREFIX}/verifications/history", None, {"X-API-Key": key}),
        *pages(either, "/credential-schemas"),
    ]
    for answer in read:
        assert answer.status == 200, answer.body
        assert fingerprint.encode() not in answer.body
        assert unkeyed.encode() not in answer.body
    by_admin = either.wire.call("GET", f"{PREFIX}/delegations/{made['id']}", None, operator).json
    assert by_admin["createdBy"]["fingerprint"] == fingerprint


def signed_read(who: Holder) -> dict[str, str]:
    text = who.challenge("read")
    return {"Authorization": header(who.did, who.key.sign(text.encode()).signature)}


def pages(target: Target, path: str) -> Iterator[Answer]:
    cursor = ""
    while cursor is not None:
        page = target.wire.call("GET", f"{PREFIX}{path}?limit=200" + (f"&cursor={cursor}" if cursor else ""))
        yield page
        cursor = page.json["nextCursor"]


@pytest.mark.parametrize("name", ["ci\u2069\u202e", "ci\n", "\u200b", "ci\x1b[0m", "\ufeffci", ""])
def test_a_name_of_a_key_with_a_control_is_refused(target: Target, name: str) -> None:
    """The pages of the operator and the audit log show it beside other text."""
    operator, keys = {"X-API-Key": target.stranger.api_key}, f"{PREFIX}/admin/api-keys"
    body = {"name": name, "scopes": ["dids:list"]}
    assert target.wire.call("POST", keys, body, operator).outcome == (400, "INVALID_REQUEST")
    good = target.wire.call("POST", keys, body | {"name": "\u05e9\u05dc\u05d5\u05dd \u2013 Kyoto \U0001f600"}, operator)
    assert good.status == 201
    path = f"{keys}/{good.json['record']['id']}"
    assert target.wire.call("PATCH", path, {"name": name}, operator).outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("scope", ["admin", "*", "dids:creat", "unknown:scope", "DIDS:CREATE", "dids:create "])
def test_a_scope_that_is_none_is_refused(target: Target, scope: str) -> None:
    operator = {"X-API-Key": target.stranger.api_key}
    body = {"name": "slip", "scopes": ["dids:list", scope], "allowedTargets": None}
    assert target.wire.call("POST", f"{PREFIX}/admin/api-keys", body, operator).outcome == (400, "INVALID_REQUEST")
    good = target.wire.call(
        "POST", f"{PREFIX}/admin/api-keys", {"name": "good", "scopes": ["dids:list"]}, operator
    ).json
    path = f"{PREFIX}/admin/api-keys/{good['record']['id']}"
    changed = target.wire.call("PATCH", path, {"scopes": [scope], "allowedTargets": None}, operator)
    assert changed.outcome == (400, "INVALID_REQUEST")
    assert target.wire.call("GET", path, None, operator).json["scopes"] == ["dids:list"]


@pytest.mark.parametrize("scope", ["dids:operate", "credentials:read", "delegations:write", "zkp:prove", "zkp:verify"])
def test_a_key_that_acts_for_dids_says_for_which(target: Target, scope: str) -> None:
    operator = {"X-API-Key": target.stranger.api_key}
    keys = f"{PREFIX}/admin/api-keys"
    body: dict[str, Any] = {"name": "acts", "scopes": [scope]}
    assert target.wire.call("POST", keys, body, operator).outcome == (400, "INVALID_REQUEST")
    every = target.wire.call("POST", keys, body | {"allowedTargets": None}, operator)
    assert every.status == 201
    assert every.json["record"]["allowedTargets"] is None
    lists = target.wire.call("POST", keys, {"name": "lists", "scopes": ["dids:list"]}, operator).json["record"]["id"]
    widened = target.wire.call("PATCH", f"{keys}/{lists}", {"scopes": [scope]}, operator)
    assert widened.outcome == (400, "INVALID_REQUEST")
    hana = target.stranger.holder()
    told = target.wire.call("PATCH", f"{keys}/{lists}", {"scopes": [scope], "allowedTargets": [hana.did]}, operator)
    assert told.status == 200


# Buckets


def test_known_callers_do_not_pay_for_strangers(tmp_path: Path) -> None:
    """An address that strangers have emptied still serves the key and the DID that this process knows."""
    limits = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.01", "IDENTITY_THROTTLE_ADDRESS_BURST": "12"}
    with service_process.service(tmp_path / "data", environment=limits) as running:
        hana = Stranger(running.wire, running.stranger.api_key).holder()
        token = post(hana, "/auth/token", "token", {}).json["access_token"]
        bearer = {"Authorization": f"Bearer {token}"}
        delegations = f"{PREFIX}/delegations"
        assert running.wire.call("GET", delegations, None, bearer).status == 200
        guesses = [running.wire.call("GET", delegations, None, {"X-API-Key": f"guess {n}"}) for n in range(40)]
        assert {answer.outcome for answer in guesses} == {FAILED, (429, "RATE_LIMITED")}
        assert guesses[-1].status == 429
        for _ in range(20):
            assert running.wire.call("GET", delegations, None, bearer).status == 200
            assert running.stranger.holder().did
        # A token that is none pays like every guess, also one that begins like a good one.
        forged = {"Authorization": f"Bearer {token[:-4]}AAAA"}
        assert running.wire.call("GET", delegations, None, forged).outcome == (429, "RATE_LIMITED")


def test_a_did_has_one_bucket_from_all_of_its_addresses(tmp_path: Path) -> None:
    limits = {
        "IDENTITY_THROTTLE_DID_PER_SECOND": "0.01",
        "IDENTITY_THROTTLE_DID_BURST": "5",
        "IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.0/8",
    }
    with service_process.service(tmp_path / "data", environment=limits) as running:
        hana, aki = running.stranger.holder(), running.stranger.holder()
        tokens = [post(who, "/auth/token", "token", {}).json["access_token"] for who in (hana, aki)]
        outcomes = [
            running.wire.call(
                "GET",
                f"{PREFIX}/delegations",
                None,
                {"Authorization": f"Bearer {tokens[0]}", "X-Forwarded-For": f"192.0.2.{place}"},
            ).outcome
            for place in range(10)
        ]
        assert outcomes.count((200, None)) == 4
        assert outcomes.count((429, "RATE_LIMITED")) == 6
        other = running.wire.call("GET", f"{PREFIX}/delegations", None, {"Authorization": f"Bearer {tokens[1]}"})
        assert other.status == 200
