"""``identity ledger evm``, as an operator types it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from identity_core.cli import main
from identity_core.errors import LedgerUnavailable
from tests.anvil_server import AnvilServer


def run(environment: dict[str, str], *words: str) -> Result:
    return CliRunner().invoke(main, ["ledger", "evm", *words], env=environment, prog_name="identity")


def read_error_lines(result: Result) -> list[str]:
    lines = result.stderr.splitlines()
    assert [line[:6] for line in lines] == ["error:", "  at: ", "  do: "], result.stderr
    return lines


def test_deploy_prints_the_settings_and_status_reads_them(anvil: AnvilServer, tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text(anvil.new_key() + "\n")
    environment = {"IDENTITY_PLUGINS_EVM_RPC_URL": anvil.url, "IDENTITY_PLUGINS_EVM_PRIVATE_KEY_FILE": str(secret)}
    made = run(environment, "deploy")
    assert made.exit_code == 0, made.output
    settings = tmp_path / "settings.toml"
    settings.write_text(made.stdout[made.stdout.index("[plugins.evm]") :])
    found = run(environment, "status", "--config", str(settings), "--json")
    assert found.exit_code == 0, found.output
    body = json.loads(found.stdout)
    assert (body["fault"], body["entries"], body["chain_id"]) == ("", 0, 31337)
    assert body["owner"] == body["sender"]
    assert secret.read_text().strip() not in made.output + found.output


def test_a_hash_from_an_error_is_found(still_chain: Any) -> None:
    # Time enough to send it; there is no block.
    site = still_chain(append_seconds=3.0)

    async def scenario() -> str:
        ledger = site.open()
        with pytest.raises(LedgerUnavailable) as caught:
            await ledger.append("did:x:1", b"1", expected_version=0)
        await ledger.close()
        return str(caught.value.details["transactionHash"])

    sent = asyncio.run(scenario())
    environment = {
        "IDENTITY_PLUGINS_EVM_RPC_URL": site.server.url,
        "IDENTITY_PLUGINS_EVM_PRIVATE_KEY": site.settings.private_key,
        "IDENTITY_PLUGINS_EVM_CHAIN_ID": "31337",
        "IDENTITY_PLUGINS_EVM_CONTRACT": site.settings.contract,
        "IDENTITY_DATA_DIR": str(site.context().data_dir),
    }
    found = run(environment, "status", "0x" + sent, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["state"] == "submitted"
    assert "no such transaction" in read_error_lines(run(environment, "status", "ab" * 32))[0]
    assert run(environment, "status", "abc").exit_code == 2


@pytest.mark.parametrize(
    ("environment", "words", "what"),
    [
        ({}, ["status"], "rpc_url"),
        ({}, ["deploy"], "rpc_url is not set"),
        ({"IDENTITY_PLUGINS_EVM_RPC_URL": "http://127.0.0.1:1"}, ["deploy"], "does not answer"),
        ({"IDENTITY_PLUGINS_EVM_RPC_URL": "ftp://x"}, ["deploy"], "rpc_url"),
    ],
)
def test_errors_have_three_lines(environment: dict[str, str], words: list[str], what: str) -> None:
    result = run(environment, *words)
    assert result.exit_code in (1, 2)
    assert what in " ".join(read_error_lines(result))
