"""``identity keys rotate checkpoint``, and every command that verifies what the keys of checkpoints signed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer

from identity_codec import ed25519
from identity_core.bootstrap import open_installation
from identity_core.settings import load
from identity_tlog.note import WITNESS, Checkpoint, Note, VerifierKey
from plugins.transparency.tests.test_log_key import installed
from tests.fault.service_process import eventually
from tests.lying_witness import lying_witness, whole
from tests.servers import local_server
from tests.unit.cli.conftest import GENEROUS, Commands

__all__ = ["installed"]


async def start(data_dir: Path) -> None:
    async with open_installation(load(environment={}, overrides={"data_dir": data_dir})):
        pass


@pytest.mark.parametrize("how", [(), ("--compromised",)])
def test_an_installation_goes_on_under_the_next_key(installed: Commands, here: Path, how: tuple[str, ...]) -> None:
    found = here / "data"
    asyncio.run(start(found))
    first = installed.json("ledger", "checkpoint", "--data-dir", found)["checkpoint"]
    done = installed.json("keys", "rotate", "checkpoint", "--data-dir", found, *how)
    assert (done["key"], done["number"], done["destroyed"]) == ("checkpoint", 2, [1] if how else [])
    # What this machine remembers was signed by the old key.
    asyncio.run(start(found))
    note = installed.json("ledger", "checkpoint", "--data-dir", found)["checkpoint"]
    assert Checkpoint.parse(Note.parse(note.encode()).text).size == 2
    assert len(Note.parse(note.encode()).signatures) == (1 if how else 2)
    assert len(Note.parse(first.encode()).signatures) == 1
    assert "sound" in installed.ok("ledger", "audit", "--data-dir", found, "--logs")
    installed.ok("fsck", "--deep", "--data-dir", found)
    said = installed.ok("keys", "rotate", "checkpoint", "--data-dir", found, *how)
    assert "checkpoints are signed by key 3, z6Mk" in said
    assert ("auditors now" if how else "thirty days") in said
    asyncio.run(start(found))


@pytest.fixture
def own_server() -> Iterator[LocalServer]:
    """A service whose key is replaced."""
    with local_server(environment=GENEROUS) as running:
        yield running


def unsigned_by(note: str, key: str) -> str:
    """The note without the signature of a key, as if that did not sign any more, or had signed nothing."""
    text, signatures = note.split("\n\n")
    parsed = VerifierKey.parse(key)
    line = Note.parse(note.encode()).find_signature(parsed)
    assert line is not None
    return f"{text}\n\n{signatures.replace(parsed.line(line.signature), '')}"


def test_verifiers_follow_from_an_old_key_to_the_new_one(
    own_server: LocalServer, installed: Commands, here: Path
) -> None:
    remote = Commands({"IDENTITY_URL": own_server.url, "IDENTITY_API_KEY": own_server.api_key})
    did = remote.json("did", "create", "--keys", here / "w.json")["did"]
    old = remote.ok("ledger", "key").strip()
    remote.ok("ledger", "checkpoint", "--key", old, "--save", here / "held")
    installed.ok("keys", "rotate", "checkpoint", "--data-dir", own_server.data_dir)

    def earlier() -> Any:
        return remote.json("ledger", "key")["earlierKeys"]

    eventually(lambda: len(earlier()) == 1, "the process that is asked knows the replacement")
    new = remote.ok("ledger", "key").strip()
    assert earlier()[0]["verifierKey"] == old != new
    service_did = remote.json("ledger", "key")["serviceDid"]
    known = ("--service-did", service_did)
    for words in (("--key", old, *known), ("--key", new)):
        remote.ok("ledger", "verify", did, *words, "--held", here / "held", "--save", here / "kept.json")
        assert "sound" in remote.ok("ledger", "audit", "--url", own_server.url, *words, "--held", here / "held")
    kept = json.loads((here / "kept.json").read_text())
    later = kept | {"checkpoint": unsigned_by(kept["checkpoint"], old)}
    (here / "later.json").write_text(json.dumps(later))
    for words in (("--key", old, *known), ("--key", new)):
        installed.ok("ledger", "verify", "--history", here / "later.json", *words)
    # Without the log of a known DID nothing leads to the new key; and the old one alone counts no more.
    for name, changed, says in (
        ("bare", {one: later[one] for one in later if one != "service"}, "not signed by the key of the log"),
        ("thief", kept | {"checkpoint": unsigned_by(kept["checkpoint"], new)}, "was replaced"),
    ):
        (here / name).write_text(json.dumps(changed))
        assert says in installed.refused("ledger", "verify", "--history", here / name, "--key", old)[0]
    (here / "policy").write_text(f"log {old}\nquorum none\n")
    proof = remote.ok("ledger", "prove", did)
    (here / "new.proof").write_text(_proof_without(proof, old))
    (here / "thief.proof").write_text(_proof_without(proof, new))
    words = ("ledger", "verify", "--policy", here / "policy")
    assert "not signed" in installed.refused(*words, here / "new.proof")[0]
    later = ("--service-history", here / "kept.json", *known)
    installed.ok(*words, here / "new.proof", *later)
    installed.ok(*words, here / "thief.proof")
    assert "not signed" in installed.refused(*words, here / "thief.proof", *later)[0]
    # A stolen key names no successor: who knows the service's own DID follows all the same.
    installed.ok("keys", "rotate", "checkpoint", "--compromised", "--data-dir", own_server.data_dir)
    eventually(lambda: len(earlier()) == 2, "the process that is asked knows the replacement")
    assert "was replaced" in remote.refused("ledger", "verify", did, "--key", new)[0]
    for key in (old, new):
        remote.ok("ledger", "verify", did, "--key", key, *known)


def test_an_exported_log_is_read_under_an_old_key(own_server: LocalServer, installed: Commands, here: Path) -> None:
    """After a rotation, and a compromised one, which leaves nothing that the old key said of the next."""
    remote = Commands({"IDENTITY_URL": own_server.url, "IDENTITY_API_KEY": own_server.api_key})
    did = remote.json("did", "create", "--keys", here / "w.json")["did"]
    first = remote.ok("ledger", "key").strip()
    remote.ok("ledger", "export", here / "before", "--url", own_server.url)
    for number, how in enumerate([(), ("--compromised",)], 1):
        old = remote.ok("ledger", "key").strip()
        installed.ok("keys", "rotate", "checkpoint", "--data-dir", own_server.data_dir, *how)
        eventually(
            lambda number=number: len(remote.json("ledger", "key")["earlierKeys"]) == number,
            "the process that is asked knows the replacement",
        )
    new, service_did = remote.ok("ledger", "key").strip(), remote.json("ledger", "key")["serviceDid"]
    installed.ok("keys", "rotate", "log", "--compromised", "--data-dir", own_server.data_dir)
    remote.ok("ledger", "verify", did, "--key", new, "--save", here / "kept.json")
    remote.ok("ledger", "export", here / "after", "--url", own_server.url)
    kept = ("--service-history", here / "kept.json")
    for command in ("audit", "checkpoint"):
        words = ("ledger", command, "--dir", here / "after")
        for key in (first, old):
            for given in (("--service-did", service_did), (*kept, "--service-did", service_did)):
                installed.ok(*words, "--key", key, *given)
        # The stolen key has named no successor, and who knows no more than it does not guess one.
        for given in ((), kept):
            result = installed(*words, "--key", old, *given)
            assert (result.exit_code, "--service-did" in result.output) == (1, True)
        installed.ok(*words, "--key", new, *kept)
        # The log of another service leads nowhere.
        assert installed(*words, "--key", old, "--service-did", did).exit_code == 1
        assert "no log leads" in installed.refused(*words, "--key", old, *kept, "--service-did", did)[0]
    # What is retired is known from a later service log, also of an earlier directory that has none of it.
    found = installed.ok("ledger", "audit", "--dir", here / "after", "--logs", "--key", new, *kept)
    assert "sound" in found
    words = ("ledger", "audit", "--dir", here / "before", "--logs", "--key", new, *kept)
    # A replaced key alone signed the earlier one: the service proves how the log grew from it.
    assert "replaced key alone" in installed(*words).stdout
    assert "sound" in installed.ok(*words, "--url", own_server.url)


def _proof_without(proof: str, key: str) -> str:
    head, blank, note = proof.partition("\n\n")
    return head + blank + unsigned_by(note, key)


def test_restore_accepts_checkpoints_of_old_and_new_keys(installed: Commands, here: Path) -> None:
    data, key = here / "data", here / "safe" / "backup.key"
    key.parent.mkdir()
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    asyncio.run(start(data))
    installed.ok("ledger", "checkpoint", "--data-dir", data, "--save", here / "before")
    installed.ok("backup", "create", here / "early.backup", "--key-file", key, "--data-dir", data)
    installed.ok("keys", "rotate", "checkpoint", "--compromised", "--data-dir", data)
    asyncio.run(start(data))
    installed.ok("ledger", "checkpoint", "--data-dir", data, "--save", here / "after")
    installed.ok("backup", "create", here / "b.backup", "--key-file", key, "--data-dir", data)
    installed.ok("backup", "verify", here / "b.backup", "--key-file", key)
    target, note = here / "elsewhere" / "data", ("--checkpoint", here / "before", "--checkpoint", here / "after")
    target.parent.mkdir()
    installed.ok("backup", "restore", here / "b.backup", "--key-file", key, "--data-dir", target, *note)
    installed.ok("doctor", "--data-dir", target)
    asyncio.run(start(target))
    assert "sound" in installed.ok("ledger", "audit", "--data-dir", target, "--logs")
    early = ("backup", "restore", here / "early.backup", "--key-file", key, "--data-dir", here / "early" / "data")
    (here / "early").mkdir()
    says, _, remedy = installed.refused(*early, "--checkpoint", here / "after")
    assert "replaced after the backup was made" in says
    assert "--new-origin" in remedy
    seed = ed25519.generate(bytes(32))
    with lying_witness(lambda it, _: it.sendall(whole("200 OK", (here / "after").read_bytes()))) as url:
        (here / "policy").write_text(f"witness W {VerifierKey('w.example', seed.public, WITNESS)} {url}\nquorum W\n")
        says, _, remedy = installed.refused(*early, "--policy", here / "policy")
    assert "by an unknown one" in says
    assert "restore a backup of after that" in remedy
    (here / "early" / "data.checkpoint").write_bytes((data.parent / "data.checkpoint").read_bytes())
    for more in (("--checkpoint", here / "before"), ("--new-origin", "log.example/2")):
        says, _, remedy = installed.refused(*early, *more)
        assert "this machine remembers is signed by a key that the backup does not know" in says
        assert "moved away" in remedy
    (here / "early" / "data.checkpoint").unlink()
    assert not (here / "early" / "data").exists()
    # A note by a foreign key that is not about this log is not one of a replaced key.
    foreign = (here / "before").read_text().replace("— ", "— other-")
    (here / "foreign").write_text(foreign)
    assert "not one of the log in the backup" in installed.refused(*early, "--checkpoint", here / "foreign")[0]
    installed.ok(*early, "--new-origin", "log.example/2")
    asyncio.run(start(here / "early" / "data"))
