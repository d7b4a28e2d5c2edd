"""Pins the recorder's tables: every value counted in the cell that exact arithmetic puts it in, whatever counts it."""

import functools
import math
import random
import struct
import unittest
from fractions import Fraction
from unittest import mock

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

TYPES = {"float64": ("<Q", "<d"), "float32": ("<I", "<f"), "float16": ("<H", "<e"), "bfloat16": ("<H", None)}


def value_of(bits, name):
    if name == "bfloat16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    integer, real = TYPES[name]
    return struct.unpack(real, struct.pack(integer, bits))[0]


def slot_of(f):
    """As the table of docs/recording-format.md has it."""
    for c in range(13):
        low, high = 1 - Fraction(1, 2**c), 1 - Fraction(1, 2 ** (c + 1))
        if f < high or c == 12:
            break
    if c > 10:
        return 13 + c
    if c == 2:
        return 4 if f == low else 5 + (f >= Fraction(13, 16)) + (f > Fraction(13, 16))
    return 2 * c + (2 if c > 2 else 0) + (f > low)


def expected(all_bits, name):
    """Counts and sums, value by value, in exact arithmetic."""
    t = {"numel": len(all_bits), "zeros": 0, "infinities": [0, 0], "nans": 0, "cells": {}, "sums": {}, "cut": 0}
    magnitudes = []
    for bits in all_bits:
        x = value_of(bits, name)
        sign = int(math.copysign(1, x) < 0)
        if x == 0:
            t["zeros"] += 1
        elif math.isinf(x):
            t["infinities"][sign] += 1
        elif math.isnan(x):
            t["nans"] += 1
        else:
            magnitudes.append(abs(x))
            k = math.frexp(x)[1] - 1
            significand = abs(Fraction(x)) / Fraction(2) ** k
            key = (sign * 4096 + k + 2048) * 32 + slot_of(significand - 1)
            t["cells"][key] = t["cells"].get(key, 0) + 1
            kept = math.floor(significand * 2**23)
            t["cut"] += kept != significand * 2**23
            sums = t["sums"].setdefault(key // 32, [0, 0])
            sums[0] += kept
            sums[1] += kept**2
    t["extremes"] = [max(magnitudes, default=0), min(magnitudes, default=0)]
    return t


def edges(name):
    """Fractions on, just below and just above every edge, with many exponents and both signs; specials."""
    width, fraction = {"float64": (64, 52), "float32": (32, 23), "float16": (16, 10), "bfloat16": (16, 7)}[name]
    one = 1 << fraction
    fractions = {one - (one >> c) + d for c in range(fraction + 1) for d in (-1, 0, 1)} | {
        (one * 13 >> 4) + d for d in (-1, 0, 1)
    }
    fields = 1 << (width - fraction - 1)
    some = sorted({0, 1, 2, fields // 2 - 3, fields // 2, fields - 2, fields - 1})
    all_bits = [(sign * fields + e) * one + f for sign in (0, 1) for e in some for f in fractions if 0 <= f < one]
    return all_bits + [d for d in range(1, 40)] + [1 << i for i in range(fraction)]


def samples(name):
    width = int(name[-2:])
    draw = random.Random(7)
    any_bits = [draw.getrandbits(width) for _ in range(3000)]
    yield "edges", edges(name)
    yield "any bits", any_bits
    yield "none", []
    yield "one zero", [0]
    yield "nothing finite", [
        ((1 << width) - 1),
        int({"float64": 0x7FF << 52, "float32": 0xFF << 23, "float16": 0x7C00, "bfloat16": 0x7F80}[name]),
    ]
    # More than the recorder counts one by one, in several pieces, with zeros and values of few bits among them.
    if name == "float32":
        normal = [struct.unpack("<I", struct.pack("<f", draw.gauss(0, 1e-4)))[0] for _ in range(20000)]
        yield "normal", normal
        yield "mixed", normal + [b & 0xFFFF0000 for b in normal[:5000]] + [0] * 5000 + any_bits + edges(name)
        yield "bfloat16 values", [b & 0xFFFF0000 for b in normal]
        yield "zeros", [0x80000000] * 17000
        yield "subnormal", [b & 0x807FFFFF for b in normal]


@functools.lru_cache(None)
def samples_expected(name):
    return [(what, all_bits, expected(all_bits, name)) for what, all_bits in samples(name)]


class Counting(unittest.TestCase):
    def check(self, recorder, count):
        for name in TYPES:
            for what, all_bits, right in samples_expected(name):
                with self.subTest(type=name, values=what):
                    for with_sums in (False, True):
                        self.compare(count(name, all_bits, with_sums), right, with_sums)

    def compare(self, table, right, with_sums):
        for count in ("numel", "zeros", "nans"):
            self.assertEqual(getattr(table, count), right[count], count)
        self.assertEqual(list(table.infinities), right["infinities"])
        self.assertEqual([table.largest, table.least], right["extremes"])
        self.assertEqual(list(table.cells()), sorted(right["cells"].items()))
        self.assertEqual(table.sums, right["sums"] if with_sums else None)
        if with_sums:
            self.assertEqual(table.cut, right["cut"])

    def array(self, name, all_bits):
        return np.array(all_bits, {64: np.uint64, 32: np.uint32, 16: np.uint16}[int(name[-2:])])

    def tensor(self, name, all_bits):
        bits = torch.from_numpy(self.array(name, all_bits).view(f"i{int(name[-2:]) // 8}"))
        return bits.view(getattr(torch, name))

    def test_numpy(self):
        recorder = support.load()

        def count(name, all_bits, with_sums):
            values = recorder.Values("x", self.tensor(name, all_bits))
            self.assertIsInstance(values.array, np.ndarray)
            return recorder.tables_of([values], with_sums)[0]

        self.check(recorder, count)

    def test_numpy_without_torch(self):
        recorder = support.load()

        def count(name, all_bits, with_sums):
            array = self.array(name, all_bits)
            with mock.patch.object(recorder, "loaded_torch", lambda: None):
                if name != "bfloat16":
                    return recorder.tables_of([recorder.Values("x", array.view(name))], with_sums)[0]
                return recorder.table_of_bits(array.view("i2"), recorder.TYPES[name], with_sums)

        self.check(recorder, count)

    def test_torch_alone(self):
        recorder = support.load(without=["numpy"])
        self.assertIsNone(recorder.np)

        def count(name, all_bits, with_sums):
            values = recorder.Values("x", self.tensor(name, all_bits))
            self.assertIsInstance(values.array, torch.Tensor)
            return recorder.tables_of([values], with_sums)[0]

        self.check(recorder, count)

    def test_another_device(self):
        """The way that waits for nothing on the device, on this one."""
        recorder = support.load()

        def count(name, all_bits, with_sums):
            bits = self.tensor(name, all_bits).view(getattr(torch, f"int{name[-2:]}"))
            dtype = recorder.TYPES[name]
            with mock.patch.object(recorder, "on_host", recorder.is_numpy):
                vectors = [recorder.vector_of_bits(bits, dtype, with_sums), torch.zeros(7, dtype=torch.int64)]
                (at, counts), (rest, _) = recorder.to_host(vectors)
            self.assertEqual(len(rest), 0)
            return recorder.table_of_entries(at, counts, dtype, len(bits), with_sums)

        self.check(recorder, count)

    def test_memory_on_another_device(self):
        """Not more than some vectors wait there for being copied, however many tensors there are."""
        recorder = support.load()
        copied = []

        def to_host(vectors, of=recorder.to_host):
            copied.append(len(vectors))
            return of(vectors)

        lists = [[0x3F800000 + i, 0x80000000] for i in range(300)]
        with mock.patch.object(recorder, "on_host", recorder.is_numpy), mock.patch.object(recorder, "to_host", to_host):
            values = [recorder.Values("x", self.tensor("float32", bits)) for bits in lists]
            tables = recorder.tables_of(values, True)
        self.assertEqual((copied, [v.vector for v in values]), ([128, 128, 44], [None] * 300))
        for bits, table in zip(lists, tables):
            self.compare(table, expected(bits, "float32"), True)

    def test_many_tensors_at_once(self):
        recorder = support.load()
        draw = random.Random(3)
        lists = [[draw.getrandbits(32) for _ in range(n)] for n in (1, 100, 0, 5000, 20000, 3)]
        tables = recorder.tables_of([recorder.Values("x", self.tensor("float32", bits)) for bits in lists], True)
        for bits, table in zip(lists, tables):
            self.compare(table, expected(bits, "float32"), True)

    def test_merged(self):
        for without in ([], ["numpy"]):
            recorder = support.load(without=without)
            lists = [[], [0, 1 << 31], edges("float32"), [b for _, bits in samples("float32") for b in bits[::50]]]
            tables = recorder.tables_of([recorder.Values("x", self.tensor("float32", bits)) for bits in lists], True)
            self.compare(recorder.merge_tables(tables), expected(sum(lists, []), "float32"), True)

    def test_flushed_subnormals(self):
        """Counting goes by the bits, whether the processor takes subnormal values for zero or not."""
        if not torch.set_flush_denormal(True):
            self.skipTest("this processor cannot flush subnormal values")
        self.addCleanup(torch.set_flush_denormal, False)
        bits = list(range(1, 2000)) + [0x80000001] * 20000
        for without in ([], ["numpy"]):
            recorder = support.load(without=without)
            table = recorder.tables_of([recorder.Values("x", self.tensor("float32", bits))], False)[0]
            self.assertEqual((table.zeros, table.largest), (0, 1999 * 2.0**-149))


class Varints(unittest.TestCase):
    def test_as_one_by_one(self):
        numbers = [0, 1, 127, 128, 300, 2**14 - 1, 2**14, 2**35, 2**62, 2**63 - 1]
        for without in ([], ["numpy"]):
            recorder = support.load(without=without)
            octets, begins = recorder.varints(recorder.array(numbers))
            self.assertEqual(octets, b"".join(map(recorder.varint, numbers)))
            self.assertEqual([octets[b] & 127 for b in begins.tolist()[:-1]], [n & 127 for n in numbers])
        # LEB128's own example.
        self.assertEqual(recorder.varint(624485), bytes([0xE5, 0x8E, 0x26]))


if __name__ == "__main__":
    unittest.main()
