"""What a plugin returns is checked against the port's annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, Caller
from identity_core.plugin.conformity import check_for
from identity_core.ports.did_method import UnsignedEntry
from identity_core.ports.ledger import LedgerEntry, Receipt
from identity_core.ports.panel import PanelTable
from identity_core.ports.securing import CredentialDraft
from tests.unit.plugin.parts import DID, KEY, NOW, GoodEntry

RECEIPT = Receipt("00" * 32, 1, 1, NOW)
LINE = LedgerEntry("did:toy:a", 1, b"", RECEIPT)


@pytest.mark.parametrize(
    ("hint", "good", "junk"),
    [
        (str, "a", b"a"),
        (bytes, b"a", bytearray(b"a")),
        (int, 1, True),
        (bool, True, 1),
        (Receipt, RECEIPT, None),
        (Receipt, RECEIPT, replace(RECEIPT, sequence="1")),
        (Receipt, RECEIPT, replace(RECEIPT, recorded_at="now")),
        (CredentialDraft, CredentialDraft(b"", [b""], None), CredentialDraft("", [b""], None)),
        (CredentialDraft, CredentialDraft(b"", [b""], ("any", 1)), ("any", 1)),
        (Receipt, RECEIPT, SimpleNamespace(**structs.asdict(RECEIPT))),
        (Sequence[LedgerEntry], [LINE], "line"),
        (Sequence[LedgerEntry], (LINE,), [LINE, None]),
        (Sequence[LedgerEntry], [], iter([LINE])),
        (Sequence[LedgerEntry], [LINE], [replace(LINE, receipt=None)]),
        (
            Sequence[LedgerEntry],
            [LINE],
            [replace(LINE, receipt=replace(RECEIPT, sequence=None))],
        ),
        (ApiKey | None, KEY, {}),
        (ApiKey | None, None, replace(KEY, digest=None)),
        (ApiKey | None, KEY, replace(KEY, scopes="admin")),
        (Caller | None, Caller(api_key=KEY), "caller"),
        (frozenset[str], frozenset({"a"}), frozenset({1})),
        (frozenset[str], frozenset(), ["a"]),
        (tuple[str, ...], ("a",), (1,)),
        (str | int, 1, 1.5),
        (Mapping[str, int], {}, []),
        (datetime, datetime.now(UTC), "2026"),
        (PanelTable, PanelTable("a", ("b",), [["c"]]), PanelTable("a", "b")),
        (PanelTable, PanelTable("a", (), [()]), PanelTable("a", ("b",), [[b"c"]])),  # type: ignore[list-item]
        (PanelTable, PanelTable("a"), PanelTable("a", ("b",), ["c"])),
        (UnsignedEntry, GoodEntry(DID, b""), SimpleNamespace(did=DID)),
    ],
)
def test_good_passes_and_junk_does_not(hint: Any, good: object, junk: object) -> None:
    check = check_for(hint)
    assert check(good)
    assert not check(junk)


def test_unannotated_result_passes() -> None:
    assert check_for(Any)(object())


@pytest.mark.parametrize("hint", [None, type(None)])
def test_a_verdict_where_the_port_raises_is_junk(hint: Any) -> None:
    assert check_for(hint)(None)
    assert not check_for(hint)(False)
    assert not check_for(hint)(True)
