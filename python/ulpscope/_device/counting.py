"""Counts many tensors on a CUDA device in a few launches, for which nothing waits: python/device/count.hpp has the kernels."""

import contextlib
import ctypes
import functools
import os

from .._counting import host
from .._counting.bits import Rows, table_of_rows
from .._counting.cells import SLOTS
from .._counting.compiled import counting as compiled
from .._counting.tables import as_compiled
from .._counting.types import TYPES_BY_NUMBER, table_of_codes
from .._errors import RecorderError
from . import driver

# As count.hpp has them.
COUNTERS = 27
BATCH, HEADER, SUM_WORDS = 6, 6, 4  # words
TABLE_HEAD = 24
LIMBS, SUMS = 6, 3
PADDING = 48
MOST_VALUES = 1 << 31  # of a tensor
MOST_AT_ONCE = 1 << 20  # of a piece

THREADS = {8: 512, 16: 1024, 32: 512, 64: 512}  # of a block, by bits of a value
THREADS_WITH_SUMS = {**THREADS, 32: 768}
OVERHEAD = 1 << 13  # what a tensor costs besides its values, in values
TABLES = 32 << 20  # bytes of tables on a device that are used at once
STREAMS = 4  # that keep their tables
ROOM = 24 << 20  # bytes of results that are on a device at once


def rows_of(dtype):
    return dtype.rows + 2 * dtype.fraction


def counters_of(dtype):
    return 1 << dtype.bits if dtype.bits <= 16 else rows_of(dtype) * COUNTERS


def table_bytes(dtype, with_sums):
    """Of a tensor that several blocks count."""
    sums = with_sums and dtype.bits > 16
    size = TABLE_HEAD + 4 * counters_of(dtype) + 8 * (SUMS + 1) * rows_of(dtype) * sums
    return -(-size // 16) * 16


def result_words(dtype, numel, with_sums):
    """As many as there can be."""
    words = min(numel, counters_of(dtype))
    if with_sums and dtype.bits > 16:
        words += SUM_WORDS * min(numel, rows_of(dtype))
    return words


class Launch:
    """Tensors of one type, and how blocks share their values."""

    def __init__(self, number, with_sums, device):
        dtype = self.dtype = TYPES_BY_NUMBER[number]
        bits = dtype.bits
        self.name = f"count_codes{bits}" if bits <= 16 else ("sum_" if with_sums else "count_") + dtype.name
        self.threads, self.windows = (THREADS_WITH_SUMS if with_sums else THREADS)[bits], 1
        while True:  # until the counters of a window are no more than a block can have
            table = {8: 8 * self.threads, 16: (1 << 15) // self.windows, 64: 0}.get(bits)
            if bits == 32:
                table = rows_of(dtype) // self.windows * (COUNTERS + LIMBS * with_sums) + LIMBS * PADDING * with_sums
            self.shared = 4 * (4 + table)
            if self.shared <= driver.shared_limit(device):
                break
            self.windows *= 2
        blocks = driver.kernel("count", self.name, device).blocks_at_once(self.threads, self.shared)
        self.slots = max(1, blocks // self.windows)
        self.table_bytes = table_bytes(dtype, with_sums)
        self.tensors = []  # their numbers
        self.tables = 0  # bytes of theirs
        self.first, self.of_tensors, self.of_pieces, self.owners = [0], [], [], []

    def share(self, kinds):
        """Divides the values of its tensors among blocks. Returns those for which there is no table left."""
        share = sum(kinds[i][0] + OVERHEAD for i in self.tensors) // self.slots + OVERHEAD
        used, tensors, self.tensors = 0, self.tensors, []
        for at, i in enumerate(tensors):
            numel, parts, begin = kinds[i][0], 0, 0
            used += OVERHEAD
            pieces = []
            while begin < numel or parts == 0:
                if used >= share:
                    pieces.append(None)
                    used = 0
                n = min(numel - begin, MOST_AT_ONCE, max(share - used, OVERHEAD) // 64 * 64)
                n = numel - begin if numel - begin - n < OVERHEAD and numel - begin <= MOST_AT_ONCE else n
                pieces.append((begin * self.dtype.bits // 8, n | len(self.of_tensors) << 32))
                begin, used, parts = begin + n, used + n, parts + 1
            alone = self.windows == parts == 1 and self.dtype.bits < 64 and (self.dtype.bits != 16 or numel < 1 << 15)
            if not alone and self.tables + self.table_bytes > max(TABLES, self.table_bytes):
                self._end()
                return tensors[at:]
            for piece in pieces:
                if piece is None:
                    self.first.append(len(self.of_pieces))
                else:
                    self.of_pieces.append(piece)
                    self.owners.append(i)
            self.of_tensors.append((0 if alone else self.tables + 1, parts * self.windows | i << 32))
            self.tables += 0 if alone else self.table_bytes
            self.tensors.append(i)
        self._end()
        return []

    def _end(self):
        self.first = [at for i, at in enumerate(self.first) if i == 0 or at > self.first[i - 1]]
        if self.first[-1] < len(self.of_pieces):
            self.first.append(len(self.of_pieces))


def as_host_array(numbers):
    return host.array(numbers) if numbers else host.zeros(0)


def data_of(array):
    return array.ctypes.data if host.np is not None else array.data_ptr()


class Plan:
    """How tensors of certain types and numbers of values are counted, wherever they lie."""

    def __init__(self, kinds, with_sums, device, room):
        """kinds: pairs of number of values and type; room: bytes of results that are on the device at once."""
        self.kinds, self.with_sums, self.launches = kinds, with_sums, []
        for number in sorted({number for _, number in kinds}):
            left = [i for i, kind in enumerate(kinds) if kind[1] == number]
            while left:
                launch = Launch(number, with_sums, device)
                launch.tensors = left
                left = launch.share(kinds)
                self.launches.append(launch)
        self.table_bytes = max((launch.tables for launch in self.launches), default=0)
        words = [result_words(TYPES_BY_NUMBER[number], numel, with_sums) for numel, number in kinds]
        self.room = min(sum(words), room // 8)
        more = sum(words) - self.room
        # What the host writes and the device reads, by words: the batch; then of each launch tensors, pieces and whose they are.
        numbers, at, self.moved, self.owners, self.based = [], BATCH, [], [], []
        for launch in self.launches:
            launch.tensors_at, launch.pieces_at = at, at + 2 * len(launch.of_tensors)
            launch.first_at = launch.pieces_at + 2 * len(launch.of_pieces)
            pairs = launch.of_tensors + launch.of_pieces
            firsts = launch.first + [0] * (len(launch.first) % 2)
            pairs += [(a | b << 32,) for a, b in zip(firsts[::2], firsts[1::2])]
            numbers += [number for pair in pairs for number in pair]
            self.based += [launch.tensors_at + 2 * k for k, (table, _) in enumerate(launch.of_tensors) if table]
            self.moved += range(launch.pieces_at, launch.first_at, 2)
            self.owners += launch.owners
            at += len(numbers) - (at - BATCH)
        at += at % 2
        self.described = host.zeros(at)
        self.described[BATCH : BATCH + len(numbers)] = host.array(numbers)
        self.based, self.moved, self.owners = (as_host_array(of) for of in (self.based, self.moved, self.owners))
        self.described[self.based] -= 1  # which told them from 0
        self.header_words = HEADER * len(kinds)
        self.header_words += self.header_words % 2
        self.device_words = at + self.header_words + self.room + self.room % 2
        self.host_words = self.device_words + (more + max(words) if more else 0)

    def describe(self, addresses, shared, device, tables):
        """Writes what the kernels read. addresses: of the values, an array; shared, device: where the words are on the host and
        there; tables: those of the device."""
        at = len(self.described)
        stage = at + self.header_words
        batch = [0, 0, self.room, device + 8 * stage, shared + 8 * (stage + self.room), device + 8 * at]
        if compiled is not None and host.np is not None:
            compiled.describe(shared, self.described, batch, self.based, tables, self.moved, addresses, self.owners)
            return
        words = self.described + 0
        words[:BATCH] = as_host_array(batch)
        words[self.based] += tables
        words[self.moved] += addresses[self.owners]
        ctypes.memmove(shared, data_of(words), 8 * at)

    def launch(self, at, device, stream):
        """at: address of what is described, on the device."""
        for of in self.launches:
            addresses = at + 8 * of.first_at, at + 8 * of.pieces_at, at + 8 * of.tensors_at, at
            kernel = driver.kernel("count", of.name, device)
            kernel.launch((len(of.first) - 1, of.windows), of.threads, [*map(ctypes.c_uint64, addresses)], of.shared, stream)

    def carry(self, at, host, device, stream):
        arguments = ctypes.c_uint64(at), ctypes.c_uint64(host + 8 * len(self.described)), ctypes.c_uint64(self.header_words)
        driver.kernel("count", "carry", device).launch((8, 1), 512, arguments, 0, stream)


@functools.lru_cache(256)
def plan_of(kinds, with_sums, device, room):
    return Plan(kinds, with_sums, device, room)


class Pool:
    """Memory that host and device share, kept for the next step."""

    def __init__(self):
        self._free, self._dropped = {}, []

    def drop(self, started):
        """What nobody asks for, and is still being written."""
        self._dropped.append(started)

    def take(self, size):
        dropped, self._dropped = self._dropped, []
        for started in dropped:
            started.leave() if started.has_come() else self.drop(started)
        step = 1 << max(16, size.bit_length() - 3)
        rounded = -(-size // step) * step
        try:
            return self._free.setdefault(rounded, []).pop()
        except IndexError:
            return driver.HostMemory(rounded)

    def give_back(self, memory):
        self._free[memory.size].append(memory)


pool = Pool()
tables_on = {}  # by device and stream: memory that holds zeros whenever no kernel runs there


def tables_for(device, stream, size):
    known = tables_on.get((device, stream))
    if known is None or known.numel() < size:
        tables_on.pop((device, stream), None)
        while len(tables_on) >= STREAMS:
            tables_on.pop(next(iter(tables_on)))
        known = tables_on[device, stream] = driver.zeros(-(-size // (1 << 20)) << 20)
    return known.data_ptr()


class Started:
    """Tensors that are being counted."""

    def __init__(self, kinds, addresses, with_sums, device, worker=None, groups=None):
        """kinds: (number of values, type) of each; addresses: an array of where these are; what the device's current stream has
        so far makes them. worker: makes their tables once they are there, and what is written of these groups."""
        with driver.on(device):
            stream = driver.stream(device)
            plan = plan_of(kinds, with_sums, device, ROOM)
            try:
                on_device = driver.memory(8 * plan.device_words)
            except driver.OutOfMemory:  # results go to the host one by one, which takes longer
                plan = plan_of(kinds, with_sums, device, 0)
                on_device = driver.memory(8 * plan.device_words)
            self._plan = plan
            tables, at = tables_for(device, stream, plan.table_bytes) if plan.table_bytes else 0, on_device.data_ptr()
            host = self._host = pool.take(8 * plan.host_words)  # last of what may fail: nobody gives it back then
            plan.describe(addresses, host.address, at, tables)
            driver.copy_to_device(at, host.address, 8 * len(plan.described), stream)
            plan.launch(at, device, stream)
            self._done = driver.on_the_side(device, on_device, functools.partial(plan.carry, at, host.address, device))
        self._tables, self._process, self.arriving = None, os.getpid(), None
        if worker is not None:
            headers = host.address + 8 * len(plan.described)
            words = headers + 8 * plan.header_words
            self.arriving = compiled.Arriving(worker, *driver.waiting(self._done), headers, words, kinds, with_sums, groups)
        self._in_use = [(self._done, host)]

    def tables(self):
        """Waits for them."""
        if self._tables is None:
            if os.getpid() != self._process:
                raise RecorderError("a fork has nothing of what its parent began to count")
            if self.arriving is not None:
                tables = self.arriving.tables()
            else:
                self._done.synchronize()
                if self._tables is not None:  # a signal's handler asked meanwhile
                    return self._tables
                tables = tables_in(self._host.address + 8 * len(self._plan.described), self._plan)
            self._tables = tables
            self.leave()
        return self._tables

    def has_come(self):
        """Whether tables() would not wait."""
        return self._done.is_past() and (self.arriving is None or self.arriving.is_done())

    def leave(self):
        """Others may use its memory."""
        with contextlib.suppress(IndexError):  # another thread, or a signal's handler, was here
            done, host = self._in_use.pop()
            done.free()
            pool.give_back(host)

    def __del__(self):
        if getattr(self, "_in_use", None) and os.getpid() == self._process:
            pool.drop(self)


def start(places, with_sums, device):
    """places: (address, number of values, type) of each."""
    addresses = as_host_array([address for address, *_ in places])
    return Started(tuple((n, number) for _, n, number in places), addresses, with_sums, device)


def tables_in(headers, plan):
    words = headers + 8 * plan.header_words
    if compiled is not None:
        return compiled.device_tables(headers, words, plan.kinds, plan.with_sums)
    return [
        as_compiled(table_at(headers + 8 * HEADER * i, words, numel, TYPES_BY_NUMBER[number], plan.with_sums))
        for i, (numel, number) in enumerate(plan.kinds)
    ]


def words_at(address, n):
    return (ctypes.c_uint64 * n).from_address(address)[:]


def table_at(header, words, numel, dtype, with_sums):
    counts, sums, largest, least, counts_at, sums_at = words_at(header, HEADER)
    sums = words_at(words + 8 * sums_at, SUM_WORDS * sums)
    counts = words_at(words + 8 * counts_at, counts)
    at, of = [word >> 32 for word in counts], [word & 0xFFFFFFFF for word in counts]
    if dtype.bits <= 16:
        codes = host.zeros(1 << dtype.bits)
        if at:
            codes[host.array(at)] = host.array(of)
        return table_of_codes(codes, dtype, with_sums)
    rows, exponents, fraction = dtype.rows, dtype.rows // 2, dtype.fraction
    keys, sums = of_slots(at, of), list(zip(*(sums[i::SUM_WORDS] for i in range(SUM_WORDS))))
    parts = []
    for begin, end in (0, rows), (rows, rows + 2 * fraction):  # of normal values, and of subnormal ones as floats
        here = [((row, slot), n) for (row, slot), n in keys if begin <= row < end]

        def row_of(row, begin=begin):
            sign, binade = divmod(row - rows, fraction)
            return row if begin == 0 else sign * exponents + binade + dtype.bias

        pairs = sorted((row_of(row) * SLOTS + slot, n) for (row, slot), n in here)
        of_rows = None
        if with_sums:
            of_rows = [host.zeros(rows) for _ in range(4)]
            for first, significands, low, high in sums:
                if begin <= first & 0xFFFFFFFF < end:
                    for to, n in zip(of_rows, (significands, high, low, first >> 32)):
                        to[row_of(first & 0xFFFFFFFF)] = n
        parts.append(Rows(*(host.array([pair[i] for pair in pairs] or [0])[: len(pairs)] for i in (0, 1)), of_rows))
    return table_of_rows(*parts, dtype, numel, largest, least)


def slot_of_counter(counter):
    if counter > 24:
        return counter - 19  # 13/16, and above
    if counter > 21:
        return 24 if counter < 24 else 25
    return counter + 2 if counter > 5 else counter


def of_slots(at, counts):
    """Pairs of (row, slot) and count: two counters may be of one slot."""
    total = {}
    for counter, n in zip(at, counts):
        key = counter // COUNTERS, slot_of_counter(counter % COUNTERS)
        total[key] = total.get(key, 0) + n
    return total.items()
