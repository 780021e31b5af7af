"""identity credential offer, request, sign-request, accept: issuer and wallet at home, and a secret that stays in the wallet."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from identity_bound_credentials.domain import bound_credential, status_gaps
from identity_bound_credentials.domain.bound_credential import Particulars, SecretKeeper
from identity_bound_credentials.domain.bound_format import parse_credential
from identity_bound_credentials.domain.presentation import (
    BoundWitness,
    ConsentTerms,
    Cover,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    check_consent,
    proof_day,
)
from identity_commands import credential_offer
from identity_commands.credential_import import import_body
from identity_commands.proof_verify import verify_octets
from identity_commands.wallet import Wallet, make_key
from identity_prover_bbs.plugin import BbsProver
from identity_prover_bbs.suite2 import PresentationProver
from identity_verification.domain.verification import Expectation

from identity_bbs import consent, interface
from identity_bbs.bls12381 import ORDER, select
from identity_bbs.holders import HolderConsent
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_codec import multikey
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.times import printed
from identity_codec.values import replace
from identity_core.domain.proofs.proof import Context
from identity_core.errors import PredicateUnsupported
from tests.presenting import AUDIENCE, NONCE, ask
from tests.unit.cli.conftest import Commands

IVO, HANA, MALLORY = "did:example:ivo", "did:example:hana", "did:example:mallory"
LIST = "AAAAAAAAAAAAAAAAAAAAAA"
LIST_URL = f"https://ivo.example/status-gaps/{LIST}"
CHALLENGE = "a challenge of the shop"
ADULT = ("age", "gte", "18")
SAID = [word for name in ("holder", "credentialValidity", "credentialStatus") for word in ("--require", name)]
ATTRIBUTES = [{"name": "age", "type": "integer", "minimum": 0, "maximum": 150}, {"name": "name", "type": "string"}]
VALUES = ("--value", "age", "24", "--value", "name", "Hana")


def keys_file(folder: Path, did: str, kind: str, purpose: str) -> Path:
    path = folder / f"{did.rpartition(':')[2]}.json"
    Wallet(path, did, {purpose: make_key(kind, did)}).save(new=True)
    return path


def copy_text(name: str, value: Any) -> Path:
    path = Path(name)
    path.write_text(json.dumps(value))
    return path


@dataclass
class Exchange:
    """Ivo, who issues, and the holders, each with a keys file; messages go through files."""

    run: Commands
    keys: dict[str, Path]
    schema: Path

    def key(self, did: str) -> str:
        filed = json.loads(self.keys[did].read_text())["keys"]
        return str(next(iter(filed.values()))["publicKey"])

    def offer(self, did: str = HANA, *more: str) -> Path:
        words = ("--keys", self.keys[IVO], "--holder", did, "--schema", self.schema, "--book", "book")
        return copy_text("offer", self.run.json("credential", "offer", *words, "--status-url", LIST_URL, *more))

    def request(self, offer: Path, did: str = HANA, held: str = "held") -> Path:
        words = ("--keys", self.keys[did], "--held", held)
        return copy_text("request", self.run.json("credential", "request", offer, *words))

    def signing(self, request: Path, did: str = HANA, *more: str) -> tuple[Any, ...]:
        words = ("--keys", self.keys[IVO], "--schema", self.schema, "--book", "book", *VALUES)
        return ("credential", "sign-request", request, *words, "--holder-key", self.key(did), *more)

    def signed(self, request: Path, did: str = HANA, *more: str) -> Path:
        return copy_text("credential", self.run.json(*self.signing(request, did, *more)))

    def proving(self, *more: str | Path) -> tuple[Any, ...]:
        """With the one credential that Hana's file holds."""
        (kept_id,) = json.loads(Path("held").read_text())["credentials"]
        words = ("--keys", self.keys[HANA], "--held", "held", "--credential", kept_id)
        return ("proof", "create", *words, "--audience", AUDIENCE, "--challenge", CHALLENGE, *more)

    def gap(self, *revoked: int) -> Path:
        """The first gap of today's list, as `identity status-list fetch` prints it."""
        now = status_gaps.epoch_at(datetime.now(UTC), 86_400)
        filed = json.loads(self.keys[IVO].read_text())["keys"]["assertionMethod"]
        _, secret = multikey.decode_secret(filed["privateKey"])
        _, public = multikey.decode_public(filed["publicKey"])
        header = status_gaps.StatusEpoch(IVO, filed["keyId"], LIST, now, 86_400).header
        low, high = status_gaps.chain(revoked)[:2]
        signature = interface.sign(ciphersuite(select()), secret, public, header, (low, high))
        data = {"header": base64url_encode(header), "signature": base64url_encode(signature)}
        return copy_text("gap", data | {"low": low, "high": high, "ends": "x"})

    def verifying(self, proof: Path, *more: str) -> tuple[Any, ...]:
        words = ("--issuer-key", self.key(IVO), "--challenge", CHALLENGE, "--predicate", *ADULT)
        return ("proof", "verify", proof, *words, *(more if "--audience" in more else ("--audience", AUDIENCE, *more)))

    def accepting(
        self, credential: Path, did: str = HANA, held: str = "held", key: str | None = None
    ) -> tuple[Any, ...]:
        words = ("--keys", self.keys[did], "--held", held, "--schema", self.schema)
        return ("credential", "accept", credential, *words, "--issuer-key", key or self.key(IVO))


@pytest.fixture
def exchange(identity: Commands, here: Path) -> Exchange:
    keys = {did: keys_file(here, did, "Ed25519", "authentication") for did in (HANA, MALLORY)}
    keys[IVO] = keys_file(here, IVO, multikey.BLS12381G2, "assertionMethod")
    return Exchange(identity, keys, copy_text("schema", {"id": "urn:example:person:1", "attributes": ATTRIBUTES}))


def proof(credential: dict[str, Any], secret: HolderSecret, blind: int, key: bytes) -> bytes:
    """Return the proof of a service that has the credential and the consent of the wallet, and never the secret."""
    now, suite = datetime.now(UTC).replace(microsecond=0), ciphersuite(select())
    shown = parse_credential(credential)
    bound = shown.bound
    assert bound is not None
    question = ask((bound.header, ("age", "gte", 18)))
    context = Context(AUDIENCE, NONCE, now, now + timedelta(minutes=4), "proof-1", None, None)
    terms = ConsentTerms.around(now, timedelta(hours=1))
    data, rhos = consent.consent(suite, secret, [blind], terms.message(question, context, None), os.urandom)
    about = Particulars(shown.id, str(shown.holder), shown.valid_from, shown.valid_until, bound.handle)
    witness = PresentationWitness(
        (BoundWitness(shown.signature, shown.attributes, about),), (), HolderConsent(data, rhos)
    )
    statement = PresentationStatement(question, (key,), proof_day(now))
    text = PresentationProver(select(), os.urandom).prove(statement, witness, PresentationContext(context, None, terms))
    return json.dumps({"proof": text}).encode()


def test_wallet_gets_credential_and_agrees_to_proof_with_it(exchange: Exchange) -> None:
    request = exchange.request(exchange.offer())
    credential = exchange.signed(request)
    assert "is yours" in exchange.run.ok(*exchange.accepting(credential))
    held = json.loads(Path("held").read_text())
    ((kept_id, kept),) = held["credentials"].items()
    value = json.loads(credential.read_text())
    assert (kept_id, kept["credential"], held["requests"]) == (value["id"], value, {})
    secret = HolderSecret.from_bytes(ciphersuite(select()), base64url_decode(held["secret"]))
    blind = int.from_bytes(base64url_decode(kept["blind"]), "big")
    _, key = multikey.decode_public(exchange.key(IVO))
    shown = parse_credential(value)
    assert shown.bound is not None
    assert shown.bound.header.keeper is SecretKeeper.WALLET
    expectation = Expectation(
        audience=AUDIENCE, nonce=NONCE, issuer=IVO, requires=frozenset({"holder", "credentialValidity"})
    )
    prover = BbsProver(select(), os.urandom)
    data = proof(value, secret, blind, key)
    verdict = verify_octets(data, prover=prover, find_key=lambda _: key, expectation=expectation, now=datetime.now(UTC))
    assert verdict["verified"] is True


def test_no_one_but_the_wallet_sees_secret_or_blind(exchange: Exchange) -> None:
    request = exchange.request(exchange.offer())
    held = json.loads(Path("held").read_text())
    (pending,) = held["requests"].values()
    hidden = {held["secret"], pending["blind"]}
    assert all(0 < int.from_bytes(base64url_decode(one), "big") < ORDER for one in hidden)
    exchange.signed(request)
    for name in ("offer", "request", "credential", "book"):
        assert not any(one in Path(name).read_text() for one in hidden)
    assert {Path(name).stat().st_mode & 0o777 for name in ("held", "book")} == {0o600}


def test_credentials_of_one_holder_are_unlinkable(
    exchange: Exchange,
) -> None:
    values = []
    for _ in range(2):
        credential = exchange.signed(exchange.request(exchange.offer()))
        exchange.run.ok(*exchange.accepting(credential))
        values.append(json.loads(credential.read_text()))
    assert values[0]["proof"]["commitment"] != values[1]["proof"]["commitment"]
    handles = [int(value["credentialStatus"][-1]["statusListIndex"]) for value in values]
    assert len({*handles}) == 2
    book = json.loads(Path("book").read_text())
    assert book["offers"] == {}
    assert len(book["holders"]) == 1
    # What revokes: the numbers of the record go to `identity status-list publish --handles`.
    assert {int(one): name for one, name in book["handles"].items()} == dict(
        zip(handles, (value["id"] for value in values), strict=True)
    )
    assert status_gaps.chain(handles)


def test_an_offer_serves_once_and_in_time(exchange: Exchange, monkeypatch: pytest.MonkeyPatch) -> None:
    request = exchange.request(exchange.offer())
    exchange.signed(request)
    assert "answers no open offer" in exchange.run.refused(*exchange.signing(request))[0]
    late = exchange.request(exchange.offer())
    monkeypatch.setattr(credential_offer, "_is_past", lambda _: True)
    assert "answers no open offer" in exchange.run.refused(*exchange.signing(late))[0]


def test_list_of_service_has_no_foreign_handles(exchange: Exchange) -> None:
    words = ("--keys", exchange.keys[IVO], "--holder", HANA, "--schema", exchange.schema, "--book", "book")
    for name, reason in (
        (status_gaps.list_id(IVO, 86_400), "a service publishes"),
        ("short", "not an address of a list"),
    ):
        url = ("--status-url", f"https://ivo.example/status-gaps/{name}")
        assert reason in exchange.run.refused("credential", "offer", *words, *url, status=2)[0]
    assert not Path("book").exists()


def test_an_offer_may_be_answered_twice_before_it_is_signed(exchange: Exchange) -> None:
    offer = exchange.offer()
    first = json.loads(exchange.request(offer).read_text())
    exchange.request(offer)
    exchange.run.ok(*exchange.accepting(exchange.signed(copy_text("first", first))))


def changed(member: str, change: Callable[[bytes], bytes]) -> Callable[[dict[str, Any]], None]:
    def apply(message: dict[str, Any]) -> None:
        message[member] = base64url_encode(change(base64url_decode(message[member])))

    return apply


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (changed("signature", flipped), "not signed"),
        (changed("commitment", flipped), "not signed"),
        (changed("nonce", flipped), "no open offer"),
        (lambda message: message.update(verificationMethod=f"{MALLORY}#x"), "another holder's"),
        (lambda message: message.update(verificationMethod=f"{HANA}#other"), "not signed"),
        (lambda message: message.update(more="x"), "exactly the members"),
        (lambda message: message.update(commitment=7), "all of them texts"),
        (lambda message: message.update(commitment="A" * 30_000), "characters"),
        (lambda message: message.update(commitment="*"), "base64url"),
    ],
)
def test_a_request_that_is_not_the_holders_is_not_signed(
    exchange: Exchange, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    request = exchange.request(exchange.offer())
    message = json.loads(request.read_text())["request"]
    change(message)
    before = Path("book").read_text()
    assert reason in exchange.run.refused(*exchange.signing(copy_text("forged", message)))[0]
    assert Path("book").read_text() == before, "a refusal spends the offer"


def test_a_commitment_that_nobody_can_open_is_not_signed(exchange: Exchange) -> None:
    """Signed by the holder's key: the holder herself is the adversary, who would have a point signed that she cannot open."""
    from identity_bound_credentials.domain.blind_issue import CommittedRequest, CredentialOffer

    from identity_codec import ed25519

    offer = exchange.offer()
    message = json.loads(exchange.request(offer).read_text())["request"]
    filed = json.loads(exchange.keys[HANA].read_text())["keys"]["authentication"]
    _, seed = multikey.decode_secret(filed["privateKey"])
    forged = CommittedRequest.signed(
        CredentialOffer.from_json(json.loads(offer.read_text())["offer"]),
        flipped(base64url_decode(message["commitment"])),
        filed["keyId"],
        lambda data: ed25519.sign(seed, data),
    )
    assert "no commitment" in exchange.run.refused(*exchange.signing(copy_text("forged", forged.json)))[0]


def test_lost_secret_is_told_and_replaced_by_issuers_procedure(exchange: Exchange) -> None:
    exchange.signed(exchange.request(exchange.offer()))
    Path("held").unlink()
    request = exchange.request(exchange.offer())
    said = exchange.run.refused(*exchange.signing(request))
    assert "had another secret before" in said[0]
    assert "--new-secret" in said[2]
    exchange.signed(request, HANA, "--new-secret")
    exchange.signed(exchange.request(exchange.offer()))


def test_a_thief_of_the_secret_gets_no_credential_of_their_own(exchange: Exchange) -> None:
    exchange.signed(exchange.request(exchange.offer()))
    stolen = json.loads(Path("held").read_text()) | {"did": MALLORY}
    copy_text("stolen", stolen).chmod(0o600)
    request = exchange.request(exchange.offer(MALLORY), MALLORY, "stolen")
    for more in ((), ("--new-secret",)):
        assert "another holder has this secret" in exchange.run.refused(*exchange.signing(request, MALLORY, *more))[0]


def test_an_offer_to_somebody_else_is_not_answered(exchange: Exchange) -> None:
    offer = exchange.offer(MALLORY)
    words = ("--keys", exchange.keys[HANA], "--held", "held")
    assert "another DID" in exchange.run.refused("credential", "request", offer, *words)[0]
    assert not Path("held").exists()
    exchange.request(exchange.offer())
    offer, words = exchange.offer(MALLORY), ("--keys", exchange.keys[MALLORY], "--held", "held")
    assert "file is another DID's" in exchange.run.refused("credential", "request", offer, *words)[0]


def test_accepted_credential_answers_request(exchange: Exchange) -> None:
    request = exchange.request(exchange.offer())
    credential = exchange.signed(request)
    value = json.loads(credential.read_text())
    before = Path("held").read_text()
    older = value | {"credentialSubject": value["credentialSubject"] | {"age": 99}}
    assert "not valid" in exchange.run.refused(*exchange.accepting(copy_text("older", older)))[0]
    longer = value | {"validUntil": "2100-01-01T00:00:00Z"}
    assert "not valid" in exchange.run.refused(*exchange.accepting(copy_text("longer", longer)))[0]
    foreign = make_key(multikey.BLS12381G2)["publicKey"]
    assert "not valid" in exchange.run.refused(*exchange.accepting(credential, key=foreign))[0]
    assert Path("held").read_text() == before
    shutil.copy("held", "copy")
    exchange.run.ok(*exchange.accepting(credential))
    assert "answers no request" in exchange.run.refused(*exchange.accepting(credential))[0]
    exchange.request(exchange.offer(MALLORY), MALLORY, "mallory-held")
    stolen = exchange.accepting(credential, MALLORY, "mallory-held")
    assert "answers no request" in exchange.run.refused(*stolen)[0]


def test_credential_of_another_holder_is_refused(exchange: Exchange, monkeypatch: pytest.MonkeyPatch) -> None:
    """The issuer cheats: its signature is right, and the subject is Mallory."""
    request = exchange.request(exchange.offer())
    with monkeypatch.context() as patched:
        patched.setattr(bound_credential, "Particulars", lambda name, _, *rest: Particulars(name, MALLORY, *rest))
        credential = exchange.signed(request)
    assert json.loads(credential.read_text())["credentialSubject"]["id"] == MALLORY
    assert "answers no request" in exchange.run.refused(*exchange.accepting(credential))[0]


def test_a_file_that_is_no_record_is_left_alone(exchange: Exchange) -> None:
    offer = exchange.offer()
    for text in ("{}", "[", '{"did":"","secret":7,"requests":{},"credentials":{}}'):
        Path("held").write_text(text)
        Path("held").chmod(0o600)
        exchange.run.refused("credential", "request", offer, "--keys", exchange.keys[HANA], "--held", "held")
        assert Path("held").read_text() == text


@pytest.fixture
def holding(exchange: Exchange) -> Exchange:
    """Hana has accepted her credential."""
    exchange.run.ok(*exchange.accepting(exchange.signed(exchange.request(exchange.offer()))))
    return exchange


def test_wallet_proves_at_home_what_verifier_requires_offline(holding: Exchange) -> None:
    made = copy_text("proof", holding.run.json(*holding.proving("--predicate", *ADULT, "--gap", holding.gap())))
    assert holding.run.ok(*holding.verifying(made, *SAID)).startswith("valid")
    assert HANA not in made.read_text() + base64url_decode(json.loads(made.read_text())["proof"]).decode()
    other = ("--audience", "https://bank.example")
    assert "not valid" in holding.run.refused(*holding.verifying(made, *SAID, *other))[0]
    tomorrow = datetime.now(UTC).replace(hour=12) + timedelta(days=1)
    assert "not valid" in holding.run.refused(*holding.verifying(made, *SAID, "--at", printed(tomorrow)))[0]


def test_unrequested_claims_are_not_disclosed(holding: Exchange) -> None:
    made = copy_text("proof", holding.run.json(*holding.proving("--predicate", *ADULT)))
    assert holding.run.ok(*holding.verifying(made, *SAID[:4])).startswith("valid")
    assert "credentialStatus" in holding.run.refused(*holding.verifying(made, *SAID))[0]


def test_false_statement_is_not_proved(holding: Exchange) -> None:
    (kept,) = json.loads(Path("held").read_text())["credentials"].values()
    handle = int(kept["credential"]["credentialStatus"][-1]["statusListIndex"])
    for more in (("--predicate", "age", "gte", "25"), ("--gap", holding.gap(handle))):
        assert "PREDICATE_NOT_SATISFIED" in holding.run.refused(*holding.proving(*more))[0]


def test_credential_without_secret_proves_nothing(holding: Exchange) -> None:
    held = json.loads(Path("held").read_text())
    other = base64url_encode(bytes(31) + b"\x07")
    ((kept_id, kept),) = held["credentials"].items()
    for changes in ({"secret": other}, {"credentials": {kept_id: kept | {"blind": other}}}):
        copy_text("held", held | changes)
        assert "do not belong together" in holding.run.refused(*holding.proving("--predicate", *ADULT))[0]


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"header": "x", "low": 0, "high": 9, "signature": "x"},
        {"header": 1, "low": "0", "high": 1, "signature": 1},
    ],
)
def test_a_gap_that_is_none_ends_the_command(holding: Exchange, value: Any) -> None:
    holding.run.refused(*holding.proving("--gap", copy_text("gap", value)), status=2)


def test_a_credential_that_is_not_there_ends_the_command(exchange: Exchange) -> None:
    words = ("--keys", exchange.keys[HANA], "--held", "held", "--audience", "a", "--challenge", CHALLENGE)
    what, *_ = exchange.run.refused("proof", "create", *words, "--credential", "urn:x", status=2)
    assert "no such holder's file" in what
    exchange.request(exchange.offer())
    assert "no such credential" in exchange.run.refused("proof", "create", *words, "--credential", "urn:x")[0]


def test_credential_for_service_list_is_imported(exchange: Exchange) -> None:
    words = ("--keys", exchange.keys[IVO], "--holder", HANA, "--schema", exchange.schema, "--book", "book")
    service = ("--service", "https://id.example/")
    offer = copy_text("offer", exchange.run.json("credential", "offer", *words, *service))
    credential = exchange.signed(exchange.request(offer))
    value = json.loads(credential.read_text())
    (entry,) = value["credentialStatus"]
    place = f"https://id.example/api/v1/status-gaps/{status_gaps.list_id(IVO, 86_400)}"
    assert entry["statusListCredential"] == place
    with credential.open("rb") as file:
        body = import_body(cast(Any, None), file=file, newHolderSecret=True)
    assert body.pop("newHolderSecret") is True
    bound = body.pop("bound")
    assert bound == {
        "id": value["id"],
        "header": value["proof"]["header"],
        "commitment": value["proof"]["commitment"],
        "holderTag": json.loads(Path("book").read_text())["holders"][HANA],
        "handle": int(entry["statusListIndex"]),
    }
    assert (body["issuerDid"], body["holderDid"], body["signature"]) == (IVO, HANA, value["proof"]["proofValue"])
    assert body["attributes"] == {name: of for name, of in value["credentialSubject"].items() if name != "id"}
    for more in (("--status-url", LIST_URL), ("--period", "hour")):
        assert "which list" in exchange.run.refused("credential", "offer", *words, *service, *more, status=2)[0]
    older = copy_text("older", value | {"proof": value["proof"] | {"cryptosuite": "identity-bbs-credential-1"}})
    assert "cannot be imported" in exchange.run.refused("credential", "import", older)[0]


def two_asked(exchange: Exchange) -> tuple[Path, Path, Path]:
    """Hana has two credentials. The question as her wallet reads it, as the verifier puts it, and a gap for both of them."""
    for _ in range(2):
        exchange.run.ok(*exchange.accepting(exchange.signed(exchange.request(exchange.offer()))))
    first, second = json.loads(Path("held").read_text())["credentials"]
    adult = {"attributeName": "age", "type": "gte", "value": 18}
    same = [[{"credential": 0, "attributeName": "age"}, {"credential": 1, "attributeName": "age"}]]
    rest = {"same": same, "pseudonym": f"{AUDIENCE}/accounts"}
    credentials = [{"credentialId": first, "predicates": [adult]}, {"credentialId": second}]
    named = {"issuerDid": IVO, "schemaId": "urn:example:person:1"}
    expected = [named | {"predicates": [adult]}, named | {"predicates": []}]
    return (
        copy_text("question", {"credentials": credentials} | rest),
        copy_text("expected", {"credentials": expected} | rest),
        exchange.gap(),
    )


def test_a_wallet_proves_with_two_credentials_at_home(exchange: Exchange) -> None:
    question, expected, gap = two_asked(exchange)
    words = ("--keys", exchange.keys[HANA], "--held", "held", "--audience", AUDIENCE, "--challenge", CHALLENGE)
    made = copy_text("proof", exchange.run.json("proof", "create", *words, "--question", question, "--gap", gap))
    checking = ("proof", "verify", made, "--issuer-key", exchange.key(IVO), "--challenge", CHALLENGE)
    asked = ("--audience", AUDIENCE, "--question", expected, *SAID)
    assert exchange.run.ok(*checking, *asked).splitlines()[0] == "valid"
    value = json.loads(expected.read_text())
    other = copy_text("other", value | {"pseudonym": "https://bank.example"})
    exchange.run.refused(*checking, "--audience", AUDIENCE, "--question", other)
    alone = ("--credential", "urn:x")
    for more in (("--question", question, *alone), ("--question", question, "--predicate", *ADULT), ()):
        assert "what is asked" in exchange.run.refused("proof", "create", *words, *more, status=2)[0]
    foreign = copy_text("foreign", json.loads(gap.read_text()) | {"low": 4_294_967_294})
    assert (
        "no --gap"
        in exchange.run.refused("proof", "create", *words, "--question", question, "--gap", foreign, status=2)[0]
    )


def test_wallet_agrees_to_what_agent_asks_and_to_nothing_else(exchange: Exchange) -> None:
    """`identity proof consent` prints the consent of the holder to the question of the service, for this verifier."""
    question, _, _ = two_asked(exchange)
    words = ("--keys", exchange.keys[HANA], "--held", "held", "--audience", AUDIENCE, "--challenge", CHALLENGE)
    given = exchange.run.json("proof", "consent", question, *words)["holderConsent"]
    held = json.loads(Path("held").read_text())
    shown = [parse_credential(kept["credential"]).bound for kept in held["credentials"].values()]
    first, second = [one for one in shown if one is not None]
    asked = ask((first.header, ("age", "gte", 18)), (second.header,))
    place = ((0, "age"), (1, "age"))
    posed = replace(asked, same=(place,), status=True, pseudonym=f"{AUDIENCE}/accounts")
    now = datetime.now(UTC).replace(microsecond=0)
    context = Context(AUDIENCE, CHALLENGE.encode(), now, now + timedelta(minutes=4), "proof-1", None, None)
    terms = ConsentTerms(Cover(given["cover"]), given["notBefore"], given["notAfter"])
    rhos = tuple(int.from_bytes(base64url_decode(one), "big") for one in given["blindDifferences"])
    agreed = HolderConsent(base64url_decode(given["value"]), rhos)
    points = [first.commitment, second.commitment]
    check_consent(agreed, points, terms.message(posed, context, None), posed.pseudonym)
    for other in (replace(posed, status=False), replace(posed, same=())):
        with pytest.raises(PredicateUnsupported):
            check_consent(agreed, points, terms.message(other, context, None), other.pseudonym)
    with pytest.raises(PredicateUnsupported):
        check_consent(agreed, points[::-1], terms.message(posed, context, None), posed.pseudonym)
    for value in ({}, {"credentials": []}, {"credentials": 7}, {"credentialId": "urn:x"}, {"credentials": [{}]}):
        exchange.run.refused("proof", "consent", copy_text("none", value), *words, status=2)
    for token in (7, {}, {"id": 1}):
        spoiled = copy_text("spoiled", json.loads(question.read_text()) | {"ibct": token})
        assert "no question" in exchange.run.refused("proof", "consent", spoiled, *words, status=2)[0]
    stranger = copy_text("stranger", {"credentialId": "urn:x", "predicate": {}})
    assert "no such credential" in exchange.run.refused("proof", "consent", stranger, *words)[0]
