"""identity ledger prove, and verify --policy: one entry of a log in a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer

from identity_codec import ed25519
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import WITNESS, VerifierKey, base64_encode, cosignature_line, cosignature_message
from identity_tlog.proofs import TlogProof
from tests.transparency import LogKey
from tests.unit.cli.conftest import Commands

PAIRS = [ed25519.generate(bytes([number]) * 32) for number in (1, 2, 3)]
KEYS = [VerifierKey(f"w{number}.example", pair.public, WITNESS) for number, pair in enumerate(PAIRS)]


@pytest.fixture
def did(remote: Commands, wallet: Path) -> str:
    """A DID of two versions."""
    remote.ok("did", "update", "--keys", wallet, "--add-service", "s", "LinkedDomains", "https://x.example/")
    found: str = json.loads(wallet.read_text())["did"]
    return found


@pytest.fixture
def policies(server: LocalServer, here: Path) -> dict[str, Path]:
    """Files, by what they ask for."""
    log = f"log {Commands({'IDENTITY_URL': server.url}).ok('ledger', 'key').strip()}\n"
    two = "".join(f"witness W{number} {key}\n" for number, key in enumerate(KEYS)) + "group two 2 W0 W1 W2\n"
    texts = {
        "log": f"{log}quorum none\n",
        "two": f"{log}{two}quorum two\n",
        "unwitnessed": "quorum none\n",
        "stranger": f"log {LogKey().verifier}\nquorum none\n",
    }
    for name, text in texts.items():
        (here / name).write_text(text)
    return {name: here / name for name in texts}


def write_proof(remote: Commands, path: Path, *words: Any) -> TlogProof:
    path.write_text(remote.ok("ledger", "prove", *words))
    return TlogProof.parse(path.read_bytes())


def cosign(path: Path, *numbers: int, at: datetime | None = None) -> None:
    text = path.read_text().split("\n\n")[1] + "\n"
    seconds = int((at or datetime.now(UTC)).timestamp())
    for number in numbers:
        signature = PAIRS[number].sign(cosignature_message(text, seconds))
        with path.open("a") as file:
            file.write(cosignature_line(KEYS[number], seconds, signature))


def test_an_entry_is_proven_and_checked_without_a_service(
    remote: Commands, identity: Commands, did: str, policies: dict[str, Path], here: Path
) -> None:
    path = here / "x.tlog-proof"
    proof = write_proof(remote, path, did)
    leaf = LogLeaf.parse(proof.extra or b"")
    assert (leaf.did, leaf.version, leaf.index) == (did, 2, proof.index)
    body = identity.json("ledger", "verify", "--policy", policies["log"], path)
    assert (body["did"], body["versionId"], body["index"], body["cosignedAt"]) == (did, 2, proof.index, None)
    assert "proven: version 2" in identity.ok("ledger", "verify", "--policy", policies["log"], path)
    # By version and by transaction, and as JSON.
    first = write_proof(remote, here / "y.tlog-proof", did, "--version-id", "1")
    assert LogLeaf.parse(first.extra or b"").version == 1
    shown = remote.json("ledger", "prove", LogLeaf.parse(first.extra or b"").transaction_hash)
    assert (shown["versionId"], TlogProof.parse(shown["proof"].encode()).extra) == (1, first.extra)
    # Of a policy without logs the log is known from elsewhere.
    key = Commands(remote.environment).ok("ledger", "key").strip()
    assert identity.json("ledger", "verify", "--policy", policies["unwitnessed"], "--key", key, path) == body
    assert "knows no log" in identity.refused("ledger", "verify", "--policy", policies["unwitnessed"], path)[0]
    assert "knows no log" in identity.refused("ledger", "verify", "--policy", policies["stranger"], path)[0]


def test_a_quorum_and_its_time_may_be_demanded(
    remote: Commands, identity: Commands, did: str, policies: dict[str, Path], here: Path
) -> None:
    path = here / "x.tlog-proof"
    proof = write_proof(remote, path, did)
    words = ("ledger", "verify", "--policy", policies["two"], path)
    assert "not a quorum" in identity.refused(*words)[0]
    cosign(path, 0)
    assert "not a quorum" in identity.refused(*words)[0]
    cosign(path, 2)
    assert "cosigned by W2" in identity.ok(*words, "--cosigned-within", "600")
    assert set(identity.json(*words)["cosigned"]) == {"W0", "W2"}
    # Witnesses who saw it an hour later say nothing of the time before.
    path.write_bytes(proof.encode())
    cosign(path, 0, 1, at=datetime.fromtimestamp(datetime.now(UTC).timestamp() + 3600, UTC))
    identity.ok(*words)
    assert "was cosigned" in identity.refused(*words, "--cosigned-within", "600")[0]
    free = ("ledger", "verify", "--policy", policies["log"], path, "--cosigned-within", "600")
    assert "no witness says" in identity.refused(*free)[0]


def test_whatever_is_changed_in_it_is_refused(
    remote: Commands, identity: Commands, did: str, policies: dict[str, Path], here: Path
) -> None:
    path = here / "x.tlog-proof"
    proof = write_proof(remote, path, did, "--version-id", "1")
    leaf = proof.extra or b""
    words = ("ledger", "verify", "--policy", policies["log"], path)
    for changed, says in (
        (
            TlogProof(
                proof.index, proof.hashes, proof.checkpoint, leaf.replace(did.encode(), did[:-1].encode() + b"x")
            ),
            "root",
        ),
        (TlogProof(proof.index, proof.hashes, proof.checkpoint, leaf.replace(b"version 1", b"version 2")), "root"),
        (TlogProof(proof.index + 1, proof.hashes, proof.checkpoint, leaf), "is proven as number"),
        (TlogProof(proof.index, (*proof.hashes, bytes(32)), proof.checkpoint, leaf), "too long"),
        (TlogProof(proof.index, proof.hashes, proof.checkpoint, None), "does not carry its entry"),
        (TlogProof(proof.index, proof.hashes, proof.checkpoint, b"else"), "not a leaf"),
        (TlogProof(proof.index, proof.hashes, proof.checkpoint.replace(b"/ledger\n", b"/ledger\n1"), leaf), "is wrong"),
    ):
        path.write_bytes(changed.encode())
        assert says in identity.refused(*words)[0]
    path.write_text(f"c2sp.org/tlog-proof@v1\nextra {base64_encode(leaf)}\n")
    assert "ends with a checkpoint" in identity.refused(*words)[0]


def test_wrong_options_are_refused(
    remote: Commands, identity: Commands, did: str, policies: dict[str, Path], here: Path
) -> None:
    assert "no version 9" in remote.refused("ledger", "prove", did, "--version-id", "9")[0]
    assert "TRANSACTION_NOT_FOUND" in remote.refused("ledger", "prove", "0" * 64)[0]
    assert "--version-id" in remote.refused("ledger", "prove", "0" * 64, "--version-id", "1", status=2)[0]
    assert "knows no log" not in remote.ok("ledger", "prove", did, "--policy", policies["log"])
    assert "not a quorum" in remote.refused("ledger", "prove", did, "--policy", policies["two"])[0]
    assert "--policy" in identity.refused("ledger", "verify", "--policy", policies["log"], status=2)[0]
    assert "--policy" in identity.refused("ledger", "verify", "--policy", policies["log"], did, status=2)[0]
    assert "--policy" in identity.refused("ledger", "verify", did, "--cosigned-within", "1", status=2)[0]
    (here / "broken").write_text("quorum")
    (here / "x").write_text("x")
    assert "not a policy: line 1" in identity.refused("ledger", "verify", "--policy", here / "broken", here / "x")[0]
