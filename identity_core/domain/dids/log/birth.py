"""Rules of a log, as its first entry states them: they are in the hash that the DID is. ``strictEvidence`` may also begin later.

Said is only what differs from the logs of before there was a choice, so that every log has one form: ``strictGrace: false``,
``strictEvidence: true``, and ``recoveryWindow`` in seconds where it is not 72 hours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, Final

from identity_codec.values import replace
from identity_core.domain.dids.changes import Change, Create, SetStrictEvidence, has_step
from identity_core.domain.dids.did import SERVICE_CONTEXTS
from identity_core.domain.dids.evolution import Rules
from identity_core.domain.dids.state import MAX_RECOVERY_WINDOW, RECOVERY_WINDOW, DidState, LogInvalid

_STRICT_GRACE: Final = "strictGrace"
STRICT_EVIDENCE: Final = "strictEvidence"
_RECOVERY_WINDOW: Final = "recoveryWindow"
MEMBERS: Final = frozenset({_STRICT_GRACE, STRICT_EVIDENCE, _RECOVERY_WINDOW})
_SECOND: Final = timedelta(seconds=1)


def wished(rules: Rules, change: Change) -> Rules:
    """The rules under which the DID of ``change`` begins: those of the method, where it says nothing itself."""
    if not isinstance(change, Create):
        return rules
    evidence, window = change.strict_evidence, change.recovery_window
    if evidence is None and window is None:
        return rules
    return replace(
        rules,
        strict_evidence=rules.strict_evidence if evidence is None else evidence,
        recovery_window=rules.recovery_window if window is None else window,
    )


def said(born: Rules | DidState) -> dict[str, Any]:
    """The members that say these rules."""
    members: dict[str, Any] = {}
    if not born.strict_grace:
        members[_STRICT_GRACE] = False
    if born.strict_evidence:
        members[STRICT_EVIDENCE] = True
    if born.recovery_window != RECOVERY_WINDOW:
        members[_RECOVERY_WINDOW] = born.recovery_window // _SECOND
    return members


def begun(change: Change) -> dict[str, Any]:
    """Return the members of an entry after the first that state a rule: ``strictEvidence: true`` of the one that begins it."""
    return {STRICT_EVIDENCE: True} if has_step(change, SetStrictEvidence) else {}


def check_begun(members: Mapping[str, Any], change: Change) -> None:
    """Raises ``LogInvalid`` unless the members of an entry after the first are those of ``begun``."""
    found = {name: members[name] for name in MEMBERS if name in members}
    # JSON's 1 is no true, which Python's == does not tell.
    if found != begun(change) or any(value is not True for value in found.values()):
        raise LogInvalid("An entry after the first states no rule of its log, but that strictEvidence begins.")


def rules(members: Mapping[str, Any], contexts: Collection[str] = SERVICE_CONTEXTS) -> Rules:
    """The rules that the members of a first entry say, whose document lists ``contexts``. How long a grace period may be was decided when
    an entry was drafted; settings change, logs do not. Raises ``LogInvalid`` for members that ``said`` would not have written."""
    seconds = members.get(_RECOVERY_WINDOW, RECOVERY_WINDOW // _SECOND)
    if type(seconds) is not int or not 0 <= seconds <= MAX_RECOVERY_WINDOW // _SECOND:
        raise LogInvalid("recoveryWindow is not a number of seconds, of 30 days at most.")
    window = seconds * _SECOND
    strict_grace, strict_evidence = _STRICT_GRACE not in members, STRICT_EVIDENCE in members
    found = Rules(timedelta.max, strict_grace, strict_evidence, window, contexts=contexts)
    if said(found) != {name: members[name] for name in MEMBERS if name in members}:
        raise LogInvalid("The first entry says the rules of its log in another form.")
    return found
