"""The documentation under ``/docs/guide``, where the distribution that holds it is installed; ``docs/README.md`` says how it is made.

Only files that were there at the start are served, by their exact names. A page may run the scripts of the site, and the few lines that
it holds itself: the content security policy has their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Final

from identity_core.api.errors import GUIDE
from identity_core.api.pages import static_page
from identity_core.api.request import Answer, Handler, Headers, Request
from identity_core.errors import NotFound

MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_INLINE: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def guide_pages(folder: Path | None) -> dict[str, Handler]:
    """The site in ``folder``, and the way to its first page; nothing where there is no site."""
    if folder is None:
        return {}
    files = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in MEDIA_TYPES and path.is_file()
    }

    @cache
    def read(name: str) -> Handler:
        octets, suffix = files[name].read_bytes(), files[name].suffix
        policy = [("content-security-policy", _policy(octets))] if suffix == ".html" else []
        return static_page(octets, MEDIA_TYPES[suffix], [("referrer-policy", "no-referrer"), *policy])

    async def page(request: Request) -> Answer:
        """A file, read when somebody first asks for it."""
        if request.path["file"] not in files:
            raise NotFound
        return await read(request.path["file"])(request)

    return {GUIDE: _to_the_first_page, f"{GUIDE}/{{file:path}}": page}


async def _to_the_first_page(request: Request) -> Answer:
    headers: Headers = [("location", f"{GUIDE}/index.html"), ("cache-control", "public, max-age=300")]
    return Answer(308, b"", MEDIA_TYPES[".html"], headers)


def _policy(page: bytes) -> str:
    """Scripts of the site and those lines of ``page``; style attributes, which its theme uses; nothing from elsewhere."""
    hashes = [base64.b64encode(hashlib.sha256(script).digest()).decode("ascii") for script in _INLINE.findall(page)]
    scripts = " ".join(["'self'", *(f"'sha256-{one}'" for one in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
