"""Every way of tampering with a log is found by the audit, and called by its name."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from identity_transparency.use_cases.project import leaf_of

from identity_codec.values import replace
from identity_core.cli import main
from identity_tlog.leaf import LogLeaf
from identity_tlog.tiles import Tile, bundled
from identity_tlog.tree import leaf_hash
from tests.did_use_cases import Rooms
from tests.transparency import LoggedLedger, LogKey, run, some_leaves, tiles_over, write_log

COUNT = 700
LEAVES = some_leaves(COUNT)
KEY = LogKey(bytes(range(32)))
NOTE = KEY.note(LEAVES)
HELD = KEY.note(LEAVES[:300])


def audit(*arguments: object, key: LogKey = KEY) -> Any:
    """The JSON of the audit; its exit code says whether it found something."""
    words = ["ledger", "audit", "--key", str(key.verifier), "--json", *map(str, arguments)]
    result = CliRunner().invoke(main, words, prog_name="identity")
    body = json.loads(result.stdout)
    assert result.exit_code == (0 if body["sound"] else 1), result.output
    assert body["sound"] == (body["findings"] == [])
    return body


def kinds(body: Any) -> dict[str, list[str]]:
    """Kind → places."""
    found: dict[str, list[str]] = {}
    for one in body["findings"]:
        found.setdefault(one["kind"], []).append(one["where"])
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_log(tmp_path / "log", LEAVES, NOTE)
    (tmp_path / "held").write_bytes(HELD)
    return tmp_path / "log"


@pytest.fixture
def held_checkpoint(folder: Path) -> Path:
    return folder.parent / "held"


def written(folder: Path, leaves: list[bytes], **more: Any) -> Path:
    """The log written over with other leaves under the same checkpoint, or another."""
    shutil.rmtree(folder)
    write_log(folder, leaves, more.pop("note", NOTE), **more)
    return folder


def test_a_sound_log_is_sound(folder: Path, held_checkpoint: Path) -> None:
    body = audit("--dir", folder, "--held", held_checkpoint)
    assert body["entries"] == COUNT
    assert body["held"] == 1
    assert body["sound"]


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 512])
def test_sound_logs_of_every_shape(tmp_path: Path, size: int) -> None:
    write_log(tmp_path, LEAVES[:size], KEY.note(LEAVES[:size]))
    assert audit("--dir", tmp_path)["sound"]


@pytest.mark.parametrize("seed", range(12))
def test_a_flipped_byte_of_an_entry(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    index = chance.randrange(COUNT)
    place = chance.randrange(len(LEAVES[index]))
    changed = bytearray(LEAVES[index])
    changed[place] ^= 1 << chance.randrange(8)
    leaves = [*LEAVES[:index], bytes(changed), *LEAVES[index + 1 :]]
    found = kinds(audit("--dir", written(folder, leaves, tiles=tiles_over(LEAVES))))
    assert found["entry"] == [f"entry {index + 1}"]
    assert "root" in found


@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_byte_of_any_file(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "checkpoint"))
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    assert not audit("--dir", folder)["sound"]


@pytest.mark.parametrize("tile", [Tile(0, 0), Tile(0, 2, 188), Tile(1, 0, 2)])
def test_a_flipped_byte_of_a_tile(folder: Path, tile: Tile) -> None:
    path = folder / "tile" / tile.path
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    found = kinds(audit("--dir", folder))
    place = f"tile {tile.path}" if tile.level else f"entry {tile.number * 256 + 2}"
    assert found == {"tile": [place]}


def test_swapped_entries(folder: Path) -> None:
    leaves = list(LEAVES)
    leaves[10], leaves[13] = leaves[13], leaves[10]
    found = kinds(audit("--dir", written(folder, leaves, tiles=tiles_over(LEAVES))))
    assert found["moved"] == ["entry 11", "entry 14"]
    assert "entry 11" in found["order"]


def test_swapped_entries_whose_numbers_were_made_to_fit(folder: Path) -> None:
    """Places, blocks and times exchanged as well: only the hashes tell."""
    first, second = LogLeaf.parse(LEAVES[9]), LogLeaf.parse(LEAVES[15])
    leaves = list(LEAVES)
    for index, body, place in ((9, second, first), (15, first, second)):
        moved = replace(body, sequence=place.sequence, block_number=place.block_number, recorded_at=place.recorded_at)
        leaves[index] = moved.encode()
    found = kinds(audit("--dir", written(folder, leaves, tiles=tiles_over(LEAVES))))
    assert found["moved"] == ["entry 10", "entry 16"]


def test_swapped_blocks(folder: Path) -> None:
    leaves = [*LEAVES[:4], *LEAVES[8:12], *LEAVES[4:8], *LEAVES[12:]]
    found = kinds(audit("--dir", written(folder, leaves, tiles=tiles_over(LEAVES))))
    assert found["moved"] == [f"entry {place}" for place in range(5, 13)]


def test_swapped_blocks_under_a_new_signature(folder: Path) -> None:
    """Tiles and checkpoint made anew by anyone who has the key: the order inside the leaves still tells."""
    leaves = [*LEAVES[:4], *LEAVES[8:12], *LEAVES[4:8], *LEAVES[12:]]
    found = kinds(audit("--dir", written(folder, leaves, note=KEY.note(leaves))))
    assert set(found) == {"order"}


def test_an_entry_left_out_under_a_new_signature(folder: Path) -> None:
    leaves = LEAVES[:99] + LEAVES[100:]
    found = kinds(audit("--dir", written(folder, leaves, note=KEY.note(leaves))))
    assert found["order"][0] == "entry 100"


def test_version_left_out_under_new_signature_with_new_numbers(folder: Path) -> None:
    leaves = [
        replace(LogLeaf.parse(leaf), sequence=number).encode()
        for number, leaf in enumerate(LEAVES[:99] + LEAVES[100:], 1)
    ]
    found = kinds(audit("--dir", written(folder, leaves, note=KEY.note(leaves))))
    assert found == {"order": ["entry 100"]}


def test_a_missing_tail_against_the_checkpoint(folder: Path) -> None:
    shutil.rmtree(folder / "tile" / "entries" / "002.p")
    found = kinds(audit("--dir", folder))
    assert found["missing"] == ["tile entries/002.p/188"]
    assert found["missing-tail"] == ["entry 513"]


def test_a_shorter_last_bundle(folder: Path) -> None:
    (folder / "tile" / Tile(None, 2, 188).path).write_bytes(bundled(LEAVES[512:600]))
    found = kinds(audit("--dir", folder))
    assert found["missing-tail"] == ["entry 601"]


def test_a_missing_tail_against_a_held_checkpoint(folder: Path, held_checkpoint: Path) -> None:
    """Cut and signed anew: in itself it is sound."""
    written(folder, LEAVES[:200], note=KEY.note(LEAVES[:200]))
    assert audit("--dir", folder)["sound"]
    found = kinds(audit("--dir", folder, "--held", held_checkpoint))
    assert found == {"missing-tail": ["entry 201"]}


def test_a_fork_that_was_signed_anew(folder: Path, held_checkpoint: Path) -> None:
    """History written anew with the log's own key: in itself it is sound, and anyone who kept a checkpoint has the proof."""
    other = [*LEAVES[:50], replace(LogLeaf.parse(LEAVES[50]), entry=b"{}").encode(), *LEAVES[51:]]
    written(folder, other, note=KEY.note(other))
    assert audit("--dir", folder)["sound"]
    found = kinds(audit("--dir", folder, "--held", held_checkpoint))
    assert found == {"fork": ["checkpoint of 300"]}


def test_a_fork_of_the_same_size(folder: Path) -> None:
    other = [*LEAVES[:-1], replace(LogLeaf.parse(LEAVES[-1]), entry=b"{}").encode()]
    kept = folder.parent / "kept"
    kept.write_bytes(KEY.note(other))
    assert kinds(audit("--dir", folder, "--held", kept)) == {"fork": [f"checkpoint of {COUNT}"]}


def test_another_key_and_a_changed_checkpoint(folder: Path) -> None:
    stranger = LogKey()
    assert "signature" in kinds(audit("--dir", folder, key=stranger))
    (folder / "checkpoint").write_bytes(NOTE.replace(b"\n700\n", b"\n699\n"))
    found = kinds(audit("--dir", folder))
    assert "signature" in found


def test_a_checkpoint_of_other_entries(folder: Path) -> None:
    """A signed checkpoint that belongs to another tree of the same size."""
    (folder / "checkpoint").write_bytes(KEY.note(some_leaves(COUNT, "did:y:")))
    assert kinds(audit("--dir", folder)) == {"root": [f"checkpoint of {COUNT}"]}


def test_junk_in_a_bundle(folder: Path) -> None:
    (folder / "tile" / Tile(None, 1).path).write_bytes(b"\xff\xff junk")
    assert kinds(audit("--dir", folder))["missing"] == ["tile entries/001"]


def test_an_entry_that_is_no_leaf_under_a_new_signature(folder: Path) -> None:
    leaves = [*LEAVES[:5], b"junk", *LEAVES[6:]]
    found = kinds(audit("--dir", written(folder, leaves, note=KEY.note(leaves))))
    assert found["form"] == ["entry 6"]


def test_a_held_checkpoint_that_nobody_signed_is_refused(folder: Path, held_checkpoint: Path) -> None:
    held_checkpoint.write_bytes(HELD.replace(b"\n300\n", b"\n299\n"))
    words = ["ledger", "audit", "--key", str(KEY.verifier), "--dir", str(folder), "--held", str(held_checkpoint)]
    result = CliRunner().invoke(main, words, prog_name="identity")
    assert result.exit_code == 1
    assert "signature of" in result.stderr


# The logs of the DIDs


def test_bad_signature_inside_entry_is_found(tmp_path: Path) -> None:
    async def scenario() -> tuple[list[bytes], str]:
        rooms = Rooms(tmp_path)
        dids = [str((await rooms.new_did()).version.state.did) for _ in range(3)]
        lines = await rooms.ledger.entries_after(0, 10)
        await rooms.close()
        return [leaf_of(line).encode() for line in lines], dids[1]

    leaves, did = run(scenario())
    write_log(tmp_path / "good", leaves, KEY.note(leaves))
    body = audit("--dir", tmp_path / "good", "--logs")
    assert (body["sound"], body["dids"]) == (True, 3)
    parsed = LogLeaf.parse(leaves[1])
    at = parsed.entry.index(b'"proofValue":"z') + 20
    forged = parsed.entry[:at] + (b"2" if parsed.entry[at : at + 1] != b"2" else b"3") + parsed.entry[at + 1 :]
    leaves[1] = replace(parsed, entry=forged).encode()
    write_log(tmp_path / "bad", leaves, KEY.note(leaves))
    assert audit("--dir", tmp_path / "bad")["sound"]
    assert kinds(audit("--dir", tmp_path / "bad", "--logs")) == {"log": [did]}


# This installation's own database


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("UPDATE ledger_entries SET entry = x'7b7d' WHERE sequence = 17", "entry"),
        ("UPDATE ledger_entries SET did = 'did:x:mallory', version = 1 WHERE sequence = 16", "entry"),
        ("UPDATE ledger_entries SET block_number = block_number - 1 WHERE sequence = 17", "entry"),
        ("UPDATE ledger_entries SET recorded_at = recorded_at - 1 WHERE sequence = 17", "entry"),
        (
            "UPDATE ledger_entries SET transaction_hash = zeroblob(32) WHERE sequence = 17",
            "entry",
        ),
        ("UPDATE ledger_entries SET sequence = CASE sequence WHEN 17 THEN -1 ELSE 17 END WHERE sequence IN (17, 20);"
         "UPDATE ledger_entries SET sequence = 20 WHERE sequence = -1", "moved"),
        ("DELETE FROM ledger_entries WHERE sequence > 400", "contradiction"),
        ("UPDATE ledger_entries SET entry = x'7b7d' WHERE sequence = 450", "entry"),
    ],
)  # fmt: skip
def test_a_tampered_database(tmp_path: Path, sql: str, kind: str) -> None:
    data = tmp_path / "data"
    data.mkdir()

    async def scenario() -> None:
        logged = LoggedLedger(data)
        await logged.append(450)
        await logged.follower.now()
        await logged.close()

    run(scenario())
    sound = CliRunner().invoke(main, ["ledger", "audit", "--data-dir", str(data), "--json"], prog_name="identity")
    assert json.loads(sound.stdout)["entries"] == 450
    assert sound.exit_code == 0, sound.output
    with sqlite3.connect(data / "ledger.sqlite") as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.commit()
        connection.executescript(sql)
    connection.close()
    result = CliRunner().invoke(main, ["ledger", "audit", "--data-dir", str(data), "--json"], prog_name="identity")
    assert result.exit_code == 1, result.output
    assert result.stdout, result.output
    assert kind in kinds(json.loads(result.stdout))


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE transparency_tiles SET hashes = zeroblob(length(hashes)) WHERE level = 0 AND number = 0",
        "UPDATE transparency_tiles SET hashes = zeroblob(length(hashes)) WHERE level = 1",
        "DELETE FROM transparency_tiles WHERE level = 0 AND number = 0",
        "UPDATE transparency_head SET peaks = zeroblob(length(peaks))",
    ],
)
def test_a_tampered_tree(tmp_path: Path, sql: str) -> None:
    async def scenario() -> None:
        logged = LoggedLedger(tmp_path)
        await logged.append(450)
        await logged.follower.now()
        await logged.close()

    run(scenario())
    with sqlite3.connect(tmp_path / "identity.sqlite") as connection:
        connection.execute(sql)
    connection.close()
    result = CliRunner().invoke(main, ["ledger", "audit", "--data-dir", str(tmp_path), "--json"], prog_name="identity")
    assert result.exit_code == 1, result.output
    assert set(kinds(json.loads(result.stdout))) <= {"tile", "missing", "root"}


def test_the_leaf_hash_is_what_the_tile_holds() -> None:
    """A guard of this file's own tools."""
    assert tiles_over(LEAVES)[0, 0][:32] == leaf_hash(LEAVES[0])
