"""Catalogues of the pages: add what the templates have, drop what they no longer have, compile.

    python -m tools.catalogues

A test compares. The tool needs Babel; a server does not.
"""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Final

from babel.messages import mofile, pofile
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from identity_ui.catalogues import DOMAIN, LANGUAGES, LOCALE, TEMPLATES

from identity_client.presentation import CHECKS, EVENTS, ROLES

# The same templates and translations must make the same bytes.
_WHENEVER: Final = datetime(2026, 1, 1, tzinfo=UTC)


def extracted() -> Catalog:
    """Return the sentences of the templates as a catalogue."""
    catalog = Catalog(project="identity-service", charset="utf-8")
    found = extract_from_dir(TEMPLATES, [("**.html", "jinja2")], {"**.html": {"trimmed": "true", "silent": "false"}})
    for name, _, message, _, context in sorted(found, key=lambda each: (each[0], each[1])):
        catalog.add(message, locations=[(name, 0)], context=context)
    said = [text for event in EVENTS.values() for role in ROLES for text in event.get(role, ())]
    for text in (*said, *(text for answers in CHECKS.values() for text in answers.values())):
        catalog.add(text, locations=[("presentation.json", 0)])
    return catalog


def written(language: str) -> tuple[bytes, bytes]:
    """Return the ``.po`` and the ``.mo`` file of ``language``, with the translations that exist."""
    with _source(language).open("rb") as file:
        catalog = pofile.read_po(file, locale=language)
    catalog.update(extracted(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    # The same templates and translations make the same bytes at any time.
    catalog.creation_date = catalog.revision_date = _WHENEVER
    source, compiled = BytesIO(), BytesIO()
    pofile.write_po(source, catalog, omit_header=False, sort_output=True, no_location=True, width=120)
    mofile.write_mo(compiled, catalog)
    return source.getvalue(), compiled.getvalue()


def _source(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{DOMAIN}.po"


if __name__ == "__main__":
    for each in LANGUAGES[1:]:
        text, binary = written(each)
        _source(each).write_bytes(text)
        _source(each).with_suffix(".mo").write_bytes(binary)
