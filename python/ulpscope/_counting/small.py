"""Small float32 tensors on the host, counted together: what each costs besides its values is little more than its table."""

from .bits import slots_of, subnormal_rows, widened
from .cells import BINADE, SLOTS, Table
from .host import loaded_torch, np
from .types import TYPES


def tables_of_small(bits, sizes):
    """The tables of float32 arrays that lie one after the other, none of them empty, without sums."""
    dtype = TYPES["float32"]
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
        bits[few] = subnormal_rows(bits[few], dtype)
        bias[few] = 2 * dtype.bias + dtype.fraction - 1
    sign, k = (bits < 0).astype(np.int64), (widened(bits >> 23) & 255) - bias
    slot = slots_of(bits, dtype)
    # Dense by tensor, sign, binade and slot where that is not too much; else sorted.
    first, last = (np.frexp(of)[1].astype(np.int64) - 1 for of in (extremes[1], extremes[0]))
    binades = (last - first + 1) * (largest > 0)
    ends = (2 * SLOTS * binades).cumsum()
    if ends[-1] <= 16 * len(bits):
        begin = ends - 2 * SLOTS * binades
        counts = np.bincount(begin[owner] + (sign * binades[owner] + k - first[owner]) * SLOTS + slot, None, ends[-1])
        at = counts.nonzero()[0]
        counts, owner = counts[at], np.repeat(np.arange(len(sizes)), 2 * SLOTS * binades)[at]
        row, slot = (at - begin[owner]) >> 5, at & (SLOTS - 1)
        sign = row >= binades[owner]
        keys = (sign * BINADE + row - sign * binades[owner] + first[owner] + 2048) * SLOTS + slot
    else:
        keys, counts = np.unique((owner << 18) + (sign * BINADE + k + 2048) * SLOTS + slot, return_counts=True)
        owner, keys = keys >> 18, keys & ((1 << 18) - 1)
    cuts = owner.searchsorted(np.arange(len(sizes) + 1)).tolist()
    zeros, positive, negative, others = (of.tolist() for of in specials)
    return [
        Table(n, zero, (above, below), other - above - below, high, low, keys[begin:end], counts[begin:end], None)
        for n, zero, above, below, other, high, low, begin, end in zip(
            sizes, zeros, positive, negative, others, *(of.tolist() for of in extremes), cuts, cuts[1:]
        )
    ]


def count_small(values):
    flatten = getattr(loaded_torch()._utils, "_flatten_dense_tensors", None)
    begin = 0
    while begin < len(values):
        end, elements = begin, 0
        while end < len(values) and elements + values[end].numel <= 1 << 16:
            elements += values[end].numel
            end += 1
        tensors = [v.array for v in values[begin:end]]
        with loaded_torch().no_grad():
            flat = flatten(tensors) if flatten else loaded_torch().cat([tensor.reshape(-1) for tensor in tensors])
        bits = flat.detach().numpy().view(np.int32)
        for v, table in zip(values[begin:end], tables_of_small(bits, [v.numel for v in values[begin:end]])):
            v.table, v.array = table, None
        begin = end
