"""The sender: a key, its address, and EIP-1559 transactions signed with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from msgspec import Struct

from identity_core.files import read_regular
from identity_ledger_evm.fees import Fees
from identity_ledger_evm.settings import EvmSettings


class KeyUnusable(Exception):
    """The key cannot be read. The message names the place of the key, and contains nothing of it."""


class Signed(Struct, frozen=True):
    """The bytes to send, and the hash by which the chain will know them."""

    raw: bytes
    hash: bytes


class Sender:
    """Signs. ``address`` is in lower case; the key is in no ``repr``."""

    def __init__(self, private_key: str | bytes, chain_id: int) -> None:
        try:
            self._account: LocalAccount = Account.from_key(private_key)
        except (ValueError, TypeError):
            raise KeyUnusable(
                "plugins.evm.private_key is not a key: 32 bytes in hex, below the order of secp256k1"
            ) from None
        self._chain_id = chain_id
        self.address = self._account.address.lower()

    @classmethod
    def from_keystore(cls, path: Path, password: str | None, chain_id: int) -> Sender:
        """Open an encrypted keystore file (Web3 Secret Storage, as geth and Foundry write it)."""
        try:
            key = Account.decrypt(json.loads(read_regular(path)), password or "")
        except OSError as error:
            raise KeyUnusable(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, NotImplementedError):
            raise KeyUnusable(
                f"{path} is not a keystore file, or plugins.evm.keystore_password does not open it"
            ) from None
        return cls(bytes(key), chain_id)

    def sign(self, to: str | None, data: bytes, *, nonce: int, gas: int, fees: Fees) -> Signed:
        """Return a transaction that pays nothing; ``to`` None deploys ``data``."""
        fields: dict[str, Any] = {
            "type": 2,
            "chainId": self._chain_id,
            "nonce": nonce,
            "gas": gas,
            "maxFeePerGas": fees.most,
            "maxPriorityFeePerGas": fees.tip,
            "value": 0,
            "data": data,
        }
        if to is not None:
            fields["to"] = bytes.fromhex(to[2:])
        signed = self._account.sign_transaction(fields)
        return Signed(bytes(signed.raw_transaction), bytes(signed.hash))


def sender_of(settings: EvmSettings, chain_id: int) -> Sender:
    """Return the sender of the settings. Raises ``KeyUnusable``."""
    if settings.keystore is not None:
        return Sender.from_keystore(settings.keystore, settings.keystore_password, chain_id)
    if settings.private_key is None:
        raise KeyUnusable("plugins.evm.private_key is not set, and neither is plugins.evm.keystore")
    return Sender(settings.private_key, chain_id)
