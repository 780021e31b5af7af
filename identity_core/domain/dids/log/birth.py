"""What a first entry says of the rules of its log, for good: it is in the hash that the DID is.

Said is only what differs from the logs of before there was a choice, so that every log has one form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from identity_core.domain.dids.changes import Change, Create
from identity_core.domain.dids.evolution import Rules
from identity_core.domain.dids.state import DidState, LogInvalid

_STRICT_GRACE: Final = "strictGrace"
_STRICT_EVIDENCE: Final = "strictEvidence"
MEMBERS: Final = frozenset({_STRICT_GRACE, _STRICT_EVIDENCE})


def wished(rules: Rules, change: Change) -> Rules:
    """The rules under which the DID of ``change`` begins: those of the method, where it says nothing itself."""
    if isinstance(change, Create) and change.strict_evidence is not None:
        return replace(rules, strict_evidence=change.strict_evidence)
    return rules


def said(born: Rules | DidState) -> dict[str, Any]:
    """The members that say these rules."""
    members: dict[str, Any] = {}
    if not born.strict_grace:
        members[_STRICT_GRACE] = False
    if born.strict_evidence:
        members[_STRICT_EVIDENCE] = True
    return members


def rules(members: Mapping[str, Any]) -> Rules:
    """The rules that the members of a first entry say. How long a grace period may be was decided when an entry was drafted; settings
    change, logs do not. Raises ``LogInvalid`` for members that ``said`` would not have written."""
    found = Rules(timedelta.max, _STRICT_GRACE not in members, _STRICT_EVIDENCE in members)
    if said(found) != {name: members[name] for name in MEMBERS if name in members}:
        raise LogInvalid("The first entry says the rules of its log in another form.")
    return found
