"""Chapter 7: what Vera, Hana and Ivo see of it."""

from __future__ import annotations

from typing import Any

from identity_core.cli.demo.cast import Cast, anchor_text
from identity_core.cli.demo.telling import Story


def tell(story: Story, cast: Cast) -> None:
    """Changes nothing."""
    story.tell(
        "Vera sees what she checked, and not whom it was about",
        lambda: cast.vera.ask("GET", "/verifications/history"),
        _history,
        promise=lambda page: len(page["items"]) == 2 and not any(row["holderDid"] for row in page["items"]),
    )
    story.tell(
        "Hana sees everything that was done in her name, refusals too",
        lambda: cast.hana.ask("GET", "/dashboard/timeline"),
        _timeline,
        promise=lambda page: (
            {"proof.generated", "proof.refused", "proof.verified"} <= {row["kind"] for row in page["items"]}
        ),
    )
    story.tell(
        "Ivo sees that he issued a credential, and not where it is shown",
        lambda: cast.ivo.ask("GET", "/dashboard/timeline"),
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
