"""The public pages: the front page, a DID, a transaction, and the check of a pasted proof."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import orjson
from identity_transparency.ledger_handlers import LedgerHandlers
from identity_transparency.wire import GetLedgerInclusionProofQuery
from identity_verification.handlers import VerificationHandlers
from identity_verification.wire import VerifyProofRequest
from msgspec import Struct

from identity_codec import strict_json
from identity_codec.structs import ValidationError, convert
from identity_core.api.dids import DidHandlers
from identity_core.api.errors import negotiate
from identity_core.api.request import Answer, Request
from identity_core.errors import (
    DidDeactivated,
    DidNotFound,
    IdentityError,
    InvalidRequest,
    NotAcceptable,
    NotFound,
    TransactionNotFound,
)
from identity_core.wire import ListDidHistoryQuery, ResolveDidQuery
from identity_ui.history import difference, key_lives, path_to_root
from identity_ui.names import Names
from identity_ui.operations import ask
from identity_ui.operator_session import OperatorSessions
from identity_ui.render import page, redirect
from identity_ui.session import Sessions

JSON_FIRST: Final = ("application/json", "text/html")
VERSIONS: Final = 20
_TRANSACTION: Final = re.compile(r"[0-9a-f]{64}")
_PROOF: Final = re.compile(r"(urn:uuid:)?[0-9a-fA-F-]{36}", re.ASCII)
# What a verifier may say beside the proof: the name of the form's field → the member of the request.
_EXPECTED: Final = {"challenge": "challenge", "domain": "domain", "issuer": "issuerDid"}
_REQUIRED: Final = {"holder": "holder", "validity": "credentialValidity", "status": "credentialStatus"}
_QUESTION: Final = ("attribute", "relation", "value")
# How a proof may have been passed on: alone, or as the member ``proof`` of the answer that made it.
_MEMBERS: Final = ("proof", "publicSignals", "predicateType", "proofId")


class PublicPages(Struct, frozen=True):
    """``ledger``: None while the extension transparency is off."""

    dids: DidHandlers
    ledger: LedgerHandlers | None
    proofs: VerificationHandlers
    sessions: Sessions
    operators: OperatorSessions
    names: Names

    async def root(self, request: Request) -> Answer:
        """Redirect a client that requests HTML. Others find nothing at ``/``."""
        try:
            if negotiate(request.header("accept"), JSON_FIRST) != "text/html":
                raise NotFound
        except NotAcceptable:
            raise NotFound from None
        return await self.front(request)

    async def front(self, request: Request) -> Answer:
        return page("front.html", request, **await self._who(request))

    async def search(self, request: Request) -> Answer:
        """Send on to the page of what ``q`` looks like."""
        text = request.query.get("q", "").strip()
        if text.startswith("did:"):
            return redirect(f"/ui/did/{quote(re.split('[/?#]', text)[0], safe=':')}")
        transaction = text.lower().removeprefix("0x")
        if _TRANSACTION.fullmatch(transaction):
            return redirect(f"/ui/transaction/{transaction}")
        if text.startswith(("{", "c2sp.org/")):
            return redirect("/ui/verify" if text[0] == "{" else "/ui/check-log")
        if _PROOF.fullmatch(text):
            return redirect(f"/ui/proof/{quote(text, safe=':')}")
        if not text:
            return await self.front(request)
        return page("error.html", request, status=404, **await self._who(request), error=NotFound(), explanation=None)

    async def did(self, request: Request) -> Answer:
        """Return the document of a version or a time, what that version changed, where it stands in the log, and the newest versions."""
        did, query = request.path["did"], request.query
        number, at = _version(query.get("version")), query.get("at") or None
        resolved = await self._resolved(request, ResolveDidQuery(version_id=number, version_time=_second(at)))
        wanted = ListDidHistoryQuery(limit=VERSIONS, order="desc", cursor=query.get("cursor"))
        history: Mapping[str, Any] | None = None
        # A DID from elsewhere has a document here and no history; that of a deactivated DID is not shown by default.
        with contextlib.suppress(DidNotFound, DidDeactivated):
            history = await ask(self.dids.list_did_history, request, path={"did": did}, query=wanted)
        metadata, document = resolved.get("didDocumentMetadata") or {}, resolved.get("didDocument")
        values: dict[str, Any] = {"did": did, "document": document, "metadata": metadata, "selected": number}
        lives = key_lives(history["items"]) if history else {}
        values |= {"history": history, "lives": lives, "refusal": resolved.get("error")}
        changed = await self._changed(request, resolved)
        return page("did.html", request, **await self._who(request), changed=changed, **values)

    async def _resolved(self, request: Request, query: ResolveDidQuery) -> Mapping[str, Any]:
        return await ask(self.dids.resolve_did, request, path={"did": request.path["did"]}, query=query)

    async def _changed(self, request: Request, resolved: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the difference to the version before; nothing for the first, and where no document is shown."""
        number = int((resolved.get("didDocumentMetadata") or {}).get("versionId") or 1)
        if number == 1 or not resolved.get("didDocument"):
            return []
        before = await self._resolved(request, ResolveDidQuery(version_id=number - 1))
        return difference(before.get("didDocument") or {}, resolved["didDocument"])

    async def transaction(self, request: Request) -> Answer:
        """Return an entry of the log, and its place in the tree."""
        name = request.path["transaction"]
        if self.ledger is None or not _TRANSACTION.fullmatch(name):
            raise TransactionNotFound
        found = await ask(self.ledger.get_ledger_transaction, request, path={"transactionHash": name})
        shown = await self._who(request) | await placed(self.ledger, request, name)
        return page("transaction.html", request, **shown, found=found)

    async def verify(self, request: Request) -> Answer:
        return page("verify.html", request, **await self._who(request), given=_echo({}), found=None, refusal=None)

    async def check_log(self, request: Request) -> Answer:
        return page("check_log.html", request, **await self._who(request))

    async def verified(self, request: Request) -> Answer:
        """Return the verdict below the form, as for a stranger: for a signed-in user as well, nothing of the pasted text is recorded."""
        self.sessions.require_own_page(request)
        given = _echo(request.body)
        found, refusal = None, None
        try:
            value = _pasted(given)
            found = await self._checked(request, value)
            # A website may be written as pages show it, without its scheme.
            site = f"https://{given['domain']}"
            if any(one["check"] == "domain" and one["found"] == site for one in found["checks"]):
                found = await self._checked(request, value | {"domain": site})
        except IdentityError as error:
            if error.status >= 500:
                raise
            refusal = error
        status, who = 200 if refusal is None else 422, await self._who(request)
        return page("verify.html", request, status=status, **who, given=given, found=found, refusal=refusal)

    async def _checked(self, request: Request, value: Mapping[str, Any]) -> Mapping[str, Any]:
        sent = {"body": _typed(value), "body_octets": orjson.dumps(value)}
        return await ask(self.proofs.verify_proof, request, **sent)

    async def _who(self, request: Request) -> dict[str, Any]:
        """Return the viewer whose pages the navigation offers."""
        operator, session = await self.operators.find(request), await self.sessions.find(request)
        return {
            "signed_in": None if session is None else session.target,
            "labels": await self.names.labels(request, session),
            "operator": None if operator is None else operator.key.name,
        }


async def placed(ledger: LedgerHandlers, request: Request, transaction: str) -> dict[str, Any]:
    """Return what ``tree.html`` shows: the inclusion proof of an entry, and the path that is computed from it."""
    wanted = GetLedgerInclusionProofQuery(transaction=transaction)
    inclusion = await ask(ledger.get_ledger_inclusion_proof, request, query=wanted)
    levels, root = path_to_root(inclusion)
    return {"inclusion": inclusion, "levels": levels, "root": root}


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,9}", text, re.ASCII):
        raise InvalidRequest("The version is not a number.", details={"parameter": "version"})
    return int(text)


def _second(text: str | None) -> str | None:
    """Return the time of a form's field, in UTC and to the minute or second, as operations take it; theirs is the refusal."""
    if text is None or text.endswith("Z"):
        return text
    return f"{text}Z" if text.count(":") > 1 else f"{text}:00Z"


def _echo(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form as it shows them again."""
    return {name: fields.get(name, "") for name in ("proof", *_QUESTION, "predicates", *_EXPECTED, *_REQUIRED)}


def _predicate(line: str) -> dict[str, Any]:
    """Return the predicate of a line such as ``age gte 18``, whose value is JSON or else a text."""
    name, kind, text = (*line.split(None, 2), "", "", "")[:3]
    try:
        return {"attributeName": name, "type": kind, "value": strict_json.loads(text.encode())}
    except strict_json.JsonRefused:
        return {"attributeName": name, "type": kind, "value": text}


def _pasted(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the request that a form stands for. Raises ``InvalidRequest`` for what is not a proof."""
    try:
        value = strict_json.loads(given["proof"].encode())
    except strict_json.JsonRefused as error:
        raise InvalidRequest(f"This is not JSON: {error.reason}.") from None
    if isinstance(value, dict) and isinstance(value.get("proof"), dict):
        value = value["proof"]
    if not isinstance(value, dict):
        raise InvalidRequest("A proof is a JSON object with the member proof.")
    wish = {name: value[name] for name in _MEMBERS if name in value}
    question = " ".join(given[name].strip() for name in _QUESTION) if given["attribute"].strip() else ""
    if predicates := [_predicate(line) for line in (question, *given["predicates"].splitlines()) if line.strip()]:
        wish["predicates"] = predicates
    if requires := [member for field, member in _REQUIRED.items() if given[field]]:
        wish["requires"] = requires
    return wish | {member: given[field] for field, member in _EXPECTED.items() if given[field]}


def _typed(value: Mapping[str, Any]) -> VerifyProofRequest:
    try:
        return convert(value, VerifyProofRequest)
    except ValidationError as error:
        raise InvalidRequest(f"This is not a proof: {error}.") from None
