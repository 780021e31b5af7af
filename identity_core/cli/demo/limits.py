"""Chapter 6: what an agent that was taken over by Mallory tries."""

from __future__ import annotations

from identity_core.cli.demo.cast import SHOP, Cast
from identity_core.cli.demo.delegation import COUNTRY, signed
from identity_core.cli.demo.proof import PATH
from identity_core.cli.demo.telling import Story
from identity_core.client import ibct


def tell(story: Story, cast: Cast) -> None:
    """Leaves a delegation that has suspended itself."""
    spent = cast.request["ibct"]
    older = cast.request | {"predicate": cast.request["predicate"] | {"value": 24}}
    altered = cast.request | {"ibct": spent | {"action": ibct.action_text("age", "gte", pin=24)}}
    story.refused(
        "Aki asks whether Hana is 24, with the token that is spent",
        lambda: cast.aki.ask("POST", PATH, older),
        "IBCT_REPLAYED",
    )
    story.refused(
        "Aki writes 24 into it; Hana's signature no longer fits",
        lambda: cast.aki.ask("POST", PATH, altered),
        "IBCT_INVALID",
    )
    story.refused(
        "Mallory found a token of Hana's, and is not Aki",
        lambda: cast.vera.ask("POST", PATH, _guess(cast, "JP")),
        "FORBIDDEN",
    )
    story.refused(
        "Aki guesses at Hana's country, as the delegation lets it",
        lambda: cast.aki.ask("POST", PATH, _guess(cast, "US", "CA")),
        "PREDICATE_NOT_SATISFIED",
    )
    story.refused(
        "One wrong guess was the limit: the delegation has suspended itself",
        lambda: cast.aki.ask("POST", PATH, _guess(cast, "DE", "FR")),
        "DELEGATION_SUSPENDED",
    )


def _guess(cast: Cast, *countries: str) -> dict[str, object]:
    token = signed(cast, ibct.action_text(*COUNTRY))
    return ibct.proof_request(token, cast.credential_id, value=list(countries), domain=SHOP)
