"""Counting by row and slot, on arrays of signed integers, the bits of the values: numpy's, torch's on the host, and torch's
on other devices, where nothing waits for the device.

There is a row for each sign and exponent field. The slot follows from d = 2^fraction_bits * (1 - f), an integer: made a
float, its exponent counts the leading ones of f, and d is a power of two just where f is an edge. Halves of d's binades tell
13/16 apart.
"""

import functools
from collections import namedtuple

from . import host
from .cells import BINADE, SLOTS, Table, slot_of_fraction
from .host import loaded_torch, np


def is_numpy(array):
    return np is not None and isinstance(array, np.ndarray)


def on_host(array):
    return is_numpy(array) or array.device.type == "cpu"


def widened(array):
    return array.astype(np.int64) if is_numpy(array) else array.long()


def as_doubles(array):
    return array.astype(np.float64) if is_numpy(array) else array.double()


def float_bits(array):
    """Of integers, made floats of their width."""
    if is_numpy(array):
        return array.astype(f"f{array.itemsize}").view(array.dtype)
    torch = loaded_torch()
    return array.to(torch.float32 if array.dtype == torch.int32 else torch.float64).view(array.dtype)


def pieces_of(array, size):
    """At least one."""
    return (array[begin : begin + size] for begin in range(0, max(1, len(array)), size))


def histogram(keys, size, weights=None):
    """How often each key occurs, or the sums of its weights. torch's counts 32-bit keys as they are, which takes two
    thirds of the time of numpy's."""
    torch = loaded_torch()
    if is_numpy(keys):
        if torch is None or keys.itemsize != 4 or weights is not None:
            return np.bincount(keys, weights, size)
        return torch.bincount(torch.from_numpy(keys), minlength=size).numpy()
    if on_host(keys):
        return torch.bincount(keys, weights, size)
    # torch.bincount would wait for the largest key. Sums of integers do not depend on their order.
    weights = torch.ones(1, dtype=torch.int64, device=keys.device).expand(len(keys)) if weights is None else weights
    return torch.zeros(size, dtype=weights.dtype, device=keys.device).scatter_add_(0, keys.long(), weights)


def code_counts(bits, dtype):
    """How often each code of a 16- or 8-bit type occurs."""
    codes = (bits.astype(np.int32) if is_numpy(bits) else bits.int()) & (2 * dtype.most + 1)
    return histogram(codes, 1 << dtype.bits)


# at: row * 32 + slot, ascending, and counts, none of them 0. sums: None, or by row what weights_of lists.
Rows = namedtuple("Rows", "at counts sums")


@functools.lru_cache(None)
def slot_of_halves(fraction, device=None):
    """By 2 * (half binades of d above 2^0) + (d is on the lower end of its half binade)."""
    slots = []
    for half in range(2 * fraction + 1):
        d = (1 << half // 2) * (2 + half % 2)  # twice its lower end
        for exact in (0, 1):
            slots.append(
                slot_of_fraction((2 << fraction) - d - (0 if exact else 1), fraction + 1) if half < 2 * fraction or exact else 0
            )
    return host.array(slots) if device is None else loaded_torch().tensor(slots, device=device)


def slots_of(bits, dtype):
    low = dtype.low
    d = float_bits(low + 1 - (bits & low)) - (dtype.bias << dtype.fraction)  # half binades count from 2^0
    slot_of = slot_of_halves(dtype.fraction, None if on_host(bits) else bits.device)
    return slot_of[2 * widened(d >> (dtype.fraction - 1)) + ((d & (low >> 1)) == 0)]


def cell_indices(bits, dtype):
    """row * 32 + slot of each value."""
    rows = dtype.rows
    return (widened(bits >> dtype.fraction) & (rows - 1)) * SLOTS + slots_of(bits, dtype)


def weights_of(significands, dtype):
    """What is summed by row: significands of 24 bits, their squares above and below 2^24, and whether bits were cut.
    Doubles that hold integers below 2^24: 2^29 of them add up exactly."""
    floor = np.floor if is_numpy(significands) else loaded_torch().floor
    cut = []
    if dtype.fraction > 23:
        scaled = significands * 2.0 ** (23 - dtype.fraction)
        significands = floor(scaled)
        cut = [(scaled > significands) * 1.0]
    squares = significands * significands
    high = floor(squares * 2.0**-24)
    return [significands, high, squares - high * 2.0**24] + cut


def sums_by_row(pieces, dtype):
    """Those sums by row, of all pieces."""
    sums = [0] * 4
    for piece in pieces:
        row = widened(piece >> dtype.fraction) & (dtype.rows - 1)
        for i, weights in enumerate(weights_of(as_doubles(piece & dtype.low | (dtype.low + 1)), dtype)):
            sums[i] = sums[i] + widened(histogram(row, dtype.rows, weights))
    return sums[:3] + [sums[3] + 0 * sums[0]]


def subnormal_rows(bits, dtype):
    """Of each subnormal value its integer as a float, whose row tells the binade; of all others 0. With their signs."""
    low, most = dtype.low, dtype.most
    return float_bits((bits & low) * ((bits & most) <= low)) | (bits & ~most)


def chunk_size(array):
    """Elements whose temporary arrays stay in the cache; elsewhere, which take little memory."""
    return 1 << 16 if on_host(array) else 1 << 22


BLOCK = 1 << 20  # elements that are counted at once


def rows_of(table, sums=None):
    at = host.where(table)
    return Rows(at, table[at], sums)


def extreme_bits(magnitudes, dtype):
    """The largest finite and the smallest nonzero one, as bits; 0 and 0 where there is none."""
    largest, least = int(magnitudes.max()), int(magnitudes.min())
    if largest >= dtype.infinity:
        largest = int((magnitudes + (dtype.low + 1)).max()) - (dtype.low + 1)  # infinities and NaN become negative
    if least == 0 and largest > 0:
        least = int((magnitudes - 1 & dtype.most).min()) + 1  # zero becomes the largest
    return (largest, least) if largest > 0 else (0, 0)


def joint_extremes(extremes):
    return max(e[0] for e in extremes), min((e[1] for e in extremes if e[0]), default=0)


def table_of_rows(rows, subnormal, dtype, numel, largest, least):
    """largest, least: bits of the extreme magnitudes, 0 where there is no nonzero finite value. subnormal: rows of
    the subnormal values' integers as floats, or None."""
    half = dtype.rows // 2 * SLOTS
    zeros, infinities, nans = 0, [0, 0], 0
    keys, counts = [], []
    sums, cut = None if rows.sums is None else {}, 0
    # Of each sign zeros and subnormal values are in the first row, infinities and NaN in the last.
    bounds = [x + sign * half for sign in (0, 1) for x in (SLOTS, half - SLOTS, half)]
    cuts = {id(part): [0] + host.cuts(part.at, bounds) for part in (subnormal, rows) if part is not None}
    for sign in (0, 1):
        begin, first, last, end = cuts[id(rows)][3 * sign : 3 * sign + 4]
        if begin < first and int(rows.at[begin]) == sign * half:
            zeros += int(rows.counts[begin])
        if last < end:
            nans += int(rows.counts[last:end].sum())
            if int(rows.at[last]) == sign * half + half - SLOTS:
                infinities[sign] = int(rows.counts[last])
                nans -= infinities[sign]
        for part, bias in ((subnormal, 2 * dtype.bias + dtype.fraction - 1), (rows, dtype.bias)):
            if part is None:
                continue
            first, last = cuts[id(part)][3 * sign + 1 : 3 * sign + 3]
            to_key = (sign * BINADE - bias + 2048) * SLOTS - sign * half
            keys.append(part.at[first:last] + to_key)
            counts.append(part.counts[first:last])
            if sums is None:
                continue
            for row in sorted(set((part.at[first:last] // SLOTS).tolist())):
                significands, high, low, cut_here = (int(of_row[row]) for of_row in part.sums)
                sums[row + to_key // SLOTS] = [significands, (high << 24) + low]
                cut += cut_here
    extremes = [dtype.magnitude(bits) if largest else 0.0 for bits in (largest, least)]
    return Table(numel, zeros, tuple(infinities), nans, *extremes, host.join(keys), host.join(counts), sums, cut)
