"""Unicode 14.0: write the table of code points that it does not assign, for every reader of canonical texts (PROTOCOL-2.md §2.3).

    python -m tools.write_unicode_14

Needs Python 3.11, whose ``unicodedata`` is of Unicode 14.0. The table never changes.
"""

from __future__ import annotations

import json
import string
import subprocess
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = ROOT / "packages" / "identity_codec" / "identity_codec" / "unassigned_in_unicode_14.json"
TYPESCRIPT: Final = ROOT / "openapi" / "typescript" / "src" / "unicode14.ts"
GO: Final = ROOT / "openapi" / "go" / "unicode14.go"

_TYPESCRIPT: Final = """\
/**
 * Code points that Unicode 14.0 does not assign. Of each range in base 36 how far its first one is from the last one before it, and after a
 * comma how many more there are. Written by tools/write_unicode_14.py.
 */
const UNASSIGNED =
{ranges};

let starts: number[] | undefined;

/** Return the first of each range and the code point after its last. */
function bounds(): number[] {{
  let code = 0;
  return UNASSIGNED.split(" ").flatMap((range) => {{
    const [gap = 0, more = 0] = range.split(",").map((digits) => Number.parseInt(digits, 36));
    const first = code + gap;
    code = first + more;
    return [first, code + 1];
  }});
}}

/** Whether Unicode 14.0 assigns every code point of the text: only then each runtime brings it into the same form NFC. */
export function isAssigned(text: string): boolean {{
  return [...text].every((character) => {{
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x378) return true;
    starts ??= bounds();
    let [low, high] = [0, starts.length];
    while (low < high) {{
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= code) low = middle + 1;
      else high = middle;
    }}
    // Within a range an odd number of bounds is not above the code point.
    return low % 2 === 0;
  }});
}}
"""
_GO: Final = """\
package identity

import "unicode"

// unassigned has the code points that Unicode 14.0 does not assign. Written by tools/write_unicode_14.py.
var unassigned = &unicode.RangeTable{{
R16: []unicode.Range16{{
{small}
}},
R32: []unicode.Range32{{
{large}
}},
}}

// replaced has the characters that are not marks and that NFC writes as others: what CompositionExclusions.txt of Unicode lists, and what
// is another name of one character. What is in it never changes (Unicode's stability policy).
var replaced = &unicode.RangeTable{{
R16: []unicode.Range16{{
{replaced_small}
}},
R32: []unicode.Range32{{
{replaced_large}
}},
}}

// isAssigned says whether Unicode 14.0 assigns every code point of the text: only then each program brings it into the same form NFC.
func isAssigned(text string) bool {{
	for _, character := range text {{
		if unicode.Is(unassigned, character) {{
			return false
		}}
	}}
	return true
}}
"""


def is_unassigned(character: str) -> bool:
    """Return whether the general category is Cn."""
    return unicodedata.category(character) == "Cn"


def is_replaced(character: str) -> bool:
    """Return whether NFC writes the character as another. Marks are left out: they may join with what is before them."""
    return not unicodedata.category(character).startswith(("M", "Cs")) and not unicodedata.is_normalized(
        "NFC", character
    )


def ranges_of(is_meant: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return first and last code point of each range of characters that are meant."""
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"this Python has Unicode {unicodedata.unidata_version}: run Python 3.11, which has 14.0.0")
    found = []
    for is_in, group in groupby(range(sys.maxunicode + 1), lambda code: is_meant(chr(code))):
        codes = list(group)
        if is_in:
            found.append((codes[0], codes[-1]))
    return found


def _base36(number: int) -> str:
    """Return the number in base 36."""
    digits = string.digits + string.ascii_lowercase
    return (_base36(number // 36) if number >= 36 else "") + digits[number % 36]


def _go_ranges(ranges: Sequence[tuple[int, int]]) -> list[str]:
    """Return the elements of the two lists of a table: ranges of 16 bits, and others."""
    lines = [(low, f"{{{low:#x}, {high:#x}, 1}},") for low, high in ranges]
    return ["\n".join(line for low, line in lines if (low <= 0xFFFF) == is_small) for is_small in (True, False)]


def main() -> None:
    """Write the three files."""
    ranges = ranges_of(is_unassigned)
    TABLE.write_text(json.dumps(ranges, separators=(",", ":")) + "\n")
    befores = [0, *(high for _, high in ranges)]
    gaps = [(low - before, high - low) for (low, high), before in zip(ranges, befores, strict=False)]
    texts = textwrap.wrap(" ".join(_base36(gap) + f",{_base36(more)}" * (more > 0) for gap, more in gaps), 112)
    typescript = " +\n".join(f'  "{text} "' for text in texts[:-1]) + f' +\n  "{texts[-1]}"'
    TYPESCRIPT.write_text(_TYPESCRIPT.format(ranges=typescript))
    texts = [*_go_ranges(ranges), *_go_ranges(ranges_of(is_replaced))]
    names = ("small", "large", "replaced_small", "replaced_large")
    GO.write_text(_GO.format(**dict(zip(names, texts, strict=True))))
    subprocess.run(["gofmt", "-w", GO], check=True)


if __name__ == "__main__":
    main()
