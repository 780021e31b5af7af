"""A node that lies: it stands before a real one and answers with whatever a test puts into its mouth."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

# From the method and the real answer to the bytes of the false one; None leaves it as it is.
Tamper = Callable[[str, Any], bytes | None]


class Liar:
    """``tamper`` may be exchanged at any time; ``asked`` counts the calls by method."""

    def __init__(self, url: str) -> None:
        self.tamper: Tamper = lambda method, answer: None
        self.asked: dict[str, int] = {}
        liar, http = self, httpx.Client(trust_env=False, verify=False, timeout=60)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                method = json.loads(body)["method"]
                liar.asked[method] = liar.asked.get(method, 0) + 1
                real = http.post(url, content=body, headers={"Content-Type": "application/json"})
                false = liar.tamper(method, real.json())
                answer = real.content if false is None else false
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def telling(self, tamper: Tamper) -> Iterator[None]:
        """Lies in this manner for a while."""
        self.tamper = tamper
        yield
        self.tamper = lambda method, answer: None

    @contextmanager
    def serving(self) -> Iterator[Liar]:
        """Answers until the end of the block."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield self
        self._server.shutdown()
        self._server.server_close()
        thread.join()


def result(method: str, value: Any) -> Tamper:
    """Another ``result`` for one method."""

    def tamper(asked: str, answer: Any) -> bytes | None:
        return json.dumps({**answer, "result": value}).encode() if asked == method else None

    return tamper


def raw_answer(method: str, answer: bytes) -> Tamper:
    """Other bytes for one method."""
    return lambda asked, _: answer if asked == method else None
