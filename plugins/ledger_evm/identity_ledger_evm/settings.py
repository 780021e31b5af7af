"""``[plugins.evm]``: which chain, which contract, whose key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import Struct

from identity_core.plugin import NotConfigured, setting

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class EvmSettings:
    """A node, a contract that `identity ledger evm deploy` made, and the key that owns it."""

    rpc_url: str | None = setting(
        None, "JSON-RPC of a node.", secret=True, pattern=r"https?://\S+", example='"http://127.0.0.1:8545"'
    )
    chain_id: int | None = setting(None, "The chain's number; a node of another chain is refused.", least=1)
    contract: str | None = setting(
        None, "Address of the contract.", example='"0x5fbdb2315678afecb367f032d93f642f64180aa3"'
    )
    from_block: int = setting(0, "The block of the contract's deployment; nothing older is read.", least=0)
    private_key: str | None = setting(None, "The sender's key, 32 bytes in hex.", secret=True)
    keystore: Path | None = setting(None, "The key, as an encrypted file.")  # noqa: RUF009  (a Path cannot be changed)
    keystore_password: str | None = setting(None, "Opens the keystore file.", secret=True)
    confirmations: int = setting(1, "Blocks until a transaction counts, its own included.", least=1, most=10_000)
    append_seconds: float = setting(
        4.5, "How long an append waits for its blocks; keep it below ledger.deadline_seconds.", least=0.1, most=600
    )
    rpc_seconds: float = setting(3.0, "How long one call of the node may take.", least=0.1, most=120)
    poll_seconds: float = setting(
        0.25, "The longest pause between two looks while something is open.", least=0.01, most=60
    )
    priority_fee_gwei: float = setting(1.0, "The tip per gas.", least=0, most=10_000)
    max_fee_gwei: float | None = setting(None, "The most per gas; above it, transactions wait.", least=0.000_001)
    bump_blocks: int = setting(
        3, "Blocks without it after which a transaction is sent anew with a higher fee.", least=1
    )
    log_blocks: int = setting(2_000, "Blocks in one question for events.", least=1, most=1_000_000)

    def __post_init__(self) -> None:
        if self.contract is not None and _ADDRESS.fullmatch(self.contract) is None:
            raise ValueError("contract must be an address: 0x and 40 hex digits")
        if self.private_key is not None and self.keystore is not None:
            raise ValueError("private_key and keystore exclude each other")

    def configured(self) -> Configured:
        """Return what cannot be guessed. Raises ``NotConfigured`` naming what is missing."""
        if self.rpc_url is None or self.chain_id is None or self.contract is None:
            missing = [name for name in ("rpc_url", "chain_id", "contract") if getattr(self, name) is None]
            raise NotConfigured(
                f"plugins.evm: {', '.join(missing)} not set; `identity ledger evm deploy` makes a contract and tells them"
            )
        if self.private_key is None and self.keystore is None:
            raise NotConfigured("plugins.evm.private_key or plugins.evm.keystore is not set; one of them signs")
        return Configured(self.rpc_url, self.chain_id, self.contract.lower())


class Configured(Struct, frozen=True):
    """The settings that have no default. ``contract`` is in lower case."""

    rpc_url: str
    chain_id: int
    contract: str
