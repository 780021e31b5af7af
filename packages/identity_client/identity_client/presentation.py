"""Sentences about events, proofs and checks, by the role of the viewer. They are data (``presentation.json``), which a page or a command
translates and fills. Of a list the first sentence is used whose members are all known; a role that is missing does not see such a row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

ROLES: Final = ("holder", "agent", "issuer", "verifier", "operator")
DATA: Final = json.loads((Path(__file__).parent / "presentation.json").read_text("utf-8"))
EVENTS: Final[Mapping[str, Mapping[str, Any]]] = DATA["events"]
CHECKS: Final[Mapping[str, Mapping[str, str]]] = DATA["checks"]
_PLACE: Final = re.compile(r"\{(\w+)\}")


class Sentence(Struct, frozen=True):
    """``text`` with places in braces, and the fact for each; ``icon`` and ``tone`` are those of the design."""

    text: str
    facts: Mapping[str, Any]
    icon: str = "info"
    tone: str = ""


def role_of(item: Mapping[str, Any], viewer: str | None) -> str:
    """Return the role of the DID ``viewer`` in a TimelineItem; None is an operator."""
    if viewer is None:
        return "operator"
    return next((role for role in ROLES[:3] if item.get(f"{role}Did") == viewer), "verifier")


def sentence(item: Mapping[str, Any], viewer: str | None, found: Mapping[str, Any]) -> Sentence | None:
    """Return the sentence about a TimelineItem for ``viewer``, or None for a row that this role does not see. ``found`` has the facts that
    other operations return: ``question`` (predicates), ``verifier`` (a website or DID), ``type`` (of the credential)."""
    kind = item["kind"]
    by = "agent" if (item["actor"] or "").partition(":")[2] == item["agentDid"] is not None else ""
    names = (f"{kind}/{part}" for part in (item["code"], item["outcome"], by))
    event = EVENTS[next((name for name in (*names, kind) if name in EVENTS), "unknown")]
    facts = {name.removesuffix("Did"): value for name, value in {**item, **found}.items() if value}
    texts = event.get(role_of(item, viewer), ())
    text = next((one for one in texts if facts.keys() >= {*_PLACE.findall(one)}), None)
    return text and Sentence(text, facts, event["icon"], event.get("tone", ""))


def parts_of(text: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the text between the places of a translated ``text`` as ``("", text)``, and each place as ``(name, fact)``."""
    for number, part in enumerate(_PLACE.split(text)):
        yield (part, facts[part]) if number % 2 else ("", part)


def words_of(item: Mapping[str, Any]) -> str:
    """Return the sentence about a TimelineItem for an operator, in English; the kind of an item without a sentence."""
    said = sentence(item, None, {})
    return item["kind"] if said is None else "".join(str(part) for _, part in parts_of(said.text, said.facts))


def check_text(check: Mapping[str, Any]) -> str:
    """Return the line for a check of a verification; the name of a check that has none."""
    answer = {True: "yes", False: "no", None: "none"}[check["ok"]]
    return CHECKS.get(check["check"], {}).get(answer, check["check"])
