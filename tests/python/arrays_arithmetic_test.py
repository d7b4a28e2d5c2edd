"""add, sub, mul, div, fma and sqrt beside exact fractions, numpy's float16 and `ulp eval`."""

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
