from typing import Any

import pytest

from identity_codec.structs import plain
from identity_core import errors
from identity_core.api.errors import ANY_CHALLENGE, error_answer
from identity_core.api.request import Operation

OPERATION = Operation("updateDid", "PATCH", "/dids/{did}", frozenset({"DIDAuth"}), 'DIDAuth realm="identity"')


def test_the_shape() -> None:
    answer = error_answer(errors.DidNotFound(details={"did": "did:x:y"}), "r-1")
    assert answer.status == 404
    assert plain(answer.body) == {
        "error": {
            "code": "DID_NOT_FOUND",
            "message": "The DID does not exist on the ledger.",
            "details": {"remedy": errors.DidNotFound.remedy, "did": "did:x:y", "requestId": "r-1"},
        }
    }
    assert dict(answer.headers)["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("details", "remedy"),
    [
        ({}, errors.DidNotFound.remedy),
        ({"reason": "version"}, "Use a version that listDidHistory lists."),
        ({"reason": "of no code"}, errors.DidNotFound.remedy),
        ({"reason": 7}, errors.DidNotFound.remedy),
        ({"versionId": 7, "did": "did:x:y"}, "Use a version that listDidHistory lists."),
        ({"reason": "version", "remedy": "Ask."}, "Ask."),
        ({"supported": ["a", "b"], "given": "c"}, "Choose from a, b."),
        ({"supported": []}, errors.DidNotFound.remedy),
        ({"remedies": ["wait", "ask"]}, "wait; or ask."),
    ],
)
def test_answer_has_remedy_of_case_reason_or_code(details: dict[str, Any], remedy: str) -> None:
    answer = error_answer(errors.DidNotFound(details=details), "r")
    assert answer.body.error.details["remedy"] == remedy


@pytest.mark.parametrize("error", [errors.AuthRequired(), errors.AuthFailed()])
def test_401_names_the_challenges_of_the_operation(error: errors.IdentityError) -> None:
    assert dict(error_answer(error, "r", OPERATION).headers)["www-authenticate"] == OPERATION.challenge
    assert dict(error_answer(error, "r").headers)["www-authenticate"] == ANY_CHALLENGE


BEARER = 'Bearer realm="identity", resource_metadata="https://id.example/m"'
WITH_BEARER = Operation(
    "getDelegation", "GET", "/d/{id}", frozenset({"Bearer"}), f'ApiKey realm="identity", {BEARER}', bearer=BEARER
)


@pytest.mark.parametrize(
    ("error", "has_bearer", "expected"),
    [
        (errors.AuthFailed(), True, f'ApiKey realm="identity", {BEARER}, error="invalid_token"'),
        (errors.AuthFailed(), False, WITH_BEARER.challenge),
        # RFC 6750 §3.1: who brought nothing is told no error.
        (errors.AuthRequired(), False, WITH_BEARER.challenge),
        (
            errors.Forbidden(details={"scope": "zkp:prove"}),
            True,
            f'{BEARER}, error="insufficient_scope", scope="zkp:prove"',
        ),
        (errors.Forbidden(details={"scope": "zkp:prove"}), False, None),
        (errors.Forbidden(details={"scope": 'a", x="'}), True, None),
        (errors.Forbidden(details={"did": "did:x:y"}), True, None),
    ],
)
def test_bearer_token_errors(error: errors.IdentityError, has_bearer: bool, expected: str | None) -> None:
    headers = dict(error_answer(error, "r", WITH_BEARER, has_bearer=has_bearer).headers)
    assert headers.get("www-authenticate") == expected


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (errors.RateLimited(details={"retryAfter": 0.01}), "1"),
        (errors.RateLimited(details={"retryAfter": 2.1}), "3"),
        (errors.RateLimited(), "1"),
        (errors.Overloaded(), "1"),
        (errors.PluginUnavailable(details={"retryAfter": 30}), "30"),
        (errors.RequestInProgress(details={"retryAfter": 1}), "1"),
        (errors.RequestInProgress(), None),
        (errors.DidNotFound(), None),
    ],
)
def test_retry_after_is_rounded_up(error: errors.IdentityError, seconds: str | None) -> None:
    assert dict(error_answer(error, "r").headers).get("retry-after") == seconds


def test_405_names_what_is_allowed() -> None:
    answer = error_answer(errors.MethodNotAllowed(details={"allow": ["GET", "HEAD"]}), "r")
    assert dict(answer.headers)["allow"] == "GET, HEAD"


def test_an_unknown_code_becomes_a_fault_of_ours() -> None:
    class Foreign(errors.IdentityError):
        code = "SOMETHING_ELSE"

    answer = error_answer(Foreign("secret", details={"secret": 1}), "r")
    assert answer.status == 500
    assert answer.body.error.code == "INTERNAL_ERROR"
    assert "secret" not in str(plain(answer.body))


def test_the_callers_error_is_left_as_it_was() -> None:
    error = errors.DidNotFound(details={"did": "d"})
    error_answer(error, "r")
    assert error.details == {"did": "d"}


def test_every_status_is_an_error_status() -> None:
    assert all(400 <= status <= 599 for status in (each.status for each in errors.CODES.values()))
