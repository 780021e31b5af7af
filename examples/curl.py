"""Print a curl command for each operation, made of the document: ``python -m examples.curl [operationId …]``.

The commands read the address of the service from ``IDENTITY_URL`` and the credential from ``IDENTITY_API_KEY``. Where an operation takes a
signature only, ``SIGNED`` is the value that ``identity auth sign`` prints.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

DOCUMENT = Path(__file__).resolve().parents[1] / "openapi" / "reference.json"

Json = dict[str, Any]


def commands(document: Json) -> Iterator[tuple[str, str]]:
    """Yield operationId and command."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield operation["operationId"], _command(document, path, method, operation)


def _command(document: Json, path: str, method: str, operation: Json) -> str:
    parameters = [_resolved(document, one) for one in operation.get("parameters", ())]
    for one in parameters:
        if one["in"] == "path":
            safe = "/:" if one["schema"].get("format") == "path" else ":"
            path = path.replace(f"{{{one['name']}}}", quote(one["example"], safe=safe))
    needed = "&".join(
        f"{one['name']}={quote(str(one.get('example', one['name'])), safe=':')}"
        for one in parameters
        if one["in"] == "query" and one.get("required")
    )
    words = ["curl", "-sS", "--fail-with-body"]
    words += [] if method == "get" else ["-X", method.upper()]
    url = f'"$IDENTITY_URL{document["servers"][0]["url"]}{path}{"?" if needed else ""}{needed}"'
    parts = [" ".join(words), url, *_credential(operation)]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        example = next(iter(content["examples"].values()))["value"]
        parts += [f"-H 'Content-Type: {media}'", f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}"]
    return " \\\n  ".join(parts)


def _credential(operation: Json) -> list[str]:
    schemes = {name for requirement in operation["security"] for name in requirement}
    if not schemes or {} in operation["security"]:
        return []
    if "ApiKeyHeader" in schemes:
        return ['-H "X-API-Key: $IDENTITY_API_KEY"']
    kind = "RecoveryKey" if "RecoveryKeyAuth" in schemes else "DIDAuth" if "DidAuth" in schemes else "Bearer"
    return [f'-H "Authorization: {kind} ${"IDENTITY_API_KEY" if kind == "Bearer" else "SIGNED"}"']


def _resolved(document: Json, part: Json) -> Json:
    for name in part.get("$ref", "#").split("/")[1:]:
        document = document[name]
    return document if "$ref" in part else part


def main(wanted: list[str]) -> int:
    """Print the commands of the operations in ``wanted``, or of all."""
    found = dict(commands(json.loads(DOCUMENT.read_bytes())))
    if unknown := set(wanted) - found.keys():
        print(f"unknown operation: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    for operation_id in wanted or found:
        print(f"# {operation_id}\n{found[operation_id]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
