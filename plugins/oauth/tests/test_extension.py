"""The declaration of the extension, and what an upgrade keeps valid."""

from __future__ import annotations

import asyncio
import hashlib
import os
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from identity_oauth.domain.authorization_code import AuthorizationCode, AuthorizationCodes
from identity_oauth.extension import identity_extend
from identity_oauth.use_cases.token_keys import TokenKeys
from identity_wallets.extension import identity_extend as wallets

from identity_codec import multikey
from identity_codec.sealing import derive_key
from identity_core.extension.choice import choose_extensions, in_order
from identity_core.extension.opening import OpenKernel
from identity_core.plugin.load import PluginSource
from identity_core.settings import SettingsError, load

CODE = AuthorizationCode(
    id="AAAA",
    client="did:ids:aki",
    is_native=False,
    redirect="r",
    challenge="c",
    audience=None,
    scopes=frozenset({"zkp:prove"}),
    holder="did:ids:hana",
    key="z6Mk",
    expires_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def test_an_upgrade_keeps_authorization_codes() -> None:
    """The secret is what version 1.0 derived."""
    root = os.urandom(32)
    parts: Any = dict.fromkeys(
        ("settings", "refusal", "clock", "dids", "challenges", "plugins", "services", "operations"), None
    )
    kernel = OpenKernel(origin="", root=root, name="oauth", **parts)
    before = AuthorizationCodes(derive_key(root, info=b"identity: authorization codes, v1"), os.urandom)
    assert AuthorizationCodes(kernel.secret("codes"), os.urandom).open(before.seal(CODE)) == CODE


def test_wallets_need_it() -> None:
    source = PluginSource("x", "identity-x", "1", dict)
    installed = in_order([(source, identity_extend()), (source, wallets())])
    settings = load(environment={"IDENTITY_EXTENSIONS_ENABLED": "wallets", "IDENTITY_EXTENSIONS_DISABLED": "oauth"})
    with pytest.raises(SettingsError, match="wallets requires the extension oauth, which is off") as refused:
        choose_extensions(installed, settings, ())
    assert "identity extensions enable oauth" in str(refused.value.__dict__)


def test_an_upgrade_keeps_the_keys_of_tokens() -> None:
    """Their names in the custodian and the secret of sealed API keys are those of version 1.0."""
    generated: list[str] = []

    class Signing:
        async def generate(self, name: str, kind: str, **_: str) -> str:
            generated.append(name)
            return multikey.encode_public(kind, hashlib.sha256(name.encode()).digest())

        async def sign(self, name: str, message: bytes) -> bytes:
            return name.encode() + b"|" + message

    custodian, clock = cast(Any, Signing()), cast(Any, None)
    keys = asyncio.run(TokenKeys.open(custodian, 1, clock, 600))
    assert generated == ["token-seal", "token-1", "token-2"]
    assert keys.seal == hashlib.sha256(b"token-seal|identity: API keys in access tokens, v1").digest()
