"""A service with four witnesses, of whom one lies and one hangs: what it serves, tells and keeps."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import LocalServer

from identity_tlog.note import WITNESS, VerifierKey
from identity_tlog.policy import WitnessPolicy
from tests.lying_witness import lying_witness, whole
from tests.servers import local_server, run
from tests.transparency import LogKey
from tests.witnesses import witness

ENOUGH_SECONDS = 120.0
ORIGIN = {"IDENTITY_LEDGER_ORIGIN": "id.example/api/v1/ledger", "IDENTITY_SERVER_PUBLIC_METRICS": "true"}


def lie(it: socket.socket, _: bytes) -> None:
    it.sendall(whole("200 OK", LogKey().verifier.line(bytes(64)).encode()))


class Asked:
    """A service as any client sees it."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        headers = {"X-API-Key": server.api_key}
        self.http = httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, trust_env=False, timeout=60)

    def checkpoint(self, **query: str) -> bytes:
        answer = self.http.get("/ledger/checkpoint", params=query)
        assert answer.status_code == 200, answer.text
        return answer.content

    def create(self) -> dict[str, Any]:
        answer = self.http.post("/dids", json={"method": "ids", "keyType": "Ed25519"})
        assert answer.status_code == 201
        found: dict[str, Any] = answer.json()
        return found

    def until(self, holds: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + ENOUGH_SECONDS
        while not (found := holds()):
            assert time.monotonic() < deadline, f"{what}: {self.server.log.read_text()[-2000:]}"
            time.sleep(0.05)
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("witnessed")


@pytest.fixture(scope="module")
def service(place: Path) -> Iterator[Asked]:
    """A service whose quorum are the two honest ones of four. Its log has a key before it has witnesses: they must be told it."""
    words = ("--data-dir", str(place / "data"))
    with local_server(*words, environment=ORIGIN) as before:
        log = str(httpx.get(f"{before.url}/api/v1/ledger/key", trust_env=False).json()["verifierKey"])
    hung = threading.Event()
    with contextlib.ExitStack() as stack:
        stack.callback(hung.set)
        honest = [stack.enter_context(witness(place / name, log, name=f"{name}.example")) for name in ("w1", "w2")]
        urls = [
            *(told["url"] for told in honest),
            stack.enter_context(lying_witness(lie)),
            stack.enter_context(lying_witness(lambda *_: bool(hung.wait()))),
        ]
        stranger = [VerifierKey(f"w{number}.example", LogKey().pair.public, WITNESS) for number in (3, 4)]
        keys = [*(told["verifierKey"] for told in honest), *map(str, stranger)]
        lines = [f"witness W{number} {key} {url}" for number, (key, url) in enumerate(zip(keys, urls, strict=True), 1)]
        policy = [f"log {log}", *lines, "group G 2 W1 W2 W3 W4", "quorum G", ""]
        (place / "policy.txt").write_text("\n".join(policy))
        environment = ORIGIN | {"IDENTITY_LEDGER_WITNESSES": str(place / "policy.txt")}
        yield Asked(stack.enter_context(local_server(*words, environment=environment)))


def size_of(note: bytes) -> int:
    return int(note.split(b"\n")[1])


def cosigned(service: Asked) -> bytes | None:
    """Before there is a quorum the checkpoint has the log's signature alone."""
    note = service.checkpoint()
    return note if note.count("\u2014".encode()) > 1 else None


def test_last_quorate_checkpoint_is_served(service: Asked, place: Path) -> None:
    policy = WitnessPolicy.parse((place / "policy.txt").read_bytes())
    made = service.create()
    covered = size_of(service.checkpoint(quorum="any"))
    raw = service.checkpoint(quorum="any")
    assert raw.count("\u2014".encode()) == 1
    note = service.until(lambda: (found := cosigned(service)) and size_of(found) >= covered and found, "no quorum")
    assert set(policy.open(note).cosigned) == {"W1", "W2"}
    refused = service.http.get("/ledger/checkpoint", params={"quorum": "none"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_REQUEST")
    # An entry, proven to a client that has the policy and the file.
    words = ("ledger", "prove", made["did"], "--url", service.server.url, "--policy", place / "policy.txt")
    proof = run(*words)
    assert proof.returncode == 0, proof.stderr
    (place / "x.tlog-proof").write_text(proof.stdout)
    checked = run(
        "ledger",
        "verify",
        "--policy",
        place / "policy.txt",
        place / "x.tlog-proof",
        "--cosigned-within",
        "600",
        "--json",
    )
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["did"] == made["did"]


def test_resolution_has_log_place_and_witness_times(service: Asked) -> None:
    did = service.create()["did"]

    def resolved(**query: Any) -> tuple[Any, httpx.Headers]:
        answer = service.http.get(f"/dids/{did}", params=query, headers={"Accept": "application/did-resolution"})
        return answer.json()["didDocumentMetadata"]["ledger"], answer.headers

    first, before = resolved()
    assert first["treeSize"] > first["index"]
    place, headers = service.until(lambda: (found := resolved()) and "cosignedAt" in found[0] and found, "not cosigned")
    assert place["index"] == first["index"] < place["treeSize"]
    # Who has the answer of before is not told that nothing changed.
    assert ("cosignedAt" in first) or before["etag"] != headers["etag"]
    assert resolved(versionId=1)[0] == place
    assert "immutable" not in resolved(versionId=1)[1]["cache-control"]
    transaction = service.http.get(f"/dids/{did}/history").json()["items"][0]["transactionHash"]
    query = {"transaction": transaction, "size": place["treeSize"]}
    assert service.http.get("/ledger/proof/inclusion", params=query).json()["leafIndex"] == place["index"]


def test_lags_are_told(service: Asked) -> None:
    service.create()

    def metrics() -> str:
        return service.http.get("/metrics").text

    service.until(lambda: cosigned(service), "no quorum")
    found = service.until(lambda: 'witness="W4"} 0.0' not in (text := metrics()) and text, "no lag")
    lags = {
        line.split('"')[1]: float(line.split()[-1]) for line in found.splitlines() if "witness_lag_seconds{" in line
    }
    assert set(lags) == {"W1", "W2", "W3", "W4"}
    assert min(lags["W3"], lags["W4"]) > 0
    assert "identity_witness_quorum_lag_seconds" in found
    assert service.http.get("/ready").json()["dependencies"]["witnesses"] == "ok"


def test_the_doctor_says_how_far_the_quorum_is(service: Asked, place: Path) -> None:
    service.create()
    environment = ORIGIN | {
        "IDENTITY_LEDGER_WITNESSES": str(place / "policy.txt"),
        "IDENTITY_DATA_DIR": str(place / "data"),
    }

    def diagnosis() -> Any:
        findings = json.loads(run("doctor", "--json", environment=environment).stdout)["findings"]
        (found,) = (one for one in findings if one["check"] == "witnesses")
        return found

    service.until(lambda: cosigned(service), "no quorum")
    assert diagnosis()["state"] == "ok"
    assert "a quorum has cosigned" in diagnosis()["says"]
    environment["IDENTITY_LEDGER_WITNESSES"] = str(place / "none")
    assert diagnosis()["state"] == "fail"


def test_cosigned_checkpoint_stays_without_witnesses(service: Asked, place: Path) -> None:
    """A second process on the same data does not feed, and serves what the first has kept."""
    # An empty log has nothing to cosign, and this test may be the first.
    service.create()
    note = service.until(lambda: cosigned(service), "no quorum")
    environment = ORIGIN | {"IDENTITY_LEDGER_WITNESSES": str(place / "policy.txt")}
    with local_server("--data-dir", str(place / "data"), environment=environment) as second:
        other = Asked(second)
        assert size_of(other.checkpoint()) >= size_of(note)
        service.create()
        size = size_of(service.checkpoint(quorum="any"))
        other.until(lambda: size_of(other.checkpoint()) >= size, "the second process does not follow")
        lags = [line for line in other.http.get("/metrics").text.splitlines() if "witness_lag_seconds{" in line]
        assert all(line.endswith(" 0.0") for line in lags)
