"""Weights and their updates together, as the content of a row of `extra`: docs/recording-format.md, "Joint tables"."""

from .._errors import RecorderError
from .bits import is_numpy
from .compiled import counting
from .host import np
from .payloads import compressed, varints
from .values import Values

ZERO = -1075  # the exponent of a weight of zero


def joint_content(weights, updates):
    """Of two arrays or tensors of one shape: what the optimizer's step adds to each of the weights. Needs numpy, or the
    compiled counting."""
    if np is None and counting is None:
        raise RecorderError("joint: needs numpy")
    return content_of(Values("joint", weights), Values("joint", updates))


def content_of(weights, updates):
    both = weights, updates
    if weights.numel != updates.numel:
        raise RecorderError("joint: a weight and its update have different sizes")
    for values in both:
        if not is_numpy(values.array):
            values.array = values.array.cpu()
    if counting is not None:
        return counting.joint_content(*(values.place for values in both))
    number = weights.type.number
    w, d = (_parts(values) for values in both)
    finite = w.finite & d.finite
    zeros = finite & d.is_zero
    counted = finite & ~d.is_zero
    w, d = w.where(counted), d.where(counted)
    is_power = d.fraction == 0
    exponent = np.where(w.is_zero, ZERO, w.exponent)
    place = np.where(w.is_zero, 0, _place(w.fraction))
    shrinks = ~w.is_zero & (w.negative != d.negative)
    is_odd = ~w.is_zero & _rounds_to_odd(w.fraction, d.exponent + 1 - w.exponent)
    form = np.where(is_power, 1 + is_odd, 0)
    keys = (((shrinks * 4096 + exponent + 2048) * 32 + place) * 4096 + d.exponent + 2048) * 4 + form
    order = np.argsort(keys, kind="stable")
    keys, significands = keys[order], ((1 << 23) | (d.fraction >> 29))[order]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(begins, append=len(keys))
    sums = np.add.reduceat(significands, begins) if len(begins) else counts
    cut = int(np.count_nonzero(d.fraction & ((1 << 29) - 1)))
    numbers = [number, 0, 1, len(finite), int(zeros.sum()), int((~finite).sum()), cut, len(begins)]
    cells = keys[begins]
    for step, key, count, total in zip(np.diff(cells, prepend=0).tolist(), cells.tolist(), counts.tolist(), sums.tolist()):
        numbers += (step, count) if key % 4 else (step, count, total)
    return compressed(bytes(varints(np.array(numbers, dtype=np.int64))[0]))


class _Parts:
    """(-1)^negative * 2^exponent * (1 + fraction / 2^52) of each value that is finite and not zero."""

    def __init__(self, *arrays):
        self.finite, self.is_zero, self.negative, self.exponent, self.fraction = self.arrays = arrays

    def where(self, mask):
        return _Parts(*(array[mask] for array in self.arrays))


def _parts(values):
    """By integers: the processor may take subnormals for zero."""
    of = values.type
    bits = values.array if is_numpy(values.array) else values.array.numpy()
    bits = bits.astype(np.int64)
    magnitude = bits & of.most
    field = magnitude >> of.fraction
    significand = (magnitude & of.low) + np.where(field > 0, of.low + 1, 0)
    mantissa, exponent = np.frexp(significand.astype(np.float64))
    fraction = ((2 * mantissa - 1) * 2.0**52).astype(np.int64)
    exponent = exponent.astype(np.int64) - 1 + np.maximum(field, 1) - of.bias - of.fraction
    finite = magnitude < of.finite
    if of.finite > of.most:  # the only NaN is where others have -0
        finite &= bits & (2 * of.most + 1) != of.most + 1
    return _Parts(finite, magnitude == 0, (bits >> (of.bits - 1) & 1) == 1, exponent, fraction)


def _place(fraction):
    low = np.array([0, *(1 << (52 - j) for j in range(12, 1, -1))])
    high = np.array([(1 << 52) - (1 << (52 - c)) for c in range(2, 13)])
    return np.searchsorted(low, fraction, side="left") + np.searchsorted(high, fraction, side="right")


def _rounds_to_odd(fraction, shift):
    """Whether (1 + fraction / 2^52) / 2^shift, rounded to the nearest integer, is odd."""
    below = np.clip(52 + shift, 0, 52)  # bits after the point
    whole = (1 << 52) + fraction
    kept, rest = whole >> below, whole & ((np.int64(1) << below) - 1)
    half = np.where(below > 0, np.int64(1) << np.maximum(below - 1, 0), 1)
    odd = (kept & 1) == 1
    rounded = odd ^ ((rest > half) | ((rest == half) & odd))
    return np.where(shift > 1, False, np.where(shift == 1, fraction != 0, rounded & (shift >= -52)))
