"""The tables of arrays on the host, by operations of numpy or torch."""

from collections import namedtuple

from . import host
from .bits import BLOCK, cell_indices, chunk_size, code_counts, extreme_bits, histogram, is_numpy, joint_extremes, pieces_of, rows_of, slots_of, subnormal_rows, sums_by_row, table_of_rows, widened
from .cells import BINADE, SLOTS, Table, added_up
from .host import loaded_torch, np
from .types import TYPES, table_of_codes


def with_zero_half(array, magnitudes):
    """Those elements of array, in any order, where a half of 32 bits of magnitudes, which are overwritten, is zero.
    These are few: first, which groups of elements have any."""
    if is_numpy(array):
        zero = magnitudes.view(np.int16) == 0
        if len(array) % 4 > 0:
            return array[zero.view(np.int16) != 0]
        groups = (zero.view(np.int64) != 0).nonzero()[0]
        zero = zero.view(np.int16).reshape(-1, 4).take(groups, 0)
        return array.reshape(-1, 4).take(groups, 0)[zero != 0]
    torch = loaded_torch()
    zero = magnitudes.view(torch.int16).eq_(0).view(torch.int32)
    if len(zero) % 8 == 0:
        groups = zero.view(8, -1).amax(0).nonzero().flatten()
        array, zero = (x.view(8, -1).index_select(1, groups).flatten() for x in (array, zero))
    return array.index_select(0, zero.nonzero().flatten())


def upper_halves(array):
    return (
        (array.view(np.uint32) >> np.uint32(16)).view(np.int32)
        if is_numpy(array)
        else array.view(loaded_torch().int16)[1::2].int().bitwise_and_(0xFFFF)
    )


# Bins of the upper half between edges are slots 1, 3, 5, 7 (from 13/16 on), 9, 11, 13, 15; the last bin is 17 for now.
BIN_ENDS = [0, 64, 96, 104, 112, 120, 124, 126, 127, 128]
SLOT_OF_BIN = host.array([2 * i + 1 for i in range(9) for _ in range(BIN_ENDS[i], BIN_ENDS[i + 1])])
SMALL = 1 << 14  # elements below which counting by halves costs more than it saves
# float32 values that are counted together: those of a tensor, or its subnormal ones as floats. owner: the tensor; bias: of
# the exponent; rows: which occur, and those of zeros and infinities; bins: by these rows and the upper halves' fractions,
# or None; rest: the values that bins do not place.
Part = namedtuple("Part", "owner bias bits largest least rows bins rest")


def part_of(owner, bias, bits):
    """The upper 16 bits place all but those on an edge and those of the last 128th of a binade, one in a hundred."""
    dtype = TYPES["float32"]
    high, rest, extremes = None, [], []
    if len(bits) < SMALL:
        rest, extremes = bits, [extreme_bits(bits & dtype.most, dtype)] if len(bits) > 0 else [(0, 0)]
    else:
        for block in pieces_of(bits, BLOCK):
            for chunk in pieces_of(block, chunk_size(bits)):
                shifted = chunk & dtype.most
                extremes.append(extreme_bits(shifted, dtype))
                # The lower half is zero for what may be an edge, the upper one overflows to zero for f >= 127/128.
                shifted |= -0x800000
                shifted += 0x10000
                rest.append(with_zero_half(chunk, shifted))
            counts = histogram(upper_halves(block), 65536)
            high = counts if high is None else high + counts
        rest = host.join(rest)
        rest = rest[host.where(rest & dtype.most)]  # not zeros, which may be many
    largest, least = joint_extremes(extremes)
    rows = sorted({0, 255, *range(least >> 23, (largest >> 23) + 1)})
    rows = host.array(rows + [row + 256 for row in rows])
    bins = None if high is None else high.reshape(512, 128)[rows]
    return Part(owner, bias, bits, largest, least, rows, bins, rest)


def tables_of_floats(arrays, with_sums):
    """The tables of float32 arrays on the host, of all at once: calls cost more than the values of small tensors."""
    dtype = TYPES["float32"]
    low, most = dtype.low, dtype.most
    parts = [part_of(i, dtype.bias, bits) for i, bits in enumerate(arrays)]
    for part in [part for part in parts if 0 < part.least <= low]:
        few = [chunk[host.where((chunk & most) - 1 & most < low)] for chunk in pieces_of(part.bits, chunk_size(part.bits))]
        parts.append(part_of(part.owner, 2 * dtype.bias + dtype.fraction - 1, subnormal_rows(host.join(few), dtype)))
    parts.sort(key=lambda part: part.bins is None)
    # Rows of all parts, 512 numbers for each.
    rows = host.join([part.rows + 512 * i for i, part in enumerate(parts)])
    table = host.zeros(len(rows) * SLOTS).reshape(len(rows), SLOTS)
    binned = [part for part in parts if part.bins is not None]
    if binned:
        bins = host.join([part.bins for part in binned]).cumsum(1)[:, [end - 1 for end in BIN_ENDS[1:]]]
        table[: len(bins), 1:19:2] = bins
        table[: len(bins), 3:19:2] -= bins[:, :-1]
    table = table.flatten()
    row_of = host.zeros(512 * len(parts))
    row_of[rows] = host.where(rows >= 0) * SLOTS
    for group, first in ((binned, 0), (parts[len(binned) :], len(binned))):
        if not group:
            continue
        rest = host.join([part.rest for part in group])
        start = host.repeated([512 * (first + i) for i in range(len(group))], [len(part.rest) for part in group])
        for piece, start in zip(pieces_of(rest, chunk_size(rest)), pieces_of(start, chunk_size(rest))):
            row = row_of[start + (widened(piece >> 23) & 511)]
            table += histogram(row + slots_of(piece, dtype), len(table))
            if group is binned:
                table -= histogram(row + SLOT_OF_BIN[widened(piece >> 16) & 127], len(table))
    at = host.where(table)
    row, counts = rows[at // SLOTS], table[at]
    of, sign, field, slot = row >> 9, row >> 8 & 1, row & 255, at % SLOTS
    results = [
        Table(len(bits), 0, [0, 0], 0, 0.0, 0.0, host.zeros(0), host.zeros(0), {} if with_sums else None) for bits in arrays
    ]
    special = host.where(field == 255)
    for i, negative, kind, n in zip(*(x[special].tolist() for x in (of, sign, slot, counts))):
        result = results[parts[i].owner]
        if kind == 0:
            result.infinities[negative] += n
        else:
            result.nans += n
    finite = host.where((field > 0) & (field < 255))
    bias = host.array([part.bias for part in parts])[of]
    keys, counts = (((sign * BINADE + field - bias + 2048) * SLOTS) + slot)[finite], counts[finite]
    cuts = host.cuts(of[finite], list(range(len(parts) + 1)))
    for part, begin, end in zip(parts, cuts, cuts[1:]):
        result = results[part.owner]
        if with_sums:
            sums = sums_by_row(pieces_of(part.bits, chunk_size(part.bits)), dtype)
            for binade in set((keys[begin:end] // SLOTS).tolist()):
                row = binade // BINADE * 256 + binade % BINADE - 2048 + part.bias
                significands, high, low, _ = (int(of_row[row]) for of_row in sums)
                result.sums[binade] = [significands, (high << 24) + low]
        if part.bias == dtype.bias:
            result.infinities = tuple(result.infinities)
            if part.largest > 0:
                result.largest, result.least = dtype.magnitude(part.largest), dtype.magnitude(part.least)
        if len(result.keys) > 0:  # normal and subnormal values
            result.keys, result.counts = added_up(
                host.join([result.keys, keys[begin:end]]), host.join([result.counts, counts[begin:end]])
            )
        else:
            result.keys, result.counts = keys[begin:end], counts[begin:end]
    for result in results:
        result.zeros = result.numel - sum(result.infinities) - result.nans - int(result.counts.sum())
    return results


def table_of_bits(bits, dtype, with_sums):
    """The table of a flat array on the host."""
    if dtype.bits == 32:
        return tables_of_floats([bits], with_sums)[0]
    if dtype.bits <= 16:
        counts = sum(code_counts(piece, dtype) for piece in pieces_of(bits, BLOCK))
        return table_of_codes(counts, dtype, with_sums)
    if len(bits) == 0:
        return Table(0, 0, (0, 0), 0, 0.0, 0.0, host.zeros(0), host.zeros(0), {} if with_sums else None)
    rows = dtype.rows
    low, most = dtype.low, dtype.most
    counted = rows_of(histogram(cell_indices(bits, dtype), rows * SLOTS))
    largest, least = joint_extremes([extreme_bits(chunk & most, dtype) for chunk in pieces_of(bits, chunk_size(bits))])
    subnormal = None
    if 0 < least <= low:
        few = host.join([chunk[host.where((chunk & most) - 1 & most < low)] for chunk in pieces_of(bits, chunk_size(bits))])
        few = subnormal_rows(few, dtype)
        subnormal = rows_of(histogram(cell_indices(few, dtype), rows * SLOTS), sums_by_row([few], dtype) if with_sums else None)
    if with_sums:
        counted = counted._replace(sums=sums_by_row(pieces_of(bits, chunk_size(bits)), dtype))
    return table_of_rows(counted, subnormal, dtype, len(bits), largest, least)


def tables_of_bits(arrays, with_sums):
    """The tables of pairs of bits and type, on the host."""
    tables, batches, batch, elements = [None] * len(arrays), [], [], 0
    for i, (bits, dtype) in enumerate(arrays):
        if dtype.bits != 32:
            tables[i] = table_of_bits(bits, dtype, with_sums)
            continue
        batch.append(i)
        elements += len(bits)
        if elements >= 1 << 24 or len(batch) == 256:  # what takes little memory besides
            batches, batch, elements = batches + [batch], [], 0
    for batch in batches + [batch] if batch else batches:
        for i, table in zip(batch, tables_of_floats([arrays[i][0] for i in batch], with_sums)):
            tables[i] = table
    return tables
