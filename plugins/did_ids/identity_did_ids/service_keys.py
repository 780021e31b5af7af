"""Replaced keys of the service, as the document of the service's own DID lists them.

Each replacement is one service entry, such as ``#token-2`` of type ``ServiceKeyReplacement``. Its endpoint is the did:key of the
new key, with the rest as a query. An ordinary updateDid, authorized by the service's own key, adds it, so the log key alone
replaces nothing.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_codec import multibase
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import ServiceEntry
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDocument

TYPE: Final = "ServiceKeyReplacement"
TOKEN: Final = "token"  # noqa: S105  (what the key signs)
CHECKPOINT: Final = "checkpoint"
USES: Final = frozenset({TOKEN, CHECKPOINT})
_DID_KEY: Final = "did:key:"
_MEMBERS: Final = ("replaces", "treeSize", "compromised", "succession")


def token_key_name(number: int) -> str:
    """Return the name in the custodian of a key of access tokens."""
    return f"{TOKEN}-{number}"


class Replacement(Struct, frozen=True):
    """The replacement of the key ``replaces`` by ``multikey``, which has this ``number``, from 2. It signs access tokens or checkpoints.

    - ``at``: the time of the entry, from which the new key signs.
    - ``tree_size``: the number of entries in the ledger's log at that time.
    - ``compromised``: signatures of the old key are no longer valid.
    - ``succession``: bytes of a note that both keys signed (``ledger.checkpoint_keys``).
    - ``version``: the version of the service's DID with this entry, 0 if unknown.
    """

    use: str
    number: int
    multikey: str
    replaces: str
    tree_size: int
    compromised: bool
    at: datetime
    succession: bytes | None = None
    version: int = 0

    @property
    def fragment(self) -> str:
        """Return the name of the service entry."""
        return f"{self.use}-{self.number}"

    @property
    def endpoint(self) -> str:
        """Return the endpoint of the service entry."""
        said = {
            "replaces": self.replaces,
            "treeSize": str(self.tree_size),
            "compromised": "true" if self.compromised else "false",
        }
        if self.succession is not None:
            said["succession"] = multibase.base64url_encode(self.succession)
        return f"{_DID_KEY}{self.multikey}?{urllib.parse.urlencode(said)}"

    @classmethod
    def read(cls, entry: ServiceEntry, at: datetime, version: int = 0) -> Replacement:
        """Read a replacement from a service entry; ``at`` is the time of its version, ``version`` the version's number.

        Raises ``LogInvalid``: for an entry that ``endpoint`` would not have written.
        """
        try:
            use, _, number = entry.fragment.partition("-")
            key, _, query = entry.endpoint.removeprefix(_DID_KEY).partition("?")
            said = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
            note = said.get("succession")
            found = cls(
                use,
                int(number),
                PublicKey.parse(keys.ED25519.name, key).multibase,
                PublicKey.parse(keys.ED25519.name, said["replaces"]).multibase,
                int(said["treeSize"]),
                said["compromised"] == "true",
                at,
                None if note is None else multibase.base64url_decode(note),
                version,
            )
        except (InvalidDocument, ValueError, KeyError) as error:
            raise LogInvalid("The service log lists a key in another form.") from error
        if (found.fragment, found.endpoint) != (entry.fragment, entry.endpoint) or use not in USES or found.number < 2:
            raise LogInvalid("The service log lists a key in another form.")
        return found


def read_replacements(states: Iterable[DidState]) -> tuple[Replacement, ...]:
    """Return the replacements that the versions of the service's DID list, oldest first. Raises ``LogInvalid``: when a key does not
    replace the one before it."""
    found: dict[str, Replacement] = {}
    for state in states:
        for entry in state.document.services:
            if entry.type == TYPE and entry.fragment not in found:
                one = Replacement.read(entry, state.updated_at, state.version_id)
                _check_follows(newest(found.values(), one.use), one)
                found[entry.fragment] = one
    return tuple(found.values())


def newest(replacements: Iterable[Replacement], use: str) -> Replacement | None:
    """Return the last replacement of one use; None if there is none."""
    return max((one for one in replacements if one.use == use), key=lambda one: one.number, default=None)


def of_use(replacements: Sequence[Replacement], use: str) -> tuple[Replacement, ...]:
    """Return the keys of one use, oldest first."""
    return tuple(one for one in replacements if one.use == use)


def since_theft(replacements: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """Return the keys of one use, in order, that follow the last compromised one.

    Keys before a compromised one are left out too, because the same custodian held them at the time of the theft.
    """
    stolen = max((place for place, one in enumerate(replacements, 1) if one.compromised), default=0)
    return tuple(replacements[stolen:])


def _check_follows(before: Replacement | None, after: Replacement) -> None:
    is_next = before is None or (after.number > before.number and after.replaces == before.multikey)
    if not is_next or after.multikey == after.replaces:
        raise LogInvalid("The service log replaces a key that is not the present one.")
