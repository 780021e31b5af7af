"""A holder rotates the secret that the service's custodian keeps, and has former ones forgotten."""

from __future__ import annotations

from typing import Any

from pytest_bdd import given, parsers, then, when

from features.proving import BOTH, VALUES, story
from features.signing import call, signature
from features.steps.answers import body_of
from features.world import World

OPERATION = "rotateHolderSecret"


def rotates(world: World, name: str, *, forget: bool = False) -> dict[str, Any]:
    world.notes["answer"] = call(world, name, OPERATION, "RotateHolderSecretRequest", {"forgetFormer": forget})
    return body_of(world.notes["answer"])


def named_generations(world: World) -> dict[str, int]:
    """The generations of the credentials that the answer names."""
    body = body_of(world.notes["answer"])
    assert body["complete"]
    return {one["credentialId"]: one["generation"] for one in body["credentials"]}


def both(world: World) -> list[str]:
    return [story(world).credential_id, world.notes["second"]]


def proved(world: World, *credentials: str) -> Any:
    """The answer to a question about each."""
    proving = story(world)
    if len(credentials) == 1:
        first, proving.credential_id, proving.question = proving.credential_id, credentials[0], None
        answer = proving.ask()
        proving.credential_id = first
        return answer
    same = [[{"credential": number, "attributeName": "country"} for number in range(2)]]
    parts = [{"credentialId": one, "predicates": [BOTH[0]]} for one in credentials]
    proving.question = {"credentials": parts, "same": same}
    return proving.ask()


# Given


@given("Hana has rotated her secret")
def has_rotated(world: World) -> None:
    assert rotates(world, "Hana")["generation"] == 2


# When


@when(parsers.parse("{name:w} rotates her secret"))
def she_rotates(world: World, name: str) -> None:
    rotates(world, name)


@when("Hana has her former secrets forgotten")
def forgets(world: World) -> None:
    rotates(world, "Hana", forget=True)


@when("Ivo issues one of the credentials anew")
def issues_anew(world: World) -> None:
    proving = story(world)
    proving.issued = {**proving.issued, "newHolderSecret": True}
    world.notes["anew"] = proving.issue(proving.hana, age=21)


@when("Hana rotates her secret without saying whether former ones go")
def says_nothing(world: World) -> None:
    draft = world.draft(OPERATION)
    draft.body = {}
    draft.headers = signature(world, world.person("Hana"), OPERATION, draft.body)
    world.send(draft)


@when(parsers.parse("her secret is rotated with {what}"))
def unsigned(world: World, what: str) -> None:
    headers = world.key_header()
    if what == "Hana's token":
        asked: dict[str, Any] = {}
        signed = world.signed(world.person("Hana"), "issueToken", asked)
        made = world.call("issueToken", headers=signed, body=world.model("IssueTokenRequest", asked))
        headers = {"Authorization": f"Bearer {body_of(made)['access_token']}"}
    world.call(OPERATION, headers=headers, body=world.model("RotateHolderSecretRequest", {"forgetFormer": False}))


@when("Ivo issues a credential as if the secret were the same")
def issues_the_same(world: World) -> None:
    proving = story(world)
    wish = {
        "issuerDid": world.person("Ivo").did,
        "holderDid": proving.hana.did,
        "schemaId": proving.schema_ids[0],
        "attributes": VALUES,
        **proving.issued,
    }
    world.call("issueCredential", headers=world.key_header(), body=world.model("IssueCredentialRequest", wish))


# Then


@then("the record of the credential that was issued anew tells that her secret is another one")
def record_tells(world: World) -> None:
    def replaced(credential_id: str) -> bool:
        answer = world.call("getCredential", headers=world.key_header(), credential_id=credential_id)
        return bool(body_of(answer)["holderSecretReplaced"])

    assert [replaced(one) for one in (*both(world), world.notes["anew"])] == [False, False, True]


@then("she is told that both credentials of Ivo's are bound to the generation before")
def told_of_both(world: World) -> None:
    body = body_of(world.notes["answer"])
    assert (body["generation"], named_generations(world)) == (2, dict.fromkeys(both(world), 1))
    assert {one["issuerDid"] for one in body["credentials"]} == {world.person("Ivo").did}


@then("she is told that the credential that was issued anew is of generation 2")
def told_of_the_new(world: World) -> None:
    assert body_of(world.notes["answer"])["generation"] == 3
    assert named_generations(world) == dict.fromkeys(both(world), 1) | {world.notes["anew"]: 2}


@then("the answer tells to send newHolderSecret")
def tells_the_member(world: World) -> None:
    assert "newHolderSecret" in body_of(world.answer)["error"]["details"]["remedy"]


@then("she is told of none")
def told_of_none(world: World) -> None:
    assert named_generations(world) == {}


@then("to forget once more tells of none")
def forgets_again(world: World) -> None:
    rotates(world, "Hana", forget=True)
    assert named_generations(world) == {}


@then(parsers.parse("Hana's timeline tells that {what}"))
def in_timeline(world: World, what: str) -> None:
    kind = {"it was rotated": "holder.secretRotated", "former ones are forgotten": "holder.secretsForgotten"}[what]
    (item,) = body_of(call(world, "Hana", "getDashboardTimeline", kind=kind))["items"]
    assert item["holderDid"] == world.person("Hana").did


@then("Aki proves something with a credential from before")
def proves_before(world: World) -> None:
    assert proved(world, both(world)[0]).status_code == 201


@then("Aki proves something with both credentials at once")
def proves_both(world: World) -> None:
    assert proved(world, *both(world)).status_code == 201


@then("Aki proves something with the credential that was issued anew")
def proves_anew(world: World) -> None:
    assert proved(world, world.notes["anew"]).status_code == 201


@then("Aki proves nothing with one from before and one from after")
def proves_nothing(world: World) -> None:
    answer = proved(world, both(world)[0], world.notes["anew"])
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (422, "PREDICATE_UNSUPPORTED")


@then("with a credential from before the answer is 410 CREDENTIAL_REVOKED, which says what to do")
def refused(world: World) -> None:
    for credential in both(world):
        answer = proved(world, credential)
        error = body_of(answer)["error"]
        assert (answer.status_code, error["code"]) == (410, "CREDENTIAL_REVOKED")
        assert "anew" in error["details"]["remedy"]
