"""The types of recorded values, and tables of types that have few codes."""

import functools
import math
from collections import namedtuple

from . import host
from .cells import BINADE, SLOTS, Table, added_up, slot_of_fraction


class Type(namedtuple("Type", "name number bits fraction bias finite infinity")):
    """number: in summary records; bits: of a value; fraction: fraction bits; finite: below it bits without the sign are those of
    finite values; infinity: its bits, or None."""

    rows = property(lambda self: 1 << (self.bits - self.fraction))  # signs and exponent fields
    low = property(lambda self: (1 << self.fraction) - 1)  # the fraction
    most = property(lambda self: (1 << (self.bits - 1)) - 1)  # all but the sign

    def magnitude(self, bits):
        """|x| of a finite value, by its bits without the sign: the processor may take subnormals for zero."""
        exponent, fraction = bits >> self.fraction, bits & self.low
        return math.ldexp(
            float(fraction + (self.low + 1) * (exponent > 0)), max(exponent, 1) - self.bias - self.fraction
        )


# The types of elements that a recording knows, one row each. Numbers are those of docs/recording-format.md. The only NaN of the
# fnuz types is where others have -0.
TYPES = {
    row[0]: Type(*row)
    for row in (
        # name             number bits fraction bias  finite                infinity
        ("float64",         1,    64,  52,      1023, 0x7FF0_0000_0000_0000, 0x7FF0_0000_0000_0000),
        ("float32",         2,    32,  23,      127,  0x7F80_0000,           0x7F80_0000),
        ("float16",         3,    16,  10,      15,   0x7C00,                0x7C00),
        ("bfloat16",        4,    16,  7,       127,  0x7F80,                0x7F80),
        ("float8_e4m3fn",   5,    8,   3,       7,    0x7F,                  None),
        ("float8_e5m2",     6,    8,   2,       15,   0x7C,                  0x7C),
        ("float8_e4m3fnuz", 7,    8,   3,       8,    0x80,                  None),
        ("float8_e5m2fnuz", 8,    8,   2,       16,   0x80,                  None),
    )
}  # fmt: skip
TYPES_BY_NUMBER = {dtype.number: dtype for dtype in TYPES.values()}


@functools.lru_cache(None)
def code_tables(dtype):
    """By code of a 16- or 8-bit type: its cell's key, or 0; its significand as an integer of fraction + 1 bits."""
    keys, significands = [0] * (1 << dtype.bits), [0] * (1 << dtype.bits)
    for code in range(1 << dtype.bits):
        if 0 < code & dtype.most < dtype.finite:
            mantissa, exponent = math.frexp(dtype.magnitude(code & dtype.most))
            significands[code] = int(math.ldexp(mantissa, dtype.fraction + 1))
            slot = slot_of_fraction(significands[code] & dtype.low, dtype.fraction)
            keys[code] = ((code >> (dtype.bits - 1)) * BINADE + exponent - 1 + 2048) * SLOTS + slot
    return host.array(keys), host.array(significands)


def table_of_codes(counts, dtype, with_sums):
    """counts: of each code."""
    codes = host.where(counts)
    magnitudes = codes & dtype.most
    finite = codes[host.where((magnitudes > 0) & (magnitudes < dtype.finite))]
    key_of, significand_of = code_tables(dtype)
    n, keys, sums = counts[finite], key_of[finite], None
    if with_sums:
        # Codes ascend as their binades do: differences of running sums, which are exact.
        significands, binades = significand_of[finite], keys // SLOTS
        last = host.where(host.join([binades[1:] != binades[:-1], binades[:1] > 0])) if len(keys) > 0 else keys
        running = [[0] + (n * significands**power).cumsum(0)[last].tolist() for power in (1, 2)]
        sums = {
            binade: [(of[i + 1] - of[i]) << power * (23 - dtype.fraction) for power, of in zip((1, 2), running)]
            for i, binade in enumerate(binades[last].tolist())
        }
    extremes = [dtype.magnitude(int(x) & dtype.most) for x in extremes_of(finite & dtype.most)]
    numel, signs = int(counts.sum()), (0, dtype.most + 1)
    zeros = sum(int(counts[sign]) for sign in signs if sign < dtype.finite or dtype.finite <= dtype.most)
    infinities = tuple(0 if dtype.infinity is None else int(counts[dtype.infinity + sign]) for sign in signs)
    nans = numel - zeros - sum(infinities) - int(n.sum())
    return Table(
        numel, zeros, infinities, nans, *extremes, *added_up(keys, n), sums, codes=(codes, counts[codes])
    )


def extremes_of(array):
    return (array.max(), array.min()) if len(array) > 0 else (0, 0)
