"""Cells, and the histogram of a tensor in them.

A finite nonzero x = (-1)^sign * 2^k * (1 + f) is in one of 26 slots of binade k; docs/recording-format.md has the table. A
cell's key is ((sign * 4096) + k + 2048) * 32 + slot.
"""

import functools
import math

from . import host

SLOTS = 32  # room for a binade in keys and tables
BINADE = 4096  # binades of one sign in keys


def slot_of_fraction(numerator, bits):
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
LOW = [low for c in range(11) for low in 2 * [2 - 2.0**-c] + (2 * [1 + 13 / 16] if c == 2 else [])]
LOW += [2 - 2.0**-11, 2 - 2.0**-12, 2.0]


def ldexp_or_inf(x, exponent):
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


@functools.lru_cache(None)
def estimates(power):
    """The mean of |x|^power in each cell, by key: values are taken to be spread evenly through a cell."""
    table = [0.0] * (BINADE * SLOTS)
    for slot, low in enumerate(LOW[:-1]):
        high = low if slot % 2 == 0 and slot < 24 else LOW[slot + 1]
        mean = (low + high) / 2 if power == 1 else (low * low + low * high + high * high) / 3
        for k in range(-1074, 1024):
            table[(k + 2048) * SLOTS + slot] = ldexp_or_inf(mean, power * k)
    return host.array(table + table)


class Table:
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

    def __len__(self):
        return len(self.keys)

    @property
    def is_finite(self):
        return not self.nans and not any(self.infinities)

    def cells(self):
        """Pairs of key and count."""
        return zip(self.keys.tolist(), self.counts.tolist())

    def add_zeros(self, n):
        """Those that a sparse tensor does not hold."""
        self.numel, self.zeros, self.codes = self.numel + n, self.zeros + n, None

    def drop_codes(self):
        self.codes = None

    def total(self, power):
        """The sum of |x|^power: binade sums rounded once each and added in ascending order, or an estimate."""
        if len(self.keys) == 0:
            return 0.0
        if self.sums is None:
            # Added one after the other, which is what readers do too.
            return float((self.counts * estimates(power)[self.keys]).cumsum(0)[-1])
        total = 0.0
        for term in sorted(
            ldexp_or_inf(float(of[power - 1]), power * (k % BINADE - 2048 - 23)) for k, of in self.sums.items()
        ):
            total += term  # not sum(), which rounds otherwise from Python 3.12 on
        return total


def added_up(keys, counts):
    """Counts of equal keys added up, keys ascending."""
    if len(keys) == 0:
        return keys, counts
    # Dense over the binades that occur, the signs side by side.
    cells = keys % (BINADE * SLOTS)
    base = int(cells.min())
    dense = host.binned((cells - base) * 2 + keys // (BINADE * SLOTS), counts, 2 * (int(cells.max()) - base + 1))
    at = [host.where(dense[sign::2]) for sign in (0, 1)]
    keys = [at[sign] + (base + sign * BINADE * SLOTS) for sign in (0, 1)]
    return host.join(keys), host.join([dense[sign::2][at[sign]] for sign in (0, 1)])


def merge_tables(tables):
    """The table of all values of several; without codes."""
    if len(tables) == 1:
        t = tables[0]
        return Table(t.numel, t.zeros, t.infinities, t.nans, t.largest, t.least, t.keys, t.counts, t.sums, t.cut)
    sums = None
    if all(t.sums is not None for t in tables):
        sums = {}
        for t in tables:
            for binade, (significands, squares) in t.sums.items():
                into = sums.setdefault(binade, [0, 0])
                into[0] += significands
                into[1] += squares
    return Table(
        sum(t.numel for t in tables),
        sum(t.zeros for t in tables),
        tuple(sum(t.infinities[sign] for t in tables) for sign in (0, 1)),
        sum(t.nans for t in tables),
        max(t.largest for t in tables),
        min((t.least for t in tables if t.least > 0), default=0.0),
        *added_up(host.join([t.keys for t in tables]), host.join([t.counts for t in tables])),
        sums,
        sum(t.cut for t in tables),
    )


class Tables(list):
    """The tables of a step. at: places of some; all without."""

    def _some(self, at):
        return self if at is None else [self[i] for i in at]

    def are_zero(self, at=None):
        return all(t.zeros == t.numel for t in self._some(at))

    def are_finite(self, at=None):
        return all(t.is_finite for t in self._some(at))

    def largest(self, at=None):
        return max((t.largest for t in self._some(at)), default=0.0)

    def squares(self, at=None):
        return sum(t.total(2) for t in self._some(at))

    def merged(self, at=None):
        return merge_tables(self._some(at))

    def drop_codes(self):
        for table in self:
            table.codes = None


class Gathered:
    """Tables of many steps, by column. They wait until some have gathered: merging many costs little more than merging two."""

    def __init__(self):
        self.waiting = []

    def add(self, tables, columns):
        """The table i of a step goes to the column columns[i]."""
        for at, table in zip(columns, tables):
            if at >= len(self.waiting):
                self.waiting += [[] for _ in range(at + 1 - len(self.waiting))]
            waiting = self.waiting[at]
            if len(waiting) >= 16 and (len(waiting) >= 64 or len(table) > 16):
                waiting[:] = [merge_tables(waiting)]
            waiting.append(table)

    def merged(self):
        """A table for each column."""
        return [merge_tables(waiting) for waiting in self.waiting]
