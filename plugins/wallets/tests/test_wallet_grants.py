"""Codes, tokens and nonces: each opens as what it is, until its end and not a moment longer."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest
from identity_wallets.domain.grants import CODE_LIFE, NONCE_LIFE, TOKEN_LIFE, Stage, WalletGrants

NOW = datetime(2026, 5, 1, 12, 0, 0, 500_000, tzinfo=UTC)
WHOLE = NOW.replace(microsecond=0)
GRANTS = WalletGrants(bytes(range(32)), os.urandom)


def test_a_code_opens_until_its_end() -> None:
    grant = GRANTS.offer("urn:uuid:1", NOW, with_transaction_code=True)
    text = GRANTS.seal(Stage.CODE, grant)
    end = WHOLE + CODE_LIFE
    assert GRANTS.open(Stage.CODE, text, end - timedelta(microseconds=1)) == grant
    with pytest.raises(ValueError, match="expired"):
        GRANTS.open(Stage.CODE, text, end)
    assert grant.transaction_code is not None
    assert grant.transaction_code not in repr(grant)
    assert grant.has_code(grant.transaction_code)
    assert not grant.has_code("")


def test_a_token_has_no_transaction_code_and_a_life_of_its_own() -> None:
    grant = GRANTS.offer("urn:uuid:1", NOW, with_transaction_code=True)
    later = NOW + CODE_LIFE - timedelta(seconds=1)
    token = GRANTS.for_token(grant, later)
    assert (token.id, token.credential_id, token.transaction_code) == (grant.id, grant.credential_id, None)
    assert token.expires_at == later.replace(microsecond=0) + TOKEN_LIFE


def test_neither_opens_as_the_other_nor_elsewhere() -> None:
    grant = GRANTS.offer("urn:uuid:1", NOW, with_transaction_code=False)
    assert grant.transaction_code is None
    code, token = GRANTS.seal(Stage.CODE, grant), GRANTS.seal(Stage.TOKEN, grant)
    other = WalletGrants(bytes(32), os.urandom)
    for grants, stage, text in (
        (GRANTS, Stage.TOKEN, code),
        (GRANTS, Stage.CODE, token),
        (other, Stage.CODE, code),
        (GRANTS, Stage.CODE, code[:-1]),
        (GRANTS, Stage.CODE, ""),
        (GRANTS, Stage.CODE, "A" * 2_000),
    ):
        with pytest.raises(ValueError):
            grants.open(stage, text, NOW)


def test_two_offers_of_one_credential_are_spent_apart() -> None:
    one, two = (GRANTS.offer("urn:uuid:1", NOW, with_transaction_code=False) for _ in range(2))
    assert one.digest("code") != two.digest("code")
    assert len({one.digest(use) for use in ("code", "token", "try 1", "try 2")}) == 4


def test_a_nonce_is_ours_until_its_end() -> None:
    nonce = GRANTS.nonce(NOW)
    end = WHOLE + NONCE_LIFE
    assert GRANTS.nonce_end(nonce, end - timedelta(microseconds=1)) == end
    with pytest.raises(ValueError, match="expired"):
        GRANTS.nonce_end(nonce, end)
    assert nonce != GRANTS.nonce(NOW)
    for text in ("", nonce[:-1], nonce + "A", "A" * len(nonce), "A" * 2_000, "é"):
        with pytest.raises(ValueError):
            GRANTS.nonce_end(text, NOW)
    with pytest.raises(ValueError, match="ours"):
        WalletGrants(bytes(32), os.urandom).nonce_end(nonce, NOW)
