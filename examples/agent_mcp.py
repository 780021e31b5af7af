"""An agent over MCP: ``identity-mcp`` holds the agent's key, and the model calls its tools.

    pip install ./plugins/mcp . ./packages/*/ ./plugins/*/
    python examples/run.py agent_mcp

This program is what an MCP host does: it starts the server and sends JSON-RPC over standard input, one message a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from agent_http import ACTION, prepare
from plain_http import Json, Service


class McpServer:
    """``identity-mcp`` as a child process."""

    def __init__(self, url: str, agent_did: str, key_file: Path) -> None:
        agent = {"IDENTITY_AGENT_DID": agent_did, "IDENTITY_AGENT_KEY_FILE": str(key_file), "IDENTITY_URL": url}
        self.process = subprocess.Popen(
            ["identity-mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | agent
        )
        self.number = 0
        client = {"name": "agent-example", "version": "1.0.0"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> Json:
        """Return the structured result of a tool. Raises ``RuntimeError`` for a refusal."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["structuredContent"]["error"])
        structured: Json = result["structuredContent"]
        return structured

    def request(self, method: str, params: Json) -> Json:
        """Return the result of one request. Raises ``RuntimeError``: for an error of the protocol or a server that ended."""
        self.number += 1
        self._write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                result: Json = answer["result"]
                return result
        raise RuntimeError("identity-mcp has ended")

    def _write(self, message: Json) -> None:
        assert self.process.stdin is not None
        print(json.dumps(message), file=self.process.stdin, flush=True)

    def close(self) -> None:
        """End the child process."""
        self.process.communicate()


def main() -> None:
    """Request a proof through the tools and verify it through them."""
    service = Service(os.environ["IDENTITY_URL"], os.environ["IDENTITY_API_KEY"])
    made = prepare(service)
    token = made.holder.sign_token(made.agent.did, ACTION, made.delegation_id)
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    bound = {"challenge": "order 4711 of today", "domain": "https://shop.example", "predicate": predicate}
    with tempfile.TemporaryDirectory() as folder:
        key_file = Path(folder, "agent.key")
        key_file.touch(0o600)
        key_file.write_text(made.agent.private_key)
        server = McpServer(service.url, made.agent.did, key_file)
        try:
            parties = {"holderDid": made.holder.did, "credentialId": made.credential_id}
            proved = server.call("request_proof", **parties, **bound, ibct=token)
            expected = bound | {"issuerDid": made.issuer_did}
            print(server.call("verify_proof", proofId=proved["proofId"], expect=expected)["verdict"])
        finally:
            server.close()


if __name__ == "__main__":
    main()
