"""Tables as the bytes of a recording: docs/recording-format.md."""

import math
import struct
import zlib

from .._errors import RecorderError
from . import host
from .cells import estimates
from .host import np


def varint(number):
    octets = bytearray()
    while number >= 128:
        octets.append(number & 127 | 128)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def varints(numbers):
    """An array of numbers below 2^63 as varints, and where each begins; the end is the last."""
    sizes, left = host.zeros(len(numbers)) + 1, numbers >> 7
    while len(left) > 0 and int(left.max()) > 0:
        sizes += left > 0
        left = left >> 7
    ends = sizes.cumsum(0)
    octets = host.zeros(int(ends[-1]) if len(ends) > 0 else 0)
    at, left = ends - sizes, numbers
    while len(left) > 0:
        octets[at] = (left & 127) + 128 * (left > 127)
        more = host.where(left > 127)
        at, left = at[more] + 1, left[more] >> 7
    return host.octets(octets), host.join([host.zeros(1), ends])


def payloads_of(tables):
    """The payloads of tables, one after the other."""
    if not tables:
        return b""
    has_codes = [t.codes is not None and len(t.codes[0]) > 0 for t in tables]
    keys, counts = zip(*(t.codes if coded else (t.keys, t.counts) for t, coded in zip(tables, has_codes)))
    lengths = [len(of) for of in keys]
    sizes, keys, counts = host.array(lengths), host.join(keys), host.join(counts)
    # How many, then pairs, of each.
    starts = 2 * (sizes.cumsum(0) - sizes) + host.where(sizes >= 0)
    numbers = host.zeros(len(tables) + 2 * len(keys))
    numbers[starts] = sizes
    at = host.repeated(host.where(sizes >= 0).tolist(), lengths) + 1 + 2 * host.where(keys >= 0)
    steps = keys + 0
    steps[1:] -= keys[:-1]
    some = host.where(sizes)
    first = (sizes.cumsum(0) - sizes)[some]
    steps[first] = keys[first]
    numbers[at], numbers[at + 1] = steps, counts
    octets, begins = varints(numbers)
    begins = begins[starts].tolist() + [len(octets)]
    payload = []
    for t, coded, begin, end in zip(tables, has_codes, begins, begins[1:]):
        content = octets[begin:end]
        if t.sums and not coded:
            content += b"".join(varint(number) for binade in sorted(t.sums) for number in t.sums[binade])
        n = len(content)
        payload += (b"\2" if coded else b"\1", bytes((n,)) if n < 128 else varint(n), content)
    return b"".join(payload)


SUMMARY = struct.Struct("<IBBH6Q5dQ")


def summaries_of(tables, tensors, type_numbers, factors, parts=None):
    """The summary records, one after the other. parts: 0 without."""
    totals = [totals_of(tables, power) for power in (1, 2)]
    return b"".join(
        SUMMARY.pack(
            tensor, type_number, t.sums is not None, sum_of, t.numel, t.zeros, *t.infinities, 0, t.nans, t.largest, t.least,
            math.nan if factor is None else factor, first, second, t.cut
        )
        for t, tensor, type_number, factor, sum_of, first, second in zip(
            tables, tensors, type_numbers, factors, parts or [0] * len(tables), *totals
        )
    )  # fmt: skip


def totals_of(tables, power):
    """What total() gives of each."""
    if np is None or len(tables) < 8 or any(t.sums is not None for t in tables):
        return [t.total(power) for t in tables]
    owner = np.repeat(np.arange(len(tables)), [len(t.keys) for t in tables])
    weights = host.join([t.counts for t in tables]) * estimates(power)[host.join([t.keys for t in tables])]
    return np.bincount(owner, weights, len(tables)).tolist()  # added one after the other, too


def compressed(payload):
    if len(payload) > 1 << 28:
        raise RecorderError("the tables are larger than a recording holds in one step")
    if not payload:
        return b""
    return struct.pack("<Q", len(payload)) + zlib.compress(payload, 1)
