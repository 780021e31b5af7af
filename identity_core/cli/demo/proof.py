"""Chapter 4: Aki obtains the proof, once."""

from __future__ import annotations

from typing import Any, Final

from identity_core.cli.demo.cast import Cast, anchor_text
from identity_core.cli.demo.telling import Story, attempted

PATH: Final = "/zkp/delegated-proofs"
_ANCHORED: Final = {"anchor": True, "syncWaitMs": 5_000}


def tell(story: Story, cast: Cast) -> None:
    """Leaves the answer that brought the proof."""
    probed = story.tell(
        "Aki asks for the proof, and for an anchor on the ledger",
        lambda: attempted(lambda: cast.aki.ask("POST", PATH, cast.request | _ANCHORED)),
        _anchored_text,
        promise=lambda said: said["code"] in ("none", "ANCHORING_DISABLED"),
    )
    cast.is_anchored = probed["code"] == "none"
    if cast.is_anchored:
        cast.request |= _ANCHORED
        cast.proved = probed["answer"]
    else:
        cast.proved = story.tell(
            "So Aki asks without; a refusal before the proof spends nothing",
            lambda: cast.aki.ask("POST", PATH, cast.request),
            _text,
        )
    story.tell(
        "The answer is lost; Aki sends the same again",
        lambda: cast.aki.ask("POST", PATH, cast.request),
        lambda body: f"the same proof {body['proofId']}, nothing spent",
        promise=lambda body: body["proof"] == cast.proved["proof"],
    )


def _anchored_text(said: dict[str, Any]) -> str:
    if said["code"] == "ANCHORING_DISABLED":
        return f"this service does not anchor: {said['status']} {said['code']}"
    return _text(said["answer"]) if said["code"] == "none" else f"refused: {said['status']} {said['code']}"


def _text(body: dict[str, Any]) -> str:
    size = len(body["proof"]["proof"])
    return f"proof {body['proofId']}, {size:,} characters, {anchor_text(body.get('anchor'))}"
