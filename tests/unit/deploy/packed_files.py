"""Prints what setuptools packs of each project, without building it: a line for each file.

python packed_files.py FOLDER-FOR-METADATA PROJECT …
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from setuptools import Distribution


def list_files(project: Path, metadata: str) -> list[str]:
    """Return the files of the packages, relative to the project."""
    os.chdir(project)
    found = Distribution({"script_name": "setup.py"})
    found.parse_config_files(["pyproject.toml"])
    found.command_options.setdefault("egg_info", {})["egg_base"] = ("tests", metadata)
    found.set_defaults()
    command = found.get_command_obj("build_py")
    command.build_lib = ""
    command.ensure_finalized()
    return list(command.get_outputs(include_bytecode=False))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in map(Path, sys.argv[2:]):
        for file in list_files(each, sys.argv[1]):
            print(each / file)
