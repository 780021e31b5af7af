"""From the verification method that a proof names to the issuer's key: did:ids and did:key from here, others through their
method's own resolution. What the network did not answer is told apart from what it answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.did import Did
from identity_core.domain.issuer_key import MANY_KEYS, assertion_key, controller_of, signing_keys
from identity_core.domain.verification import Check, CheckCode, right, undecided, wrong
from identity_core.errors import DidNotFound, InvalidDid, JsonValue, NotAcceptable, PluginUnavailable
from identity_core.use_cases.dids.reader import DidReader

NAME = "issuerKey"


@dataclass(frozen=True, slots=True)
class FoundKey:
    """The check, the raw key (96 octets) where it is right, and what is strange about the document that has it."""

    check: Check
    raw: bytes | None = None
    warnings: tuple[CheckCode, ...] = ()


@dataclass(frozen=True, slots=True)
class IssuerKeys:
    """Resolves assertion keys."""

    reader: DidReader

    async def __call__(self, method_id: str, now: datetime) -> FoundKey:
        """The key of the verification method that is in force at ``now`` (aware UTC)."""
        try:
            did = controller_of(method_id)
            document = await self._document(self.reader.parse(str(did)))
        except InvalidDid:
            return FoundKey(wrong(NAME, CheckCode.ISSUER_KEY_UNKNOWN))
        except DidNotFound:
            return FoundKey(wrong(NAME, CheckCode.ISSUER_NOT_FOUND))
        except (PluginUnavailable, NotAcceptable):
            return FoundKey(undecided(NAME, CheckCode.ISSUER_UNAVAILABLE))
        if document is None:
            return FoundKey(wrong(NAME, CheckCode.ISSUER_DEACTIVATED))
        try:
            raw = assertion_key(document, method_id, now)
        except ValueError:
            return FoundKey(wrong(NAME, CheckCode.ISSUER_KEY_UNKNOWN))
        marks = signing_keys(document, now) > MANY_KEYS
        return FoundKey(right(NAME), raw, (CheckCode.ISSUER_HAS_MANY_KEYS,) if marks else ())

    async def _document(self, did: Did) -> Mapping[str, JsonValue] | None:
        """The document in force; None for a deactivated DID. Raises ``DidNotFound``, and what ``DidReader.elsewhere`` does."""
        if did.method not in self.reader.methods:
            # Nobody here can look: that tells nothing about the issuer.
            raise PluginUnavailable
        try:
            state = (await self.reader.standing(did)).head.state
        except DidNotFound:
            found = await self.reader.elsewhere(did)
            if found is None:
                raise
            state = found.state
        return None if state.deactivated else state.document.to_json()
