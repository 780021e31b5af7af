"""Checks of ``identity doctor``."""
