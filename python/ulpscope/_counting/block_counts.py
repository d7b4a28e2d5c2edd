"""Counts blocks in operations of numpy or torch on the bits of float32 numbers: on the host, and on other devices, where nothing
waits for the device.

Each element has a row and a slot, and so an index by which it is counted. The row is that of its block, which tells the place and,
near the ends, the exponent of the block's largest number, plus the binades that it lies below that; the slot is its sign and place.
Which places there are: ulp/model/cells/block_table.hpp.
"""

import functools
import struct

from . import host
from .bits import float_bits, histogram, is_numpy, on_host, widened
from .block_tables import BlockTable, joined
from .host import loaded_torch, np

FRACTION, BIAS, INFINITY, MOST = 23, 127, 0x7F800000, 0x7FFFFFFF
LOW = (1 << FRACTION) - 1
SUBNORMAL = 149  # binades by which subnormal numbers, made floats as integers, lie too high
# The last fractions of the places of a block's largest number; edges of those of an element, in 128ths.
AMAX_ENDS = [0, 0x400000, 0x5FFFFF, 0x600000, 0x6FFFFF, 0x700000, 0x77FFFF, 0x7FFFBF, LOW]
EDGES = [0, 64, 96, 104, 112, 120, 124, 126, 127]
PLACES, ELEMENT_PLACES = len(AMAX_ENDS), 2 * len(EDGES)
IGNORED = 2 * ELEMENT_PLACES  # the slot of zeros
SLOTS = IGNORED + 1
LEAST, GREATEST = -110, 126  # exponents of ordinary blocks
DEEP = 277  # binades from the greatest exponent to the least
LOW_ENDS = LEAST + SUBNORMAL  # exponents below the ordinary ones
# Classes of blocks: ordinary by place; the others by exponent and place; of zeros, with infinities, with NaN.
OF_ZEROS = PLACES * (2 + LOW_ENDS)
OF_INFINITY, OF_NAN, CLASSES = OF_ZEROS + 1, OF_ZEROS + 2, OF_ZEROS + 3
NOT_FINITE_ROWS = 278  # by exponent field, from 255 down to that of the least subnormal number


@functools.lru_cache(None)
def codes(device=None):
    """By sign, exponent field, seven bits of the fraction, and whether any other is set: the slot, less SLOTS for each of the
    field. Numbers below the normal ones are taken for zeros."""
    edge_of = [max(i for i, edge in enumerate(EDGES) if edge <= u) for u in range(128)]
    places = [[2 * edge_of[u] + (more or u not in EDGES) for more in (0, 1)] for u in range(128)]
    of = [
        IGNORED if field == 0 else -field * SLOTS + sign * ELEMENT_PLACES + places[u][more]
        for sign in (0, 1)
        for field in range(256)
        for u in range(128)
        for more in (0, 1)
    ]
    return array_of(of, device)


def array_of(numbers, device):
    """Of 32 bits; numpy's without a device."""
    torch = loaded_torch()
    return np.array(numbers, np.int32) if device is None else torch.tensor(numbers, dtype=torch.int32, device=device)


@functools.lru_cache(None)
def amax_ends(device=None):
    return array_of(AMAX_ENDS, device)


@functools.lru_cache(None)
def float32_bits(dtype, device=None):
    """Of each code of a 16- or 8-bit type."""
    of = []
    for code in range(1 << dtype.bits):
        magnitude, negative = code & dtype.most, code > dtype.most
        if magnitude < dtype.finite and (code != dtype.most + 1 or dtype.finite <= dtype.most):
            bits = struct.unpack("<i", struct.pack("<f", dtype.magnitude(magnitude)))[0]
        else:
            bits = INFINITY + (magnitude != dtype.infinity)
        of.append(bits - negative * (1 << 31))
    return array_of(of, device)


def device_of(array):
    return None if is_numpy(array) else array.device


def narrowed(array):
    return array.astype(np.int32) if is_numpy(array) else array.int()


def as_host_array(array):
    return array if np is None or is_numpy(array) else array.numpy()


def taken(table, at):
    """Elements of a table, at indices of any shape."""
    return table.take(at) if is_numpy(at) else table.index_select(0, at.reshape(-1)).reshape(at.shape)


def as_float32(bits, dtype):
    """The bits of the same numbers."""
    if dtype.bits == 32:
        return bits
    bits = narrowed(bits)
    if dtype.name == "bfloat16":
        return bits << 16
    return taken(float32_bits(dtype, device_of(bits)), bits & (2 * dtype.most + 1))


def normalised(magnitudes):
    """Subnormal numbers as floats that lie SUBNORMAL binades too high; and which are."""
    are = (magnitudes <= LOW) * (magnitudes > 0)
    return magnitudes + (float_bits(magnitudes) - magnitudes) * are, are


def blocked(bits, height, width):
    """Rows of a matrix by row of blocks, row, block and column. What lacks at the edges is 0."""
    rows, columns = bits.shape
    down, across = -(-rows // height), -(-columns // width)
    if rows % height or columns % width:
        shape = down * height, across * width
        whole = np.zeros(shape, np.int32) if is_numpy(bits) else bits.new_zeros(shape)
        whole[:rows, :columns] = bits
        bits = whole
    return bits.reshape(down, height, across, width)


def largest_of(bits):
    """Of each block, as bits without the sign."""
    return largest_in(bits & MOST)


def largest_in(magnitudes):
    if not is_numpy(magnitudes):
        return magnitudes.amax((1, 3))
    rows = magnitudes.max(1) if magnitudes.shape[1] > 1 else magnitudes[:, 0]
    return np.maximum.reduceat(rows.reshape(-1), np.arange(0, rows.size, magnitudes.shape[3])).reshape(rows.shape[:2])


def extremes_of(bits):
    """The same, and the exponent field of the least number that is not zero, below 1 where it is subnormal; on the host."""
    magnitudes = bits & MOST
    largest = largest_in(magnitudes)
    magnitudes -= 1
    magnitudes &= MOST  # zero becomes the largest
    least = int(magnitudes.min()) + 1
    return largest, least >> FRACTION if least > LOW else least.bit_length() - FRACTION


def chunks_of(bits):
    """Rows of blocks whose temporary arrays stay in the cache, as far as a row does."""
    step = max(1, CHUNK // (bits.shape[1] * bits.shape[2] * bits.shape[3]))
    return [bits[at : at + step] for at in range(0, len(bits), step)]


class Layout:
    """Rows by which elements are counted. rows: binades of each place of ordinary blocks; greatest: exponent field of these;
    with_others: whether blocks with infinities and NaN are told apart, with_ends: and those near the ends."""

    def __init__(self, rows, greatest, with_others, with_ends=False):
        self.rows, self.with_others, self.with_ends = rows, with_others, with_ends
        self.not_finite = PLACES * rows  # of blocks with infinities, then of those with NaN
        self.ends = self.not_finite + with_others * 2 * NOT_FINITE_ROWS
        self.top = self.ends + with_ends * PLACES * LOW_ENDS * (LOW_ENDS + 1) // 2
        # Zeros lie anywhere up to there.
        self.size = SLOTS * max(self.top + with_ends * PLACES * DEEP, (PLACES - 1) * rows + greatest + 1)

    def first_rows(self, amax, are_ordinary=False):
        """Of blocks, those of an element with the exponent field 0; and the classes of the blocks. amax: bits."""
        bits, are_subnormal = (amax, False) if are_ordinary else normalised(amax)
        ends, fraction = amax_ends(device_of(amax)), bits & LOW
        place = narrowed(np.searchsorted(ends, fraction) if is_numpy(amax) else loaded_torch().searchsorted(ends, fraction))
        field = bits >> FRACTION
        if are_ordinary:
            return place * self.rows + field, place
        field = field - SUBNORMAL * are_subnormal
        ordinary = (field >= LEAST + BIAS) & (field <= GREATEST + BIAS)
        is_finite, is_nan, is_zero = amax < INFINITY, amax > INFINITY, amax == 0
        row = ordinary * (place * self.rows + field) + ~is_finite * (self.not_finite + 255 + NOT_FINITE_ROWS * is_nan)
        of = ordinary * place + is_zero * OF_ZEROS + ~is_finite * (OF_INFINITY + 1 * is_nan)
        if self.with_ends:
            at_end = is_finite & ~is_zero & ~ordinary
            x = field - BIAS + SUBNORMAL  # 0 for the least exponent
            is_low = x < LOW_ENDS
            of = of + at_end * (PLACES * (1 + is_low * x + ~is_low * LOW_ENDS) + place)
            low = self.ends + PLACES * (x * (x + 1) >> 1) + place * (x + 1) + field
            row = row + at_end * (is_low * low + ~is_low * (self.top + place * DEEP + field))
        return narrowed(row), of

    def cells(self, at, counts):
        """Keys and counts of cells, and of blocks with infinities and with NaN what these hold: numbers, infinities and NaNs.
        at, counts: indices that occur, and how often."""
        row, slot = at // SLOTS, at % SLOTS
        some = host.where(slot != IGNORED)
        row, slot, counts = row[some], slot[some], counts[some]
        pairs, starts = [], self._ends()

        def keep(begin, end, parts):
            """Rows of one kind: parts tells class and binades of a row, counted from the first of the kind."""
            here = host.where((row >= begin) & (row < end))
            of, below = parts(row[here] - begin)
            sign, place = slot[here] // ELEMENT_PLACES, slot[here] % ELEMENT_PLACES
            pairs.append((((of * 512 + below) * 2 + sign) * 32 + place, counts[here]))

        keep(0, self.not_finite, lambda at: (at // self.rows, at % self.rows))
        if self.with_ends:

            def low(at):
                i = host.last_below(starts, at)
                return (i // PLACES + 1) * 16 + i % PLACES, at - starts[i]

            keep(self.ends, self.top, low)
            exponent = GREATEST + 1 + SUBNORMAL + 1
            keep(self.top, self.top + PLACES * DEEP, lambda at: (exponent * 16 + at // DEEP, at % DEEP))
        specials = []
        for kind in (0, 1) if self.with_others else ():
            first = self.not_finite + kind * NOT_FINITE_ROWS
            here = (row >= first) & (row < first + NOT_FINITE_ROWS)
            is_edge = slot % ELEMENT_PLACES == 0
            which = here & (row > first), here & (row == first) & is_edge, here & (row == first) & ~is_edge
            specials.append([int(counts[of].sum()) for of in which])
        return joined(pairs), specials or [[0] * 3, [0] * 3]

    @staticmethod
    @functools.lru_cache(None)
    def _ends():
        return host.array([PLACES * (x * (x + 1) // 2) + place * (x + 1) for x in range(LOW_ENDS) for place in range(PLACES)])


WHOLE = Layout(DEEP, GREATEST + BIAS, True, True)


def indices_of(bits, rows, with_subnormal):
    """By which elements are counted. bits: blocked; rows: of their blocks."""
    magnitudes = bits
    if with_subnormal:
        magnitudes, are = normalised(bits & MOST)
        bits = bits & ~MOST | magnitudes
    at = bits & 0x7FFF
    at += 0x7FFF
    at |= bits  # the bit 2^15 is set if it or any below it was
    at >>= 15
    at &= 0x1FFFF
    at = taken(codes(device_of(bits)), at)
    at += (rows * SLOTS)[:, None, :, None]
    if with_subnormal:
        at += narrowed(are) * (SUBNORMAL * SLOTS)
    return at


def pieces_of(rows, columns, height, width, most):
    """Ranges of columns and, as lists, of rows: whole blocks, of at most so many elements, or parts of one block."""
    if height * columns <= most:
        step = most // (height * columns) * height
        return (((0, columns), [(row, min(row + step, rows))]) for row in range(0, rows, step))
    across, down = max(1, most // (height * width)) * width, max(1, min(height, most // width))
    return (
        ((column, min(column + across, columns)), [(at, min(at + down, row + height, rows)) for at in range(row, min(row + height, rows), down)])
        for row in range(0, rows, height)
        for column in range(0, columns, across)
    )


def sizes_of(begin, end, step, like):
    """Elements of each block between two bounds, on the device of another array."""
    n, last = -(-(end - begin) // step), (end - begin - 1) % step + 1
    sizes = np.full(n, step) if is_numpy(like) else loaded_torch().full((n,), step, device=like.device)
    sizes[-1:] = last
    return sizes


class Counts:
    """Of the blocks of one extent of a matrix: what is counted of each piece."""

    def __init__(self, extent, numel):
        self.extent, self.numel = extent, numel
        self.blocks = self.elements = self.ends = self.counts = None  # of classes; of ordinary blocks; by index, on a device
        self.cells, self.specials = [], [[0] * 3, [0] * 3]  # on the host

    def add_blocks(self, amax, of, sizes):
        """Of those in a piece: their classes, and how many elements each has; a number where all have as many."""
        ordinary = of < PLACES
        ends = [widened((amax | ~ordinary * MOST) & MOST).min(), widened(amax * ordinary).max()]
        of = widened(of).reshape(-1)
        blocks = histogram(of, CLASSES)
        if isinstance(sizes, int):
            elements = blocks * sizes
        else:
            sizes = sizes.reshape(-1)
            elements = widened(histogram(of, CLASSES, sizes * 1.0 if on_host(amax) else sizes))
        if self.blocks is not None:
            both = np if is_numpy(amax) else loaded_torch()
            blocks, elements = self.blocks + blocks, self.elements + elements
            ends = both.minimum(ends[0], self.ends[0]), both.maximum(ends[1], self.ends[1])
        self.blocks, self.elements, self.ends = blocks, elements, ends

    def add_on_host(self, parts, rows, layout, with_subnormal):
        counts = 0
        for part in parts:
            begin = 0
            for bits in chunks_of(part):
                at = indices_of(bits, rows[begin : begin + len(bits)], with_subnormal)
                counts = counts + histogram(at.reshape(-1), layout.size)
                begin += len(bits)
        counts = as_host_array(counts)
        at = host.where(counts)
        cells, specials = layout.cells(at, counts[at])
        self.cells.append(cells)
        for to, more in zip(self.specials, specials):
            to[:] = [a + b for a, b in zip(to, more)]

    def add_on_device(self, bits, rows):
        torch = loaded_torch()
        at = indices_of(bits, rows, True).reshape(-1).long()
        dtype = torch.int32 if self.numel < 1 << 31 else torch.int64
        if self.counts is None:
            self.counts = torch.zeros(WHOLE.size, dtype=dtype, device=bits.device)
        self.counts.scatter_add_(0, at, torch.ones(1, dtype=dtype, device=bits.device).expand(len(at)))

    def table(self):
        """What was counted, once it is on the host: blocks, elements, ends."""
        none = host.zeros(0), host.zeros(0)
        if self.blocks is None:
            return BlockTable(self.extent, 0, 0, 0, 0, [0] * 5, [0] * 5, None, none, none)
        blocks, elements = self.blocks.tolist(), self.elements.tolist()
        cells = joined(self.cells)
        keys = [place for place in range(PLACES)]
        keys += [(x + 1) * 16 + place for x in (*range(LOW_ENDS), GREATEST + 1 + SUBNORMAL) for place in range(PLACES)]
        classes = [(key, n) for key, n in zip(keys, blocks) if n > 0]
        not_finite = [[blocks[of], elements[of] - sum(its), *its] for of, its in zip((OF_INFINITY, OF_NAN), self.specials)]
        return BlockTable(
            self.extent,
            self.numel,
            sum(elements[:OF_ZEROS]) - int(cells[1].sum()),
            blocks[OF_ZEROS],
            elements[OF_ZEROS],
            *not_finite,
            tuple((int(bits) >> FRACTION) - BIAS for bits in self.ends) if sum(blocks[:PLACES]) else None,
            tuple(host.array(of) for of in zip(*classes)) if classes else none,
            cells,
        )


PIECE, CHUNK = 1 << 20, 1 << 16  # elements on the host
DEVICE_PIECE = 1 << 22


def count(bits, dtype, extent, is_on_device):
    """Counts of a matrix of bits."""
    rows, columns = bits.shape
    counts = Counts(extent, rows * columns)
    if counts.numel == 0:
        return counts
    height, width = min(extent[0], rows), min(extent[1], columns)
    for (left, right), ranges in pieces_of(rows, columns, height, width, DEVICE_PIECE if is_on_device else PIECE):
        first, last = ranges[0][0], ranges[-1][1]

        def part(begin, end, left=left, right=right, is_whole=len(ranges) == 1):
            return blocked(as_float32(bits[begin:end, left:right], dtype), height if is_whole else end - begin, width)

        parts = [part(*ranges[0])] if len(ranges) == 1 else (part(*of) for of in ranges)
        if is_on_device:
            amax = largest_of_parts([largest_of(of) for of in parts])
            its_rows, of = WHOLE.first_rows(amax)
        else:
            found = [extremes_of(of) for whole in parts for of in chunks_of(whole)]
            amax = [largest for largest, _ in found]
            amax = joined_rows(amax) if len(ranges) == 1 else largest_of_parts(amax)
            layout, are_ordinary = layout_of(amax, min(least for _, least in found))
            its_rows, of = layout.first_rows(amax, are_ordinary)
        sizes = height * width
        if (last - first) % height or (right - left) % width:
            sizes = sizes_of(first, last, height, amax)[:, None] * sizes_of(left, right, width, amax)
        counts.add_blocks(amax, of, sizes)
        parts = parts if len(ranges) == 1 else (part(*of) for of in ranges)
        if is_on_device:
            for of in parts:
                counts.add_on_device(of, its_rows)
        else:
            counts.add_on_host(parts, its_rows, layout, min(least for _, least in found) < 1)
    return counts


def joined_rows(arrays):
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if is_numpy(arrays[0]) else loaded_torch().cat(arrays)


def largest_of_parts(arrays):
    return functools.reduce((np if is_numpy(arrays[0]) else loaded_torch()).maximum, arrays)


def layout_of(amax, least):
    """A small one that suffices for blocks on the host, and whether all are ordinary. least: field of the least element."""
    low, high = LEAST + BIAS << FRACTION, GREATEST + 1 + BIAS << FRACTION
    largest = int(amax.max())
    if low <= int(amax.min()) and largest < high:
        return Layout((largest >> FRACTION) - least + 1, largest >> FRACTION, False), True
    if bool(((amax > 0) & ((amax < low) | (amax >= high)) & (amax < INFINITY)).any()):
        return WHOLE, False
    greatest = int((amax * (amax < high)).max()) >> FRACTION
    return Layout(max(greatest - least, 0) + 1, greatest, largest >= high), False


def tables_on_host(waiting):
    """Of Counts that devices have, for which the host waits; these stay as they are."""
    torch, tables = loaded_torch(), {}
    for device in {of.blocks.device for of in waiting if of.numel}:
        here = [of for of in waiting if of.numel and of.blocks.device == device]
        few = torch.stack([torch.cat((of.blocks, of.elements, torch.stack(tuple(of.ends)))) for of in here]).cpu().tolist()
        for of, numbers in zip(here, few):
            at = of.counts.nonzero().flatten()
            pair = torch.stack((at, of.counts[at].long())).cpu()
            at, its = pair.numpy() if np is not None else pair
            on_host = Counts(of.extent, of.numel)
            cells, on_host.specials = WHOLE.cells(at, its)
            on_host.cells = [cells]
            on_host.blocks, on_host.elements = host.array(numbers[:CLASSES]), host.array(numbers[CLASSES:-2])
            on_host.ends = numbers[-2:]
            tables[id(of)] = on_host.table()
    return [tables[id(of)] if of.numel else of.table() for of in waiting]
