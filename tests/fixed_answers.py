"""A server with one fixed answer, for tests of clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


@contextmanager
def answering(body: bytes, *, status: int = 200, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """Start a server that returns this answer to each request. Yield its address and the list of accepted encodings."""
    accepted: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            accepted.append(self.headers.get("Accept-Encoding", ""))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", accepted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
