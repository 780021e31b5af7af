"""A private development chain for tests: anvil from npm, on a free port, gone afterwards.

The version is pinned in ``plugins/ledger_evm/tests/package.json`` and its lock file. Where npm is absent the tests skip and
say so; in CI they fail.

Use: ``from tests.anvil_server import anvil`` in a conftest or test module; ``anvil`` is one chain for the session that makes
a block for every transaction. A test that stops, pauses or rewinds its chain starts its own: ``AnvilServer.start``.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.made_once import once
from tests.ports import free_port

PACKAGE = Path(__file__).resolve().parents[1] / "plugins" / "ledger_evm" / "tests"
ETHER = 10**18

# The chain ends with the tests even when those are killed: then its standard input has no other end.
WATCHED = (
    'exec 3<&0; "$@" </dev/null & server=$!; echo $server; '
    "{ cat <&3 >/dev/null; kill -KILL $server; } 2>/dev/null & wait $server"
)


def install_anvil(folder: Path) -> Path:
    """Installs anvil below ``folder`` as the lock file says; returns the program. Raises ``FileNotFoundError``."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed, which brings anvil")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(PACKAGE / name, folder)
    # Not "npm ci": that wants every platform's package in the lock file, and the lock file has those of Linux on amd64.
    subprocess.run([npm, "install"], cwd=folder, check=True, capture_output=True, timeout=300)
    return program_in(folder)


def program_in(folder: Path) -> Path:
    found = sorted((folder / "node_modules" / "@foundry-rs").glob("anvil-*/bin/anvil"))
    if not found:
        raise FileNotFoundError("npm has no anvil for this machine")
    return found[0]


@dataclass
class AnvilServer:
    """A chain on loopback. ``options`` are anvil's; without ``--block-time`` every transaction makes a block at once."""

    program: Path
    options: tuple[str, ...] = ()
    port: int = 0
    pid: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    http: httpx.Client = field(default_factory=lambda: httpx.Client(trust_env=False, verify=False, timeout=60))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> AnvilServer:
        """Starts it, on the port that it had."""
        if not self.port:
            self.port = free_port()
        command = [str(self.program), "--port", str(self.port), "--accounts", "1", "--quiet", *self.options]
        self.process = subprocess.Popen(
            ["sh", "-c", WATCHED, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.pid = int(self.process.stdout.readline())
        deadline = time.monotonic() + 60
        while True:
            try:
                self.call("eth_chainId")
                return self
            except httpx.HTTPError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError("anvil did not start") from None
                time.sleep(0.02)

    def send_signal(self, how: signal.Signals) -> None:
        """SIGSTOP pauses it, SIGCONT lets it go on."""
        os.kill(self.pid, how)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it; a chain without ``--state`` forgets everything."""
        if self.process is None:
            return
        os.kill(self.pid, how)
        self.process.wait(30)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process = None

    def call(self, method: str, *parameters: object) -> Any:
        """Send a request to the node, independently of the plugin."""
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        answer = self.http.post(self.url, json=question).json()
        if "error" in answer:
            raise ValueError(answer["error"]["message"])
        return answer["result"]

    def new_key(self, ether: float = 1_000) -> str:
        """Return the private key of a new account with ether."""
        from eth_account import Account

        key = "0x" + secrets.token_hex(32)
        self.call("anvil_setBalance", Account.from_key(key).address, hex(int(ether * ETHER)))
        return key

    def mine(self, blocks: int = 1) -> None:
        """Makes empty blocks, or blocks of what waits."""
        self.call("anvil_mine", hex(blocks))

    def expensive(self, base_fee: int = 10**9) -> None:
        """Sets the base fee, which else falls with every empty block."""
        self.call("anvil_setNextBlockBaseFeePerGas", hex(base_fee))
        self.mine()

    def block_number(self) -> int:
        return int(self.call("eth_blockNumber"), 16)


@pytest.fixture(scope="session")
def anvil_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, installed once a run."""
    try:
        return program_in(once(tmp_path_factory, "anvil", install_anvil))
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def anvil(anvil_program: Path) -> Iterator[AnvilServer]:
    """One chain for the session."""
    server = AnvilServer(anvil_program).start()
    yield server
    server.stop(signal.SIGKILL)
