"""The service answers at the place that its DIDs name: a reader who was given nothing but the DID finds the log there over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from identity_core.domain.dids.state import LogInvalid
from tests.attack.stranger import Answer, Holder, Stranger, public, recovery_body, rotation, service, signing_key
from tests.fault.service_process import API_KEY, Running, kept_port
from tests.fault.service_process import service as running_service
from tests.newest_entry import await_newest
from tests.servers import PATIENT, run

if os.environ.get("CI"):
    import did_webvh  # noqa: F401  (in CI a missing reader is a failure)

HOST = "id.example:8443"
OTHER_SCID = "Qm" + "a" * 44


def holder(running: Running) -> Holder:
    """A did:webvh whose keys the service made."""
    asked = {"method": "webvh", "keyType": "Ed25519", "options": {"recoveryKey": True}}
    answer = Stranger(running.wire, API_KEY).create(asked)
    assert answer.status == 201, answer.body
    made = answer.json
    keys = {name: signing_key(key["privateKey"]) for name, key in made["keys"].items()}
    return Holder(running.wire, made["did"], keys["authentication"], keys["recovery"], made)


def lived(running: Running) -> Holder:
    """One that was robbed of its key, and got back what it was."""
    hana = holder(running)
    theirs = SigningKey.generate()
    assert hana.act("update", service("mine")).status == 200
    assert hana.act("rotate", rotation(hana.key_id, public(theirs))).status == 200
    assert hana.act("update", service("theirs", "https://thief.example/"), key=theirs).status == 200
    answer = hana.act("recover", recovery_body(public(SigningKey.generate()), revoke=False, restoreVersion=2))
    assert answer.status == 200, answer.body
    return hana


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_service(
        tmp_path_factory.mktemp("webvh") / "data", environment={"IDENTITY_PLUGINS_WEBVH_HOST": HOST}
    ) as started:
        yield started


@pytest.fixture(scope="module")
def hana(running: Running) -> Holder:
    return lived(running)


def place(did: str) -> str:
    """The path by the rule of did:webvh 1.0: the segments behind the host, then the name of the file."""
    return "/" + "/".join([*did.split(":")[4:], "did.jsonl"])


def fetched(running: Running, path: str, **headers: str) -> Answer:
    return running.wire.call("GET", path, None, headers)


def test_the_log_lies_where_the_did_says(running: Running, hana: Holder) -> None:
    assert hana.did.split(":")[3] == "id.example%3A8443"
    answer = fetched(running, place(hana.did), origin="https://reader.example")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/jsonl"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "ETag" in answer.headers["access-control-expose-headers"].split(", ")
    assert answer.headers["cache-control"] == "public, max-age=5"
    assert answer.body == hana.log()
    verified = verify(answer.body)
    assert (verified.did, verified.versions) == (hana.did, 5)


def test_the_entity_tag_changes_with_the_log_and_only_with_it(running: Running) -> None:
    hana = holder(running)
    first = fetched(running, place(hana.did))
    tag = first.headers["etag"]
    assert tag.startswith('"')
    for sent in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        same = running.wire.call("GET", place(hana.did), None, {"If-None-Match": sent})
        assert (same.status, same.body, same.headers["etag"]) == (304, b"", tag)
        assert same.headers["access-control-allow-origin"] == "*"
    assert hana.act("update", service()).status == 200
    changed = running.wire.call("GET", place(hana.did), None, {"If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["etag"] != tag
    assert changed.body.startswith(first.body)
    head = running.wire.call("HEAD", place(hana.did))
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", changed.headers["etag"])
    assert int(head.headers["content-length"]) == len(changed.body)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/dids/{OTHER_SCID}/did.jsonl", 404),
        ("/dids/absent/did.jsonl", 404),
        ("/dids/%2e%2e/did.jsonl", 404),
        ("/dids//did.jsonl", 404),
        ("/dids/%00/did.jsonl", 400),
        (f"/dids/{OTHER_SCID}%2Fdid.jsonl", 404),
        (f"/dids/{OTHER_SCID}/did.jsonl/", 404),
        ("/dids/did:webvh:x/did.jsonl", 404),
    ],
)
def test_invalid_log_place_is_an_error_of_one_shape(running: Running, path: str, status: int) -> None:
    answer = fetched(running, path)
    assert answer.status == status
    assert answer.code


def test_only_reading_is_allowed_there(running: Running, hana: Holder) -> None:
    for method in ("PUT", "DELETE", "POST"):
        assert running.wire.call(method, place(hana.did), b"").status == 405
    assert "access-control-allow-origin" not in running.wire.call("GET", "/api/v1/keys").headers


def test_a_did_of_another_method_has_no_such_place(running: Running) -> None:
    made = Stranger(running.wire, API_KEY).holder()
    assert fetched(running, f"/dids/{made.did.split(':')[2]}/did.jsonl").status == 404


def test_a_port_in_the_identifier_is_escaped_once_more_in_a_path(running: Running, hana: Holder) -> None:
    """The path of an operation is decoded once (RFC 3986 §2.4), so the ``%3A`` of the identifier is sent as ``%253A``."""
    answer = running.wire.call("GET", f"/api/v1/dids/{quote(hana.did, safe='')}")
    assert answer.json["didDocument"]["id"] == hana.did


def test_the_log_stays_when_the_did_has_ended(running: Running) -> None:
    hana = holder(running)
    assert hana.act("deactivate", {"confirm": True, "reason": "over"}).status == 200
    assert verify(fetched(running, place(hana.did)).body).deactivated


def read_over_http(running: Running, did: str, monkeypatch: pytest.MonkeyPatch, *, witnessed: bool = False) -> Any:
    """Return the result of the package ``did-webvh`` for the DID. its own way from the DID to an address, its own HTTP
    and its own checks; only the host is here instead of there."""
    history = pytest.importorskip("did_webvh.history", reason="pip install identity-did-webvh[test]")
    resolver = pytest.importorskip("did_webvh.resolver")
    fetch, asked = history.read_url, []

    def here(url: str) -> Any:
        asked.append(url)
        assert url.startswith(f"https://{HOST}/")
        return fetch(url.replace(f"https://{HOST}", running.wire.url))

    monkeypatch.setattr(history, "read_url", here)
    result = asyncio.run(resolver.resolve_did(did, add_implicit=False))
    beside = [f"https://{HOST}{place(did)}".replace("did.jsonl", "did-witness.json")] if witnessed else []
    assert asked == [f"https://{HOST}{place(did)}", *beside]
    return result


def test_an_unmodified_reader_finds_the_did_over_http(
    running: Running, hana: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = read_over_http(running, hana.did, monkeypatch)
    assert result.document == hana.resolve().json["didDocument"], result.resolution_metadata
    assert result.document_metadata["versionId"].startswith("5-")
    assert "thief" not in json.dumps(result.document)


@pytest.mark.parametrize(("path", "served"), [("", False), ("hana", False), ("a/{SCID}/b", True), ("{SCID}", True)])
def test_the_place_follows_the_setting(tmp_path: Path, path: str, served: bool) -> None:
    """Other servers publish the log if the path does not name the DID."""
    environment = {"IDENTITY_PLUGINS_WEBVH_HOST": "id.example", "IDENTITY_PLUGINS_WEBVH_PATH": path}
    with running_service(tmp_path / "data", environment=environment) as started:
        made = holder(started)
        where = place(made.did) if path else "/.well-known/did.jsonl"
        answer = fetched(started, where)
        assert answer.status == (200 if served else 404), (where, answer.body)
        assert not served or verify(answer.body).did == made.did
        assert started.wire.call("GET", "/health").status == 200
        assert started.wire.call("GET", "/nowhere").status == 404


def test_without_a_setting_the_host_is_that_of_the_public_url(tmp_path: Path) -> None:
    environment = {"IDENTITY_SERVER_PUBLIC_URL": "https://id.example:8443"}
    with (
        kept_port() as port,
        running_service(tmp_path / "data", "--port", f"{port}", environment=environment) as started,
    ):
        made = holder(started)
        assert made.did.split(":")[3] == "id.example%3A8443"
        assert verify(fetched(started, place(made.did)).body).did == made.did


def witness_commands(folder: Path, running: Running) -> Any:
    """``identity did …`` of a witness, a controller and an operator; the data directory is that of ``running``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    environment |= PATIENT | {"IDENTITY_URL": running.wire.url, "IDENTITY_API_KEY": API_KEY}

    def command(*words: str | Path) -> Any:
        ended = run("did", *words, environment=environment)
        assert ended.returncode == 0, ended.stderr
        return ended

    return command


def test_a_witnessed_log_is_published_as_far_as_it_was_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two witnesses is enough. What is not approved is recorded, and not shown to those who would refuse the whole log for it."""
    data = tmp_path / "data"
    with running_service(data, environment={"IDENTITY_PLUGINS_WEBVH_HOST": HOST}) as started:
        command = witness_commands(tmp_path, started)
        own, other = SigningKey.generate(), SigningKey.generate()
        (tmp_path / "witness").mkdir()
        (tmp_path / "witness" / "did-witness.key").write_bytes(bytes(own))
        (tmp_path / "witness" / "did-witness.key").chmod(0o600)
        keys, log, file = tmp_path / "keys.json", tmp_path / "did.jsonl", tmp_path / "did-witness.json"
        words = [word for key in (own, other) for word in ("--witness", f"did:key:{public(key)}")]
        made = command("create", "--method", "webvh", "--keys", keys, *words, "--witness-threshold", "1", "--json")
        did = json.loads(made.stdout)["did"]
        where, approvals = place(did), place(did).replace("did.jsonl", "did-witness.json")
        said = json.loads(started.wire.call("GET", f"/api/v1/dids/{quote(did, safe='')}/log").body)["parameters"]
        assert said["witness"] == {
            "threshold": 1,
            "witnesses": [{"id": f"did:key:{public(own)}"}, {"id": f"did:key:{public(other)}"}],
        }
        for path in (where, approvals):
            assert fetched(started, path).outcome == (404, "DID_NOT_FOUND")

        def approve_and_publish(versions: int) -> None:
            log.write_text(command("log", "get", did).stdout)
            await_newest(log)
            words = ["--witness-file", file] if file.exists() else []
            file.write_text(command("log", "approve", log, "--folder", tmp_path / "witness", *words).stdout)
            published = command("log", "publish", did, file, "--data-dir", data, "--json")
            assert json.loads(published.stdout)["approvedVersions"] == versions

        approve_and_publish(1)
        first, shown = fetched(started, where), fetched(started, approvals, origin="https://reader.example")
        assert (first.status, first.body) == (200, log.read_bytes())
        assert shown.headers["content-type"] == "application/json"
        assert shown.headers["access-control-allow-origin"] == "*"
        assert [one["versionId"] for one in shown.json] == [json.loads(first.body)["versionId"]]
        same = started.wire.call("GET", approvals, None, {"If-None-Match": shown.headers["etag"]})
        assert (same.status, same.body) == (304, b"")
        assert verify(first.body, witness_file=shown.body).did == did

        # The second version is not approved yet: its readers continue with the first.
        command("update", "--keys", keys, "--add-service", "more", "LinkedDomains", "https://more.example/")
        assert len(started.wire.call("GET", f"/api/v1/dids/{quote(did, safe='')}/log").body.splitlines()) == 2
        assert fetched(started, where).body == first.body
        assert fetched(started, where).headers["etag"] == first.headers["etag"]
        with pytest.raises(LogInvalid, match="Too few witnesses"):
            verify(started.wire.call("GET", f"/api/v1/dids/{quote(did, safe='')}/log").body, witness_file=shown.body)
        approve_and_publish(2)
        second = fetched(started, where)
        assert second.body == log.read_bytes()
        assert second.headers["etag"] != first.headers["etag"]
        assert verify(second.body, witness_file=fetched(started, approvals).body).versions == 2
        result = read_over_http(started, did, monkeypatch, witnessed=True)
        assert "https://more.example/" in json.dumps(result.document), result.resolution_metadata
        # Approvals of one witness are one, however many versions there are.
        assert len(fetched(started, approvals).json) == 1


@pytest.mark.parametrize(
    ("method", "witness"),
    [
        ("ids", {"threshold": 1, "witnesses": [{"id": "did:key:" + public(SigningKey(bytes(32)))}]}),
        ("webvh", {"threshold": 2, "witnesses": [{"id": "did:key:" + public(SigningKey(bytes(32)))}]}),
        ("webvh", {"threshold": 1, "witnesses": [{"id": "did:key:" + public(SigningKey(bytes(32)))}] * 2}),
        ("webvh", {"threshold": 1, "witnesses": [{"id": public(SigningKey(bytes(32)))}]}),
        ("webvh", {"threshold": 1, "witnesses": [{"id": "did:key:z6Mk"}]}),
        ("webvh", {"threshold": 1, "witnesses": [{"id": "did:web:hana.example"}]}),
    ],
)
def test_invalid_witness_list_is_refused(running: Running, method: str, witness: dict[str, Any]) -> None:
    asked = {"method": method, "keyType": "Ed25519", "options": {"witness": witness}}
    answer = Stranger(running.wire, API_KEY).create(asked)
    assert answer.outcome == (422, "INVALID_DOCUMENT")
    assert answer.json["error"]["details"]["member"] == "witness"


@pytest.fixture(scope="module")
def untouched(running: Running) -> Holder:
    return holder(running)


NEW = {"id": "did:key:" + public(SigningKey(bytes(31) + b"\x01"))}
GOOD = {"threshold": 1, "witnesses": [NEW]}


@pytest.mark.parametrize(
    ("witness", "outcome"),
    [
        (GOOD | {"threshold": 2}, (422, "INVALID_DOCUMENT")),
        (GOOD | {"threshold": 0}, (400, "INVALID_REQUEST")),
        (GOOD | {"threshold": "1"}, (400, "INVALID_REQUEST")),
        (GOOD | {"witnesses": [NEW, NEW]}, (422, "INVALID_DOCUMENT")),
        (GOOD | {"witnesses": []}, (400, "INVALID_REQUEST")),
        (GOOD | {"witnesses": [NEW | {"weight": 1}]}, (400, "INVALID_REQUEST")),
        (GOOD | {"witnesses": [{"id": "did:web:hana.example"}]}, (422, "INVALID_DOCUMENT")),
        (GOOD | {"selfWeight": 1}, (400, "INVALID_REQUEST")),
        ({"threshold": 1}, (422, "INVALID_DOCUMENT")),
        ({"witnesses": [NEW]}, (422, "INVALID_DOCUMENT")),
        (None, (400, "INVALID_REQUEST")),
        ([NEW], (400, "INVALID_REQUEST")),
    ],
)
def test_other_witnesses_that_no_reader_would_take_are_refused(
    untouched: Holder, witness: Any, outcome: tuple[int, str]
) -> None:
    before = untouched.log()
    answer = untouched.act("update", {"operation": "setWitness", "witness": witness})
    assert answer.outcome == outcome, answer.body
    assert untouched.log() == before


def test_other_witnesses_are_for_who_controls_the_did(running: Running) -> None:
    """And for methods whose logs have a place for them; a bound signature serves for no other list."""
    made, ids = holder(running), Stranger(running.wire, API_KEY).holder()
    body = {"operation": "setWitness", "witness": GOOD}
    assert ids.act("update", body).outcome == (422, "INVALID_DOCUMENT")
    assert made.act("update", body, key=SigningKey.generate()).outcome == (401, "AUTH_FAILED")
    signed = made.signed("update", body)
    assert made.send("update", body | {"witness": {}}, signed).outcome == (401, "AUTH_FAILED")
    assert made.act("update", {"operations": [body, body]}).outcome == (422, "INVALID_DOCUMENT")
    # Its entries hold no evidence, so no reader could enforce it.
    strict = made.act("update", {"operation": "setStrictEvidence", "strictEvidence": True})
    assert strict.outcome == (422, "INVALID_DOCUMENT")
    assert strict.json["error"]["details"]["member"] == "strictEvidence"
    assert "unboundChanges" not in made.resolve().json["didDocumentMetadata"]
    assert made.act("update", body | {"alsoKnownAs": ["https://holder.example"]}).outcome == (400, "INVALID_REQUEST")
    assert json.loads(made.log().splitlines()[-1])["versionId"].startswith("1-")
    assert made.act("update", body).status == 200
    assert json.loads(made.log().splitlines()[-1])["parameters"]["witness"] == GOOD
    items = running.wire.call("GET", f"/api/v1/dids/{quote(made.did, safe='')}/history").json["items"]
    assert ["witnessesChanged"] in [item["changes"] for item in items]
    # The version before stays where readers find it, until the new witnesses have approved of theirs.
    assert fetched(running, place(made.did)).body == made.log().splitlines(keepends=True)[0]
