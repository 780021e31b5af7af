"""The keys in a log that no signature of its controller names: a request left them to the service to make.

The entry of such a rotation or recovery has the controller's bound signature like every other, and yet anyone who holds the log key can
write it with a key of their own. So a reader learns which keys these are. A key of a first entry is not among them: it is in the hash that
is the DID. Nor is one that an update adds, because the body of that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from identity_codec.values import value_class
from identity_core.domain.dids.log import birth, entry


@value_class
class UnnamedKey:
    """The multikey that came with a version, and that the controller has not asked for by name."""

    version: int
    multikey: str


def unnamed_keys(lines: Sequence[bytes]) -> tuple[UnnamedKey, ...] | None:
    """Those of a valid log; None for a log without ``strictEvidence``, whose entries do not show what was asked for."""
    first = entry.parse(lines[0]).parameters.get("change")
    if not isinstance(first, dict) or not birth.rules(first).strict_evidence:
        return None
    changes = (entry.parse(line).parameters["change"] for line in lines)
    return tuple(
        UnnamedKey(version, key)
        for version, said in enumerate(changes, 1)
        if said is not None
        for key in _unnamed(said)
    )


def _unnamed(said: dict[str, Any]) -> Iterable[str]:
    if "newKey" not in said:
        return
    body = said["authorization"]["body"]
    named = {body.get("newPublicKeyMultibase")}
    # A member that is null names nothing, as where the entry is checked.
    keys = (body.get(name) for name in ("newAuthenticationKey", "newRecoveryKey"))
    named |= {key["publicKeyMultibase"] for key in keys if key is not None}
    for key in (said["newKey"]["publicKeyMultibase"], said.get("recoveryKey")):
        if key is not None and key not in named:
            yield key
