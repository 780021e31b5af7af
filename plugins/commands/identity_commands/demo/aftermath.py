"""Chapters 5 to 8, and the last: verification of the proof, refused requests, visibility, and revocation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import orjson
from identity_verification.domain.verification import Expectation

from identity_client import ibct
from identity_commands.demo.chapters import ADULT, ADULT_ONLY, COUNTRY, DELEGATED_PROOFS
from identity_commands.demo.participants import SHOP, Participants, anchor_text
from identity_commands.demo.story import Story
from identity_commands.proof_verify import installed_prover, verify_octets
from identity_commands.public_keys import in_log
from identity_commands.verify_log import verify as verify_log
from identity_core.cli.options import configured

_VERIFY: Final = "/zkp/proofs/verify"
_TIMELINE: Final = "/dashboard/timeline"
_BANK: Final = {"challenge": "the challenge of a bank", "domain": "https://bank.example"}
_LOST: Final = {"reason": "Aki was taken over"}
_END: Final = {"confirm": True, "reason": "the end of the demo"}


def checked(story: Story, people: Participants) -> None:
    """Change nothing."""
    shown, vera = people.proved["proof"], people.vera
    expected = {"predicate": ADULT, "issuerDid": people.ivo.did, "schemaId": people.schema_id, "maxAge": 300}
    for_her = shown | {"challenge": people.challenge, "domain": SHOP}
    title = "Vera checks it: what she asked, for her, with her challenge, under Ivo's key"
    verdict = story.tell(title, verdict_text, vera.ask, "POST", _VERIFY, for_her | expected)
    story.promise(verdict["verified"] is True and not verdict["unchecked"])
    title = "The same proof is shown to her a second time"
    _not_believed(story, title, "CHALLENGE_SPENT", vera.ask, "POST", _VERIFY, for_her)

    def verify_unknown(body: dict[str, Any]) -> Any:
        return people.session.call("POST", _VERIFY, body=body, signed_in=False)

    _not_believed(story, "Mallory shows it to her bank", "DOMAIN_MISMATCH", verify_unknown, shown | _BANK)
    before, one, after = shown["proof"][:999], shown["proof"][999], shown["proof"][1000:]
    forged = {"proof": before + ("A" if one != "A" else "B") + after}
    _not_believed(story, "She changes one character of it", "PROOF_INVALID", verify_unknown, forged)
    _offline(story, people)


def verdict_text(verdict: dict[str, Any]) -> str:
    """Return the text of a verdict."""
    if not verdict["verified"]:
        return f"not verified: {', '.join(verdict['errors'])}"
    proven, checks = verdict["predicate"], len(verdict["checks"])
    return f"verified, {checks} checks: {proven['attributeName']} {proven['type']} {proven['value']}, and nothing else"


def _not_believed(story: Story, title: str, code: str, verify: Callable[..., Any], *given: Any) -> None:
    verdict = story.tell(title, verdict_text, verify, *given)
    story.promise(not verdict["verified"] and code in verdict["errors"])


def _offline(story: Story, people: Participants) -> None:
    title = "Vera fetches the log of Ivo's DID, from here or from anywhere"
    log = story.tell(title, _log_text, people.session.log, people.ivo.did)
    challenge, proof_id = people.challenge.encode(), people.proved["proofId"]
    expectation = Expectation(predicates=(ADULT,), audience=SHOP, nonce=challenge, proof_id=proof_id)

    title = "With that and the proof's JSON alone she checks it again, without any service"
    story.tell(title, _key_text, verified_at_home, log, people.proved["proof"], expectation, datetime.now(UTC))


def _key_text(verdict: dict[str, Any]) -> str:
    return f"valid under {verdict['verificationMethod'].partition('#')[2][:16]}…"


def verified_at_home(log: str, proof: dict[str, Any], expectation: Expectation, now: datetime) -> dict[str, Any]:
    """Return the verdict at ``now``, from the issuer's log and the proof's JSON, without any service. Raises ``ProofInvalid``."""
    prover, find_key = installed_prover(configured(None)), in_log(log.encode(), now)
    return verify_octets(orjson.dumps(proof), prover=prover, find_key=find_key, expectation=expectation, now=now)


def _log_text(log: str) -> str:
    return f"{len(log.splitlines())} entry, {len(log):,} characters"


def out_of_reach(story: Story, people: Participants) -> None:
    """Leave a delegation that has suspended itself."""
    older = people.request | {"predicate": people.request["predicate"] | {"value": 24}}
    altered = people.request["ibct"] | {"action": ibct.action_text("age", "gte", pin=24)}

    def guess(*countries: str) -> dict[str, Any]:
        return ibct.proof_request(people.token(COUNTRY), people.credential_id, value=[*countries], domain=SHOP)

    ask, steal = (partial(person.ask, "POST", DELEGATED_PROOFS) for person in (people.aki, people.vera))
    story.refused("Aki asks whether Hana is 24, with the token that is spent", "IBCT_REPLAYED", ask, older)
    title = "Aki writes 24 into it; Hana's signature no longer fits"
    story.refused(title, "IBCT_INVALID", ask, people.request | {"ibct": altered})
    story.refused("Mallory found a token of Hana's, and is not Aki", "FORBIDDEN", steal, guess("JP"))
    title = "Aki guesses at Hana's country, as the delegation lets it"
    story.refused(title, "PREDICATE_NOT_SATISFIED", ask, guess("US", "CA"))
    title = "One wrong guess was the limit: the delegation has suspended itself"
    story.refused(title, "DELEGATION_SUSPENDED", ask, guess("DE", "FR"))


def show_records(story: Story, people: Participants) -> None:
    """Change nothing."""
    title = "Vera sees what she checked, and not whom it was about"
    page = story.tell(title, _history, people.vera.ask, "GET", "/verifications/history")
    story.promise(len(page["items"]) == 2 and not any(row["holderDid"] for row in page["items"]))
    title = "Hana sees everything that was done in her name, refusals too"
    page = story.tell(title, _timeline, people.hana.ask, "GET", _TIMELINE)
    story.promise({"proof.generated", "proof.refused", "proof.verified"} <= _kinds(page).keys())
    title = "Ivo sees that he issued a credential, and not where it is shown"
    page = story.tell(title, _timeline, people.ivo.ask, "GET", _TIMELINE)
    story.promise(all(kind.startswith("credential.") for kind in _kinds(page)))


def _history(page: dict[str, Any]) -> str:
    rows = page["items"]
    held = sum(row["verified"] for row in rows)
    return f"{len(rows)} verifications, {held} held; {anchor_text(rows[0]['anchor'])}"


def _kinds(page: dict[str, Any]) -> Counter[str]:
    """Return how often each kind of event happened, oldest first."""
    return Counter(row["kind"] for row in reversed(page["items"]))


def _timeline(page: dict[str, Any]) -> str:
    return ", ".join(kind + (f" × {count}" if count > 1 else "") for kind, count in _kinds(page).items())


def taken_back(story: Story, people: Participants) -> None:
    """Leave nothing in force."""
    hana, vera = people.hana, people.vera
    path, said = f"/delegations/{people.delegation_id}/revoke", "{status} after {uses} of {maxUses} uses"
    revoked = story.tell("Hana revokes the delegation", said, hana.ask, "POST", path, _LOST)
    story.promise(revoked["status"] == "revoked")
    body = ibct.proof_request(people.token(ADULT_ONLY), people.credential_id, value=18)
    title = "No token helps Aki now, not even a new one"
    story.refused(title, "DELEGATION_REVOKED", people.aki.ask, "POST", DELEGATED_PROOFS, body)
    proof = f"/zkp/proofs/{people.proved['proofId']}"
    title = "The proof that was made stays good: the service checks what it keeps, as things are now"
    verdict = story.tell(title, _warned, vera.ask, "POST", f"{proof}/verify", {})
    story.promise(verdict["verified"] is True)
    revocation = _LOST | {"syncWaitMs": 5_000}
    story.tell("Until Hana revokes that too", _revoked, hana.ask, "POST", f"{proof}/revoke", revocation)
    _not_believed(story, "Now it is refused", "PROOF_REVOKED", vera.ask, "POST", f"{proof}/verify", {})


def _warned(verdict: dict[str, Any]) -> str:
    return f"{verdict_text(verdict)}; warned: {', '.join(verdict['warnings'])}"


def _revoked(body: dict[str, Any]) -> str:
    anchor = body["anchor"]
    if anchor is None or anchor.get("revokedBlock") is None:
        return f"revoked, {anchor_text(anchor)}"
    return f"revoked, and so is its anchor: block {anchor['revokedBlock']}"


def ended(story: Story, people: Participants) -> None:
    """Leave a log."""
    session, hana = people.session, people.hana
    said = "deactivated, block {blockNumber}"
    story.tell("Hana ends her DID", said, session.deactivate, hana.did, _END, hana.signer)
    story.refused("It resolves to 410 from now on", "DID_DEACTIVATED", session.resolve, hana.did)
    story.refused("Her access token died with it", "AUTH_FAILED", hana.ask, "GET", _TIMELINE)
    story.refused("So does its history", "DID_DEACTIVATED", session.history, hana.did)
    log = story.tell("Its log stays readable", lambda log: f"{len(log.splitlines())} entries", session.log, hana.did)
    said = "{versions} versions, every hash and signature checked"
    story.tell("And the log verifies offline, without the service", said, lambda: verify_log(log.encode()).summary())
