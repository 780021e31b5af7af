"""Keys that may act for DIDs name their targets."""

from __future__ import annotations

import pytest
from identity_api_keys.manage import require_targets

from identity_core.domain.callers import ACTING, KNOWN
from identity_core.errors import InvalidRequest


@pytest.mark.parametrize("scope", sorted(KNOWN))
def test_a_key_that_acts_names_its_targets(scope: str) -> None:
    require_targets({scope}, said=True)
    require_targets(None, said=False)
    require_targets((), said=False)
    if scope not in ACTING:
        require_targets({scope}, said=False)
        return
    with pytest.raises(InvalidRequest) as refused:
        require_targets({scope, "audit:read"}, said=False)
    assert refused.value.details == {"field": "allowedTargets"}
