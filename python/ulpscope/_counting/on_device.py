"""Counting on another device.

What comes out of a tensor is one vector of int64, and all vectors of a step come to the host together. The vector of a tensor
of 16 or 8 bits counts its codes; that of another one is largest, least, then the table by row and slot and its sums, then the
same of its subnormal values.
"""

from . import host
from .bits import Rows, cell_indices, chunk_size, code_counts, histogram, pieces_of, subnormal_rows, sums_by_row, table_of_rows
from .cells import SLOTS
from .host import loaded_torch, np
from .types import table_of_codes


def vector_of_bits(bits, dtype, with_sums):
    torch = loaded_torch()
    chunks = list(pieces_of(bits, chunk_size(bits)))
    if dtype.bits <= 16:
        return sum(code_counts(chunk, dtype) for chunk in chunks)
    one = dtype.low + 1
    largest, least = [], []
    for chunk in chunks if len(bits) > 0 else [bits.new_zeros(1)]:
        magnitudes = chunk & dtype.most
        largest.append((magnitudes + one).amax())  # infinities and NaN become negative
        least.append((magnitudes - 1 & dtype.most).amin())  # zero becomes the largest
    extremes = torch.stack(largest).amax().clamp(min=one).long() - one, torch.stack(least).amin().long() + 1
    parts = [torch.stack(extremes)]
    for values in (lambda chunk: chunk, lambda chunk: subnormal_rows(chunk, dtype)):
        parts.append(sum(histogram(cell_indices(values(chunk), dtype), dtype.rows * SLOTS) for chunk in chunks))
        if with_sums:
            parts += sums_by_row((values(chunk) for chunk in chunks), dtype)
    return torch.cat(parts)


def table_of_entries(at, counts, dtype, numel, with_sums):
    """at, counts: the entries of the vector that are not zero, on the host."""
    if dtype.bits <= 16:
        codes = host.zeros(1 << dtype.bits)
        codes[at] = counts
        return table_of_codes(codes, dtype, with_sums)
    rows = dtype.rows
    extremes = dict(zip(at[:2].tolist(), counts[:2].tolist()))
    parts, first = [], 2
    for _ in range(2):
        begin, middle, end = host.cuts(at, [first, first + rows * SLOTS, first + rows * (SLOTS + 4 * with_sums)])
        sums = None
        if with_sums:
            sums = host.zeros(4 * rows)
            sums[at[middle:end] - first - rows * SLOTS] = counts[middle:end]
            sums = [sums[i * rows : (i + 1) * rows] for i in range(4)]
        parts.append(Rows(at[begin:middle] - first, counts[begin:middle], sums))
        first += rows * (SLOTS + 4 * with_sums)
    return table_of_rows(*parts, dtype, numel, extremes.get(0, 0), extremes.get(1, 0))


def to_host(vectors):
    """The entries that are not zero, and where: pairs of host arrays, one for each vector. One copy for each device."""
    torch = loaded_torch()
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
        cuts = host.cuts(at, ends)
        for i, end, first, last in zip(here, ends, cuts, cuts[1:]):
            results[i] = at[first:last] - end, counts[first:last]
    return results
