"""Records the gradients of a training run as exact histograms, for ulpscope (`ulp info`, `ulp replay`, `ulpscope`).

One file to copy into a training job. It needs Python 3.9 and torch or numpy, nothing else.

    from ulp_recorder import Recorder
    rec = Recorder("run.ulp", model, scaler=scaler, optimizer=optimizer)
    for i, batch in enumerate(batches):
        ...
        scaler.scale(loss).backward()
        scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
        rec.step(i, loss=loss)
    rec.close()

Or without the scaler, after backward and before unscale_ and clipping:

        rec.step(i, loss=loss, loss_scale=scaler.get_scale())

Each step is one transaction: after a kill the file holds every step whose call returned. The project's
docs/recording-format.md specifies the file: counts of values in cells that decide exactly what a 16-bit format loses.
"""

import contextlib
import errno
import functools
import importlib
import math
import os
import pathlib
import re
import secrets
import shutil
import sqlite3
import stat
import struct
import sys
import tempfile
import time
import types
import warnings
import weakref
import zlib
from collections import namedtuple

try:
    import fcntl
except ImportError:  # not Unix
    fcntl = None

try:
    import numpy as np
except ImportError:
    np = None
    try:
        importlib.import_module("torch")
    except ImportError:
        raise ImportError("ulp_recorder needs numpy or torch, and neither can be imported") from None


class RecorderError(RuntimeError):
    """Says what went wrong, in which recording, and what to do."""

    def __init__(self, text):
        super().__init__(_printable(text))


def _printable(text):
    """Names of files may hold what a terminal obeys."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _torch():
    """torch if the job uses it: importing it just to look would cost a JAX job seconds."""
    return sys.modules.get("torch")


# Arrays on the host: numpy's, or torch's where there is no numpy. Indexing, operators, cumsum(0), min, max and tolist
# are the same for both; the rest is here. Integers are int64.
if np is not None:

    def _zeros(n):
        return np.zeros(n, np.int64)

    def _array(numbers):
        return np.array(numbers)

    def _repeated(numbers, times):
        return np.repeat(numbers, times)

    def _where(array):
        return array.nonzero()[0]

    def _join(arrays):
        return np.concatenate(arrays)

    def _binned(index, weights, size):
        return np.bincount(index, weights, size).astype(np.int64)  # sums below 2^53 are exact

    def _cuts(ascending, values):
        return ascending.searchsorted(values).tolist()

    def _octets(array):
        return array.astype(np.uint8).tobytes()

else:

    def _zeros(n):
        return _torch().zeros(n, dtype=_torch().int64)

    def _array(numbers):
        floats = bool(numbers) and isinstance(numbers[0], float)
        return _torch().tensor(numbers, dtype=_torch().float64 if floats else _torch().int64)

    def _repeated(numbers, times):
        return _array(numbers).repeat_interleave(_array(times))

    def _where(array):
        return array.nonzero().flatten()

    def _join(arrays):
        return _torch().cat(arrays)

    def _binned(index, weights, size):
        return _torch().bincount(index, weights.double(), size).long()

    def _cuts(ascending, values):
        return _torch().searchsorted(ascending, _torch().tensor(values)).tolist()

    def _octets(array):
        return bytes(array.tolist())


# --- Cells -----------------------------------------------------------------------------------------------------------
# A finite nonzero x = (-1)^sign * 2^k * (1 + f) is in one of 26 slots of binade k; docs/recording-format.md has the
# table. A cell's key is ((sign * 4096) + k + 2048) * 32 + slot.

_SLOTS = 32  # room for a binade in keys and tables
_BINADE = 4096  # binades of one sign in keys


def _slot(numerator, bits):
    """The slot of f = numerator / 2^bits."""
    ones = 0
    while ones < 12 and ones < bits and numerator >> (bits - 1 - ones) & 1:
        ones += 1
    if ones > 10:
        return ones + 13
    above = numerator != (1 << bits) - (1 << (bits - ones))
    slot = 2 * ones + (2 if ones > 2 else 0) + above
    if ones == 2 and bits >= 4:
        thirteen = 13 << (bits - 4)  # 13/16 splits the cell
        return slot + (numerator >= thirteen) + (numerator > thirteen)
    return slot


# The lower ends of the slots in [1, 2), and 2.
_LOW = [low for c in range(11) for low in 2 * [2 - 2.0**-c] + (2 * [1 + 13 / 16] if c == 2 else [])]
_LOW += [2 - 2.0**-11, 2 - 2.0**-12, 2.0]


def _ldexp(x, exponent):
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


@functools.lru_cache(None)
def _estimates(power):
    """The mean of |x|^power in each cell, by key: values are taken to be spread evenly through a cell."""
    table = [0.0] * (_BINADE * _SLOTS)
    for slot, low in enumerate(_LOW[:-1]):
        high = low if slot % 2 == 0 and slot < 24 else _LOW[slot + 1]
        mean = (low + high) / 2 if power == 1 else (low * low + low * high + high * high) / 3
        for k in range(-1074, 1024):
            table[(k + 2048) * _SLOTS + slot] = _ldexp(mean, power * k)
    return _array(table + table)


class _Table:
    """The histogram of one tensor, or of several merged.

    keys, counts: of the cells that hold values, keys ascending. sums: None, or {key // 32: [significands, squares]} as
    Python integers. codes: None, or (codes, counts) of every element of a 16- or 8-bit type.
    """

    __slots__ = ("numel", "zeros", "infinities", "nans", "largest", "least", "keys", "counts", "sums", "cut", "codes")

    def __init__(self, numel, zeros, infinities, nans, largest, least, keys, counts, sums, cut=0, codes=None):
        self.numel = numel
        self.zeros = zeros
        self.infinities = infinities  # positive, negative
        self.nans = nans
        self.largest = largest
        self.least = least
        self.keys = keys
        self.counts = counts
        self.sums = sums
        self.cut = cut
        self.codes = codes

    def total(self, power):
        """The sum of |x|^power: binade sums rounded once each and added in ascending order, or an estimate."""
        if len(self.keys) == 0:
            return 0.0
        if self.sums is None:
            # Added one after the other, which is what readers do too.
            return float((self.counts * _estimates(power)[self.keys]).cumsum(0)[-1])
        total = 0.0
        for term in sorted(
            _ldexp(float(of[power - 1]), power * (k % _BINADE - 2048 - 23)) for k, of in self.sums.items()
        ):
            total += term  # not sum(), which rounds otherwise from Python 3.12 on
        return total


def _added(keys, counts):
    """Counts of equal keys added up, keys ascending."""
    if len(keys) == 0:
        return keys, counts
    # Dense over the binades that occur, the signs side by side.
    cells = keys % (_BINADE * _SLOTS)
    base = int(cells.min())
    dense = _binned((cells - base) * 2 + keys // (_BINADE * _SLOTS), counts, 2 * (int(cells.max()) - base + 1))
    at = [_where(dense[sign::2]) for sign in (0, 1)]
    keys = [at[sign] + (base + sign * _BINADE * _SLOTS) for sign in (0, 1)]
    return _join(keys), _join([dense[sign::2][at[sign]] for sign in (0, 1)])


def _merge(tables):
    """The table of all values of several; without codes."""
    if len(tables) == 1:
        t = tables[0]
        return _Table(t.numel, t.zeros, t.infinities, t.nans, t.largest, t.least, t.keys, t.counts, t.sums, t.cut)
    sums = None
    if all(t.sums is not None for t in tables):
        sums = {}
        for t in tables:
            for binade, (significands, squares) in t.sums.items():
                into = sums.setdefault(binade, [0, 0])
                into[0] += significands
                into[1] += squares
    return _Table(
        sum(t.numel for t in tables),
        sum(t.zeros for t in tables),
        tuple(sum(t.infinities[sign] for t in tables) for sign in (0, 1)),
        sum(t.nans for t in tables),
        max(t.largest for t in tables),
        min((t.least for t in tables if t.least > 0), default=0.0),
        *_added(_join([t.keys for t in tables]), _join([t.counts for t in tables])),
        sums,
        sum(t.cut for t in tables),
    )


# --- Types -----------------------------------------------------------------------------------------------------------


class _Type(namedtuple("_Type", "name number bits fraction bias finite infinity")):
    """number: in summary records; fraction: the number of fraction bits; finite: bits without the sign are those of
    finite values below it; infinity: the bits of it, or None."""

    rows = property(lambda self: 1 << (self.bits - self.fraction))  # signs and exponent fields
    low = property(lambda self: (1 << self.fraction) - 1)  # the fraction
    most = property(lambda self: (1 << (self.bits - 1)) - 1)  # all but the sign

    def magnitude(self, bits):
        """|x| of a finite value, by its bits without the sign: the processor may take subnormals for zero."""
        exponent, fraction = bits >> self.fraction, bits & self.low
        return math.ldexp(
            float(fraction + (self.low + 1) * (exponent > 0)), max(exponent, 1) - self.bias - self.fraction
        )


def _ieee(name, number, bits, fraction):
    infinity = (1 << (bits - 1)) - (1 << fraction)
    return _Type(name, number, bits, fraction, (1 << (bits - fraction - 2)) - 1, infinity, infinity)


_TYPES = {
    dtype.name: dtype
    for dtype in (
        _ieee("float64", 1, 64, 52),
        _ieee("float32", 2, 32, 23),
        _ieee("float16", 3, 16, 10),
        _ieee("bfloat16", 4, 16, 7),
        _Type("float8_e4m3fn", 5, 8, 3, 7, 0x7F, None),
        _ieee("float8_e5m2", 6, 8, 2),
        _Type("float8_e4m3fnuz", 7, 8, 3, 8, 0x80, None),  # its only NaN is where others have -0
        _Type("float8_e5m2fnuz", 8, 8, 2, 16, 0x80, None),
    )
}


@functools.lru_cache(None)
def _code_tables(dtype):
    """By code of a 16- or 8-bit type: its cell's key, or 0; its significand as an integer of fraction + 1 bits."""
    keys, significands = [0] * (1 << dtype.bits), [0] * (1 << dtype.bits)
    for code in range(1 << dtype.bits):
        if 0 < code & dtype.most < dtype.finite:
            mantissa, exponent = math.frexp(dtype.magnitude(code & dtype.most))
            significands[code] = int(math.ldexp(mantissa, dtype.fraction + 1))
            slot = _slot(significands[code] & dtype.low, dtype.fraction)
            keys[code] = ((code >> (dtype.bits - 1)) * _BINADE + exponent - 1 + 2048) * _SLOTS + slot
    return _array(keys), _array(significands)


def _table_of_codes(counts, dtype, with_sums):
    """counts: of each code."""
    codes = _where(counts)
    magnitudes = codes & dtype.most
    finite = codes[_where((magnitudes > 0) & (magnitudes < dtype.finite))]
    key_of, significand_of = _code_tables(dtype)
    n, keys, sums = counts[finite], key_of[finite], None
    if with_sums:
        # Codes ascend as their binades do: differences of running sums, which are exact.
        significands, binades = significand_of[finite], keys // _SLOTS
        last = _where(_join([binades[1:] != binades[:-1], binades[:1] > 0])) if len(keys) > 0 else keys
        running = [[0] + (n * significands**power).cumsum(0)[last].tolist() for power in (1, 2)]
        sums = {
            binade: [(of[i + 1] - of[i]) << power * (23 - dtype.fraction) for power, of in zip((1, 2), running)]
            for i, binade in enumerate(binades[last].tolist())
        }
    extremes = [dtype.magnitude(int(x) & dtype.most) for x in _extremes_of(finite & dtype.most)]
    numel, signs = int(counts.sum()), (0, dtype.most + 1)
    zeros = sum(int(counts[sign]) for sign in signs if sign < dtype.finite or dtype.finite <= dtype.most)
    infinities = tuple(0 if dtype.infinity is None else int(counts[dtype.infinity + sign]) for sign in signs)
    nans = numel - zeros - sum(infinities) - int(n.sum())
    return _Table(
        numel, zeros, infinities, nans, *extremes, *_added(keys, n), sums, codes=(codes, counts[codes])
    )


def _extremes_of(array):
    return (array.max(), array.min()) if len(array) > 0 else (0, 0)


# --- Counting --------------------------------------------------------------------------------------------------------
# What follows works on arrays of signed integers, the bits of the values: numpy's, torch's on the host, and torch's on
# other devices, where nothing waits for the device.


def _is_numpy(array):
    return np is not None and isinstance(array, np.ndarray)


def _on_host(array):
    return _is_numpy(array) or array.device.type == "cpu"


def _wide(array):
    return array.astype(np.int64) if _is_numpy(array) else array.long()


def _doubles(array):
    return array.astype(np.float64) if _is_numpy(array) else array.double()


def _float_bits(array):
    """Of integers, made floats of their width."""
    if _is_numpy(array):
        return array.astype(f"f{array.itemsize}").view(array.dtype)
    torch = _torch()
    return array.to(torch.float32 if array.dtype == torch.int32 else torch.float64).view(array.dtype)


def _pieces(array, size):
    """At least one."""
    return (array[begin : begin + size] for begin in range(0, max(1, len(array)), size))


def _histogram(keys, size, weights=None):
    """How often each key occurs, or the sums of its weights. torch's counts 32-bit keys as they are, which takes two
    thirds of the time of numpy's."""
    torch = _torch()
    if _is_numpy(keys):
        if torch is None or keys.itemsize != 4 or weights is not None:
            return np.bincount(keys, weights, size)
        return torch.bincount(torch.from_numpy(keys), minlength=size).numpy()
    if _on_host(keys):
        return torch.bincount(keys, weights, size)
    # torch.bincount would wait for the largest key. Sums of integers do not depend on their order.
    weights = torch.ones(1, dtype=torch.int64, device=keys.device).expand(len(keys)) if weights is None else weights
    return torch.zeros(size, dtype=weights.dtype, device=keys.device).scatter_add_(0, keys.long(), weights)


def _code_counts(bits, dtype):
    """How often each code of a 16- or 8-bit type occurs."""
    codes = (bits.astype(np.int32) if _is_numpy(bits) else bits.int()) & (2 * dtype.most + 1)
    return _histogram(codes, 1 << dtype.bits)


# Values are counted by rows, one for each sign and exponent field, and slots. The slot follows from
# d = 2^fraction_bits * (1 - f), an integer: made a float, its exponent counts the leading ones of f, and d is a power
# of two just where f is an edge. Halves of d's binades tell 13/16 apart.

# at: row * 32 + slot, ascending, and counts, none of them 0. sums: None, or by row what _weights lists.
_Rows = namedtuple("_Rows", "at counts sums")


@functools.lru_cache(None)
def _slot_of_halves(fraction, device=None):
    """By 2 * (half binades of d above 2^0) + (d is on the lower end of its half binade)."""
    slots = []
    for half in range(2 * fraction + 1):
        d = (1 << half // 2) * (2 + half % 2)  # twice its lower end
        for exact in (0, 1):
            slots.append(
                _slot((2 << fraction) - d - (0 if exact else 1), fraction + 1) if half < 2 * fraction or exact else 0
            )
    return _array(slots) if device is None else _torch().tensor(slots, device=device)


def _slots(bits, dtype):
    low = dtype.low
    d = _float_bits(low + 1 - (bits & low)) - (dtype.bias << dtype.fraction)  # half binades count from 2^0
    slot_of = _slot_of_halves(dtype.fraction, None if _on_host(bits) else bits.device)
    return slot_of[2 * _wide(d >> (dtype.fraction - 1)) + ((d & (low >> 1)) == 0)]


def _cells(bits, dtype):
    """row * 32 + slot of each value."""
    rows = dtype.rows
    return (_wide(bits >> dtype.fraction) & (rows - 1)) * _SLOTS + _slots(bits, dtype)


def _weights(significands, dtype):
    """What is summed by row: significands of 24 bits, their squares above and below 2^24, and whether bits were cut.
    Doubles that hold integers below 2^24: 2^29 of them add up exactly."""
    floor = np.floor if _is_numpy(significands) else _torch().floor
    cut = []
    if dtype.fraction > 23:
        scaled = significands * 2.0 ** (23 - dtype.fraction)
        significands = floor(scaled)
        cut = [(scaled > significands) * 1.0]
    squares = significands * significands
    high = floor(squares * 2.0**-24)
    return [significands, high, squares - high * 2.0**24] + cut


def _sums(pieces, dtype):
    """Those sums by row, of all pieces."""
    sums = [0] * 4
    for piece in pieces:
        row = _wide(piece >> dtype.fraction) & (dtype.rows - 1)
        for i, weights in enumerate(_weights(_doubles(piece & dtype.low | (dtype.low + 1)), dtype)):
            sums[i] = sums[i] + _wide(_histogram(row, dtype.rows, weights))
    return sums[:3] + [sums[3] + 0 * sums[0]]


def _subnormal(bits, dtype):
    """Of each subnormal value its integer as a float, whose row tells the binade; of all others 0. With their signs."""
    low, most = dtype.low, dtype.most
    return _float_bits((bits & low) * ((bits & most) <= low)) | (bits & ~most)


def _chunk(array):
    """Elements whose temporary arrays stay in the cache; elsewhere, which take little memory."""
    return 1 << 16 if _on_host(array) else 1 << 22


_BLOCK = 1 << 20  # elements that are counted at once


# On the host.


def _rows_of(table, sums=None):
    at = _where(table)
    return _Rows(at, table[at], sums)


def _extremes(magnitudes, dtype):
    """The largest finite and the smallest nonzero one, as bits; 0 and 0 where there is none."""
    largest, least = int(magnitudes.max()), int(magnitudes.min())
    if largest >= dtype.infinity:
        largest = int((magnitudes + (dtype.low + 1)).max()) - (dtype.low + 1)  # infinities and NaN become negative
    if least == 0 and largest > 0:
        least = int((magnitudes - 1 & dtype.most).min()) + 1  # zero becomes the largest
    return (largest, least) if largest > 0 else (0, 0)


def _joint(extremes):
    return max(e[0] for e in extremes), min((e[1] for e in extremes if e[0]), default=0)


def _with_zero_half(array, magnitudes):
    """Those elements of array, in any order, where a half of 32 bits of magnitudes, which are overwritten, is zero.
    These are few: first, which groups of elements have any."""
    if _is_numpy(array):
        zero = magnitudes.view(np.int16) == 0
        if len(array) % 4 > 0:
            return array[zero.view(np.int16) != 0]
        groups = (zero.view(np.int64) != 0).nonzero()[0]
        zero = zero.view(np.int16).reshape(-1, 4).take(groups, 0)
        return array.reshape(-1, 4).take(groups, 0)[zero != 0]
    torch = _torch()
    zero = magnitudes.view(torch.int16).eq_(0).view(torch.int32)
    if len(zero) % 8 == 0:
        groups = zero.view(8, -1).amax(0).nonzero().flatten()
        array, zero = (x.view(8, -1).index_select(1, groups).flatten() for x in (array, zero))
    return array.index_select(0, zero.nonzero().flatten())


def _upper_halves(array):
    return (
        (array.view(np.uint32) >> np.uint32(16)).view(np.int32)
        if _is_numpy(array)
        else array.view(_torch().int16)[1::2].int().bitwise_and_(0xFFFF)
    )


# Bins of the upper half between edges are slots 1, 3, 5, 7 (from 13/16 on), 9, 11, 13, 15; the last bin is 17 for now.
_BIN_ENDS = [0, 64, 96, 104, 112, 120, 124, 126, 127, 128]
_SLOT_OF_BIN = _array([2 * i + 1 for i in range(9) for _ in range(_BIN_ENDS[i], _BIN_ENDS[i + 1])])


_SMALL = 1 << 14  # elements below which counting by halves costs more than it saves
_TINY = 1 << 12  # and below which tensors are counted together

# float32 values that are counted together: those of a tensor, or its subnormal ones as floats. owner: the tensor; bias: of
# the exponent; rows: which occur, and those of zeros and infinities; bins: by these rows and the upper halves' fractions,
# or None; rest: the values that bins do not place.
_Part = namedtuple("_Part", "owner bias bits largest least rows bins rest")


def _part(owner, bias, bits):
    """The upper 16 bits place all but those on an edge and those of the last 128th of a binade, one in a hundred."""
    dtype = _TYPES["float32"]
    high, rest, extremes = None, [], []
    if len(bits) < _SMALL:
        rest, extremes = bits, [_extremes(bits & dtype.most, dtype)] if len(bits) > 0 else [(0, 0)]
    else:
        for block in _pieces(bits, _BLOCK):
            for chunk in _pieces(block, _chunk(bits)):
                shifted = chunk & dtype.most
                extremes.append(_extremes(shifted, dtype))
                # The lower half is zero for what may be an edge, the upper one overflows to zero for f >= 127/128.
                shifted |= -0x800000
                shifted += 0x10000
                rest.append(_with_zero_half(chunk, shifted))
            counts = _histogram(_upper_halves(block), 65536)
            high = counts if high is None else high + counts
        rest = _join(rest)
        rest = rest[_where(rest & dtype.most)]  # not zeros, which may be many
    largest, least = _joint(extremes)
    rows = sorted({0, 255, *range(least >> 23, (largest >> 23) + 1)})
    rows = _array(rows + [row + 256 for row in rows])
    bins = None if high is None else high.reshape(512, 128)[rows]
    return _Part(owner, bias, bits, largest, least, rows, bins, rest)


def _tables_of_floats(arrays, with_sums):
    """The tables of float32 arrays on the host, of all at once: calls cost more than the values of small tensors."""
    dtype = _TYPES["float32"]
    low, most = dtype.low, dtype.most
    parts = [_part(i, dtype.bias, bits) for i, bits in enumerate(arrays)]
    for part in [part for part in parts if 0 < part.least <= low]:
        few = [chunk[_where((chunk & most) - 1 & most < low)] for chunk in _pieces(part.bits, _chunk(part.bits))]
        parts.append(_part(part.owner, 2 * dtype.bias + dtype.fraction - 1, _subnormal(_join(few), dtype)))
    parts.sort(key=lambda part: part.bins is None)
    # Rows of all parts, 512 numbers for each.
    rows = _join([part.rows + 512 * i for i, part in enumerate(parts)])
    table = _zeros(len(rows) * _SLOTS).reshape(len(rows), _SLOTS)
    binned = [part for part in parts if part.bins is not None]
    if binned:
        bins = _join([part.bins for part in binned]).cumsum(1)[:, [end - 1 for end in _BIN_ENDS[1:]]]
        table[: len(bins), 1:19:2] = bins
        table[: len(bins), 3:19:2] -= bins[:, :-1]
    table = table.flatten()
    row_of = _zeros(512 * len(parts))
    row_of[rows] = _where(rows >= 0) * _SLOTS
    for group, first in ((binned, 0), (parts[len(binned) :], len(binned))):
        if not group:
            continue
        rest = _join([part.rest for part in group])
        start = _repeated([512 * (first + i) for i in range(len(group))], [len(part.rest) for part in group])
        for piece, start in zip(_pieces(rest, _chunk(rest)), _pieces(start, _chunk(rest))):
            row = row_of[start + (_wide(piece >> 23) & 511)]
            table += _histogram(row + _slots(piece, dtype), len(table))
            if group is binned:
                table -= _histogram(row + _SLOT_OF_BIN[_wide(piece >> 16) & 127], len(table))
    at = _where(table)
    row, counts = rows[at // _SLOTS], table[at]
    of, sign, field, slot = row >> 9, row >> 8 & 1, row & 255, at % _SLOTS
    results = [
        _Table(len(bits), 0, [0, 0], 0, 0.0, 0.0, _zeros(0), _zeros(0), {} if with_sums else None) for bits in arrays
    ]
    special = _where(field == 255)
    for i, negative, kind, n in zip(*(x[special].tolist() for x in (of, sign, slot, counts))):
        result = results[parts[i].owner]
        if kind == 0:
            result.infinities[negative] += n
        else:
            result.nans += n
    finite = _where((field > 0) & (field < 255))
    bias = _array([part.bias for part in parts])[of]
    keys, counts = (((sign * _BINADE + field - bias + 2048) * _SLOTS) + slot)[finite], counts[finite]
    cuts = _cuts(of[finite], list(range(len(parts) + 1)))
    for part, begin, end in zip(parts, cuts, cuts[1:]):
        result = results[part.owner]
        if with_sums:
            sums = _sums(_pieces(part.bits, _chunk(part.bits)), dtype)
            for binade in set((keys[begin:end] // _SLOTS).tolist()):
                row = binade // _BINADE * 256 + binade % _BINADE - 2048 + part.bias
                significands, high, low, _ = (int(of_row[row]) for of_row in sums)
                result.sums[binade] = [significands, (high << 24) + low]
        if part.bias == dtype.bias:
            result.infinities = tuple(result.infinities)
            if part.largest > 0:
                result.largest, result.least = dtype.magnitude(part.largest), dtype.magnitude(part.least)
        if len(result.keys) > 0:  # normal and subnormal values
            result.keys, result.counts = _added(
                _join([result.keys, keys[begin:end]]), _join([result.counts, counts[begin:end]])
            )
        else:
            result.keys, result.counts = keys[begin:end], counts[begin:end]
    for result in results:
        result.zeros = result.numel - sum(result.infinities) - result.nans - int(result.counts.sum())
    return results


def _tables_of_small(bits, sizes):
    """The tables of float32 arrays that lie one after the other, none of them empty, without sums: what each costs besides
    its values is little more than its table."""
    dtype = _TYPES["float32"]
    begins = np.cumsum([0] + sizes[:-1])
    magnitudes = bits & dtype.most
    is_finite = magnitudes < dtype.infinity
    finite = is_finite & (magnitudes > 0)
    largest = np.maximum.reduceat(magnitudes * finite, begins)
    least = np.minimum.reduceat(np.where(finite, magnitudes, dtype.most), begins) * (largest > 0)
    zeros = np.add.reduceat(magnitudes == 0, begins, dtype=np.int64)
    infinite = magnitudes == dtype.infinity
    not_finite = infinite & (bits > 0), infinite & (bits < 0), ~is_finite
    specials = [zeros] + [np.add.reduceat(of, begins, dtype=np.int64) for of in not_finite]
    extremes = []
    for of in (largest, least):  # the processor may take subnormals for zero
        normal = (of & ~dtype.low).view(np.float32).astype(np.float64) * (1 + (of & dtype.low) * 2.0**-23)
        extremes.append(np.where(of > dtype.low, normal, of * 2.0**-149))
    owner = np.repeat(np.arange(len(sizes)), sizes)[finite]
    bits, magnitudes = bits[finite], magnitudes[finite]
    bias = np.full(len(bits), dtype.bias)
    few = (magnitudes <= dtype.low).nonzero()[0]
    if len(few) > 0:
        bits[few] = _subnormal(bits[few], dtype)
        bias[few] = 2 * dtype.bias + dtype.fraction - 1
    sign, k = (bits < 0).astype(np.int64), (_wide(bits >> 23) & 255) - bias
    slot = _slots(bits, dtype)
    # Dense by tensor, sign, binade and slot where that is not too much; else sorted.
    first, last = (np.frexp(of)[1].astype(np.int64) - 1 for of in (extremes[1], extremes[0]))
    binades = (last - first + 1) * (largest > 0)
    ends = (2 * _SLOTS * binades).cumsum()
    if ends[-1] <= 16 * len(bits):
        begin = ends - 2 * _SLOTS * binades
        counts = np.bincount(begin[owner] + (sign * binades[owner] + k - first[owner]) * _SLOTS + slot, None, ends[-1])
        at = counts.nonzero()[0]
        counts, owner = counts[at], np.repeat(np.arange(len(sizes)), 2 * _SLOTS * binades)[at]
        row, slot = (at - begin[owner]) >> 5, at & (_SLOTS - 1)
        sign = row >= binades[owner]
        keys = (sign * _BINADE + row - sign * binades[owner] + first[owner] + 2048) * _SLOTS + slot
    else:
        keys, counts = np.unique((owner << 18) + (sign * _BINADE + k + 2048) * _SLOTS + slot, return_counts=True)
        owner, keys = keys >> 18, keys & ((1 << 18) - 1)
    cuts = owner.searchsorted(np.arange(len(sizes) + 1)).tolist()
    zeros, positive, negative, others = (of.tolist() for of in specials)
    return [
        _Table(n, zero, (above, below), other - above - below, high, low, keys[begin:end], counts[begin:end], None)
        for n, zero, above, below, other, high, low, begin, end in zip(
            sizes, zeros, positive, negative, others, *(of.tolist() for of in extremes), cuts, cuts[1:]
        )
    ]


def _table_of_bits(bits, dtype, with_sums):
    """The table of a flat array on the host."""
    if dtype.bits == 32:
        return _tables_of_floats([bits], with_sums)[0]
    if dtype.bits <= 16:
        counts = sum(_code_counts(piece, dtype) for piece in _pieces(bits, _BLOCK))
        return _table_of_codes(counts, dtype, with_sums)
    if len(bits) == 0:
        return _Table(0, 0, (0, 0), 0, 0.0, 0.0, _zeros(0), _zeros(0), {} if with_sums else None)
    rows = dtype.rows
    low, most = dtype.low, dtype.most
    counted = _rows_of(_histogram(_cells(bits, dtype), rows * _SLOTS))
    largest, least = _joint([_extremes(chunk & most, dtype) for chunk in _pieces(bits, _chunk(bits))])
    subnormal = None
    if 0 < least <= low:
        few = _join([chunk[_where((chunk & most) - 1 & most < low)] for chunk in _pieces(bits, _chunk(bits))])
        few = _subnormal(few, dtype)
        subnormal = _rows_of(_histogram(_cells(few, dtype), rows * _SLOTS), _sums([few], dtype) if with_sums else None)
    if with_sums:
        counted = counted._replace(sums=_sums(_pieces(bits, _chunk(bits)), dtype))
    return _table_of_rows(counted, subnormal, dtype, len(bits), largest, least)


def _tables_of_bits(arrays, with_sums):
    """The tables of pairs of bits and type, on the host."""
    tables, batches, batch, elements = [None] * len(arrays), [], [], 0
    for i, (bits, dtype) in enumerate(arrays):
        if dtype.bits != 32:
            tables[i] = _table_of_bits(bits, dtype, with_sums)
            continue
        batch.append(i)
        elements += len(bits)
        if elements >= 1 << 24 or len(batch) == 256:  # what takes little memory besides
            batches, batch, elements = batches + [batch], [], 0
    for batch in batches + [batch] if batch else batches:
        for i, table in zip(batch, _tables_of_floats([arrays[i][0] for i in batch], with_sums)):
            tables[i] = table
    return tables


# On another device: what comes out of a tensor is one vector of int64, and all vectors of a step come to the host
# together. The vector of a tensor of 16 or 8 bits counts its codes; that of another one is largest, least, then the table by
# row and slot and its sums, then the same of its subnormal values.


def _vector_of_bits(bits, dtype, with_sums):
    torch = _torch()
    chunks = list(_pieces(bits, _chunk(bits)))
    if dtype.bits <= 16:
        return sum(_code_counts(chunk, dtype) for chunk in chunks)
    one = dtype.low + 1
    largest, least = [], []
    for chunk in chunks if len(bits) > 0 else [bits.new_zeros(1)]:
        magnitudes = chunk & dtype.most
        largest.append((magnitudes + one).amax())  # infinities and NaN become negative
        least.append((magnitudes - 1 & dtype.most).amin())  # zero becomes the largest
    extremes = torch.stack(largest).amax().clamp(min=one).long() - one, torch.stack(least).amin().long() + 1
    parts = [torch.stack(extremes)]
    for values in (lambda chunk: chunk, lambda chunk: _subnormal(chunk, dtype)):
        parts.append(sum(_histogram(_cells(values(chunk), dtype), dtype.rows * _SLOTS) for chunk in chunks))
        if with_sums:
            parts += _sums((values(chunk) for chunk in chunks), dtype)
    return torch.cat(parts)


def _table_of_entries(at, counts, dtype, numel, with_sums):
    """at, counts: the entries of the vector that are not zero, on the host."""
    if dtype.bits <= 16:
        codes = _zeros(1 << dtype.bits)
        codes[at] = counts
        return _table_of_codes(codes, dtype, with_sums)
    rows = dtype.rows
    extremes = dict(zip(at[:2].tolist(), counts[:2].tolist()))
    parts, first = [], 2
    for _ in range(2):
        begin, middle, end = _cuts(at, [first, first + rows * _SLOTS, first + rows * (_SLOTS + 4 * with_sums)])
        sums = None
        if with_sums:
            sums = _zeros(4 * rows)
            sums[at[middle:end] - first - rows * _SLOTS] = counts[middle:end]
            sums = [sums[i * rows : (i + 1) * rows] for i in range(4)]
        parts.append(_Rows(at[begin:middle] - first, counts[begin:middle], sums))
        first += rows * (_SLOTS + 4 * with_sums)
    return _table_of_rows(*parts, dtype, numel, extremes.get(0, 0), extremes.get(1, 0))


def _to_host(vectors):
    """The entries that are not zero, and where: pairs of host arrays, one for each vector. One copy for each device."""
    torch = _torch()
    results = [None] * len(vectors)
    for device in {v.device for v in vectors}:
        here = [i for i, v in enumerate(vectors) if v.device == device]
        flat = torch.cat([vectors[i] for i in here])
        at = flat.nonzero().flatten()
        pairs = torch.stack((at, flat[at])).cpu()
        at, counts = pairs.numpy() if np is not None else pairs
        ends = [0]
        for i in here:
            ends.append(ends[-1] + len(vectors[i]))
        cuts = _cuts(at, ends)
        for i, end, first, last in zip(here, ends, cuts, cuts[1:]):
            results[i] = at[first:last] - end, counts[first:last]
    return results


def _table_of_rows(rows, subnormal, dtype, numel, largest, least):
    """largest, least: bits of the extreme magnitudes, 0 where there is no nonzero finite value. subnormal: rows of
    the subnormal values' integers as floats, or None."""
    half = dtype.rows // 2 * _SLOTS
    zeros, infinities, nans = 0, [0, 0], 0
    keys, counts = [], []
    sums, cut = None if rows.sums is None else {}, 0
    # Of each sign zeros and subnormal values are in the first row, infinities and NaN in the last.
    bounds = [x + sign * half for sign in (0, 1) for x in (_SLOTS, half - _SLOTS, half)]
    cuts = {id(part): [0] + _cuts(part.at, bounds) for part in (subnormal, rows) if part is not None}
    for sign in (0, 1):
        begin, first, last, end = cuts[id(rows)][3 * sign : 3 * sign + 4]
        if begin < first and int(rows.at[begin]) == sign * half:
            zeros += int(rows.counts[begin])
        if last < end:
            nans += int(rows.counts[last:end].sum())
            if int(rows.at[last]) == sign * half + half - _SLOTS:
                infinities[sign] = int(rows.counts[last])
                nans -= infinities[sign]
        for part, bias in ((subnormal, 2 * dtype.bias + dtype.fraction - 1), (rows, dtype.bias)):
            if part is None:
                continue
            first, last = cuts[id(part)][3 * sign + 1 : 3 * sign + 3]
            to_key = (sign * _BINADE - bias + 2048) * _SLOTS - sign * half
            keys.append(part.at[first:last] + to_key)
            counts.append(part.counts[first:last])
            if sums is None:
                continue
            for row in sorted(set((part.at[first:last] // _SLOTS).tolist())):
                significands, high, low, cut_here = (int(of_row[row]) for of_row in part.sums)
                sums[row + to_key // _SLOTS] = [significands, (high << 24) + low]
                cut += cut_here
    extremes = [dtype.magnitude(bits) if largest else 0.0 for bits in (largest, least)]
    return _Table(numel, zeros, tuple(infinities), nans, *extremes, _join(keys), _join(counts), sums, cut)


# --- Bytes -----------------------------------------------------------------------------------------------------------


def _varint(number):
    octets = bytearray()
    while number >= 128:
        octets.append(number & 127 | 128)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def _varints(numbers):
    """An array of numbers below 2^63 as varints, and where each begins; the end is the last."""
    sizes, left = _zeros(len(numbers)) + 1, numbers >> 7
    while len(left) > 0 and int(left.max()) > 0:
        sizes += left > 0
        left = left >> 7
    ends = sizes.cumsum(0)
    octets = _zeros(int(ends[-1]) if len(ends) > 0 else 0)
    at, left = ends - sizes, numbers
    while len(left) > 0:
        octets[at] = (left & 127) + 128 * (left > 127)
        more = _where(left > 127)
        at, left = at[more] + 1, left[more] >> 7
    return _octets(octets), _join([_zeros(1), ends])


def _payloads(tables):
    """The payloads of tables, one after the other."""
    if not tables:
        return b""
    keys, counts = zip(*((t.keys, t.counts) if t.codes is None else t.codes for t in tables))
    lengths = [len(of) for of in keys]
    sizes, keys, counts = _array(lengths), _join(keys), _join(counts)
    # How many, then pairs, of each.
    starts = 2 * (sizes.cumsum(0) - sizes) + _where(sizes >= 0)
    numbers = _zeros(len(tables) + 2 * len(keys))
    numbers[starts] = sizes
    at = _repeated(_where(sizes >= 0).tolist(), lengths) + 1 + 2 * _where(keys >= 0)
    steps = keys + 0
    steps[1:] -= keys[:-1]
    some = _where(sizes)
    first = (sizes.cumsum(0) - sizes)[some]
    steps[first] = keys[first]
    numbers[at], numbers[at + 1] = steps, counts
    octets, begins = _varints(numbers)
    begins = begins[starts].tolist() + [len(octets)]
    payload = []
    for t, begin, end in zip(tables, begins, begins[1:]):
        content = octets[begin:end]
        if t.sums and t.codes is None:
            content += b"".join(_varint(number) for binade in sorted(t.sums) for number in t.sums[binade])
        n = len(content)
        payload += (b"\1" if t.codes is None else b"\2", bytes((n,)) if n < 128 else _varint(n), content)
    return b"".join(payload)


_SUMMARY = struct.Struct("<IBBH6Q5dQ")


def _summaries(tables, tensors, type_numbers, factors, parts=None):
    """The summary records, one after the other. parts: 0 without."""
    totals = [_totals(tables, power) for power in (1, 2)]
    return b"".join(
        _SUMMARY.pack(
            tensor, type_number, t.sums is not None, sum_of, t.numel, t.zeros, *t.infinities, 0, t.nans, t.largest, t.least,
            math.nan if factor is None else factor, first, second, t.cut
        )
        for t, tensor, type_number, factor, sum_of, first, second in zip(
            tables, tensors, type_numbers, factors, parts or [0] * len(tables), *totals
        )
    )  # fmt: skip


def _totals(tables, power):
    """What total() gives of each."""
    if np is None or len(tables) < 8 or any(t.sums is not None for t in tables):
        return [t.total(power) for t in tables]
    owner = np.repeat(np.arange(len(tables)), [len(t.keys) for t in tables])
    weights = _join([t.counts for t in tables]) * _estimates(power)[_join([t.keys for t in tables])]
    return np.bincount(owner, weights, len(tables)).tolist()  # added one after the other, too


def _summary(table, tensor, type_number, factor):
    return _summaries([table], [tensor], [type_number], [factor])


def _compressed(payload):
    if len(payload) > 1 << 28:
        raise RecorderError("the tables are larger than a recording holds in one step")
    if not payload:
        return b""
    return struct.pack("<Q", len(payload)) + zlib.compress(payload, 1)


# --- The file --------------------------------------------------------------------------------------------------------

_SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, crc BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE tensor(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, role TEXT NOT NULL, through TEXT NOT NULL,
  shape TEXT NOT NULL, numel INTEGER NOT NULL, crc BLOB NOT NULL);
CREATE TABLE step(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, ranks TEXT NOT NULL,
  loss REAL, grad_norm REAL, lr REAL, loss_scale REAL, found_inf INTEGER, applied INTEGER, max_abs REAL,
  summary BLOB NOT NULL, cells BLOB NOT NULL, crc BLOB NOT NULL, PRIMARY KEY(step, attempt, microbatch));
CREATE TABLE total(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL,
  kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL,
  crc BLOB NOT NULL);
CREATE TABLE level(
  width INTEGER NOT NULL, block INTEGER NOT NULL, ranks TEXT NOT NULL,
  steps INTEGER NOT NULL, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
  summary BLOB NOT NULL, cells BLOB NOT NULL, crc BLOB NOT NULL, PRIMARY KEY(width, block, ranks));
CREATE TABLE level_total(
  width INTEGER NOT NULL, block INTEGER NOT NULL, ranks TEXT NOT NULL,
  kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL,
  crc BLOB NOT NULL);
CREATE INDEX step_scalars ON step(
  step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs, crc);
CREATE INDEX total_summary ON total(step, attempt, microbatch, kind, role, tensors, summary, crc);
CREATE INDEX level_total_key ON level_total(width, block, ranks);
"""
_EXTRA = """
CREATE TABLE extra(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, tensor INTEGER NOT NULL,
  name TEXT NOT NULL, content BLOB NOT NULL, crc BLOB NOT NULL,
  PRIMARY KEY(step, attempt, microbatch, tensor, name)) WITHOUT ROWID;
"""  # made by who writes to it first
_VERSION = 2
_APPLICATION = 0x756C7072  # "ulpr"
_KINDS = ("unknown", "weight_grad", "activation_grad", "weight", "update", "activation")
_ROLES = ("unknown", "low", "float32")
_PAGE = 8192
_CHECKED = 1 << 24  # longer recordings are not looked at wholly before they are appended to
_LOG = 1000 * _PAGE  # about so long it becomes before it is taken in, as SQLite has it


class _Level:
    """Merges the tables of the steps of one block.

    Tables wait until some have gathered: merging many costs little more than merging two.
    """

    def __init__(self, width, block, whole):
        self.width, self.block = width, block
        self.whole = whole  # whether every step of the block that is in the file passes by here
        self.steps, self.merged = [], 0
        self.tensors, self.totals = {}, {}  # by (id, type, factor) and (kind, role, factor): tables, number of tensors

    def add(self, steps, tensors, totals):
        """tensors, totals: as take() gives them."""
        self.steps += steps
        self.merged += len(tensors)
        for into, tables in ((self.tensors, tensors), (self.totals, totals)):
            for key, (table, number) in tables.items():
                if key not in into:
                    into[key] = ([table], number)
                    continue
                waiting, before = into[key]
                if len(waiting) >= 16 and (len(waiting) >= 64 or len(table.keys) > 16):
                    waiting = [_merge(waiting)]
                waiting.append(table)
                into[key] = (waiting, before + number)
        if len(self.tensors) > 8 * len({id for id, _, _ in self.tensors}):  # factors that change all the time
            self.whole, self.tensors, self.totals = False, {}, {}

    def take(self):
        return [{key: (_merge(waiting), n) for key, (waiting, n) in of.items()} for of in (self.tensors, self.totals)]


class _Levels:
    """Blocks of steps merged, for who reads long runs. Readers merge themselves what is missing here, or is not of
    just the steps that are there: a kill or an error here costs them time, and the recording nothing."""

    def __init__(self, db, ranks):
        self.db, self.ranks = db, ranks
        self.narrow = self.wide = None

    def add(self, step, tensors, totals):
        """A step that is in the file."""
        if self.narrow is None or self.narrow.block != step // 64:
            self._leave()
            if self.wide is None or self.wide.block != step // 4096:
                self._store(self.wide)
                self.wide = self._enter(4096, step)
            self.narrow = self._enter(64, step)
        self.narrow.add([step], tensors, totals)

    def close(self):
        self._leave()
        self._store(self.wide)

    def _enter(self, width, step):
        first = step // width * width
        rows = "SELECT count(*) FROM step WHERE step BETWEEN ? AND ? AND microbatch=-1"
        return _Level(width, step // width, self.db.execute(rows, (first, first + width - 1)).fetchone() == (1,))

    def _leave(self):
        if self.narrow is not None:
            tensors, totals = self._store(self.narrow)
            self.wide.whole = self.wide.whole and self.narrow.whole
            self.wide.add(self.narrow.steps, tensors, totals)
            self.narrow = None

    def _store(self, level):
        """Writes the block, unless it merges so few tables that reading them is as fast; its merged tables."""
        if level is None:
            return None
        tensors, totals = level.take()
        if level.whole and level.merged >= 16 * len(tensors) > 0:
            ordered = sorted(tensors.items(), key=lambda item: (*item[0][:2], _order(item[0][2])))
            tables = [table for _, (table, _) in ordered]
            summary = _summaries(tables, *zip(*(key for key, _ in ordered)))
            cells = _compressed(_payloads(tables))
            key = (level.width, level.block, self.ranks)
            with self.db.transaction():
                steps = (len(level.steps), min(level.steps), max(level.steps))
                _insert(self.db, "level", (*key, *steps), (summary, cells))
                self.db.execute("DELETE FROM level_total WHERE width=? AND block=? AND ranks=?", key)
                for total in _total_rows(totals):
                    _insert(self.db, "level_total", key + total)
        return tensors, totals


def _order(factor):
    """Unknown factors come first."""
    return (factor is not None, factor or 0.0)


def _total_rows(totals):
    for (kind, role, factor), (table, tensors) in sorted(
        totals.items(), key=lambda item: (_KINDS.index(item[0][0]), _ROLES.index(item[0][1]), _order(item[0][2]))
    ):
        yield kind, role, tensors, _summary(table, 0, 0, factor), _compressed(_payloads([table]))


def _stored(value):
    """A value of a row as its checksum sees it: as SQLite stores it."""
    if value is None or value != value:
        return b"\0"
    if isinstance(value, int):
        return struct.pack("<bq", 1, value)
    if isinstance(value, float):
        return struct.pack("<bd", 2, value + 0.0)  # no zero has a sign
    octets = value.encode() if isinstance(value, str) else value
    return struct.pack("<bQ", 3 if isinstance(value, str) else 4, len(octets)) + octets


def _insert(db, table, *parts):
    """Puts a row into a table, in place of one with its key: its values, and the CRC-32 at the end of each part."""
    crc, checksums = zlib.crc32(table.encode()), b""
    for part in parts:
        octets = b"".join(map(_stored, part))
        crc = zlib.crc32(octets, crc)
        checksums += struct.pack("<I", crc)
        db.written += len(octets)
    row = [value for part in parts for value in part] + [checksums]
    how = "INSERT" if table in ("step", "total", "level_total") else "INSERT OR REPLACE"
    db.execute(f"{how} INTO {table} VALUES({','.join('?' * len(row))})", row)


class _Database(sqlite3.Connection):
    """A recording as SQLite has it. `binding` tells whose a log or journal beside it is, and of when: its number is
    raised in each journal, and in each log that begins anew."""

    has_log = True  # as far as is known; else it keeps a rollback journal
    taken_in = False  # whether the file itself is known to hold all that was written
    written = 0  # about as many bytes since it did

    @contextlib.contextmanager
    def transaction(self):
        if self.written > _LOG:
            self.checkpoint()
        self.execute("BEGIN IMMEDIATE")
        bound = None
        try:
            if self.taken_in:
                bound = self.bind()  # first, so that every journal has it
            yield
            self.execute("COMMIT")
        except BaseException:
            if self.in_transaction:
                self.execute("ROLLBACK")
            elif bound and _look(_number, self) == bound:  # interrupted when it was done
                self.taken_in = not self.has_log
            raise
        self.taken_in = not self.has_log
        self.written += 6 * _PAGE  # of tables and indices

    def keep_by(self, journal):
        self.has_log = self.execute("PRAGMA journal_mode=" + journal).fetchone() == ("wal",)

    def checkpoint(self):
        """Takes the log into the file, as far as readers allow. Not by SQLite itself: who binds must know when."""
        self.taken_in = False
        with contextlib.suppress(sqlite3.Error):
            busy, log, taken = self.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self.taken_in = not busy and log == taken
        if self.taken_in:
            self.written = 0

    def bind(self):
        (id, number), *_ = _binding(self)
        _insert(self, "meta", ("binding", f"{id or secrets.token_hex(16)} {number + 1}"))
        return number + 1

    def has_tables(self):
        return self.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,)


def _binding(db):
    """Whose a log or journal is and of when, as the file has it, -1 without the key: ID and number; whether the recording
    is closed, which removes the key; its name."""
    keys = "'binding', 'closed', 'run_id', 'rank'"
    meta = dict(db.execute(f"SELECT key, value FROM meta WHERE key IN ({keys})"))
    found = re.fullmatch("([0-9a-f]{32}) ([0-9]{1,18})", str(meta.pop("binding", "")))
    return (found[1], int(found[2])) if found else (None, -1), meta.pop("closed", None) is not None, meta


def _number(db):
    return _binding(db)[0][1]


def _follows(before, after):
    """Whether no more than one log or journal lies between two states of a recording, as far as that is known."""
    if None in (before, after):
        return True
    (id, number), was_closed, name = before
    (its, next), is_closed, its_name = after
    removed = was_closed and is_closed and its is None
    return name == its_name and (removed or id in (None, its) and next - number in (0, 1))


def _rows(db):
    return db.execute("SELECT coalesce(max(rowid), 0) FROM step").fetchone()[0]


# What is known of a tensor, as the table `tensor` has it.
_Info = namedtuple("_Info", "name kind role through shape numel")
# One tensor of a step. factor: recorded value = factor * true gradient; None where it is not known. parts: those that a
# gradient is a sum of, 255 at most: how many were rounded to `through` before they were added, and 256 * how many were not.
_Row = namedtuple("_Row", "info type_number factor parts table")


# File systems of several machines: these do not share memory, which a write-ahead log needs. Those of which `ulp` knows.
_NETWORK = re.compile(
    r"(nfs|cifs|smb|ncpfs|coda|afs|ceph|fuse|virtiofs|9p|ocfs|lustre|gpfs|beegfs|fhgfs|gfs|panfs|ibrix|vxfs|vmhgfs|vboxsf|"
    r"orangefs|pvfs|wekafs)"
)


def _on_network(path):
    """Whether the file is on one of them, as far as the system says (Linux)."""
    path, longest, kind = os.path.realpath(path), "", ""
    with contextlib.suppress(OSError), open("/proc/self/mounts", errors="surrogateescape") as mounts:
        for line in mounts:
            folder, of = line.split()[1:3]
            folder = re.sub(r"\\([0-7]{3})", lambda blank: chr(int(blank[1], 8)), folder)
            if len(folder) >= len(longest) and os.path.commonpath([folder, path]) == folder:
                longest, kind = folder, of
    return _NETWORK.match(kind) is not None


class _Lock:
    """Tells other recorders that this one writes the file: a lock of the open file description, on a byte beyond all data.
    It goes with the process. SQLite's own would go when any descriptor of the file is closed."""

    _BYTE = 1 << 62
    _written = set()  # what this process writes: device and inode

    def __init__(self, path, append):
        self.descriptor, self.created, self.identity = None, False, None
        with contextlib.suppress(OSError):
            self._refuse_twice(os.stat(path))
        of = re.sub("-(wal|journal|shm)$", "", path)
        if of != path and os.path.exists(of):
            raise RecorderError(f"is the name of a part of {os.path.basename(of)}: give another name")
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        try:  # one process gets a name, however many begin at once
            self.descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            self.created = True
        except FileExistsError:
            if not append:
                raise RecorderError(
                    "already exists: give another name, remove it, or add to it with append=True"
                ) from None
            self.descriptor = os.open(path, flags)
        try:
            state = os.fstat(self.descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise RecorderError("is not a regular file: give another name")
            mine = self.created or not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
            if state.st_size == 0 and (state.st_nlink > 1 or not mine):
                raise RecorderError("is an empty file of another user or with a second name: remove it, or give another name")
            self._set(True)
            self._refuse_twice(state)
        except BaseException:
            os.close(self.descriptor)
            raise
        self.identity = state.st_dev, state.st_ino
        self._written.add(self.identity)

    def _refuse_twice(self, state):
        if (state.st_dev, state.st_ino) in self._written:
            raise RecorderError("is being written by this process: close that recorder first, or give another name")

    def _set(self, locked):
        try:
            if hasattr(fcntl, "F_OFD_SETLK"):
                kind = fcntl.F_WRLCK if locked else fcntl.F_UNLCK
                fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, 0, self._BYTE, 1, 0))
            elif fcntl is not None:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if locked else fcntl.LOCK_UN)
        except OSError as error:  # others: there are no such locks here
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise RecorderError(
                    "is being written by another process: wait until it has ended, or give another name"
                ) from None

    def head(self):
        """The first bytes of the file."""
        return os.read(self.descriptor, 100) if os.lseek(self.descriptor, 0, os.SEEK_SET) == 0 else b""

    def holds(self, path):
        """Whether the path still is this file."""
        with contextlib.suppress(OSError):
            state = os.lstat(path)
            return (state.st_dev, state.st_ino) == self.identity
        return False

    def release(self):
        """After SQLite closed the file."""
        if self.descriptor is not None:
            self._written.discard(self.identity)
            self._set(False)  # forks have the descriptor too
            os.close(self.descriptor)
            self.descriptor = None


def _look_beside(path, head):
    """Refuses what lies beside a recording and SQLite would take for parts of it, where it cannot be. head: of the file.
    Returns whether its log lacks its end."""
    for suffix in ("-wal", "-journal", "-shm"):
        try:
            state = os.lstat(path + suffix)
        except FileNotFoundError:
            continue
        user = os.geteuid() if hasattr(os, "geteuid") else 0
        owners = {os.stat(path).st_uid, *((0, user) if user else ())}  # SQLite gives it to the owner, if the superuser asks
        reason = (
            "is not a regular file" if not stat.S_ISREG(state.st_mode)
            else "belongs to another user than the recording" if state.st_uid not in owners
            else "has a second name" if state.st_nlink > 1
            else None if suffix == "-journal" and not head and _is_of_beginning(path + suffix)
            else "exists without the recording that it was part of" if not head
            else "is the log of another recording" if suffix == "-wal" and state.st_size > 0 and head[19] != 2
            else "tells SQLite to delete another file" if suffix == "-journal" and _names_super_journal(path + suffix)
            else None
        )  # fmt: skip
        if reason:
            raise RecorderError(f"{os.path.basename(path + suffix)} {reason}: remove it, or give another name")
    name, log, journal = os.path.basename(path), _size(path + "-wal"), _size(path + "-journal")
    if log and not _is_index_whole(path + "-shm"):
        raise RecorderError(f"{name}-shm was cut short, and would hide steps: remove it when no program uses the recording")
    if log and journal:
        raise RecorderError(f"{name}-wal and {name}-journal: a recording has only one of them: move the foreign one away")
    if journal and head and journal > 2 * _size(path) + 2**20:
        raise RecorderError(f"{name}-journal is larger than its own can be: move it away")
    if journal and head and not _is_own(path, "-journal"):
        raise RecorderError(f"{name}-journal belongs to another recording or is outdated, and would remove steps: move it away")
    if head[19:20] == b"\2" and not os.path.exists(path + "-wal") and os.stat(path).st_nlink > 1:
        raise RecorderError("has a second name, and its log may be beside that: append by that name, or copy it")
    if log <= 32:
        return True
    if not _is_own(path, "-wal"):
        raise RecorderError(
            f"{name}-wal is another recording's, or older or newer than this one: move it away, or copy both anew"
        )
    return _is_log_cut(path)


def _size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def _is_index_whole(path):
    """Whether the index of a log, if there is one, is as SQLite makes it: begun, or of pieces of 32768 bytes, within a moment."""
    for _ in range(100):
        if (size := _size(path)) == 3 or size % 32768 == 0:
            return True
        time.sleep(0.01)
    return False


def _is_own(path, suffix):
    """Whether the log or journal beside a recording is of it as it is now: SQLite takes in any."""
    uri = pathlib.Path(path).as_uri() + "?mode=ro&immutable=1"  # the file alone
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as alone, _copy(path, suffix) as whole:
        alone.execute("PRAGMA trusted_schema=OFF")
        alone.execute("PRAGMA writable_schema=ON")  # reads what is there of a file that is shorter than it says
        try:
            if not _is_known(alone):
                binding = rows = None
            else:
                binding, rows = _look(_binding, alone), _look(_rows, alone)
                if binding is None and suffix == "-wal":
                    raise RecorderError(
                        f"{os.path.basename(path)} is damaged where it names its write-ahead log: copy it by `ulp merge`, "
                        "and append to the copy"
                    )
            if not whole.has_tables():  # killed while it was made
                return not rows and (binding is None or binding[0][1] < 1)
            if not _is_known(whole):
                return False
            its, most = _binding(whole), _look(_rows, whole)
            if suffix == "-wal":  # goes on from the file
                return _follows(binding, its) and (None in (rows, most) or rows <= most)
            own = _follows(its, binding) and (rows is None or rows <= most + 1)  # takes it back by a step
        except sqlite3.DatabaseError:
            return False
        if own and not _look(_is_sound, whole):
            raise RecorderError(
                f"{os.path.basename(path)}-journal would leave it damaged: keep both; what can be read of them is copied "
                "by `ulp merge`, and appended to"
            )
        return own


def _is_sound(db):
    """Whether its pages and all checksums are right."""
    return db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",) and all(
        _has_checksum(table, row)
        for table in re.findall(r"CREATE TABLE (\w+)", _SCHEMA)
        for row in db.execute(f"SELECT * FROM {table}")
    )


def _has_all_rows(db):
    """Whether the indices by which steps and totals are found have as many rows as their tables. No row is ever removed."""
    return all(
        db.execute(
            f"SELECT (SELECT count(*) FROM {of} WHERE step BETWEEN -9223372036854775807 - 1 AND 9223372036854775807) = "
            f"(SELECT coalesce(max(rowid), 0) FROM {of.split()[0]})"
        ).fetchone()[0]
        for of in ("step INDEXED BY sqlite_autoindex_step_1", "step INDEXED BY step_scalars", "total INDEXED BY total_summary")
        if db.execute("SELECT 1 FROM sqlite_master WHERE name=?", of.split()[3:]).fetchone()
    )


def _has_checksum(table, row):
    *values, stated = row
    crc, of_values = zlib.crc32(table.encode()), []
    for value in values:
        crc = zlib.crc32(_stored(value), crc)
        of_values.append(crc)
    if not isinstance(stated, bytes) or len(stated) % 4 != 0:
        return False
    parts = [part for (part,) in struct.iter_unpack("<I", stated)]
    return parts[-1:] == [crc] and set(parts) <= set(of_values)


def _is_log_cut(path):
    """Whether a log lacks its end. One is refused where transactions lie behind what SQLite reads of it: up to the first
    page that is not as it was written (https://www.sqlite.org/fileformat.html, 4.1 to 4.3)."""
    name = os.path.basename(path) + "-wal"
    with _copy(path, "-wal") as whole, open(path + "-wal", "rb") as log:
        seen = whole.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]  # pages
        head = log.read(32)
        magic, _, page = struct.unpack(">3I", head[:12])
        sums = [0, 0]
        for i, word in enumerate(struct.unpack("<>"[magic & 1] + "6I", head[:24])):
            sums[i % 2] = (sums[0] + word + sums[1]) % 2**32
        is_page = 512 <= page <= 65536 and page & (page - 1) == 0
        is_log = magic & ~1 == 0x377F0682 and is_page and struct.unpack(">2I", head[24:]) == tuple(sums)
        if seen <= 0 and not is_log:
            raise RecorderError(f"{name} is not a write-ahead log, or its beginning is damaged: move it away")
        pages, rest = divmod(_size(path + "-wal") - 32, 24 + page)
        seen = max(seen, 0)
        last, unseen = seen - 1, []
        for at, ends_transaction, _ in _own_pages(log):
            last = at
            if at >= seen and ends_transaction:
                unseen.append(at)
        if unseen and unseen[0] < last:
            raise RecorderError(
                f"{name} is damaged, and all steps behind the damage would be lost forever: copy the recording by "
                "`ulp merge`, which keeps the steps before, and append to the copy"
            )
        return bool(unseen) or (rest not in (0, 24) and pages - last <= 16)


def _own_pages(log):
    """The whole pages of a log that are not of a log before, which lie behind its own: number, whether a transaction ends, and
    where in the log the page does."""
    log.seek(0)
    head = log.read(32)
    (page,) = struct.unpack(">I", head[8:12])
    at = last = -1
    while 512 <= page <= 65536 and at - last <= 16:
        at += 1
        end = 32 + (at + 1) * (24 + page)
        log.seek(end - page - 24)
        frame = log.read(16)
        if end > os.fstat(log.fileno()).st_size:
            break
        if frame[8:] == head[16:24]:
            last = at
            yield at, frame[4:8] != bytes(4), end


def _is_known(db):
    """Whether all of its schema can be read and is ours: else nothing else of it is read, which could be a stranger's view."""
    try:
        _check_identity(db)
    except (sqlite3.DatabaseError, RecorderError):
        return False
    return True


def _look(what, db):
    """None where a kill tore what a journal mends, or where a copy ends."""
    with contextlib.suppress(sqlite3.DatabaseError):
        return what(db)


def _copy_front(path, copy, front, size):
    """Of a file of some size the first bytes."""
    with open(path, "rb") as file, open(copy, "wb") as to:
        while front > 0 and (piece := file.read(min(front, 1 << 20))):
            front -= to.write(piece)
        to.truncate(size)


@contextlib.contextmanager
def _copy(path, suffix):
    """A private copy of a recording with what lies beside it, for SQLite to do in it what it does."""
    try:
        with tempfile.TemporaryDirectory(prefix="ulp-") as folder:
            copy = os.path.join(folder, "copy.ulp")
            if suffix == "-journal":
                shutil.copyfile(path + suffix, copy + suffix)
                shutil.copyfile(path, copy)
            else:  # all of `meta` is in front, and the rest of both may be long
                _copy_front(path, copy, 1 << 20, _size(path))
                with open(path + suffix, "rb") as log:
                    end = max((end for *_, end in _own_pages(log)), default=32)
                _copy_front(path + suffix, copy + suffix, end, end)
            with contextlib.closing(sqlite3.connect(copy, isolation_level=None, factory=_Database)) as db:
                db.execute("PRAGMA trusted_schema=OFF")
                db.execute("PRAGMA synchronous=OFF")
                yield db
    except OSError as error:
        raise RecorderError(
            f"must be copied to look at its {suffix}, which fails: {error.strerror}: let TMPDIR name a folder with room"
        ) from None


def _names_super_journal(path):
    """Whether a journal ends as SQLite ends those of several databases, which name a file that it then deletes."""
    with open(path, "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - 8, 0))
        return file.read() == bytes.fromhex("d9d505f920a163d7")


def _is_of_beginning(journal):
    """Whether it takes a file back to none: it holds nothing."""
    with open(journal, "rb") as file:
        return file.read(20)[16:] == bytes(4)


def _bare(sql):
    return re.sub(r"[ \t\r\n]", "", sql)


def _check_identity(db):
    """Nothing is taken but our own statements: others run what a stranger wrote."""
    identity = [db.execute("PRAGMA " + name).fetchone()[0] for name in ("application_id", "user_version")]
    known = {_bare(sql) for sql in (_SCHEMA + _EXTRA).split(";")} - {""}
    made = db.execute("SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    own = {_bare(sql) for _, sql in made}
    tables = {_bare(sql) for sql in _SCHEMA.split(";") if "CREATE TABLE" in sql}  # indices may be missing
    as_stated = all(_bare(sql).startswith("CREATE" + type.upper()) for type, sql in made)
    if identity != [_APPLICATION, _VERSION] or not tables <= own <= known or not as_stated:
        raise RecorderError(f"is not a recording of version {_VERSION}: give another name")


_LOST = "was moved, removed or replaced during recording: the file of that name has none of its steps"


class _File:
    """A recording open for writing."""

    def __init__(self, path, append, meta, ranks):
        self.shown = _printable(os.fsdecode(path))
        # Never one of the names that SQLite takes for something else; and what lies beside a link is of what it names.
        self.path = os.path.realpath(path) if append and os.path.exists(path) else os.path.abspath(path)
        self.ranks = ranks
        self.process = os.getpid()
        self.tensors = {}  # by name: id, _Info
        self.db = self.lock = None
        begun = False
        try:
            self.lock = _Lock(self.path, append)
            head = self.lock.head()
            self._check_head(head)
            is_cut = _look_beside(self.path, head)
            begun = self.lock.created
            # Backward hooks run in threads of their own; no two call at once. Readers on network file systems make it wait.
            options = {"timeout": 60, "isolation_level": None, "check_same_thread": False, "factory": _Database}
            self.db = sqlite3.connect(self.path, **options)
            self.db.execute("PRAGMA trusted_schema=OFF")
            self.db.execute("PRAGMA wal_autocheckpoint=0")
            if self.db.has_tables():
                self._go_on(is_cut)
            else:
                self._create(meta)
            self._set_journal()
            self.db.checkpoint()
            with self.db.transaction():
                pass  # no log is empty then but that of a copy which lost it
            self._read_tensors()
            self.rows_before = _rows(self.db)
        except BaseException as error:
            if self.db is not None:
                with contextlib.suppress(sqlite3.Error):  # closing takes the log in: else the file would seem to lack it
                    self.db.keep_by("DELETE")
                self.db.close()
            if self.lock is not None:
                mine = self.lock.created and self.lock.holds(self.path)
                for suffix in ("", *(("-wal", "-shm", "-journal") if begun else ())) if mine else ():
                    with contextlib.suppress(OSError):
                        os.remove(self.path + suffix)
                self.lock.release()
            if not isinstance(error, (sqlite3.Error, OSError, RecorderError)):
                raise
            reason = error.strerror if isinstance(error, OSError) else error
            hint = ": does its folder exist, and is it writable?" if isinstance(error, OSError) else ""
            raise RecorderError(f"{self.shown}: {reason}{hint}") from None
        self.levels = _Levels(self.db, ranks)

    @staticmethod
    def _check_head(head):
        """Before SQLite has a look: it would take in what lies beside a file that is not ours."""
        version, application = (int.from_bytes(head[at : at + 4], "big") for at in (60, 68))
        nothing = (version, application) == (0, 0) and head[40:44] == bytes(4)  # no table was ever made
        if head and not (head.startswith(b"SQLite format 3\0") and nothing):
            if application != _APPLICATION or not 1 <= version <= _VERSION:
                raise RecorderError(f"is not a recording of version {_VERSION}: give another name")
            if version < _VERSION:
                raise RecorderError(
                    f"is a recording of version {version}, without checksums, which is no longer written: copy it by "
                    "`ulp merge OLD -o NEW`, and append to the copy"
                )

    def _create(self, meta):
        """In one transaction, with a rollback journal: the file itself then says what it is."""
        self.db.keep_by("DELETE")
        self.db.execute(f"PRAGMA page_size={_PAGE}")
        with self.db.transaction():
            self.db.execute(f"PRAGMA application_id={_APPLICATION}")
            self.db.execute(f"PRAGMA user_version={_VERSION}")
            for statement in _SCHEMA.split(";"):
                self.db.execute(statement)
            for pair in meta:
                _insert(self.db, "meta", pair)
            self.db.bind()

    def _read_tensors(self):
        self.tensors = {}
        for id, *info in self.db.execute("SELECT id, name, kind, role, through, shape, numel FROM tensor"):
            self.tensors[info[0]] = id, _Info(*info)

    def _go_on(self, is_cut):
        """Before a log is there: a copy without it is then known to lack it."""
        _check_identity(self.db)
        with contextlib.closing(sqlite3.connect(self.path)) as looked:  # on self.db its log could not be taken in then
            keys = {key for (key,) in looked.execute("SELECT key FROM meta")}
            whole = {"run_id", "rank", "world", "reduction", "layout"} <= keys
            if not whole or not (_is_sound if _size(self.path) <= _CHECKED else _has_all_rows)(looked):
                raise RecorderError("is damaged (ulp check lists where): nothing is appended")
        self.db.checkpoint()
        head = self.lock.head()  # its journal is played back
        with self.db.transaction():
            closed = self.db.execute("SELECT 1 FROM meta WHERE key='closed'").fetchone()
            if head[19] == 2 and is_cut and not closed:  # else nobody could tell any more
                _insert(self.db, "meta", ("incomplete", "1"))
            self.db.execute("DELETE FROM meta WHERE key='closed'")

    def _set_journal(self):
        """A write-ahead log, or else a rollback journal: slower, as safe. Others may read while this one writes."""
        try:
            self.db.keep_by("TRUNCATE" if _on_network(self.path) else "WAL")
        except sqlite3.OperationalError:  # no shared memory here
            self.db.keep_by("TRUNCATE")
        self.db.execute("PRAGMA synchronous=NORMAL")

    def write(self, key, scalars, rows):
        """One step in one transaction: its tables, and their totals by kind, role and factor. key: step, attempt (None:
        the first that was not there when the file was opened), microbatch."""
        if os.getpid() != self.process:
            raise RecorderError(f"{self.shown}: only the process that opened the recording can write to it; this one is a fork")
        if not self.lock.holds(self.path):
            raise RecorderError(f"{self.shown}: {_LOST}")
        before = dict(self.tensors)
        groups = {}
        for row in rows:
            groups.setdefault((row.info.kind, row.info.role, row.factor), []).append(row.table)
        totals = {group: (_merge(tables), len(tables)) for group, tables in groups.items()}
        try:
            if key[1] is None:
                attempts = "SELECT coalesce(max(attempt), -1) + 1 FROM step WHERE step=? AND rowid<=?"
                key = (key[0], *self.db.execute(attempts, (key[0], self.rows_before)).fetchone(), key[2])
            with self.db.transaction():
                ids = [self._id(row.info) for row in rows]
                _, numbers, factors, parts, tables = zip(*rows) if rows else [()] * 5
                summary = _summaries(tables, ids, numbers, factors, parts)
                cells = _compressed(_payloads(tables))
                _insert(self.db, "step", (*key, self.ranks, *scalars, None), (summary, cells))
                for *total, cells in _total_rows(totals):
                    _insert(self.db, "total", (*key, *total), (cells,))
        except BaseException as error:
            self.tensors = before
            with contextlib.suppress(sqlite3.Error):  # an interrupt may come when the step is in the file
                self._read_tensors()
            if not isinstance(error, (sqlite3.Error, RecorderError)):
                raise
            damaged = type(error) is sqlite3.DatabaseError  # then nothing is known of what is in the file
            reason = f"{error}: it is not recorded" + ("" if damaged else ", the steps before it are")
            if isinstance(error, sqlite3.IntegrityError):
                reason = "is in the recording already: each call needs a step, attempt or microbatch of its own"
            place = " ".join(
                f"{what} {n}"
                for what, n, usual in zip(("step", "attempt", "microbatch"), key, (None, 0, -1))
                if n not in (None, usual) or what == "step"
            )
            raise RecorderError(f"{self.shown}: {place}: {reason}") from None
        if key[2] == -1:
            # Without codes, which take much memory.
            tables = {
                (id, number, factor): (table if table.codes is None else _merge([table]), 1)
                for id, (_, number, factor, _, table) in zip(ids, rows)
            }
            with contextlib.suppress(sqlite3.Error, RecorderError):
                self.levels.add(key[0], tables, totals)

    def _id(self, info):
        """The tensor's number in the file, where it is added if it is new."""
        if info.name not in self.tensors:
            self.tensors[info.name] = len(self.tensors), info
            _insert(self.db, "tensor", (self.tensors[info.name][0], *info))
        id, known = self.tensors[info.name]
        if known.numel not in (0, info.numel):  # its size varies
            known = known._replace(numel=0)
            self.tensors[info.name] = id, known
            _insert(self.db, "tensor", (id, *known))
        return id

    def close(self):
        if self.db is None or os.getpid() != self.process:
            return
        # A full disk, or somebody who reads: the recording is whole with the log beside it.
        try:
            with contextlib.suppress(sqlite3.Error, RecorderError):
                self.levels.close()
            with contextlib.suppress(sqlite3.Error), self.db.transaction():
                _insert(self.db, "meta", ("closed", "1"))
            with contextlib.suppress(sqlite3.Error):  # also where it could not be said: else it would seem to lack its log
                self.db.execute("PRAGMA busy_timeout=2000")
                self.db.keep_by("DELETE")
                self.db.execute("DELETE FROM meta WHERE key='binding'")  # nothing lies beside it
        finally:
            self.db.close()
            self.db = None
            self.lock.release()


# --- The recorder ----------------------------------------------------------------------------------------------------


# What is around a model, and where it has it; torch.compile calls it likewise in the names of what it is around.
_WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod"}


def _plain(name):
    """Without what torch.compile adds to a name."""
    return re.sub(r"(?:^|(?<=\.))_orig_mod\.|\._orig_mod$", "", name) if "_orig_mod" in name else name


def _is_compiled(model):
    """Whether nothing of its graph can be seen, and a hook would break it in two."""
    return getattr(model, "_compiled_call_impl", None) is not None


class Recorder:
    """Records a training run step by step.

    path         The recording. It must not exist unless append is true. With shards, each rank writes its own file:
                 run.ulp becomes run.rank3.ulp.
    model        A torch module; the gradients of its parameters are recorded. None if gradients are passed to step().
    every        Records every n-th call of step(), starting with the first.
    sums         Also keeps exact sums: exact norms and lost mass instead of estimates, for several times the work.
    activations  A regular expression, searched in module names: the gradients of their outputs are recorded.
    forward      The same, for the outputs themselves: their maxima show what overflows before any gradient does.
                 Anything that checkpointing computes twice may be counted twice.
    gradients    A regular expression, searched in names of parameters: only the gradients of these are recorded.
    weights      The same: these parameters are recorded too, as `weight/NAME`, before the optimizer's step.
    updates      The same: what the optimizer's step adds to these, as `update/NAME`: float32, after minus before. Keeps a
                 copy of them during that step. Needs optimizer.
    states       The same, searched in KEY/NAME: tensors of the optimizer's state after its step, as `state/KEY/NAME`, as in
                 states="exp_avg_sq/". Needs optimizer.
    roles        How mixed precision keeps tensors: {regular expression: "low" or "float32"}; the first match in the name
                 counts. By default, the first recorded forward pass decides: "low" are 16-bit tensors and parameters
                 that autocast casts, "float32" those of such a run that are used uncast. Compiled or checkpointed parts
                 cannot be inspected. For a float32 run, roles="autocast" marks as "low" what autocast would cast.
    append       Continues an existing recording. Its steps are kept; repeated steps become further attempts.
    shards       Each rank has parts of the tensors and writes its own file. None: decided by the model (FSDP, DTensor).
                 Otherwise all ranks have the same gradients; rank 0 records them and the others do nothing.
    local        Each rank records its own gradients, before they are reduced, and writes its own file: with
                 DistributedDataParallel as they are then, without it as they are when step() is called.
    rank, world  Needed only if torch.distributed does not know them.
    run_id       Equal for all ranks of one run; by default random, and shared through torch.distributed.
    scaler, optimizer  A GradScaler, and one optimizer or several of the model: step() then comes after the optimizer's step
                 (and the scaler's update), as one line that needs nothing but its number and the loss. The gradients are
                 taken before they are unscaled; scale, found_inf, applied and learning rate are known. Without a scaler
                 they are those that the optimizer gets, and the loss scale is 1.
    strict       Whether step() raises. Otherwise a step that cannot be recorded is skipped with a warning and training
                 goes on; after ten failures in a row recording stops.

    Raises RecorderError for invalid arguments, before training. Recorded steps remain, whatever fails later.
    """

    def __init__(
        self,
        path,
        model=None,
        *,
        every=1,
        sums=False,
        activations=None,
        forward=None,
        gradients=None,
        weights=None,
        updates=None,
        states=None,
        roles=None,
        append=False,
        shards=None,
        local=False,
        rank=None,
        world=None,
        run_id=None,
        scaler=None,
        optimizer=None,
        strict=False,
    ):
        self._file, self._hooks = None, []
        self._wrapped, self._scaler, self._optimizers = [], scaler, _optimizers_in(optimizer)
        self._update, self._waiting = None, None  # an _Update since the last step(); a step() that came before it
        self._stepping = False  # whether the scaler's step is running
        self._in_vain = 0  # calls of step() since an optimizer stepped
        self._order = None  # {id of parameter: its place, name and itself}
        self._local = None  # {id of parameter: what was taken of it before it was reduced; None if it is not reduced}
        self._root_hook = None  # which sees the graph of a forward pass, until that is known
        if every < 1:
            raise RecorderError(f"every={every}: must be 1 or more")
        if run_id is not None and (len(run_id.encode()) > 1024 or not run_id.isprintable()):
            raise RecorderError("run_id: at most 1024 bytes, without control characters")
        compiled, self._replicas = False, model
        while type(model).__name__ in _WRAPPERS:
            compiled = compiled or type(model).__name__ == "OptimizedModule"
            self._replicas = model if type(model).__name__ == "DistributedDataParallel" else self._replicas
            model = getattr(model, _WRAPPERS[type(model).__name__])
        self._model, self._every, self._sums, self._strict = model, every, sums, strict
        self._calls, self._failures, self._closed = 0, 0, False
        self._watched, self._trouble = [], None  # what hooks saw since the last step, and what went wrong there
        self._pending = []  # what they counted on a device
        self._unfit, self._told = {}, set()  # tensors that cannot be recorded: why, since the last step; of whom that was said
        self._looks, self._suspected = 100, set()  # steps whose values are still looked at, and what was said of them
        self._scale_before, self._finite_before = None, False
        self._graph = None  # once a forward pass showed it
        self._passes, self._calls_before = {}, _Calls()  # {id of parameter: _Passes}; what came before backward passes
        self._shown_by = None  # what showed the uses: an "output" of the model, a "loss" after its backward pass, or a "scaled" one
        self._learnt_at = None  # of a loss: how many calls of step() there were; None again when another one agreed
        self._sure = False  # whether a loss showed all uses of parameters, also those outside of the model
        self._taken = False  # whether any gradients were
        self._mixed = False  # whether anything is in 16 bits
        its_rank, its_world = _rank_and_world()
        rank, world = its_rank if rank is None else rank, its_world if world is None else world
        if not 0 <= rank < world:
            raise RecorderError(f"rank={rank}: must be from 0 to world - 1, and world is {world}")
        if shards is None:
            shards = world > 1 and model is not None and _is_sharded(model)
        local = local and world > 1
        if local and shards:
            raise RecorderError("local: the parts of FSDP and DTensor are there only when they are reduced; leave it out")
        if rank > 0 and not shards and not local:
            return
        if shards or local:
            root, extension = os.path.splitext(os.fspath(path))
            path = f"{root}.rank{rank}{extension}"
        meta = {
            "run_id": run_id or _new_run_id((shards or local) and world > 1),
            "rank": rank,
            "world": world,
            "reduction": "local" if local or world == 1 else "reduced",
            "layout": "shard" if shards else "replica",
        }
        self._elsewhere = frozenset() if not shards or model is None else _recorded_elsewhere(model, rank, its_world)
        ranks = [rank] if shards or local else range(world)
        self._role_of = _role_rules(roles, model)
        self._shards, self._alone = shards, not shards and not local  # whether this rank knows all gradients
        self._summed = 1 if local else world  # of so many ranks gradients are sums
        self._tells_more = rank == 0 or not local  # whether all but gradients, which are the same for all ranks, is recorded here
        self._wanted = {"gradients": gradients, "weights": weights, "updates": updates, "states": states}
        self._wanted = {what: re.compile(regex) for what, regex in self._wanted.items() if regex}
        if model is None and (scaler is not None or self._optimizers or self._wanted):
            raise RecorderError(f"{', '.join(['scaler, optimizer', *self._wanted])}: need a model")
        for what, regex in self._wanted.items():
            if what in ("updates", "states") and not self._optimizers:
                raise RecorderError(f"{what}: needs optimizer=, which makes them")
            if what != "states" and not any(regex.search(_plain(name)) for name, _ in model.named_parameters()):
                raise RecorderError(f"{what}: {regex.pattern!r} matches no parameter name")
        lacking = [n for n in ("get_scale", "unscale_", "step", "update") if scaler is not None and not hasattr(scaler, n)]
        if lacking:
            raise RecorderError(f"scaler: a {type(scaler).__name__} has no {lacking[0]}(): leave it out, and pass loss_scale")
        modules = {}
        for name, module in () if model is None else model.named_modules():
            modules.setdefault(_plain(name), module)  # what is compiled keeps its graph whole: the hook is around it
        watched = []
        for regex, kind in ((activations, "activation_grad"), (forward, "activation")):
            found = [(name, module) for name, module in modules.items() if regex and re.search(regex, name)]
            if regex and not found:
                raise RecorderError(f"{os.fspath(path)}: {regex!r} matches no module name")
            watched += [(module, self._watch(name, kind)) for name, module in found]
        self._file = _File(path, append, [(k, str(v)) for k, v in meta.items()], ",".join(map(str, ranks)))
        self._finish = weakref.finalize(self, self._file.close)  # at exit too
        self._hooks = [module.register_forward_hook(_Hook(hook)) for module, hook in watched]
        self._see_updates()
        if local and type(self._replicas).__name__ == "DistributedDataParallel":
            self._see_reductions()
        if model is not None and not compiled and not _is_compiled(model):
            self._root_hook = model.register_forward_hook(_RootHook(self._see_forward))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Leaves a single file. Recorded steps are safe even without it."""
        for hook in self._hooks:
            hook.remove()
        for of, name, wrapped, before in self._wrapped:
            if vars(of).get(name) is wrapped:  # else somebody wrapped it again, and it only passes on
                if before is None:
                    del vars(of)[name]
                else:
                    vars(of)[name] = before
        self._hooks, self._wrapped = [], []
        for passes in self._passes.values():
            passes.hook.remove()
        self._passes = {}
        self._leave_root()
        self._record_waiting()
        self._watched, self._update, self._waiting = [], None, None
        if self._file is None:
            return
        if 0 < self._in_vain < 100 and self._calls == 0:
            self._tell_in_vain()
        file, self._file, self._closed = self._file, None, True
        is_lost = file.process == os.getpid() and not file.lock.holds(file.path)
        self._finish()
        if is_lost and self._strict:
            raise RecorderError(f"{file.shown}: {_LOST}")
        if is_lost:
            warnings.warn(f"ulp_recorder: {file.shown}: {_LOST}", RuntimeWarning, stacklevel=2)

    @property
    def _due(self):
        return self._file is not None and self._calls % self._every == 0

    def step(
        self,
        step,
        *,
        loss=None,
        loss_scale=None,
        scaled=True,
        factor=1.0,
        grad_norm=None,
        lr=None,
        found_inf=None,
        applied=None,
        grads=None,
        attempt=None,
        microbatch=-1,
    ):
        """Records the current gradients: call it after backward, before they are clipped. Of a Recorder that was given a
        scaler or an optimizer: those of the optimizer's last step; call it after that.

        step         The number of the update; each is recorded once.
        loss, grad_norm, lr, applied  As the loop knows them: numbers or one-element tensors, stored unchanged.
        loss_scale   What the loss was multiplied by; 1 for a run without scaling. Without it the gradients' true size
                     is unknown.
        scaled       Whether the parameters' gradients are still multiplied by it, as before scaler.unscale_. Gradients
                     of activations always are.
        factor       An additional factor of the gradients: 0.25 for one of four microbatches whose loss was divided.
        found_inf    Whether the scaler found an overflow. By default, with a loss scale other than 1: whether a weight
                     gradient here is infinite or NaN, which is what scalers look for; not with shards.
        grads        {name: array or tensor}, recorded in addition to the model's parameters: weight gradients, unless
                     the name begins with agrad/. Anything that numpy can convert, or that has __dlpack__.
        attempt, microbatch  The index if an update is tried again, or if each microbatch's gradient is recorded;
                     microbatch -1 is the accumulated gradient, which ends the step.
        """
        if self._closed:
            text = f"step {step}: comes after close(): this and later steps are not recorded"
            if self._strict:
                raise RecorderError(text)
            self._closed = False  # said once
            warnings.warn(f"ulp_recorder: {text}", RuntimeWarning, stacklevel=2)
        update = None
        if self._sees_updates and microbatch == -1 and self._file is not None:
            self._record_waiting()
            update, self._update = self._update, None
            if update is None:  # more gradients are to be accumulated, or the optimizer's step follows
                self._look_behind(loss)
                loss = loss.detach() if hasattr(loss, "detach") else loss
                given = dict(loss=loss, loss_scale=loss_scale, factor=factor, grad_norm=grad_norm, lr=lr, found_inf=found_inf)
                self._waiting = step, dict(given, applied=applied, grads=grads, attempt=attempt)
                self._in_vain += 1
                if self._in_vain == 100:
                    self._tell_in_vain()
                return
            self._in_vain = 0
        due, watched, trouble, unfit = self._due, self._watched, self._trouble, self._unfit
        self._trouble, self._unfit = None, {}
        if update is not None and update.watched is not None:
            watched = update.watched
        else:
            self._watched = []
        if microbatch == -1:
            self._calls += 1
        if not due:
            self._forget_local(microbatch)
            self._end_of(() if self._sees_updates else self._passes)
            return
        unscaled, next_scale = (), None
        try:
            if update is not None:
                unscaled, trouble = update.unscaled, trouble or update.trouble
                unfit.update(update.unfit)
                if update.scale is not None:
                    next_scale = loss_scale if loss_scale not in (None, update.scale) else None
                    loss_scale = update.scale
                loss_scale = 1.0 if loss_scale is None else loss_scale
                lr = update.lr if lr is None else lr
                found_inf = update.found_inf() if found_inf is None else found_inf
                applied = update.applied() if applied is None else applied
                scaled = not unscaled
            elif self._sees_updates and microbatch >= 0 and self._scaler is not None:
                loss_scale = self._scaler.get_scale() if loss_scale is None else loss_scale
            if trouble is not None:
                raise trouble
            dropped = self._look_behind(loss)
            for of in dropped if update is not None else ():
                name = _plain(self._order[of][1]) if of in self._order else None
                if name in update.values and update.values[name][-1].type.bits > 16:
                    update.values[name][-1].parts = 0
            loss, loss_scale, grad_norm, lr = (
                None if x is None else float(x) for x in (loss, loss_scale, grad_norm, lr)
            )
            if microbatch < -1 or (attempt or 0) < 0:
                raise RecorderError(
                    f"attempt={attempt}, microbatch={microbatch}: counted from 0; -1 is all microbatches"
                )
            if not 0 < factor < math.inf:
                raise RecorderError(f"factor={factor}: must be above 0 and finite")
            if loss_scale is not None and not loss_scale > 0:
                raise RecorderError(
                    f"loss_scale={loss_scale}: must be above 0: pass what the loss was multiplied by, 1 where it was not"
                )
            values = list(update.values.values()) if update is not None else self._gradients(unfit)
            if update is None and microbatch == -1:
                self._end_of(self._passes)
            self._forget_local(microbatch)
            if update is not None:
                watched = watched + update.more(applied)
            elif "weights" in self._wanted and microbatch == -1:
                watched = watched + self._more("weight", self._chosen("weights"), unfit)
            rows = self._rows(step, values, watched, grads or {}, loss_scale, scaled, unscaled, factor, unfit)
            rows = self._without_doubtful(rows, scaled, factor)
            suspicions = self._suspicions(rows, loss_scale, scaled, factor, microbatch, next_scale)
            if found_inf is None and loss_scale not in (None, 1) and self._alone:
                of = [row.table for row in rows if row.info.kind == "weight_grad"]
                found_inf = any(t.nans or any(t.infinities) for t in of) if of else None
                if "gradients" in self._wanted and not found_inf:
                    found_inf = None  # the others may
            flags = (None if x is None else int(bool(x)) for x in (found_inf, applied))
            if not -(2**63) <= int(step) < 2**63 - 1:
                raise RecorderError(f"{self._file.shown}: step {step}: is outside the range of step numbers")
            key = (int(step), attempt if attempt is None else int(attempt), int(microbatch))
            self._file.write(key, (loss, grad_norm, lr, loss_scale, *flags), rows)
            self._failures = 0
            if not self._passes:
                self._leave_root()  # roles are in the file
            self._tell_unfit(step, unfit)
            for text in suspicions:
                warnings.warn(_printable(f"ulp_recorder: {self._file.shown}: step {step}: {text}"), RuntimeWarning, stacklevel=2)
        except Exception as error:
            if self._strict:
                raise
            self._failures += 1
            text = str(error) if isinstance(error, RecorderError) else f"{type(error).__name__}: {error}"
            place = "" if text.startswith(self._file.shown) else f"{self._file.shown}: step {step}: "
            end = "; this is the tenth failure in a row: recording stops" if self._failures == 10 else ""
            warnings.warn(_printable(f"ulp_recorder: {place}{text}{end}"), RuntimeWarning, stacklevel=2)
            if end:
                self.close()
                self._closed = False

    def _tell_unfit(self, step, unfit):
        new = [name for name in unfit if name not in self._told]
        if not new or len(self._told) > 1000:  # names that change all the time
            return
        self._told.update(new)
        reason = str(unfit[new[0]]).partition("; ")[0]
        others = "" if len(new) == 1 else f"; so is {new[1]!r}"
        others += f", and {len(new) - 2} more" if len(new) > 2 else ""
        text = f"{self._file.shown}: step {step}: {reason}: it is left out of this and all later steps{others}"
        warnings.warn(_printable(f"ulp_recorder: {text}"), RuntimeWarning, stacklevel=3)

    def _suspicions(self, rows, scale, scaled, factor, microbatch, next_scale=None):
        """What the values say that was done wrong; each is said once."""
        found = {}
        if next_scale is not None:
            found["next scale"] = (
                f"loss_scale={next_scale:g} was passed, and the scaler's was {scale:g}: that is recorded; leave loss_scale out"
            )
        tables = [row.table for row in rows if row.info.kind == "weight_grad"]
        if self._looks > 0 and tables:
            self._looks -= 1
            if not self._shards and all(t.zeros == t.numel for t in tables):
                found["zeros"] = (
                    "all gradients are zero: call step() after backward() and before zero_grad(); where that is so, the "
                    "loss does not reach the parameters, or all gradients underflow"
                )
            largest = max(t.largest for t in tables)
            # Else there may be uses in float32 outside of the model: these are not as small as what float16 loses.
            is_shown = self._sure or self._shown_by == "loss"
            through = self._through_float16(rows) if is_shown or (scale is not None and scale >= 1024) else {}
            least = min((t.least for t in through.values() if t.least > 0), default=math.inf)
            lost = 2.0**-24 * min(factor, 1.0) / self._summed  # averages over ranks are smaller
            looked_at = through.items() if is_shown and self._looks >= 90 else ()
            cells = {name: _off_float16(t, lost) for name, t in looked_at}
            off = next((name for name, (is_off, _) in cells.items() if is_off), None)
            if scale is not None and scale > 1 and scaled and (least < 0.99 * lost or off is not None):
                name, value = off, "has values that float16 does not"
                if least < 0.99 * lost:
                    name = next(name for name, t in through.items() if t.least == least)
                    value = f"has a value of {least:.3g}, below the smallest of float16"
                found["unscaled"] = (
                    f"{name!r} was computed in float16 and {value}: it is not multiplied by the loss scale any more, or was clipped. "
                    "Call step() before scaler.unscale_() and "
                    "scaler.step(), or pass scaled=False and the loss scale of this step, taken before scaler.update()"
                )
            elif scale is not None and scale >= 4096 and scaled and self._looks == 99 and 0 < largest < scale * 2.0**-20:
                found["unscaled"] = (
                    f"no gradient is above {largest:.3g}, and the loss scale is {scale:g}: the true ones would be below 1e-6. "
                    "If they are not multiplied by the loss scale any more, call step() before scaler.unscale_() and "
                    "scaler.step(), or pass scaled=False; if the loss was not multiplied by it, pass loss_scale=1"
                )
            elif scale is not None and 1 < scale < math.inf and not scaled and through:
                most = max(t.largest for t in through.values())
                by_chance = off is not None or sum(chance for _, chance in cells.values()) < 32
                # 64 parts of float16 add up to 2^22.
                if least == 2.0**-24 or most * scale > 2.0**22 or not by_chance:
                    found["scaled"] = (
                        f"scaled=False was passed, but gradients that were computed in float16 (up to {most:.3g}, from "
                        f"{least:.3g}) are still multiplied by the loss scale: pass scaled=False only after scaler.unscale_()"
                    )
        if microbatch == -1 and self._every == 1 and scale is not None:
            finite = not any(t.nans or any(t.infinities) for t in tables)
            before = self._scale_before
            fell = before is not None and scale < before
            # After a step that overflowed too it may have fallen for that.
            if not finite and fell and self._finite_before:
                found["next scale"] = (
                    f"the loss scale fell from {before:g} to {scale:g} in the step that overflows, and not after it: it is that of "
                    "the next step. Call scaler.get_scale() before scaler.update()"
                )
            self._scale_before, self._finite_before = scale, finite
        new = [text for key, text in found.items() if key not in self._suspected]
        self._suspected.update(found)
        return new

    def _without_doubtful(self, rows, scaled, factor):
        """Without parts that values speak against, where no loss showed whether parameters are used outside of the model: numbers of
        float16 have a least, and what is summed up in float32 alone does not overflow where nothing else does."""
        if self._sure or self._shown_by != "output" or not self._passes or not self._mixed:
            return rows
        of_low = [row for row in rows if row.parts & 255 and row.info.through in _TYPES and row.type_number == 2]
        doubtful = set()
        if "float16" in self._graph.casts.values() and all(_is_finite(row.table) for row in of_low):
            doubtful = {row.info.name for row in rows if row.parts and not row.parts & 255 and not _is_finite(row.table)}
        for row in of_low if self._looks >= 90 else ():
            smallest = 2.0**-24 * min(factor, 1.0) / self._summed
            if row.parts < 256 and scaled and row.info.through == "float16" and _off_float16(row.table, smallest)[0]:
                doubtful.add(row.info.name)
        if not doubtful:
            return rows
        for name, parameter in self._parameters():
            if _plain(name) in doubtful:
                self._drop(id(parameter))
        return [row._replace(parts=0) if row.info.name in doubtful else row for row in rows]

    def _through_float16(self, rows):
        """{name: table} of the parameters whose gradients all were numbers of float16, or are sums of such."""
        if self._model is None or self._graph is None or "float16" not in self._graph.casts.values():
            return {}
        tables = {row.info.name: row.table for row in rows}
        names = ((_plain(name), id(p)) for name, p in self._model.named_parameters())
        return {
            name: tables[name]
            for name, of in names
            if name in tables and self._graph.casts.get(of) == "float16" and of in self._graph.uses
            and of not in self._graph.unsure and not self._graph.uses[of][1]
        }

    def _take(self, name, kind, shape, total, cast, array, unfit):
        """The values of one tensor; None where it cannot be recorded, and the others can."""
        try:
            if not isinstance(name, str) or name not in self._file.tensors:
                _check_name(name)
            if _is_summand(array):
                raise RecorderError(
                    f"tensor {name!r}: its parts are still to be added up over ranks: set p.grad = "
                    "p.grad.redistribute(placements=p.placements) on all of them before"
                )
            values = _Values(name, array)
            return name, kind, values.shape if shape is None else shape, total, cast, values
        except (RecorderError, TypeError, ValueError) as error:
            if self._strict:
                raise
            if not isinstance(error, RecorderError):
                error = RecorderError(f"tensor {name!r}: {type(error).__name__}: {error}")
            unfit[name] = error
            return None

    def _gradients(self, unfit, of=None, is_local=False):
        """Those of the model's parameters, or of some. is_local: before they are reduced."""
        values = []
        torch, known = _torch(), self._file.tensors
        casts, may_be_small = {} if self._graph is None else self._graph.casts, np is not None and not self._sums
        only = self._wanted.get("gradients")
        if not is_local:
            self._settle_passes()
        for name, parameter in self._parameters() if of is None else of:
            if "_orig_mod" in name:
                name = _plain(name)
            gradient = parameter.grad
            if gradient is None or name in self._elsewhere or (only is not None and not only.search(name)):
                continue
            if self._local is not None and not is_local:
                if id(parameter) not in self._local:  # no backward pass came to it here
                    continue
                taken = self._local[id(parameter)]
                if taken is not None:
                    if taken[-1].type.bits > 16:
                        taken[-1].parts = self._parts(parameter, gradient)
                    values.append(taken)
                    continue
            if may_be_small and type(gradient) is torch.Tensor and gradient.dtype is torch.float32 and name in known:
                n = gradient.numel()
                if 0 < n < _TINY and gradient.is_cpu and gradient.layout is torch.strided and not gradient.is_neg():
                    small = _SmallValues(gradient, n, self._parts(parameter, gradient))
                    values.append((name, "weight_grad", (), 0, casts.get(id(parameter), _UNSEEN), small))
                    continue
            if not _is_copy(gradient) or _is_summand(gradient):
                cast = casts.get(id(parameter), _UNSEEN)
                total = parameter.numel() if hasattr(parameter, "to_local") else 0
                taken = self._take(name, "weight_grad", parameter.shape, total, cast, gradient, unfit)
                if taken is not None:
                    taken[-1].parts = 1 if taken[-1].type.bits <= 16 else self._parts(parameter, gradient)
                    values.append(taken)
        return values

    def _chosen(self, what, of=None):
        """The parameters that are wanted, of all or of some, by name."""
        regex = self._wanted.get(what)
        named = () if regex is None else self._parameters() if of is None else of
        return {_plain(name): parameter for name, parameter in named if regex.search(_plain(name))}

    def _more(self, kind, tensors, unfit):
        """What is recorded besides gradients, counted now."""
        taken = []
        for name, tensor in tensors.items() if self._tells_more else ():
            of = name.partition("/")[2] if kind == "unknown" else name
            if of not in self._elsewhere and not _is_copy(tensor):
                prefix = kind if kind != "unknown" else "state"
                total = tensor.numel() if hasattr(tensor, "to_local") else 0
                taken.append(self._take(f"{prefix}/{name}", kind, tensor.shape, total, None, tensor, unfit))
        taken = [of for of in taken if of is not None]
        _tables_of([of[-1] for of in taken], self._sums)
        return taken

    def _parameters(self):
        """As the model names them, without what that costs."""
        if self._model is None:
            return
        usual = _torch().nn.Module
        if any(getattr(type(self._model), of) is not getattr(usual, of) for of in ("named_parameters", "named_modules")):
            yield from self._model.named_parameters()
            return
        seen, modules, waiting = set(), set(), [("", self._model)]
        while waiting:
            prefix, module = waiting.pop()
            if module is None or module in modules:
                continue
            modules.add(module)
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield prefix + name, parameter
            if module._modules:
                waiting += [(f"{prefix}{name}.", child) for name, child in reversed(module._modules.items())]

    def _rows(self, step, values, watched, grads, loss_scale, scaled, unscaled, factor, unfit):
        """What is recorded of a step: a _Row for each tensor. unscaled: those that are not multiplied by the loss scale."""
        of_loss = loss_scale * factor if loss_scale is not None and 0 < loss_scale * factor < math.inf else None
        factors = {"weight_grad": of_loss if scaled else factor, "activation_grad": of_loss}  # all else: 1
        for name, array in grads.items():
            kind = "activation_grad" if str(name).startswith(("agrad/", "agrad__")) else "weight_grad"
            values.append(self._take(name, kind, None, 0, None, array, unfit))
        values = [of for of in values if of is not None]
        if unfit and not values and not watched:
            raise next(iter(unfit.values()))
        if not values and self._alone:
            raise RecorderError(
                f"{self._file.shown}: step {step}: no gradients: call step() after backward, before zero_grad"
            )
        values += watched
        tables = _tables_of([of for *_, of in values], self._sums)
        known = self._file.tensors
        if not self._mixed and not all(taken[0] in known for taken in values):
            self._mixed = any(of.type.bits <= 16 for *_, of in values)
            self._mixed = self._mixed or self._graph is not None and any(cast is not None for cast in self._graph.casts.values())
        rows = {}
        for (name, kind, shape, total, cast, of), table in zip(values, tables):
            if name in rows:
                row = rows[name]
                if kind == "weight_grad" or kind != row.info.kind:
                    raise RecorderError(f"{self._file.shown}: step {step}: {name!r} is the name of several tensors")
                # A module that was called several times.
                number = row.type_number if row.type_number == of.type.number else 0
                rows[name] = row._replace(type_number=number, table=_merge([row.table, table]))
                continue
            info = known[name][1] if name in known else self._info(name, kind, shape, cast, of)
            by = factors.get(info.kind, 1.0)
            if unscaled and info.kind == "weight_grad":
                by = factor if name in unscaled else of_loss
            rows[name] = _Row(info, of.type.number, by, of.parts, table)
            if self._shards and info.numel != total:
                rows[name] = rows[name]._replace(info=info._replace(numel=total))
        if self._shards:
            return list(rows.values())
        return [
            row if row.info.numel == row.table.numel else row._replace(info=row.info._replace(numel=row.table.numel))
            for row in rows.values()
        ]

    def _info(self, name, kind, shape, cast, of):
        is_low = of.type.bits <= 16 or cast not in (None, _UNSEEN)
        through = of.type.name if of.type.bits <= 16 else cast if is_low else ""
        role = self._role_of(name)
        if role is None:
            role = "low" if is_low else "float32" if self._mixed and cast is None else "unknown"
        return _Info(name, kind, role, through, ",".join(map(str, shape)), 0)

    # What an optimizer and a scaler do.

    @property
    def _sees_updates(self):
        return self._scaler is not None or bool(self._optimizers)

    def _see_updates(self):
        if not self._sees_updates:
            return
        for optimizer in self._optimizers:
            self._wrap(optimizer, "step", functools.partial(self._before_step, optimizer), self._after_optimizer_step)
        if self._scaler is not None:
            if hasattr(self._scaler, "scale"):
                self._wrap(self._scaler, "scale", self._before_scale)
            self._wrap(self._scaler, "unscale_", self._before_step)
            self._wrap(self._scaler, "step", self._before_scaler_step, self._after_scaler_step)
            self._wrap(self._scaler, "update", self._before_update, self._after_update)
        trained = [p for p in self._model.parameters() if p.requires_grad]
        for parameter in trained[:: max(1, len(trained) // 8)]:  # one of them is in every backward pass
            self._hooks.append(parameter.register_hook(_Hook(self._see_backward)))

    def _wrap(self, of, name, before, after=None):
        """In the object alone: copies and pickles of it have their class's method."""
        call = getattr(of, name)

        def wrapped(this, *arguments, **named):
            if this is not of:
                return getattr(type(this), name)(this, *arguments, **named)
            if self._file is not None:
                before(*arguments, **named)
                if name == "step":
                    arguments, named = self._with_closures(of, arguments, named)
            try:
                result = call(*arguments, **named)
            finally:
                self._stepping = self._stepping and of is not self._scaler
            if self._file is not None and after is not None:
                after(of, *arguments, **named)
            return result

        functools.update_wrapper(wrapped, call)
        del wrapped.__wrapped__
        if hasattr(call, "__func__"):
            wrapped.__wrapped__ = call.__func__  # its signature, for who asks
        method = types.MethodType(wrapped, of)
        self._wrapped.append((of, name, method, vars(of).get(name)))
        setattr(of, name, method)

    def _with_closures(self, of, arguments, named):
        """What an optimizer's step is given; functions that compute gradients for it take them, and the last ones count."""
        optimizer = (*arguments, named.get("optimizer"))[0] if of is self._scaler else of

        def seen(closure):
            def computed(*its, **also):
                result = closure(*its, **also)
                if self._file is not None and self._update is not None:
                    self._take_gradients(optimizer)
                return result

            return computed if _is_closure(closure) else closure

        return [seen(each) for each in arguments], {name: seen(each) for name, each in named.items()}

    def _see_backward(self, gradient):
        self._waiting = None

    def _tell_in_vain(self):
        text = f"{self._file.shown}: {self._in_vain} calls of step() saw no optimizer's step: nothing of them is recorded. "
        text += "Give Recorder the optimizer and the scaler that the loop uses, or neither"
        self._in_vain = 100
        if self._strict:
            raise RecorderError(text)
        warnings.warn(f"ulp_recorder: {text}", RuntimeWarning, stacklevel=3)

    def _record_waiting(self):
        """What a step() asked for before the optimizer's step."""
        if self._update is not None and self._update.of is not None:
            (step, given), self._update.of = self._update.of, None
            self.step(step, **given)

    def _before_step(self, optimizer, *arguments, **named):
        """Takes its gradients, unless it was done since its last step: of each parameter, as another object may be around the
        optimizer."""
        update, computes = self._update, any(map(_is_closure, (*arguments, *named.values())))
        its = _ids_in(optimizer)
        if update is not None:
            update.known_as[id(optimizer)] = id(_innermost(optimizer))
            its -= update.open
            if not its:
                return
        if update is not None and update.of is not None and id(_innermost(optimizer)) in update.stepped:
            self._record_waiting()
        if self._update is None:
            self._update = _Update()
            self._update.of, self._waiting = self._waiting, None
            if self._update.of is not None and not computes:
                self._update.watched, self._watched = self._watched, []
        update = self._update
        update.open |= its
        update.known_as[id(optimizer)] = id(_innermost(optimizer))
        update.stepped[id(_innermost(optimizer))] = [False, None]
        try:
            first = self._optimizers[0] if self._optimizers else optimizer
            if update.lr is None or _innermost(optimizer) is _innermost(first):
                update.lr = float(optimizer.param_groups[0]["lr"])
            if self._scaler is not None:
                update.scale = float(self._scaler.get_scale())
            if not self._due:
                self._end_of(its)
                return
            of = self._in_order(its)
            if not computes:
                self._take_gradients(optimizer, of)
            update.weights.update(self._by_name(self._more("weight", self._chosen("weights", of), update.unfit)))
            if self._tells_more:
                before = self._chosen("updates", of)
                update.before.update((name, (p, p.detach().clone())) for name, p in before.items())
        except Exception as error:  # step() tells it: training goes on
            update.trouble = error

    def _in_order(self, its):
        """Names and parameters by ids, those of the model."""
        if self._order is None or not its <= self._order.keys():
            named = enumerate(self._model.named_parameters())
            self._order = {id(parameter): (at, name, parameter) for at, (name, parameter) in named}
        return [(name, p) for _, name, p in sorted(self._order[i] for i in its if i in self._order)]

    def _take_gradients(self, optimizer, of=None):
        update = self._update
        try:
            if self._due:
                values = self._gradients(update.unfit, self._in_order(_ids_in(optimizer)) if of is None else of)
                _tables_of([taken[-1] for taken in values], self._sums)
                update.values.update((taken[0], taken) for taken in values)
                if self._scaler is not None and self._is_unscaled(optimizer):
                    update.unscaled.update(taken[0] for taken in values)
            its = _ids_in(optimizer) if of is None else {id(parameter) for _, parameter in of}
            self._end_of(its)
            for parameter in its if self._local else ():
                self._local.pop(parameter, None)
        except Exception as error:  # step() tells it: training goes on
            update.trouble = error

    def _is_unscaled(self, optimizer):
        states = getattr(self._scaler, "_per_optimizer_states", {})
        stages = [states[id(each)].get("stage") for each in (optimizer, _innermost(optimizer)) if id(each) in states]
        return any(getattr(stage, "name", "READY") != "READY" for stage in stages)

    def _look_for_infinities(self):
        """What the scaler found, before it forgets."""
        update = self._update
        if update is None:
            return
        try:
            states = getattr(self._scaler, "_per_optimizer_states", {})
            for known_as, key in update.known_as.items():
                found = states.get(known_as, {}).get("found_inf_per_device")
                if found and key in update.stepped:
                    update.stepped[key][1] = any(float(on_device) > 0 for on_device in found.values())
        except Exception as error:  # step() tells it: training goes on
            update.trouble = error

    def _after_step(self, optimizer, *arguments, **named):
        if self._update is not None:
            self._update.stepped.setdefault(id(_innermost(optimizer)), [False, None])[0] = True
            if not self._stepping:
                self._update.open -= _ids_in(optimizer)
            if self._scaler is None and self._update.stepped.keys() >= {id(_innermost(each)) for each in self._optimizers}:
                self._record_waiting()

    def _after_optimizer_step(self, optimizer, *arguments, **named):
        """One that was really taken."""
        update = self._update
        try:
            if update is not None and self._due:
                its = {id(p): p for group in optimizer.param_groups for p in group["params"]}
                changed = {name: of for name, of in update.before.items() if id(of[0]) in its}
                update.before = {name: of for name, of in update.before.items() if name not in changed}
                changes = {name: _difference(p.detach(), before) for name, (p, before) in changed.items()}
                update.changes.update(self._by_name(self._more("update", changes, update.unfit)))
                states = self._states(optimizer, its) if "states" in self._wanted else {}
                update.states.update(self._by_name(self._more("unknown", states, update.unfit)))
        except Exception as error:  # step() tells it: training goes on
            update.trouble = error
        self._after_step(optimizer)

    def _states(self, optimizer, its):
        """{KEY/NAME: tensor} of those that are wanted."""
        return {
            f"{key}/{_plain(name)}": tensor
            for _, name, parameter in sorted(self._order[i] for i in its if i in self._order)
            for key, tensor in optimizer.state.get(parameter, {}).items()
            if key != "step" and hasattr(tensor, "is_floating_point") and tensor.is_floating_point()
            and self._wanted["states"].search(f"{key}/{_plain(name)}")
        }  # fmt: skip

    @staticmethod
    def _by_name(taken):
        return ((of[0], of) for of in taken)

    def _before_scaler_step(self, optimizer, *arguments, **named):
        self._before_step(optimizer, *arguments, **named)
        self._stepping = True

    def _after_scaler_step(self, scaler, optimizer, *arguments, **named):
        self._after_step(optimizer)
        self._look_for_infinities()

    def _before_update(self, *arguments, **named):
        self._look_for_infinities()

    def _after_update(self, scaler, *arguments, **named):
        if self._update is not None:
            self._update.open.clear()
            self._record_waiting()

    def _see_forward(self, module, inputs, output):
        if not _torch().is_grad_enabled():
            return
        self._calls_before.see(_FORWARD)
        try:
            if self._graph is None:
                self._learn(_graph_behind(output), "output")
        except Exception as error:  # step() tells it: training goes on
            self._graph, self._trouble = _Graph({}, {}, set(), False), error

    def _before_scale(self, outputs=None, *arguments, **named):
        """What is scaled is what a backward pass comes from: its graph has all uses. Until gradients are taken, all are looked at:
        what shows other uses is not certain."""
        if not _torch().is_grad_enabled():
            return
        self._calls_before.see(_SCALED)
        try:
            if not self._taken:
                graph = _graph_behind(outputs)
                if graph is not None and self._graph is None:
                    self._learn(graph, "scaled")
                elif graph is not None:
                    self._relearn(graph)
        except Exception as error:  # step() tells it: training goes on
            self._trouble = error

    def _see_reductions(self):
        if not hasattr(_torch().Tensor, "register_post_accumulate_grad_hook"):
            raise RecorderError("local: DistributedDataParallel needs torch 2.1 or newer; leave it out")
        self._local = {}
        for name, parameter in self._parameters():
            if parameter.requires_grad:
                hook = functools.partial(self._before_reduction, name)
                self._hooks.append(parameter.register_post_accumulate_grad_hook(hook))

    def _before_reduction(self, name, parameter):
        if not self._due:
            return
        self._local[id(parameter)] = None
        if id(parameter) in self._passes:
            self._passes[id(parameter)]._added(parameter)
        if not self._replicas.require_backward_grad_sync:
            return
        try:
            for taken in self._gradients(self._unfit, [(name, parameter)], True):
                if type(taken[-1]) is _SmallValues:
                    taken[-1].array = taken[-1].array.clone()
                else:
                    taken[-1].count(self._sums)
                self._local[id(parameter)] = taken
                self._bound(taken[-1])
        except Exception as error:  # step() tells it: training goes on
            self._trouble = error

    def _forget_local(self, microbatch):
        if self._local and microbatch == -1:
            self._local.clear()

    def _look_behind(self, loss):
        """A loss with its graph may span several backward passes: where it is all there is to learn from, uses count if one pass
        came to a parameter in each step. It also shows uses outside of the model. Returns the ids of parameters of
        which the parts are not known any more."""
        if getattr(loss, "grad_fn", None) is None or self._sure:
            return set()
        known = set(self._passes)
        if self._graph is None:
            self._learn(_graph_behind(loss), "loss")
            self._sure = self._graph is not None and self._shards
            self._learnt_at = self._calls
            self._leave_root()
        elif self._shown_by == "output" or self._calls != self._learnt_at:
            self._sure, graph = True, _graph_behind(loss)
            for of, uses in self._graph.uses.items():
                passes = self._passes.get(of)
                if passes is not None and self._shown_by == "loss":
                    passes.is_known = passes.ever == self._calls - self._learnt_at
                if graph.uses.get(of) != uses or (passes is not None and not passes.is_known):
                    self._drop(of)
        return known - self._passes.keys()

    def _learn(self, graph, shown_by):
        """What the graph says, for the whole run; passes of the parameters that it knows are counted from now on."""
        self._graph, self._shown_by = graph, shown_by
        if graph is None or self._shards:
            return
        self._sure = shown_by == "scaled"
        self._calls_before.right = {"output": _FORWARD, "loss": None, "scaled": self._calls_before.now}[shown_by]
        for _, parameter in self._parameters():
            self._count_passes(parameter)

    def _count_passes(self, parameter):
        of = id(parameter)
        if of in self._graph.uses and of not in self._graph.unsure:
            self._passes[of] = _Passes(parameter, self._graph.uses[of], self._calls_before, self._graph.is_open)
            self._passes[of].is_known = self._shown_by != "loss"

    def _relearn(self, graph):
        """The graph of a scaled loss, where another was there before."""
        if self._shards:
            return
        before, first = self._graph, self._shown_by == "output"
        differ = {of for of, uses in graph.uses.items() if before.uses.get(of) != uses}
        if first:
            self._shown_by, self._sure, self._calls_before.right = "scaled", True, self._calls_before.now
            casts = {of: cast for of, cast in graph.casts.items() if cast or of not in before.casts}
            unsure = (before.unsure - differ) | (graph.unsure & differ)
            self._graph = _Graph({**before.casts, **casts}, {**before.uses, **graph.uses}, unsure, before.is_open and graph.is_open)
            for of in differ & self._passes.keys():
                self._passes.pop(of).hook.remove()
            for _, parameter in self._parameters() if differ else ():
                if id(parameter) in differ:
                    self._count_passes(parameter)
        else:
            for of in differ:
                self._drop(of)

    def _drop(self, of):
        """A parameter of whose gradients the parts are not known."""
        self._graph.unsure.add(of)
        if of in self._passes:
            self._passes.pop(of).hook.remove()

    def _settle_passes(self):
        self._taken = True
        if self._passes and self._has_own_reduction:
            for of in list(self._passes):
                self._drop(of)
        if not self._passes and self._graph is not None:
            self._leave_root()

    @property
    def _has_own_reduction(self):
        """Whether gradients are, or may be, reduced over ranks in a way of the job's own, or not at all. Torch 1 does not
        tell, and nothing does where only what is in DistributedDataParallel was given."""
        of = self._replicas
        if self._summed == 1:
            return False
        if type(of).__name__ != "DistributedDataParallel" or not hasattr(of, "_comm_hooks"):
            return True
        told = of._get_ddp_logging_data().get("comm_hook")  # the built-in ones are not in the list
        its = of.process_group.size() == self._summed and getattr(of, "mixed_precision", None) is None
        return bool(of._comm_hooks or told) or not its

    def _parts(self, parameter, gradient):
        """Those that the gradient is a sum of, as a summary has them."""
        passes = self._passes.get(id(parameter))
        if passes is None:
            return 0
        passes.take(gradient)
        if not passes.is_known or not passes.since_zero > 0 or (self._shown_by == "loss" and passes.since_zero > 1):
            return 0
        low, others = (min(255, uses * passes.since_zero * self._summed) for uses in passes.uses)
        if (low, others) == (1, 0) and not self._sure and self._looks >= 98 and self._has_digits(id(parameter), gradient):
            self._drop(id(parameter))
            return 0
        return others << 8 | low

    def _has_digits(self, of, gradient):
        """Whether a gradient in float32 has values that no number of 16 bits has, to which it would have been rounded."""
        torch, through = _torch(), self._graph.casts[of]
        if gradient.dtype != torch.float32 or gradient.layout != torch.strided or through not in _TYPES:
            return False
        some = gradient.detach().reshape(-1)[:4096].contiguous().view(torch.int32)
        return bool((some & ((1 << (23 - _TYPES[through].fraction)) - 1)).any())

    def _end_of(self, parameters):
        """Of a step, by ids."""
        for of in parameters:
            if of in self._passes:
                self._passes[of].is_taken = self._passes[of].is_ended = True

    def _leave_root(self):
        if self._root_hook is not None:
            self._root_hook.remove()
            self._root_hook = None

    def _bound(self, values):
        """Lets no more vectors wait on a device than step() would."""
        if values.vector is not None:
            self._pending.append(values)
        if len(self._pending) == _WAITING:
            pending, self._pending = self._pending, []
            _bring([v for v in pending if v.vector is not None], self._sums)

    def _watch(self, name, kind):
        def see(label, tensor):
            try:
                taken = self._take(label, kind, (), 0, None, tensor, self._unfit)
                if taken is not None:
                    taken[-1].count(self._sums)
                    self._watched.append(taken)
                    self._bound(taken[-1])
            except Exception as error:  # step() tells it: training goes on
                self._trouble = error

        def hook(module, inputs, output):
            if not self._due or not _torch().is_grad_enabled():
                return
            tensors = _tensors_in(output)
            for i, tensor in enumerate(tensors):
                label = name if len(tensors) == 1 else f"{name}[{i}]"
                if kind == "activation":
                    see("forward/" + label, tensor)
                elif tensor.requires_grad:
                    tensor.register_hook(lambda gradient, label=label: see(label, gradient))

        return hook


class _Update:
    """What was seen of the optimizers' steps since the last one that was recorded."""

    def __init__(self):
        self.of = self.watched = None  # the step() that came before it: step and arguments; what hooks had seen by then
        self.values, self.unfit, self.trouble = {}, {}, None
        self.weights, self.changes, self.states = {}, {}, {}  # what is recorded besides, by name
        self.before = {}  # parameters and copies of them as they were before the optimizer's step, by name
        self.unscaled = set()  # names
        self.scale = self.lr = None
        self.open = set()  # ids of parameters whose gradients were taken, and whose optimizer did not step since
        self.stepped = {}  # by id of the optimizer: whether it stepped, and whether the scaler found an overflow
        self.known_as = {}  # ids of optimizers and of what is around them: that of the optimizer

    def more(self, applied):
        """Weights, updates and states. What skips a step within the optimizer changes nothing."""
        return [*self.weights.values(), *(() if applied is False else self.changes.values()), *self.states.values()]

    def found_inf(self):
        found = [inf for _, inf in self.stepped.values() if inf is not None]
        return any(found) if found else None

    def applied(self):
        """None where some were, and others not."""
        applied = {stepped and not inf for stepped, inf in self.stepped.values()}
        return applied.pop() if len(applied) == 1 else None


def _is_closure(argument):
    return callable(argument) and not hasattr(argument, "param_groups")


def _difference(after, before):
    """In float32 at least."""
    if after.element_size() < 4:
        after, before = after.float(), before.float()
    return after - before


def _innermost(optimizer):
    """What objects like those of accelerate are around: the scaler may know either."""
    for _ in range(8):
        within = getattr(optimizer, "optimizer", None)
        if not hasattr(within, "param_groups"):
            break
        optimizer = within
    return optimizer


def _ids_in(optimizer):
    """Those of its parameters."""
    return {id(p) for group in getattr(optimizer, "param_groups", ()) for p in group["params"]}


def _optimizers_in(optimizer):
    if optimizer is None:
        return []
    if hasattr(optimizer, "param_groups"):
        return [optimizer]
    several = list(optimizer.values() if isinstance(optimizer, dict) else optimizer)
    if not all(hasattr(each, "param_groups") for each in several):
        raise RecorderError("optimizer: neither an optimizer of torch nor several of them")
    return several


_FORWARD, _SCALED = 1, 1 << 32  # what comes before a backward pass: forward passes of the model, losses that were scaled


class _Calls:
    """Counts what came since the last backward pass began."""

    __slots__ = ("now", "right", "number", "has_pass")

    def __init__(self):
        self.now, self.number, self.has_pass = 0, 0, False
        self.right = None  # what must come before a pass of which the uses are known; None: anything

    def see(self, what):
        if self.has_pass:
            self.now, self.has_pass = 0, False
            self.number += 1
        self.now += what


class _Passes:
    """Counts the backward passes that come to a parameter."""

    __slots__ = (
        "uses", "calls", "may_repeat", "number", "is_known", "since_zero", "ever", "came", "version", "is_taken", "is_ended", "hook"
    )  # fmt: skip

    def __init__(self, parameter, uses, calls, is_open=True):
        self.uses, self.calls = uses, calls
        self.may_repeat = is_open and sum(uses) == 1  # else a further pass of the same graph may be a part of it, or one within another
        self.number = -1  # of the calls before the last pass
        self.is_known = True  # whether uses are those of one pass
        self.since_zero = 0 if parameter.grad is None else math.nan  # NaN: not known
        self.ever = 0
        self.came = None  # of a pass that came and is not yet seen to be added: what version the gradient had, -1: there was none
        self.version = None  # that the gradient has in the next pass if all that happens to it is that this one is added
        self.is_taken = False  # whether it was recorded since: it is set to zero then, if it is changed at all
        self.is_ended = False  # whether it was recorded as that of a whole step: then more does not seem to be added
        tells = hasattr(parameter, "register_post_accumulate_grad_hook")  # torch.autograd.grad calls the other hook, too
        see = functools.partial(self._see if tells else self._see_added, weakref.ref(parameter))
        self.hook = _Hooks([parameter.register_hook(see)])
        if tells:
            self.hook.append(parameter.register_post_accumulate_grad_hook(self._added))

    def _see(self, parameter, gradient):
        try:
            before = parameter().grad
            self.came = -1 if before is None else before._version
        except Exception:  # training goes on
            self.since_zero = math.nan

    def _see_added(self, parameter, gradient):
        try:
            self._see(parameter, gradient)
            before = parameter().grad
            self._count(before, gradient._version if before is None else before._version + 1)
        except Exception:  # training goes on
            self.since_zero = math.nan

    def _added(self, parameter):
        try:
            if self.came is not None:
                gradient = parameter.grad
                self._count(gradient, gradient._version)
        except Exception:  # training goes on; it may be gone already
            self.came, self.since_zero = None, math.nan

    def _count(self, gradient, version):
        """version: of the gradient when the pass is added."""
        came, self.came, calls = self.came, None, self.calls
        self.ever += 1
        if came == -1:
            self.since_zero = 1
        elif came == self.version:
            self.since_zero += math.nan if self.is_ended else 1  # .data.zero_() leaves the version as it is
        else:  # views of one tensor share their versions
            self.since_zero = 1 if self.is_taken and not gradient._is_view() else math.nan
        if calls.right is not None:
            if calls.now != calls.right or (calls.number == self.number and not self.may_repeat):
                self.since_zero = math.nan
        self.number, calls.has_pass = calls.number, True
        self.version, self.is_taken, self.is_ended = version, False, False

    def take(self, gradient):
        """What is recorded is the sum of the passes that were counted."""
        if self.came is not None and gradient._version != self.came:  # it may have been added or not
            self.came, self.since_zero = None, math.nan
        self.version, self.is_taken = gradient._version, True


class _Hooks(list):
    def remove(self):
        for hook in self:
            hook.remove()


class _Hook:
    """A forward hook that copies and pickles of its module do without."""

    def __init__(self, call):
        self.call = call

    def __call__(self, *arguments):
        self.call(*arguments)

    def __reduce__(self):
        return functools.partial, (sys.audit, "ulp_recorder.copy")  # takes any arguments, and does nothing


class _RootHook(_Hook):
    """One that does nothing where a graph is compiled: a break of it would stay when the hook is gone."""

    def __init__(self, call):
        super().__init__(call)
        self.is_compiling = getattr(getattr(_torch(), "compiler", None), "is_compiling", lambda: False)  # from torch 2.1 on

    def __call__(self, *arguments):
        if not self.is_compiling():
            self.call(*arguments)


def _check_name(name):
    if not isinstance(name, str):
        raise RecorderError(f"the tensor name {name!r}: is not a text")
    if not name.isprintable() or len(name.encode()) > 1024:  # no lone surrogate is printable
        shown = repr(name if len(name) <= 80 else name[:80] + "...")
        raise RecorderError(f"the tensor name {shown}: longer than 1024 bytes, or not printable")


class _Values:
    """The values of one tensor, on their way to a table."""

    def __init__(self, name, array):
        torch = _torch()
        self.table = self.vector = None
        self.parts = 0  # not known
        if not hasattr(array, "__array__") and hasattr(array, "__dlpack__"):
            array = (np if torch is None else torch).from_dlpack(array)
        if torch is not None and isinstance(array, torch.Tensor):
            array = array.detach()
            if hasattr(array, "to_local"):
                array = array.to_local()
            if array.device.type == "mps":  # knows no 64-bit floats, and is the host's memory
                array = array.cpu()
            self.shape, numel = tuple(array.shape), array.numel()
            if array.layout == torch.sparse_coo:
                array = array.coalesce().values()
            elif array.layout != torch.strided:
                array = array.to_dense()
            array = array.resolve_conj().resolve_neg()
            if array.is_complex():
                array, numel = torch.view_as_real(array), 2 * numel
            # In the order of memory: no copy of what only is transposed.
            if not array.is_contiguous():
                array = array.permute(sorted(range(array.dim()), key=array.stride, reverse=True))
            array = array.reshape(-1)
            type_name = str(array.dtype)[len("torch.") :]
            if type_name in _TYPES:
                array = array.view(getattr(torch, f"int{_TYPES[type_name].bits}"))
            if np is not None and _on_host(array):
                array = array.numpy()
        elif np is not None:
            self.shape = np.shape(array)
            array = np.ravel(array, order="K")
            if array.dtype.kind == "c":
                array = array.view(array.real.dtype)
            type_name, numel = array.dtype.name, array.size
            if not array.dtype.isnative:
                array = array.astype(array.dtype.newbyteorder("="))
            if type_name in _TYPES:
                array = array.view(f"i{array.itemsize}")
        else:
            raise RecorderError(f"tensor {name!r}: without numpy only torch tensors can be recorded")
        if type_name not in _TYPES:
            raise RecorderError(f"tensor {name!r}: {type_name} cannot be recorded; {', '.join(_TYPES)} can")
        self.type = _TYPES[type_name]
        self.array = array
        self.numel = len(array)
        self.zeros = numel - len(array)  # those that a sparse tensor does not hold

    def count(self, with_sums):
        """Counts now, and keeps no values."""
        if _on_host(self.array):
            self.table = _table_of_bits(self.array, self.type, with_sums)
        else:
            self.vector = _vector_of_bits(self.array, self.type, with_sums)
        self.array = None


class _SmallValues:
    """Those of a small float32 tensor on the host, which are counted with those of others."""

    __slots__ = ("type", "array", "table", "vector", "shape", "numel", "zeros", "parts")

    def __init__(self, tensor, numel, parts):
        self.type, self.array, self.numel, self.parts = _TYPES["float32"], tensor, numel, parts
        self.table = self.vector = None
        self.shape, self.zeros = (), 0


def _count_small(values):
    flatten = getattr(_torch()._utils, "_flatten_dense_tensors", None)
    begin = 0
    while begin < len(values):
        end, elements = begin, 0
        while end < len(values) and elements + values[end].numel <= 1 << 16:
            elements += values[end].numel
            end += 1
        tensors = [v.array for v in values[begin:end]]
        with _torch().no_grad():
            flat = flatten(tensors) if flatten else _torch().cat([tensor.reshape(-1) for tensor in tensors])
        bits = flat.detach().numpy().view(np.int32)
        for v, table in zip(values[begin:end], _tables_of_small(bits, [v.numel for v in values[begin:end]])):
            v.table, v.array = table, None
        begin = end


_WAITING = 128  # tensors whose vectors may wait on a device: they take 256 KiB to 2 MiB each


def _bring(values, with_sums):
    """Tables of vectors, for which the host waits."""
    for v, (at, counts) in zip(values, _to_host([v.vector for v in values])):
        v.table, v.vector = _table_of_entries(at, counts, v.type, v.numel, with_sums), None


def _tables_of(values, with_sums):
    small = [v for v in values if type(v) is _SmallValues and v.array is not None]
    if small:
        _count_small(small)
    arrays = [v for v in values if v.array is not None and _on_host(v.array)]
    for v, table in zip(arrays, _tables_of_bits([(v.array, v.type) for v in arrays], with_sums)):
        v.table, v.array = table, None
    vectors = []
    for v in values:
        if v.table is None:
            if v.vector is None:
                v.count(with_sums)
            vectors.append(v)
            if len(vectors) == _WAITING:
                _bring(vectors, with_sums)
                vectors = []
    _bring(vectors, with_sums)
    for v in values:
        if v.zeros > 0:
            v.table.numel, v.table.zeros, v.table.codes = v.table.numel + v.zeros, v.table.zeros + v.zeros, None
            v.zeros = 0
    return [v.table for v in values]


def _is_finite(table):
    return not table.nans and not any(table.infinities)


@functools.lru_cache(None)
def _cells_on_lattice():
    """By fraction bits from 0 to 10: which slots multiples have, and how much of the binade the others take."""
    slots = [{_slot(n, bits) for n in range(1 << bits)} for bits in range(11)]
    widths = [0.0 if slot % 2 == 0 and slot < 24 else _LOW[slot + 1] - low for slot, low in enumerate(_LOW[:-1])]
    return [(of, sum(width for slot, width in enumerate(widths) if slot not in of)) for of in slots]


def _off_float16(table, smallest):
    """Whether it has values that cannot be multiples of a power of two, the smallest number; how many such would be expected
    of values that are not rounded to them."""
    mantissa, exponent = math.frexp(smallest)
    if mantissa != 0.5 or table.least >= smallest * 2.0**11:
        return False, 0.0
    lattice, chance = _cells_on_lattice(), 0.0
    for key, n in zip(table.keys.tolist(), table.counts.tolist()):
        slot, bits = key % _SLOTS, key // _SLOTS % _BINADE - 2048 - (exponent - 1)
        if bits < len(lattice):
            if bits < 0 or slot not in lattice[bits][0]:
                return True, 0.0
            chance += n * lattice[bits][1] * (slot % 2)  # what is on an edge may be there for other reasons
    return False, chance


def _tensors_in(output):
    """The floating-point tensors of a module's output."""
    if isinstance(output, _torch().Tensor):
        return [output] if output.is_floating_point() else []
    if isinstance(output, dict):
        output = list(output.values())
    return [t for part in output for t in _tensors_in(part)] if isinstance(output, (list, tuple)) else []


_UNSEEN = object()


# What the graph behind the output of a forward pass, or behind a loss, says of parameters. casts: {id: the type that it is cast
# to, "" where that is not known, None where it is used as it is}. uses: {id: [casts, other uses], through each of which a part
# of the gradient comes}; unsure: ids of those where that is not certain. is_open: whether no function written in Python is in
# it, whose backward pass may run another.
_Graph = namedtuple("_Graph", "casts uses unsure is_open")

# Nodes that only move values: those of a cast before them come out as they were rounded there.
_MOVES = re.compile(
    "(ToCopy|Copy|Clone|Alias|View|Reshape|UnsafeView|T|Transpose|Permute|Split|UnsafeSplit|Slice|Select|Squeeze|Unsqueeze|"
    r"Unbind|Expand|AsStrided|Cat|Stack|Index|Repeat|Flip|Roll)[A-Za-z]*Backward\d*$|CppFunction|CopySlices|CopyBackwards"
)


def _graph_behind(output):
    """None where there is no graph. A cast is a node of its own between the parameter and what uses it: autocast keeps it,
    and what several uses say is added up there in 16 bits. What functions written in Python do with a parameter,
    checkpointing and compiled graphs among them, is not seen: it is not listed then."""
    nodes = [t.grad_fn for t in _tensors_in(output) if t.grad_fn is not None]
    if not nodes:
        return None
    opaque = _torch().autograd.function.BackwardCFunction
    casts, uses, seen = {}, {}, set(nodes)
    is_open, is_mixed, unsure, moved = True, False, set(), set()
    while nodes:
        node = nodes.pop()
        is_opaque = isinstance(node, opaque)
        is_open = is_open and not is_opaque
        is_mixed = is_mixed or _casts(node)
        for following, _ in node.next_functions:
            if following is None or following in seen:
                continue
            if type(following).__name__ != "AccumulateGrad":
                seen.add(following)
                nodes.append(following)
                continue
            parameter = following.variable
            of = uses.setdefault(id(parameter), [0, 0])
            cast = _cast_of(node, parameter)
            if cast is not None:
                casts[id(parameter)] = cast
                of[0] += 1
            elif not is_opaque:
                casts.setdefault(id(parameter))
                of[1] += 1
            if cast == "" or is_opaque:
                unsure.add(id(parameter))
            if cast is None and _MOVES.match(type(node).__name__):
                moved.add(id(parameter))
    return _Graph(casts, uses, unsure | moved if is_mixed or not is_open else unsure, is_open)


def _casts(node):
    """Whether it casts anything to 16 or 8 bits, or may do so."""
    if not type(node).__name__.startswith("ToCopyBackward"):
        return False
    return not hasattr(node, "_input_metadata") or node._input_metadata[0].dtype.itemsize <= 2


def _cast_of(node, parameter):
    """What type of 16 or 8 bits the node casts a float32 parameter to: "" where that is not known, None where it does not."""
    torch = _torch()
    if parameter.dtype != torch.float32 or not type(node).__name__.startswith("ToCopyBackward"):
        return None
    if not hasattr(node, "_input_metadata"):  # before torch 2.1
        return _autocast_type(parameter.device.type)
    dtype = node._input_metadata[0].dtype
    return None if dtype.itemsize > 2 else str(dtype)[len("torch.") :]


def _autocast_type(device):
    """What autocast casts to on that kind of device, "" outside of it."""
    torch = _torch()
    try:
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    except TypeError:  # before torch 2.4
        cpu = device == "cpu"
        enabled = torch.is_autocast_cpu_enabled() if cpu else torch.is_autocast_enabled()
        dtype = (torch.get_autocast_cpu_dtype() if cpu else torch.get_autocast_gpu_dtype()) if enabled else None
    return "" if dtype is None else str(dtype)[len("torch.") :]


def _role_rules(roles, model):
    """A function of a tensor's name: the role that is said of it, or None."""
    if roles == "autocast" and model is None:
        raise RecorderError('roles="autocast" needs a model')
    if roles == "autocast":
        nn = _torch().nn
        low = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.PReLU)
        roles, own = {}, []
        for prefix, module in model.named_modules(remove_duplicate=False):
            is_low = isinstance(module, low)
            prefix = _plain(prefix)
            own += [(f"{prefix}.{name}".lstrip("."), p, is_low) for name, p in module._parameters.items() if p is not None]
            if is_low:
                roles.update({prefix: "low", f"forward/{prefix}": "low"})  # what it puts out
        cast = {id(parameter) for _, parameter, is_low in own if is_low}  # by any module that has it, of whatever name
        roles.update({name: "low" if id(parameter) in cast else "float32" for name, parameter, _ in own})
        return roles.get
    rules = [(re.compile(regex), role) for regex, role in dict(roles or {}).items()]
    for _, role in rules:
        if role not in _ROLES:
            raise RecorderError(f"roles: {role!r} is not one of {', '.join(_ROLES)}")
    return lambda name: next((role for regex, role in rules if regex.search(name)), None)


def _distributed():
    torch = _torch()
    distributed = getattr(torch, "distributed", None)
    return (
        distributed if distributed is not None and distributed.is_available() and distributed.is_initialized() else None
    )


def _rank_and_world():
    distributed = _distributed()
    return (distributed.get_rank(), distributed.get_world_size()) if distributed else (0, 1)


def _new_run_id(for_all_ranks):
    ids = [os.urandom(8).hex()]
    if for_all_ranks:
        if _distributed() is None:
            raise RecorderError("run_id: without torch.distributed, give all ranks the same one")
        _distributed().broadcast_object_list(ids)
    return ids[0]


def _is_copy(tensor):
    """Whether it is the part of a DTensor that another rank has too, and records."""
    place = tensor.device_mesh.get_coordinate() if hasattr(tensor, "device_mesh") else None
    return place is not None and any(of.is_replicate() and at > 0 for of, at in zip(tensor.placements, place))


def _is_summand(tensor):
    """Whether the values of a DTensor are still to be added up over ranks."""
    return any(of.is_partial() for of in getattr(tensor, "placements", ()))


def _recorded_elsewhere(model, rank, world):
    """Names of the parameters of a model with DTensors that other ranks record. Where several meshes hold a tensor of one name,
    as those of tensor parallelism beside data parallelism, each has all of it: the one with the lowest rank records it. A
    plain tensor is whole on each rank that has it."""
    wrapped = any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())  # has flat parts in tensors
    if _distributed() is None or wrapped or not any(hasattr(p, "device_mesh") for p in model.parameters()):
        return frozenset()
    mine = {}
    for name, parameter in model.named_parameters():
        of = sorted(parameter.device_mesh.mesh.flatten().tolist()) if hasattr(parameter, "device_mesh") else [rank]
        mine.setdefault(tuple(of), []).append(_plain(name))
    of_all = [None] * world
    _distributed().all_gather_object(of_all, mine)
    first = {}
    for meshes in of_all:
        for ranks, names in meshes.items():
            first.update((name, min(ranks, first.get(name, ranks))) for name in names)
    return frozenset(name for ranks, names in mine.items() for name in names if first[name] != ranks)


def _is_sharded(model):
    wrapped = any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())
    return wrapped or any(hasattr(parameter, "to_local") for parameter in model.parameters())
