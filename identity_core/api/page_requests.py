"""The passes of what stands beside the document: pages, and the forms that they or clients of other standards send.

An address pays for them; they may read a cookie, which operations never do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from identity_core.api.decode import has_body, refuse_body
from identity_core.api.request import FORM, Admission, Answer, Cost, Handler, PageForm, Request
from identity_core.api.transport import Receive, Run, Scope, admit_page_headers, read_body
from identity_core.errors import InvalidRequest, UnsupportedMediaType

MAX_FIELDS: Final = 32


def page_run(page: Handler, gate: Admission) -> Run:
    """The pass of a page that GET serves."""

    async def run(request: Request, scope: Scope, receive: Receive) -> Answer:
        await gate.charge(request)
        refuse_body(request)
        admit_page_headers(request, scope)
        request.query_octets = scope["query_string"]
        request.query = _fields(request.query_octets)
        return await page(request)

    return run


def form_run(form: PageForm, gate: Admission, max_body: int) -> Run:
    """Return the pass of what POST takes. ``max_body`` caps its body in bytes."""
    cap = max_body if form.max_body is None else min(max_body, form.max_body)
    operation = form.operation
    handler = gate.shared(form.handler) if operation is not None and operation.waits else form.handler

    async def run(request: Request, scope: Scope, receive: Receive) -> Answer:
        if operation is not None:
            request.operation, request.operation_id = operation, operation.operation_id
        media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
        if has_body(request) and media_type != form.media_type:
            raise UnsupportedMediaType(f"Send the body as {form.media_type}.", details={"supported": [form.media_type]})
        request.body_octets = await read_body(request, receive, cap)
        await gate.charge(request, (Cost() if operation is None else operation.cost).tokens(request))
        admit_page_headers(request, scope)
        if form.media_type == FORM:
            request.body = _fields(request.body_octets)
        return await handler(request)

    return run


def _fields(octets: bytes) -> dict[str, str]:
    """Names and values of a form, or of the query of a page; of a name that comes twice the last counts."""
    try:
        return dict(
            parse_qsl(octets.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
        )
    except ValueError:
        raise InvalidRequest("The form is not percent-encoded UTF-8, or has too many fields.") from None


def form_members(octets: bytes) -> Mapping[str, str]:
    """Return names and values of a form, each name once (RFC 6749 §3.2). A member without a value counts as absent."""
    pairs = parse_qsl(octets.decode("ascii"), keep_blank_values=True, errors="strict")
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequest("A parameter is repeated.")
    return {name: value for name, value in found.items() if value}
