"""Modules of the package that need a compiled one, loaded when they are first used."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

# What an installation lacks without the compiled module.
_MISSING = {
    "_core": "needs ulpscope._core, the compiled part of the package, which cannot be imported ({cause}): install the package with pip "
    "or CMake (docs/python.md); the recorder alone needs nothing compiled",
    "_runs": "needs ulpscope._runs, the compiled part that reads recorded runs, which cannot be imported ({cause}): install the "
    "package with pip or CMake without ULP_BUILD_CLI=OFF, which builds it for arrays alone (docs/python.md lists the libraries)",
}


def load(module: str, name: str) -> ModuleType:
    """The module of the package that has `name`. Raises ImportError that says what to install."""
    try:
        return importlib.import_module(f".{module}", __package__)
    except ImportError as missing:
        compiled = re.search(r"\b(_core|_runs)\b", f"{missing.name} {str(missing).partition('(')[0]}")
        if compiled is None:
            raise
        raise ImportError(f"{__package__}.{name} {_MISSING[compiled[1]].format(cause=missing)}") from missing
