"""Chapters 5 to 9: who believes the proof, what no one gets, who sees what, and how all of it is taken back."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from identity_core.cli.demo.chapters import ADULT, COUNTRY, DELEGATED_PROOFS, signed
from identity_core.cli.demo.participants import SHOP, Participants, Person, anchor_text
from identity_core.cli.demo.story import Story
from identity_core.client import ibct
from identity_core.domain.dids.log import verify as verify_log
from identity_core.domain.proofs.verification import Expectation

_VERIFY: Final = "/zkp/proofs/verify"
_BANK: Final = {"challenge": "the challenge of a bank", "domain": "https://bank.example"}


def checked(story: Story, people: Participants) -> None:
    """Changes nothing."""
    shown = people.proved["proof"]
    expected = {"predicate": ADULT, "issuerDid": people.ivo.did, "schemaId": people.schema_id, "maxAge": 300}
    for_her = shown | {"challenge": people.challenge, "domain": SHOP}

    def verify_unknown(body: dict[str, Any]) -> Any:
        return people.session.call("POST", _VERIFY, body=body, signed_in=False)

    story.tell(
        "Vera checks it: what she asked, for her, with her challenge, under Ivo's key",
        verdict_text,
        lambda: people.vera.ask("POST", _VERIFY, for_her | expected),
        promise=lambda verdict: verdict["verified"] is True and not verdict["unchecked"],
    )
    title = "Somebody shows it to her a second time"
    _not_believed(story, title, "CHALLENGE_SPENT", people.vera.ask, "POST", _VERIFY, for_her)
    _not_believed(story, "Mallory shows it to her bank", "DOMAIN_MISMATCH", verify_unknown, shown | _BANK)
    before, one, after = shown["proof"][:999], shown["proof"][999], shown["proof"][1000:]
    forged = {"proof": before + ("A" if one != "A" else "B") + after}
    _not_believed(story, "She changes one character of it", "PROOF_INVALID", verify_unknown, forged)
    _offline(story, people)


def verdict_text(verdict: dict[str, Any]) -> str:
    """A verdict in words."""
    if not verdict["verified"]:
        return f"not verified: {', '.join(verdict['errors'])}"
    proven = verdict["predicate"]
    checks = len(verdict["checks"])
    return f"verified, {checks} checks: {proven['attributeName']} {proven['type']} {proven['value']}, and nothing else"


def _not_believed(story: Story, title: str, code: str, verify: Any, *given: Any) -> None:
    def promise(verdict: Any) -> bool:
        return not verdict["verified"] and code in verdict["errors"]

    story.tell(title, verdict_text, verify, *given, promise=promise)


def _offline(story: Story, people: Participants) -> None:
    from identity_core.cli.options import configured
    from identity_core.cli.proof_verify import installed_prover, verify_octets
    from identity_core.cli.public_keys import in_log

    log = story.tell(
        "Vera fetches the log of Ivo's DID, from here or from anywhere",
        lambda text: f"{len(text.splitlines())} entry, {len(text):,} characters",
        people.session.log,
        people.ivo.did,
    )
    expectation = Expectation(
        predicates=(ADULT,),
        audience=SHOP,
        nonce=people.challenge.encode(),
        proof_id=people.proved["proofId"],
    )

    def verify() -> Any:
        now, octets = datetime.now(UTC), orjson.dumps(people.proved["proof"])
        prover, find_key = installed_prover(configured(None)), in_log(log.encode(), now)
        return verify_octets(octets, prover=prover, find_key=find_key, expectation=expectation, now=now)

    story.tell(
        "With that and the proof's JSON alone she checks it again, without any service",
        lambda body: f"valid under {body['verificationMethod'].partition('#')[2][:16]}…",
        verify,
    )


def out_of_reach(story: Story, people: Participants) -> None:
    """Leaves a delegation that has suspended itself."""
    older = people.request | {"predicate": people.request["predicate"] | {"value": 24}}
    altered = people.request["ibct"] | {"action": ibct.action_text("age", "gte", pin=24)}

    def refused(title: str, code: str, who: Person, body: dict[str, Any]) -> None:
        story.refused(title, code, who.ask, "POST", DELEGATED_PROOFS, body)

    refused("Aki asks whether Hana is 24, with the token that is spent", "IBCT_REPLAYED", people.aki, older)
    title = "Aki writes 24 into it; Hana's signature no longer fits"
    refused(title, "IBCT_INVALID", people.aki, people.request | {"ibct": altered})
    refused("Mallory found a token of Hana's, and is not Aki", "FORBIDDEN", people.vera, _guess(people, "JP"))
    title = "Aki guesses at Hana's country, as the delegation lets it"
    refused(title, "PREDICATE_NOT_SATISFIED", people.aki, _guess(people, "US", "CA"))
    title = "One wrong guess was the limit: the delegation has suspended itself"
    refused(title, "DELEGATION_SUSPENDED", people.aki, _guess(people, "DE", "FR"))


def _guess(people: Participants, *countries: str) -> dict[str, Any]:
    token = signed(people, ibct.action_text(*COUNTRY))
    return ibct.proof_request(token, people.credential_id, value=list(countries), domain=SHOP)


def seen(story: Story, people: Participants) -> None:
    """Changes nothing."""
    story.tell(
        "Vera sees what she checked, and not whom it was about",
        _history,
        lambda: people.vera.ask("GET", "/verifications/history"),
        promise=lambda page: len(page["items"]) == 2 and not any(row["holderDid"] for row in page["items"]),
    )
    story.tell(
        "Hana sees everything that was done in her name, refusals too",
        _timeline,
        lambda: people.hana.ask("GET", "/dashboard/timeline"),
        promise=lambda page: {"proof.generated", "proof.refused", "proof.verified"} <= _kinds(page).keys(),
    )
    story.tell(
        "Ivo sees that he issued a credential, and not where it is shown",
        _timeline,
        lambda: people.ivo.ask("GET", "/dashboard/timeline"),
        promise=lambda page: all(kind.startswith("credential.") for kind in _kinds(page)),
    )


def _history(page: dict[str, Any]) -> str:
    rows = page["items"]
    held = sum(row["verified"] for row in rows)
    return f"{len(rows)} verifications, {held} held; {anchor_text(rows[0]['anchor'])}"


def _kinds(page: dict[str, Any]) -> Counter[str]:
    """How often each kind of event happened, oldest first."""
    return Counter(row["kind"] for row in reversed(page["items"]))


def _timeline(page: dict[str, Any]) -> str:
    return ", ".join(kind + (f" × {count}" if count > 1 else "") for kind, count in _kinds(page).items())


def taken_back(story: Story, people: Participants) -> None:
    """Leaves nothing in force."""
    reason = {"reason": "Aki was taken over"}
    story.tell(
        "Hana revokes the delegation",
        "{status} after {uses} of {maxUses} uses",
        lambda: people.hana.ask("POST", f"/delegations/{people.delegation_id}/revoke", reason),
        promise=lambda body: body["status"] == "revoked",
    )
    body = ibct.proof_request(signed(people, ibct.action_text("age", "gte", pin=18)), people.credential_id, value=18)
    title = "No token helps Aki now, not even a new one"
    story.refused(title, "DELEGATION_REVOKED", people.aki.ask, "POST", DELEGATED_PROOFS, body)
    proof = f"/zkp/proofs/{people.proved['proofId']}"
    story.tell(
        "The proof that was made stays good: the service checks what it keeps, as things are now",
        lambda verdict: f"{verdict_text(verdict)}; warned: {', '.join(verdict['warnings'])}",
        lambda: people.vera.ask("POST", f"{proof}/verify", {}),
        promise=lambda verdict: verdict["verified"] is True,
    )
    revocation = reason | {"syncWaitMs": 5_000}
    story.tell("Until Hana revokes that too", _revoked, people.hana.ask, "POST", f"{proof}/revoke", revocation)
    _not_believed(story, "Now it is refused", "PROOF_REVOKED", people.vera.ask, "POST", f"{proof}/verify", {})


def _revoked(body: dict[str, Any]) -> str:
    anchor = body["anchor"]
    if anchor is None or anchor.get("revokedBlock") is None:
        return f"revoked, {anchor_text(anchor)}"
    return f"revoked, and so is its anchor: block {anchor['revokedBlock']}"


def ended(story: Story, people: Participants) -> None:
    """Leaves a log."""
    session, hana = people.session, people.hana
    end = {"confirm": True, "reason": "the end of the demo"}
    story.tell("Hana ends her DID", "deactivated, block {blockNumber}", session.deactivate, hana.did, end, hana.signer)
    story.refused("It resolves to 410 from now on", "DID_DEACTIVATED", session.resolve, hana.did)
    story.refused("Her access token died with it", "AUTH_FAILED", hana.ask, "GET", "/dashboard/timeline")
    story.tell("Its history stays readable", _operations, session.history, hana.did)
    log = story.tell("So does its log", lambda text: f"{len(text.splitlines())} entries", session.log, hana.did)
    story.tell(
        "And the log verifies offline, without the service",
        "{versions} versions, every hash and signature checked",
        lambda: verify_log(log.encode()).summary(),
    )


def _operations(body: dict[str, Any]) -> str:
    return ", ".join(item["operation"] for item in body["items"])
