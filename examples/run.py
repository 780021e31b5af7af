"""Run one example against a service: ``python examples/run.py NAME``.

Without ``IDENTITY_URL`` and ``IDENTITY_API_KEY`` in the environment, a service with a temporary data folder is started and stopped. The
shops are visited by the agent of ``agent_http.py``: once as an adult, once with the same proof again, once as a minor.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from agent_http import Prepared, prepare, request_proof, visit
from plain_http import Refused, Service

HERE = Path(__file__).resolve().parent
PROGRAMS = ("agent_http", "agent_mcp", "issuer_back_office")
SHOPS = {
    "shop_flask": [sys.executable, str(HERE / "shop_flask.py")],
    "shop_express": ["node", str(HERE / "shop_express" / "shop.mjs")],
}
OFFLINE = ("offline_python", "offline_typescript", "offline_go")
NAMES = (*PROGRAMS, *SHOPS, *OFFLINE)
SHOP_PORT = os.environ.get("SHOP_PORT", "8099")


@contextlib.contextmanager
def running_service() -> Iterator[Service]:
    """Yield the service of the environment, else one that is started for the example."""
    if "IDENTITY_URL" in os.environ:
        yield Service(os.environ["IDENTITY_URL"], os.environ["IDENTITY_API_KEY"])
        return
    from identity_commands.local_server import local_server

    with local_server() as server:
        yield Service(server.url, server.api_key)


@contextlib.contextmanager
def running_shop(command: list[str], service: Service, made: Prepared) -> Iterator[str]:
    """Start a shop that trusts the issuer, and yield its URL."""
    settings = {"IDENTITY_URL": service.url, "SHOP_ISSUERS": made.issuer_did, "PORT": SHOP_PORT}
    url = f"http://127.0.0.1:{SHOP_PORT}"
    with subprocess.Popen(command, env=os.environ | settings) as process:
        try:
            _wait_for(url, process)
            yield url
        finally:
            process.terminate()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/challenge", timeout=5).close()
            return
        if process.poll() is not None:
            raise SystemExit("the shop did not start; its output says why")
        time.sleep(0.1)
    raise SystemExit(f"the shop does not answer at {url}")


def visit_shop(command: list[str], service: Service) -> None:
    """Visit the shop three times and print its answers."""
    made = prepare(service)
    with running_shop(command, service, made) as shop:
        with urllib.request.urlopen(f"{shop}/challenge", timeout=60) as answer:
            asked = json.load(answer)
        proof = request_proof(service, made, asked)
        print("adult", *visit(shop, proof, made, asked["challenge"]))
        print("again", *visit(shop, proof, made, asked["challenge"]))
    try:
        request_proof(service, prepare(service, age=17), asked)
    except Refused as refused:
        print("minor", refused.status, refused.code)


def verify_offline(name: str, service: Service) -> None:
    """Write what a verifier gets from others to a folder, and start the verifier, which calls no service."""
    made = prepare(service)
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    asked = {"challenge": "order 4711 of today", "domain": "https://shop.example", "predicate": predicate}
    with tempfile.TemporaryDirectory() as folder:
        answer, log = Path(folder, "proof.json"), Path(folder, "issuer.jsonl")
        answer.write_text(json.dumps(request_proof(service, made, asked)))
        with urllib.request.urlopen(f"{service.url}/api/v1/dids/{made.issuer_did}/log", timeout=60) as lines:
            log.write_bytes(lines.read())
        if name == "offline_python":
            program = HERE.parent / "plugins" / "prover_bbs" / "examples" / "offline_verifier.py"
            question = ["age", "gte", "18", "--audience", asked["domain"], "--challenge", asked["challenge"]]
            subprocess.run([sys.executable, program, answer, log, *question], check=True)
        elif name == "offline_typescript":
            question = ["age", "gte", "18", asked["domain"], asked["challenge"], made.issuer_did]
            subprocess.run(["node", _typescript_program(Path(folder)), answer, log, *question], check=True)
        else:
            subprocess.run(["go", "run", ".", log, made.issuer_did], cwd=_go_program(Path(folder)), check=True)


def _typescript_program(folder: Path) -> Path:
    """Build the client for JavaScript beside a copy of the program."""
    clients = _builders()
    package = clients.build_typescript_client(folder, clients.install_node_tools(folder))
    (folder / "node_modules" / "identity-service-client").symlink_to(package)
    return Path(shutil.copy(HERE / "offline_typescript" / "verify.mjs", folder))


def _go_program(folder: Path) -> Path:
    """Build the client for Go in a copy of the program."""
    program = Path(shutil.copytree(HERE / "offline_go", folder / "program"))
    _builders().build_go_client(program)
    return program


def _builders() -> ModuleType:
    """Return the module of this checkout that builds the clients."""
    sys.path.insert(0, str(HERE.parent))
    return importlib.import_module("openapi.clients")


def main(arguments: list[str]) -> int:
    """Run the example that the first argument names."""
    if len(arguments) != 1 or arguments[0] not in NAMES:
        print(f"usage: python examples/run.py {{{','.join(NAMES)}}}", file=sys.stderr)
        return 2
    (name,) = arguments
    with running_service() as service:
        if name in SHOPS:
            visit_shop(SHOPS[name], service)
        elif name in OFFLINE:
            verify_offline(name, service)
        else:
            environment = os.environ | {"IDENTITY_URL": service.url, "IDENTITY_API_KEY": service.api_key}
            subprocess.run([sys.executable, HERE / f"{name}.py"], check=True, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
