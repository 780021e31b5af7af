"""Pictures in text: the history of a DID, and the tree of the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from identity_commands.did_history import drawn as history_drawn
from identity_transparency.cli.ledger_show import drawn as tree_drawn

from identity_codec.multibase import base64url_decode
from identity_tlog.tree import node_hash
from tests.unit.cli.conftest import Commands


def version(number: int, operation: str, *changes: str) -> dict[str, Any]:
    return {"versionId": number, "operation": operation, "effectiveAt": f"2026-01-0{number}", "changes": [*changes]}


def test_keys_have_lanes() -> None:
    items = [
        version(1, "create", "keyAdded #a", "keyAdded #b", "recoveryKeyChanged"),
        version(2, "keyRotated", "keyAdded #c", "keyRevoked #a at 2026-01-03"),
        version(3, "keyExpired", "keyExpired #a"),
        version(4, "recovered", "keyAdded #d", "keyRemoved #b", "keyRemoved #c"),
        version(5, "deactivated"),
    ]
    assert list(history_drawn(items)) == [
        "   5  x        |  2026-01-05  deactivated",
        "   4  @    x x o  2026-01-04  recovered",
        "   3  *  x | |    2026-01-03  keyExpired",
        "   2  *  | | o    2026-01-02  keyRotated   keyRevoked #a at 2026-01-03",
        "   1  o  o o      2026-01-01  create       recoveryKeyChanged",
        "         #a",
        "           #b",
        "             #c",
        "               #d",
    ]


def test_a_history_of_nothing_is_drawn() -> None:
    assert list(history_drawn([])) == []


def test_the_history_of_a_did_is_drawn(remote: Commands, wallet: Path) -> None:
    did = json.loads(wallet.read_text())["did"]
    remote.ok("did", "update", "--keys", wallet, "--add-service", "hub", "LinkedDomains", "https://a.example/")
    picture = remote.ok("did", "history", did, "--graph").splitlines()
    assert picture[0].startswith("   2  *  |")
    assert picture[0].endswith("serviceAdded #hub")
    assert picture[1].startswith("   1  o  o")
    assert remote.json("did", "history", did, "--graph") == remote.json("did", "history", did)
    assert "--cursor" in remote.refused("did", "history", did, "--graph", "--cursor", "x", status=2)[0]


def test_the_path_of_an_entry_leads_to_the_root(remote: Commands, wallet: Path, here: Path) -> None:
    did = json.loads(wallet.read_text())["did"]
    for number in range(3):
        remote.ok("did", "create", "--keys", here / f"{number}.json")
    body = remote.json("ledger", "show", did)
    assert (body["entry"]["did"], body["entry"]["versionId"]) == (did, 1)
    top = [base64url_decode(one["hash"]) for one in body["nodes"] if one["depth"] == 1]
    assert node_hash(*top) == base64url_decode(body["rootHash"])
    depths = {one["depth"] for one in body["nodes"]}
    for depth in depths:
        left, right = (one for one in body["nodes"] if one["depth"] == depth)
        assert left["last"] + 1 == right["first"]
        assert left["given"] != right["given"]
    picture = remote.ok("ledger", "show", did).splitlines()
    assert sum(line.endswith("  given") for line in picture) == len(depths)
    assert picture[-1].startswith(f"entry: version 1 of {did}")
    assert (
        remote.refused("ledger", "show", did, "--version-id", "9")[0]
        == "error: the ledger has no version 9 of this DID"
    )


def test_the_log_is_drawn_by_its_complete_subtrees(remote: Commands, wallet: Path) -> None:
    body = remote.json("ledger", "show")
    sizes = [one["last"] - one["first"] + 1 for one in body["nodes"]]
    assert sum(sizes) == body["treeSize"]
    assert sizes == [1 << bit for bit in reversed(range(20)) if body["treeSize"] >> bit & 1]
    assert remote.refused("ledger", "show", "--version-id", "1", status=2)


@pytest.mark.parametrize("nested", [True, False])
def test_a_tree_has_branches(nested: bool) -> None:
    def node(depth: int, first: int, last: int, *, given: bool) -> dict[str, Any]:
        return {"depth": depth, "first": first, "last": last, "hash": f"h{first}{last}", "given": given}

    nodes = [node(1, 1, 2, given=False), node(1, 3, 3, given=True)]
    nodes += [node(2, 1, 1, given=True), node(2, 2, 2, given=False)] if nested else []
    body = {"origin": "a", "treeSize": 3, "rootHash": "r", "entry": None, "nodes": nodes}
    inner = ["|   |-- entry 1  h11  given", "|   `-- entry 2  h22"] if nested else []
    assert list(tree_drawn(orjson.loads(orjson.dumps(body)))) == [
        "a, 3 entries",
        "root  r",
        "|-- entries 1 to 2  h12",
        *inner,
        "`-- entry 3  h33  given",
    ]
