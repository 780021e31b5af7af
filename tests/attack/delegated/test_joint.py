"""Several credentials in one proof: of one holder, by name, and never more than holder and verifier said (PROTOCOL-2.md §4, §5)."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.attack.delegated.scene import People, Scene, canonical, envelope_of
from tests.attack.stranger import PREFIX, Answer, Holder

SHOP = "https://shop.example/accounts"
MISMATCH = (403, "SCOPE_MISMATCH")
ORIGIN = "https://shop.example"
ALL = ["zkp.prove.*.*", "zkp.prove.*.same", "zkp.credential", "zkp.pseudonym"]
ADULT = {"attributeName": "age", "type": "gte", "value": 18}
OLD = {"attributeName": "age", "type": "gte", "value": 90}
RICH = {"attributeName": "income", "type": "gte", "value": 1_000}
COUNTRY = [[{"credential": 0, "attributeName": "country"}, {"credential": 1, "attributeName": "country"}]]
INCOME = [[{"credential": 0, "attributeName": "income"}, {"credential": 1, "attributeName": "income"}]]

Json = dict[str, Any]


def pin(value: str) -> str:
    return "h" + base64.urlsafe_b64encode(hashlib.sha256(canonical(value)).digest()[:16]).rstrip(b"=").decode()


def actions(asked: Json) -> list[str]:
    """What a holder signs for a question, each action with its pin but those of predicates."""
    found: list[str] = []
    for number, part in enumerate(asked["credentials"]):
        found.append(f"zkp.credential.{pin(part['credentialId'])}")
        found += [f"zkp.prove.{one['attributeName']}.{one['type']}" for one in part.get("predicates", [])]
        for place, together in enumerate(asked.get("same", [])):
            found += [
                f"zkp.prove.{one['attributeName']}.same.{place}" for one in together if one["credential"] == number
            ]
    return found + ([f"zkp.pseudonym.{pin(asked['pseudonym'])}"] if "pseudonym" in asked else [])


@dataclass
class Joint:
    """Two bound credentials of Hana's, alike but for the income, and a delegation that names everything."""

    scene: Scene
    first: str
    second: str

    @classmethod
    def create(cls, people: People, **terms: Any) -> Joint:
        scene = Scene.create(people, **({"actions": ALL} | terms))
        return cls(scene, *(people.issue(people.hana, suite=2, income=income) for income in (5_000, 6_000)))

    def build_request(self, *predicates: list[Json], **more: Any) -> Json:
        ids = (self.first, self.second)
        parts = [{"credentialId": one, "predicates": each} for one, each in zip(ids, predicates, strict=False)]
        return {"credentials": parts, **more}

    def ask(self, asked: Json, action: str | None = None, **more: Any) -> Answer:
        token = self.scene.token(action=" ".join(actions(asked)) if action is None else action)
        body = self.scene.body(ibct=token, **asked, **more)
        del body["predicate"], body["credentialId"]
        return self.scene.ask(body)

    def expected(self, asked: Json) -> Json:
        """The same question as a verifier puts it."""
        people = self.scene.people
        named = {"issuerDid": people.ivo.did, "schemaId": people.schema_id}
        return {**asked, "credentials": [named | {"predicates": one["predicates"]} for one in asked["credentials"]]}

    def verify(self, proof: Json, **expected: Any) -> Json:
        body = {"proof": proof["proof"]} | expected
        verdict: Json = self.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", body).json
        return verdict


@pytest.fixture
def joint(people: People) -> Joint:
    return Joint.create(people)


@pytest.fixture
def everything(joint: Joint) -> tuple[Json, Json]:
    """A question of every kind, and a proof of it."""
    asked = joint.build_request([ADULT, OLD], [RICH], same=COUNTRY, either=[[1, 2]], pseudonym=SHOP)
    made = joint.ask(asked)
    assert made.status == 201, made.body
    return asked, made.json["proof"]


def test_one_proof_says_all_of_it_to_who_asked(joint: Joint, everything: tuple[Json, Json]) -> None:
    asked, proof = everything
    demanded = {"requires": ["holder", "credentialValidity", "credentialStatus"], "statusMaxAge": 0}
    verdict = joint.verify(proof, **joint.expected(asked), **demanded)
    assert verdict["verified"], verdict["checks"]
    assert {"predicate", "issuerDid", "schemaId", "holder"}.isdisjoint(verdict["unchecked"])
    said = verdict["question"]
    assert [len(one["predicates"]) for one in said["credentials"]] == [2, 1]
    assert (said["same"], said["either"], said["pseudonym"]) == (COUNTRY, [[1, 2]], SHOP)
    # No list of predicates says what is only one of two.
    assert (verdict["predicate"], verdict["predicates"]) == (None, [])
    record = joint.scene.people.operate("GET", f"/zkp/proofs/{proof['proofId']}")
    assert (record["predicate"], record["predicates"]) == (None, [])
    assert [one["credentialId"] for one in record["question"]["credentials"]] == [joint.first, joint.second]
    assert record["question"]["same"] == COUNTRY


def test_nobody_takes_it_for_what_he_did_not_ask(joint: Joint, everything: tuple[Json, Json]) -> None:
    asked, proof = everything
    for unaware in (
        {},
        {"predicates": [ADULT, OLD]},
        {"predicates": [ADULT]},
        {"issuerDid": joint.scene.people.ivo.did},
    ):
        verdict = joint.verify(proof, **unaware)
        assert (verdict["verified"], verdict["errors"], verdict["question"]) == (False, ["PROOF_INVALID"], None)
    expected = joint.expected(asked)
    for change in (
        {"same": []},
        {"same": INCOME},
        {"either": []},
        {"either": [[0, 2]]},
        {"pseudonym": SHOP + "/"},
        {"credentials": expected["credentials"][:1]},
        {"credentials": expected["credentials"][::-1]},
        {"credentials": [*expected["credentials"], expected["credentials"][0]]},
        {"credentials": [expected["credentials"][0] | {"predicates": [ADULT]}, expected["credentials"][1]]},
        {
            "credentials": [
                expected["credentials"][0],
                expected["credentials"][1] | {"issuerDid": joint.scene.holder.did},
            ]
        },
        {
            "credentials": [
                expected["credentials"][0],
                expected["credentials"][1] | {"schemaId": "https://other.example"},
            ]
        },
    ):
        verdict = joint.verify(proof, **expected | change)
        assert not verdict["verified"], change
        assert set(verdict["errors"]) <= {"PREDICATE_MISMATCH", "ISSUER_MISMATCH", "SCHEMA_MISMATCH"}, verdict["errors"]
    without = {name: value for name, value in expected.items() if name != "pseudonym"}
    assert joint.verify(proof, **without)["errors"] == ["PREDICATE_MISMATCH"]


@pytest.mark.parametrize("missing", range(3))
def test_every_kind_is_granted_by_its_name(people: People, missing: int) -> None:
    grants = ["zkp.prove.*.same", "zkp.credential", "zkp.pseudonym"]
    del grants[missing]
    narrow = Joint.create(people, actions=["zkp.prove.*.*", *grants])
    asked = narrow.build_request([ADULT], [], same=COUNTRY, pseudonym=SHOP)
    assert narrow.ask(asked).outcome == MISMATCH
    assert narrow.scene.uses == 0


def test_token_names_each_credential_and_all_that_is_asked_of_it(joint: Joint) -> None:
    asked = joint.build_request([ADULT], [RICH], same=COUNTRY, pseudonym=SHOP)
    right, uses = actions(asked), joint.scene.uses
    swapped = [f"zkp.credential.{pin(joint.second)}" if one == right[0] else one for one in right]
    plain = [one for one in right if ".prove." in one and ".same" not in one]
    for action in (
        right[:-1],
        right[1:],
        plain,
        right[::-1],
        swapped,
        [*right, right[-1]],
        [one for one in right if ".same" not in one],
        [one.replace(".same.0", ".same.1") for one in right],
        [one.replace("country", "income") for one in right],
        [*right[:-1], f"zkp.pseudonym.{pin(SHOP + '/')}"],
        [*right[:-1], f"zkp.prove.pseudonym.{pin(SHOP)}"],
        [one.replace("zkp.credential", "zkp.prove.credential") for one in right],
    ):
        assert joint.ask(asked, " ".join(action)).outcome == MISMATCH, action
    # A token for predicates of one credential shows no second one beside it.
    assert joint.ask(joint.build_request([ADULT], []), "zkp.prove.age.gte").outcome == MISMATCH
    assert joint.scene.uses == uses


def test_the_delegation_covers_each_credential(people: People, joint: Joint) -> None:
    asked = joint.build_request([ADULT], [])
    for terms in ({"credentialIds": [joint.first]}, {"schemaIds": ["https://schemas.example/other"]}):
        narrow = Joint(Scene.create(people, actions=ALL, **terms), joint.first, joint.second)
        assert narrow.ask(asked).outcome == MISMATCH
    pinned = ["zkp.prove.*.*", f"zkp.credential.{pin(joint.first)}"]
    assert Joint(Scene.create(people, actions=pinned), joint.first, joint.second).ask(asked).outcome == MISMATCH


def test_the_credentials_are_all_the_holders_and_all_in_force(people: People, joint: Joint) -> None:
    foreign = Joint(joint.scene, joint.first, people.issue(people.mallory, suite=2))
    assert foreign.ask(foreign.build_request([ADULT], [])).outcome == (404, "CREDENTIAL_NOT_FOUND")
    ended = Joint(joint.scene, joint.first, people.issue(people.hana, suite=2))
    people.operate("POST", f"/credentials/{ended.second}/status", {"purpose": "suspension", "value": True})
    assert ended.ask(ended.build_request([ADULT], [])).outcome == (410, "CREDENTIAL_REVOKED")
    bare = Joint(joint.scene, joint.first, people.issue(people.hana, suite=1))
    assert bare.ask(bare.build_request([ADULT], [])).outcome == (422, "PREDICATE_UNSUPPORTED")
    twice = Joint(joint.scene, joint.first, joint.first)
    assert twice.ask(twice.build_request([ADULT], [])).outcome == (400, "INVALID_REQUEST")


def test_inconsistent_statement_is_not_proved(joint: Joint) -> None:
    refused = (422, "PREDICATE_NOT_SATISFIED")
    assert joint.ask(joint.build_request([ADULT], [], same=INCOME)).outcome == refused
    assert joint.ask(joint.build_request([OLD], [RICH | {"value": 10**6}], either=[[0, 1]])).outcome == refused
    assert joint.ask(joint.build_request([ADULT], [OLD])).outcome == refused
    # Too large to be proved at all is said before it is a use.
    uses = joint.scene.uses
    wide = [{"attributeName": "income", "type": "gte", "value": 1 - 2**53 + n} for n in range(8)]
    groups = [[n, n + 1] for n in range(0, 16, 2)]
    assert joint.ask(joint.build_request(wide, wide, either=groups)).outcome == (422, "PREDICATE_UNSUPPORTED")
    assert joint.scene.uses == uses


def test_a_revoked_second_credential_makes_the_kept_proof_wrong(people: People) -> None:
    own = Joint.create(people)
    proof = own.ask(own.build_request([ADULT], [RICH])).json["proof"]
    kept = f"/zkp/proofs/{proof['proofId']}/verify"
    expected = own.expected(own.build_request([ADULT], [RICH]))
    assert people.operate("POST", kept, expected)["verified"]
    people.operate("POST", f"/credentials/{own.second}/status", {"purpose": "revocation", "value": True})
    assert people.operate("POST", kept, expected)["errors"] == ["CREDENTIAL_REVOKED"]


@pytest.mark.parametrize(
    ("domain", "context", "status"),
    [
        (ORIGIN, ORIGIN, 201),
        (ORIGIN + "/login?next=1", ORIGIN, 201),
        ("HTTPS://Shop.Example/", "https://shop.example", 201),
        ("did:web:shop.example", "did:web:shop.example", 201),
        ("https://bank.example", ORIGIN, 403),
        (ORIGIN + ".evil.example", ORIGIN, 403),
        (ORIGIN, ORIGIN + "/accounts", 403),
        ("did:web:bank.example", ORIGIN, 403),
        (None, ORIGIN, 403),
    ],
)
def test_a_verifier_has_no_pseudonym_of_another(joint: Joint, domain: str | None, context: str, status: int) -> None:
    """Unless the holder's token pins the context, it is the origin of the verifier that the proof is for."""
    asked = joint.build_request([ADULT], pseudonym=context)
    *named, _ = actions(asked)
    bound = {} if domain is None else {"domain": domain}
    answer = joint.ask(asked, " ".join([*named, "zkp.pseudonym"]), **bound)
    assert answer.status == status, answer.json
    if status == 403:
        assert answer.json["error"]["code"] == "SCOPE_MISMATCH"
        assert "zkp.pseudonym" in answer.json["error"]["details"]["remedy"]
    assert joint.ask(asked, **bound).status == 201, "the holder says so"


def test_one_holder_has_one_pseudonym_in_a_context(people: People, joint: Joint) -> None:
    def pseudonym(own: Joint, context: str) -> str:
        asked = own.build_request([], pseudonym=context)
        asked["credentials"] = asked["credentials"][:1]
        made = own.ask(asked)
        # Without any predicate the members beside the proof are empty, and compared.
        beside = {name: made.json["proof"][name] for name in ("publicSignals", "predicateType", "proofId")}
        verdict = own.verify(made.json["proof"], **own.expected(asked), **beside)
        assert verdict["verified"], verdict["checks"]
        return str(verdict["question"]["pseudonymValue"])

    first = pseudonym(joint, SHOP)
    second = pseudonym(Joint(joint.scene, joint.second, joint.first), SHOP)
    assert first == second
    assert pseudonym(joint, SHOP + "/other") != first
    eve: Holder = people.target.stranger.holder()
    hers = people.issue(eve, suite=2)
    assert pseudonym(Joint(Scene.create(people, holder=eve, actions=ALL), hers, hers), SHOP) != first


def test_comparison_chosen_by_agent_is_counted(people: People) -> None:
    few = Joint.create(people, maxThresholds=1)
    asked = few.build_request([], [], same=COUNTRY)
    unpinned = " ".join(one.removesuffix(".0") for one in actions(asked))
    assert few.ask(asked, unpinned).outcome == (403, "DISCLOSURE_LIMIT")
    # What the holder signed with its number is her own question.
    assert few.ask(asked).status == 201


@pytest.mark.parametrize("granted", [["zkp.prove.country.same.0", "zkp.credential"], ALL], ids=["grant", "token"])
def test_number_of_a_comparison_fixes_no_value(people: People, granted: list[str]) -> None:
    """Any issuer gives her credentials with guesses, and the agent chooses which of them is compared with hers."""
    few = Joint.create(people, actions=granted, maxThresholds=1)
    asked = few.build_request([], [], same=COUNTRY)
    chosen = " ".join("zkp.credential" if one.startswith("zkp.credential") else one for one in actions(asked))
    assert few.ask(asked, chosen).outcome == (403, "DISCLOSURE_LIMIT")


def test_an_attribute_that_may_not_be_asked_for_is_not_compared(people: People, joint: Joint) -> None:
    """Mallory issues Hana a credential with a guess, and asks whether her income is the same: an ``eq`` that the schema does not allow."""
    schema_id = f"{people.schema_id}/narrow"
    narrow = [{"name": "income", "type": "integer", "proofTypes": ["gte"]}, {"name": "country", "type": "string"}]
    people.operate("POST", "/credential-schemas", {"id": schema_id, "attributes": narrow})
    claims = {"issuerDid": people.ivo.did, "holderDid": people.hana.did, "schemaId": schema_id, "suite": 2}
    held = people.operate("POST", "/credentials", claims | {"attributes": {"income": 5_000, "country": "Wakanda"}})[
        "id"
    ]
    guess = Joint(joint.scene, joint.first, held)
    uses = guess.scene.uses
    assert guess.ask(guess.build_request([], [], same=INCOME)).outcome == (422, "PREDICATE_UNSUPPORTED")
    assert guess.scene.uses == uses
    assert guess.ask(guess.build_request([], [], same=COUNTRY)).status == 201


@pytest.mark.parametrize(
    "change",
    [
        {"predicate": ADULT},
        {"predicates": [ADULT]},
        {"issuerDid": "did:ids:ivo"},
        {"schemaId": "https://schemas.example/other"},
        {"credentials": []},
        {"credentials": [{"issuerDid": "did:ids:ivo"}]},
        {"same": [[{"credential": 0, "attributeName": "age"}]]},
        {"same": [[{"credential": 4, "attributeName": "age"}, {"credential": 5, "attributeName": "age"}]]},
        {"either": [[0, 1.5]]},
        {"either": [[0, -1]]},
        {"pseudonym": ""},
    ],
)
def test_a_verifier_says_one_thing(joint: Joint, change: Json) -> None:
    expected = joint.expected(joint.build_request([ADULT], [])) | change
    answer = joint.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", {"proof": "e30"} | expected)
    assert answer.outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("member", [{"same": COUNTRY}, {"either": [[0, 1]]}, {"pseudonym": SHOP}])
def test_equalities_are_listed_beside_credentials(joint: Joint, member: Json) -> None:
    answer = joint.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", {"proof": "e30"} | member)
    assert answer.outcome == (400, "INVALID_REQUEST")
    assert joint.scene.ask(joint.scene.body(**member)).outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "change",
    [
        {"same": [COUNTRY[0][::-1]]},
        {"same": [*COUNTRY, *COUNTRY]},
        {"same": [*INCOME, *COUNTRY]},
        {"same": [[COUNTRY[0][0], {"credential": 3, "attributeName": "country"}]]},
        {"either": [[1, 0]]},
        {"either": [[0, 0]]},
        {"either": [[0, 2]]},
        {"pseudonym": "a\nb"},
        {"predicates": [ADULT]},
        {"credentialId": "urn:uuid:1"},
    ],
)
def test_a_question_has_one_form(joint: Joint, change: Json) -> None:
    asked = joint.build_request([ADULT], [ADULT])
    token = joint.scene.token(action=" ".join(actions(asked)))
    body = joint.scene.body(ibct=token, **asked)
    del body["predicate"], body["credentialId"]
    assert joint.scene.ask(body | change).outcome == (400, "INVALID_REQUEST")
    # It was refused before it could spend the token.
    assert joint.scene.ask(body).status == 201


def test_a_predicate_is_a_question_of_each_credential(people: People) -> None:
    """Else three thresholds of a delegation would be three for every credential that it covers, of a holder who has many."""
    joint = Joint.create(people, maxThresholds=3)
    richer = RICH | {"value": 2_000}
    for asked, outcome, thresholds in (
        (([RICH], [RICH]), 201, 2),
        (([richer], [richer]), 403, 2),
        (([RICH], [RICH]), 201, 2),
        (([richer], [RICH]), 201, 3),
        (([RICH], [richer]), 403, 3),
        (([richer], []), 201, 3),
    ):
        answer = joint.ask(joint.build_request(*asked))
        assert (answer.status, joint.scene.delegation()["thresholds"]) == (outcome, thresholds), answer.body
        assert outcome == 201 or answer.json["error"]["code"] == "DISCLOSURE_LIMIT"


def glued(*proofs: Json) -> list[Json]:
    """Envelopes of the first with a part of the second: its credential, its list, its half of the consent, one after the other."""
    own, other = map(envelope_of, proofs)
    made = []
    for members in (["parts"], ["parts", "status"]):
        envelope = copy.deepcopy(own)
        for member in members:
            envelope[member][1] = other[member][1]
        made.append(envelope)
    mixed = copy.deepcopy(made[-1])
    data, theirs = (base64.urlsafe_b64decode(one["consent"]["value"] + "==") for one in (own, other))
    both = data[:48] + theirs[48:96] + data[96:160] + theirs[160:192] + data[192:]
    mixed["consent"]["value"] = base64.urlsafe_b64encode(both).rstrip(b"=").decode()
    return [*made, mixed]


def test_two_holders_credentials_put_together_are_no_proof(people: People, joint: Joint) -> None:
    """The adversary has a good proof of two of Hana's credentials and one of two of Mallory's, for one verifier and challenge."""
    mallory = Scene.create(people, holder=people.mallory, actions=ALL)
    theirs = Joint(mallory, *(people.issue(people.mallory, suite=2) for _ in range(2)))
    same = {"challenge": "0123456789abcdef", "domain": SHOP}
    asked = joint.build_request([ADULT], [ADULT])
    proofs = [
        joint.ask(asked, **same).json["proof"],
        theirs.ask(theirs.build_request([ADULT], [ADULT]), **same).json["proof"],
    ]
    expected = joint.expected(asked) | same
    assert all(joint.verify(proof, **expected)["verified"] for proof in proofs)
    for pair in (proofs, proofs[::-1]):
        for envelope in glued(*pair):
            text = base64.urlsafe_b64encode(json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode())
            verdict = joint.verify({"proof": text.rstrip(b"=").decode()}, **expected)
            assert (verdict["verified"], verdict["errors"]) == (False, ["PROOF_INVALID"])


def test_listed_statements_are_those_proven(joint: Joint, everything: tuple[Json, Json]) -> None:
    """A question that was widened, narrowed or split in the envelope itself."""
    asked, proof = everything
    for change in (
        {"same": []},
        {"same": [[[0, "country"], [1, "country"]], [[0, "income"], [1, "income"]]]},
        {"either": []},
        {"either": [[0, 1, 2]]},
        {"pseudonym": SHOP + "/"},
        {"pseudonym": None},
        {"holder": "none"},
        {"holder": "plain"},
    ):
        envelope = envelope_of(proof)
        envelope["question"] |= change
        text = base64.urlsafe_b64encode(json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode())
        expected = joint.expected(asked)
        if "either" in change or "pseudonym" in change:
            expected |= change
        if change.get("same") == []:
            expected |= change
        expected = {name: value for name, value in expected.items() if value is not None}
        verdict = joint.verify({"proof": text.rstrip(b"=").decode()}, **expected)
        assert "PROOF_INVALID" in verdict["errors"], change
