"""Where people of the stories publish DID documents: HTTPS on loopback, with a certificate authority of its own."""

from __future__ import annotations

import json
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

NAME = "hana.example"
KEY = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"


@dataclass
class WebHost:
    """``pages`` maps a path to status and document; what is not there is 404."""

    authority: Path
    pages: dict[str, tuple[int, Any]] = field(default_factory=dict)
    _server: ThreadingHTTPServer | None = None

    def __post_init__(self) -> None:
        own = trustme.CA()
        own.cert_pem.write_to_path(str(self.authority))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.issue_cert(NAME).configure_cert(context)
        pages = self.pages

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, document = pages.get(self.path, (404, {}))
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/did+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Nothing: the story tells what is asked."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def publish(self, place: str, *, status: int = 200, **members: Any) -> str:
        """The DID whose document is now at ``place``."""
        did = f"did:web:{NAME}%3A{self._port}:{place}"
        key = {"id": f"{did}#1", "type": "Multikey", "controller": did, "publicKeyMultibase": KEY}
        document = {
            "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
            "id": did,
            "verificationMethod": [key],
            "authentication": [key["id"]],
        }
        self.pages[f"/{place}/did.json"] = (status, document | members)
        return did

    def document(self, place: str) -> Any:
        return self.pages[f"/{place}/did.json"][1]

    def take_down(self, place: str) -> None:
        del self.pages[f"/{place}/did.json"]

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def _port(self) -> int:
        return self._server.server_address[1] if self._server is not None else 0
