"""Chapter 9: a credential that is bound to its holder, a proof that shows this itself, and both after the revocation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from identity_verification.domain.received import NEVER_PROVEN
from identity_verification.domain.verification import Expectation

from identity_client import ibct
from identity_commands.demo.aftermath import verified_at_home
from identity_commands.demo.chapters import ADULT, ADULT_ONLY, DELEGATED_PROOFS, terms
from identity_commands.demo.participants import SHOP, Participants
from identity_commands.demo.story import Story, attempted, refusal_text
from identity_core.errors import ProofInvalid

_SAID: Final = ("holder", "credentialValidity", "credentialStatus")
_REVOKED: Final = {"purpose": "revocation", "value": True, "reason": "issued in error"}
# A custodian without secrets of holders does not issue it, a prover of one suite does not prove with it.
_NOT_HERE: Final = ("INVALID_CREDENTIAL", "PREDICATE_UNSUPPORTED")


def revoked(story: Story, people: Participants) -> None:
    """Leave a credential that is revoked. It ends early if the service has no suite 2."""
    aki, ivo = people.aki, people.ivo
    title = "Ivo issues the credential anew, bound to Hana and to a list of what is revoked"
    statement = people.statement | {"suite": 2}
    issued = story.tell(title, _issued_text, attempted, ivo.ask, "POST", "/credentials", statement)
    if not _is_there(story, issued):
        return
    people.credential_id = issued["answer"]["id"]
    title = "Hana delegates anew, and Vera asks for a proof that says all of it itself"
    challenge = story.tell(title, "{challenge:.24}… for {domain}", _delegated, people)["challenge"]
    ask = partial(aki.ask, "POST", DELEGATED_PROOFS)
    request = ibct.proof_request(
        people.token(ADULT_ONLY), people.credential_id, value=18, challenge=challenge, domain=SHOP
    )
    title = "Aki gets it: Hana's consent, validity and today's list of gaps are in it; who she is stays hidden"
    proved = story.tell(title, _proof_text, attempted, ask, request)
    if not _is_there(story, proved):
        return
    log = people.session.log(ivo.did)
    expectation = Expectation(
        predicates=(ADULT,), audience=SHOP, nonce=challenge.encode(), issuer=ivo.did, requires=frozenset(_SAID)
    )
    verify = partial(_verdict, log, proved["answer"]["proof"], expectation)
    title = "Vera requires that it is the holder's, valid and not revoked, and verifies offline"
    story.promise(story.tell(title, _verdict_text, verify, datetime.now(UTC))["reason"] is None)
    path = f"/credentials/{quote(people.credential_id, safe='')}/status"
    story.tell("Ivo revokes the credential", "{id}, {status}", ivo.ask, "POST", path, _REVOKED)
    again = ibct.proof_request(people.token(ADULT_ONLY), people.credential_id, value=18, domain=SHOP)
    story.refused("Aki gets no other proof", "CREDENTIAL_REVOKED", ask, again)
    title = "Today's proof shows the state of today's list: an offline verifier accepts it until the day ends"
    story.promise(story.tell(title, _verdict_text, verify, datetime.now(UTC))["reason"] is None)
    title = "No proof outlives its day: tomorrow at noon Vera's verifier refuses it, also offline"
    noon = datetime.now(UTC).replace(hour=12, minute=0) + timedelta(days=1)
    story.promise(story.tell(title, _verdict_text, verify, noon)["reason"] is not None)


def _is_there(story: Story, outcome: dict[str, Any]) -> bool:
    """Return whether the operation succeeded. The service may lack suite 2; any other refusal ends the demo."""
    story.promise(outcome["code"] in ("none", *_NOT_HERE))
    return bool(outcome["code"] == "none")


def _delegated(people: Participants) -> Any:
    """Return the challenge, after a delegation over the new credential."""
    people.delegation_id = people.hana.ask("POST", "/delegations", terms(people))["id"]
    return people.vera.ask("POST", "/challenges", {"domain": SHOP})


def _verdict(log: str, proof: dict[str, Any], expectation: Expectation, now: datetime) -> dict[str, Any]:
    """Return the verdict; ``reason`` is None for a valid proof."""
    try:
        verdict = verified_at_home(log, proof, expectation, now)
    except ProofInvalid as error:
        return {"reason": str(error.details.get("reason", error)), "unchecked": list(NEVER_PROVEN)}
    return verdict | {"reason": None}


def _verdict_text(verdict: dict[str, Any]) -> str:
    if verdict["reason"] is not None:
        return f"refused: {verdict['reason']}"
    said = [name for name in _SAID if name not in verdict["unchecked"]]
    return f"valid; the proof itself says {', '.join(said)}"


def _issued_text(outcome: dict[str, Any]) -> str:
    if outcome["code"] != "none":
        return f"not at this service: {refusal_text(outcome)}"
    issued = outcome["answer"]
    return f"{issued['id']}, {issued['status']}, suite {issued['suite']}"


def _proof_text(outcome: dict[str, Any]) -> str:
    if outcome["code"] != "none":
        return f"not at this service: {refusal_text(outcome)}"
    body = outcome["answer"]
    return f"proof {body['proofId']}, {len(body['proof']['proof']):,} characters"
