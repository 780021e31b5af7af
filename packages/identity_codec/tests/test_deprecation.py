"""Aliases warn, name the function to call, and return its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from identity_codec.deprecation import OldName
from identity_codec.structs import UNSET, given


class Box:
    def __init__(self, content: int = 0) -> None:
        self.content = content

    def read(self, more: int = 0) -> int:
        return self.content + more

    @classmethod
    def from_number(cls, number: int) -> Box:
        return cls(number)

    kept = OldName("Box.kept", read)
    of = OldName("Box.of", from_number)


@pytest.mark.parametrize(
    ("call", "result", "message"),
    [
        (lambda: Box(3).kept(more=1), 4, "Box.kept leaves in 1.2: call read"),
        (lambda: Box.of(5).content, 5, "Box.of leaves in 1.2: call from_number"),
        (lambda: given(UNSET, 7), 7, "given leaves in 1.2: call value_or"),
    ],
    ids=["method", "class method", "function"],
)
def test_old_name_warns_and_returns_the_result(call: Callable[[], Any], result: int, message: str) -> None:
    with pytest.warns(DeprecationWarning, match=r"leaves in 1\.2") as caught:
        assert call() == result
    assert [str(one.message) for one in caught] == [message]
    assert caught[0].filename == __file__, "the warning must name the caller's line"
