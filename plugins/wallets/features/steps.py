"""Issuers offer credentials to wallets, which collect them (OpenID4VCI 1.0) and present them to verifiers (OpenID4VP 1.0)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from joserfc import jwe
from joserfc.jwk import ECKey
from pytest_bdd import given, parsers, then, when

from features.credentialing import issued
from features.formats import from_base64url, printed
from features.signing import call
from features.steps.answers import body_of
from features.world import World
from plugins.wallets.features.stories import (
    ask,
    collect,
    has_issued,
    offer,
    offered,
    present_claims,
    redeem,
    request_object,
    send,
    verifier,
    wallet_issuer,
    wish_of_wallet,
)

# Given


@given(parsers.parse("{by:w} has issued a credential for wallets to {of:w}"))
def has_issued_for_wallets(world: World, by: str, of: str) -> None:
    has_issued(world, by, of)


@given(parsers.parse("{by:w} has issued a credential for wallets to {of:w} that is valid from tomorrow on"))
def has_issued_for_later(world: World, by: str, of: str) -> None:
    wallet_issuer(world, by)
    issued(world, by, of, suite=1, validFrom=printed(datetime.now(UTC) + timedelta(days=1)))


@given("Hana's wallet has collected a credential of Ina's")
def has_collected(world: World) -> None:
    has_issued(world, "Ina", "Hana")
    offer(world, "Ina", {})
    collect(world)


@given("Vic has asked a wallet whether its holder is 18")
def has_asked(world: World) -> None:
    verifier(world)
    ask(world, "Vic", wish_of_wallet(world))


@given("the wallet has said no")
def said_no(world: World) -> None:
    _, said = request_object(world)
    form = {"error": "access_denied", "state": said["state"]}
    assert world.http().post(urlsplit(said["response_uri"]).path, data=form).status_code == 200


# When


@when(parsers.parse("{by:w} offers it to a wallet"))
def offers(world: World, by: str) -> None:
    offer(world, by, {})


@when(parsers.parse("{by:w} offers it to a wallet with a transaction code"))
def offers_with_code(world: World, by: str) -> None:
    offer(world, by, {"transactionCode": True})


@when("Vic asks a wallet whether its holder is 18")
def asks(world: World) -> None:
    verifier(world)
    ask(world, "Vic", wish_of_wallet(world))


@when("Vic asks a wallet for the country, or else for the age")
def asks_for_one_of_two(world: World) -> None:
    claims = [{"id": "where", "path": ["country"]}, {"id": "years", "path": ["age"]}]
    one = {"id": "age", "schemaId": world.notes["schema"], "claims": claims, "claimSets": [["where"], ["years"]]}
    verifier(world)
    ask(world, "Vic", wish_of_wallet(world, credentials=[one]))


@when("Vic asks a wallet for a membership card, or else for the age")
def asks_for_one_of_two_credentials(world: World) -> None:
    person = {"id": "age", "schemaId": world.notes["schema"], "claims": [{"path": ["age"]}]}
    card = {"id": "card", "schemaId": "urn:schema:membership"}
    verifier(world)
    sets = [{"options": [["card"], ["age"]]}]
    ask(world, "Vic", wish_of_wallet(world, credentials=[card, person], credentialSets=sets))


@when("Vic asks a wallet for a holder who is not 18")
def asks_for_a_minor(world: World) -> None:
    claims = [{"path": ["age_equal_or_over", "18"], "values": [False]}]
    verifier(world)
    ask(
        world,
        "Vic",
        wish_of_wallet(world, credentials=[{"id": "age", "schemaId": world.notes["schema"], "claims": claims}]),
    )


@when("Vic asks a wallet for a combination of which no credential is named")
def asks_for_no_credential(world: World) -> None:
    verifier(world)
    ask(world, "Vic", wish_of_wallet(world, credentialSets=[{"options": [["card"]]}]))


@when("Vic asks a wallet whether its holder is 18, encrypted for Vic")
def asks_secretly(world: World) -> None:
    verifier(world)
    ask(world, "Vic", wish_of_wallet(world, encrypted=True))


@when("Vic asks a wallet for what no set of claims names")
def asks_for_nothing(world: World) -> None:
    one = {"id": "age", "schemaId": world.notes["schema"], "claims": [{"path": ["age"]}], "claimSets": [["years"]]}
    verifier(world)
    ask(world, "Vic", wish_of_wallet(world, credentials=[one]))


@when("Vera asks a wallet whether its holder is 18")
def asks_without_key(world: World) -> None:
    ask(world, "Vera", wish_of_wallet(world, verifierDid=world.person("Vera").did))


@when("an operator asks a wallet in the name of an invalid DID")
def asks_for_nobody(world: World) -> None:
    draft = world.draft("requestPresentation")
    draft.body["verifierDid"] = "absent"
    world.send(draft)


@when("Mallory asks a wallet in the name of Vic")
def asks_for_another(world: World) -> None:
    ask(world, "Mallory", wish_of_wallet(world))


@when(parsers.parse("{name:w} looks what came"))
def looks(world: World, name: str) -> None:
    call(world, name, "getPresentation", request_id=world.notes["asked"]["id"])


# Then


@then("the wallet gets nothing without the transaction code")
def nothing_without_code(world: World) -> None:
    _, grant = offered(world)
    assert grant["tx_code"] == {"input_mode": "numeric", "length": 6}
    refused = redeem(world)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


@then("the wallet collects it once")
def collects(world: World) -> None:
    collect(world)


@then(parsers.parse("the wallet can show that the age is at least {least:d} and not what it is"))
def shows_a_boolean(world: World, least: int) -> None:
    jwt, *disclosures, _ = world.notes["collected"].split("~")
    assert "age" not in json.loads(from_base64url(jwt.split(".")[1]))
    known = [json.loads(from_base64url(one)) for one in disclosures]
    (disclosed,) = (value for _, name, value in known if name == str(least))
    assert disclosed is True


@then("the wallet reads a request that Vic's key has signed")
def reads(world: World) -> None:
    head, said = request_object(world)
    vic = verifier(world)
    assert head["kid"].startswith(f"{vic.did}#")
    assert said["client_id"] == f"decentralized_identifier:{vic.did}"
    assert said["response_mode"] == "direct_post"


@then("the wallet presents what was asked for")
def presents(world: World) -> None:
    _, said = request_object(world)
    (query,) = said["dcql_query"]["credentials"]
    wanted = {step for claim in query["claims"] for step in claim["path"]}
    send(world, said, {"vp_token": json.dumps(present_claims(world, said, wanted)), "state": said["state"]})


@then("the wallet presents the age alone")
def presents_the_other(world: World) -> None:
    _, said = request_object(world)
    send(world, said, {"vp_token": json.dumps(present_claims(world, said, {"age"})), "state": said["state"]})


@then("the wallet presents its second credential alone")
def presents_the_second(world: World) -> None:
    _, said = request_object(world)
    assert said["dcql_query"]["credential_sets"] == [{"options": [["card"], ["age"]], "required": True}]
    send(world, said, {"vp_token": json.dumps(present_claims(world, said, {"age"})), "state": said["state"]})


@then("the wallet is refused for what it presents")
def is_refused(world: World) -> None:
    _, said = request_object(world)
    form = {"vp_token": json.dumps(present_claims(world, said, {"age_equal_or_over", "18"})), "state": said["state"]}
    answer = world.http().post(urlsplit(said["response_uri"]).path, data=form)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@then("the wallet presents it encrypted to the key of the request")
def presents_encrypted(world: World) -> None:
    _, said = request_object(world)
    assert said["response_mode"] == "direct_post.jwt"
    (key,) = said["client_metadata"]["jwks"]["keys"]
    plain = {"vp_token": present_claims(world, said, {"age_equal_or_over", "18"}), "state": said["state"]}
    header = {"alg": key["alg"], "enc": "A256GCM", "kid": key["kid"]}
    algorithms = ["ECDH-ES", "A256GCM"]
    text = jwe.encrypt_compact(header, json.dumps(plain), ECKey.import_key(key), algorithms=algorithms)
    send(world, said, {"response": text})


@then("Vic reads how old the holder is and not where from")
def reads_the_other(world: World) -> None:
    looks(world, "Vic")
    (one,) = body_of(world.answer)["credentials"]
    assert one["claims"].keys() >= {"age"}
    assert "country" not in one["claims"]


@then("Vic reads that the holder is 18 and not how old")
def reads_result(world: World) -> None:
    looks(world, "Vic")
    found = body_of(world.answer)
    assert found["state"] == "presented"
    (one,) = found["credentials"]
    assert one["claims"]["age_equal_or_over"] == {"18": True}
    assert "age" not in one["claims"]


@then("nothing came yet")
def nothing_came(world: World) -> None:
    found = body_of(world.answer)
    assert (found["state"], found["answeredAt"], found["credentials"]) == ("pending", None, [])


@then("the wallet has declined")
def declined(world: World) -> None:
    found = body_of(world.answer)
    assert (found["state"], found["credentials"]) == ("declined", [])
    assert found["answeredAt"] is not None
