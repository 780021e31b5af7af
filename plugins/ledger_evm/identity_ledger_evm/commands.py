"""``identity ledger evm``: the contract, put on a chain and looked after."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from msgspec import structs

from identity_core.cli.options import Number, config_option, configured, of_installation, plugin_context
from identity_core.cli.output import as_json, fail, show
from identity_core.files import install_command
from identity_core.settings import Settings
from identity_ledger_evm.settings import EvmSettings

INSTALL = install_command("identity-ledger-evm[chain]")


@click.group(name="evm")
def evm() -> None:
    """Deploy and inspect the contract of the ledger plugin `evm`."""


@evm.command(name="deploy")
@config_option
@click.option("--wait", type=Number(0), default=120.0, help="Maximum time to wait for the block, in seconds.")
@as_json
def deploy(config: Path | None, wait: float) -> None:
    """Deploy the contract with the key of [plugins.evm], which then owns it, and print the settings that name it.

    Needs plugins.evm.rpc_url and plugins.evm.private_key or keystore.

    \b
    Example:
      identity ledger evm deploy --config identity.toml --wait 300
    """
    tools = _tools()
    made = structs.asdict(_run(tools.deploy(_settings(configured(config)), wait_seconds=wait)))
    show(made, text=_deployed)


@evm.command(name="status")
@click.argument("transaction", required=False)
@of_installation
@as_json
def status(settings: Settings, transaction: str | None) -> None:
    """Show contract, owner, purse and entries as the node sees them; or the state of TRANSACTION, a hash of an error or a receipt.

    \b
    Examples:
      identity ledger evm status
      identity ledger evm status 0x9f0c…
    """
    tools, table = _tools(), _settings(settings)
    if transaction is None:
        found = structs.asdict(_run(tools.status(table)))
        show(found, text=_lines)
        if found["fault"]:
            fail(found["fault"], found["contract"], "check plugins.evm.contract and plugins.evm.rpc_url")
        return
    match = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{64})", transaction)
    if match is None:
        fail("a transaction hash is 64 hex digits", transaction, "copy it from the error or the receipt", status=2)
    known = _run(tools.find_transaction(table, plugin_context(settings), bytes.fromhex(match[1])))
    if known is None:
        fail("this ledger has signed no such transaction", transaction, "ask a block explorer of the chain")
    show(structs.asdict(known), text=_lines)


def _tools() -> ModuleType:
    """Return what does the work. Ends the command where the libraries of a chain, which are an extra, are missing."""
    try:
        from identity_ledger_evm import deployment
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed", "the ledger plugin evm", INSTALL)
    return deployment


def _settings(settings: Settings) -> EvmSettings:
    return settings.plugins.tables.read("evm", EvmSettings)


def _run(work: Any) -> Any:
    from identity_ledger_evm.deployment import REFUSALS

    try:
        return asyncio.run(work)
    except REFUSALS as error:
        fail(str(error), "[plugins.evm]", "put the settings right")


def _deployed(made: dict[str, Any]) -> str:
    return "\n".join(
        (
            f"Deployed by {made['owner']} in transaction 0x{made['transaction_hash']}, {made['gas_used']} gas.",
            "Put this into the settings file:",
            "",
            "[plugins.evm]",
            f"chain_id = {made['chain_id']}",
            f'contract = "{made["contract"]}"',
            f"from_block = {made['from_block']}",
        )
    )


def _lines(found: dict[str, Any]) -> str:
    width = max(map(len, found))
    return "\n".join(f"{name.replace('_', ' '):<{width}}  {value}" for name, value in found.items() if value != "")
