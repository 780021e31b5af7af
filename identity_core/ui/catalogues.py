"""The languages of the pages: gettext catalogues below ``locale``, one folder a language; English stands in the templates.

``python -m identity_core.ui.catalogues`` reads the templates, adds to each catalogue what is new, drops what is gone, and writes the
``.mo`` file beside it; a test compares. It needs Babel, which no server does.
"""

from __future__ import annotations

import gettext
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

HERE: Final = Path(__file__).parent
TEMPLATES: Final = HERE / "templates"
LOCALE: Final = HERE / "locale"
DOMAIN: Final = "ui"
SOURCE: Final = "en"
LANGUAGES: Final = (SOURCE, *sorted(path.name for path in LOCALE.iterdir()))
MAX_LENGTH: Final = 1_024
_WHENEVER: Final = datetime(2026, 1, 1, tzinfo=UTC)
_RANGE: Final = re.compile(r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]{1,35})?\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?))?\s*")


def language_of(accepted: str | None) -> str:
    """The language of ``LANGUAGES`` that an ``Accept-Language`` prefers (RFC 9110 §12.5.4), English where it prefers none."""
    best, weight = SOURCE, 0.0
    for part in (accepted or "")[:MAX_LENGTH].split(","):
        found = _RANGE.fullmatch(part)
        if found is not None and found[1].lower() in LANGUAGES and float(found[2] or 1) > weight:
            best, weight = found[1].lower(), float(found[2] or 1)
    return best


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The catalogue of a language of ``LANGUAGES``."""
    return gettext.NullTranslations() if language == SOURCE else gettext.translation(DOMAIN, LOCALE, [language])


def extracted() -> Catalog:
    """What the templates say, as Babel's catalogue."""
    from babel.messages.catalog import Catalog
    from babel.messages.extract import extract_from_dir

    catalog = Catalog(project="identity-service", charset="utf-8")
    found = extract_from_dir(TEMPLATES, [("**.html", "jinja2")], {"**.html": {"trimmed": "true", "silent": "false"}})
    for name, _, message, _, context in sorted(found, key=lambda each: (each[0], each[1])):
        catalog.add(message, locations=[(name, 0)], context=context)
    return catalog


def written(language: str) -> tuple[bytes, bytes]:
    """The ``.po`` and the ``.mo`` file of ``language`` as they should be, with the translations that there are."""
    from io import BytesIO

    from babel.messages import mofile, pofile

    with _source(language).open("rb") as file:
        catalog = pofile.read_po(file, locale=language)
    catalog.update(extracted(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    # The same templates and translations make the same octets, whenever.
    catalog.creation_date = catalog.revision_date = _WHENEVER
    source, compiled = BytesIO(), BytesIO()
    pofile.write_po(source, catalog, omit_header=False, sort_output=True, no_location=True, width=120)
    mofile.write_mo(compiled, catalog)
    return source.getvalue(), compiled.getvalue()


def _source(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{DOMAIN}.po"


if __name__ == "__main__":
    for each in LANGUAGES[1:]:
        text, octets = written(each)
        _source(each).write_bytes(text)
        _source(each).with_suffix(".mo").write_bytes(octets)
