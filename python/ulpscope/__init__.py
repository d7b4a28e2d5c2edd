"""What 16 bits do to the gradients of a training run, exactly.

    quantize, encode, decode, outcomes, finfo, formats    arrays in a format; help(ulpscope.quantize) says what
                                                          arguments mean
    add, sub, mul, div, fma, sqrt, dot, exact_dot         their arithmetic
    compat                                                other packages' functions

What is compiled is loaded when it is asked for: the recorder does without.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Each name and the module that has it.
_PLACES = {
    **dict.fromkeys(("quantize", "encode", "decode", "outcomes", "stream_of"), "_arrays"),
    **dict.fromkeys(("add", "sub", "mul", "div", "fma", "sqrt", "dot", "exact_dot"), "_arrays"),
    **dict.fromkeys(("finfo", "formats"), "_formats"),
}
_MODULES = ("compat",)

__all__ = ["__version__", *_PLACES, *_MODULES]

if TYPE_CHECKING:
    from . import compat as compat
    from ._arrays import add, decode, div, dot, encode, exact_dot, fma, mul, outcomes, quantize, sqrt, stream_of, sub
    from ._formats import finfo, formats


def __getattr__(name: str):
    if name not in _PLACES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{_PLACES.get(name, name)}", __name__)
    except ImportError as missing:
        if "_core" not in str(missing):
            raise
        raise ImportError(
            f"{__name__}.{name} needs the compiled part of the package, which cannot be imported ({missing}): "
            "install the package with pip or CMake (docs/python.md); the recorder alone needs nothing compiled"
        ) from missing
    found = module if name in _MODULES else getattr(module, name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})
