"""Consent: an agent's request, read by the holder in words, and approved by a delegation of its own and tokens that the page signs.

The service carries no requests. An agent gives its holder a JSON object (``AgentRequest``), pasted or behind the ``#`` of a link to this
page, where it reaches no server unless she has it read; what she approved she hands back the same way, or the page sends it where the
request says that the agent fetches it (``reply``, ``use_cases/consents.py``). Each approval makes a delegation for
exactly these actions, as often as there are tokens and as long as they are good, so that stopping it stops what was approved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_core.api.credentials import CredentialHandlers
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.codec import strict_json
from identity_core.codec.structs import UNSET, ValidationError, convert
from identity_core.domain.delegations.action import Action, check_type, pin_of
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthRequired, IdentityError, InvalidDid, InvalidRequest, JsonValue
from identity_core.ui.operations import ask
from identity_core.ui.render import page
from identity_core.ui.session import Session, Sessions
from identity_core.use_cases.consents import MAX_REPLY, HolderConsents
from identity_core.values import value_class
from identity_core.wire import AskedPredicate, ListCredentialsQuery

CREDENTIALS: Final = 200
"""How many of her credentials are looked through for one that has the attributes."""

MAX_PREDICATES: Final = 16
MAX_TEXT: Final = 200
_MEMBERS: Final = frozenset({"agentDid", "predicates", "domain", "purpose", "reply"})


@value_class
class AgentRequest:
    """What an agent asks its holder for. ``predicates`` as generateDelegatedProof takes them, each with its value; ``actions`` pin those
    values. ``domain`` is the verifier and ``purpose`` the reason that the agent names, empty where it names none; ``reply`` is where it
    fetches the answer, empty where she hands it back herself."""

    agent: str
    predicates: tuple[dict[str, JsonValue], ...]
    actions: tuple[str, ...]
    domain: str
    purpose: str
    reply: str = ""

    @property
    def attributes(self) -> set[JsonValue]:
        return {one["attributeName"] for one in self.predicates}


def read_request(text: str) -> AgentRequest:
    """The request of pasted text. Raises ``InvalidRequest``, with what is wrong for people."""
    try:
        value = strict_json.loads(text.encode())
    except strict_json.JsonRefused as error:
        raise InvalidRequest(f"This is no JSON: {error.reason}.") from None
    if not isinstance(value, dict) or not value.keys() <= _MEMBERS or not {"agentDid", "predicates"} <= value.keys():
        raise InvalidRequest("A request has the members agentDid and predicates, and may have domain and purpose.")
    agent = _text(value, "agentDid", 2_048)
    try:
        Did.parse(agent)
        asked = convert(value["predicates"], tuple[AskedPredicate, ...])
        predicates = tuple(map(_predicate, asked))
        actions = tuple(map(_action, predicates))
    except (InvalidDid, ValidationError, ValueError) as error:
        raise InvalidRequest(f"This is no request of an agent: {error}.") from None
    if not 1 <= len(predicates) <= MAX_PREDICATES:
        raise InvalidRequest(f"A request has 1 to {MAX_PREDICATES} predicates.")
    reply = _text(value, "reply", MAX_REPLY)
    return AgentRequest(agent, predicates, actions, _text(value, "domain"), _text(value, "purpose"), reply)


def _text(value: Mapping[str, Any], name: str, longest: int = MAX_TEXT) -> str:
    """Text that looks like what it is: without control characters, and without those that turn its direction around."""
    text = value.get(name, "")
    if not isinstance(text, str) or len(text) > longest or not text.isprintable():
        raise InvalidRequest(f"{name} is a printable text of at most {longest} characters.")
    return text


def _predicate(asked: AskedPredicate) -> dict[str, JsonValue]:
    name = asked.attribute_name
    if not 1 <= len(name) <= MAX_TEXT or not name.isprintable():
        raise ValueError("an attributeName is a printable text")
    if asked.value is UNSET:
        raise ValueError("each predicate has a value")
    for one in asked.value if isinstance(asked.value, list) else [asked.value]:
        if isinstance(one, str) and not one.isprintable():
            raise ValueError("a value is printable")
    return {"attributeName": name, "type": asked.type, "value": asked.value}


def _action(predicate: Mapping[str, JsonValue]) -> str:
    pin = pin_of(predicate["value"])
    return str(Action(str(predicate["attributeName"]), check_type(str(predicate["type"])), pin))


@value_class
class ConsentPages:
    """The form for a request, and the request in words."""

    credentials: CredentialHandlers
    sessions: Sessions
    consents: HolderConsents

    async def form(self, request: Request, session: Session) -> Answer:
        return _page(request, session)

    async def read(self, request: Request, session: Session) -> Answer:
        """The request in words, with the credentials of hers that could answer it."""
        self.sessions.require_own_page(request)
        text = request.body.get("request", "")
        try:
            found = read_request(text)
            if found.reply:
                self._require_asked(found, session)
        except IdentityError as error:
            return _page(request, session, status=422, text=text, refusal=error)
        return _page(request, session, text=text, found=found, fitting=await self._fitting(request, session, found))

    def _require_asked(self, found: AgentRequest, session: Session) -> None:
        """Raises ``InvalidRequest`` for the request of another agent, or to another holder."""
        asked = self.consents.opened(found.reply)
        if (asked.agent, asked.holder) != (found.agent, str(session.did)):
            raise InvalidRequest("The agent has asked somebody else.")

    async def reply(self, request: Request) -> Answer:
        """204: her answer is kept for the agent. Raises ``Forbidden``, ``StorageMismatch``, ``AuthRequired``, ``InvalidRequest``,
        ``IbctInvalid``."""
        self.sessions.require_change(request)
        session = await self.sessions.find(request)
        if session is None:
            raise AuthRequired
        await self.consents.answer(request.body.get("reply", ""), str(session.did), request.body.get("answer", ""))
        return Answer(204, headers=[NO_STORE])

    async def _fitting(self, request: Request, session: Session, found: AgentRequest) -> list[Mapping[str, Any]]:
        query = ListCredentialsQuery(limit=CREDENTIALS, holder_did=str(session.did), status="active")
        listed = await ask(
            self.credentials.list_credentials, "listCredentials", request, query=query, caller=session.caller
        )
        return [one for one in listed["items"] if found.attributes <= {*one["attributeNames"]}]


def _page(
    request: Request,
    session: Session,
    *,
    status: int = 200,
    text: str = "",
    found: AgentRequest | None = None,
    fitting: list[Mapping[str, Any]] | None = None,
    refusal: IdentityError | None = None,
) -> Answer:
    return page(
        "consent.html",
        request,
        status=status,
        signed_in=str(session.did),
        text=text,
        found=found,
        fitting=fitting or [],
        refusal=refusal,
    )
