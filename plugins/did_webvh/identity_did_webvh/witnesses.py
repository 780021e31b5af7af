"""The witnesses of the service's own logs: the parameter ``witness`` of an entry (did:webvh 1.0, "DID Witnesses"). A
later list acts after its entry, of which the list before must approve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_core.domain.dids.changes import Change, Create, SetWitnesses, Update, WitnessList
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDocument
from identity_did_webvh.approvals import read_witnesses

WITNESS: Final = "witness"


def parameter(change: Change) -> dict[str, Any]:
    """Return the parameter if the change names the witnesses. Raises ``InvalidDocument``."""
    match change:
        case Create(witnesses=WitnessList() as asked):
            said = {WITNESS: asked.parameter()}
        case Update(operations=operations):
            step = next((step for step in operations if isinstance(step, SetWitnesses)), None)
            said = {} if step is None else {WITNESS: step.witnesses.parameter() if step.witnesses else {}}
        case _:
            said = {}
    try:
        return read(said, first=isinstance(change, Create))
    except LogInvalid as error:
        raise InvalidDocument(str(error), details={"member": WITNESS}) from error


def read(said: Mapping[str, Any], *, first: bool) -> dict[str, Any]:
    """Return the parameter among those of an entry, in the one form that is ours: each witness is a did:key, and the ``first`` entry
    cannot state that there are none. Raises ``LogInvalid``."""
    if WITNESS not in said:
        return {}
    value = said[WITNESS]
    if value == {} and not first:
        return {WITNESS: {}}
    if read_witnesses(value) is None or not all(one.keys() == {"id"} for one in value["witnesses"]):
        raise LogInvalid("witness is malformed.")
    if not all(one["id"].startswith("did:key:") for one in value["witnesses"]):
        raise LogInvalid("A witness is not a did:key.")
    return {WITNESS: value}
