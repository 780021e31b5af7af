"""The page of errors: an anchor for each code of the document's catalogue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from docs.generate.document import Document, page


def error_page(document: Document) -> str:
    """Every code, in the order of the catalogue."""
    answered_by: dict[str, list[str]] = defaultdict(list)
    for operation in document.operations():
        for answer in map(document.resolved, operation.body["responses"].values()):
            for code in answer.get("x-error-codes", ()):
                if operation.id not in answered_by[code]:
                    answered_by[code].append(operation.id)
    catalogue = document.body["x-error-catalogue"]
    everywhere = len([*document.operations()])
    return page(
        "# Errors",
        'A refusal is `{"error": {"code", "message", "details"}}`. The code is stable; the message is for people and may change. '
        "`details.remedy` states what to do in this case. "
        "`details.requestId` is what to quote when you ask the operator. Where a service serves this documentation, "
        "`details.docUrl` leads to the code on this page.",
        *(_code(code, entry, answered_by[code], everywhere) for code, entry in catalogue.items()),
    )


def _code(code: str, entry: Mapping[str, Any], operations: Sequence[str], everywhere: int) -> str:
    if len(operations) == everywhere:
        who = "Every operation can answer it."
    elif operations:
        who = "Answered by " + ", ".join(f"[{name}](#operation-{name})" for name in operations) + "."
    else:
        who = "No single operation answers it: it comes before one is found."
    remedy = f"What to do: {entry['remedy']}"
    reasons = "\n".join(f"- `{reason}`: {text}" for reason, text in entry.get("reasons", {}).items())
    title, status = f"({code})=\n## {code}", f"**{entry['status']}**: {entry['message']}"
    return page(title, status, entry["meaning"], remedy, reasons, who)
