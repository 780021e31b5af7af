"""The steps of the stories, filed by noun."""

from pkgutil import iter_modules

import pytest

# Before any is imported, for one imports another, and assertions of what came in that way would not show what they compared.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))
