"""The two ways in which what somebody shows is no proof."""

from __future__ import annotations


class Malformed(ValueError):
    """It is not in the form of its specification, so that nothing could be checked."""


class Refuted(Exception):
    """It was checked and is wrong."""
