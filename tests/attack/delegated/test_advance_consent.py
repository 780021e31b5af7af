"""A consent that the holder gave in advance to an agent's key: it serves that key and that question, for as long as it lasts and its
delegation does (PROTOCOL-2.md §5.1, §5.4). The agent's signature is written down apart from the service."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from identity_commands.wallet import make_key

from identity_codec import ed25519, multikey
from identity_codec.multibase import base64url_decode, base64url_encode
from tests import servers
from tests.attack.delegated.scene import People, Scene, canonical, envelope_of
from tests.attack.delegated.test_joint import ADULT, ALL, RICH
from tests.attack.delegated.test_wallet_consent import REFUSED, SHOP, AtHome, code, frame
from tests.attack.stranger import PREFIX, Answer
from tests.wallets import HomeWallet

DAY = 86_400
BANK = "https://bank.example"
AGENT, OTHER = (ed25519.generate(bytes([number]) * 32) for number in (7, 8))

Json = dict[str, Any]


def multi(pair: ed25519.Ed25519KeyPair) -> str:
    return multikey.encode_public(multikey.ED25519, pair.public)


def signed(proof: str, pair: ed25519.Ed25519KeyPair) -> str:
    """PROTOCOL-2.md §5.4."""
    envelope = envelope_of({"proof": proof})
    envelope["agent"]["signature"] = None
    context = envelope["context"]
    nonce = base64url_decode(context["nonce"])
    digest = hashlib.sha256(canonical(envelope)).digest()
    tag = b"IDENTITY-SERVICE-ZKPRED-V2:agent"
    message = frame(tag, context["audience"].encode(), nonce, digest)
    envelope["agent"]["signature"] = base64url_encode(pair.sign(message))
    return base64url_encode(canonical(envelope))


@dataclass
class InAdvance:
    """Hana agreed to [age >= 18] for Aki's key, and went away."""

    home: AtHome

    def sign_consent(
        self, asked: Json, *, cover: int = 13, pair: ed25519.Ed25519KeyPair = AGENT, **changed: Any
    ) -> Json:
        """The wallet's holderConsent of today."""
        today = int(time.time()) // DAY * DAY
        times = {"notBefore": today, "notAfter": today + 2 * DAY}
        nothing = {} if cover & 2 else {"challenge": ""}
        nothing |= {} if cover & 1 else {"audience": ""}
        about = times | nothing | {"cover": cover, "agent_key": pair.public} | changed
        return self.home.agreed(asked, **about) | {"cover": cover, "agentKey": multi(pair)}

    def verdict(self, text: str, **expected: Any) -> Json:
        sent = {"proof": text, "domain": SHOP, "challenge": self.home.challenge, "requires": ["holder"]} | expected
        return self.home.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", sent).json

    def another_challenge(self) -> InAdvance:
        return InAdvance(AtHome(self.home.scene, self.home.wallet, self.home.held))


@pytest.fixture(scope="module")
def advance_home(peoples: Callable[..., People], targets: Callable[[int], Any]) -> AtHome:
    return AtHome.create(peoples(targets(1)))


@pytest.fixture
def advance(advance_home: AtHome) -> InAdvance:
    return InAdvance(advance_home).another_challenge()


def wrong(verdict: Json) -> dict[str, str]:
    return {one["check"]: one["code"] for one in verdict["checks"] if not one["ok"]}


def test_the_holder_agrees_once_and_the_agent_hands_over(advance: InAdvance) -> None:
    """One consent, two challenges; the verifier sees that the holder authorised this key for this question, and that it asks now."""
    asked = advance.home.build_request([ADULT])
    consent = advance.sign_consent(asked)
    shown = []
    for turn in (advance, advance.another_challenge()):
        answer = turn.home.ask(asked, holderConsent=consent)
        assert answer.status == 201, answer.body
        proof = answer.json["proof"]["proof"]
        assert envelope_of(answer.json["proof"])["agent"] == {"key": base64url_encode(AGENT.public), "signature": None}
        whole = {"agentKey": multi(AGENT), "consentCover": 13}
        verdict = turn.verdict(signed(proof, AGENT), **whole)
        assert verdict["verified"], verdict["checks"]
        assert "agentKey" not in verdict["unchecked"]
        assert "agentKey" in turn.verdict(signed(proof, AGENT), consentCover=12)["unchecked"]
        shown.append(envelope_of(answer.json["proof"])["consent"]["value"])
    assert shown[0] == shown[1], "a consent that is used twice is seen to be: the page says so"


def test_a_verifier_takes_no_consent_in_advance_unasked(advance: InAdvance) -> None:
    """Its proofs are of whichever challenge comes: who expects a consent to his own finds none."""
    proof = advance.home.ask(
        advance.home.build_request([ADULT]), holderConsent=advance.sign_consent(advance.home.build_request([ADULT]))
    )
    text = signed(proof.json["proof"]["proof"], AGENT)
    assert wrong(advance.verdict(text)) == {"proof": "PROOF_INVALID"}
    for cover in (7, 15, 28):
        found = wrong(advance.verdict(text, consentCover=cover, agentKey=multi(AGENT)))
        assert found == {"consentCover": "NOT_PROVEN"}, cover
    assert advance.verdict(text, consentCover=4)["verified"]


def test_only_the_agent_whom_the_holder_named_hands_it_over(advance: InAdvance) -> None:
    """The service, a thief of the proof and another agent have all of it but the key."""
    asked = advance.home.build_request([ADULT])
    answer = advance.home.ask(asked, holderConsent=advance.sign_consent(asked))
    proof, take = answer.json["proof"]["proof"], {"consentCover": 12}
    assert wrong(advance.verdict(proof, **take)) == {"proof": "AGENT_SIGNATURE_MISSING"}, "no agent signed it"
    assert wrong(advance.verdict(signed(proof, OTHER), **take)) == {"proof": "PROOF_INVALID"}
    envelope = envelope_of({"proof": proof})
    envelope["agent"]["key"] = base64url_encode(OTHER.public)
    renamed = signed(base64url_encode(canonical(envelope)), OTHER)
    assert wrong(advance.verdict(renamed, **take)) == {"proof": "PROOF_INVALID"}, "another key was put into it"
    envelope["agent"] = None
    stripped = base64url_encode(canonical(envelope))
    assert wrong(advance.verdict(stripped, **take)) == {"proof": "PROOF_INVALID"}, "it was changed to name no agent"
    whole = signed(proof, AGENT)
    assert wrong(advance.verdict(whole, **take, agentKey=multi(OTHER))) == {"agentKey": "AGENT_MISMATCH"}
    moved = envelope_of({"proof": whole})
    moved["context"]["audience"] = BANK
    elsewhere = base64url_encode(canonical(moved))
    assert "proof" in wrong(advance.verdict(elsewhere, **take, domain=BANK)), "it was shown to another verifier"
    at_another = wrong(advance.verdict(whole, **take, challenge="another challenge of the shop"))
    assert at_another == {"challenge": "CHALLENGE_MISMATCH"}
    assert advance.verdict(whole, **take)["verified"]


def test_a_consent_in_advance_serves_nothing_wider(advance: InAdvance) -> None:
    """Aki's token and delegation allow each of these; Hana's wallet agreed to none of them. No use is counted, nothing is kept."""
    home, asked = advance.home, advance.home.build_request([ADULT])
    consent, older = advance.sign_consent(asked), ADULT | {"value": 21}
    uses, proofs = home.scene.uses, home.scene.proofs()
    for again, more in (
        (home.build_request([older]), {}),
        (home.build_request([RICH]), {}),
        (home.build_request([ADULT, RICH]), {}),
        (home.build_request([ADULT], pseudonym=SHOP), {}),
        (home.build_request([ADULT], []), {}),
        (asked, {"domain": BANK}),
    ):
        assert code(home.ask(again, holderConsent=consent, **more)) == REFUSED, (again, more)
    today = int(time.time()) // DAY * DAY
    small_order = multikey.encode_public(multikey.ED25519, b"\x01" + bytes(31))
    bls = home.scene.people.ivo.created["keys"]["assertionMethod"]["publicKey"]
    cases: dict[str, Json] = {
        "of another key": consent | {"agentKey": multi(OTHER)},
        "of no key": {name: value for name, value in consent.items() if name != "agentKey"},
        "of a key that it does not cover": home.agreed(asked) | {"agentKey": multi(AGENT)},
        "of no Ed25519 key": consent | {"agentKey": bls},
        "of a key of small order": consent | {"agentKey": small_order},
        "of a text": consent | {"agentKey": "z"},
        "not about the question": consent | {"cover": 9},
        "about nothing else than the key": consent | {"cover": 8},
        "with a cover that it has not": consent | {"cover": 12},
        "that says it covers the challenge": consent | {"cover": 15},
        "another holder's": advance.sign_consent(asked, wallet=HomeWallet()),
        "of yesterday": advance.sign_consent(asked, notBefore=today - 2 * DAY, notAfter=today),
        "of tomorrow": advance.sign_consent(asked, notBefore=today + 2 * DAY, notAfter=today + 3 * DAY),
        "for three days": advance.sign_consent(asked, notAfter=today + 3 * DAY),
        "longer than it was": consent
        | {"notAfter": consent["notAfter"] + DAY, "notBefore": consent["notBefore"] + DAY},
        "with an hour of its own": advance.sign_consent(asked, notAfter=today + DAY + 3_600),
        "for another verifier": advance.sign_consent(asked, audience=BANK),
    }
    for name, one in cases.items():
        assert code(home.ask(asked, holderConsent=one)) == REFUSED, name
    assert (home.scene.uses, home.scene.proofs()) == (uses, proofs)
    anywhere = advance.sign_consent(asked, cover=12)
    assert home.ask(asked, holderConsent=anywhere, domain=BANK).status == 201, "it is for whichever verifier"


def test_same_request_gets_same_answer(advance: InAdvance) -> None:
    home, asked = advance.home, advance.home.build_request([ADULT])
    body = home.body(asked, holderConsent=advance.sign_consent(asked))
    first = home.scene.ask(body)
    assert first.status == 201
    uses = home.scene.uses
    assert home.scene.ask(body).json == first.json
    assert code(home.scene.ask(body | {"challenge": "another challenge of the shop"})) == (403, "IBCT_REPLAYED")
    assert home.scene.uses == uses


def test_a_delegation_that_is_revoked_ends_it(advance_home: AtHome) -> None:
    """The holder cannot take the consent back; the service that has the credential refuses all the same."""
    home = AtHome(Scene.create(advance_home.scene.people, actions=ALL), advance_home.wallet, advance_home.held)
    advance, asked = InAdvance(home), home.build_request([ADULT])
    consent = advance.sign_consent(asked)
    assert home.ask(asked, holderConsent=consent).status == 201
    home.scene.revoke()
    assert code(home.ask(asked, holderConsent=consent)) == (410, "DELEGATION_REVOKED")


def test_each_use_of_a_consent_is_one_of_the_delegation(advance_home: AtHome) -> None:
    """A consent in advance says nothing of how often; the delegation does, and refuses before anything is made with it."""
    home = AtHome(
        Scene.create(advance_home.scene.people, actions=ALL, maxUses=2), advance_home.wallet, advance_home.held
    )
    asked = home.build_request([ADULT])
    consent = InAdvance(home).sign_consent(asked)
    for used in (1, 2):
        assert home.ask(asked, holderConsent=consent).status == 201
        assert home.scene.uses == used
    kept = home.scene.proofs()
    assert code(home.ask(asked, holderConsent=consent))[1] == "DELEGATION_EXHAUSTED"
    assert (home.scene.uses, home.scene.proofs()) == (2, kept)


def test_stored_consent_is_found_by_signed_text(advance: InAdvance) -> None:
    """The record of the parties shows the holder's own verification that its proof was revoked; the stored text alone is not enough."""
    home, asked = advance.home, advance.home.build_request([ADULT])
    answer = home.ask(asked, holderConsent=advance.sign_consent(asked))
    proof, hana = answer.json["proof"], home.scene.people.hana
    text, expected = signed(proof["proof"], AGENT), {"consentCover": 12}
    home.scene.act(hana, "POST", f"/zkp/proofs/{proof['proofId']}/revoke", "prove", {})
    seen = home.scene.act(hana, "POST", "/zkp/proofs/verify", "read", {"proof": text, **expected}).json
    assert wrong(seen) == {"revocation": "PROOF_REVOKED"}
    path = f"/zkp/proofs/{proof['proofId']}/verify"
    stored = home.scene.act(hana, "POST", path, "read", expected).json
    assert "proof" in wrong(stored)


@pytest.mark.parametrize("key", [b"null", b"7", b"[]", b'""', b'"' + b"z" * 257 + b'"'], ids=repr)
def test_an_agents_key_of_another_shape_is_none(advance: InAdvance, key: bytes) -> None:
    asked = advance.home.build_request([ADULT])
    body = advance.home.body(asked, holderConsent=advance.sign_consent(asked) | {"agentKey": "HERE"})
    data = json.dumps(body).encode().replace(b'"HERE"', key)
    assert code(advance.home.scene.ask(data)) == (400, "INVALID_REQUEST")
    sent = b'{"proof":"x","agentKey":%s}' % key
    answer: Answer = advance.home.scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", sent)
    assert code(answer) == (400, "INVALID_REQUEST")


def test_the_commands_of_holder_agent_and_verifier(advance: InAdvance, tmp_path: Path) -> None:
    """Hana's wallet agrees with a command; Aki's signs with one, and only what was made for the key, verifier and challenge at hand."""
    home, asked = advance.home, advance.home.build_request([ADULT])
    hana, aki, first = home.scene.people.hana, make_key("Ed25519"), home.held[0]
    kept = {
        "credential": home.scene.act(hana, "GET", f"/credentials/{first.particulars.id}", "read").json["credential"],
        "blind": base64url_encode(first.blind.to_bytes(32, "big")),
        "issuerKey": home.scene.people.ivo.created["keys"]["assertionMethod"]["publicKey"],
    }
    secret = base64url_encode(home.wallet.secret.scalar.to_bytes(32, "big"))
    credentials = {first.particulars.id: kept}
    files = {
        "hana": {"did": hana.did, "keys": {"authentication": make_key("Ed25519")}},
        "aki": {"did": home.scene.people.aki.did, "keys": {"authentication": aki}},
        "stranger": {"did": home.scene.people.aki.did, "keys": {"authentication": make_key("Ed25519")}},
        "held": {"did": hana.did, "secret": secret, "requests": {}, "credentials": credentials},
        "question": asked,
    }
    at = {name: tmp_path / name for name in (*files, "answer")}
    for name, value in files.items():
        at[name].touch(0o600)
        at[name].write_text(json.dumps(value))
    own = ("--keys", at["hana"], "--held", at["held"], "--agent-key", aki["publicKey"], "--audience", SHOP, "--json")
    agreed = servers.run("proof", "consent", at["question"], *own)
    assert agreed.returncode == 0, agreed.stderr
    answer = home.ask(asked, **json.loads(agreed.stdout))
    assert answer.status == 201, answer.body
    at["answer"].write_text(json.dumps(answer.json))

    def hand_over(keys: str, audience: str = SHOP, challenge: str = home.challenge) -> Any:
        words = ("--keys", at[keys], "--audience", audience, "--challenge", challenge, "--json")
        return servers.run("proof", "hand-over", at["answer"], *words)

    for refused in (hand_over("stranger"), hand_over("aki", BANK), hand_over("aki", challenge="of another verifier")):
        assert refused.returncode == 1, refused.stderr
    done = hand_over("aki")
    assert done.returncode == 0, done.stderr
    text = json.loads(done.stdout)["proof"]
    verdict = advance.verdict(text, consentCover=13, agentKey=aki["publicKey"])
    assert verdict["verified"], verdict["checks"]
    both = servers.run("proof", "consent", at["question"], *own, "--challenge", home.challenge)
    assert both.returncode == 2, "a challenge and a key together"
