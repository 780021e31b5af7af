"""Writes ``canonical_values.json``, the vectors of PROTOCOL.md §2.1: ``python plugins/prover_bbs/tests/canonical_values.py``.

For issuers that sign with another program. What is expected is written here by hand; only the numbers of the slots follow.
"""

from __future__ import annotations

import json
from pathlib import Path

TARGET = Path(__file__).with_name("canonical_values.json")
Case = tuple[str, int, object, str, int | None]
"""Type, scale, JSON value, canonical text, the number v of (2.1)."""

TAKEN: list[Case] = [
    ("integer", 0, 0, "0", 0),
    ("integer", 0, -1, "-1", -1),
    ("integer", 0, 9007199254740991, "9007199254740991", 9007199254740991),
    ("integer", 0, "9007199254740992", "9007199254740992", 9007199254740992),
    ("integer", 0, "9223372036854775807", "9223372036854775807", 9223372036854775807),
    ("integer", 0, "-9223372036854775808", "-9223372036854775808", -9223372036854775808),
    ("integer", 0, 18.0, "18", 18),
    ("decimal", 2, "1.5", "1.50", 150),
    ("decimal", 2, "1.50", "1.50", 150),
    ("decimal", 2, 1.5, "1.50", 150),
    ("decimal", 2, 7, "7.00", 700),
    ("decimal", 2, 7.0, "7.00", 700),
    ("decimal", 2, "41250", "41250.00", 4125000),
    ("decimal", 2, "-0.01", "-0.01", -1),
    ("decimal", 2, "0", "0.00", 0),
    ("decimal", 0, "7", "7", 7),
    ("decimal", 0, "-7", "-7", -7),
    ("decimal", 9, "0.000000001", "0.000000001", 1),
    ("decimal", 9, "-12.5", "-12.500000000", -12500000000),
    ("date", 0, "1970-01-01", "1970-01-01", 0),
    ("date", 0, "1969-12-31", "1969-12-31", -1),
    ("date", 0, "2024-02-29", "2024-02-29", 19782),
    ("date", 0, "0001-01-01", "0001-01-01", -719162),
    ("date", 0, "9999-12-31", "9999-12-31", 2932896),
    ("datetime", 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 0),
    ("datetime", 0, "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z", 0),
    ("datetime", 0, "1970-01-01T00:00:00+00:00", "1970-01-01T00:00:00Z", 0),
    ("datetime", 0, "2026-01-05T10:00:00.5+01:00", "2026-01-05T09:00:00.500000Z", 1767603600500000),
    ("datetime", 0, "2026-01-05T09:00:00.000001Z", "2026-01-05T09:00:00.000001Z", 1767603600000001),
    ("datetime", 0, "2025-12-31T23:30:00-01:00", "2026-01-01T00:30:00Z", 1767227400000000),
    ("datetime", 0, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", -62135596800000000),
    ("boolean", 0, True, "true", None),
    ("boolean", 0, False, "false", None),
    ("string", 0, "", "", None),
    ("string", 0, "Hana Novák", "Hana Novák", None),
    ("string", 0, "Hana Nova\u0301k", "Hana Novák", None),
    ("string", 0, " two  blanks ", " two  blanks ", None),
    ("string", 0, "e\u0301" * 512, "é" * 512, None),
]
REFUSED: list[tuple[str, int, object]] = [
    ("integer", 0, "1"),
    ("integer", 0, 1.5),
    ("integer", 0, True),
    ("integer", 0, 9007199254740992),
    ("integer", 0, "9223372036854775808"),
    ("integer", 0, "09007199254740992"),
    ("decimal", 2, 1.505),
    ("decimal", 2, True),
    ("decimal", 9, 0.30000000000000004),
    ("decimal", 2, 9007199254740992),
    ("decimal", 2, "1.500"),
    ("decimal", 2, "-0"),
    ("decimal", 2, "-0.00"),
    ("decimal", 2, "01.00"),
    ("decimal", 2, "+1"),
    ("decimal", 2, "1e2"),
    ("decimal", 2, "1."),
    ("decimal", 2, ".5"),
    ("date", 0, "2023-02-29"),
    ("date", 0, "2023-2-1"),
    ("date", 0, "0000-01-01"),
    ("datetime", 0, "2026-01-05T09:00:00"),
    ("datetime", 0, "2026-01-05 09:00:00Z"),
    ("datetime", 0, "2026-01-05T09:00:00.0000001Z"),
    ("datetime", 0, "2016-12-31T23:59:60Z"),
    ("datetime", 0, "2026-01-05T24:00:00Z"),
    ("datetime", 0, "0001-01-01T00:00:00+01:00"),
    ("boolean", 0, "true"),
    ("boolean", 0, 1),
    ("string", 0, 1),
    ("string", 0, "x" * 1025),
    # Assigned by Unicode 15.0 and 16.0; a runtime that has them composes the second one.
    ("string", 0, "\U0001fa77"),
    ("string", 0, "\U000105d2\u0307"),
    ("string", 0, "\u0378"),
]


def main() -> None:
    """The file: messages of the hashed slot in hex, of the numeric slot as decimal text."""
    taken = [
        {
            "type": kind,
            "scale": scale,
            "value": value,
            "text": text,
            "hashed": (b"\x01" + text.encode()).hex(),
            "numeric": None if number is None else str(number + 2**63),
        }
        for kind, scale, value, text, number in TAKEN
    ]
    refused = [{"type": kind, "scale": scale, "value": value} for kind, scale, value in REFUSED]
    null = {"hashed": "00", "numeric": str(2**64)}
    whole = {"taken": taken, "null": null, "refused": refused}
    TARGET.write_text(json.dumps(whole, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
