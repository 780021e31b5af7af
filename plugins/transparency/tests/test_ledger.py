"""identity ledger: verify, audit, export, checkpoint and witness against a running service."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_transparency.domain.history import LoggedHistory

from identity_client import Session
from identity_tlog.leaf import LogLeaf, Recorded
from identity_tlog.note import Checkpoint, VerifierKey
from identity_tlog.proofs import inclusion_spans
from identity_tlog.tree import Frontier, leaf_hash
from tests.transparency import LogKey, some_leaves
from tests.unit.cli.conftest import Commands
from tests.witnesses import witness


@pytest.fixture
def key(server: LocalServer, here: Path) -> str:
    """A file with the log's key."""
    text = Commands({"IDENTITY_URL": server.url}).ok("ledger", "key")
    VerifierKey.parse(text)
    (here / "log.key").write_text(text)
    return str(here / "log.key")


@pytest.fixture
def did(remote: Commands, wallet: Path) -> str:
    """A DID of three versions."""
    for number in range(2):
        remote.ok(
            "did", "update", "--keys", wallet, "--add-service", f"s{number}", "LinkedDomains", "https://x.example/"
        )
    found: str = json.loads(wallet.read_text())["did"]
    return found


def test_the_key_is_shown(remote: Commands, server: LocalServer) -> None:
    body = remote.json("ledger", "key")
    assert body["verifierKey"].startswith(body["origin"] + "+")
    assert body["origin"] == server.url.partition("://")[2] + "/api/v1/ledger"


def test_the_history_of_a_did_is_proven_and_kept(
    remote: Commands, identity: Commands, key: str, did: str, here: Path
) -> None:
    said = remote.ok("ledger", "verify", did, "--key", key, "--save", here / "kept.json")
    assert "proven: 3 versions, active" in said
    body = identity.json("ledger", "verify", "--history", here / "kept.json", "--key", key)
    assert (body["did"], body["versions"]) == (did, 3)
    # Offline: nothing but the file and the key.
    assert (
        identity.json("ledger", "verify", did, "--history", here / "kept.json", "--key", Path(key).read_text()) == body
    )


def test_verify_proves_a_deactivated_did(remote: Commands, key: str, did: str, wallet: Path) -> None:
    """Its history answers 410 (openapi/DECISIONS.md §2.8)."""
    remote.ok("did", "deactivate", "--keys", wallet, "--confirm")
    assert "proven: 4 versions, deactivated" in remote.ok("ledger", "verify", did, "--key", key)
    for options in ((), ("--version-id", "2")):
        assert remote.ok("ledger", "prove", did, *options).startswith("c2sp.org/tlog-proof")
    assert "choose from 1, 2, 3, 4" in "".join(remote.refused("ledger", "prove", did, "--version-id", "5"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda kept: kept["entries"].pop(1), "version 2"),
        (lambda kept: kept["entries"].reverse(), "version 1"),
        (lambda kept: kept["entries"][0].update(blockNumber=99), "does not lead to the root"),
        (lambda kept: kept["entries"][0].update(recordedAt="2026-01-01T00:00:00.000000Z"), "does not lead to the root"),
        (lambda kept: kept["entries"][0]["hashes"].append("A" * 43), "too long"),
        (lambda kept: kept["entries"][2].update(sequence=10**6), "has no leaf"),
        (lambda kept: kept.update(did="did:ids:QmUnknown"), "not lead to the root"),
        (lambda kept: kept.update(format="else"), "another format"),
        (lambda kept: kept.pop("entries"), "not the history"),
        (lambda kept: kept.update(checkpoint=kept["checkpoint"].replace("\n\n", "\n")), "checkpoint is not valid"),
    ],
)
def test_a_changed_history_is_refused(
    remote: Commands, identity: Commands, key: str, did: str, here: Path, change: Callable[[Any], object], says: str
) -> None:
    remote.ok("ledger", "verify", did, "--key", key, "--save", here / "kept.json")
    kept = json.loads((here / "kept.json").read_text())
    change(kept)
    (here / "kept.json").write_text(json.dumps(kept))
    assert says in identity.refused("ledger", "verify", "--history", here / "kept.json", "--key", key)[0]


def test_a_log_and_its_proofs_as_text(
    remote: Commands, identity: Commands, server: LocalServer, key: str, did: str, here: Path
) -> None:
    """The plain formats: JSON lines and C2SP tlog-proof, as curl would fetch them."""
    with Session(server.url) as http:
        (here / "log.jsonl").write_text(http.log(did))
        words: list[str | Path] = ["ledger", "verify", "--key", key, "--log", here / "log.jsonl"]
        for item in http.history(did)["items"]:
            path = here / f"{item['versionId']}.tlog-proof"
            query = {"transaction": item["transactionHash"]}
            path.write_bytes(http.get_bytes("/ledger/proof/inclusion", query=query, accept="text/plain"))
            assert len(path.read_bytes()) < 1500
            words += ["--proof", path]
    assert identity.json(*words)["versions"] == 3
    assert "2 proofs for 3 lines" in identity.refused(*words[:-2])[0]
    swapped = [*words[:-3], words[-1], words[-2], words[-3]]
    assert "not proven" in identity.refused(*swapped)[0]
    changed = (here / "log.jsonl").read_text().replace("https://x.example/", "https://y.example/")
    (here / "log.jsonl").write_text(changed)
    identity.refused(*words)


def test_a_did_that_nobody_has(remote: Commands, key: str) -> None:
    assert (
        "DID_NOT_FOUND"
        in remote.refused("ledger", "verify", "did:ids:QmUnknownUnknownUnknownUnknownUnknownUnknownUn", "--key", key)[0]
    )


def test_wrong_query_is_refused(identity: Commands, here: Path, key: str) -> None:
    assert "--history" in identity.refused("ledger", "verify", "--key", key, status=2)[0]
    assert "key is missing" in identity.refused("ledger", "verify", "did:x:y")[0]
    assert "not a verifier key" in identity.refused("ledger", "verify", "did:x:y", "--key", "a+b+c")[0]
    assert (
        "neither a verifier key nor a file"
        in identity.refused("ledger", "verify", "did:x:y", "--key", "no/such/file")[0]
    )
    assert "no such data directory" in identity.refused("ledger", "audit", "--key", key, status=2)[0]
    (here / "empty").mkdir()
    for words in (("audit", "--key", key), ("checkpoint", "--key", key), ("export", here / "copy")):
        assert "no checkpoint" in identity.refused("ledger", *words, "--dir", here / "empty")[0]
    lines = identity.refused("ledger", "audit", "--url", "http://127.0.0.1:9", "--key", key)
    assert "identity serve" in lines[2]


def test_export_takes_no_memory_for_a_stated_size(identity: Commands, here: Path) -> None:
    """The size is not verified: the first tile that is missing ends the command."""
    (here / "huge").mkdir()
    note = Checkpoint("else.example/log", 10**18, bytes(32)).text + "\n\u2014 else.example/log " + "AAAA" * 18 + "\n"
    (here / "huge" / "checkpoint").write_text(note)
    assert "tile" in identity.refused("ledger", "export", here / "copy", "--dir", here / "huge")[0]


def test_another_key_is_refused(remote: Commands, did: str) -> None:
    stranger = str(LogKey().verifier)
    lines = remote.refused("ledger", "verify", did, "--key", stranger)
    assert "another log" in lines[0]


def test_a_kept_checkpoint_is_what_the_log_grew_from(remote: Commands, key: str, did: str, here: Path) -> None:
    remote.ok("ledger", "checkpoint", "--key", key, "--save", here / "held")
    remote.ok("did", "create", "--method", "ids", "--keys", here / "more.json")
    assert "proven" in remote.ok("ledger", "verify", did, "--key", key, "--held", here / "held")
    assert remote.json("ledger", "audit", "--key", key, "--held", here / "held")["held"] == 1


def test_a_kept_history_is_held_against_a_kept_checkpoint(
    remote: Commands, identity: Commands, server: LocalServer, key: str, did: str, here: Path
) -> None:
    """Also where the checkpoint is the newer of the two; only the log can prove what lies between."""
    remote.ok("ledger", "checkpoint", "--key", key, "--save", here / "earlier")
    remote.ok("did", "create", "--keys", here / "one.json")
    remote.ok("ledger", "verify", did, "--key", key, "--save", here / "kept.json")
    remote.ok("ledger", "checkpoint", "--key", key, "--save", here / "same")
    remote.ok("did", "create", "--keys", here / "two.json")
    remote.ok("ledger", "checkpoint", "--key", key, "--save", here / "later")
    words = ("ledger", "verify", "--history", here / "kept.json", "--key", key, "--held")
    assert "proven" in identity.ok(*words, here / "same")
    for held in ("earlier", "later"):
        assert "--url is missing" in identity.refused(*words, here / held, status=2)[0]
        assert "proven" in identity.ok(*words, here / held, "--url", server.url)
    broken = (here / "later").read_text().replace("/api/v1/ledger\n", "/api/v1/other\n", 1)
    (here / "later").write_text(broken)
    assert "another log" in identity.refused(*words, here / "later")[0]


def test_a_fork_and_a_cut_show_in_a_kept_history(remote: Commands, identity: Commands, key: str, here: Path) -> None:
    log = LogKey()
    leaves, fork = some_leaves(40, "did:key:"), some_leaves(40, "did:fork:")
    leaf = LogLeaf.parse(leaves[0])
    hashes = [leaf_hash(one) for one in leaves]
    path = tuple(Frontier().appended(hashes[start:end]).root for start, end in inclusion_spans(leaf.index, len(leaves)))
    (here / "kept.json").write_bytes(LoggedHistory(leaf.did, log.note(leaves), (Recorded(leaf, path),)).encode())
    words = ("ledger", "verify", "--history", here / "kept.json", "--key", str(log.verifier))
    assert "proven: 1 version," in identity.ok(*words)
    (here / "held").write_bytes(log.note(fork))
    for option in ("--held", "--checkpoint"):
        assert "two trees of 40 entries" in identity.refused(*words, option, here / "held")[0]
    (here / "held").write_bytes(log.note(fork[:20]))
    assert "the history was proven in a log of 40" in identity.refused(*words, "--checkpoint", here / "held")[0]
    # The service that is asked for the growth has neither.
    (here / "held").write_bytes(log.note(some_leaves(5000)))
    assert "it was cut" in remote.refused(*words, "--held", here / "held")[0]


def test_audit_of_a_service_an_export_and_an_installation(
    remote: Commands, identity: Commands, server: LocalServer, key: str, did: str, here: Path
) -> None:
    over_http = remote.json("ledger", "audit", "--key", key, "--logs")
    assert over_http["sound"]
    assert over_http["dids"] >= 1
    assert "sound" in remote.ok("ledger", "audit", "--key", key)
    exported = remote.json("ledger", "export", here / "copy")
    assert exported["entries"] == over_http["entries"]
    assert identity.json("ledger", "audit", "--dir", here / "copy", "--key", key)["entries"] == over_http["entries"]
    local = identity.json("ledger", "audit", "--data-dir", server.data_dir, "--logs")
    assert (local["sound"], local["entries"]) == (True, over_http["entries"])
    remote.ok("ledger", "checkpoint", "--key", key, "--save", here / "held")
    held = identity.json("ledger", "audit", "--data-dir", server.data_dir, "--key", key, "--held", here / "held")
    assert (held["sound"], held["held"]) == (True, 1)
    # The log is the same one to a command that is not told where the service listens.
    identity.ok("ledger", "export", here / "local", "--data-dir", server.data_dir)
    assert identity.json("ledger", "audit", "--dir", here / "local", "--key", key)["sound"]
    # Another export brings what is new and leaves what is there.
    before = {path: path.stat().st_mtime_ns for path in (here / "copy" / "tile").rglob("*") if path.is_file()}
    remote.ok("did", "create", "--keys", here / "more.json")
    assert remote.json("ledger", "export", here / "copy")["entries"] == exported["entries"] + 1
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    assert identity.json("ledger", "audit", "--dir", here / "copy", "--key", key)["sound"]


# The witness


def test_a_witness_cosigns_what_grows(remote: Commands, identity: Commands, key: str, did: str, here: Path) -> None:
    with witness(here / "w", key, command=()) as told:
        for _ in range(2):
            note = remote.json("ledger", "checkpoint", "--key", key, "--witness", told["url"], "--save", here / "held")
            assert told["verifierKey"].partition("+")[0] in note["checkpoint"]
            remote.ok("did", "create", "--keys", here / "more.json")
            (here / "more.json").unlink()
        # What was cosigned counts where a cosignature is asked for.
        asked = ("ledger", "verify", "--key", key, "--witness-key", told["verifierKey"], "--cosignatures", "1")
        kept = here / "kept.json"
        assert "0 of the witnesses" in remote.refused(*asked, did)[0]
        remote.ok("ledger", "checkpoint", "--key", key, "--witness", told["url"], "--save", here / "held")
        said = remote.ok(*asked, did, "--checkpoint", here / "held", "--save", kept)
        assert "cosigned by witness.example/w1" in said
        # A kept history has it with it, and one that was kept without can be given it.
        assert identity.ok(*asked, "--history", kept) == said
        remote.ok("ledger", "verify", did, "--key", key, "--save", kept)
        assert "0 of the witnesses" in identity.refused(*asked, "--history", kept)[0]
        assert identity.ok(*asked, "--history", kept, "--checkpoint", here / "held") == said
        # What was recorded since is not in it.
        wallet = here / "new.json"
        remote.ok("did", "create", "--keys", wallet)
        new = json.loads(wallet.read_text())["did"]
        assert "the checkpoint covers" in remote.refused(*asked, new, "--checkpoint", here / "held")[0]
    assert (here / "w" / "witness.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("answer", ["", "not a signature\n", "\n\u2014 w AAAAAAAA\n", "x"])
def test_answer_without_a_cosignature_is_refused(remote: Commands, key: str, here: Path, answer: str) -> None:
    class Lying(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer.encode())))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Lying) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        lines = remote.refused("ledger", "checkpoint", "--key", key, "--witness", url, "--save", here / "lied")
        server.shutdown()
    assert "name another witness" in lines[2], "it is not a forked log"
    assert not (here / "lied").exists()


def test_unreadable_checkpoint_is_refused(identity: Commands, here: Path, key: str) -> None:
    (here / "unreadable").mkdir()
    (here / "unreadable" / "checkpoint").write_bytes(b"\xff\xfe\n1\nx\n\nx")
    lines = identity.refused("ledger", "export", here / "copy", "--dir", here / "unreadable")
    assert "unexpected" not in lines[0]
    words = ("audit", "--dir", here / "unreadable", "--key", key, "--service-did", "did:ids:x")
    assert "unexpected" not in identity.refused("ledger", *words)[0]


def test_the_client_names_a_log_that_was_cut(remote: Commands, key: str, here: Path) -> None:
    """The witness has seen more than the service shows."""

    class SeenMore(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(409)
            self.send_header("Content-Type", "text/x.tlog.size")
            self.end_headers()
            self.wfile.write(b"1000000\n")

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), SeenMore) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        lines = remote.refused(
            "ledger", "checkpoint", "--key", key, "--witness", f"http://127.0.0.1:{server.server_port}"
        )
        server.shutdown()
    assert "was cut" in lines[0]
    assert "no answer" in remote.refused("ledger", "checkpoint", "--key", key, "--witness", "http://127.0.0.1:9")[0]
