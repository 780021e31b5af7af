"""The lines of ``identity --help`` about the commands of the kit, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {"conformance": "Operate a service | Run the stories of the specification against a service."}
