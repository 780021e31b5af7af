"""What is told of a DID's past: history, log, events; and the challenge for what comes next."""

from __future__ import annotations

import json
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from pytest_bdd import given, parsers, then, when

from features.formats import from_base64url, new_key, printed
from features.steps.answers import body_of
from features.world import World
from tests import servers

TIMEOUT_SECONDS = 60

# Given


@given("a service that hides the logs of deactivated DIDs")
def hidden(world: World) -> None:
    world.kind = "hidden"


@given("a service that shows the history of deactivated DIDs")
def remembering(world: World) -> None:
    world.kind = "remembering"


# When


@when(parsers.parse("Vera reads the history of the DID of {name}"))
def reads_history(world: World, name: str) -> None:
    world.call("listDidHistory", did=world.person(name).did, include_document=True)


@when(parsers.parse("Vera reads the history of the DID of {name} one by one, newest first"))
def reads_pages(world: World, name: str) -> None:
    order = import_module(f"{world.package}.models").ListDidHistoryVersionOrder("desc")
    did = world.person(name).did
    first = world.call("listDidHistory", did=did, limit=1, order=order)
    world.notes["first"] = first.parsed
    world.call("listDidHistory", did=did, limit=1, order=order, cursor=first.parsed.next_cursor)


@when(parsers.parse("Vera reads the log of the DID of {name}"))
def reads_log(world: World, name: str) -> None:
    world.call("getDidLog", did=world.person(name).did)


@when(parsers.parse("Vera reads the log of the DID of {name} again with the tag that she got"))
def reads_log_again(world: World, name: str) -> None:
    did = world.person(name).did
    tag = world.call("getDidLog", did=did).headers["etag"]
    world.call("getDidLog", did=did, if_none_match=tag)


@when(parsers.parse("a challenge for the DID of {name} is asked for"))
def asks_challenge(world: World, name: str) -> None:
    world.call("getDidAuthChallenge", did=world.person(name).did)


@when(parsers.parse("a challenge for the DID of {name} and the target {target} is asked for without a name"))
def asks_for_target(world: World, name: str, target: str) -> None:
    world.call("getDidAuthChallenge", did=world.person(name).did, target=target)


@when("a challenge for an unregistered did:key is asked for")
def asks_challenge_of_unregistered_key(world: World) -> None:
    world.call("getDidAuthChallenge", did=f"did:key:{new_key().public}")


@when("Vera follows the events")
def follows(world: World) -> None:
    found = world.notes.setdefault("events", [])
    while page := world.call("listEvents", after=found[-1]["sequence"] if found else 0, limit=1000).parsed.items:
        found.extend(item.to_dict() for item in page)


# Then


@then(parsers.parse("the history tells {operations}"))
def check_history(world: World, operations: str) -> None:
    items = body_of(world.answer)["items"]
    assert [item["operation"] for item in items] == operations.split(", ")
    assert [item["versionId"] for item in items] == list(range(1, len(items) + 1))
    for before, after in pairwise(items):
        assert after["previousHash"] == before["entryHash"]


@then(parsers.parse("the log proves {versions:d} versions to anybody"))
def proves(world: World, versions: int, tmp_path: Path) -> None:
    (tmp_path / "did.jsonl").write_bytes(world.answer.content)
    told = servers.run("did", "log", "verify", "--json", tmp_path / "did.jsonl")
    checked = json.loads(told.stdout)
    assert (checked["versions"], checked["did"]) == (versions, world.people["Hana"].did)


@then(parsers.parse("the log tells anybody of a key in version {version:d} that Hana has not named"))
def tells_of_unnamed(world: World, version: int, tmp_path: Path) -> None:
    (tmp_path / "did.jsonl").write_bytes(world.answer.content)
    told = servers.run("did", "log", "verify", "--json", tmp_path / "did.jsonl")
    newest = json.loads(world.answer.content.splitlines()[-1])["parameters"]["change"]
    key = {"version": version, "multikey": newest["newKey"]["publicKeyMultibase"]}
    assert json.loads(told.stdout)["unnamedKeys"] == [key]


@then(parsers.re("a reader who wants every key to be named (?P<verdict>takes|refuses) the log"))
def wants_named(world: World, verdict: str, tmp_path: Path) -> None:
    (tmp_path / "did.jsonl").write_bytes(world.answer.content)
    told = servers.run("did", "log", "verify", "--require-named-keys", tmp_path / "did.jsonl")
    assert told.returncode == (0 if verdict == "takes" else 1), told.stderr


@then(parsers.parse("the challenge names the DID of {name}, the service and its end"))
def challenge_text(world: World, name: str) -> None:
    offer = world.answer.parsed
    label, origin, did, purpose, digest, nonce, expires = offer.challenge.split(" ")
    assert (label, did, origin) == ("didauth:v1", world.people[name].did, world.server.url)
    assert (purpose, digest, len(from_base64url(nonce))) == ("-", "-", 32)
    assert expires == printed(offer.expires_at)


@then(parsers.parse("the events of the DID of {name} are {operations}"))
def events(world: World, name: str, operations: str) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    # What is published of status lists has places of its own; events behind such a place wait until the index has passed over it.
    while (found := _operations(world, name)) != operations.split(", ") and time.monotonic() < deadline:
        time.sleep(0.1)
        follows(world)
    assert found == operations.split(", ")
    sequences = [event["sequence"] for event in world.notes["events"]]
    assert sequences == sorted(set(sequences))
    assert sequences[0] >= 1


def _operations(world: World, name: str) -> list[str]:
    return [event["operation"] for event in world.notes["events"] if event["did"] == world.people[name].did]
