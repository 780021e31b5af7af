"""Chapters 5 to 9: who believes the proof, what no one gets, who sees what, and how all of it is taken back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import orjson

from identity_core.cli.demo.chapters import ADULT, COUNTRY, DELEGATED_PROOFS, signed
from identity_core.cli.demo.participants import SHOP, Participants, anchor_text
from identity_core.cli.demo.story import Story
from identity_core.client import ibct
from identity_core.domain.log import verify as verify_log
from identity_core.domain.proof import Expectation

_VERIFY: Final = "/zkp/proofs/verify"


def checked(story: Story, people: Participants) -> None:
    """Changes nothing."""
    shown = people.proved["proof"]
    expected = {"predicate": ADULT, "issuerDid": people.ivo.did, "schemaId": people.schema_id, "maxAge": 300}
    for_her = {"challenge": people.challenge, "domain": SHOP}
    story.tell(
        "Vera checks it: what she asked, for her, with her challenge, under Ivo's key",
        lambda: people.vera.ask("POST", _VERIFY, shown | expected | for_her),
        verdict_text,
        promise=lambda verdict: verdict["verified"] is True and not verdict["unchecked"],
    )
    _not_believed(
        story, people, "Somebody shows it to her a second time", people.vera, shown | for_her, "CHALLENGE_SPENT"
    )
    bank = {"challenge": "the challenge of a bank", "domain": "https://bank.example"}
    _not_believed(story, people, "Mallory shows it to her bank", None, shown | bank, "DOMAIN_MISMATCH")
    before, one, after = shown["proof"][:999], shown["proof"][999], shown["proof"][1000:]
    forged = {"proof": before + ("A" if one != "A" else "B") + after}
    _not_believed(story, people, "She changes one character of it", None, forged, "PROOF_INVALID")
    _offline(story, people)


def verdict_text(verdict: dict[str, Any]) -> str:
    """A verdict in words."""
    if not verdict["verified"]:
        return f"not verified: {', '.join(verdict['errors'])}"
    proven = verdict["predicate"]
    checks = len(verdict["checks"])
    return f"verified, {checks} checks: {proven['attributeName']} {proven['type']} {proven['value']}, and nothing else"


def _not_believed(story: Story, people: Participants, title: str, who: Any, body: dict[str, Any], code: str) -> None:
    def act() -> Any:
        if who is not None:
            return who.ask("POST", _VERIFY, body)
        return people.session.call("POST", _VERIFY, body=body, signed_in=False)

    story.tell(title, act, verdict_text, promise=lambda verdict: not verdict["verified"] and code in verdict["errors"])


def _offline(story: Story, people: Participants) -> None:
    from identity_core.cli.options import configured
    from identity_core.cli.proof_verify import installed_prover, verify_octets
    from identity_core.cli.public_keys import in_log

    log = story.tell(
        "Vera fetches the log of Ivo's DID, from here or from anywhere",
        lambda: people.session.log(people.ivo.did),
        lambda text: f"{len(text.splitlines())} entry, {len(text):,} characters",
    )
    octets = orjson.dumps(people.proved["proof"])
    expectation = Expectation(
        verification_method=None,
        header_digest=None,
        predicates=(ADULT,),
        audience=SHOP,
        nonce=people.challenge.encode(),
        proof_id=people.proved["proofId"],
        capability=None,
    )

    def act() -> Any:
        now = datetime.now(UTC)
        find_key = in_log(log.encode(), now)
        return verify_octets(
            octets, prover=installed_prover(configured(None)), find_key=find_key, expectation=expectation, now=now
        )

    story.tell(
        "With that and the proof's JSON alone she checks it again, without any service",
        act,
        lambda body: f"valid under {body['verificationMethod'].partition('#')[2][:16]}…",
    )


def out_of_reach(story: Story, people: Participants) -> None:
    """Leaves a delegation that has suspended itself."""
    spent = people.request["ibct"]
    older = people.request | {"predicate": people.request["predicate"] | {"value": 24}}
    altered = people.request | {"ibct": spent | {"action": ibct.action_text("age", "gte", pin=24)}}
    story.refused(
        "Aki asks whether Hana is 24, with the token that is spent",
        lambda: people.aki.ask("POST", DELEGATED_PROOFS, older),
        "IBCT_REPLAYED",
    )
    story.refused(
        "Aki writes 24 into it; Hana's signature no longer fits",
        lambda: people.aki.ask("POST", DELEGATED_PROOFS, altered),
        "IBCT_INVALID",
    )
    story.refused(
        "Mallory found a token of Hana's, and is not Aki",
        lambda: people.vera.ask("POST", DELEGATED_PROOFS, _guess(people, "JP")),
        "FORBIDDEN",
    )
    story.refused(
        "Aki guesses at Hana's country, as the delegation lets it",
        lambda: people.aki.ask("POST", DELEGATED_PROOFS, _guess(people, "US", "CA")),
        "PREDICATE_NOT_SATISFIED",
    )
    story.refused(
        "One wrong guess was the limit: the delegation has suspended itself",
        lambda: people.aki.ask("POST", DELEGATED_PROOFS, _guess(people, "DE", "FR")),
        "DELEGATION_SUSPENDED",
    )


def _guess(people: Participants, *countries: str) -> dict[str, object]:
    token = signed(people, ibct.action_text(*COUNTRY))
    return ibct.proof_request(token, people.credential_id, value=list(countries), domain=SHOP)


def seen(story: Story, people: Participants) -> None:
    """Changes nothing."""
    story.tell(
        "Vera sees what she checked, and not whom it was about",
        lambda: people.vera.ask("GET", "/verifications/history"),
        _history,
        promise=lambda page: len(page["items"]) == 2 and not any(row["holderDid"] for row in page["items"]),
    )
    story.tell(
        "Hana sees everything that was done in her name, refusals too",
        lambda: people.hana.ask("GET", "/dashboard/timeline"),
        _timeline,
        promise=lambda page: (
            {"proof.generated", "proof.refused", "proof.verified"} <= {row["kind"] for row in page["items"]}
        ),
    )
    story.tell(
        "Ivo sees that he issued a credential, and not where it is shown",
        lambda: people.ivo.ask("GET", "/dashboard/timeline"),
        _timeline,
        promise=lambda page: all(row["kind"].startswith("credential.") for row in page["items"]),
    )


def _history(page: dict[str, Any]) -> str:
    rows = page["items"]
    held = sum(row["verified"] for row in rows)
    return f"{len(rows)} verifications, {held} held; {anchor_text(rows[0]['anchor'])}"


def _timeline(page: dict[str, Any]) -> str:
    """The kinds, oldest first; a kind that was refused says how often."""
    counted: dict[str, int] = {}
    for row in reversed(page["items"]):
        counted[row["kind"]] = counted.get(row["kind"], 0) + 1
    return ", ".join(kind + (f" × {count}" if count > 1 else "") for kind, count in counted.items())


def taken_back(story: Story, people: Participants) -> None:
    """Leaves nothing in force."""
    reason = {"reason": "Aki was taken over"}
    story.tell(
        "Hana revokes the delegation",
        lambda: people.hana.ask("POST", f"/delegations/{people.delegation_id}/revoke", reason),
        lambda body: f"{body['status']} after {body['uses']} of {body['maxUses']} uses",
        promise=lambda body: body["status"] == "revoked",
    )
    token = signed(people, ibct.action_text("age", "gte", pin=18))
    story.refused(
        "No token helps Aki now, not even a new one",
        lambda: people.aki.ask("POST", DELEGATED_PROOFS, ibct.proof_request(token, people.credential_id, value=18)),
        "DELEGATION_REVOKED",
    )
    proof = f"/zkp/proofs/{people.proved['proofId']}"
    story.tell(
        "The proof that was made stays good: the service checks what it keeps, as things are now",
        lambda: people.vera.ask("POST", f"{proof}/verify", {}),
        lambda verdict: f"{verdict_text(verdict)}; warned: {', '.join(verdict['warnings'])}",
        promise=lambda verdict: verdict["verified"] is True,
    )
    story.tell(
        "Until Hana revokes that too",
        lambda: people.hana.ask("POST", f"{proof}/revoke", reason | {"syncWaitMs": 5_000}),
        _revoked,
    )
    story.tell(
        "Now it is refused",
        lambda: people.vera.ask("POST", f"{proof}/verify", {}),
        verdict_text,
        promise=lambda verdict: not verdict["verified"] and "PROOF_REVOKED" in verdict["errors"],
    )


def _revoked(body: dict[str, Any]) -> str:
    anchor = body["anchor"]
    if anchor is None or anchor.get("revokedBlock") is None:
        return f"revoked, {anchor_text(anchor)}"
    return f"revoked, and so is its anchor: block {anchor['revokedBlock']}"


def ended(story: Story, people: Participants) -> None:
    """Leaves a log."""
    session, hana = people.session, people.hana
    story.tell(
        "Hana ends her DID",
        lambda: session.deactivate(hana.did, {"confirm": True, "reason": "the end of the demo"}, hana.signer),
        lambda body: f"deactivated, block {body['blockNumber']}",
    )
    story.refused("It resolves to 410 from now on", lambda: session.resolve(hana.did), "DID_DEACTIVATED")
    story.refused("Her access token died with it", lambda: hana.ask("GET", "/dashboard/timeline"), "AUTH_FAILED")
    story.tell(
        "Its history stays readable",
        lambda: session.history(hana.did),
        lambda body: ", ".join(item["operation"] for item in body["items"]),
    )
    log = story.tell("So does its log", lambda: session.log(hana.did), lambda text: f"{len(text.splitlines())} entries")
    story.tell(
        "And the log verifies offline, without the service",
        lambda: verify_log(log.encode()).summary(),
        lambda body: f"{body['versions']} versions, every hash and signature checked",
    )
