"""add, sub, mul, div, fma, sqrt, dot and exact_dot beside exact fractions, numpy's float16 and `ulp eval`."""

import itertools
import math
import subprocess
import unittest
from fractions import Fraction

import support

support.need("numpy")
support.need_compiled()

import array_oracle
import numpy as np

import ulpscope

try:
    import torch
except ImportError:
    torch = None

BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}


def same(a, b):
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)]
    )


def operands(name, count, size=1500):
    """Numbers of a format whose exponents are near each other, so that sums cancel and round."""
    random = np.random.default_rng(4)
    numbers = array_oracle.positive_numbers(name)
    middle = len(numbers) // 2
    reach = 6 << array_oracle.FORMATS[name][1]
    for _ in range(count):
        at = np.clip(random.integers(middle - reach, middle + reach, size), 1, len(numbers) - 1)
        yield numbers[at] * random.choice([-1, 1], size)


class Exact(unittest.TestCase):
    def test_results_are_the_exact_ones_rounded(self):
        for name, (operation, exact) in itertools.product(("float16", "cbfloat16", "float8_e4m3fn"), EXACT.items()):
            x = list(operands(name, 3 if operation == "fma" else 2))
            results = [exact(*map(Fraction, numbers)) for numbers in zip(*x)]
            for rounding in array_oracle.ROUNDINGS:
                zero = rounding == "toward-negative"
                expected = [array_oracle.rounded_fraction(name, r, rounding, zero) for r in results]
                for type_ in (np.float32, np.float64):  # the loops of arrays, and one result at a time
                    with self.subTest(name=name, operation=operation, rounding=rounding, type=type_.__name__):
                        made = getattr(ulpscope, operation)(*(v.astype(type_) for v in x), name, rounding)
                        self.assertEqual(made.dtype, type_)
                        differ = [
                            (i, e, float(m))
                            for i, (e, m, r) in enumerate(zip(expected, made, results))
                            if e is not None and (e != m or (r != 0 and math.copysign(1, e) != math.copysign(1, m)))
                        ]
                        self.assertEqual(differ[:3], [])

    def test_square_roots(self):
        for name in ("float16", "cbfloat16"):
            x = np.abs(next(operands(name, 1)))
            numbers = array_oracle.positive_numbers(name)
            for type_ in (np.float32, np.float64):
                for rounding in array_oracle.ROUNDINGS:
                    made = ulpscope.sqrt(x.astype(type_), name, rounding)
                    for value, root in zip(x[:500], made):
                        at = int(np.searchsorted(numbers, root))
                        self.assertEqual(numbers[at], root)
                        low, high = Fraction(numbers[at - 1]) ** 2, Fraction(numbers[at + 1]) ** 2
                        square = Fraction(float(root)) ** 2
                        if rounding == "toward-zero":
                            self.assertTrue(square <= value < high)
                        elif rounding == "toward-positive":
                            self.assertTrue(low < value <= square)
                        else:
                            self.assertTrue(low < value < high)

    def test_numpys_float16(self):
        """numpy computes in float32, which rounds twice and never wrongly: 24 >= 2 * 11 + 2 bits."""
        codes = np.random.default_rng(5).integers(0, 1 << 16, (2, 1 << 18), dtype=np.uint16)
        a, b = codes.view(np.float16)
        with np.errstate(all="ignore"):
            for name, theirs in BINARY.items():
                made = getattr(ulpscope, name)(a, b, "float16")
                self.assertEqual(made.dtype, np.float16)
                self.assertTrue(same(made, theirs(a, b)), name)
            self.assertTrue(same(ulpscope.sqrt(a, "float16"), np.sqrt(a)))

    def test_random_bits_are_those_of_the_element(self):
        """Both ways of computing, with all definitions of stochastic rounding, and pieces."""
        a, b, c = operands("float16", 3, 20000)  # more than one block
        for rounding in ("sr:A,bits=5", "sr:B,bits=9", "sr:C,bits=16", "sr:bits=all"):
            for operation, arguments in (("add", (a, b)), ("mul", (a, b)), ("fma", (a, b, c))):
                call = getattr(ulpscope, operation)
                how = {"rounding": rounding, "seed": 11, "stream": 2}
                singly = call(*arguments, "e4m3fn", **how)
                arrays = call(*(x.astype(np.float32) for x in arguments), "e4m3fn", **how)
                self.assertTrue(np.array_equal(singly, arrays, equal_nan=True), (rounding, operation))
                piece = call(*(x[1000:] for x in arguments), "e4m3fn", index=1000, **how)
                self.assertTrue(np.array_equal(singly[1000:], piece, equal_nan=True))

    def test_special_operands(self):
        inf, nan = np.inf, np.nan
        a = np.float32([inf, 0, 0, 1, -1, nan, 60000])
        b = np.float32([-inf, 0, -0.0, 0, 0, 1, 60000])
        self.assertTrue(same(ulpscope.add(a, b, "fp16"), np.float32([nan, 0, 0, 1, -1, nan, inf])))
        self.assertTrue(same(ulpscope.div(a, b, "fp16"), np.float32([nan, nan, nan, inf, -inf, nan, 1])))
        self.assertTrue(same(ulpscope.add(a, b, "fp16", saturate=True)[-1:], np.float32([65504])))
        self.assertTrue(same(ulpscope.sqrt(np.float32([-1, -0.0]), "fp16"), np.float32([nan, -0.0])))


class Arguments(unittest.TestCase):
    def test_types_of_results(self):
        half, single, double = (np.ones(2, t) for t in (np.float16, np.float32, np.float64))
        for arguments, format_, type_ in [
            ((half, half), "fp16", np.float16),
            ((half, half), "bf16", np.float32),
            ((half, single), "fp16", np.float32),
            ((half, double), "fp16", np.float64),
            ((half, 1), "fp16", np.float16),
            ((half, 0.1), "fp16", np.float16),
            ((1, 2), "fp16", np.float64),
            ((single, single), "e10m5", np.float64),
        ]:
            self.assertEqual(ulpscope.add(*arguments, format_).dtype, type_)
        self.assertEqual(ulpscope.add(half, half, "bf16", out=double).dtype, np.float64)

    def test_a_number_is_what_it_is(self):
        """0.1 is the double, which float32 would round to something larger."""
        one = np.float32([1])
        exact = Fraction(0.1) * 1
        below = float(np.nextafter(np.float32(0.1), np.float32(0)))
        self.assertEqual(ulpscope.mul(one, 0.1, "fp32", "toward-zero")[0], below)
        self.assertLess(Fraction(below), exact)

    def test_shapes_broadcast(self):
        a = np.random.default_rng(6).standard_normal((5, 1, 7)).astype(np.float32)
        b = np.random.default_rng(7).standard_normal((4, 1)).astype(np.float32)
        self.assertTrue(np.array_equal(ulpscope.mul(a, b, "fp32"), a * b))
        self.assertTrue(np.array_equal(ulpscope.mul(b[0, 0], a, "fp32"), b[0, 0] * a))
        self.assertEqual(ulpscope.mul(a[:, :, :0], b, "fp32").shape, (5, 4, 0))
        if torch is not None:
            x, y = torch.from_numpy(a), torch.from_numpy(b)
            self.assertTrue(torch.equal(ulpscope.mul(x, y, torch.float32), x * y))
            self.assertTrue(torch.equal(ulpscope.sub(1, x, torch.float32), 1 - x))

    def test_lines_of_ulp_eval(self):
        if not support.ULP:
            self.skipTest("the program ulp is not there")
        codes = np.random.default_rng(8).integers(0, 1 << 16, (3, 500), dtype=np.uint16)
        for rounding in array_oracle.ROUNDINGS:
            lines = "".join(f"{a:04X} {b:04X} {c:04X}\n" for a, b, c in codes.T.tolist())
            done = subprocess.run(
                [support.ULP, "eval", "--op", "fma", "--format", "cb16", "--rounding", rounding],
                input=lines,
                capture_output=True,
                text=True,
                check=True,
            )
            theirs = np.array([int(line.split()[3], 16) for line in done.stdout.splitlines()], np.uint16)
            numbers = ulpscope.decode(codes, "cb16")
            mine = ulpscope.fma(*numbers, "cb16", rounding)
            expected = ulpscope.decode(theirs, "cb16")
            self.assertTrue(same(mine, expected))


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


@unittest.skipIf(torch is None, "torch is not installed")
class FlushedSubnormals(unittest.TestCase):
    """Nothing depends on whether the processor takes subnormal numbers for zero."""

    def test_the_state_of_the_processor(self):
        if not torch.set_flush_denormal(True):
            self.skipTest("this processor cannot flush subnormal numbers")
        self.addCleanup(torch.set_flush_denormal, False)
        tiny, zero = 2.0**-1060, np.float32([0])
        up = "toward-positive"
        self.assertEqual(ulpscope.add(zero, tiny, "float32", up).view(np.int32).tolist(), [1])
        result = ulpscope.exact_dot(zero, zero, "float32", up, c=tiny)
        self.assertEqual(np.float64(result).view(np.int64), 874 << 52)  # 2^-149
        with self.assertRaisesRegex(ValueError, "is not a number of float16"):
            ulpscope.dot(np.float64([tiny]), np.float64([1]), format="float16")
        self.assertEqual(ulpscope.quantize(np.float64([2.0**1000]), "float16", scale=2.0**-1060).tolist(), [0])


if __name__ == "__main__":
    unittest.main()
