"""The history of one DID as a third party checks it: complete, in order, and in the signed log."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_kit.conformance.controller import Life
from identity_transparency.domain import history
from identity_transparency.domain.history import LoggedHistory, read_transaction, require_places, verify_history

from identity_codec.values import replace
from identity_core.domain.dids import logs
from identity_core.domain.dids.changes import Deactivate
from identity_core.domain.dids.state import LogInvalid
from identity_tlog.leaf import LogLeaf, Recorded
from identity_tlog.note import Checkpoint, SignedCheckpoint
from identity_tlog.proofs import verify_inclusion
from identity_tlog.tree import Frontier, Malformed, Refuted, leaf_hash, node_hash
from tests.attack.log_forger import new_life

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def lived(*, deactivated: bool = False) -> Life:
    life = new_life("a history")
    if deactivated:
        at = life.later()
        life.change(Deactivate(life.authorize(at)), at)
    return life


def recorded(did: str, entries: list[bytes]) -> tuple[list[Recorded], SignedCheckpoint]:
    """At most two entries at the places 0 and 2 of a log of three, and the log's checkpoint."""
    leaves = [
        LogLeaf(1 + 2 * n, f"{n:064x}", n + 1, AT + timedelta(hours=n), did, n + 1, entry)
        for n, entry in enumerate(entries)
    ]
    hashes = [leaf_hash(b"another")] * 3
    for leaf in leaves:
        hashes[leaf.index] = leaf_hash(leaf.encode())
    checkpoint = Checkpoint("log.example", 3, Frontier().appended(hashes).root)
    paths = {0: (hashes[1], hashes[2]), 2: (node_hash(hashes[0], hashes[1]),)}
    for leaf in leaves:
        verify_inclusion(leaf_hash(leaf.encode()), leaf.index, 3, paths[leaf.index], checkpoint.root)
    return [Recorded(leaf, paths[leaf.index]) for leaf in leaves], SignedCheckpoint(checkpoint, b"", {"w": AT})


def signed_history(life: Life) -> tuple[str, list[Recorded], SignedCheckpoint]:
    did = str(life.state.did)
    return did, *recorded(did, life.entries[:2])


def test_a_history_that_holds() -> None:
    did, entries, signed = signed_history(lived())
    proven = verify_history(did, entries[:1], signed)
    assert (proven.did, proven.versions, proven.deactivated) == (did, 1, False)
    assert proven.first == proven.last == entries[0].leaf
    did, entries, signed = signed_history(lived(deactivated=True))
    proven = verify_history(did, entries, signed)
    assert (proven.versions, proven.deactivated) == (2, True)
    assert (proven.first, proven.last) == (entries[0].leaf, entries[1].leaf)
    summary = proven.summary()
    root = summary.pop("rootHash")
    assert isinstance(root, str)
    assert summary == {
        "did": did,
        "versions": 2,
        "deactivated": True,
        "firstRecorded": "2026-01-02T03:04:05Z",
        "lastRecorded": "2026-01-02T04:04:05Z",
        "sequence": 3,
        "origin": "log.example",
        "treeSize": 3,
        "cosigned": {"w": "2026-01-02T03:04:05Z"},
    }


def test_invalid_history_is_refused() -> None:
    did, entries, signed = signed_history(lived(deactivated=True))
    first, second = entries
    for broken, says in (
        ([], "no entry"),
        ([second], "version 1 of .* is missing"),
        ([second, first], "version 1 of .* is missing"),
        ([first, replace(second, leaf=replace(second.leaf, version=3))], "version 2 of .* is missing"),
        ([first, replace(second, leaf=replace(second.leaf, sequence=1))], "version 2 of .* out of its order"),
        ([first, replace(second, leaf=replace(second.leaf, did="did:ids:x"))], "version 2 of .* is missing"),
        ([first, replace(second, hashes=first.hashes)], "version 2 of .*: "),
        ([replace(first, leaf=replace(first.leaf, entry=b"{}")), second], "version 1 of .*: "),
    ):
        with pytest.raises(Refuted, match=says):
            verify_history(did, broken, signed)


def test_a_log_of_another_did() -> None:
    other = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"
    entries, signed = recorded(other, lived().entries[:1])
    with pytest.raises(Refuted, match="the log is one of did:ids:"):
        verify_history(other, entries, signed)


def test_a_did_that_never_changes_has_no_log() -> None:
    entries, signed = recorded("did:key:z6Mk", [b"no log"])
    proven = verify_history("did:key:z6Mk", entries, signed)
    assert (proven.versions, proven.deactivated) == (1, False)


def logged_history() -> LoggedHistory:
    did, entries, _ = signed_history(lived(deactivated=True))
    return LoggedHistory(did, "ä checkpoint\n".encode(), tuple(entries))


def test_it_is_read_as_it_was_written() -> None:
    data = logged_history().encode()
    assert LoggedHistory.parse(data) == logged_history()
    assert data.endswith(b"}\n")
    body = json.loads(data)
    assert body["format"] == "identity-ledger-history/v1"
    entry = body["entries"][1]
    assert (entry["sequence"], entry["versionId"], entry["blockNumber"]) == (3, 2, 2)
    assert entry["recordedAt"] == "2026-01-02T04:04:05.678901Z"
    assert read_transaction(entry | {"did": body["did"]}) == logged_history().entries[1].leaf


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body | {"format": "identity-ledger-history/v2"},
        lambda body: {name: value for name, value in body.items() if name != "checkpoint"},
        lambda body: body | {"entries": None},
        lambda body: body | {"entries": [1]},
        lambda body: body | {"entries": [{}]},
        lambda body: body | {"entries": [body["entries"][0] | {"recordedAt": "now"}]},
        lambda body: body | {"entries": [body["entries"][0] | {"hashes": ["!"]}]},
        lambda body: body | {"entries": [body["entries"][0] | {"hashes": [1]}]},
        lambda body: body | {"entries": [body["entries"][0] | {"sequence": "x"}]},
        lambda body: [body],
        lambda body: None,
    ],
)
def test_malformed_history_is_refused(spoil: Callable[[Any], Any]) -> None:
    with pytest.raises(Malformed, match="histor"):
        LoggedHistory.parse(json.dumps(spoil(json.loads(logged_history().encode()))).encode())
    with pytest.raises(Malformed, match="not the history of a DID"):
        LoggedHistory.parse(b"{")


KEY = "z6Mk"
PLACED = [LogLeaf(1 + 10 * n, f"{n:064x}", n + 1, AT, "did:ids:x", n + 1, f"line {n}".encode()) for n in range(3)]


@pytest.mark.parametrize(
    ("size", "proven", "line"),
    [
        (21, (2,), None),
        (21, (0, 1, 2), None),
        (21, (), 1),
        (21, (0,), 2),
        (21, (0, 1), 3),
        (20, (2,), 1),
        (20, (1, 2), None),
        (11, (1,), 3),
        (0, (0, 1, 2), None),
    ],
)
def test_entry_before_retirement_counts(
    monkeypatch: pytest.MonkeyPatch, size: int, proven: tuple[int, ...], line: int | None
) -> None:
    """The entries stand at 0, 10 and 20, and the key counts below ``size``."""
    monkeypatch.setattr(history, "signer_of", lambda _: KEY)
    monkeypatch.setattr(logs, "signer_of", lambda _: KEY)
    lines, placed = [leaf.entry for leaf in PLACED], [PLACED[place] for place in proven]
    require_places("did:ids:x", lines, placed, {"another": 0})
    if line is None and size > 20:
        require_places("did:ids:x", lines, placed, {KEY: size})
        return
    with pytest.raises(LogInvalid, match="signed by a retired key") as found:
        require_places("did:ids:x", lines, placed, {KEY: size})
    assert line is None or found.value.details == {"line": line}


@pytest.mark.parametrize(
    "placed",
    [
        [replace(PLACED[0], did="did:ids:y")],
        [replace(PLACED[0], version=2)],
        [replace(PLACED[0], version=4)],
        [replace(PLACED[0], version=0)],
        [replace(PLACED[0], sequence=12), PLACED[1]],
        [PLACED[0], replace(PLACED[1], sequence=1)],
    ],
)
def test_places_of_something_else_place_nothing(placed: list[LogLeaf]) -> None:
    with pytest.raises(Refuted):
        require_places("did:ids:x", [leaf.entry for leaf in PLACED], placed, {})
