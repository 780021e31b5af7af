"""``identity ledger evm``: the contract of the ledger plugin ``evm``. Only what the plugin itself does is shown here."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import logging
import re
from pathlib import Path
from typing import Any

import click

from identity_core.cli.configuration import config_option, configured, data_dir_option, database_url_option
from identity_core.cli.output import as_json, fail, show
from identity_core.settings import Settings

TABLE = "evm"
INSTALL = "pip install 'identity-ledger-evm[chain]'"


@click.group(name="evm")
def evm() -> None:
    """The contract of the ledger plugin `evm`: put it on a chain, see how it is doing."""


@evm.command(name="deploy")
@config_option
@click.option("--wait", default=120.0, show_default=True, help="Seconds to wait for the block.")
@as_json
def deploy(config: Path | None, wait: float, json_output: bool) -> None:
    """Deploy the contract with the key of [plugins.evm], which then owns it, and print the settings that name it.

    Needs plugins.evm.rpc_url and plugins.evm.private_key or keystore.
    """
    plugin, settings = _plugin(configured(config))
    made = dataclasses.asdict(_run(plugin.deploy(settings, wait_seconds=wait), plugin))
    show(made, json_output=json_output, text=_deployed)


@evm.command(name="status")
@click.argument("transaction", required=False)
@config_option
@data_dir_option
@database_url_option
@as_json
def status(
    transaction: str | None, config: Path | None, data_dir: Path | None, database_url: str | None, json_output: bool
) -> None:
    """Show contract, owner, purse and entries as the node sees them; or what became of TRANSACTION, a hash that an error
    or a receipt told."""
    core = configured(config, {"data_dir": data_dir, "database_url": database_url})
    plugin, settings = _plugin(core)
    if transaction is None:
        found = dataclasses.asdict(_run(plugin.status(settings), plugin))
        show(found, json_output=json_output, text=_lines)
        if found["fault"]:
            fail(found["fault"], found["contract"], "check plugins.evm.contract and plugins.evm.rpc_url")
        return
    match = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{64})", transaction)
    if match is None:
        fail("a transaction hash is 64 hex digits", transaction, "copy it from the error or the receipt", status=2)
    known = _run(plugin.find_transaction(settings, _context(core), bytes.fromhex(match[1])), plugin)
    if known is None:
        fail("this ledger has signed no such transaction", transaction, "ask a block explorer of the chain")
    show(dataclasses.asdict(known), json_output=json_output, text=_lines)


def _plugin(settings: Settings) -> tuple[Any, Any]:
    """The plugin's module of commands and its settings, without any other plugin."""
    try:
        module = importlib.import_module("identity_ledger_evm.commands")
        table = importlib.import_module("identity_ledger_evm.settings").EvmSettings
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed", "the ledger plugin evm", INSTALL)
    return module, settings.plugins.tables.read(TABLE, table)


def _run(work: Any, plugin: Any) -> Any:
    try:
        return asyncio.run(work)
    except plugin.REFUSALS as error:
        fail(str(error), "[plugins.evm]", "put the settings right")


def _context(settings: Settings) -> Any:
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin import BuildContext

    log = logging.getLogger("identity")
    return BuildContext(SystemClock(), log, settings.data_dir, settings.database_url, settings.server.workers)


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
