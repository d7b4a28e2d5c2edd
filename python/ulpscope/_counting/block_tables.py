"""Block tables: elements counted with the largest number of their block. docs/recording-format.md, "Block tables"."""

from . import host
from .payloads import compressed, varints


def signed(n):
    """Interleaved: 0, -1, 1, -2."""
    return 2 * n if n >= 0 else -2 * n - 1


def joined(pairs):
    """Pairs of keys and counts as one: counts of equal keys added up, keys ascending."""
    keys, places = host.distinct(host.join([keys for keys, _ in pairs]))
    return keys, host.binned(places, host.join([counts for _, counts in pairs]), len(keys))


class BlockTable:
    """Of blocks of one extent. with_infinity, with_nan: blocks, and their zeros, other finite elements, infinities and NaNs.
    exponents: the least and the greatest of ordinary blocks, or None. classes, cells: keys, ascending, and counts."""

    __slots__ = (
        "extent", "numel", "zeros", "zero_blocks", "in_zero_blocks", "with_infinity", "with_nan", "exponents", "classes", "cells"
    )  # fmt: skip

    def __init__(self, extent, *parts):
        self.extent = extent
        self.numel, self.zeros, self.zero_blocks, self.in_zero_blocks, *parts = parts
        self.with_infinity, self.with_nan, self.exponents, self.classes, self.cells = parts

    def merged(self, other):
        both = [of for of in (self.exponents, other.exponents) if of is not None]
        return BlockTable(
            self.extent,
            *(getattr(self, of) + getattr(other, of) for of in ("numel", "zeros", "zero_blocks", "in_zero_blocks")),
            [a + b for a, b in zip(self.with_infinity, other.with_infinity)],
            [a + b for a, b in zip(self.with_nan, other.with_nan)],
            (min(least for least, _ in both), max(greatest for _, greatest in both)) if both else None,
            joined([self.classes, other.classes]),
            joined([self.cells, other.cells]),
        )

    def numbers(self):
        """Arrays of what is written of it."""
        some = [*self.extent, self.numel, self.zeros, self.zero_blocks, self.in_zero_blocks, *self.with_infinity, *self.with_nan]
        arrays = [host.array(some + [signed(n) for n in self.exponents or (0, 0)])]
        for keys, counts in (self.classes, self.cells):
            steps = keys + 0
            steps[1:] -= keys[:-1]
            arrays += [host.array([len(keys)]), steps, counts]
        return arrays


class BlockTables:
    """Those of one tensor, one for each extent."""

    def __init__(self, tables):
        self.tables = tables

    def __len__(self):
        return len(self.tables)

    def merged(self, other):
        """Of all elements of both, of the blocks that both have."""
        others = {table.extent: table for table in other.tables}
        return BlockTables([table.merged(others[table.extent]) for table in self.tables if table.extent in others])

    def content(self):
        """That of a row of `extra`."""
        arrays = [host.array([len(self.tables)])] + [array for table in self.tables for array in table.numbers()]
        return compressed(bytes(varints(host.join(arrays))[0]))
