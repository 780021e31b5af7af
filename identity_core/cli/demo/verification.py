"""Chapter 5: Vera checks the proof with the service, and without it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import orjson

from identity_core.cli.demo.cast import SHOP, Cast
from identity_core.cli.demo.delegation import ADULT
from identity_core.cli.demo.telling import Story
from identity_core.domain.proof import Expectation

_VERIFY: Final = "/zkp/proofs/verify"


def tell(story: Story, cast: Cast) -> None:
    """Changes nothing."""
    shown = cast.proved["proof"]
    expected = {"predicate": ADULT, "issuerDid": cast.ivo.did, "schemaId": cast.schema_id, "maxAge": 300}
    for_her = {"challenge": cast.challenge, "domain": SHOP}
    story.tell(
        "Vera checks it: what she asked, for her, with her challenge, under Ivo's key",
        lambda: cast.vera.ask("POST", _VERIFY, shown | expected | for_her),
        verdict_text,
        promise=lambda verdict: verdict["verified"] is True and not verdict["unchecked"],
    )
    _not_believed(story, cast, "Somebody shows it to her a second time", cast.vera, shown | for_her, "CHALLENGE_SPENT")
    bank = {"challenge": "the challenge of a bank", "domain": "https://bank.example"}
    _not_believed(story, cast, "Mallory shows it to her bank", None, shown | bank, "DOMAIN_MISMATCH")
    before, one, after = shown["proof"][:999], shown["proof"][999], shown["proof"][1000:]
    forged = {"proof": before + ("A" if one != "A" else "B") + after}
    _not_believed(story, cast, "She changes one character of it", None, forged, "PROOF_INVALID")
    _offline(story, cast)


def verdict_text(verdict: dict[str, Any]) -> str:
    """A verdict in words."""
    if not verdict["verified"]:
        return f"not verified: {', '.join(verdict['errors'])}"
    proven = verdict["predicate"]
    checks = len(verdict["checks"])
    return f"verified, {checks} checks: {proven['attributeName']} {proven['type']} {proven['value']}, and nothing else"


def _not_believed(story: Story, cast: Cast, title: str, who: Any, body: dict[str, Any], code: str) -> None:
    def act() -> Any:
        if who is not None:
            return who.ask("POST", _VERIFY, body)
        return cast.session.call("POST", _VERIFY, body=body, signed_in=False)

    story.tell(title, act, verdict_text, promise=lambda verdict: not verdict["verified"] and code in verdict["errors"])


def _offline(story: Story, cast: Cast) -> None:
    from identity_core.cli.options import configured
    from identity_core.cli.proof_verify import installed_prover, verify_octets
    from identity_core.cli.public_keys import in_log

    log = story.tell(
        "Vera fetches the log of Ivo's DID, from here or from anywhere",
        lambda: cast.session.log(cast.ivo.did),
        lambda text: f"{len(text.splitlines())} entry, {len(text):,} characters",
    )
    octets = orjson.dumps(cast.proved["proof"])
    expectation = Expectation(
        verification_method=None,
        header_digest=None,
        predicates=(ADULT,),
        audience=SHOP,
        nonce=cast.challenge.encode(),
        proof_id=cast.proved["proofId"],
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
