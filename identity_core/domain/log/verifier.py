"""The log verifier for strangers: lines in, what they prove out. It needs this package alone: no plugin, no service, no network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from identity_core.domain import times
from identity_core.domain.evolution import Rules
from identity_core.domain.history import DidState, LogInvalid
from identity_core.domain.log import entry as entries
from identity_core.domain.log import webvh
from identity_core.domain.log.chain import Chain, method_of
from identity_core.errors import JsonValue


@dataclass(frozen=True, slots=True)
class Verified:
    """What a valid log proves. It proves nothing about newer entries that somebody may have kept back.

    ``head`` is the versionId of the last entry, ``updated_at`` its time, ``document`` the DID document as JSON.
    """

    did: str
    versions: int
    head: str
    updated_at: datetime
    deactivated: bool
    document: Mapping[str, JsonValue]

    def summary(self) -> dict[str, JsonValue]:
        """The same as JSON."""
        return {
            "did": self.did,
            "versions": self.versions,
            "versionId": self.head,
            "updated": times.printed(self.updated_at),
            "deactivated": self.deactivated,
        }


def verify(octets: bytes, *, now: datetime | None = None, witness_file: bytes | None = None) -> Verified:
    """Checks a log: JSON lines of a method that stands on ``chain`` or of did:webvh 1.0.

    With ``now`` entries of the future are refused; ``witness_file`` is the did-witness.json of a did:webvh log that has
    witnesses. Raises ``LogInvalid`` with the ``line`` in its details.
    """
    lines = octets.removesuffix(b"\n").split(b"\n")
    first = entries.parse(lines[0]).parameters
    if str(first.get("method")).startswith("did:webvh:"):
        return _verify_webvh(lines, now, witness_file)
    method = method_of(first)
    if method is None:
        raise LogInvalid("The log is of an unknown method.", details={"line": 1})
    state: DidState | None = None
    for state in fold(Chain(method, Rules()).apply, lines):
        if now is not None and state.updated_at > now:
            raise LogInvalid("The entry is of the future.", details={"line": state.version_id})
    if state is None:
        raise LogInvalid("The log is empty.")
    head = f"{state.version_id}-{state.entry_hash}"
    return Verified(
        str(state.did), state.version_id, head, state.updated_at, state.deactivated, state.document.to_json()
    )


def fold(apply: Callable[[DidState | None, bytes], DidState], lines: Iterable[bytes]) -> Iterator[DidState]:
    """The states after each line, by a method's ``apply``. Raises ``LogInvalid`` with the ``line`` in its details."""
    state: DidState | None = None
    for place, line in enumerate(lines, start=1):
        try:
            state = apply(state, line)
        except LogInvalid as error:
            raise LogInvalid(str(error), details={"line": place}) from error
        yield state


def _verify_webvh(lines: list[bytes], now: datetime | None, witness_file: bytes | None) -> Verified:
    states = webvh.verify_entries(lines, now=now, witness_file=witness_file)
    head = states[-1]
    return Verified(str(head.did), len(states), head.version_id, head.time, head.deactivated, head.document)
