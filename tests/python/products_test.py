"""dot and exact_dot beside exact fractions and loops of numpy, matmul beside dot and `ulp matmul`."""

import os
import subprocess
import tempfile
import unittest
from fractions import Fraction

import support

support.need("numpy")
support.need_compiled()

import numpy as np

try:
    import torch
except ImportError:
    torch = None

import ulpscope


class Dot(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(9)
        self.a, self.b = random.standard_normal((2, 1000)).astype(np.float16)

    def test_exact(self):
        exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(self.a, self.b))
        for c in (0.0, 1e-300, -3.5):
            total = exact + Fraction(c)
            made = ulpscope.exact_dot(self.a, self.b, "fp32", c=c)
            self.assertEqual(made, float(np.float32(float(total))))  # far from a midpoint of float32's
            low = ulpscope.exact_dot(self.a, self.b, "bf16", "toward-negative", c=c)
            high = ulpscope.exact_dot(self.a, self.b, "bf16", "toward-positive", c=c)
            self.assertTrue(low < total < high)
            self.assertLess(high - low, abs(low) * 2.0**-6)
        self.assertEqual(ulpscope.exact_dot([1e300, 1.0, -1e300], [1e300, 1.0, 1e300]), 1)

    def test_float32_one_after_the_other_as_a_loop_of_numpy(self):
        total = np.float32(0.5)
        for x, y in zip(self.a, self.b):
            total = total + np.float32(x) * np.float32(y)  # products of float16 are exact in float32
        self.assertEqual(ulpscope.dot(self.a, self.b, c=0.5), float(total))
        self.assertEqual(ulpscope.dot(self.a[::-1].copy()[::-1], self.b, c=0.5), float(total))

    def test_pairwise(self):
        def tree(terms):
            if len(terms) == 1:
                return terms[0]
            half = (len(terms) + 1) // 2
            return np.float32(tree(terms[:half]) + tree(terms[half:]))

        terms = self.a.astype(np.float32) * self.b.astype(np.float32)
        self.assertEqual(ulpscope.dot(self.a, self.b, order="pairwise"), float(tree(terms)))

    def test_a_matrix_unit_cuts_what_float32_keeps(self):
        """Volta's products are cut below 2^-23 of the largest (Hickmann and Bradford, 2019; Fasi et al., 2021)."""
        a = np.float16([1, 2.0**-12, 2.0**-12])
        b = np.float16([1, 2.0**-12, 2.0**-12])
        self.assertEqual(ulpscope.exact_dot(a, b), 1 + 2.0**-23)
        self.assertEqual(ulpscope.dot(a, b, unit="volta"), 1)

    def test_float16_accumulators_round_to_nearest_even(self):
        one, half = np.float16([1, 0]), np.float16([2.0**-11, 0])
        for unit in ("V100", "T4", "A100", "L40S", "H100", "B200"):
            self.assertEqual(ulpscope.dot(one, half, unit=unit, accumulate="float16", c=1.0), 1)
            self.assertEqual(ulpscope.dot(one, half, unit=unit, accumulate="fp16", c=1 + 2.0**-10), 1 + 2.0**-9)
            self.assertEqual(ulpscope.dot(one, half, unit=unit, accumulate="float32", c=1.0), 1 + 2.0**-11)
            most = np.float16([65504, 0])
            self.assertEqual(ulpscope.dot(one, most, unit=unit, accumulate="float16", c=16.0), np.inf)
        with self.assertRaisesRegex(ValueError, "not a number of float16"):
            ulpscope.dot(one, half, unit="H100", accumulate="float16", c=1 + 2.0**-20)
        with self.assertRaisesRegex(ValueError, "none is 'H100' .* into bfloat16: it takes float16, float16 into"):
            ulpscope.dot(one, half, unit="H100", accumulate="bfloat16")
        with self.assertRaisesRegex(ValueError, "none is 'X100' .*: there are volta, turing, .*cdna3"):
            ulpscope.dot(one, half, unit="X100")
        with self.assertRaisesRegex(ValueError, "accumulate and promote are of a unit"):
            ulpscope.dot(one, half, accumulate="float16")

    def test_sums_of_a_few_groups_are_added_in_float32(self):
        def part(begin):
            rows = slice(begin, begin + 64)
            return np.float32(ulpscope.dot(self.a[rows], self.b[rows], unit="H100", accumulate="float16"))

        total = np.float32(0.1)
        for begin in range(0, 1000, 64):
            total = total + part(begin)
        asked = {"unit": "H100", "accumulate": "float16", "c": float(np.float32(0.1))}
        self.assertEqual(ulpscope.dot(self.a, self.b, promote=4, **asked), float(total))
        with self.assertRaisesRegex(ValueError, "promote is of blocks"):
            ulpscope.dot(self.a, self.b, unit="MI250", promote=4)

    def test_scales_of_blocks(self):
        random = np.random.default_rng(5)
        a, b = random.choice([-6, -4, -3, -1.5, -0.5, 0, 1, 2, 6], (2, 128))
        for scale_format, block in (("float8_e8m0", 32), ("float8_e4m3fn", 16)):
            scales = [random.choice([0.5, 1, 2, 4], 128 // block) for _ in range(2)]
            exact = sum(a * b * np.repeat(scales[0] * scales[1], block))
            asked = {"format": "float4_e2m1", "scale_format": scale_format, "block": block}
            self.assertEqual(ulpscope.dot(a, b, unit="GB200", scales=scales, **asked), exact)
            self.assertEqual(ulpscope.dot(a, b, scales=scales, **asked), exact)
            with self.assertRaisesRegex(ValueError, "not a scale for each block"):
                ulpscope.dot(a, b, unit="GB200", scales=(scales[0], scales[1][1:]), **asked)
            with self.assertRaisesRegex(ValueError, "none is 'H100' .*scaled by .*: it takes float16"):
                ulpscope.dot(a, b, unit="H100", scales=scales, **asked)
        with self.assertRaisesRegex(ValueError, "scales: 1 given: give those of a"):
            ulpscope.dot(a, b, unit="B200", format="float4_e2m1", scales=([1.0] * 4,))
        with self.assertRaisesRegex(ValueError, "scales of b: element 0, 3, is not a number of float8_e8m0"):
            ulpscope.dot(a, b, unit="B200", format="float4_e2m1", scales=([1.0] * 4, [3.0] * 4))

    def test_the_format_of_the_vectors(self):
        a, b = self.a.astype(np.float32), self.b.astype(float)
        plain = ulpscope.dot(self.a, self.b, unit="hopper")
        self.assertEqual(ulpscope.dot(a, b, unit="hopper", format="fp16"), plain)
        self.assertEqual(ulpscope.dot(a, b, unit="H100", format="fp16"), plain)
        self.assertEqual(ulpscope.dot(self.a.astype(np.float64), b), ulpscope.dot(self.a, self.b))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors(self):
        a, b = torch.from_numpy(self.a), torch.from_numpy(self.b)
        self.assertEqual(ulpscope.dot(a, b), ulpscope.dot(self.a, self.b))
        self.assertEqual(ulpscope.exact_dot(a.bfloat16(), b), ulpscope.exact_dot(a.bfloat16().float().numpy(), self.b))


class Matrices(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(11)
        self.a = random.standard_normal((5, 150)).astype(np.float16)
        self.b = random.standard_normal((150, 7)).astype(np.float16)

    def element_by_element(self, a, b, **how):
        return [[ulpscope.dot(row, column, **how) for column in b.T] for row in a]

    def test_each_element_is_a_dot_product(self):
        for how in ({"unit": "V100"}, {"unit": "H100", "promote": 4}, {"unit": "MI300X"}, {"unit": "A100", "accumulate": "float16"}):
            made = ulpscope.matmul(self.a, self.b, **how)
            self.assertEqual(made.dtype, np.float16 if "accumulate" in how else np.float32)
            np.testing.assert_array_equal(made, self.element_by_element(self.a, self.b, **how))
        wide = self.a.astype(float), np.asfortranarray(self.b.astype(np.float32))
        made = ulpscope.matmul(*wide, unit="H100", format="float16")
        np.testing.assert_array_equal(made, ulpscope.matmul(self.a, self.b, unit="H100"))

    def test_parts_of_k_are_added_in_float32(self):
        first, second = (self.element_by_element(self.a[:, k], self.b[k], unit="H100") for k in (slice(80), slice(80, 150)))
        made = ulpscope.matmul(self.a, self.b, unit="H100", split_k=2)
        np.testing.assert_array_equal(made, np.float32(first) + np.float32(second))

    def test_blocks(self):
        a, b = self.a.astype(np.float32), self.b.astype(np.float32)
        for format in ("mxfp8", "mxfp4", "nvfp4", "te_nvfp4_16x16", "torchao_nvfp4_twolevel"):
            made = ulpscope.matmul(a, b, unit="B200", format=format)
            if format in ("mxfp8", "mxfp4"):  # the blocks of a row are its own; a second level is the whole tensor's
                np.testing.assert_array_equal(made, self.element_by_element(a, b, unit="B200", format=format))
            values = [ulpscope.quantize(x, format).astype(float) for x in (a, np.ascontiguousarray(b.T))]
            np.testing.assert_allclose(made, values[0] @ values[1].T, rtol=1e-3, atol=1e-3)

    def test_scales(self):
        random = np.random.default_rng(5)
        a, b = random.choice([-6, -4, -3, -1.5, -0.5, 0, 1, 2, 6], (2, 4, 80))
        scales = random.choice([0.5, 1, 2, 4], (2, 4, 3))
        wide = [x * np.repeat(s, 32, axis=1)[:, :80] for x, s in zip((a, b), scales)]
        asked = {"unit": "GB200", "format": "float4_e2m1"}
        made = ulpscope.matmul(a, b.T, scales=(scales[0], scales[1].T), **asked)
        np.testing.assert_array_equal(made, wide[0] @ wide[1].T)  # few bits: every sum is exact
        with self.assertRaisesRegex(ValueError, r"scales: have shapes \(4, 3\) and \(4, 3\), not \(4, 3\) and \(3, 4\)"):
            ulpscope.matmul(a, b.T, scales=(scales[0], scales[1]), **asked)

    def test_as_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("a.npy", "b.npy", "c.npy")]
            np.save(files[0], self.a.astype(np.float32))
            np.save(files[1], self.b.astype(np.float32))
            for how in ({"format": "bfloat16"}, {"format": "mxfp8"}, {"format": "nvfp4"}, {"format": "te_nvfp4_16x16"}):
                command = [support.ULP, "matmul", *files[:2], "--unit", "B200", "-o", files[2], "--quiet"]
                subprocess.run([*command, "--format", how["format"]], check=True, stdout=subprocess.DEVNULL)
                a, b = self.a.astype(np.float32), self.b.astype(np.float32)
                if how["format"] == "bfloat16":
                    a, b = (ulpscope.quantize(x, "bfloat16") for x in (a, b))
                np.testing.assert_array_equal(ulpscope.matmul(a, b, unit="B200", **how), np.load(files[2]))

    def test_what_is_no_product(self):
        for a, b, why in (
            (self.a, self.a, "5 x 150 and 5 x 150 are no product"),
            (self.a[0], self.b, "a: has 1 dimensions; a matrix has 2"),
            (self.a[:, :0], self.b[:0], "5 x 0 and 0 x 7 have no product"),
            (self.a.astype(float), self.b.astype(float), "elements are float64, .*; pass `format`"),
            (self.a, self.b.astype(np.float32), "elements are of two formats; pass `format`"),
        ):
            with self.assertRaisesRegex(ValueError, why):
                ulpscope.matmul(a, b, unit="H100")
        with self.assertRaisesRegex(ValueError, "no matrix unit multiplies blocks of fp8_1x128"):
            ulpscope.matmul(self.a, self.b, unit="H100", format="fp8_1x128")
        with self.assertRaisesRegex(ValueError, "split_k: 0 parts"):
            ulpscope.matmul(self.a, self.b, unit="H100", split_k=0)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors(self):
        for format in (None, "mxfp8"):
            made = ulpscope.matmul(torch.from_numpy(self.a), torch.from_numpy(self.b), unit="B200", format=format)
            self.assertIsInstance(made, torch.Tensor)
            np.testing.assert_array_equal(made.numpy(), ulpscope.matmul(self.a, self.b, unit="B200", format=format))


if __name__ == "__main__":
    unittest.main()
