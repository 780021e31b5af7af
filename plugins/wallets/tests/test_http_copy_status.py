"""The status of a wallet's copy by raw bytes: a status that an issuer ends is ended for every verifier, and a copy with a status list
that is unknown here proves nothing.

draft-ietf-oauth-status-list §4 to §8. The verifier follows it with ``cryptography`` and zlib alone.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from plugins.wallets.tests.test_http_presentations import ADULT, Asked, Story, bound, collected
from plugins.wallets.tests.test_http_wallets import DROP, Issuer, Wallet, decoded, issuer_key, read_credential, refusal
from tests.attack.conftest import Target
from tests.attack.stranger import Answer, base64url
from tests.attack.test_http_issuing import ask


@pytest.fixture(scope="module")
def story(targets: Callable[[int], Target]) -> Story:
    return Story.open(targets(1))


def claims_of(credential: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(decoded(credential.split(".")[1]))
    return found


def fetched(story: Story, uri: str) -> Answer:
    return story.vera.wire.call("GET", urlsplit(uri).path, None, {"Accept": "application/statuslist+jwt"})


def listed(story: Story, issuer: Issuer, credential: str) -> int:
    """The value at the place that the copy names, in a list that the issuer has signed."""
    place = claims_of(credential)["status"]["status_list"]
    assert place["uri"].startswith(story.vera.wire.url)
    answer = fetched(story, place["uri"])
    assert (answer.status, answer.headers["content-type"]) == (200, "application/statuslist+jwt")
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.headers["access-control-allow-origin"] == "*"
    method, public = issuer_key(issuer)
    head, said, _ = read_credential(answer.body.decode() + "~", public)
    assert head == {"typ": "statuslist+jwt", "alg": "ES256", "kid": method}
    assert (said["sub"], said["iss"], said["ttl"]) == (place["uri"], issuer.ivo.did, 300)
    assert said["iat"] <= time.time() + 1 < said["iat"] + 86_400 == said["exp"]
    data = zlib.decompress(decoded(said["status_list"]["lst"]))
    assert (said["status_list"]["bits"], len(data)) == (2, 131_072 // 4)
    return data[place["idx"] // 4] >> place["idx"] % 4 * 2 & 3


def set_status(issuer: Issuer, credential_id: str, purpose: str, value: bool) -> None:
    body = {"purpose": purpose, "value": value}
    assert ask(issuer.ivo, "POST", f"/credentials/{credential_id}/status", body).status == 200


def vcalm(story: Story, credential: str, **options: Any) -> tuple[bool, list[str], list[bool]]:
    enveloped = {"type": "EnvelopedVerifiableCredential", "id": f"data:application/dc+sd-jwt,{credential}"}
    body = {"verifiableCredential": enveloped, "options": {"returnResults": True} | options}
    answer = story.vera.wire.call("POST", "/vcalm/credentials/verify", body)
    assert answer.status == 200, answer.body
    said = answer.json
    statuses = [one["verified"] for one in said["results"].get("credentialStatus", [])]
    return said["verified"], [one["title"] for one in said["problemDetails"]], statuses


def presented(story: Story, wallet: Wallet, credential: str, schema_id: str) -> tuple[int, str]:
    one = {"id": "age", "schemaId": schema_id, "claims": [{"path": ADULT}]}
    asked = story.ask_for(credentials=[one])
    answer = story.present(asked, story.build_presentation(asked, by=wallet, of=credential))
    return (200, "") if answer.status == 200 else (refusal(answer)[0], answer.json["error_description"])


def test_revocation_by_issuer_holds_for_every_verifier(story: Story) -> None:
    issuer, wallet = Issuer.open(story.issuer.target), Wallet(story.issuer.target)
    credential, other = collected(issuer, wallet), issuer.issued()

    def read_statuses() -> tuple[int, tuple[int, str], tuple[bool, list[str], list[bool]]]:
        shown = presented(story, wallet, credential, issuer.schema_id)
        return listed(story, issuer, credential), shown, vcalm(story, credential)

    assert read_statuses() == (0, (200, ""), (True, [], [True]))
    set_status(issuer, issuer.credential_id, "suspension", True)
    value, (status, reason), verdict = read_statuses()
    assert (value, status, "suspended" in reason) == (2, 400, True)
    assert verdict == (False, ["STATUS_VERIFICATION_ERROR"], [False])
    # Who looks for the status himself is told of it all the same.
    assert vcalm(story, credential, checks=["proof"])[:2] == (False, ["STATUS_VERIFICATION_ERROR"])
    set_status(issuer, issuer.credential_id, "suspension", False)
    set_status(issuer, other, "revocation", True)
    assert read_statuses() == (0, (200, ""), (True, [], [True]))
    set_status(issuer, issuer.credential_id, "revocation", True)
    value, (status, reason), verdict = read_statuses()
    assert (value, status, "revoked" in reason) == (1, 400, True)
    assert verdict == (False, ["STATUS_VERIFICATION_ERROR"], [False])


@pytest.mark.parametrize("query", ["time=1700000000", "a=b&time=1700000000", "time=", "%74ime=x"])
def test_list_of_another_time_is_refused(story: Story, query: str) -> None:
    """draft-ietf-oauth-status-list §8.4: 501 where the parameter is not supported, so that no client takes this list for that one."""
    uri = claims_of(collected(Issuer.open(story.issuer.target), Wallet(story.issuer.target)))["status"]["status_list"][
        "uri"
    ]
    assert fetched(story, uri).status == 200
    answer = story.vera.wire.call("GET", f"{urlsplit(uri).path}?{query}")
    assert answer.outcome == (501, "FEATURE_NOT_SUPPORTED")
    details = answer.json["error"]["details"]
    assert (details["feature"], "`time`" in details["remedy"]) == ("time", True)
    assert "time" in answer.json["error"]["message"]


def own_copy(wallet: Wallet, **said: Any) -> str:
    """A copy by an issuer who is his own wallet and says what he likes."""
    issuer = f"did:jwk:{base64url(json.dumps(wallet.jwk).encode())}"
    claims = {"iss": issuer, "vct": "urn:x", "cnf": {"jwk": wallet.jwk}, "age_equal_or_over": {"18": True}} | said
    claims = {name: value for name, value in claims.items() if value is not DROP}
    return wallet.sign({"typ": "dc+sd-jwt", "alg": "ES256", "kid": f"{issuer}#0"}, claims) + "~"


STATUSES: dict[str, Callable[[str, str], Any]] = {
    "nothing": lambda uri, origin: None,
    "a text": lambda uri, origin: uri,
    "no member": lambda uri, origin: {},
    "another kind": lambda uri, origin: {"status_assertion": {"credential_hash_alg": "sha-256"}},
    "no list": lambda uri, origin: {"status_list": None},
    "no place": lambda uri, origin: {"status_list": {"uri": uri}},
    "no address": lambda uri, origin: {"status_list": {"idx": 0}},
    "true": lambda uri, origin: {"status_list": {"idx": True, "uri": uri}},
    "a fraction": lambda uri, origin: {"status_list": {"idx": 1.5, "uri": uri}},
    "a place of text": lambda uri, origin: {"status_list": {"idx": "1", "uri": uri}},
    "below": lambda uri, origin: {"status_list": {"idx": -1, "uri": uri}},
    "beyond": lambda uri, origin: {"status_list": {"idx": 131_072, "uri": uri}},
    "far beyond": lambda uri, origin: {"status_list": {"idx": 2**53 - 1, "uri": uri}},
    "elsewhere": lambda uri, origin: {"status_list": {"idx": 0, "uri": "https://status.example/1"}},
    "a host that begins like ours": lambda uri, origin: {"status_list": {"idx": 0, "uri": uri.replace(origin, origin + ".x")}},
    "with a query": lambda uri, origin: {"status_list": {"idx": 0, "uri": uri + "?x"}},
    "a climb": lambda uri, origin: {"status_list": {"idx": 0, "uri": f"{origin}/openid/status/../status/{uri[-22:]}"}},
    "a list that does not exist": lambda uri, origin: {"status_list": {"idx": 0, "uri": uri[:-22] + "A" * 22}},
}  # fmt: skip


@pytest.mark.parametrize("made", STATUSES.values(), ids=STATUSES.keys())
def test_a_status_that_is_not_known_here_proves_nothing(story: Story, made: Callable[[str, str], Any]) -> None:
    wallet, origin = Wallet(story.issuer.target), story.vera.wire.url
    uri = claims_of(story.credential)["status"]["status_list"]["uri"]
    credential = own_copy(wallet, status=made(uri, origin))
    status, reason = presented(story, wallet, credential, "urn:x")
    assert (status, "its status" in reason) == (400, True)
    verified, problems, statuses = vcalm(story, credential)
    assert (verified, statuses) == (False, [False])
    assert problems == ["STATUS_RETRIEVAL_ERROR"]
    assert "Traceback" not in reason


def test_a_copy_that_names_no_status_has_none(story: Story) -> None:
    wallet = Wallet(story.issuer.target)
    credential = own_copy(wallet)
    assert presented(story, wallet, credential, "urn:x") == (200, "")
    assert vcalm(story, credential) == (True, [], [])


def test_a_status_cannot_be_kept_back(story: Story) -> None:
    """Each disclosure alone is dropped; the status stands in what the issuer has signed."""
    jwt, *disclosures, _ = story.credential.split("~")
    assert "status" in claims_of(story.credential)
    assert not [one for one in disclosures if json.loads(decoded(one))[1] == "status"]
    changed = jwt.split(".")
    said = {name: value for name, value in claims_of(story.credential).items() if name != "status"}
    changed[1] = Wallet(story.issuer.target).sign({}, said).split(".")[1]
    asked: Asked = story.ask_for()
    forged = bound("~".join((".".join(changed), *disclosures, "")), story.wallet, asked, ADULT)
    assert refusal(story.present(asked, {"age": [forged]})) == (400, "invalid_request")


def test_a_list_is_there_as_long_as_the_issuer_signs(story: Story) -> None:
    target = story.issuer.target
    issuer, wallet = Issuer.open(target), Wallet(target)
    uri = claims_of(collected(issuer, wallet))["status"]["status_list"]["uri"]
    first, again = fetched(story, uri), fetched(story, uri)
    assert (first.status, again.body) == (200, first.body)
    for name in ("A" * 22, "x", "%00", "%C3%A9", uri[-22:] + "-revocation", "A" * 2_000):
        answer = story.vera.wire.call("GET", f"/openid/status/{name}")
        assert answer.status in (400, 404), name
    assert fetched(story, uri[:-22] + "A" * 22).outcome == (404, "STATUS_LIST_NOT_FOUND")
    assert issuer.ivo.act("deactivate", {"confirm": True, "reason": "the end"}).status == 200
    assert fetched(story, uri).outcome == (404, "STATUS_LIST_NOT_FOUND")
