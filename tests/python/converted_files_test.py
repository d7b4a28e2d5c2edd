"""Pins that numpy reads what ulp convert writes, and that float16 is numpy's own astype, bit for bit."""

import unittest

import support

support.need("numpy")

import numpy as np  # noqa: E402


def values(n):
    """Of every magnitude: all bit patterns of float32 have the same chance."""
    random = np.random.default_rng(n)
    return random.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)


class ConvertedFiles(support.InFolder):
    def convert(self, name, output, *options):
        support.ulp("convert", self.path(name), "-o", self.path(output), *options)
        return self.path(output)

    def same_bits(self, one, other):
        self.assertEqual(one.dtype, other.dtype)
        self.assertEqual(one.shape, other.shape)
        unsigned = f"u{one.dtype.itemsize}"
        nan = np.isnan(one)
        np.testing.assert_array_equal(nan, np.isnan(other))
        np.testing.assert_array_equal(one.view(unsigned)[~nan], other.view(unsigned)[~nan])

    def test_float16_is_astype(self):
        with np.errstate(all="ignore"):
            for array in (
                values(2_500_000),
                values(6).reshape(1, 2, 3),
                np.asfortranarray(values(12).reshape(3, 4)),
                values(12).reshape(3, 4).astype(">f4"),
                values(12).astype(np.float64) * 1.0000001,
                np.float32(0.1),
                np.zeros((0, 3), np.float32),
            ):
                np.save(self.path("a.npy"), array)
                read = np.load(self.convert("a.npy", "b.npy", "--to", "fp16"))
                self.same_bits(read, np.asarray(array).astype(np.float16))
                self.assertEqual(read.flags.f_contiguous, np.asarray(array).flags.f_contiguous)

    def test_npz(self):
        arrays = {"w": values(70_000), "é": values(4).reshape(2, 2), "ids": np.arange(5), "text": np.array(["a", "bc"])}
        for save in (np.savez, np.savez_compressed):
            save(self.path("a.npz"), **arrays)
            with np.load(self.convert("a.npz", "b.npz", "--to", "fp16")) as read, np.errstate(all="ignore"):
                self.assertEqual(sorted(read.files), sorted(arrays))
                for name in ("w", "é"):
                    self.same_bits(read[name], arrays[name].astype(np.float16))
                for name in ("ids", "text"):
                    np.testing.assert_array_equal(read[name], arrays[name])

    def test_values_and_raw(self):
        array = values(1000)
        with np.errstate(all="ignore"):
            expected = array.astype(np.float16)
        np.save(self.path("a.npy"), array)
        self.same_bits(np.load(self.convert("a.npy", "v.npy", "--to", "fp16", "--values")), expected.astype(np.float32))
        self.same_bits(np.fromfile(self.convert("a.npy", "r.bin", "--to", "fp16"), np.float16), expected)
        back = self.convert("r.bin", "b.npy", "--dtype", "u16", "--from", "fp16", "--to", "fp32")
        self.same_bits(np.load(back), expected.astype(np.float32))


if __name__ == "__main__":
    unittest.main()
