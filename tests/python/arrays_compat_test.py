"""Functions of other packages beside their published examples and, where they are installed, themselves."""

import enum
import itertools
import math
import os
import types
import unittest
from fractions import Fraction

import support

support.need("numpy")
support.need_compiled()

import array_oracle
import numpy as np

from ulpscope import compat
from ulpscope.compat import Chop, RoundMode, float_quantize, quantize_elemwise_op, round_float

try:
    import torch
except ImportError:
    torch = None


def same(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


class BlocksOfOthers(unittest.TestCase):
    """What the originals' own code gave."""

    @staticmethod
    def golden(name):
        return np.load(os.path.join(support.SOURCE, "tests/data/golden_blocks", f"{name}.npz"))

    def test_microxcaling(self):
        specs = {"block_size": 32, "scale_bits": 0, "shared_exp_method": "max", "mx_flush_fp32_subnorms": False}
        for name, cuda, element, way in [
            ("microxcaling_fp8_e4m3_floor", False, "fp8_e4m3", "floor"),
            ("microxcaling_int8_nearest", False, "int8", "nearest"),
            ("microxcaling_cpp_fp4_e2m1_nearest", True, "fp4_e2m1", "nearest"),
        ]:
            file = self.golden(name)
            made = compat.quantize_mx_op(file["x"], {**specs, "custom_cuda": cuda}, element, axes=[-1], round=way)
            self.assertTrue(same(made, file["dequantized"]), name)
            across = compat.quantize_mx_op(file["x"].T, {**specs, "custom_cuda": cuda}, element, axes=0, round=way)
            self.assertTrue(same(across, file["dequantized"].T), name)
        x = np.ones((2, 32), np.float32)
        self.assertIs(compat.quantize_mx_op(x, specs), x)
        for changed, word in [({"block_size": 16}, "block_size"), ({"scale_bits": 4}, "scale_bits")]:
            with self.assertRaisesRegex(ValueError, word):
                compat.quantize_mx_op(x, {**specs, **changed}, "int8", axes=-1)
        with self.assertRaisesRegex(ValueError, "axes"):
            compat.quantize_mx_op(x, specs, "int8", axes=[0, 1])

    def test_torchao(self):
        file = self.golden("torchao_mxe4m3_rceil")
        scale, data = compat.to_mx(file["x"], "float8_e4m3fn", 32, types.SimpleNamespace(value="rceil"))
        self.assertTrue(same(scale.reshape(file["scale"].shape), file["scale"]))
        finite = ~np.isnan(file["dequantized"])
        self.assertTrue(same(data[finite], file["codes"][finite]))
        with self.assertRaisesRegex(ValueError, "elem_dtype"):
            compat.to_mx(file["x"], "int8")

    def test_gfloat(self):
        file = self.golden("gfloat_mxe2m1_away")
        made = compat.quantize_block(types.SimpleNamespace(name="mxfp4_e2m1"), file["x"], round=RoundMode.TiesToAway)
        self.assertTrue(same(made, file["dequantized"]))
        with self.assertRaisesRegex(ValueError, "no row"):
            compat.quantize_block("mxfp4_e2m1", file["x"], round=RoundMode.Stochastic)
        with self.assertRaisesRegex(ValueError, "compute_scale"):
            compat.quantize_block("mxfp4_e2m1", file["x"], len)


class Gfloat(unittest.TestCase):
    """FormatInfo as gfloat has it, and what its test_round.py expects."""

    @staticmethod
    def info(name, k, precision, bias, nans, has_infinity, has_nz=True, **other):
        common = dict(name=name, k=k, precision=precision, num_high_nans=nans, has_nz=has_nz, is_signed=True)
        return types.SimpleNamespace(
            **{**common, "bias": bias, "has_infs": has_infinity, "has_subnormals": True, **other}
        )

    def setUp(self):
        self.e5m2 = self.info("ocp_e5m2", 8, 3, 15, 3, True)
        self.e4m3 = self.info("ocp_e4m3", 8, 4, 7, 1, False)
        self.e3m2 = self.info("ocp_e3m2", 6, 3, 3, 0, False)

    def test_e5m2(self):
        for v, plain, saturated in [
            (1.5258789e-05, 2.0**-16, 2.0**-16),
            (57344.0, 57344, 57344),
            (57344.1, 57344, 57344),
            (61439.9, 57344, 57344),
            (61440.0, math.inf, 57344),
            (math.inf, math.inf, 57344),
            (-math.inf, -math.inf, -57344),
        ]:
            self.assertEqual(round_float(self.e5m2, v), plain)
            self.assertEqual(round_float(self.e5m2, v, sat=True), saturated)
        self.assertTrue(math.isnan(round_float(self.e5m2, math.nan, sat=True)))

    def test_e4m3(self):
        for v, saturated in [
            (448.0, 448),
            (448.1, 448),
            (464.0, 448),
            (464.01, 448),
            (math.inf, 448),
            (-math.inf, -448),
        ]:
            self.assertEqual(round_float(self.e4m3, v, sat=True), saturated)
            plain = round_float(self.e4m3, v)
            self.assertTrue(plain == 448 if abs(v) <= 464 else math.isnan(plain))

    def test_directions(self):
        """The largest number and half a unit above it, as its table for the largest number of 224 has them."""
        largest, half_up = 57344.0, 61440.0
        for mode, sign, expected in [
            (RoundMode.TowardZero, 1, largest),
            (RoundMode.TowardPositive, 1, math.inf),
            (RoundMode.TowardPositive, -1, -largest),
            (RoundMode.TowardNegative, 1, largest),
            (RoundMode.TowardNegative, -1, -math.inf),
            (RoundMode.TiesToAway, 1, math.inf),
        ]:
            self.assertEqual(round_float(self.e5m2, sign * half_up, mode), expected)
            self.assertEqual(round_float(self.e5m2, sign * half_up, mode, True), sign * largest)
            self.assertEqual(round_float(self.e5m2, sign * math.inf, mode), sign * math.inf)

    def test_how_often_random_bits_round_up(self):
        for v, bits, up in [(259, 3, 0), (259, 5, 2), (277, 3, 3), (288, 3, 4), (311, 3, 7)]:
            low = round_float(self.e5m2, v, RoundMode.TowardNegative)
            high = round_float(self.e5m2, v, RoundMode.TowardPositive)
            results = [round_float(self.e5m2, v, RoundMode.Stochastic, False, r, bits) for r in range(1 << bits)]
            self.assertEqual((results.count(high), results.count(low)), (up, (1 << bits) - up))

    def test_definitions_of_stochastic_rounding(self):
        """floor(d 2^n) + r >= 2^n and its relatives, d being the discarded part of 1 + d/4 in e5m2."""
        n = 3
        for d in np.arange(0, 1, 1 / 64):
            for r in range(1 << n):
                for mode, up in [
                    (RoundMode.StochasticFastest, math.floor(d * 8) + r >= 8),
                    (RoundMode.StochasticFast, math.floor(d * 16) + 2 * r + 1 >= 16),
                    (RoundMode.Stochastic, round(d * 8) + r >= 8),
                ]:
                    self.assertEqual(round_float(self.e5m2, 1 + d / 4, mode, False, r, n), 1.25 if up else 1.0)

    def test_formats_without_nan(self):
        self.assertEqual(round_float(self.e3m2, 27.0), 28)
        self.assertEqual(round_float(self.e3m2, 99.0, RoundMode.TowardZero), 28)
        self.assertEqual(round_float(self.e3m2, math.inf, sat=True), 28)
        for v, mode in [
            (99.0, RoundMode.TiesToEven),
            (math.inf, RoundMode.TowardZero),
            (-99.0, RoundMode.TowardNegative),
        ]:
            with self.assertRaisesRegex(ValueError, "neither infinity nor NaN"):
                round_float(self.e3m2, v, mode)
        with self.assertRaisesRegex(ValueError, "neither infinity nor NaN"):
            round_float(self.e3m2, math.nan, sat=True)

    def test_p3109(self):
        """Every number of binary8p3 and p4 with infinities, the midpoints, and what is around them and beyond: against numbers
        made from IEEE P3109's formula, exactly. The largest one is (2^p - 2) 2^(15 - ...), 224 for p4."""
        for precision in (3, 4):
            bias = 2 ** (8 - precision - 1)
            info = self.info(f"p3109_p{precision}", 8, precision, bias, 0, True, has_nz=False)
            numbers = [Fraction(0)]
            for code in range(1, 127):  # 127 is infinity
                exponent, fraction = divmod(code, 2 ** (precision - 1))
                significand = Fraction(fraction, 2 ** (precision - 1)) + (exponent > 0)
                numbers.append(significand * Fraction(2) ** (max(exponent, 1) - bias))
            step = numbers[-1] - numbers[-2]
            unbounded = [*numbers, numbers[-1] + step]  # rounding first knows no bound
            self.assertEqual(numbers[-1], 224 if precision == 4 else 49152)
            for low, high in zip(unbounded, unbounded[1:]):
                for part in (Fraction(0), Fraction(1, 64), Fraction(1, 2), Fraction(33, 64), Fraction(63, 64)):
                    magnitude = low + part * (high - low)
                    below_is_even = unbounded.index(low) % 2 == 0
                    nearest = low if part < Fraction(1, 2) or (part == Fraction(1, 2) and below_is_even) else high
                    expected = {
                        "TiesToEven": (nearest, nearest),
                        "TiesToAway": (low if part < Fraction(1, 2) else high,) * 2,
                        "TowardZero": (low, low),
                        "TowardPositive": (low if part == 0 else high, low),
                        "TowardNegative": (low, low if part == 0 else high),
                    }
                    for (mode, of_sign), sat in itertools.product(expected.items(), (False, True)):
                        to_zero = {"TowardZero": (1, 1), "TowardPositive": (0, 1), "TowardNegative": (1, 0)}.get(mode, (0, 0))
                        for sign, rounded, stays in zip((1, -1), of_sign, to_zero):
                            if rounded > numbers[-1]:
                                rounded = numbers[-1] if sat or stays else math.inf
                            got = round_float(info, sign * float(magnitude), RoundMode[mode], sat)
                            self.assertEqual(got, sign * float(rounded), (precision, mode, sat, float(magnitude)))
            for v in (math.inf, 1e300):
                self.assertEqual(round_float(info, -v), -math.inf)
                self.assertEqual(round_float(info, v, sat=True), float(numbers[-1]))
            self.assertEqual(round_float(info, 1e300, RoundMode.TowardZero), float(numbers[-1]))
            self.assertEqual(round_float(info, math.inf, RoundMode.TowardZero), math.inf)
            self.assertTrue(math.isnan(round_float(info, math.nan, sat=True)))
            self.assertEqual(math.copysign(1, round_float(info, -0.0)), 1)  # there is one zero
            for bits in range(8):
                drawn = round_float(info, float(numbers[-1] + step / 2), RoundMode.StochasticFastest, False, bits, 3)
                self.assertEqual(drawn, math.inf if bits >= 4 else float(numbers[-1]))
            finite = self.info(f"p3109_p{precision}_finite", 8, precision, bias, 0, False, has_nz=False)
            self.assertEqual(round_float(finite, 1e300, sat=True), float(numbers[-1] + step))

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "special codes of strange"):
            round_float(self.info("strange", 8, 4, 8, 2, True, has_nz=False), 1.0)
        odd = enum.Enum("RoundMode", "StochasticOdd").StochasticOdd
        with self.assertRaisesRegex(ValueError, "StochasticOdd"):
            round_float(self.e5m2, 1.0, odd)
        for srbits, srnumbits in [(-1, 0), (-1, 3), (8, 3), (0, 0), (0, 33)]:  # the first is gfloat's default
            with self.assertRaisesRegex(ValueError, "srbits"):
                round_float(self.e5m2, 1.1, RoundMode.StochasticFastest, False, srbits, srnumbits)

    def test_gfloat_itself(self):
        if not support.has("gfloat"):
            self.skipTest("gfloat is not installed")
        import gfloat
        from gfloat.formats import (
            format_info_binary16,
            format_info_bfloat16,
            format_info_ocp_e4m3,
            format_info_ocp_e5m2,
        )

        for info, name in [
            (format_info_binary16, "float16"),
            (format_info_bfloat16, "bfloat16"),
            (format_info_ocp_e4m3, "float8_e4m3fn"),
            (format_info_ocp_e5m2, "float8_e4m3fn"),
        ]:
            for v in array_oracle.hard_cases(name, np.float32)[::97].tolist():
                for mode in ("TowardZero", "TowardNegative", "TowardPositive", "TiesToEven", "TiesToAway"):
                    theirs = gfloat.round_float(info, v, gfloat.RoundMode[mode])
                    self.assertTrue(same(round_float(info, v, gfloat.RoundMode[mode]), theirs), (info, v, mode))


class Microxcaling(unittest.TestCase):
    """What its tests/test_corners_elemwise.py expects."""

    def test_bfloat16(self):
        x = np.float32([65535.0, -65535.0, -1.9985847, 0.4999000132083893, -0.49968934059143066])
        expected = np.float32([65536.0, -65536.0, -2.0, 0.5, -0.5])
        self.assertTrue(same(quantize_elemwise_op(x, {"bfloat": 16, "round": "nearest"}), expected))
        x = np.float32(2.0**127) * np.float32([1.9921875, 1.9921874, -1.9921875, 1.99609375, -1.99609375])
        expected = [x[0], x[0], x[2], np.inf, -np.inf]
        self.assertTrue(same(quantize_elemwise_op(x, {"bfloat": 16, "round": "nearest"}), expected))

    def test_float16_ends(self):
        x = np.float32([65504, -65504, 65519, -65519, 65520, -65520])
        made = quantize_elemwise_op(x, {"fp": 16}, "nearest")
        self.assertEqual(np.isfinite(made).tolist(), [True, True, True, True, False, False])

    def test_subnormals(self):
        for specs, least, fraction in (({"fp": 16}, -14, 10), ({"bfloat": 16}, -126, 7)):
            normal, unit = 2.0**least, 2.0 ** (least - fraction)
            x = np.float32([normal, normal / 2, unit, unit / 2, unit / 4, normal - unit, normal - unit / 2])
            expected = np.float32([normal, normal / 2, unit, unit, 0, normal - unit, normal])
            self.assertTrue(same(quantize_elemwise_op(x, specs, "nearest"), expected))
            expected = np.float32([normal, 0, 0, 0, 0, 0, 0])
            self.assertTrue(same(quantize_elemwise_op(x, {**specs, "bfloat_subnorms": False}, "nearest"), expected))
        x = np.float32([2.0**-126 * 253 / 256, 2.0**-126 * 251 / 256])
        self.assertTrue(
            same(quantize_elemwise_op(x, {"bfloat": 16}, "even"), np.float32([2.0**-126 * 126 / 128] * 2))
        )

    def test_where_it_is_wrong(self):
        made = quantize_elemwise_op(np.float32([2.0**-25, -0.0]), {"fp": 16}, "even")
        self.assertEqual(made.tolist(), [0, 0])
        self.assertTrue(np.signbit(made[1]))
        self.assertEqual(quantize_elemwise_op(np.float32([1e6]), {"fp": 16}, "floor").tolist(), [65504])

    def test_specs(self):
        x = np.float32([0.1])
        for nothing in (None, {}, {"bfloat": 0, "fp": 0}, {"bfloat": 32}):
            self.assertIs(quantize_elemwise_op(x, nothing), x)
        for wrong in ({"bfloat": 16, "fp": 16}, {"bfloat": 9}, {"fp": 6}, {"fp": 16, "round": "up"}):
            with self.assertRaises(ValueError):
                quantize_elemwise_op(x, wrong)
        draws = np.unique(quantize_elemwise_op(np.full(1000, 1 + 2.0**-12, np.float32), {"fp": 16}, "dither"))
        self.assertEqual(draws.tolist(), [1, 1 + 2.0**-10])


class Qtorch(unittest.TestCase):
    def test_nearest(self):
        x = array_oracle.hard_cases("float16", np.float32)
        with np.errstate(over="ignore"):
            half = x.astype(np.float16).astype(np.float32)
        self.assertTrue(same(float_quantize(x, 5, 10, "nearest"), np.clip(half, -65504, 65504)))

    def test_where_it_is_wrong(self):
        """Issues 24, 42, 43 (subnormals), 48 (the sign of 3 in (8, 23)), 23 (ties), and NaN."""
        self.assertEqual(float_quantize(np.float32([3, -3]), 8, 23, "nearest").tolist(), [3, -3])
        self.assertEqual(float_quantize(np.float32([1 + 2.0**-11]), 5, 10, "nearest").tolist(), [1])
        self.assertTrue(np.isnan(float_quantize(np.float32([np.nan]), 5, 10, "nearest")).all())
        x = np.full(1 << 16, 2.0**-24 * 5 / 16, np.float32)
        up = float_quantize(x, 5, 10, "stochastic") > 0
        self.assertLess(abs(up.mean() - 5 / 16), 5 * math.sqrt(5 / 16 * 11 / 16 / len(x)))

    def test_draws(self):
        x = np.full(1000, 0.1, np.float32)
        compat.seed(4)
        first, second = float_quantize(x, 4, 3), float_quantize(x, 4, 3)
        self.assertFalse(same(first, second))
        compat.seed(4)
        self.assertTrue(same(float_quantize(x, 4, 3), first))
        compat.seed(5)
        self.assertFalse(same(float_quantize(x, 4, 3), first))
        with self.assertRaisesRegex(ValueError, "'up'"):
            float_quantize(x, 4, 3, "up")

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_that_require_grad(self):
        x = torch.tensor([0.1], requires_grad=True)
        made = float_quantize(x, 5, 2, "nearest")
        self.assertFalse(made.requires_grad)
        self.assertEqual(made.item(), 0.09375)

    def test_qtorch_itself(self):
        if not support.has("qtorch"):
            self.skipTest("qtorch is not installed")
        import qtorch.quant

        x = torch.randn(10000)
        self.assertTrue(
            torch.equal(float_quantize(x, 5, 10, "nearest"), qtorch.quant.float_quantize(x, 5, 10, "nearest"))
        )


class Pychop(unittest.TestCase):
    def test_modes(self):
        x = array_oracle.hard_cases("float16", np.float64)
        for rmode, rounding in [
            (1, "nearest-even"),
            (2, "toward-positive"),
            (3, "toward-negative"),
            (4, "toward-zero"),
            (8, "nearest-away"),
            (9, "to-odd"),
        ]:
            self.assertTrue(same(Chop(5, 10, rmode)(x), array_oracle.rounded("float16", x, rounding)), rmode)

    def test_where_it_is_wrong(self):
        self.assertEqual(Chop(5, 10)(np.float32([2.9802326e-08])).tolist(), [2.0**-24])
        self.assertEqual(Chop(5, 10)(np.float32([65519, 65520])).tolist(), [65504, np.inf])

    def test_arguments(self):
        chop = Chop(exp_bits=5, sig_bits=10, rmode=1, subnormal=False, chunk_size=10, random_state=0, verbose=0)
        self.assertEqual(chop.u, 2.0**-11)
        self.assertEqual(chop(np.float32([2.0**-14, 2.0**-15])).tolist(), [2.0**-14, 0])
        x = np.full(1000, 0.1)
        first, second = Chop(5, 10, rmode=5, random_state=1), Chop(5, 10, rmode=5, random_state=1)
        a, b = first(x), first(x)
        self.assertFalse(same(a, b))
        self.assertTrue(same(second(x), a))
        for wrong in ((5, 10, 6), (5, 10, 7), (5, 10, 10), (1, 10), (5, 40)):
            with self.assertRaises(ValueError):
                Chop(*wrong)

    def test_pychop_itself(self):
        if not support.has("pychop"):
            self.skipTest("pychop is not installed")
        import pychop

        x = np.random.default_rng(3).standard_normal(10000).astype(np.float32)
        for rmode in (1, 2, 3, 4):
            self.assertTrue(same(Chop(5, 10, rmode)(x), pychop.Chop(5, 10, rmode)(x)), rmode)


if __name__ == "__main__":
    unittest.main()
