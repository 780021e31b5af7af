"""A service without the extension: its paths are unknown, DIDs have no witnesses, and a rollback of all databases is not detected."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer
from nacl.signing import SigningKey

from identity_tlog.leaf import read_head
from identity_tlog.tiles import unbundled
from identity_tlog.tree import Frontier, leaf_hash
from tests.attack.page_requests import FORM, OWN
from tests.attack.stranger import GENEROUS, PREFIX, Stranger, Wire, public
from tests.fault.service_process import start
from tests.servers import local_server

OFF = {"IDENTITY_EXTENSIONS_DISABLED": "transparency,anchoring", "IDENTITY_PLUGINS_WEBVH_HOST": "id.example"}
WITNESS = {"threshold": 1, "witnesses": [{"id": "did:key:" + public(SigningKey(bytes(32)))}]}
OPERATIONS = {"getLedgerTransaction", "getLedgerCheckpoint", "listEvents", "getDidApprovals", "approveDidVersion"}


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with local_server(environment=GENEROUS | OFF) as server:
        yield server


@pytest.fixture(scope="module")
def stranger(running: LocalServer) -> Iterator[Stranger]:
    wire = Wire(running.url)
    yield Stranger(wire, running.api_key)
    wire.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/events"),
        ("GET", "/ledger/key"),
        ("GET", "/ledger/checkpoint"),
        ("GET", "/ledger/tile/0/000"),
        ("GET", f"/ledger/transactions/{'0' * 64}"),
        ("GET", "/ledger/blocks/1"),
        ("GET", f"/ledger/proof/inclusion?transaction={'0' * 64}"),
        ("GET", "/ledger/proof/consistency?first=0"),
        ("GET", "/dids/did:webvh:x/approvals"),
        ("POST", "/dids/did:webvh:x/approvals"),
    ],
)
def test_path_is_unknown(stranger: Stranger, method: str, path: str) -> None:
    answer = stranger.wire.call(method, PREFIX + path, {} if method == "POST" else None)
    assert answer.outcome == (404, "NOT_FOUND")
    assert answer.json["error"]["details"]["extension"] == "transparency"


def test_document_is_closed_and_has_no_operation_of_it(stranger: Stranger) -> None:
    document = stranger.wire.call("GET", "/openapi.json").json
    named = {one["operationId"] for item in document["paths"].values() for one in item.values() if "operationId" in one}
    assert "createDid" in named
    assert named.isdisjoint(OPERATIONS)
    for kind, name in re.findall(r"#/components/(\w+)/([^'\"]+)", str(document)):
        assert name in document["components"][kind]


def test_readiness_and_log_say_that_a_rollback_is_not_detected(running: LocalServer, stranger: Stranger) -> None:
    ready = stranger.wire.call("GET", f"{PREFIX}/ready", None, {"X-API-Key": running.api_key})
    assert ready.status == 200
    assert ready.json["dependencies"]["storage"] == "degraded"
    assert "witnesses" not in ready.json["dependencies"]
    assert "the extension transparency is missing or off" in running.log.read_text()


def test_a_did_is_served_and_cannot_have_witnesses(stranger: Stranger) -> None:
    refused = stranger.create({"method": "webvh", "options": {"witness": WITNESS}})
    assert refused.outcome == (422, "INVALID_DOCUMENT")
    assert refused.json["error"]["details"]["member"] == "witness"
    hana = stranger.holder(method="webvh")
    operation = {"operation": "setWitness", "witness": WITNESS}
    assert hana.act("update", {"operations": [operation]}).outcome == (422, "INVALID_DOCUMENT")
    place = f"/{'/'.join([*hana.did.split(':')[4:], 'did.jsonl'])}"
    assert stranger.wire.call("GET", place).status == 200
    assert stranger.wire.call("GET", place.replace("did.jsonl", "did-witness.json")).status == 404


def test_pages_of_the_ledger_are_unknown(stranger: Stranger) -> None:
    assert stranger.wire.call("GET", f"/ui/transaction/{'0' * 64}", None, {"Accept": "text/html"}).status == 404
    key = stranger.wire.call("POST", "/ui/operator/session", f"key={stranger.api_key}".encode(), OWN | FORM)
    session = {"Cookie": key.headers["set-cookie"].split(";")[0], "Accept": "text/html"}
    assert stranger.wire.call("GET", "/ui/operator/dids", None, session).status == 200
    assert stranger.wire.call("GET", "/ui/operator/ledger", None, session).status == 404


def make_did(folder: Path, **environment: str) -> Stranger:
    """Make a DID with a service on ``folder``, which is stopped then."""
    running = start(folder / "data", environment=environment)
    running.stranger.holder()
    running.process.terminate()
    running.process.wait(60)
    running.wire.close()
    return running.stranger


def test_ledger_older_than_the_store_stops_the_start(tmp_path: Path) -> None:
    make_did(tmp_path, **OFF)
    for path in (tmp_path / "data").glob("ledger.sqlite*"):
        path.unlink()
    with pytest.raises(RuntimeError, match="The ledger ends at entry 0, and entry 1 was known"):
        start(tmp_path / "data", environment=OFF)


def test_rollback_of_all_databases_is_detected_by_the_extension(tmp_path: Path) -> None:
    make_did(tmp_path)
    shutil.copytree(tmp_path / "data", tmp_path / "before")
    make_did(tmp_path)
    shutil.rmtree(tmp_path / "data")
    shutil.copytree(tmp_path / "before", tmp_path / "data")
    with pytest.raises(RuntimeError, match="2 entries are remembered: 1 are lost"):
        start(tmp_path / "data")
    make_did(tmp_path, **OFF)


def test_log_that_is_enabled_later_has_no_gap(tmp_path: Path) -> None:
    for _ in range(3):
        make_did(tmp_path, **OFF)
    running = start(tmp_path / "data")
    try:
        note = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint").body.decode().splitlines()
        tile = running.wire.call("GET", f"{PREFIX}/ledger/tile/0/000.p/3").body
        bundle = running.wire.call("GET", f"{PREFIX}/ledger/tile/entries/000.p/3").body
    finally:
        running.process.terminate()
        running.process.wait(60)
        running.wire.close()
    leaves = unbundled(bundle)
    assert [read_head(leaf).sequence for leaf in leaves] == [1, 2, 3]
    assert tile == b"".join(map(leaf_hash, leaves))
    root = Frontier().appended([leaf_hash(leaf) for leaf in leaves]).root
    assert note[1:3] == ["3", base64.b64encode(root).decode()]
