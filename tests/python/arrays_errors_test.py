"""What is refused, in which words. Those of formats and roundings are the program's."""

import re
import subprocess
import unittest
import warnings

import support

support.need("numpy")
support.need_compiled()

import numpy as np

import ulpscope

try:
    import torch
except ImportError:
    torch = None

X = np.float32([1, 2])


class Refused(unittest.TestCase):
    def refused(self, words, call, *arguments, error=ValueError, **named):
        with self.assertRaisesRegex(error, re.escape(words)):
            call(*arguments, **named)

    def test_formats_and_roundings_in_the_words_of_the_program(self):
        if not support.ULP:
            self.skipTest("the program ulp is not there")
        for option, value, call in [
            ("--to", "flaot16", lambda v: ulpscope.quantize(X, v)),
            ("--to", "e12m3", lambda v: ulpscope.encode(X, v)),
            ("--to", "fp8", lambda v: ulpscope.add(X, X, v)),
            ("--to", "e4m3,bias=x", lambda v: ulpscope.decode(np.uint8([1]), v)),
            ("--rounding", "rnz", lambda v: ulpscope.quantize(X, "fp16", v)),
            ("--rounding", "sr,bits=40", lambda v: ulpscope.quantize(X, "fp16", v)),
            ("--rounding", "amd", lambda v: ulpscope.quantize(X, "fp16", v)),
        ]:
            options = {"--to": "fp16", option: value}
            done = subprocess.run(
                [support.ULP, "convert", "/dev/null", "-o", "/dev/null", *(w for o in options.items() for w in o)],
                capture_output=True,
                text=True,
            )
            with self.assertRaises(ValueError) as refused:
                call(value)
            sentence = str(refused.exception)
            self.assertIn(sentence.removeprefix("rounding: "), done.stderr, done.stderr)
            self.assertEqual(done.returncode, 2)

    def test_blocks_take_no_switches_of_formats(self):
        for name, value in [("scale", 2), ("saturate", True), ("ftz", "after"), ("daz", True), ("out", X.copy())]:
            for call in (ulpscope.quantize, ulpscope.encode):
                self.refused(f"{name}: is not for mxfp4, a format of blocks", call, X, "mxfp4", **{name: value})
        self.refused("bits: only stochastic", ulpscope.quantize, X, "mxfp4", bits=8)
        self.refused("amd is documented for", ulpscope.quantize, X, "mxfp4", "amd")
        self.refused("22 has more than the 4 bits", ulpscope.decode, np.uint8([[22]]), "mxfp4", scale=np.uint8([[127]]))
        eight = ulpscope.quantize(X, "mxfp4", "stochastic:A,bits=8", seed=3)
        self.assertEqual(ulpscope.quantize(X, "mxfp4", "stochastic", bits=8, seed=3).tolist(), eight.tolist())

    def test_blocks_of_nothing_and_of_a_scalar(self):
        shapes = [(), (0,), (0, 32), (32, 0), (2, 0, 3)]
        for name in ("mxfp8", "nvfp4", "fp8_tensor", "fp8_row", "fp8_128x128"):
            for shape in shapes[2 if name == "fp8_128x128" else 0 :]:
                made = ulpscope.encode(np.full(shape, 3, np.float32), name)
                self.assertEqual((made.codes.shape, made.codes.dtype), (shape, np.uint8))
                self.assertEqual(made.scale.size, 0 if 0 in shape else 1)
                np.testing.assert_array_equal(ulpscope.decode(made, name), np.full(shape, 3, np.float32))

    def test_formats(self):
        self.refused("at most 32", ulpscope.quantize, X, "float64")
        self.refused("(5,) is not (exponent bits, fraction bits)", ulpscope.quantize, X, (5,))
        self.refused("'int8'", ulpscope.quantize, X, np.int8)
        self.refused("is not a name", ulpscope.quantize, X, object(), error=TypeError)
        self.refused("None is not a name", ulpscope.quantize, X, None, error=TypeError)
        self.refused("float8_e8m0 has no sign and no zero", ulpscope.mul, X, X, "float8_e8m0")

    def test_roundings(self):
        for bits in (0, 33, -1, True, 2.5, "some", 10**30):
            self.refused("is neither 1 to 32 nor 'all'", ulpscope.quantize, X, "fp16", "sr", bits=bits)
        self.refused("only stochastic rounding", ulpscope.quantize, X, "fp16", bits=8)
        self.refused("says already how many", ulpscope.quantize, X, "fp16", "sr,bits=4", bits=8)
        self.refused("says already how many", ulpscope.quantize, X, "fp16", "nvidia", bits=8)
        self.refused("ftz: True is not", ulpscope.quantize, X, "fp16", ftz=True)
        for other in ("yes", 2, -1, None, [True], np.array([True, False])):
            self.refused("is not False, True or 'finite'", ulpscope.quantize, X, "fp16", saturate=other)
            self.refused("is not True or False", ulpscope.quantize, X, "fp16", daz=other, error=TypeError)
        for on in (True, 1, np.True_):
            self.assertEqual(ulpscope.quantize(np.float32([7e4]), "fp16", saturate=on, daz=on)[0], 65504)
        for scale in (0, -1, float("nan"), float("inf")):
            self.refused("is not a finite number above zero", ulpscope.quantize, X, "fp16", scale=scale)
        self.refused("scale: 1", ulpscope.quantize, X, "fp16", scale=10**400)
        for name in ("seed", "stream", "index"):
            self.refused(f"{name}: -1", ulpscope.quantize, X, "fp16", **{name: -1})
            self.refused(f"{name}: {1 << 64}", ulpscope.quantize, X, "fp16", **{name: 1 << 64})
            self.refused(f"{name}: 0.5", ulpscope.quantize, X, "fp16", error=TypeError, **{name: 0.5})
        self.refused("'scale' is not an argument", ulpscope.add, X, X, "fp16", scale=2, error=TypeError)

        self.refused("is neither 1 to 32", ulpscope.quantize, X, "fp16", "sr", bits=[1])
        self.refused("scale: '2' is not a number", ulpscope.quantize, X, "fp16", scale="2", error=TypeError)
        self.refused("daz: 'no' is not", ulpscope.quantize, X, "fp16", daz="no", error=TypeError)
        self.refused("(4.9, 3.2) is not", ulpscope.finfo, (4.9, 3.2))
        self.refused("is not a name of one", ulpscope.quantize, X, "\ud800")
        self.refused(f"step: {1 << 63} is not from", ulpscope.stream_of, "a", 1 << 63)
        self.refused("tensor: its name as a str, not int", ulpscope.stream_of, 3, error=TypeError)
        self.refused("align_bits", ulpscope.dot, X, X, order="blocks", size=4, align_bits=10**12)

    def test_elements(self):
        for x in (np.arange(3), [1, 2], np.bool_(1), np.longdouble(1), "text", None, np.array([None])):
            self.refused("not floating-point numbers", ulpscope.quantize, x, "fp16")
        self.refused("masked array", ulpscope.quantize, np.ma.masked_equal(X, 1), "fp16")
        self.refused("the real and the imaginary part", ulpscope.quantize, 1j, "fp16")
        self.refused("float16 does not hold every number of bf16", ulpscope.quantize, np.float16([1]), "bf16")
        self.refused("float32 does not hold", ulpscope.quantize, X, "e11m3")
        for name in ("e4m11", "e5m10,bias=20", "e5m10,specials=none", "e5m9,bias=10"):
            self.refused("float16 does not hold", ulpscope.quantize, np.float16([1]), name)
        self.assertTrue(np.array_equal(ulpscope.quantize(np.float16([1]), "e4m3fn"), [1]))
        self.refused("codes are integers", ulpscope.decode, X, "fp16")
        self.refused(
            "element 1 is 0x40, and codes of e3m2fn have 6 bits", ulpscope.decode, np.uint8([1, 64, 65]), "e3m2fn"
        )
        self.refused("0xffffffffffffffff", ulpscope.decode, np.array([1, -1]), "e4m3fn")
        self.refused("element 65536 is 0x100", ulpscope.decode, np.append(np.zeros(65536, int), [256, 300]), "e4m3fn")
        self.refused("cannot be codes of fp16", ulpscope.decode, np.uint8([1]), "fp16")
        self.refused("b: 9007199254740993 is not a number of float64", ulpscope.add, X, 2**53 + 1, "fp16")

    def test_outputs(self):
        out = np.zeros(2, np.float32)
        readonly = out[:]
        readonly.flags.writeable = False
        twice = np.lib.stride_tricks.as_strided(out, (2,), (0,))
        for words, wrong in [
            ("its shape is (3,), that of the result (2,)", np.zeros(3, np.float32)),
            ("its shape is (2, 1)", np.zeros((2, 1), np.float32)),
            ("out: elements are int32", np.zeros(2, np.int32)),
            ("read-only", readonly),
            ("several elements of the array are in one place", twice),
        ]:
            self.refused(words, ulpscope.quantize, X, "fp16", out=wrong)
            self.refused(words, ulpscope.add, X, X, "fp16", out=wrong)
        self.refused("out: is a list", ulpscope.quantize, X, "fp16", out=[1, 2], error=TypeError)
        self.refused("elements of 2 bytes are not e4m3fn", ulpscope.encode, X, "e4m3fn", out=np.zeros(2, np.uint16))
        self.refused("codes are integers", ulpscope.encode, X, "e4m3fn", out=out)
        self.assertEqual(out.tolist(), [0, 0])

    def test_shapes(self):
        self.refused("shapes (3,), (2,) do not broadcast", ulpscope.add, np.zeros(3), np.zeros(2), "fp16")
        self.refused("b: has 0 dimensions", ulpscope.dot, X, 1.0)
        self.refused("different sizes", ulpscope.dot, X, X[:1])
        self.refused("different sizes", ulpscope.exact_dot, X, X[:1])
        self.refused("a: element 0, 0.1", ulpscope.dot, np.float32([0.1, 1]), X, format="fp16")
        self.refused("order: 'up'", ulpscope.dot, X, X, order="up")
        self.refused("unit: none is 'hoper'", ulpscope.dot, X, X, unit="hoper")

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors(self):
        x = torch.zeros(2)
        self.refused("x.cpu()", ulpscope.quantize, torch.zeros(2, device="meta"), "fp16")
        self.refused("x.to_dense()", ulpscope.quantize, torch.eye(3).to_sparse(), "fp16")
        self.refused("x.detach()", ulpscope.quantize, x.clone().requires_grad_(), "fp16")
        self.refused("requires grad", ulpscope.quantize, x, "fp16", out=x.clone().requires_grad_())
        self.refused("int32", ulpscope.quantize, x.int(), "fp16")
        self.refused("codes are integers", ulpscope.decode, x.bool(), "fp16")
        self.refused("beside a tensor", ulpscope.quantize, x, "fp16", out=np.zeros(2, np.float32), error=TypeError)
        self.refused("beside a tensor", ulpscope.add, x, X, "fp16", error=TypeError)
        self.refused("in one place", ulpscope.quantize, x, "fp16", out=torch.zeros(1).expand(2))

    def test_a_name_that_is_not_ocps_is_warned_of_where_it_was_typed(self):
        calls = [
            lambda name: ulpscope.quantize(X, name),
            lambda name: ulpscope.encode(X, name),
            lambda name: ulpscope.decode(np.uint8([1]), name),
            lambda name: ulpscope.add(X, X, name),
            lambda name: ulpscope.finfo(name),
            lambda name: ulpscope.exact_dot(X, X, name),
        ]
        for call in calls:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                call("e4m3")
                call("E4M3")
                call((4, 3))
                call("e4m3fn")
            self.assertEqual([w.filename for w in said], [__file__])
            self.assertIn("OCP's E4M3 is float8_e4m3fn", str(said[0].message))


if __name__ == "__main__":
    unittest.main()
