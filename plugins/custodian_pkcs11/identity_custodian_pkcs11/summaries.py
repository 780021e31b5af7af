"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "custodian": "Operate beside the data | Inspect the keys of a custodian.",
    "custodian.pkcs11": "Inspect the token of the custodian plugin pkcs11.",
}
