"""Chapter 3: Vera asks, and Hana lets Aki answer: a delegation is the ceiling, a signed token the permission for one use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from identity_core.cli.demo.cast import SHOP, Cast
from identity_core.cli.demo.telling import Story
from identity_core.client import ibct
from identity_core.domain.errors import JsonValue
from identity_core.domain.times import printed

ADULT: Final[dict[str, JsonValue]] = {"attributeName": "age", "type": "gte", "value": 18}
COUNTRY: Final = ("country", "set_member")


def tell(story: Story, cast: Cast) -> None:
    """Leaves a request that Aki may send."""
    challenge = story.tell(
        "Vera takes a challenge: what she is shown must be made for her, and now",
        lambda: cast.vera.ask("POST", "/challenges", {"domain": SHOP}),
        lambda body: f"{body['challenge'][:24]}… for {body['domain']}",
    )
    cast.challenge = challenge["challenge"]
    made = story.tell(
        "Hana delegates to Aki: whether she is 18, fixed, and any question about her country",
        lambda: cast.hana.ask("POST", "/delegations", _terms(cast)),
        lambda body: (
            f"autonomy {body['autonomyLevel']}, {body['maxUses']} uses, {body['maxRefusals']} wrong guess at most"
        ),
    )
    cast.delegation_id = made["id"]
    token = story.tell(
        "At home, Hana signs a token for one use of it",
        lambda: signed(cast, ibct.action_text("age", "gte", pin=18)),
        lambda token: f"{token['action']}, until {token['expiresAt']}",
    )
    cast.request = ibct.proof_request(token, cast.credential_id, value=18, challenge=cast.challenge, domain=SHOP)


def signed(cast: Cast, action: str) -> dict[str, str]:
    """A token of Hana's for Aki."""
    return ibct.issue(cast.hana.signer, ibct.Wish(cast.aki.did, action, cast.delegation_id, timedelta(hours=1)))


def _terms(cast: Cast) -> dict[str, Any]:
    return {
        "holderDid": cast.hana.did,
        "agentDid": cast.aki.did,
        "predicates": [{"attributeName": "age", "type": "gte", "values": [18]}],
        "actions": [ibct.action_text(*COUNTRY)],
        "credentialIds": [cast.credential_id],
        "verifiers": [SHOP],
        # A value that the agent chooses needs 3, and so does an anchor on a fixed one.
        "autonomyLevel": 3,
        "maxUses": 5,
        "expiresAt": printed(datetime.now(UTC) + timedelta(days=30)),
        "purpose": "buying at Vera's",
    }
