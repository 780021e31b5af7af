"""Proofs that are anchored: their receipts, and what a stranger makes of the details behind them."""

from __future__ import annotations

import time
from hashlib import sha256
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.formats import canonical, from_base64url
from features.merkle import leaf_hash, verify_inclusion
from features.proving import story
from features.signing import call
from features.steps.answers import body_of
from features.verifying import proof_of
from features.world import PATIENCE_SECONDS, World

MEMBERS = {"status", "txHash", "blockNumber", "revokedBlock"}


def receipt_of(world: World) -> dict[str, Any]:
    anchor: dict[str, Any] = body_of(world.answer)["anchor"]
    assert set(anchor) == MEMBERS
    return anchor


# Given


@given("a service that does not anchor")
def not_anchoring(world: World) -> None:
    world.kind = "hidden"


@given("Aki has an anchored proof about Hana")
def has_anchored(world: World) -> None:
    story(world).body |= {"anchor": True, "syncWaitMs": 30_000}
    assert proof_of(world)["anchor"]["status"] == "confirmed"


@given("Aki has asked for an anchored proof and not waited")
def has_asked(world: World) -> None:
    story(world).body |= {"anchor": True, "syncWaitMs": 0}
    assert proof_of(world)["anchor"]["status"] == "pending"


# When


@when(parsers.parse("Aki asks for an anchored proof and waits {milliseconds:d} ms"))
def asks_anchored(world: World, milliseconds: int) -> None:
    proving = story(world)
    proving.body |= {"anchor": True, "syncWaitMs": milliseconds}
    proving.ask()


@when(parsers.parse("Aki asks for a proof without an anchor and waits {milliseconds:d} ms"))
def asks_unanchored(world: World, milliseconds: int) -> None:
    proving = story(world)
    proving.body |= {"syncWaitMs": milliseconds}
    began = time.monotonic()
    proving.ask()
    assert time.monotonic() - began < milliseconds / 1000, "it has waited"


@when("Aki asks for an anchored proof twice")
def asks_twice(world: World) -> None:
    proving = story(world)
    proving.body |= {"anchor": True, "syncWaitMs": 30_000}
    request = proving.request()
    world.notes["twice"] = (proving.ask(request), proving.ask(request))


@when("Hana looks at the proof until its anchor is confirmed")
def looks_until(world: World) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        call(world, "Hana", "getProof", proof_id=proof_of(world)["proofId"])
        if receipt_of(world)["status"] == "confirmed":
            return
        time.sleep(0.1)
    raise AssertionError(f"the anchor is {receipt_of(world)}")


@when("Hana revokes the proof and waits for its anchor")
def revokes_and_waits(world: World) -> None:
    body = {"syncWaitMs": 30_000}
    call(world, "Hana", "revokeProof", "RevokeProofRequest", body, proof_id=proof_of(world)["proofId"])


@when("Vera reads the history")
def reads_history(world: World) -> None:
    call(world, "Vera", "listVerificationHistory")


# Then


@then(parsers.parse("its anchor is {status}"))
def is_(world: World, status: str) -> None:
    anchor = receipt_of(world)
    assert anchor["status"] == status
    is_recorded = status in ("confirmed", "revoked")
    assert (anchor["txHash"] is not None, anchor["blockNumber"] is not None) == (is_recorded, is_recorded)


@then("there is no anchor")
def none(world: World) -> None:
    assert body_of(world.answer)["anchor"] is None


@then("it names the block of the revocation")
def names_block(world: World) -> None:
    anchor = receipt_of(world)
    assert anchor["revokedBlock"] >= anchor["blockNumber"]


@then("its details lead from the proof to the root")
def leads(world: World) -> None:
    shown = body_of(world.answer)
    details, proof = shown["anchorDetails"], shown["proof"]
    made = {name: proof[name] for name in ("proof", "publicSignals", "predicateType", "proofId")}
    data = from_base64url(details["salt"]) + sha256(canonical(made)).digest()
    commitment = sha256(b"identity-anchor-proof v1\0" + data).digest()
    assert from_base64url(details["commitment"]) == commitment
    path = [from_base64url(one) for one in details["path"]]
    verify_inclusion(leaf_hash(commitment), details["index"], details["size"], path, from_base64url(details["root"]))


@then("each row shows the receipt")
def rows_show(world: World) -> None:
    items = body_of(world.answer)["items"]
    assert [item["anchor"] for item in items] == [proof_of(world)["anchor"]] * len(items)
    assert items


@then("no row shows a receipt")
def rows_hide(world: World) -> None:
    items = body_of(world.answer)["items"]
    assert [item["anchor"] for item in items] == [None] * len(items)
    assert items


@then(parsers.parse("an event {kind} shows the receipt"))
def timeline_tells(world: World, kind: str) -> None:
    [row] = [item for item in body_of(world.answer)["items"] if item["kind"] == kind]
    assert row["anchor"] == proof_of(world)["anchor"]
    assert (row["proofId"], row["actor"]) == (proof_of(world)["proofId"], None)
