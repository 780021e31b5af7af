"""Who must approve of a log of ours: the parameter ``witness`` of its first entry (did:webvh 1.0, "DID Witnesses"), for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_core.domain.dids.changes import Create
from identity_core.domain.dids.log.witness import read_witnesses
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDocument

WITNESS: Final = "witness"


def parameter(change: Create) -> dict[str, Any]:
    """The parameter where the DID shall have witnesses. Raises ``InvalidDocument``."""
    if change.witnesses is None:
        return {}
    try:
        return read({WITNESS: change.witnesses.parameter()})
    except LogInvalid as error:
        raise InvalidDocument(str(error), details={"member": WITNESS}) from error


def read(said: Mapping[str, Any]) -> dict[str, Any]:
    """The parameter among those of a first entry, in the one form that is ours: there are witnesses, and each is a did:key. Raises
    ``LogInvalid``."""
    if WITNESS not in said:
        return {}
    value = said[WITNESS]
    if read_witnesses(value) is None or not all(one.keys() == {"id"} for one in value["witnesses"]):
        raise LogInvalid("witness is malformed.")
    if not all(one["id"].startswith("did:key:") for one in value["witnesses"]):
        raise LogInvalid("A witness is no did:key.")
    return {WITNESS: value}
