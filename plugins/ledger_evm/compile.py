"""Compiler of the contract: ``python plugins/ledger_evm/compile.py`` writes ``contract.json`` beside its source.

Needs vyper (the extra ``test``). The result is committed, so that no other step needs it; a test compiles anew and compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import vyper
from vyper.compiler import compile_code
from vyper.compiler.settings import OptimizationLevel, Settings
from vyper.utils import keccak256

SOURCE = Path(__file__).parent / "identity_ledger_evm" / "contract" / "ledger.vy"
RESULT = SOURCE.with_name("contract.json")
EVM_VERSION = "shanghai"


def compiled() -> str:
    """Return the text of ``contract.json``: ABI, selectors, topics, the code to deploy and the code that is then there."""
    settings = Settings(evm_version=EVM_VERSION, optimize=OptimizationLevel.GAS)
    formats = ["abi", "bytecode", "bytecode_runtime", "method_identifiers"]
    made = compile_code(SOURCE.read_text("utf-8"), output_formats=formats, settings=settings)
    events = [item for item in made["abi"] if item["type"] == "event"]
    result = {
        "compiler": f"vyper {vyper.__version__}",
        "evmVersion": EVM_VERSION,
        "abi": made["abi"],
        "selectors": {
            name.partition("(")[0]: f"0x{int(value, 16):08x}" for name, value in made["method_identifiers"].items()
        },
        "topics": {event["name"]: "0x" + keccak256(_signature(event).encode()).hex() for event in events},
        "bytecode": made["bytecode"],
        "runtime": made["bytecode_runtime"],
    }
    return json.dumps(result, indent=1) + "\n"


def _signature(event: dict[str, Any]) -> str:
    return f"{event['name']}({','.join(one['type'] for one in event['inputs'])})"


if __name__ == "__main__":
    RESULT.write_text(compiled(), "utf-8")
