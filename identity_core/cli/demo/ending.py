"""Chapter 9: Hana's DID ends, and what is left of it can be checked by anybody."""

from __future__ import annotations

from identity_core.cli.demo.cast import Cast
from identity_core.cli.demo.telling import Story
from identity_core.domain.log import verify


def tell(story: Story, cast: Cast) -> None:
    """Leaves a log."""
    session, hana = cast.session, cast.hana
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
        lambda: verify(log.encode()).summary(),
        lambda body: f"{body['versions']} versions, every hash and signature checked",
    )
