"""The request of an agent for the consent of its holder: members, limits and the text that a page may show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from identity_client.action import Action, check_type, pin_of
from identity_codec import strict_json
from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET, ValidationError, convert
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid, InvalidRequest
from identity_core.wire import AskedPredicate

MAX_PREDICATES: Final = 16
MAX_TEXT: Final = 200
MAX_REPLY: Final = 8_192
_MEMBERS: Final = frozenset({"agentDid", "predicates", "domain", "purpose", "reply"})


class AgentRequest(Struct, frozen=True):
    """A request of an agent to its holder.

    ``predicates`` as generateDelegatedProof takes them, each with its value; ``actions`` pin those values. ``domain`` is the verifier and
    ``purpose`` the reason, empty if the agent names none. ``reply`` is where the agent fetches the reply, empty if the holder hands it over
    herself.
    """

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
    """Return the request in ``text``. Raises ``InvalidRequest``: with the reason, which a page shows."""
    try:
        value = strict_json.loads(text.encode())
    except strict_json.JsonRefused as error:
        raise InvalidRequest(f"This is not JSON: {error.reason}.") from None
    if not isinstance(value, dict) or not value.keys() <= _MEMBERS or not {"agentDid", "predicates"} <= value.keys():
        raise InvalidRequest("A request has the members agentDid and predicates, and may have domain and purpose.")
    agent = str(read_did(value, "agentDid"))
    predicates, actions = read_question(value["predicates"])
    reply = read_text(value, "reply", MAX_REPLY)
    return AgentRequest(agent, predicates, actions, read_text(value, "domain"), read_text(value, "purpose"), reply)


def read_question(value: Any) -> tuple[tuple[dict[str, JsonValue], ...], tuple[str, ...]]:
    """Return the predicates of a question with their actions. Raises ``InvalidRequest``: with the reason, which a page shows."""
    try:
        predicates = tuple(map(_predicate, convert(value, tuple[AskedPredicate, ...])))
        actions = tuple(map(_action, predicates))
    except (ValidationError, ValueError) as error:
        raise InvalidRequest(f"This is not a request of an agent: {error}.") from None
    if not 1 <= len(predicates) <= MAX_PREDICATES or len({*actions}) < len(actions):
        raise InvalidRequest(f"A request has 1 to {MAX_PREDICATES} different predicates.")
    return predicates, actions


def read_text(value: Mapping[str, Any], name: str, longest: int = MAX_TEXT) -> str:
    """Return a member without control characters, and without those that change the direction of text."""
    text = value.get(name, "")
    if not isinstance(text, str) or len(text) > longest or not text.isprintable():
        raise InvalidRequest(f"{name} is a printable text of at most {longest} characters.")
    return text


def read_did(value: Mapping[str, Any], name: str) -> Did:
    """Return a member that is a DID. Raises ``InvalidRequest``."""
    try:
        return Did.parse(read_text(value, name, 2_048))
    except InvalidDid as error:
        raise InvalidRequest(f"{name} is not a DID.", details={"member": name}) from error


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
