"""``identity backup``: of a running service, checked, put back; and what is refused."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_operations.backup.archive import described, read_archive, write_archive
from identity_operations.backup.seal import OperatorKey
from identity_operations.examination.storage import compare_storage
from identity_transparency.cli.ledger_cosigner import CosigningKey

from identity_codec import ed25519
from identity_codec.values import replace
from identity_core.database.files import FOLDER, FileLock
from identity_core.settings import load
from identity_tlog.note import WITNESS, Checkpoint, Note, VerifierKey
from tests.lying_witness import lying_witness, whole
from tests.unit.cli.conftest import Commands


@dataclass(frozen=True)
class Monday:
    """A backup of the running service, the operator's key, and a DID that is in it."""

    content: bytes
    key: bytes
    did: str


@pytest.fixture(scope="module")
def monday(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Monday:
    folder = tmp_path_factory.mktemp("monday")
    key, path, wallet = folder / "safe" / "key", folder / "monday.backup", folder / "wallet.json"
    key.parent.mkdir()
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    remote = Commands({"IDENTITY_URL": server.url, "IDENTITY_API_KEY": server.api_key})
    for number in range(2):
        remote.ok("did", "create", "--keys", folder / f"{number}.json")
    remote.ok("did", "create", "--keys", wallet)
    remote.ok("backup", "create", path, "--key-file", key, "--data-dir", server.data_dir)
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(folder) == {"safe", "monday.backup", "wallet.json", "0.json", "1.json"}
    assert not [name for name in names(server.data_dir) if "backup" in name]
    return Monday(path.read_bytes(), key.read_bytes(), json.loads(wallet.read_text())["did"])


@pytest.fixture
def key(monday: Monday, tmp_path: Path) -> Path:
    path = tmp_path / "safe" / "backup.key"
    path.parent.mkdir()
    path.write_bytes(monday.key)
    path.chmod(0o600)
    return path


@pytest.fixture
def backup(monday: Monday, tmp_path: Path) -> Path:
    path = tmp_path / "backups" / "monday.backup"
    path.parent.mkdir()
    path.write_bytes(monday.content)
    return path


def restored(identity: Commands, backup: Path, key: Path, target: Path, *more: str | Path) -> Any:
    return identity.json("backup", "restore", backup, "--key-file", key, "--data-dir", target, *more)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def dids_of(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        return {did for (did,) in connection.execute("SELECT did FROM ledger_entries")}


def sound(folder: Path) -> None:
    """Check that what a start compares agrees; the settings say where the checkpoint is remembered."""
    found = asyncio.run(compare_storage(load(environment={}, overrides={"data_dir": folder})))
    assert found.entries is not None
    assert (found.remembered, found.pending) == (found.entries, ())


def test_a_backup_tells_nothing_to_who_has_no_key(monday: Monday, server: LocalServer) -> None:
    for kept in (b"SQLite format 3", b"did:ids:", (server.data_dir / "custodian.key").read_bytes()):
        assert kept not in monday.content


def test_backup_is_restored(identity: Commands, backup: Path, key: Path, tmp_path: Path, monday: Monday) -> None:
    verified = identity.json("backup", "verify", backup, "--key-file", key)
    target = tmp_path / "new" / "data"
    target.parent.mkdir()
    told = restored(identity, backup, key, target, "--nothing-newer")
    assert (told["entries"], told["root"], told["log"]) == (verified["entries"], verified["root"], verified["log"])
    assert (told["entriesLost"], told["auditLinesLost"], told["serves"]) == (0, 0, True)
    assert monday.did in dids_of(target)
    assert target.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in target.iterdir()} == {0o600}
    assert names(target.parent) == {"data", "data.checkpoint"}
    sound(target)
    lines = identity.ok("audit", "export", "--data-dir", target)
    assert '\\"operation\\":\\"restoreBackup\\"' in lines
    assert identity.json("audit", "verify", "--data-dir", target)["valid"]


def test_a_passphrase_seals_as_well(remote: Commands, server: LocalServer, identity: Commands, tmp_path: Path) -> None:
    phrase, target = tmp_path / "safe.txt", tmp_path / "b" / "x"
    target.parent.mkdir()
    phrase.write_text("four words of a poem\n")
    phrase.chmod(0o600)
    remote.ok("backup", "create", target, "--passphrase-file", phrase, "--data-dir", server.data_dir)
    phrase.write_text("four words of a poem")
    assert identity.json("backup", "verify", target, "--passphrase-file", phrase)["backup"] == str(target)


# What is refused


def flipped(backup: Path) -> None:
    data = bytearray(backup.read_bytes())
    data[len(data) // 2] ^= 4
    backup.write_bytes(data)


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda backup: os.truncate(backup, backup.stat().st_size - 100), "changed or cut off"),
    "flipped": (flipped, "changed or cut off"),
    "foreign": (lambda backup: backup.write_bytes(b"PK\x03\x04 a backup of something else"), "it is not a backup"),
    "newer": (lambda backup: backup.write_bytes(b"identity-backup 9\n{}\n"), "made by a newer version"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_backup_that_is_none_is_refused(
    identity: Commands, backup: Path, key: Path, tmp_path: Path, harm: str
) -> None:
    spoil, says = HARM[harm]
    spoil(backup)
    before = names(tmp_path)
    for words in (("verify", backup), ("restore", backup, "--nothing-newer", "--data-dir", tmp_path / "new")):
        lines = identity.refused("backup", *words, "--key-file", key)
        assert says in lines[0]
    assert names(tmp_path) == before


def test_another_key_opens_nothing(identity: Commands, backup: Path, key: Path, tmp_path: Path) -> None:
    key.write_bytes(os.urandom(32))
    lines = identity.refused(
        "backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new", "--nothing-newer"
    )
    assert "the key is not the one that it was sealed under" in lines[0]
    assert not (tmp_path / "new").exists()


def test_other_custodian_of_secrets_stops_restore(identity: Commands, backup: Path, key: Path, tmp_path: Path) -> None:
    """There credentials that are bound to them would prove nothing; what the settings have to say is told."""
    config = tmp_path / "identity.toml"
    config.write_text('custodian.holders = "pkcs11"\n')
    for words in (("verify", backup), ("restore", backup, "--nothing-newer", "--data-dir", tmp_path / "new")):
        lines = identity.refused("backup", *words, "--key-file", key, "--config", config)
        assert "made with custodian.holders = sealed" in lines[0]
        assert lines[2].endswith('set custodian.holders to "sealed"')
    assert not (tmp_path / "new").exists()


def remade(backup: Path, key: Path, change: Callable[[Path], None]) -> None:
    """Make the backup again with other content and another manifest, with the operator's key."""
    operator, folder = OperatorKey(key.read_bytes(), is_passphrase=False), backup.parent / "remade"
    folder.mkdir()
    with backup.open("rb") as file:
        manifest = read_archive(file, operator, folder)
    change(folder)
    files = tuple(described(path) for path in sorted(folder.iterdir()) if path.suffix in (".sqlite", ".key"))
    with backup.open("wb") as file:
        write_archive(file, operator, replace(manifest, files=files), folder)
    shutil.rmtree(folder)


def sql(name: str, *statements: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with closing(sqlite3.connect(folder / name)) as connection, connection:
            for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {trigger}")
            for statement in statements:
                connection.execute(statement)
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (sql("ledger.sqlite", "INSERT INTO ledger_migrations VALUES (99, '0099_x.sql', 'x')"), "newer version"),
        (sql("identity.sqlite", "INSERT INTO store_migrations VALUES (99, '0099_x.sql', 'x')"), "newer version"),
        (
            sql(
                "ledger.sqlite",
                "DELETE FROM ledger_entries WHERE sequence = (SELECT max(sequence) FROM ledger_entries)",
            ),
            "was known|not those of its checkpoint",
        ),
        (sql("ledger.sqlite", "DELETE FROM ledger_entries WHERE sequence = 1"), "missing|not those of"),
        (sql("ledger.sqlite", "UPDATE ledger_entries SET link = zeroblob(32) WHERE sequence = 1"), "does not follow"),
        (lambda folder: (folder / "custodian.key").unlink(), "master key"),
        (lambda folder: (folder / "custodian.key").write_bytes(bytes(32)), "not the master key"),
        (lambda folder: (folder / "identity.sqlite").unlink(), "not"),
        (lambda folder: os.truncate(folder / "ledger.sqlite", 4096), "damaged"),
    ],
    ids=["newer_ledger", "newer_store", "last_gone", "first_gone", "link", "no_key", "other_key", "no_store", "broken"],
)
def test_content_that_no_start_would_take_is_refused(
    identity: Commands, backup: Path, key: Path, tmp_path: Path, change: Callable[[Path], None], says: str
) -> None:
    remade(backup, key, change)
    before = names(tmp_path)
    for words in (("verify", backup), ("restore", backup, "--nothing-newer", "--data-dir", tmp_path / "new")):
        assert re.search(says, identity.refused("backup", *words, "--key-file", key)[0])
    assert names(tmp_path) == before


def test_nothing_is_written_over(identity: Commands, backup: Path, key: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").write_text("x")
    words = ("backup", "restore", backup, "--key-file", key, "--nothing-newer", "--data-dir")
    assert "something in the data directory" in identity.refused(*words, tmp_path / "data")[0]
    assert names(tmp_path / "data") == {"mine"}
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    assert "something else" in identity.refused(*words, tmp_path / "link")[0]
    assert "something else" in identity.refused(*words, backup)[0]
    assert "no such directory" in identity.refused(*words, tmp_path / "absent" / "data")[0]
    restored(identity, backup, key, tmp_path / "empty", "--nothing-newer")
    sound(tmp_path / "empty")


def test_the_remedy_frees_what_a_refused_start_filled(
    identity: Commands, backup: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that a plugin refuses has made databases by then, and a restore wants an empty directory."""
    folder = tmp_path / "my data"
    with monkeypatch.context() as changed:
        changed.setenv("IDENTITY_CUSTODIAN_BACKEND", "pkcs11")
        assert identity("serve", "--port", "0", "--data-dir", folder).exit_code != 0
    assert any(name.endswith(".sqlite") for name in names(folder))
    words = ("backup", "restore", backup, "--key-file", key, "--nothing-newer", "--data-dir", folder)
    remedy = identity.refused(*words)[2]
    subprocess.run(re.findall("`(mv .*?)`", remedy)[0], shell=True, check=True)
    restored(identity, backup, key, folder, "--nothing-newer")
    sound(folder)


def test_a_backup_is_not_written_over(remote: Commands, server: LocalServer, backup: Path, key: Path) -> None:
    before = backup.read_bytes()
    lines = remote.refused("backup", "create", backup, "--key-file", key, "--data-dir", server.data_dir)
    assert "a file of that name" in lines[0]
    assert backup.read_bytes() == before


def test_keys_lie_apart(remote: Commands, server: LocalServer, key: Path, tmp_path: Path) -> None:
    words = ("backup", "create", tmp_path / "b" / "x", "--data-dir", server.data_dir)
    (tmp_path / "b").mkdir()
    assert "one key" in remote.refused(*words, status=2)[0]
    assert "one key" in remote.refused(*words, "--key-file", key, "--passphrase-file", key, status=2)[0]
    beside = shutil.copy(key, tmp_path / "b" / "key")
    Path(beside).chmod(0o600)
    assert "anyone who takes the one" in remote.refused(*words, "--key-file", beside, status=2)[0]
    inside = server.data_dir / "custodian.key"
    assert "anyone who takes the one" in remote.refused(*words, "--key-file", inside, status=2)[0]
    key.chmod(0o640)
    assert "others can read" in remote.refused(*words, "--key-file", key)[0]
    key.chmod(0o600)
    key.write_bytes(bytes(31))
    assert "no such key" in remote.refused(*words, "--key-file", key, status=2)[0]
    assert names(tmp_path / "b") == {"key"}


def test_one_at_a_time(remote: Commands, server: LocalServer, key: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    left = server.data_dir / ".backup-of-one-that-was-killed"
    left.mkdir()
    words = ("backup", "create", tmp_path / "b" / "x", "--key-file", key, "--data-dir", server.data_dir)
    with closing(FileLock(server.data_dir, FOLDER)) as lock:
        assert lock.try_acquire()
        assert "another backup" in remote.refused(*words)[0]
    remote.ok(*words)
    assert not left.exists()


def test_a_place_that_cannot_be_written_is_told(
    remote: Commands, server: LocalServer, key: Path, tmp_path: Path
) -> None:
    words = ("backup", "create", tmp_path / "absent" / "x", "--key-file", key, "--data-dir", server.data_dir)
    assert "No such file" in remote.refused(*words, status=2)[0]
    assert not [name for name in names(server.data_dir) if "backup" in name]
    empty = tmp_path / "empty"
    empty.mkdir()
    lines = remote.refused("backup", "create", tmp_path / "x", "--key-file", key, "--data-dir", empty, status=2)
    assert "no installation" in lines[0]
    assert names(empty) == set()


def test_a_server_is_backed_up_by_its_own_tools(identity: Commands, key: Path, tmp_path: Path) -> None:
    url = "postgresql://anyone:secret@127.0.0.1:1/identity"
    result = identity("backup", "create", tmp_path / "x", "--key-file", key, "--database-url", url)
    assert result.exit_code == 1
    assert "no backup was made" in result.stdout
    assert "pg_dump" in result.stdout
    assert "secret" not in result.stdout
    assert not (tmp_path / "x").exists()
    (tmp_path / "x").write_bytes(b"")
    # A password in the option is warned of, in a fourth line.
    words = ("backup", "restore", tmp_path / "x", "--key-file", key, "--database-url", url.replace(":secret", ""))
    assert "its own tools" in identity.refused(*words)[0]
    (tmp_path / "x").write_bytes(b"PGDMP and more")
    for copy in (tmp_path / "x", tmp_path):
        result = identity("backup", "verify", copy)
        assert (result.exit_code, "nothing was checked" in result.stdout) == (1, True)
        assert "pg_restore" in result.stdout
    assert "nothing to look at" in identity.refused("backup", "verify", status=2)[0]


# A log that is behind


def checkpoint(remote: Commands, path: Path) -> Path:
    """The newest one of the service, as a monitor keeps it."""
    import httpx

    path.write_bytes(
        httpx.get(f"{remote.environment['IDENTITY_URL']}/api/v1/ledger/checkpoint", trust_env=False).content
    )
    return path


@contextmanager
def served(data: bytes, status: int = 200) -> Iterator[str]:
    class One(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), One) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/checkpoint"
        server.shutdown()


def test_how_far_the_log_was_must_be_said(identity: Commands, backup: Path, key: Path, tmp_path: Path) -> None:
    lines = identity.refused("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new")
    assert "nothing says how far the log was" in lines[0]
    assert "--checkpoint" in lines[2]
    assert not (tmp_path / "new").exists()


def test_log_behind_checkpoint_signs_nothing(
    identity: Commands, remote: Commands, backup: Path, key: Path, tmp_path: Path
) -> None:
    remote.ok("did", "create", "--keys", tmp_path / "a.json")
    newer, target = checkpoint(remote, tmp_path / "newer"), tmp_path / "new"
    entries = int(newer.read_text().splitlines()[1])
    with served(newer.read_bytes()) as url:
        told = restored(identity, backup, key, target, "--checkpoint", url)
    lost = entries - told["entries"]
    assert lost > 0
    assert (told["entriesLost"], told["serves"]) == (lost, False)
    kept = json.loads((tmp_path / "new.checkpoint").read_text())
    assert kept["published"] is True
    refusal = identity.refused("serve", "--port", "0", "--data-dir", target)
    assert (
        f"The ledger ends at entry {told['entries']}, and {entries} entries are remembered: {lost} are lost"
        in refusal[0]
    )
    lines = identity.refused("ledger", "accept-rollback", "--yes", "--data-dir", target)
    assert "is a fork" in lines[0]
    assert identity.refused("ledger", "accept-rollback", "--yes", "--data-dir", target, "--new-origin", told["log"])
    assert (
        "no log has such a name"
        in identity.refused("ledger", "accept-rollback", "--yes", "--data-dir", target, "--new-origin", "a b")[0]
    )
    identity.ok("ledger", "accept-rollback", "--yes", "--data-dir", target, "--new-origin", "second.example/log")
    kept = json.loads((tmp_path / "new.checkpoint").read_text())
    assert kept["checkpoint"].startswith(f"second.example/log\n{told['entries']}\n")
    assert "published" not in kept
    sound(target)


def test_the_witnesses_of_a_policy_say_how_far_the_log_was(
    identity: Commands, remote: Commands, backup: Path, key: Path, tmp_path: Path
) -> None:
    remote.ok("did", "create", "--keys", tmp_path / "a.json")
    note = checkpoint(remote, tmp_path / "held").read_bytes()
    pair = ed25519.generate(bytes(32))
    one = CosigningKey(VerifierKey("w.example", pair.public, WITNESS), pair)
    shown = Checkpoint.parse(Note.parse(note).text)
    lines, policy = note + one.line(shown, 1_800_000_000).encode(), tmp_path / "policy.txt"
    words = ("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new", "--policy", policy)
    with lying_witness(lambda it, _: it.sendall(whole("200 OK", lines))) as url:
        policy.write_text(f"witness W {one.key} {url}\nquorum W\n")
        said = identity.json(*words)
        text = identity.ok(*words[:6], tmp_path / "again", *words[7:])
    assert said["witnesses"] == {"W": shown.size}
    assert (said["entries"] + said["entriesLost"], said["serves"]) == (shown.size, False)
    assert f"witness W: has cosigned {shown.size} entries" in text
    assert json.loads((tmp_path / "new.checkpoint").read_text())["published"] is True
    assert "are lost" in identity.refused("serve", "--port", "0", "--data-dir", tmp_path / "new")[0]


def test_witnesses_that_do_not_say_how_far_the_log_was(
    identity: Commands, backup: Path, key: Path, tmp_path: Path
) -> None:
    pair, policy = ed25519.generate(bytes(32)), tmp_path / "policy.txt"
    witness = VerifierKey("w.example", pair.public, WITNESS)
    words = ("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new", "--policy", policy)
    policy.write_text(f"witness W {witness} http://127.0.0.1:9\nquorum W\n")
    lines = identity.refused(*words)
    assert "too few witnesses say what they saw: W: no answer" in lines[0]
    assert "--checkpoint" in lines[2]
    with lying_witness(lambda it, _: it.sendall(whole("404 No", b""))) as url:
        policy.write_text(f"witness W {witness} {url}\nquorum W\n")
        assert "nothing says how far the log was" in identity.refused(*words)[0]
    policy.write_text("quorum")
    assert "this is not a policy" in identity.refused(*words)[0]
    assert not (tmp_path / "new").exists()


def test_a_newer_backup_catches_up(
    identity: Commands, remote: Commands, server: LocalServer, backup: Path, key: Path, tmp_path: Path
) -> None:
    remote.ok("did", "create", "--keys", tmp_path / "a.json")
    newest = backup.with_name("tuesday.backup")
    remote.ok("backup", "create", newest, "--key-file", key, "--data-dir", server.data_dir)
    target = tmp_path / "new"
    held = checkpoint(remote, tmp_path / "held")
    assert not restored(identity, backup, key, target, "--checkpoint", held)["serves"]
    shutil.rmtree(target)
    # The machine remembers what it was told.
    told = restored(identity, newest, key, target)
    assert (told["serves"], told["entriesLost"]) == (True, 0)
    sound(target)


def test_a_new_name_is_declared_with_the_restore(
    identity: Commands, remote: Commands, backup: Path, key: Path, tmp_path: Path
) -> None:
    remote.ok("did", "create", "--keys", tmp_path / "a.json")
    held = checkpoint(remote, tmp_path / "held")
    words = ("--checkpoint", held, "--new-origin", "second.example/log")
    told = restored(identity, backup, key, tmp_path / "new", *words)
    assert (told["log"], told["serves"]) == ("second.example/log", True)
    assert told["entries"] + told["entriesLost"] == int(held.read_text().splitlines()[1])
    assert told["entriesLost"] > 0
    sound(tmp_path / "new")
    shown = identity.json("ledger", "audit", "--data-dir", tmp_path / "new")
    assert (shown["log"], shown["sound"]) == ("second.example/log", True)
    named = Commands({"IDENTITY_LEDGER_ORIGIN": "first.example/log"})
    lines = named.refused("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "other", *words)
    assert "the settings say" in lines[0] or "not those of its checkpoint" in lines[0]


def forged(note: str, *, size: int | None = None, root: str | None = None) -> str:
    lines = note.split("\n")
    lines[1] = lines[1] if size is None else str(size)
    lines[2] = lines[2] if root is None else root
    return "\n".join(lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda note: forged(note, size=10**9),
        lambda note: forged(note, root="A" * 43 + "="),
        lambda note: note.replace(note.split("\n")[0], "other.example/log"),
        lambda note: re.sub("\u2014 .*\n", "", note),
        lambda note: "",
        lambda note: note * 2000,
    ],
    ids=["size", "root", "name", "unsigned", "empty", "long"],
)
def test_a_checkpoint_that_the_log_did_not_sign_is_refused(
    identity: Commands, remote: Commands, backup: Path, key: Path, tmp_path: Path, change: Callable[[str], str]
) -> None:
    held = checkpoint(remote, tmp_path / "held")
    held.write_text(change(held.read_text()))
    before = names(tmp_path)
    words = ("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new", "--checkpoint")
    assert "not one of the log" in identity.refused(*words, held)[0]
    with served(held.read_bytes()) as url:
        assert identity.refused(*words, url)
    assert names(tmp_path) == before


def test_a_checkpoint_that_cannot_be_had_is_told(identity: Commands, backup: Path, key: Path, tmp_path: Path) -> None:
    words = ("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new", "--checkpoint")
    with served(b"", status=404) as url:
        assert "cannot be fetched" in identity.refused(*words, url)[0]
    assert "cannot be fetched" in identity.refused(*words, "http://127.0.0.1:9/")[0]
    assert "No such file" in identity.refused(*words, tmp_path / "absent", status=2)[0]


def test_a_machine_that_remembers_another_log_is_not_taken_over(
    identity: Commands, backup: Path, key: Path, tmp_path: Path
) -> None:
    from tests.transparency import LogKey, some_leaves

    other = LogKey().note(some_leaves(3)).decode()
    memory = tmp_path / "new.checkpoint"
    memory.write_text(json.dumps({"checkpoint": other, "auditLines": 0, "auditLink": "00" * 32}))
    words = ("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "new", "--nothing-newer")
    assert "remembers another log" in identity.refused(*words)[0]
    assert json.loads(memory.read_text())["checkpoint"] == other
    assert not (tmp_path / "new").exists()


def test_new_installation_is_not_backed_up(identity: Commands, key: Path, tmp_path: Path) -> None:
    named = Commands(identity.environment | {"IDENTITY_LEDGER_ORIGIN": "id.example/log"})
    named.ok("keys", "create", "--name", "ops", "--admin", "--data-dir", tmp_path / "data")
    words = ("backup", "create", tmp_path / "b", "--key-file", key, "--data-dir", tmp_path / "data")
    for one in (identity, named):
        wrong, _, remedy = one.refused(*words)
        assert "was never started" in wrong
        assert "`identity serve`" in remedy


def test_read_only_data_directory_is_named_with_a_remedy(
    identity: Commands, server: LocalServer, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> str:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("identity_operations.backup.create.tempfile.mkdtemp", refuse)
    target = tmp_path / "x.backup"
    lines = identity.refused("backup", "create", target, "--key-file", key, "--data-dir", server.data_dir)
    assert lines[0] == "error: a copy is made here first: Read-only file system"
    assert lines[1] == f"  at: {server.data_dir}"
    assert "copy the data directory to a writable place" in lines[2]
    assert not target.exists()
