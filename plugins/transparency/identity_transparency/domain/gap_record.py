"""A published list of signed gaps as an entry of the transparency log, so that an issuer cannot show different lists to different
holders undetected.

Each list has a log of its own among the entries of the ledger, under a subject that no DID method writes. Every edition is one
entry, in the order in which they were recorded: JCS of ``digest`` (SHA-256 of the manifest's bytes, base64url), ``edition``,
``epoch``, ``format``, ``issuer``, ``list`` and ``period``. Within an epoch the editions of a list ascend; two entries of one
edition are two lists, which an audit of the log reports (the extension ``transparency``).
"""

from __future__ import annotations

from typing import Final, Self

from msgspec import Struct

from identity_client.status_list import StatusListRefused
from identity_codec import jcs, multibase, strict_json

FORMAT: Final = "identity-status-gaps-record-1"
SUBJECT: Final = "did:statusgaps:"
"""The prefix of the subject, which stands instead of a DID. There is no such method. A plugin with such a method could not write
first, because only the service appends to the ledger."""

_MAX_OCTETS: Final = 2_048


class GapRecord(Struct, frozen=True):
    """The record of one edition in the log; ``digest`` is ``Manifest.digest``, ``period`` the seconds of an epoch."""

    issuer: str
    list_id: str
    period: int
    epoch: int
    edition: int
    digest: bytes

    @property
    def encoded(self) -> bytes:
        """Return the entry."""
        return jcs.canonicalize(
            {
                "digest": multibase.base64url_encode(self.digest),
                "edition": self.edition,
                "epoch": self.epoch,
                "format": FORMAT,
                "issuer": self.issuer,
                "list": self.list_id,
                "period": self.period,
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Parse an entry. Raises ``StatusListRefused`` for anything that ``data`` would not write."""
        try:
            if len(data) > _MAX_OCTETS:
                raise ValueError
            value = strict_json.loads(data)
            texts, numbers = (value["issuer"], value["list"]), (value["period"], value["epoch"], value["edition"])
            if not all(type(one) is str for one in texts) or not all(type(one) is int for one in numbers):
                raise ValueError
            read = cls(*texts, *numbers, multibase.base64url_decode(value["digest"]))
        except (ValueError, KeyError, TypeError, IndexError):
            raise StatusListRefused("the entry of the log is not a record of a list") from None
        if read.encoded != data:
            raise StatusListRefused("the entry of the log is not in its canonical form")
        return read


def subject(list_id: str) -> str:
    """Return the subject of a list's entries, which replaces the DID."""
    return f"{SUBJECT}{list_id}"
