"""The compiled counting, where it is installed and is of this version; else None, and numpy or torch do the same."""

import os

from .. import __version__

try:
    from .. import _core
except ImportError:
    counting = None
else:
    counting = _core.counting if getattr(_core, "__version__", None) == __version__ else None
    if counting is not None and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=counting.forget_threads)
