"""Caller, holder and token: no client acts as another one, and none reads another party's data (openapi/DECISIONS.md §4.6)."""

from __future__ import annotations

import contextlib
import socket
import statistics
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.attack.delegated.scene import PROOFS, People, Scene, stable_refusal
from tests.attack.stranger import PREFIX, base64url, rounds

FORBIDDEN = (403, "FORBIDDEN")
INVALID = (403, "IBCT_INVALID")
NO_DELEGATION = (403, "DELEGATION_INVALID")
UNAUTHENTICATED = (401, "AUTH_FAILED")
UNKNOWN = "00000000-0000-4000-8000-000000000000"
TURNS = max(60, rounds(60))


def api_key(people: People, **more: Any) -> dict[str, str]:
    """A new API key."""
    made = people.operate("POST", "/admin/api-keys", {"name": "attack"} | more)
    return {"X-API-Key": made["apiKey"]}


def test_another_agent_in_the_body_in_the_token_and_in_both(scene: Scene) -> None:
    mallory = scene.people.mallory
    own = {"agentDid": mallory.did}
    assert scene.ask(scene.body(**own), headers=scene.authorize(mallory)).outcome == INVALID
    assert scene.ask(scene.body(**own)).outcome == FORBIDDEN
    for_her = scene.token(target=mallory.did)
    assert scene.ask(scene.body(ibct=for_her)).outcome == INVALID
    assert scene.ask(scene.body(ibct=for_her, **own)).outcome == FORBIDDEN
    # Even a token that Hana did sign for Mallory meets a delegation that is Aki's.
    assert scene.ask(scene.body(ibct=for_her, **own), headers=scene.authorize(mallory)).outcome == NO_DELEGATION
    assert scene.uses == 0


def test_only_the_agent_presents_a_token(scene: Scene) -> None:
    """Neither its holder nor the issuer nor anyone who found it."""
    body = scene.body()
    for who in (scene.people.hana, scene.people.ivo, scene.people.mallory):
        assert scene.ask(body, headers=scene.authorize(who)).outcome == FORBIDDEN
    assert scene.target.wire.call("POST", PROOFS, body).outcome == (401, "AUTH_REQUIRED")
    assert scene.ask(body).status == 201


def test_a_signature_of_the_agent_is_good_for_this_body_alone(scene: Scene) -> None:
    body = scene.body(about=("country", "eq", "Wakanda"))
    hers = scene.act(scene.people.aki, "POST", "/zkp/delegated-proofs", "prove", body)
    assert hers.status == 201
    for purpose in ("read", "delegate", "token"):
        other = scene.body(about=("country", "eq", "Wakanda"))
        assert scene.act(scene.people.aki, "POST", "/zkp/delegated-proofs", purpose, other).outcome == UNAUTHENTICATED


def test_an_operator_acts_for_those_on_its_list_only(people: People) -> None:
    scene = Scene.create(people)
    body = scene.body()
    other = api_key(people, scopes=["zkp:prove"], allowedTargets=[people.mallory.did])
    assert scene.ask(body, headers=other).outcome == FORBIDDEN
    # The agent is not the one whose data it is.
    agents = api_key(people, scopes=["zkp:prove"], allowedTargets=[people.aki.did])
    assert scene.ask(body, headers=agents).outcome == FORBIDDEN
    untargeted = api_key(people, scopes=["zkp:prove"], allowedTargets=[])
    assert scene.ask(body, headers=untargeted).outcome == FORBIDDEN
    narrow = api_key(people, scopes=["zkp:verify", "credentials:write"], allowedTargets=None)
    assert scene.ask(body, headers=narrow).outcome == FORBIDDEN
    assert scene.uses == 0
    hers = api_key(people, scopes=["zkp:prove"], allowedTargets=[people.hana.did])
    assert scene.ask(body, headers=hers).status == 201


def test_an_operator_needs_a_token_of_the_holder_like_everybody(people: People) -> None:
    scene = Scene.create(people)
    admin = {"X-API-Key": scene.target.stranger.api_key}
    forged = scene.token(key=people.mallory.key)
    assert scene.ask(scene.body(ibct=forged), headers=admin).outcome == INVALID
    assert scene.ask(scene.body(), headers=admin).status == 201


def test_a_token_that_an_operator_obtained_acts_within_its_list(people: People) -> None:
    scene = Scene.create(people)
    key = api_key(people, scopes=["zkp:prove", "dids:operate"], allowedTargets=[people.mallory.did])
    answer = scene.target.wire.call("POST", f"{PREFIX}/auth/token", {"subject": people.aki.did}, key)
    assert answer.outcome == FORBIDDEN
    answer = scene.target.wire.call("POST", f"{PREFIX}/auth/token", {"subject": people.mallory.did}, key)
    bearer = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert scene.ask(headers=bearer).outcome == FORBIDDEN


def test_an_access_token_that_was_edited(scene: Scene) -> None:
    good = scene.people.bearer(scene.people.aki)
    head, claims, signature = good.split(".")
    none = base64url(b'{"alg":"none","typ":"at+jwt"}')
    hers = scene.people.bearer(scene.people.mallory).split(".")
    for token in (
        f"{none}.{claims}.",
        f"{head}.{claims}.",
        f"{head}.{claims}.{signature[:-4]}AAAA",
        f"{hers[0]}.{claims}.{hers[2]}",
        f"{head}.{claims}.{signature}.{signature}",
        good[:-1],
    ):
        assert scene.ask(headers={"Authorization": f"Bearer {token}"}).outcome == UNAUTHENTICATED


def test_two_credentials_are_one_too_many(scene: Scene) -> None:
    both = scene.authorize(scene.people.aki) | {"X-API-Key": scene.target.stranger.api_key}
    assert scene.ask(headers=both).outcome == (400, "AUTH_AMBIGUOUS")


def test_an_operators_key_beside_a_signature_gives_no_right(scene: Scene) -> None:
    """The key may act for every DID. The signature of another DID is nevertheless the credential of the request."""
    body = scene.body()
    key = {"X-API-Key": scene.target.stranger.api_key}
    assert scene.act(scene.people.mallory, "POST", "/zkp/delegated-proofs", "prove", body, key).outcome == FORBIDDEN
    assert scene.act(scene.people.aki, "POST", "/zkp/delegated-proofs", "prove", body, key).status == 201


def test_another_holder_in_the_body(people: People) -> None:
    """Hana's token for Mallory's data, and Mallory's token for Hana's."""
    scene = Scene.create(people)
    mallory = people.mallory
    assert scene.ask(scene.body(holderDid=mallory.did)).outcome == INVALID
    hers = scene.token(key=mallory.key, invoker=mallory.did)
    assert scene.ask(scene.body(ibct=hers)).outcome == INVALID
    # A delegation and a token of her own, and Hana's credential.
    own = Scene.create(people, mallory, people.aki)
    refused = own.ask(own.body(credentialId=scene.credential_id))
    assert refused.outcome == (404, "CREDENTIAL_NOT_FOUND")
    assert "listCredentials" in refused.json["error"]["details"]["remedy"]
    assert stable_refusal(refused) == stable_refusal(own.ask(own.body(credentialId=f"urn:uuid:{uuid.uuid4()}")))
    assert own.uses == scene.uses == 0


def test_a_foreign_credential_takes_as_long_as_an_absent_one(people: People) -> None:
    """The faster halves over many turns, each with both, in changing order; more turns where other work makes the times differ, which
    a difference of the service's own outlasts."""
    scene = Scene.create(people)
    own = Scene.create(people, people.mallory, people.aki)
    names = {"foreign": scene.credential_id, "absent": f"urn:uuid:{uuid.uuid4()}"}
    spent: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(20 * TURNS):
        if turn >= TURNS and turn % TURNS == 0 and ratio(*spent.values()) < 1.25:
            break
        for name in sorted(names, reverse=bool(turn % 2)):
            body = own.body(credentialId=names[name])
            began = time.perf_counter()
            assert own.ask(body).status == 404
            spent[name].append(time.perf_counter() - began)
    assert ratio(*spent.values()) < 1.25, {name: statistics.quantiles(times) for name, times in spent.items()}


def ratio(one: list[float], other: list[float]) -> float:
    """By how much one is slower, at the first quartile."""
    low, high = sorted(statistics.quantiles(times)[0] for times in (one, other))
    return high / low


@contextlib.contextmanager
def listening() -> Iterator[tuple[str, list[Any]]]:
    """A place that would notice being asked, and who came."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        ended = threading.Event()

        def wait() -> None:
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    came.append(server.accept())

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", came
        ended.set()
        thread.join(5)


def test_references_are_looked_up_never_fetched(people: People) -> None:
    """Another pair's, one that does not exist, and what is not a reference at all: one answer."""
    scene = Scene.create(people)
    foreign = people.delegate(people.mallory, people.aki)
    other_agent = people.delegate(people.hana, people.mallory)
    with listening() as (place, came):
        references = [
            foreign,
            f"urn:uuid:{foreign}",
            other_agent,
            UNKNOWN,
            f"urn:uuid:{UNKNOWN}",
            f"{place}/api/v1/delegations/{scene.delegation_id}",
            f"{scene.target.wire.url}@{place[7:]}/api/v1/delegations/{scene.delegation_id}",
            f"{scene.target.wire.url}/api/v1/delegations/../delegations/{scene.delegation_id}",
            f"{scene.target.wire.url}/api/v1/delegations/{scene.delegation_id}/",
            f"{scene.target.wire.url}/api/v1/delegations/{scene.delegation_id}?x",
            f"{scene.target.wire.url}/api/v1/credentials/{scene.delegation_id}",
            f"file:///proc/self/environ#{scene.delegation_id}",
            "../../identity.sqlite",
            scene.delegation_id.upper(),
            scene.delegation_id + "\n",
            f" {scene.delegation_id}",
            f"{{{scene.delegation_id}}}",
            scene.delegation_id.replace("-", ""),
            "' OR 1=1 --",
            "%",
            "\u0000",
        ]
        refused = [scene.ask(scene.body(ibct=scene.token(delegationRef=one))) for one in references]
        assert came == []
    assert {answer.outcome for answer in refused} == {NO_DELEGATION}
    assert len({repr(stable_refusal(answer)) for answer in refused}) == 1
    remedies = refused[0].json["error"]["details"]["remedies"]
    assert remedies == ["createDelegation; its id is the delegationRef"]
    # A caller without a credential gets the same answer for a good reference and a bad one.
    for one in (references[0], scene.delegation_id):
        anonymous = scene.target.wire.call("POST", PROOFS, scene.body(ibct=scene.token(delegationRef=one)))
        assert anonymous.outcome == (401, "AUTH_REQUIRED")
        assert "remedies" not in anonymous.json["error"]["details"]
    assert scene.uses == 0


def test_each_form_of_a_reference(scene: Scene) -> None:
    own = scene.delegation_id
    for reference in (own, f"urn:uuid:{own}", f"{scene.target.wire.url}/api/v1/delegations/{own}"):
        assert scene.ask(scene.body(ibct=scene.token(delegationRef=reference))).status == 201
