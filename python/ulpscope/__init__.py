"""What 16 bits do to the gradients of a training run, exactly.

    quantize, encode, decode, outcomes, finfo, formats    arrays in a format; help(ulpscope.quantize) says what
                                                          arguments mean
    add, sub, mul, div, fma, sqrt                         their arithmetic
    dot, exact_dot, matmul                                sums of products, as hardware adds them
    compat                                                other packages' functions
    optim                                                 optimizers as the libraries step them, 8-bit states
    torch                                                 quantize with a gradient, and as an operator of torch.compile
    emulate                                               trains a model of torch as if in few bits
    open, Recording, Binades, Picture                     runs as they were recorded, and their pictures
    follow                                                a run while it is being recorded
    replay, sweep, outcomes, advise, precision, Scenario  what the program's commands of these names say of them
    scaler, scalers                                       loss scalers, step by step
    init                                                  records a training job, by one line before its loop
    Recorder                                              the same by a line in the loop, with all options
    lightning, transformers                               the same as callbacks

Compiled modules are loaded when first used: `_core` for arrays and optimizers, `_runs` for everything that reads files. The recorder
needs neither.
"""

from typing import TYPE_CHECKING

from ._loading import load as _load

__version__ = "1.0.0"

# Each name and the module that has it.
_PLACES = {
    **dict.fromkeys(("block_formats", "quantize", "encode", "decode", "stream_of"), "_arrays"),
    **dict.fromkeys(("add", "sub", "mul", "div", "fma", "sqrt"), "_arrays"),
    **dict.fromkeys(("dot", "exact_dot", "matmul"), "_products"),
    **dict.fromkeys(("finfo", "formats"), "_formats"),
    "outcomes": "_outcomes",
    **dict.fromkeys(("Recording", "Run", "Scenario", "advise", "open", "precision", "replay", "sweep", "views"), "_recorded_runs"),
    **dict.fromkeys(("Following", "Step", "follow"), "_following"),
    **dict.fromkeys(("Fp8Scaler", "Scaler", "ScalerError", "scaler", "scalers"), "_scalers"),
    **dict.fromkeys(("Binades", "Picture", "Table"), "_run_tables"),
    "emulate": "emulation",
    "init": "_unattended",
    "Recorder": "_recorder",
    "RecorderError": "_errors",
}
_MODULES = ("compat", "optim", "torch")

# All but what `from ulpscope import *` would take away, and what needs torch.
__all__ = ["__version__", *(name for name in (*_PLACES, *_MODULES) if name not in ("open", "torch", "emulate"))]

if TYPE_CHECKING:
    from . import compat as compat
    from . import optim as optim
    from . import torch as torch
    from ._arrays import add, block_formats, decode, div, encode, fma, mul, quantize, sqrt, stream_of, sub
    from ._errors import RecorderError
    from ._following import Following, Step, follow
    from ._formats import finfo, formats
    from ._outcomes import outcomes
    from ._products import dot, exact_dot, matmul
    from ._recorded_runs import Recording, Run, Scenario, advise, open, precision, replay, sweep, views
    from ._recorder import Recorder
    from ._run_tables import Binades, Picture, Table
    from ._scalers import Fp8Scaler, Scaler, ScalerError, scaler, scalers
    from ._unattended import init
    from .emulation import emulate


def __getattr__(name: str):
    if name not in _PLACES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _load(_PLACES.get(name, name), name)
    found = module if name in _MODULES else getattr(module, name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_PLACES, *_MODULES})
