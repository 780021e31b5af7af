"""The yardstick: a bare Starlette application with one route that returns the bytes of one answer of ours.

It validates nothing, asks no bucket and reads no database. ``BASELINE`` names a JSON file {method, path, status,
media_type, body, headers}. Run by ``bench_http.py``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CANNED: dict[str, Any] = json.loads(Path(os.environ["BASELINE"]).read_text())
IS_JSON = CANNED["media_type"].endswith("json") and CANNED["body"] != ""
VALUE = json.loads(CANNED["body"]) if IS_JSON else None


async def answer(request: Request) -> Response:
    """The canned answer; a JSON body is encoded anew each time, as an application would."""
    if request.method in ("POST", "PATCH", "DELETE"):
        await request.json()
    if IS_JSON:
        return JSONResponse(VALUE, CANNED["status"], CANNED["headers"], media_type=CANNED["media_type"])
    if CANNED["status"] == 304:
        return Response(status_code=304, headers=CANNED["headers"])
    return Response(CANNED["body"], CANNED["status"], CANNED["headers"], media_type=CANNED["media_type"])


app = Starlette(routes=[Route(CANNED["path"], answer, methods=[CANNED["method"]])])
