"""Steps about the results of verifications, one by one and counted."""

from __future__ import annotations

from pytest_bdd import parsers, then, when

from features.signing import call
from features.steps.answers import body_of
from features.steps.verifications.answers import no_value_in, read_pages
from features.verifying import proof_of
from features.world import World

# When


@when(parsers.parse("{name:w} reads the verifications"))
def reads_history(world: World, name: str) -> None:
    call(world, name, "listVerificationHistory")


@when(parsers.parse("{name:w} reads the verifications of Hana"))
def reads_history_of(world: World, name: str) -> None:
    call(world, name, "listVerificationHistory", holder_did=world.person("Hana").did)


@when(parsers.parse("{name:w} reads the verifications one by one"))
def reads_history_in_pages(world: World, name: str) -> None:
    read_pages(world, name, "listVerificationHistory")


@when(parsers.parse("{name:w} counts the verifications"))
def counts(world: World, name: str) -> None:
    call(world, name, "getVerificationStats")


# Then


@then(parsers.parse("it lists {reasons}"))
def lists(world: World, reasons: str) -> None:
    items = body_of(world.answer)["items"]
    found = [item["reasons"][0]["code"] if item["reasons"] else "a success" for item in items]
    assert found == reasons.split(", ")
    verdicts = [(item["verdict"], item["missing"]) for item in items]
    unbound = ("unbound", ["predicate", "challenge", "domain", "issuerDid"])
    assert all(
        one == (("invalid", []) if item["reasons"] else unbound) for one, item in zip(verdicts, items, strict=True)
    )
    assert {item["verifierDid"] for item in items} == {world.person("Vera").did}
    assert {item["proofId"] for item in items} == {proof_of(world)["proofId"]}
    assert items[0]["predicate"] == {"attributeName": "age", "type": "gte"}
    assert no_value_in(world.answer.content)


@then("nothing is listed")
def lists_nothing(world: World) -> None:
    assert body_of(world.answer) == {"items": [], "nextCursor": None}


@then(parsers.parse("it {shows:w} whose proof it was"))
def shows_holder(world: World, shows: str) -> None:
    wanted = {"tells": world.person("Hana").did, "hides": None}[shows]
    assert {item["holderDid"] for item in body_of(world.answer)["items"]} == {wanted}


@then(parsers.parse("it counts {held:d} that held and {refused:d} that did not, for {code:w}"))
def counted(world: World, held: int, refused: int, code: str) -> None:
    assert body_of(world.answer) == {
        "total": held + refused,
        # What was verified was compared with nothing.
        "valid": 0,
        "verified": held,
        "refused": refused,
        "reasons": [{"code": code, "count": refused}],
    }
