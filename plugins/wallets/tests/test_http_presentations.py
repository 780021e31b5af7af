"""A verifier asks a wallet by raw bytes; a presentation of something else, or for another verifier, is refused.

OpenID4VP 1.0 §5 to §8, RFC 9101, RFC 9901. Wallet and verifier follow them with ``cryptography`` and nacl alone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from plugins.wallets.tests.test_http_wallets import DROP, Issuer, Wallet, decoded, refusal
from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Answer, Holder, at_once, base64url, from_base58
from tests.attack.test_http_issuing import P256, signed

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ADULT = ["age_equal_or_over", "18"]


@dataclass
class Asked:
    """A request of Vera's, and what its request object says."""

    id: str
    said: dict[str, Any]
    path: str


@dataclass
class Story:
    """Vera asks; Hana has a credential of Ivo's in her wallet."""

    issuer: Issuer
    vera: Holder
    wallet: Wallet
    credential: str

    @classmethod
    def open(cls, target: Target) -> Story:
        issuer, wallet = Issuer.open(target), Wallet(target)
        vera = target.stranger.holder(additionalKeys=[P256], storeSecrets=True)
        return cls(issuer, vera, wallet, collected(issuer, wallet))

    def ask(self, by: Holder | None = None, **changed: Any) -> Answer:
        one = {"id": "age", "schemaId": self.issuer.schema_id, "issuerDids": [self.issuer.ivo.did]}
        body = {"verifierDid": self.vera.did, "credentials": [one | {"claims": [{"path": ADULT}]}]} | changed
        body = {name: value for name, value in body.items() if value is not DROP}
        who = by or self.vera
        return who.wire.call("POST", f"{PREFIX}/presentation-requests", body, signed(who, "read", body))

    def result(self, request_id: str, by: Holder | None = None) -> Answer:
        who = by or self.vera
        path = f"{PREFIX}/presentation-requests/{request_id}"
        return who.wire.call("GET", path, None, signed(who, "read"))

    def ask_for(self, **changed: Any) -> Asked:
        """The request as a wallet reads it: the link, the signature, the claims."""
        answer = self.ask(**changed)
        assert answer.status == 201, answer.body
        link = urlsplit(answer.json["uri"])
        assert link.scheme == "openid4vp"
        query = {name: value for name, (value,) in parse_qs(link.query).items()}
        place = urlsplit(query["request_uri"])
        found = self.vera.wire.call("GET", place.path)
        assert found.status == 200, found.body
        assert found.headers["content-type"] == "application/oauth-authz-req+jwt"
        assert found.headers["cache-control"] == "no-store"
        head, said, signature = found.body.decode().split(".")
        header, claims = json.loads(decoded(head)), json.loads(decoded(said))
        assert (header["typ"], header["alg"]) == ("oauth-authz-req+jwt", "ES256")
        methods = self.vera.resolve().json["didDocument"]["verificationMethod"]
        (method,) = (one for one in methods if one["id"] == header["kid"])
        raw = decoded(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(
            ec.SECP256R1(), from_base58(method["publicKeyMultibase"][1:])[2:]
        )
        der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        key.verify(der, f"{head}.{said}".encode(), ec.ECDSA(hashes.SHA256()))
        assert query["client_id"] == claims["client_id"] == f"decentralized_identifier:{self.vera.did}"
        return Asked(answer.json["id"], claims, urlsplit(claims["response_uri"]).path)

    def present(self, asked: Asked, shown: Any, **changed: Any) -> Answer:
        token = shown if shown is DROP or isinstance(shown, str) else json.dumps(shown)
        fields = {"vp_token": token, "state": asked.said["state"]} | changed
        form = urlencode({name: value for name, value in fields.items() if value is not DROP}).encode()
        return self.vera.wire.call("POST", asked.path, form, FORM)

    def build_presentation(
        self, asked: Asked, *names: str, by: Wallet | None = None, of: str | None = None, **said: Any
    ) -> dict[str, list[str]]:
        """The presentation of what is asked for, with the disclosures of these names."""
        return {"age": [bound(of or self.credential, by or self.wallet, asked, names or ADULT, **said)]}


def collected(issuer: Issuer, wallet: Wallet) -> str:
    credential_issuer, token = issuer.token(wallet)
    answer = wallet.credential(token, wallet.proof(credential_issuer))
    assert answer.status == 200, answer.body
    return str(answer.json["credentials"][0]["credential"])


def bound(credential: str, wallet: Wallet, asked: Asked, names: Any, **changed: Any) -> str:
    jwt, *disclosures, _ = credential.split("~")
    kept = [one for one in disclosures if json.loads(decoded(one))[1] in names]
    base = "~".join((jwt, *kept, ""))
    said = {"iat": int(time.time()), "aud": asked.said["client_id"], "nonce": asked.said["nonce"]}
    said |= {"sd_hash": base64url(hashlib.sha256(base.encode()).digest())} | changed
    return base + wallet.sign({"typ": "kb+jwt", "alg": "ES256"}, said)


@pytest.fixture(scope="module")
def story(targets: Callable[[int], Target]) -> Story:
    return Story.open(targets(1))


def test_wallet_shows_that_its_holder_is_of_age_and_nothing_else(story: Story) -> None:
    asked = story.ask_for(redirectUri="https://shop.example/done?order=7")
    assert asked.said["response_type"] == "vp_token"
    assert asked.said["response_mode"] == "direct_post"
    assert asked.said["aud"] == "https://self-issued.me/v2"
    assert "iss" not in asked.said
    (query,) = asked.said["dcql_query"]["credentials"]
    assert query == {
        "id": "age",
        "format": "dc+sd-jwt",
        "meta": {"vct_values": [story.issuer.schema_id]},
        "claims": [{"path": ADULT}],
    }
    assert story.result(asked.id).json["state"] == "pending"
    answer = story.present(asked, story.build_presentation(asked))
    found = story.result(asked.id).json
    place = f"https://shop.example/done?order=7&response_code={found['responseCode']}"
    assert (answer.status, answer.json) == (200, {"redirect_uri": place})
    assert (found["id"], found["state"]) == (asked.id, "presented")
    (one,) = found["credentials"]
    assert (one["id"], one["issuerDid"], one["schemaId"]) == ("age", story.issuer.ivo.did, story.issuer.schema_id)
    assert one["claims"]["age_equal_or_over"] == {"18": True}
    assert one["claims"]["cnf"] == {"jwk": story.wallet.jwk}
    assert {"age", "given_name"}.isdisjoint(one["claims"])


def test_a_verifier_with_a_key_on_ed25519_alone_signs_with_it(story: Story) -> None:
    vera = story.issuer.target.stranger.holder(storeSecrets=True)
    answer = story.ask(vera, verifierDid=vera.did)
    assert answer.status == 201, answer.body
    (place,) = parse_qs(urlsplit(answer.json["uri"]).query)["request_uri"]
    head, said, signature = vera.wire.call("GET", urlsplit(place).path).body.decode().split(".")
    header = json.loads(decoded(head))
    assert (header["alg"], header["kid"]) == ("EdDSA", vera.key_id)
    vera.key.verify_key.verify(f"{head}.{said}".encode(), decoded(signature))


def test_a_request_is_answered_once_however_many_try(story: Story) -> None:
    asked = story.ask_for()
    shown = story.build_presentation(asked)
    answers = at_once(story.vera.wire, [lambda: story.present(asked, shown)] * 4)
    assert sorted(one.status for one in answers) == [200] + [404] * 3
    assert {refusal(one) for one in answers if one.status != 200} == {(404, "invalid_request")}
    assert story.vera.wire.call("GET", f"/openid/requests/{asked.id}").outcome == (404, "PRESENTATION_NOT_FOUND")


Made = Callable[[Story, Asked], Any]
PRESENTATIONS: dict[str, Made] = {
    "nothing": lambda story, asked: "",
    "no JSON": lambda story, asked: "{",
    "two meanings": lambda story, asked: '{"age":[],"age":[]}',
    "a text": lambda story, asked: json.dumps("x"),
    "no credential": lambda story, asked: {},
    "another credential": lambda story, asked: {"other": story.build_presentation(asked)["age"]},
    "one too many": lambda story, asked: (
        story.build_presentation(asked) | {"other": story.build_presentation(asked)["age"]}
    ),
    "two of one": lambda story, asked: {"age": story.build_presentation(asked)["age"] * 2},
    "not in an array": lambda story, asked: {"age": story.build_presentation(asked)["age"][0]},
    "not a text": lambda story, asked: {"age": [{}]},
    "junk": lambda story, asked: {"age": ["x~y~z"]},
    "not what was asked for": lambda story, asked: story.build_presentation(asked, "given_name"),
    "another threshold": lambda story, asked: story.build_presentation(asked, "age_equal_or_over", "65"),
    "nothing of it": lambda story, asked: story.build_presentation(asked, "-"),
    "without the holder": lambda story, asked: {
        "age": [story.build_presentation(asked)["age"][0].rpartition("~")[0] + "~"],
    },
    "by another wallet": lambda story, asked: story.build_presentation(asked, by=Wallet(story.wallet.target)),
    "for another verifier": lambda story, asked: story.build_presentation(
        asked, aud="decentralized_identifier:did:web:eve.example"
    ),
    "for the bare DID": lambda story, asked: story.build_presentation(asked, aud=story.vera.did),
    "for another request": lambda story, asked: story.build_presentation(story.ask_for()),
    "of another nonce": lambda story, asked: story.build_presentation(asked, nonce="x"),
    "of yesterday": lambda story, asked: story.build_presentation(asked, iat=int(time.time()) - 86_400),
    "of another hash": lambda story, asked: story.build_presentation(asked, sd_hash="x"),
    "changed": lambda story, asked: story.build_presentation(asked, of="A" + story.credential),
    "of an unknown issuer": lambda story, asked: {"age": [forged(story, asked, "did:ids:QmAbsent")]},
    "of an issuer elsewhere": lambda story, asked: {"age": [forged(story, asked, "did:web:127.0.0.1%3A1")]},
    "of the issuer by another's key": lambda story, asked: {"age": [forged(story, asked, story.issuer.ivo.did)]},
}


def forged(story: Story, asked: Asked, issuer: str) -> str:
    """A credential that the wallet has signed itself."""
    kid = f"{issuer}#key"
    if issuer == story.issuer.ivo.did:
        jwt = story.credential.split("~")[0]
        kid = json.loads(decoded(jwt.split(".")[0]))["kid"]
    said = {"iss": issuer, "vct": story.issuer.schema_id, "cnf": {"jwk": story.wallet.jwk}}
    said |= {"age_equal_or_over": {"18": True}, "exp": int(time.time()) + 60}
    jwt = story.wallet.sign({"typ": "dc+sd-jwt", "alg": "ES256", "kid": kid}, said)
    return bound(f"{jwt}~", story.wallet, asked, ())


@pytest.mark.parametrize("made", PRESENTATIONS.values(), ids=PRESENTATIONS.keys())
def test_invalid_answer_keeps_request_open(story: Story, made: Made) -> None:
    asked = story.ask_for()
    answer = story.present(asked, made(story, asked))
    assert refusal(answer) == (400, "invalid_request")
    assert story.result(asked.id).json["state"] == "pending"


def test_the_issuer_that_was_asked_for_has_issued_it(story: Story) -> None:
    other = Issuer.open(story.issuer.target)
    one = {"id": "age", "schemaId": story.issuer.schema_id, "claims": [{"path": ADULT}]}
    asked = story.ask_for(credentials=[one | {"issuerDids": [other.ivo.did]}])
    assert refusal(story.present(asked, story.build_presentation(asked))) == (400, "invalid_request")
    anybody = story.ask_for(credentials=[one])
    assert story.present(anybody, story.build_presentation(anybody)).status == 200
    another = story.ask_for(credentials=[one | {"schemaId": other.schema_id}])
    assert refusal(story.present(another, story.build_presentation(another))) == (400, "invalid_request")


def test_an_issuer_that_ended_proves_nothing_any_more(story: Story) -> None:
    other, wallet = Issuer.open(story.issuer.target), Wallet(story.issuer.target)
    credential = collected(other, wallet)
    one = {"id": "age", "schemaId": other.schema_id, "claims": [{"path": ADULT}]}
    asked = story.ask_for(credentials=[one])
    assert other.ivo.act("deactivate", {"confirm": True, "reason": "the end"}).status == 200
    shown = story.build_presentation(asked, by=wallet, of=credential)
    assert refusal(story.present(asked, shown)) == (400, "invalid_request")


def test_the_state_is_that_of_the_request(story: Story) -> None:
    asked = story.ask_for()
    for state in (DROP, "", "x", asked.said["nonce"]):
        assert refusal(story.present(asked, story.build_presentation(asked), state=state)) == (400, "invalid_request")
    assert story.present(asked, story.build_presentation(asked)).status == 200


def test_a_wallet_says_no(story: Story) -> None:
    asked = story.ask_for()
    assert refusal(story.present(asked, DROP, error="access_denied", state="x")) == (400, "invalid_request")
    answer = story.present(asked, DROP, error="access_denied")
    assert (answer.status, answer.json) == (200, {})
    found = story.result(asked.id).json
    assert (found["state"], found["credentials"]) == ("declined", [])


def test_nobody_else_reads_what_came(story: Story) -> None:
    asked = story.ask_for()
    assert story.present(asked, story.build_presentation(asked)).status == 200
    assert story.result(asked.id, story.issuer.hana).outcome == (404, "PRESENTATION_NOT_FOUND")
    assert story.result("x").outcome == (404, "PRESENTATION_NOT_FOUND")
    key = {"X-API-Key": story.issuer.target.stranger.api_key}
    answer = story.vera.wire.call("GET", f"{PREFIX}/presentation-requests/{asked.id}", None, key)
    assert answer.outcome == (404, "PRESENTATION_NOT_FOUND")
    assert story.result(asked.id).status == 200


def test_nobody_asks_in_the_name_of_another(story: Story) -> None:
    assert story.ask(story.issuer.hana).outcome == (403, "FORBIDDEN")
    hana = story.issuer.hana
    assert story.ask(hana, verifierDid=hana.did).outcome == (400, "INVALID_REQUEST")
    assert story.ask(verifierDid="did:ids:QmNobody").outcome == (400, "INVALID_DID")


def test_one_of_several_combinations_is_enough_and_none_is_not(story: Story) -> None:
    claims = [{"id": "adult", "path": ADULT}, {"id": "years", "path": ["age"]}, {"id": "name", "path": ["given_name"]}]
    one = {"id": "age", "schemaId": story.issuer.schema_id, "claims": claims}
    sets = [["adult"], ["years", "name"]]

    def ask_for_sets() -> Asked:
        found = story.ask_for(credentials=[one | {"claimSets": sets}])
        (query,) = found.said["dcql_query"]["credentials"]
        assert (query["claims"], query["claim_sets"]) == (claims, sets)
        return found

    for names in ((*ADULT,), ("age", "given_name"), (*ADULT, "age")):
        request = ask_for_sets()
        assert story.present(request, story.build_presentation(request, *names)).status == 200
    for names in (("age",), ("given_name",), ("age_equal_or_over", "21"), ("-",)):
        request = ask_for_sets()
        assert refusal(story.present(request, story.build_presentation(request, *names))) == (400, "invalid_request")
        assert story.result(request.id).json["state"] == "pending"
    # Without sets all of them are needed, also where they have names.
    request = story.ask_for(credentials=[one])
    assert "claim_sets" not in request.said["dcql_query"]["credentials"][0]
    assert refusal(story.present(request, story.build_presentation(request, *ADULT))) == (400, "invalid_request")
    assert story.present(request, story.build_presentation(request, *ADULT, "age", "given_name")).status == 200


def test_a_claim_has_the_type_and_the_value_that_were_asked_for(story: Story) -> None:
    def answered(path: list[str], values: list[Any]) -> tuple[int, str]:
        claim = {"path": path, "values": values}
        asked = story.ask_for(credentials=[{"id": "age", "schemaId": story.issuer.schema_id, "claims": [claim]}])
        assert asked.said["dcql_query"]["credentials"][0]["claims"] == [claim]
        answer = story.present(asked, story.build_presentation(asked, *path))
        assert story.result(asked.id).json["state"] == ("presented" if answer.status == 200 else "pending")
        return (200, "") if answer.status == 200 else refusal(answer)

    minor = ["age_equal_or_over", "65"]
    for path, values in ((ADULT, [True]), (minor, [True, False]), (["given_name"], ["Eve", "Hana"]), (["age"], [24])):
        assert answered(path, values) == (200, "")
    for path, values in (
        (ADULT, [False]), (ADULT, ["true", 1]), (minor, [True]), (minor, [0]), (["given_name"], ["hana", "Hana "]),
        (["age"], ["24"]), (["age"], [True, 23]),
    ):  # fmt: skip
        assert answered(path, values) == (400, "invalid_request")


PARTS = {"adult": ADULT, "name": ["given_name"], "years": ["age"]}
CHOICE = [{"options": [["adult"], ["name", "years"]]}, {"options": [["name"]], "required": False}]


@pytest.mark.parametrize(
    ("shown", "is_enough"),
    [
        ("adult", True), ("name years", True), ("adult name", True), ("adult name years", True),
        ("", False), ("name", False), ("years", False), ("adult years", False), ("adult other", False),
    ],
)  # fmt: skip
def test_one_option_of_each_set_that_is_required_is_enough(story: Story, shown: str, is_enough: bool) -> None:
    schema = story.issuer.schema_id
    credentials = [{"id": name, "schemaId": schema, "claims": [{"path": path}]} for name, path in PARTS.items()]
    asked = story.ask_for(credentials=credentials, credentialSets=CHOICE)
    said = asked.said["dcql_query"]
    assert [one["id"] for one in said["credentials"]] == [*PARTS]
    assert said["credential_sets"] == [CHOICE[0] | {"required": True}, CHOICE[1]]
    names = shown.split()
    token = {name: [bound(story.credential, story.wallet, asked, PARTS.get(name, ADULT))] for name in reversed(names)}
    answer = story.present(asked, token)
    found = story.result(asked.id).json
    if is_enough:
        assert (answer.status, found["state"]) == (200, "presented")
        assert [one["id"] for one in found["credentials"]] == names
    else:
        assert (refusal(answer), found["state"]) == ((400, "invalid_request"), "pending")


def test_each_credential_of_an_option_is_what_was_asked_for(story: Story) -> None:
    credentials = [
        {"id": name, "schemaId": story.issuer.schema_id, "claims": [{"path": path}]} for name, path in PARTS.items()
    ]
    asked = story.ask_for(credentials=credentials, credentialSets=CHOICE)
    shown = {name: [bound(story.credential, story.wallet, asked, ADULT)] for name in ("name", "years")}
    assert refusal(story.present(asked, shown)) == (400, "invalid_request")
    # Without sets all of them are wanted.
    everything = story.ask_for(credentials=credentials)
    assert "credential_sets" not in everything.said["dcql_query"]
    one = {"adult": [bound(story.credential, story.wallet, everything, ADULT)]}
    assert refusal(story.present(everything, one)) == (400, "invalid_request")


def choosing(*sets: Any) -> dict[str, Any]:
    return {"credentials": [{"id": "a", "schemaId": "x"}, {"id": "b", "schemaId": "y"}], "credentialSets": [*sets]}


def valued(*values: Any) -> dict[str, Any]:
    return {"credentials": [{"id": "a", "schemaId": "x", "claims": [{"path": ["age"], "values": [*values]}]}]}


def wanting(claims: Any, sets: Any) -> dict[str, Any]:
    return {"credentials": [{"id": "a", "schemaId": "x", "claims": claims, "claimSets": sets}]}


AGE: dict[str, Any] = {"id": "age", "path": ["age"]}
WISHES: dict[str, dict[str, Any]] = {
    "a set of a claim that there is not": wanting([AGE], [["age"], ["name"]]),
    "sets without claims": {"credentials": [{"id": "a", "schemaId": "x", "claimSets": [["age"]]}]},
    "a claim without a name beside sets": wanting([AGE, {"path": ["name"]}], [["age"]]),
    "two claims of one name": wanting([AGE, AGE | {"path": ["name"]}], [["age"]]),
    "no set": wanting([AGE], []),
    "an empty set": wanting([AGE], [[]]),
    "a claim whose name is none": wanting([AGE | {"id": "a b"}], [["a b"]]),
    "two of one id": {"credentials": [{"id": "a", "schemaId": "x"}, {"id": "a", "schemaId": "y"}]},
    "none": {"credentials": []},
    "an id that is not a name": {"credentials": [{"id": "a b", "schemaId": "x"}]},
    "an empty path": {"credentials": [{"id": "a", "schemaId": "x", "claims": [{"path": []}]}]},
    "no value": valued(),
    "a value that is a number with a fraction": valued(1.5),
    "a value that is null": valued(None),
    "a value that is a list": valued(["x"]),
    "more values than may be": valued(*range(33)),
    "no set of credentials": choosing(),
    "a set of no options": choosing({"options": []}),
    "an option of nothing": choosing({"options": [[]]}),
    "an option of a credential that there is not": choosing({"options": [["a"], ["b", "c"]]}),
    "a credential that is in no set": choosing({"options": [["a"]]}),
    "sets of which none is required": choosing({"options": [["a"], ["b"]], "required": False}),
    "a set that is perhaps required": choosing({"options": [["a"], ["b"]], "required": "maybe"}),
    "a set with a purpose": choosing({"options": [["a"], ["b"]], "purpose": "wine"}),
    "a query of its own": {"dcql_query": {}},
    "a place without TLS": {"redirectUri": "http://shop.example/"},
    "a place that is a program": {"redirectUri": "javascript:alert(1)"},
    "a place with a fragment": {"redirectUri": "https://shop.example/#x"},
    "a place with a name": {"redirectUri": "https://vera@shop.example/"},
    "a place in two lines": {"redirectUri": "https://shop.example/\r\nx"},
    "no place": {"redirectUri": "https://"},
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES.keys())
def test_a_request_that_no_wallet_could_answer_is_refused(story: Story, wish: dict[str, Any]) -> None:
    assert story.ask(**wish).outcome == (400, "INVALID_REQUEST")


def test_each_redirect_has_a_fresh_response_code(story: Story) -> None:
    """OpenID4VP 1.0 §8.2: without it, who has the link of a request could have another person answer it, and read the page."""
    codes = []
    for _ in range(2):
        asked = story.ask_for(redirectUri="https://shop.example/done")
        assert "responseCode" not in story.result(asked.id).json
        answer = story.present(asked, story.build_presentation(asked)).json
        code = story.result(asked.id).json["responseCode"]
        assert answer == {"redirect_uri": f"https://shop.example/done?response_code={code}"}
        codes.append(code)
    assert len({*codes}) == 2
    assert all(len(code) == 32 for code in codes)


def test_nothing_that_was_asked_or_presented_is_in_the_database(story: Story) -> None:
    asked = story.ask_for(redirectUri="https://shop.example/secret-place")
    shown = story.build_presentation(asked)
    assert story.present(asked, shown).status == 200
    found = b"".join(path.read_bytes() for path in story.issuer.target.data_dir.rglob("*") if path.is_file())
    for text in (asked.id, asked.said["nonce"], "secret-place", shown["age"][0]):
        assert text.encode() not in found
