"""Arrays on the host: numpy's, or torch's where there is no numpy.

Indexing, operators, cumsum(0), min, max and tolist are the same for both; the rest is here. Integers are int64.
"""

import importlib
import sys

try:
    import numpy as np
except ImportError:
    np = None
    try:
        importlib.import_module("torch")
    except ImportError:
        raise ImportError("ulpscope.Recorder needs numpy or torch, and neither can be imported") from None


def loaded_torch():
    """torch if the job uses it: importing it just to look would cost a JAX job seconds."""
    return sys.modules.get("torch")


if np is not None:

    def zeros(n):
        return np.zeros(n, np.int64)

    def array(numbers):
        return np.array(numbers)

    def integers(octets):
        return np.frombuffer(octets, np.int64)

    def repeated(numbers, times):
        return np.repeat(numbers, times)

    def where(of):
        return of.nonzero()[0]

    def join(arrays):
        return np.concatenate(arrays)

    def binned(index, weights, size):
        return np.bincount(index, weights, size).astype(np.int64)  # sums below 2^53 are exact

    def cuts(ascending, values):
        return ascending.searchsorted(values).tolist()

    def distinct(numbers):
        """Those that occur, ascending, and of each number which of these it is."""
        return np.unique(numbers, return_inverse=True)

    def occurring(numbers):
        """Those that occur, ascending, and how often."""
        return np.unique(numbers, return_counts=True)

    def last_below(ascending, numbers):
        """Where the last of the ascending ones lies that is not above each number."""
        return ascending.searchsorted(numbers, "right") - 1

    def octets(of):
        return of.astype(np.uint8).tobytes()

else:

    def zeros(n):
        return loaded_torch().zeros(n, dtype=loaded_torch().int64)

    def array(numbers):
        floats = bool(numbers) and isinstance(numbers[0], float)
        return loaded_torch().tensor(numbers, dtype=loaded_torch().float64 if floats else loaded_torch().int64)

    def integers(octets):
        return loaded_torch().frombuffer(octets, dtype=loaded_torch().int64)

    def repeated(numbers, times):
        return array(numbers).repeat_interleave(array(times))

    def where(of):
        return of.nonzero().flatten()

    def join(arrays):
        return loaded_torch().cat(arrays)

    def binned(index, weights, size):
        return loaded_torch().bincount(index, weights.double(), size).long()

    def cuts(ascending, values):
        return loaded_torch().searchsorted(ascending, loaded_torch().tensor(values)).tolist()

    def distinct(numbers):
        return loaded_torch().unique(numbers, return_inverse=True)

    def occurring(numbers):
        return loaded_torch().unique(numbers, return_counts=True)

    def last_below(ascending, numbers):
        return loaded_torch().searchsorted(ascending, numbers, right=True) - 1

    def octets(of):
        return bytes(of.tolist())
