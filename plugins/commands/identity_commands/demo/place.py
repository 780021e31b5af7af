"""The service of the demo: a new server on a chosen ledger, or one that runs already."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from identity_client import Exchange, Session
from identity_commands.local_server import local_server
from identity_commands.remote import session as connected
from identity_core.cli.output import fail

LEDGERS: Final = ("sql", "memory", "evm")
_EVM: Final = "IDENTITY_PLUGINS_EVM_"
_PROVER: Final = "IDENTITY_PROVER_BACKEND"
_CHAIN_SECONDS: Final = 30.0


@contextlib.contextmanager
def somewhere(url: str | None, api_key: str | None, ledger: str) -> Iterator[tuple[Session, list[Exchange]]]:
    """Yield a session, and the list of its exchanges."""
    exchanges: list[Exchange] = []
    with contextlib.ExitStack() as stack:
        if url is None:
            environment = stack.enter_context(_chain()) if ledger == "evm" else {}
            # The choice of the environment, where there is one: of several that are installed the server cannot choose.
            prover = {_PROVER: os.environ[_PROVER]} if _PROVER in os.environ else {}
            settings = {"IDENTITY_LEDGER_BACKEND": ledger, **prover, **environment}
            server = stack.enter_context(local_server(environment=settings))
            url, api_key = server.url, server.api_key
        yield stack.enter_context(connected(url, api_key, on_exchange=exchanges.append)), exchanges


@contextlib.contextmanager
def _chain() -> Iterator[Mapping[str, str]]:
    """Yield the settings of the plugin ``evm``: those of the environment where they name a contract, else of a private chain."""
    given = {name: value for name, value in os.environ.items() if name.startswith(_EVM)}
    if f"{_EVM}CONTRACT" in given:
        yield given
        return
    program = shutil.which("anvil")
    if program is None:
        remedy = "put anvil on the PATH (npm install @foundry-rs/anvil), or name a contract in IDENTITY_PLUGINS_EVM_…"
        fail("there is no chain", "demo --ledger evm", remedy)
    with tempfile.TemporaryDirectory(prefix="identity-chain-") as folder, _anvil(program, Path(folder)) as chain:
        made = _deployed(chain)
        yield chain | {f"{_EVM}{name.upper()}": str(made[name]) for name in ("chain_id", "contract", "from_block")}


@contextlib.contextmanager
def _anvil(program: str, folder: Path) -> Iterator[dict[str, str]]:
    """Yield a chain that makes a block for every transaction, and the key of an account that has money there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    accounts = folder / "accounts.json"
    options = f"--port {port} --accounts 1 --mnemonic-random --quiet --config-out"
    command = [program, *options.split(), str(accounts)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _CHAIN_SECONDS
        while not (accounts.exists() and _listens(port)):
            if time.monotonic() > deadline or process.poll() is not None:
                fail("the chain did not start", program, "run `anvil` and read what it says")
            time.sleep(0.02)
        key = json.loads(accounts.read_text())["private_keys"][0]
        yield {f"{_EVM}RPC_URL": f"http://127.0.0.1:{port}", f"{_EVM}PRIVATE_KEY": key, f"{_EVM}POLL_SECONDS": "0.05"}
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _deployed(chain: Mapping[str, str]) -> Any:
    """Return the output of the command that deploys the contract on a chain."""
    command = [sys.executable, "-m", "identity_core", "ledger", "evm", "deploy", "--json"]
    done = subprocess.run(command, env=os.environ | chain, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail("the contract could not be deployed", "identity ledger evm deploy", done.stderr or done.stdout)
    return json.loads(done.stdout)
