"""Lets the tests import what lies beside them, from here and from the root of the project alike."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
