"""Proofs with credentials whose secret the holder's wallet keeps: none without its consent to just this, and none that costs a use
without being one (PROTOCOL-2.md §5.1). Messages of consents are written down apart from the service."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from identity_commands.wallet import make_key

from identity_codec.multibase import base64url_encode
from identity_core.domain.credentials import credential_schema
from identity_core.domain.dids.keys import Key
from tests import servers
from tests.attack.delegated.scene import ATTRIBUTES, VALUES, People, Scene, canonical, envelope_of
from tests.attack.delegated.test_joint import ADULT, ALL, RICH, actions
from tests.attack.stranger import PREFIX, Answer
from tests.wallets import HomeCredential, HomeWallet

SHOP = "https://shop.example"
CONTEXT = "https://shop.example/accounts"
HOUR = 3_600
REFUSED = (422, "PREDICATE_UNSUPPORTED")

Json = dict[str, Any]


def frame(tag: bytes, *fields: bytes) -> bytes:
    """PROTOCOL-2.md §1.1."""
    parts = [tag, *fields]
    lengths = [len(part).to_bytes(8, "big") for part in parts]
    return lengths[0] + tag + len(fields).to_bytes(8, "big") + b"".join(map(bytes.__add__, lengths[1:], fields))


@dataclass
class AtHome:
    """Two credentials of Hana's on her wallet's secret, and a delegation to Aki."""

    scene: Scene
    wallet: HomeWallet
    held: list[HomeCredential]
    challenge: str = field(default_factory=lambda: hashlib.sha256(str(time.perf_counter_ns()).encode()).hexdigest())

    @classmethod
    def create(cls, people: People) -> AtHome:
        scene, wallet = Scene.create(people, actions=ALL), HomeWallet()
        return cls(scene, wallet, [cls.obtained(people, wallet) for _ in range(2)])

    @staticmethod
    def obtained(people: People, wallet: HomeWallet) -> HomeCredential:
        key = people.ivo.created["keys"]["assertionMethod"]
        own = Key("Bls12381G2Key2020", key["publicKey"], secret=key["privateKey"])
        definition = credential_schema.read(people.schema_id, ATTRIBUTES)
        home = wallet.obtain(own, key["keyId"], people.hana.did, definition, VALUES)
        people.operate("POST", "/credentials/import", home.body | {"newHolderSecret": True})
        return home

    def build_request(self, *predicates: list[Json], **more: Any) -> Json:
        parts = [
            {"credentialId": one.particulars.id, "predicates": each}
            for one, each in zip(self.held, predicates, strict=False)
        ]
        return {"credentials": parts, **more}

    def question(self, asked: Json, **changed: Any) -> Json:
        """Equation (4.1)."""
        credentials = [
            {
                "header": base64url_encode(hashlib.sha256(one.header.encoded).digest()),
                "issuer": one.header.method,
                "predicates": part["predicates"],
            }
            for one, part in zip(self.held, asked["credentials"], strict=False)
        ]
        both = {"holder": "consent", "pseudonym": asked.get("pseudonym"), "status": True, "validity": True}
        return {"credentials": credentials, "either": [], "same": [], **both} | changed

    def agreed(self, asked: Json, *, wallet: HomeWallet | None = None, **changed: Any) -> Json:
        """The wallet's holderConsent; ``changed``: what it is about instead."""
        now = int(time.time())
        begin = changed.get("notBefore", now - now % HOUR)
        end = changed.get("notAfter", now - now % HOUR + 2 * HOUR)
        question = changed.get("question", self.question(asked))
        fields = [
            b"identity-bbs-predicates-2",
            changed.get("cover", 7).to_bytes(8, "big"),
            changed.get("audience", SHOP).encode(),
            changed.get("challenge", self.challenge).encode(),
            hashlib.sha256(canonical(question)).digest(),
            changed.get("agent_key", b""),
            b"",
            begin.to_bytes(8, "big"),
            end.to_bytes(8, "big"),
        ]
        message = frame(b"IDENTITY-SERVICE-ZKPRED-V2:consent-message", *fields)
        held = changed.get("held", self.held[: len(asked["credentials"])])
        consent = (wallet or self.wallet).agree(held, message, asked.get("pseudonym"))
        return {
            "notBefore": begin,
            "notAfter": end,
            "value": base64url_encode(consent.encoded),
            "blindDifferences": [base64url_encode(rho.to_bytes(32, "big")) for rho in consent.rhos],
        }

    def body(self, asked: Json, **more: Any) -> Json:
        token = self.scene.token(action=" ".join(actions(asked)))
        body = self.scene.body(ibct=token, **asked) | {"domain": SHOP, "challenge": self.challenge} | more
        del body["predicate"], body["credentialId"]
        return body

    def ask(self, asked: Json, **more: Any) -> Answer:
        return self.scene.ask(self.body(asked, **more))


@pytest.fixture(scope="module")
def wallet_home(peoples: Callable[..., People], targets: Callable[[int], Any]) -> AtHome:
    return AtHome.create(peoples(targets(1)))


@pytest.fixture
def home(wallet_home: AtHome) -> AtHome:
    """Another challenge for each test."""
    return AtHome(wallet_home.scene, wallet_home.wallet, wallet_home.held)


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["error"]["code"]


def test_the_agent_asks_the_wallet_consents_the_service_proves(home: AtHome) -> None:
    asked = home.build_request([ADULT], [RICH], pseudonym=CONTEXT)
    consent = home.agreed(asked)
    answer = home.ask(asked, holderConsent=consent)
    assert answer.status == 201, answer.body
    proof = answer.json["proof"]
    named = {"issuerDid": home.scene.people.ivo.did, "schemaId": home.scene.people.schema_id}
    expected = {
        "credentials": [named | {"predicates": part["predicates"]} for part in asked["credentials"]],
        "pseudonym": CONTEXT,
        "domain": SHOP,
        "challenge": home.challenge,
        "requires": ["holder", "credentialValidity", "credentialStatus"],
    }
    verdict = home.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", {"proof": proof["proof"]} | expected)
    assert verdict.json["verified"], verdict.json["checks"]
    envelope = envelope_of(proof)
    assert envelope["consent"]["value"] == consent["value"]
    assert envelope["context"]["expiresAt"] <= consent["notAfter"]
    assert not any(rho in json.dumps(envelope) for rho in consent["blindDifferences"])


def test_printed_consent_is_accepted_by_the_service(home: AtHome, tmp_path: Path) -> None:
    """Hana's file has what the service shows her, and her secret; the command agrees to Aki's request as it will be sent."""
    hana = home.scene.people.hana
    first = home.held[0]
    shown = home.scene.act(hana, "GET", f"/credentials/{first.particulars.id}", "read").json["credential"]
    kept = {
        "credential": shown,
        "blind": base64url_encode(first.blind.to_bytes(32, "big")),
        "issuerKey": home.scene.people.ivo.created["keys"]["assertionMethod"]["publicKey"],
    }
    secret = base64url_encode(home.wallet.secret.scalar.to_bytes(32, "big"))
    asked = home.build_request([ADULT])
    body = home.body(asked)
    files = {
        "keys": {"did": hana.did, "keys": {"authentication": make_key("Ed25519")}},
        "held": {"did": hana.did, "secret": secret, "requests": {}, "credentials": {shown["id"]: kept}},
        "request": body,
    }
    at = {name: tmp_path / name for name in files}
    for name, value in files.items():
        at[name].touch(0o600)
        at[name].write_text(json.dumps(value))
    words = ("--keys", at["keys"], "--held", at["held"], "--audience", SHOP, "--challenge", home.challenge)
    done = servers.run("proof", "consent", at["request"], *words, "--json")
    assert done.returncode == 0, done.stderr
    given = json.loads(done.stdout)
    # It covers the token that stood in the request: another one of Hana's for the very same does not do.
    assert code(home.ask(asked, **given)) == REFUSED
    answer = home.scene.ask(body | given)
    assert answer.status == 201, answer.body
    sent = {"proof": answer.json["proof"]["proof"], "domain": SHOP, "challenge": home.challenge, "requires": ["holder"]}
    verdict = home.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", sent)
    assert verdict.json["verified"], verdict.json["checks"]


def test_no_consent_no_proof_and_no_use(home: AtHome) -> None:
    """Whatever stands in for the wallet's own, the delegation has its uses afterwards, and nothing is kept."""
    asked, other = home.build_request([ADULT]), HomeWallet()
    uses, proofs = home.scene.uses, home.scene.proofs()
    right = home.agreed(asked)
    older = ADULT | {"value": 19}
    now = int(time.time()) // HOUR * HOUR
    wrong: dict[str, Json | None] = {
        "none": None,
        "another holder's": home.agreed(asked, wallet=other),
        "of another credential of the holder's": home.agreed(asked, held=home.held[1:]),
        "to another bound": home.agreed(asked, question=home.question({"credentials": [{"predicates": [older]}]})),
        "to no status": home.agreed(asked, question=home.question(asked, status=False)),
        "under a pseudonym": home.agreed(asked, question=home.question(asked, pseudonym=CONTEXT)),
        "for another verifier": home.agreed(asked, audience="https://bank.example"),
        "for another challenge": home.agreed(asked, challenge="another challenge of the shop"),
        "that was yesterday's": home.agreed(asked, notBefore=now - 30 * HOUR, notAfter=now - 24 * HOUR),
        "of tomorrow": home.agreed(asked, notBefore=now + 24 * HOUR, notAfter=now + 30 * HOUR),
        "with times of its own": home.agreed(asked, notBefore=now + 1),
        "longer than it was": right | {"notAfter": right["notAfter"] + HOUR},
        "with a cover that it has not": right | {"cover": 23},
        "without the audience": right | {"cover": 6},
        "of an agent's key": right | {"cover": 15},
        "edited": right | {"value": right["value"][:-2] + ("AA" if right["value"][-2:] != "AA" else "BB")},
        "with more behind it": right | {"value": right["value"] + "AAAA"},
        "with another difference": right | {"blindDifferences": [base64url_encode(bytes(31) + b"\x07")]},
        "with one too many": right | {"blindDifferences": right["blindDifferences"] * 2},
        "with no scalar": right | {"blindDifferences": [base64url_encode(b"\xff" * 32)]},
    }
    for name, consent in wrong.items():
        answer = home.ask(asked) if consent is None else home.ask(asked, holderConsent=consent)
        assert code(answer) == REFUSED, (name, answer.body)
    assert (home.scene.uses, home.scene.proofs()) == (uses, proofs)
    assert home.ask(asked, holderConsent=right).status == 201, "a wrong one spoils the right one"
    assert home.scene.uses == uses + 1


def test_a_consent_serves_no_other_request(home: AtHome) -> None:
    """Aki has one for [age >= 18], for this shop and challenge, and sends it with whatever else Hana's tokens let Aki ask."""
    asked = home.build_request([ADULT])
    consent = home.agreed(asked)
    spent = home.body(asked, holderConsent=consent)
    assert home.scene.ask(spent).status == 201
    assert home.scene.ask(spent).headers["idempotent-replayed"] == "true", "the same request has the same answer"
    uses = home.scene.uses
    swapped = {"credentials": [copy.deepcopy(asked["credentials"][0]) | {"credentialId": home.held[1].particulars.id}]}
    for again, more in (
        (asked, {"challenge": "another challenge of the shop"}),
        (asked, {"domain": "https://bank.example"}),
        (home.build_request([ADULT, RICH]), {}),
        (home.build_request([RICH]), {}),
        (home.build_request([ADULT], pseudonym=CONTEXT), {}),
        (home.build_request([ADULT], []), {}),
        (swapped, {}),
    ):
        assert code(home.ask(again, holderConsent=consent, **more)) == REFUSED, (again, more)
    assert home.scene.uses == uses


def test_secrets_of_wallet_and_custodian_are_not_glued(home: AtHome) -> None:
    """Hana's other credential is on the custodian's secret; and a wallet's consent is not a word in what the custodian keeps."""
    people = home.scene.people
    kept = people.issue(people.hana, suite=2)
    asked = home.build_request([ADULT])
    glued = {"credentials": [*asked["credentials"], {"credentialId": kept, "predicates": []}]}
    for consent in ({}, {"holderConsent": home.agreed(asked)}):
        assert code(home.ask(glued, **consent)) == REFUSED
    of_the_custodian = {"credentials": [{"credentialId": kept, "predicates": [ADULT]}]}
    assert code(home.ask(of_the_custodian, holderConsent=home.agreed(asked))) == REFUSED
    of_suite_1 = {"credentialId": people.issue(people.hana, suite=1), "predicates": [ADULT]}
    token = home.scene.token(action="zkp.prove.age.gte")
    body = home.scene.body(ibct=token, **of_suite_1, holderConsent=home.agreed(asked))
    del body["predicate"]
    assert code(home.scene.ask(body)) == REFUSED


def test_two_wallets_make_no_holder(home: AtHome) -> None:
    """Mallory's credential is another wallet's of the same DID: the service does not know, and neither wallet can consent for both."""
    thief = HomeWallet()
    other = AtHome.obtained(home.scene.people, thief)
    glued = AtHome(home.scene, home.wallet, [home.held[0], other])
    asked = glued.build_request([ADULT], [])
    for wallet in (home.wallet, thief):
        assert code(glued.ask(asked, holderConsent=glued.agreed(asked, wallet=wallet))) == REFUSED


@pytest.mark.parametrize(
    "consent",
    [
        b"null",
        b"[]",
        b'"x"',
        b"{}",
        *(
            b'{"notBefore":%s,REST}' % time_
            for time_ in (b"-3600", b"1.5", b'"3600"', b"true", b"1e400", b"253402300800")
        ),
        b'{"notBefore":0,"notBefore":3600,REST}',
        b'{"notBefore":0,"cover":"7",REST}',
        b'{"notBefore":0,"cover":32,REST}',
        b'{"notBefore":0,"agent":"x",REST}',
    ],
    ids=lambda data: data.decode(),
)
def test_a_consent_of_another_shape_is_none(home: AtHome, consent: bytes) -> None:
    asked = home.build_request([ADULT])
    rest = {name: value for name, value in home.agreed(asked).items() if name != "notBefore"}
    data = consent.replace(b"REST", json.dumps(rest)[1:-1].encode())
    sent = json.dumps(home.body(asked, holderConsent="HERE")).encode().replace(b'"HERE"', data)
    assert code(home.scene.ask(sent)) == (400, "INVALID_REQUEST")
