"""The promises of a verifier of bearer tokens, as tests (``ports/key_store.py``).

An author subclasses ``BearerConformance`` with two fixtures::

    class TestMyTokens(BearerConformance):
        @pytest.fixture
        def verify(self): return my_plugin.identity_verify_bearer

        @pytest.fixture
        def tokens(self):
            return Tokens(good=…, at=…, expires_at=…, bad=[a token of mine with another signature, …])
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from msgspec import Struct

from identity_core.domain.callers import Caller
from identity_core.errors import AuthFailed
from identity_core.ports.key_store import BearerVerifier

FOREIGN_TOKENS = (
    "",
    " ",
    "a",
    "idk_live_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "eyJhbGciOiJub25lIn0.e30.",
    "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL3NvbWVib2R5LmVsc2UifQ.AAAA",
    "..",
    "a.b.c.d.e",
    "\0",
    "é" * 100,
    "A" * 100_000,
    "🦀.🦀.🦀",
)


class Tokens(Struct, frozen=True):
    """``good`` is valid at the aware UTC time ``at`` and until ``expires_at`` (None: for ever); ``bad`` are invalid tokens of the
    verifier's own kind, at the same time."""

    good: str
    at: datetime
    expires_at: datetime | None
    bad: Sequence[str]


class BearerConformance:
    """The promises of every verifier: three answers, and nothing else."""

    def test_a_good_token_has_a_caller(self, verify: BearerVerifier, tokens: Tokens) -> None:
        """A valid token gives a ``Caller`` with an identity, twice the same."""
        caller = verify(tokens.good, tokens.at)
        assert isinstance(caller, Caller), "a good token gave no caller"
        assert caller.subject is not None or caller.api_key is not None, "the caller has no identity"
        assert caller == verify(tokens.good, tokens.at), "one token has two callers"

    def test_foreign_token_is_left_to_others(self, verify: BearerVerifier, tokens: Tokens) -> None:
        """``None``, and no exception, for tokens of other makers, API keys and junk."""
        for token in FOREIGN_TOKENS:
            assert verify(token, tokens.at) is None, f"answered for a foreign token: {token[:40]!r}"

    def test_its_own_bad_tokens_are_refused(self, verify: BearerVerifier, tokens: Tokens) -> None:
        """``AuthFailed``, not ``None``, for a wrong token of its own kind: no other verifier may be called."""
        assert tokens.bad, "give at least one bad token"
        for token in tokens.bad:
            with pytest.raises(AuthFailed):
                verify(token, tokens.at)

    def test_a_changed_token_is_not_accepted(self, verify: BearerVerifier, tokens: Tokens) -> None:
        """No token that differs from a good one in a single character, or in what surrounds it, is accepted."""
        good = tokens.good
        forged = [good[:place] + ("A" if good[place] != "A" else "B") + good[place + 1 :] for place in range(len(good))]
        for token in (*forged, good + "A", good[:-1], " " + good, good + "\n", good + "="):
            try:
                caller = verify(token, tokens.at)
            except AuthFailed:
                continue
            # The last character of base64url may hold bits that mean nothing; a strict verifier refuses those too.
            assert caller is None, "a changed token was accepted"

    def test_the_time_is_the_one_that_it_is_given(self, verify: BearerVerifier, tokens: Tokens) -> None:
        """Refused from ``expires_at`` on, at whatever time the test runs."""
        if tokens.expires_at is None:
            pytest.skip("the tokens do not expire")
        assert verify(tokens.good, tokens.expires_at - timedelta(seconds=1)) is not None
        for late in (timedelta(0), timedelta(days=1)):
            with pytest.raises(AuthFailed):
                verify(tokens.good, tokens.expires_at + late)

    def test_errors_do_not_show_the_token(self, verify: BearerVerifier, tokens: Tokens) -> None:
        """The text of a refusal holds neither the token nor a part of it."""
        for token in tokens.bad:
            with pytest.raises(AuthFailed) as refusal:
                verify(token, tokens.at)
            assert token not in str(refusal.value) + str(refusal.value.details), "the error shows the token"
