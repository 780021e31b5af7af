"""The bearer kit must fail verifiers that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import hashlib
import hmac
import inspect
from datetime import UTC, datetime, timedelta

import pytest
from _pytest.outcomes import Failed
from identity_kit.conformance.bearer import BearerConformance, Tokens

from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed

KEY = b"the verifier's key"
AT = datetime(2026, 1, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
CALLER = Caller(subject=Did.parse("did:toy:a"))


def mac(seconds: str) -> str:
    return hmac.digest(KEY, seconds.encode(), hashlib.sha256).hex()


def token(expires: datetime) -> str:
    seconds = str(int(expires.timestamp()))
    return f"toy-{seconds}-{mac(seconds)}"


def sound(text, now):
    prefix, _, rest = text.partition("-")
    if prefix != "toy":
        return None
    seconds, _, given = rest.partition("-")
    if not hmac.compare_digest(mac(seconds).encode(), given.encode()) or now.timestamp() >= int(seconds):
        raise AuthFailed
    return CALLER


def accepts_all_of_its_own(text, now):
    return CALLER if text.startswith("toy-") else None


def ignores_the_signature(text, now):
    parts = text.split("-")
    if parts[0] != "toy":
        return None
    if len(parts) != 3 or not parts[1].isdigit() or now.timestamp() >= int(parts[1]):
        raise AuthFailed
    return CALLER


def says_none_for_bad(text, now):
    try:
        return sound(text, now)
    except AuthFailed:
        return None


def refuses_strangers(text, now):
    if not text.startswith("toy-"):
        raise AuthFailed
    return sound(text, now)


def chokes(text, now):
    text.encode("ascii")
    return sound(text, now)


def looks_at_its_own_clock(text, now):
    return sound(text, AT)


def trims(text, now):
    return sound(text.strip(), now)


def tells_the_token(text, now):
    try:
        return sound(text, now)
    except AuthFailed:
        raise AuthFailed(details={"token": text}) from None


def knows_nobody(text, now):
    return sound(text, now) and Caller()


BROKEN = [
    (accepts_all_of_its_own, "test_its_own_bad_tokens_are_refused"),
    (ignores_the_signature, "test_a_changed_token_is_not_accepted"),
    (says_none_for_bad, "test_its_own_bad_tokens_are_refused"),
    (refuses_strangers, "test_foreign_token_is_left_to_others"),
    (chokes, "test_foreign_token_is_left_to_others"),
    (looks_at_its_own_clock, "test_the_time_is_the_one_that_it_is_given"),
    (trims, "test_a_changed_token_is_not_accepted"),
    (tells_the_token, "test_errors_do_not_show_the_token"),
    (knows_nobody, "test_a_good_token_has_a_caller"),
]

PROMISES = [
    name for name, member in inspect.getmembers(BearerConformance, inspect.isfunction) if name.startswith("test_")
]


def failures(verify) -> dict[str, str]:
    tokens = Tokens(token(AT + HOUR), AT, AT + HOUR, [token(AT - HOUR), token(AT + HOUR)[:-4] + "beef"])
    broken = {}
    for name in PROMISES:
        try:
            getattr(BearerConformance(), name)(verify, tokens)
        except (Exception, Failed) as failure:
            broken[name] = str(failure)
    return broken


def test_a_sound_verifier_keeps_every_promise():
    assert failures(sound) == {}


@pytest.mark.parametrize(("verify", "promise"), BROKEN, ids=[broken.__name__ for broken, _ in BROKEN])
def test_a_broken_verifier_fails_where_its_fault_lies(verify, promise):
    assert promise in failures(verify)
