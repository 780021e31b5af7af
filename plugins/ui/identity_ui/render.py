"""Rendering of pages: a template in the reader's language, under a policy that allows only the scripts of this package.

The policy has a nonce of its own in each answer, so no page may be kept by a cache. htmx acts only on elements that bear the nonce (its
extension hx-csp), so injected markup would be inert; Trusted Types leave htmx alone to write markup. Jinja2 escapes everything; no
template changes that, and a test checks it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from identity_client.action import PREDICATE_NAMES, Grant, literal_of
from identity_client.presentation import check_text, parts_of
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_core import __version__
from identity_core.api.request import NO_STORE, Answer, Handler, Request
from identity_ui.catalogues import HERE, TEMPLATES, language_of, translations
from identity_ui.names import DidName, Title, name_of, short

CONSENT: Final = "/ui/consent"
ASK: Final = "/ui/ask"
"""The pages that show an agent's request, and that make one of a verifier; in ``HIDDEN`` without the extension ``consents``."""
SOON: Final = timedelta(days=30)
"""A credential that ends within this time is marked."""
HIDDEN: Final = set[str]()
"""Paths to which pages of this process have no link, because they are not served."""

_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx"
)
_ALONE: Final = (
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
# Bidirectional embeddings, overrides and isolates: U+2069 ends the isolate of <bdi> in Chromium, and what follows is reordered.
_DIRECTIONS: Final = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_WEIGHT: Final = re.compile(r"[qQ]=(?:1(?:\.0{0,3})?|0\.(?!0*$)[0-9]{1,3})")
# What the pages that verify import; those below client/ are the TypeScript client's, as openapi.clients compiles them.
_CLIENT: Final = ("changes", "codec", "entry", "log", "proofs/verify", "webvh", "working")
MODULES: Final = ("checking.js", "notes.js", "places.js", "proof_check.js", *(f"client/{one}.js" for one in _CLIENT))
_SCRIPTS: Final = ("htmx.js", "hx-csp.js", "ui.js", "signing.js", "keys.js", "plots.js", "uplot.js", *MODULES)
STATIC: Final = (
    dict.fromkeys(("api_keys.js", *_SCRIPTS), "text/javascript; charset=utf-8")
    | dict.fromkeys(("ui.css", "uplot.css"), "text/css; charset=utf-8")
    | dict.fromkeys(("icon.svg", "icons.svg"), "image/svg+xml")
    | {"example.json": "application/json"}
)


def page(
    template: str,
    request: Request,
    *,
    status: int = 200,
    signed_in: str | None = None,
    operator: str | None = None,
    **values: Any,
) -> Answer:
    """``template`` with ``values``. ``signed_in`` is the DID whose session it is, ``operator`` the name of the API key."""
    language, nonce = language_of(request.header("accept-language")), secrets.token_urlsafe(16)
    here = request.raw_path.decode("latin-1").partition("?")[0]
    loaded = {"nonce": nonce, "versions": static_versions(), "modules": MODULES, "here": here, "hidden": HIDDEN}
    loaded |= {"titles": {}, "labels": {}, "described": {}, "waiting": (), "host": request.header("host") or ""}
    now, ids = datetime.now(UTC), {"request_id": request.request_id, "query": request.query}
    loaded |= ids | {"now": printed(now), "soon": printed(now + SOON), "version": __version__}
    text = (
        _environment(language)
        .get_template(template)
        .render(loaded | values, language=language, signed_in=signed_in, operator=operator)
    )
    policy = ("content-security-policy", _POLICY.format(nonce=nonce))
    headers = [*_ALONE, policy, NO_STORE, ("vary", "Accept, Accept-Language, Cookie")]
    return Answer(status, text.encode(), "text/html; charset=utf-8", headers)


def redirect(place: str) -> Answer:
    """Send the browser on to ``place``, a path of ours."""
    return Answer(303, b"", "text/html; charset=utf-8", [("location", place), NO_STORE])


@cache
def _environment(language: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=with_visible_directions,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.install_gettext_translations(translations(language), newstyle=True)  # type: ignore[attr-defined]
    environment.filters |= {"readable": readable, "granted": granted, "parts": parts_of, "check_text": check_text}
    environment.filters |= {"short": short, "named": named, "type_name": type_name, "iso": printed}
    return environment


def with_visible_directions(value: Any) -> Any:
    """Return a text with its bidirectional controls written as escapes, as the command line does."""
    return value if not isinstance(value, str) or value.isascii() else value.translate(_DIRECTIONS)


def readable(value: Mapping[str, Any]) -> str:
    """Return indented JSON for display, with the characters that it holds. Not for bytes that are signed."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@pass_context
def type_name(context: Context, schema_id: str) -> Title:
    """Return the title of a credential type where the page has it, else the last word of its identifier."""
    words = [word for word in re.split("[/:#]", schema_id) if word and not word.isdigit()]
    return context["titles"].get(schema_id) or Title(words[-1] if words else schema_id)


@pass_context
def named(context: Context, did: str) -> DidName:
    """Return the name of a DID for the reader of the page."""
    return name_of(did, context["labels"], context["described"])


def granted(action: str) -> Mapping[str, JsonValue] | None:
    """Return the predicate that an action of a delegation allows, as pages put it into words; ``value`` is None where the agent
    chooses it, or a hash alone is known (``isFixed``). None for an action that takes more than one attribute, or another type."""
    grant = Grant.parse(action)
    if not grant.attribute or grant.type not in PREDICATE_NAMES:
        return None
    value = None if grant.pin is None else literal_of(grant.pin)
    return {"attributeName": grant.attribute, "type": grant.type, "value": value, "isFixed": grant.pin is not None}


@cache
def static_versions() -> Mapping[str, str]:
    """Return the first digits of the SHA-256 of each file: part of its address, so that a new one is never mistaken for
    an old one. Modules name each other beside themselves, so they have one version."""
    digests = {name: hashlib.sha256(_file(name)).hexdigest() for name in STATIC}
    together = hashlib.sha256("".join(digests[name] for name in MODULES).encode()).hexdigest()
    return {name: (together if name in MODULES else digest)[:16] for name, digest in digests.items()}


def static_pages() -> dict[str, Handler]:
    """Return the files that pages load."""
    return {f"/ui/static/{static_versions()[name]}/{name}": partial(_static, name) for name in STATIC}


@cache
def _file(name: str) -> bytes:
    return (HERE / "static" / name).read_bytes()


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(_file(name), mtime=0)


async def _static(name: str, request: Request) -> Answer:
    """Return the file, compressed where the reader takes that. Pages are not: their length would reveal secrets in them."""
    headers = [*_ALONE, ("cache-control", "public, max-age=31536000, immutable"), ("vary", "Accept-Encoding")]
    if takes_gzip(request.header("accept-encoding")):
        return Answer(200, _packed(name), STATIC[name], [*headers, ("content-encoding", "gzip")])
    return Answer(200, _file(name), STATIC[name], headers)


def takes_gzip(accepted: str | None) -> bool:
    """Return whether an ``Accept-Encoding`` (RFC 9110 §12.5.3) names gzip, and not with a weight of 0 or an invalid one."""
    for each in (accepted or "").split(","):
        coding, parameter, weight = each.partition(";")
        if coding.strip(" \t").lower() == "gzip":
            return not parameter or _WEIGHT.fullmatch(weight.strip(" \t")) is not None
    return False
