"""The recorder's former name: `from ulpscope import Recorder` is the same. It will be removed in a later version."""

import warnings

from ulpscope import Recorder, RecorderError

__all__ = ["Recorder", "RecorderError"]

warnings.warn("ulp_recorder is now a part of ulpscope: from ulpscope import Recorder", DeprecationWarning, stacklevel=2)
