"""What a story may say of a request for a proof: what is wrong with it, and what the delegation behind it allows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from features.delegating import ABSENT, SHORTLY, UNKNOWN
from features.formats import new_key, printed
from features.proving import BOTH, Proving

Flaw = Callable[[Proving], None]


def _token(**change: str) -> Flaw:
    return lambda proving: proving.token.update(change)


def _both(action: str | None = None, **change: Any) -> Flaw:
    def ask_both(proving: Proving) -> None:
        proving.predicates = BOTH
        proving.token |= {} if action is None else {"action": action}
        proving.body |= change

    return ask_both


def _joint(**change: Any) -> Flaw:
    def ask_jointly(proving: Proving) -> None:
        proving.question = {"credentials": [{"credentialId": proving.credential_id, "predicates": [BOTH[0]]}]}
        proving.body |= change

    return ask_jointly


def _times(issued: timedelta, expires: timedelta) -> Flaw:
    def set_times(proving: Proving) -> None:
        now = datetime.now(UTC)
        proving.token |= {"issuedAt": printed(now + issued), "expiresAt": printed(now + expires)}

    return set_times


def _stranger_signs(proving: Proving) -> None:
    proving.hana.secrets["authentication"] = new_key().secret


def _foreign_credential(proving: Proving) -> None:
    proving.credential_id = proving.issue(proving.world.new_person("Eve"))


def _unknown_credential(proving: Proving) -> None:
    proving.credential_id = f"urn:uuid:{UNKNOWN}"


# What may be wrong with a request, by the words of the stories.
FLAWS: dict[str, Flaw] = {
    "a number of 17 digits": lambda proving: proving.predicate.update(value=0.1 + 0.2),
    "a fraction for an integer": lambda proving: proving.predicate.update(value=18.5),
    "predicate and predicates": lambda proving: proving.body.update(predicates=BOTH),
    "predicate and credentials": lambda proving: proving.body.update(credentials=[{"credentialId": "urn:uuid:1"}]),
    "predicates and credentials": lambda proving: proving.body.update(credentials=[{"credentialId": "urn:uuid:1"}]),
    "a predicate in place of predicates": lambda proving: proving.body.update(predicate=BOTH[0]),
    "a consent of a wallet": lambda proving: proving.body.update(holderConsent={"notBefore": 0, "notAfter": 0}),
    "no predicates": lambda proving: setattr(proving, "predicates", []),
    "credentials and a credential": _joint(credentialId="urn:uuid:1"),
    "the same credential twice": _joint(credentials=[{"credentialId": "urn:uuid:1"}] * 2),
    "a pseudonym of one credential": lambda proving: proving.body.update(pseudonym="https://shop.example"),
    "a group of one": _joint(either=[[0]]),
    "an alternative that is not there": _joint(either=[[0, 15]]),
    "the one predicate as neq": lambda proving: proving.predicate.update(type="neq"),
    "seventeen predicates": _both(predicates=[BOTH[0]] * 17),
    "two predicates and one action": _both("zkp.prove.age.gte"),
    "two predicates and their actions the other way": _both("zkp.prove.country.set_member zkp.prove.age.gte"),
    "one predicate and two actions": _token(action="zkp.prove.age.gte zkp.prove.country.set_member"),
    "predicates that contradict each other": lambda proving: setattr(
        proving, "predicates", [BOTH[0], {**BOTH[0], "type": "lt", "value": 18}]
    ),
    "no value": lambda proving: proving.predicate.pop("value"),
    "a wait of -1 ms": lambda proving: proving.body.update(syncWaitMs=-1),
    "a wait of 1.5 ms": lambda proving: proving.body.update(syncWaitMs=1.5),
    "a wait of true": lambda proving: proving.body.update(syncWaitMs=True),
    'a wait of "5"': lambda proving: proving.body.update(syncWaitMs="5"),
    "a token with an eleventh member": lambda proving: proving.body.update(ibct=proving.signed_token() | {"ext": "x"}),
    "a holder that is not a DID": lambda proving: proving.body.update(holderDid="hana"),
    "the wish to be anchored": lambda proving: proving.body.update(anchor=True),
    "a token of another type": lambda proving: proving.body.update(ibct=proving.signed_token() | {"type": "Ticket"}),
    "a token with a short nonce": _token(nonce="short"),
    "a token without a zone": _token(issuedAt="2026-01-01T00:00:00"),
    "a token from tomorrow": _times(timedelta(days=1), timedelta(days=2)),
    "a token for ten years": _times(timedelta(0), timedelta(days=3650)),
    "a token for another agent": lambda proving: proving.token.update(target=proving.world.person("Ben").did),
    "a token that a stranger signed": _stranger_signs,
    "an unknown holder": lambda proving: proving.body.update(holderDid=ABSENT),
    "a token of yesterday": _times(timedelta(days=-2), timedelta(days=-1)),
    "an unknown delegation": _token(delegationRef=UNKNOWN),
    "a delegation of another place": _token(delegationRef=f"https://elsewhere.example/delegations/{UNKNOWN}"),
    "an action of another attribute": _token(action="zkp.prove.country.gte"),
    "an action that is a prefix": _token(action="zkp.prove.ag.gte"),
    "an action with a wildcard": _token(action="zkp.prove.*.gte"),
    "an action pinned to 21": _token(action="zkp.prove.age.gte.21"),
    "an unknown credential": _unknown_credential,
    "another holder's credential": _foreign_credential,
    "a bound on the country": lambda proving: proving.predicate.update(attributeName="country", value="JP"),
    "an attribute that is not there": lambda proving: proving.predicate.update(attributeName="height"),
    "a value that every age satisfies": lambda proving: proving.predicate.update(value=0),
}
# What a delegation allows, by the words of the stories.
TERMS: dict[str, dict[str, Any]] = {
    "things about her": {},
    "once": {"maxUses": 1},
    "one question": {"maxThresholds": 1},
    "another attribute": {"actions": ["zkp.prove.country.eq"]},
    "another credential": {"credentialIds": ["urn:uuid:another"]},
    "another verifier": {"verifiers": ["https://vera.example"]},
    "from tomorrow on": {"notBefore": "in 1 days"},
    "for a few seconds": {"expiresAt": SHORTLY},
    "what she fixed herself": {"autonomyLevel": 2},
    "one of two values": {"autonomyLevel": 2, "actions": ["zkp.prove.age.gte.18", "zkp.prove.age.gte.21"]},
    "reading": {"autonomyLevel": 1},
}
