"""The definitions of steps, found among themselves.

pytest-bdd looks for each step through all fixtures of the run, of other folders too: more than everything else that a story does in this
process.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from pytest_bdd.compat import get_fixture_names, getfixturedefs
from pytest_bdd.parser import Step
from pytest_bdd.steps import StepFunctionContext, StepNamePrefix, step_function_context_registry


@functools.cache
def _named(fixtures: Any, node: Any) -> Sequence[tuple[Any, StepFunctionContext]]:
    """All that ``node``, a file, may use."""
    named = [name for name in get_fixture_names(fixtures) if name.startswith(StepNamePrefix.step_def.value)]
    made = [one for name in named for one in getfixturedefs(fixtures, name, node) or ()]
    return [(one, context) for one in made if (context := step_function_context_registry.get(one.func)) is not None]


@functools.cache
def _matching(name: str, kind: str, fixtures: Any, node: Any) -> Sequence[Any]:
    found = _named(fixtures, node)
    return [one for one, context in found if context.type in (None, kind) and context.parser.is_matching(name)]


def _fitting(step: Step, fixturemanager: Any, node: Any) -> Sequence[Any]:
    """Asked for twice a step, and most steps are of many stories."""
    return _matching(step.name, step.type, fixturemanager, node.parent)


def find_quickly() -> None:
    """From now on. The module has to be asked for by its name: the package calls a function so."""
    scenario = importlib.import_module("pytest_bdd.scenario")
    if not hasattr(scenario, "find_fixturedefs_for_step"):
        raise RuntimeError(
            "pytest-bdd finds steps in another way: see whether that is quick, and whether this is still wanted"
        )
    scenario.find_fixturedefs_for_step = _fitting  # type: ignore[attr-defined]
