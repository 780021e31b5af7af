"""The languages of the pages: gettext catalogues below ``locale``, one folder a language; English stands in the templates.

``python -m tools.catalogues`` writes the catalogues.
"""

from __future__ import annotations

import gettext
import re
from functools import cache
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
TEMPLATES: Final = HERE / "templates"
LOCALE: Final = HERE / "locale"
DOMAIN: Final = "ui"
SOURCE: Final = "en"
LANGUAGES: Final = (SOURCE, *sorted(path.name for path in LOCALE.iterdir()))
MAX_LENGTH: Final = 1_024
_RANGE: Final = re.compile(r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]{1,35})?\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?))?\s*")


def language_of(accepted: str | None) -> str:
    """Return the language of ``LANGUAGES`` that an ``Accept-Language`` prefers (RFC 9110 §12.5.4), English where it prefers none."""
    best, weight = SOURCE, 0.0
    for part in (accepted or "")[:MAX_LENGTH].split(","):
        found = _RANGE.fullmatch(part)
        if found is not None and found[1].lower() in LANGUAGES and float(found[2] or 1) > weight:
            best, weight = found[1].lower(), float(found[2] or 1)
    return best


@cache
def translations(language: str) -> gettext.NullTranslations:
    """Return the catalogue of a language of ``LANGUAGES``."""
    return gettext.NullTranslations() if language == SOURCE else gettext.translation(DOMAIN, LOCALE, [language])
