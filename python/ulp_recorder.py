"""The recorder's former name: `from ulpscope import Recorder` is the same. It will be removed in a later version."""

import warnings

try:
    from ulpscope import Recorder, RecorderError
except ModuleNotFoundError as missing:
    if missing.name != "ulpscope":
        raise
    raise ImportError("ulp_recorder is now the folder ulpscope beside it: copy that, or install the package") from None

__all__ = ["Recorder", "RecorderError"]

warnings.warn("ulp_recorder is now a part of ulpscope: from ulpscope import Recorder", DeprecationWarning, stacklevel=2)
