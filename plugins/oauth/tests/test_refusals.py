"""Refusals of the token endpoint in the shape of OAuth (RFC 6749 §5.2)."""

from __future__ import annotations

import pytest
from identity_oauth.domain.tokens import OauthRefusal
from identity_oauth.refusals import oauth_error

from identity_core import errors
from identity_core.api.errors import error_answer
from identity_core.api.request import Operation

OAUTH = Operation("issueToken", "POST", "/oauth/token", frozenset(), 'Basic realm="identity"', shape=oauth_error)


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (errors.AuthFailed(), 400, "invalid_client"),
        (errors.AuthRequired(), 401, "invalid_client"),
        (OauthRefusal("invalid_scope", "x", {}), 400, "invalid_scope"),
        (errors.InvalidRequest(), 400, "invalid_request"),
        (errors.UnsupportedMediaType(), 415, "invalid_request"),
        (errors.RateLimited(), 429, "temporarily_unavailable"),
        (errors.PluginUnavailable(), 503, "temporarily_unavailable"),
        (errors.InternalError(), 500, "server_error"),
    ],
)
def test_an_error_of_oauth(error: errors.IdentityError, status: int, kind: str) -> None:
    answer = error_answer(error, "r", OAUTH)
    assert (answer.status, answer.body["error"], answer.body["code"]) == (status, kind, error.code)
    assert ("www-authenticate" in dict(answer.headers)) == (status == 401)
    assert ("retry-after" in dict(answer.headers)) == (status in (429, 503))


def test_description_of_oauth_has_characters_that_it_may_have() -> None:
    answer = error_answer(errors.InvalidRequest('a "b" \\ \u00e9\n'), "r", OAUTH)
    assert answer.body["error_description"] == "a 'b' ' ''"
