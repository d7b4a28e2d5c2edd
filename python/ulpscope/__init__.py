"""What 16 bits do to the gradients of a training run, exactly."""

import importlib

__version__ = "0.1.0"

# What is imported when it is first asked for, and the module that has it.
_PLACES = {
    "Recorder": "_recorder",
    "RecorderError": "_errors",
    **dict.fromkeys(("Recording", "Run", "Scenario", "advise", "open", "replay", "sweep", "views"), "_runs"),
    **dict.fromkeys(("Scaler", "ScalerError", "scaler", "scalers"), "_scalers"),
    **dict.fromkeys(("Binades", "Picture", "Table"), "_run_tables"),
    "outcomes": "_outcomes",
}


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_PLACES})
