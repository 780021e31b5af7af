"""identity ledger witness serve: what it answers, to whom, and what it keeps."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from identity_transparency.cli import ledger_cosigner, ledger_witness
from identity_transparency.cli.ledger_cosigner import Cosigner, CosigningKey, WatchedLogs, open_cosigner, write_state
from identity_transparency.cli.ledger_witness import MAX_BODY, WitnessApp
from identity_transparency.domain.checkpoint_keys import succession_text

from identity_codec import ed25519, multikey
from identity_tlog import mldsa
from identity_tlog.note import WITNESS, Note, VerifierKey, cosigned_at, open_checkpoint
from identity_tlog.witness import Inconsistent, Stale
from tests.transparency import ORIGIN, LogKey, some_leaves
from tests.unit.cli.conftest import Commands
from tests.witnesses import submission, witness

LOG = LogKey(bytes(range(32)))
LEAVES, FORK = some_leaves(40), some_leaves(40, "did:fork:")
HASH = hashlib.sha256(ORIGIN.encode()).hexdigest()


@pytest.fixture
def cosigner(tmp_path: Path) -> Iterator[Cosigner]:
    made, lock = open_cosigner(tmp_path / "w", "witness.example/w1", lambda: [LOG.verifier], with_ml_dsa=False)
    yield made
    lock.close()


def reopened(folder: Path) -> Cosigner:
    pair = ed25519.generate((folder / "witness.key").read_bytes())
    key = VerifierKey("witness.example/w1", pair.public, WITNESS)
    return Cosigner([CosigningKey(key, pair)], lambda: [LOG.verifier], folder / "witness.json")


@pytest.mark.parametrize("with_ml_dsa", [False, True])
def test_process_serves_both_prefixes_and_goes_on_after_restart(here: Path, with_ml_dsa: bool) -> None:
    if with_ml_dsa and not mldsa.is_available():
        pytest.skip("cryptography has no ML-DSA-44 here")
    with httpx.Client(trust_env=False, timeout=60) as http:
        for start in range(2):
            more = ["--ml-dsa"] if with_ml_dsa else []
            with witness(here / "w", str(LOG.verifier), more=more) as told:
                url, keys = told["url"], [VerifierKey.parse(text) for text in told["verifierKeys"]]
                assert [key.kind for key in keys] == ([4, 6] if with_ml_dsa else [4])
                monitored = f"{url}/{HASH}/checkpoint"
                if not start:
                    assert http.get(monitored).status_code == 404
                answer = http.post(
                    f"{url}/add-checkpoint", content=submission(LOG, LEAVES, 20 * start, 20 + 20 * start)
                )
                assert answer.status_code == 200, answer.text
                opened = open_checkpoint(LOG.note(LEAVES[: 20 + 20 * start]) + answer.content, LOG.verifier, keys)
                assert all(cosigned_at(Note.parse(opened.encoded), key) is not None for key in keys)
                # What was answered is what monitors are shown, with the signature of the log.
                shown = http.get(monitored)
                assert shown.headers["content-type"].startswith("text/plain")
                assert shown.content == opened.encoded
    assert (here / "w" / "witness.key").stat().st_mode & 0o777 == 0o600


def raw_status(url: str, head: bytes) -> bytes:
    """The status of the answer to a submission with this header, byte by byte."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=60) as raw:
        raw.sendall(b"POST /add-checkpoint HTTP/1.1\r\nHost: w\r\n" + head + b"\r\n\r\n")
        return raw.makefile("rb").readline().split(b" ")[1]


def test_a_fork_and_a_rollback_are_refused_also_after_a_restart(here: Path) -> None:
    def submit(url: str, old: int, note: bytes, proof: str = "") -> httpx.Response:
        body = f"old {old}\n{proof}\n".encode() + note
        return httpx.post(f"{url}/add-checkpoint", content=body, trust_env=False, timeout=60)

    for restart in range(2):
        with witness(here / "w", str(LOG.verifier)) as told:
            url = told["url"]
            if not restart:
                answer = submit(url, 0, LOG.note(LEAVES[:20]))
                assert answer.status_code == 200
                assert answer.text.startswith("\u2014 witness.example/w1 ")
            assert submit(url, 20, LOG.note(LEAVES[:20])).status_code == 200
            stale = submit(url, 0, LOG.note(FORK))
            assert (stale.status_code, stale.text, stale.headers["content-type"]) == (409, "20\n", "text/x.tlog.size")
            assert submit(url, 20, LOG.note(FORK)).status_code == 422
            assert submit(url, 20, LOG.note(FORK[:20])).status_code == 422
            assert submit(url, 10, LOG.note(LEAVES[:10])).status_code == 409
            assert submit(url, 20, LOG.note(LEAVES[:10])).status_code == 400
            assert submit(url, 0, LogKey().note(LEAVES)).status_code == 403
            other = LOG.note(LEAVES).replace(b"id.example/", b"else.example/")
            assert submit(url, 0, other).status_code == 404
            assert submit(url, 0, b"junk").status_code == 400
            assert httpx.post(f"{url}/else", content=b"", trust_env=False, timeout=60).status_code == 404
            assert httpx.get(f"{url}/{'0' * 64}/checkpoint", trust_env=False, timeout=60).status_code == 404
            assert (
                httpx.post(f"{url}/add-checkpoint", content=b"x" * 200_000, trust_env=False, timeout=60).status_code
                == 413
            )
            for head in (b"Content-Length: " + b"1" * 5000, b"Content-Length: \xb2", b"X: " + b"x" * 100_000):
                assert raw_status(url, head) in (b"400", b"431")


def answered(
    app: WitnessApp, method: str, path: str, *parts: bytes, ends: bool = True, **scope: Any
) -> tuple[int, bytes, Any]:
    """Status, body and headers of one request to the application."""
    sent: list[Any] = []
    waiting = [
        {"type": "http.request", "body": part, "more_body": not ends or place < len(parts)}
        for place, part in enumerate(parts, 1)
    ]

    async def receive() -> Any:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app({"type": "http", "method": method, "path": path, **scope}, receive, send))
    return sent[0]["status"], sent[1]["body"], dict(sent[0]["headers"])


def test_a_body_is_bounded_in_size_and_time(cosigner: Cosigner, monkeypatch: pytest.MonkeyPatch) -> None:
    app = WitnessApp(cosigner)
    status, _, headers = answered(app, "POST", "/add-checkpoint", *[b"x" * 4096] * 40, ends=False)
    assert (status, headers[b"connection"]) == (413, b"close")
    assert answered(app, "POST", "/add-checkpoint", b"x" * MAX_BODY)[0] == 400
    monkeypatch.setattr(ledger_witness, "BODY_SECONDS", 0.01)
    status, _, headers = answered(app, "POST", "/add-checkpoint", b"old 0", ends=False)
    assert (status, headers[b"connection"]) == (408, b"close")


@pytest.mark.parametrize(
    "path", ["/add-checkpoint/", "/", "//add-checkpoint", f"/{HASH.upper()}/checkpoint", f"/{HASH}/checkpoint/x"]
)
def test_other_places_are_none(cosigner: Cosigner, path: str) -> None:
    assert answered(WitnessApp(cosigner), "POST", path, b"")[0] == 404


def test_methods_are_those_of_the_specification(cosigner: Cosigner) -> None:
    app = WitnessApp(cosigner)
    assert answered(app, "GET", "/add-checkpoint", b"")[0] == 405
    assert answered(app, "POST", f"/{HASH}/checkpoint", b"")[0] == 405


def signed_by(*keys: LogKey, old: int, new: int) -> bytes:
    """A submission over the one history, which all these keys have signed."""
    data = submission(keys[0], LEAVES, old, new)
    for key in keys[1:]:
        data += key.note(LEAVES[:new]).rpartition(b"\n\n")[2]
    return data


def test_replacing_key_comes_from_policy_only(tmp_path: Path) -> None:
    """A thief has the key that is replaced, and signs what he wants: his key as the next one, and checkpoints that grow."""
    new, thief, policy = LogKey(b"n" * 32), LogKey(b"t" * 32), tmp_path / "policy"
    policy.write_text(f"log {LOG.verifier}\nquorum none\n")
    cosigner, lock = open_cosigner(tmp_path / "w", "w.example", WatchedLogs([], policy), with_ml_dsa=False)
    app = WitnessApp(cosigner)

    def status(data: bytes) -> int:
        return answered(app, "POST", "/add-checkpoint", data)[0]

    assert status(signed_by(LOG, old=0, new=5)) == 200
    public = [multikey.encode_public(multikey.ED25519, one.verifier.public) for one in (LOG, thief)]
    text = succession_text(ORIGIN, *public, 5)
    lines = [key.verifier.line(key.pair.sign(text.encode())) for key in (LOG, thief)]
    succession = f"{text}\n{''.join(lines)}".encode()
    for data in (
        signed_by(thief, old=5, new=9),
        b"old 5\n\n" + succession,
        signed_by(thief, old=5, new=9) + lines[0].encode(),
    ):
        assert status(data) in (400, 403)
    # Both sign for a while, and the witness has been told of one.
    assert status(signed_by(new, LOG, old=5, new=9)) == 200
    assert status(signed_by(new, old=9, new=12)) == 403
    policy.write_text(f"log {LOG.verifier}\nlog {new.verifier}\nquorum none\n")
    assert status(signed_by(new, old=9, new=12)) == 200
    assert status(signed_by(LOG, old=12, new=13)) == 200
    policy.write_text(f"log {new.verifier}\nquorum none\n")
    for data in (signed_by(LOG, old=13, new=20), signed_by(LOG, thief, old=13, new=20)):
        assert status(data) == 403
    # What the witness cosigned stays what the log has to have grown from, whichever key signs.
    assert status(submission(new, FORK, 13, 20)) == 422
    assert status(signed_by(new, old=13, new=20)) == 200
    policy.write_text(f"log {new.verifier}\nlog nonsense\nquorum none\n")
    assert status(signed_by(new, old=20, new=21)) == 503
    policy.unlink()
    assert status(signed_by(new, old=20, new=21)) == 503
    policy.write_text(f"log {new.verifier}\nquorum none\n")
    assert status(signed_by(new, old=20, new=21)) == 200
    lock.close()


def test_a_witness_that_watches_nothing_does_not_start(identity: Commands, here: Path) -> None:
    (here / "policy").write_text("log nonsense\n")
    words = ("ledger", "witness", "serve", "--folder", here / "w")
    assert "at least one log" in identity.refused(*words, status=2)[0]
    assert "cannot be read" in identity.refused(*words, "--policy", here / "policy")[0]
    assert not (here / "w").exists()


def test_signatures_of_strangers_are_not_kept(cosigner: Cosigner) -> None:
    spoilt = submission(LOG, LEAVES, 0, 20) + LogKey().verifier.line(bytes(64)).encode() * 50
    lines = cosigner.add_checkpoint(spoilt)
    assert cosigner.latest(HASH) == LOG.note(LEAVES[:20]) + lines.encode()


def test_nothing_is_cosigned_that_cannot_be_kept(
    cosigner: Cosigner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = WitnessApp(cosigner)

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def half_way(path: Path, notes: Any) -> None:
        write_state(path, notes)
        refused()

    with monkeypatch.context() as broken:
        broken.setattr(ledger_cosigner, "write_state", refused)
        assert answered(app, "POST", "/add-checkpoint", submission(LOG, FORK, 0, 20))[0] == 503
    # The file says what holds: nothing was written, so another tree may still come.
    assert cosigner.latest(HASH) is None
    with monkeypatch.context() as broken:
        broken.setattr(ledger_cosigner, "write_state", half_way)
        assert answered(app, "POST", "/add-checkpoint", submission(LOG, LEAVES, 0, 20))[0] == 503
    # It was written, though the answer was lost.
    with pytest.raises(Stale):
        cosigner.add_checkpoint(submission(LOG, FORK, 0, 20))
    with pytest.raises(Inconsistent):
        cosigner.add_checkpoint(submission(LOG, FORK, 20, 20))
    (tmp_path / "w" / "witness.json").unlink()
    with monkeypatch.context() as broken:
        broken.setattr(ledger_cosigner, "write_state", refused)
        assert answered(app, "POST", "/add-checkpoint", submission(LOG, LEAVES, 20, 40))[0] == 503
    assert answered(app, "GET", f"/{HASH}/checkpoint")[0] == 503


def test_a_state_of_before_counts(cosigner: Cosigner, tmp_path: Path) -> None:
    """Guard against a fault: the state held the text of the checkpoint, and no signature to show."""
    text = Note.parse(LOG.note(LEAVES[:20])).text
    (tmp_path / "w" / "witness.json").write_text(json.dumps({ORIGIN: text}))
    again = reopened(tmp_path / "w")
    assert again.latest(HASH) is None
    with pytest.raises(Stale):
        again.add_checkpoint(submission(LOG, FORK, 0, 20))
    again.add_checkpoint(submission(LOG, LEAVES, 20, 20))
    assert again.latest(HASH) is not None


def test_a_checkpoint_that_is_known_costs_no_write(
    cosigner: Cosigner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone may repeat what a log has published."""
    cosigner.add_checkpoint(submission(LOG, LEAVES, 0, 20))
    monkeypatch.setattr(ledger_cosigner, "write_state", lambda *_: pytest.fail("written"))
    lines = cosigner.add_checkpoint(submission(LOG, LEAVES, 20, 20))
    assert (cosigner.latest(HASH) or b"").endswith(lines.encode())


@pytest.mark.parametrize(
    "state", ["{broken", "[]", '{"a": 1}', json.dumps({"else.example/log": Note.parse(LOG.note(LEAVES[:5])).text})]
)
def test_a_witness_whose_state_is_broken_does_not_start(identity: Commands, here: Path, state: str) -> None:
    (here / "w").mkdir()
    (here / "w" / "witness.json").write_text(state)
    words = ("ledger", "witness", "--log", str(LOG.verifier), "--folder", here / "w", "--port", "0")
    assert "cannot be read" in identity.refused(*words)[0]


def test_a_witness_whose_state_is_gone_does_not_begin_anew(
    cosigner: Cosigner, identity: Commands, tmp_path: Path
) -> None:
    words = ("ledger", "witness", "serve", "--log", str(LOG.verifier), "--folder", tmp_path / "w", "--port", "0")
    assert "another process is this witness" in identity.refused(*words)[0]
    (tmp_path / "w" / "witness.json").unlink()
    (tmp_path / "w" / "witness.lock").unlink()
    assert "its state is gone" in identity.refused(*words)[0]


def test_a_port_that_is_taken(identity: Commands, here: Path) -> None:
    with witness(here / "w", str(LOG.verifier)) as told:
        port = told["url"].rpartition(":")[2]
        words = ("ledger", "witness", "serve", "--log", str(LOG.verifier), "--folder", here / "v", "--port", port)
        assert "cannot listen" in identity.refused(*words)[0]
